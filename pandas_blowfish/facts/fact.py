"""Public facts read against a domain: which cells they count, and what is known of them.

Never sees rows: an answer is what the policy states, or it is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, BlowfishError, ExpressionError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.exact.integer_kernel import independent
from pandas_blowfish.facts.declared import Constraint, KnownCell
from pandas_blowfish.policy.attribute import Attribute, Uncounted, run_of
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Atom, Condition, Junction, columns_of, holds, parse

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy

MAX_COUNTS = 10**7  # cells of one marginal
MAX_SETTLED = 4_096  # cells of all columns up to which it is found out whether facts determine an answer


@dataclass(frozen=True, eq=False)
class Fact:
    """One public fact: a count of cells, or a marginal's count of every cell of some columns.

    Attributes:
        stated: The fact as the policy states it.
        columns: The columns it speaks of.
        condition: Which cells a count or a box counts; None for a marginal.
        shape: The cells of a marginal's columns; () for a single count.
        answer: What is known: one number per count, of that shape; None where it is left open.
    """

    stated: Constraint
    columns: tuple[str, ...]
    condition: Condition | None
    shape: tuple[int, ...]
    answer: Ints | None

    @property
    def counts(self) -> int:
        """Return how many counts are known."""
        return math.prod(self.shape)

    def counts_at(self, cells: Cells) -> Ints:
        """Return which of the known counts each of some cells is in, -1 for none."""
        if self.condition is not None:
            return np.where(holds(self.condition, cells), 0, -1)
        flat = np.zeros(len(cells), dtype=np.int64)
        for column, size in zip(self.columns, self.shape, strict=True):
            flat = flat * size + cells.codes[column]
        return np.where(cells.absent, -1, flat)

    @cached_property
    def text(self) -> str:
        """Return the fact as it is written, without its answer."""
        return self.stated.describe()


def read_facts(constraints: Iterable[Constraint], domain: Domain) -> tuple[Fact, ...]:
    """Return facts read against the declared cells, or raise for one that does not fit them.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> from pandas_blowfish.facts.declared import Marginal
        >>> ages = Domain((integers("age", 0, 2),))
        >>> read_facts([Marginal("age", answer=[4, 0, 1])], ages)[0].answer.tolist()
        [4, 0, 1]
    """
    return tuple(_read(stated, domain) for stated in constraints)


def cells_of(fact: Fact) -> Hashable:
    """Return what a fact counts; the same only for facts that count the same cells, however spelt.

    Examples:
        >>> from pandas_blowfish.facts.declared import Box, Count
        >>> from pandas_blowfish.policy.domain import integers
        >>> ages = Domain((integers("age", 0, 99),))
        >>> few, same = read_facts([Count("age < 18 and age >= 0"), Box(age=(0, 17))], ages)
        >>> cells_of(few) == cells_of(same)
        True
    """
    return frozenset(fact.columns) if fact.condition is None else _spelt(fact.condition)


def determines(marginal: Fact, fact: Fact) -> bool:
    """Return whether a fact follows from a marginal of its columns and perhaps more."""
    return marginal.condition is None and set(fact.columns) <= set(marginal.columns)


def find_needed(facts: Sequence[Fact]) -> list[int]:
    """Return the places of facts that do not follow from a marginal, or repeat another.

    Proof note:
        Requires: nothing.
        Ensures:  tables that agree on these facts agree on all of them.
        Because:  a count of cells that a marginal distinguishes is a sum of its counts.
        Checked:  tests/facts/test_fact.py::test_facts_that_follow_are_not_needed
    """
    seen: set[Hashable] = set()
    kept = []
    for place, fact in enumerate(facts):
        wider = (other for other in facts if other.condition is None and other is not fact)
        if cells_of(fact) in seen or any(
            determines(other, fact) and cells_of(other) != cells_of(fact) for other in wider
        ):
            continue
        seen.add(cells_of(fact))
        kept.append(place)
    return kept


def answer_of(fact: Fact) -> Hashable:
    """Return the known answer of a fact, the same in whatever order its columns are named."""
    if fact.answer is None:
        return None
    order = [fact.columns.index(column) for column in sorted(fact.columns)] if fact.condition is None else []
    return tuple(fact.answer.transpose(order).ravel().tolist())


def _spelt(condition: Condition) -> Hashable:
    """Return a condition in one spelling: one mask per column, in no order, without needless brackets."""
    if isinstance(condition, Atom):
        return condition.column, condition.cells.tobytes()
    masks, rest = dict[str, Any](), set[Hashable]()
    for part in _flat(condition):
        if isinstance(part, Junction):
            rest.add(_spelt(part))
        else:
            before = masks.get(part.column, part.cells)
            masks[part.column] = before & part.cells if condition.every else before | part.cells
    rest |= {(column, mask.tobytes()) for column, mask in masks.items()}
    return rest.pop() if len(rest) == 1 else (condition.every, frozenset(rest))


def _flat(condition: Junction) -> Iterator[Condition]:
    """Yield the parts of a condition, for one in brackets that change nothing its own parts."""
    for part in condition.parts:
        if isinstance(part, Junction) and (part.every == condition.every or len(part.parts) == 1):
            yield from _flat(Junction(condition.every, part.parts))
        else:
            yield part


def _read(stated: Constraint, domain: Domain) -> Fact:
    if stated.kind == "marginal":
        chosen = domain.select(stated.columns)
        if chosen.size > MAX_COUNTS:
            raise ArgumentError(
                "constraints", f"{stated.describe()} has {chosen.size:,} counts", allowed=f"{MAX_COUNTS:,}"
            )
        return Fact(stated, stated.columns, None, chosen.shape, _table(stated, chosen))
    if stated.kind == "count":
        condition = parse(stated.detail, domain, {})
    else:
        condition = Junction(True, tuple(_side(stated, domain[name], pair) for name, pair in stated.detail))
    answer = stated.answer
    if answer is not None and not isinstance(answer, int):
        raise _refused(stated, "the answer is not one whole number", "answer=12")
    known = None if answer is None else frozen(np.array(answer, dtype=np.int64))
    return Fact(stated, tuple(columns_of(condition)), condition, (), known)


def _side(stated: Constraint, attribute: Attribute, pair: tuple[Any, Any]) -> Atom:
    """Return one side of a box as the cells it holds; missing is in none."""
    if isinstance(attribute, Uncounted):
        raise attribute.refuse_cells()
    if not attribute.ordered:
        fix = f'bf.Count("{attribute.name} in [...]").'
        raise ArgumentError("constraints", f"{attribute.name!r} has no order for a box", fix=fix)
    try:
        start, stop = run_of(attribute, *pair)
    except ExpressionError:
        raise
    except BlowfishError as error:
        fix = str(getattr(error, "allowed", "") or getattr(error, "fix", "") or "cell edges")
        problem = getattr(error, "problem", str(error))
        raise _refused(stated, f"{attribute.name}: {problem}", fix) from None
    cells = np.zeros(attribute.size, dtype=bool)
    cells[start:stop] = True
    return Atom(attribute.name, cells)


def _table(stated: Constraint, chosen: Domain) -> Ints | None:
    """Return a marginal's known counts as a table, a cell each, or None where they are left open."""
    answer = stated.answer
    if answer is None:
        return None
    listed = isinstance(answer, tuple) and bool(answer) and all(isinstance(e, KnownCell) for e in answer)
    if listed:
        return frozen(_from_cells(stated, chosen, answer))
    shape = " x ".join(map(str, chosen.shape))
    wanted = f"a table of {shape} counts in schema order, or a dict of value -> count"
    if isinstance(answer, tuple) and not answer:
        raise _refused(stated, "the answer is empty", wanted)
    try:
        table = np.array(answer, dtype=np.int64)
    except (ValueError, OverflowError, TypeError):
        raise _refused(stated, "the answer is not a table of counts", wanted) from None
    if table.shape != chosen.shape and table.shape != (chosen.size,):
        raise _refused(stated, f"the answer has shape {table.shape}", wanted)
    return frozen(table.reshape(chosen.shape))


def _from_cells(stated: Constraint, chosen: Domain, known: Iterable[KnownCell]) -> Ints:
    table = np.full(chosen.shape, -1, dtype=np.int64)
    for each in known:
        if len(each.cell) != len(chosen.columns):
            raise _refused(stated, "a cell of the answer does not name every column", "(value, value): count")
        try:
            place = tuple(_code(a, value) for a, value in zip(chosen, each.cell, strict=True))
        except BlowfishError as error:
            raise _refused(stated, "a cell of the answer is not declared", str(error)) from None
        if table[place] >= 0:
            raise _refused(stated, "the answer names a cell twice", "each cell once")
        table[place] = each.rows
    if (table < 0).any():
        left = int((table < 0).sum())
        raise _refused(stated, f"the answer leaves out {left:,} cells", "every cell, 0 where there is no row")
    return table


def _code(attribute: Attribute, value: Any) -> int:
    """Return the cell of a value; None is the missing one of a nullable column."""
    if value is None and attribute.nullable:
        return attribute.cells
    return attribute.code(value)


def _refused(stated: Constraint, problem: str, allowed: str) -> ArgumentError:
    return ArgumentError("constraints", f"{stated.describe()}: {problem}", allowed=allowed)


def rows_follow(policy: Policy, columns: Sequence[str], asked: Callable[[Cells], Any]) -> bool:
    """Return whether query rows are sums and differences of known counts, and of the rows where public.

    Args:
        policy: The policy, with its facts.
        columns: The columns that the query rows look at.
        asked: Returns the columns of the query rows at some cells, scipy sparse.
    """
    names = tuple(dict.fromkeys([*columns, *(column for fact in policy.facts for column in fact.columns)]))
    if not all(policy.domain[name].bounded for name in names):
        return False
    shape = [policy.domain[name].size for name in names]
    if math.prod(shape) > MAX_SETTLED:
        return False
    cells = Cells.every(names, shape)
    known = [np.ones((1, len(cells)), dtype=np.int64)] if policy.rows_public else []
    known += [
        (fact.counts_at(cells) == np.arange(fact.counts)[:, None]).astype(np.int64) for fact in policy.facts
    ]
    facts = np.concatenate(known)
    return len(independent(facts)) == len(independent(np.concatenate([facts, asked(cells).toarray()])))
