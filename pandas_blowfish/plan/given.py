"""Known answers of public facts as sums over the bins of a tally. Never sees rows.

What a fact counts need not be a sum of bins, but a sum or difference of facts may be: cells are gathered into
classes that no fact, filter or bin separates, so that it is decided without listing cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.exact.integer_kernel import independent, short_kernel
from pandas_blowfish.facts.declared import Count
from pandas_blowfish.facts.fact import Fact
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Atom, signatures, truth
from pandas_blowfish.policy.graph.secret_graph import connect
from pandas_blowfish.policy.policy import Policy

MAX_TABLE = 10**7  # numbers of any one table here


def find_known_counts(
    facts: Iterable[Fact], columns: list[str], classes: Sequence[Ints]
) -> tuple[Ints, Ints]:
    """Return which combinations of classes each known count holds, and the counts."""
    shape = [int(each.max(initial=-1)) + 1 for each in classes]
    holds, answers = [], []
    for fact in facts:
        assert fact.answer is not None
        if fact.condition is not None:
            holds.append(np.broadcast_to(truth(fact.condition, columns, classes), shape).reshape(1, -1))
        else:
            cell = np.zeros([1] * len(shape), dtype=np.int64)
            for size, column in zip(fact.shape, fact.columns, strict=True):
                axis = columns.index(column)
                own = np.empty(shape[axis], dtype=np.int64)
                own[classes[axis]] = np.arange(size)
                cell = cell * size + own.reshape([-1 if n == axis else 1 for n in range(len(shape))])
            holds.append(np.broadcast_to(cell, shape).reshape(1, -1) == np.arange(fact.counts)[:, None])
        answers.append(fact.answer.reshape(-1))
    return np.concatenate(holds).astype(np.int8), np.concatenate(answers)


def find_counted_classes(tally: Tally, columns: list[str], classes: Sequence[Ints]) -> NDArray[np.bool_]:
    """Return which combinations of classes are counted in some bin."""
    shape = [int(each.max(initial=-1)) + 1 for each in classes]
    found = np.ones(shape, dtype=bool)
    if tally.condition is not None:
        found &= truth(tally.condition, columns, classes)
    for axis, marks in enumerate(tally.marks):
        kept = np.zeros(shape[axis], dtype=bool)
        kept[classes[axis][marks >= 0]] = True
        found &= kept.reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return found


def find_kinds_by_bin(
    tally: Tally, classes: Sequence[Ints], kind_of: Ints, kinds: int
) -> tuple[NDArray[np.bool_], Ints] | None:
    """Return which kinds of cells types of bins hold, types x kinds, and the type of each bin.

    Bins of a column are of one type where they hold the same classes.
    """
    has = np.zeros((*kind_of.shape, kinds + 1), dtype=np.float32)
    if has.size > MAX_TABLE:
        return None
    np.put_along_axis(has, kind_of[..., None], 1.0, axis=-1)
    type_of = np.zeros(1, dtype=np.int64)
    for axis, each in enumerate(classes):
        inside = np.ones((1, kind_of.shape[axis]), dtype=np.float32)
        if axis < len(tally.binnings):
            found = _types(tally.marks[axis], each, tally.shape[axis])
            if found is None:
                return None
            inside, own = found
            type_of = (type_of[:, None] * len(inside) + own).ravel()
        if has.size // max(has.shape[axis], 1) * len(inside) > MAX_TABLE:
            return None
        has = (np.moveaxis(np.tensordot(inside, has, axes=(1, axis)), 0, axis) > 0).astype(np.float32)
    return has.reshape(-1, kinds + 1)[:, :kinds] > 0, type_of


def _types(marks: Ints, classes: Ints, bins: int) -> tuple[NDArray[np.float32], Ints] | None:
    """Return which classes each type of a column's bins holds, types x classes, and the type of each bin."""
    many = int(classes.max(initial=-1)) + 1
    kept = marks >= 0
    pairs = np.unique(marks[kept] * many + classes[kept])
    own, each = np.divmod(pairs, max(many, 1))
    number = np.bincount(own, minlength=bins)
    type_of = np.full(bins, many, dtype=np.int64)  # a bin without cells
    single = number[own] == 1
    type_of[own[single]] = each[single]
    mixed = np.flatnonzero(number > 1)
    if len(mixed) * many > MAX_TABLE:
        return None
    table = np.zeros((len(mixed), many), dtype=np.float32)
    table[np.searchsorted(mixed, own[~single]), each[~single]] = 1.0
    different, of_mixed = np.unique(table, axis=0, return_inverse=True)
    type_of[mixed] = many + 1 + of_mixed.reshape(-1)
    return np.concatenate([np.eye(many + 1, many, dtype=np.float32), different]), type_of


def gather_parts(has: NDArray[np.bool_], type_of: Ints, parts: Ints) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Return the same for parts of several bins, and the kinds of cells that are in no part."""
    kept, count = parts >= 0, int(parts.max(initial=-1)) + 1
    pairs = np.unique(parts[kept] * len(has) + type_of[kept])
    part, own = np.divmod(pairs, len(has))
    gathered = np.zeros((count, has.shape[1]), dtype=bool)
    np.logical_or.at(gathered, part, has[own])
    dropped = has[np.unique(type_of[~kept])].any(axis=0)
    return gathered, np.arange(count), np.flatnonzero(dropped)


def find_sums(kinds: Ints, has: NDArray[np.bool_], outside: Ints) -> Ints:
    """Return whole-number sums of known counts, sums x counts, that are one number on every bin.

    They are 0 on kinds of cells that are outside; all sums are sums of multiples of these.
    """
    first = np.argmax(has, axis=1)
    of_type, kind = np.nonzero(has)
    apart = np.unique(np.column_stack([first[of_type], kind]), axis=0)
    differ = (kinds[:, apart[:, 1]] - kinds[:, apart[:, 0]]).T
    same = np.unique(np.concatenate([differ, kinds[:, outside].T]), axis=0)
    return short_kernel(same[same.any(axis=1)], kinds.shape[0])


MAX_TOGETHER = 256  # known counts whose sums and differences are looked at
MAX_CLASSES = 20_000  # combinations of classes of cells
MAX_SETTLED = 64  # counts that facts may determine all of


@dataclass(frozen=True, eq=False)
class Family:
    """Known sums of counts.

    Attributes:
        labels: For each count the number of its group, -1 for none.
        totals: The known sums.
        rows: Sums x groups, how often each sum holds each group, dense or scipy sparse; None where each group
            is one.
    """

    labels: Ints
    totals: NDArray[Any]
    rows: Any = None


@dataclass(frozen=True, eq=False)
class Given:
    """The public facts whose answers are known."""

    domain: Domain
    facts: tuple[Fact, ...]

    @classmethod
    def of(cls, policy: Policy, rows: int | None = None) -> Given:
        """Return what a policy states as known, and the number of rows where facts and it are public."""
        known = tuple(fact for fact in policy.facts if fact.answer is not None)
        if known and rows is not None and policy.rows_public:
            known = (*known, _every(policy.domain, known[0].columns[0], rows))
        return cls(policy.domain, known)

    @classmethod
    def open(cls, policy: Policy) -> Given:
        """Return the facts and, where it is public, the row count, as if all answers were 0."""
        facts = tuple(replace(fact, answer=np.zeros(fact.shape, dtype=np.int64)) for fact in policy.facts)
        if facts and policy.rows_public:
            facts = (*facts, _every(policy.domain, facts[0].columns[0], 0))
        return cls(policy.domain, facts)

    def settles(self, tally: Tally) -> bool:
        """Return whether the facts determine every count of a small tally.

        Proof note:
            Requires: nothing.
            Ensures:  True only if tables that agree on all facts agree on every bin.
            Because:  as many sums as there are bins with a counted cell are known and independent.
            Checked:  tests/plan/test_price.py::test_what_facts_tell_is_exact
        """
        if tally.size > MAX_SETTLED:
            return False
        rows = [np.zeros((0, tally.size), dtype=np.int64)]
        for family in self.over(tally):
            groups = len(family.totals) if family.rows is None else family.rows.shape[1]
            held = (family.labels[None, :] == np.arange(groups)[:, None]).astype(np.int64)
            rows.append(held if family.rows is None else np.asarray(family.rows @ held, dtype=np.int64))
        return len(independent(np.concatenate(rows))) == tally.size

    def __bool__(self) -> bool:
        return bool(self.facts)

    def over(self, tally: Tally, parts: Ints | None = None) -> list[Family]:
        """Return all that is known of sums of a tally's counts.

        Args:
            tally: What is counted.
            parts: For each bin the part it is counted in, -1 for none; None for bins as they are.

        Proof note:
            Requires: answers as the policy states them.
            Ensures:  every sum holds for all tables that agree with the facts.
            Because:  a combination of facts that is the same number on all counted cells of a bin, and 0
                      on cells that are not counted, is that sum of bins; bins without a counted cell are 0.
            Checked:  tests/plan/test_given.py::test_sums_hold_and_nothing_is_missed
        """
        if not self.facts:
            return []
        found = self._together(tally, parts, self.facts)
        if found is None:
            counts = [fact for fact in self.facts if fact.condition is not None]
            tables = [_table(tally, parts, fact) for fact in self.facts if fact.condition is None]
            rest = self._together(tally, parts, counts)
            each = [self._together(tally, parts, [fact]) for fact in counts] if rest is None else [rest]
            found = [one for some in (*tables, *each) for one in some or ()]
        return found + (_nothing(tally) if parts is None else [])

    def _together(self, tally: Tally, parts: Ints | None, facts: Sequence[Fact]) -> list[Family] | None:
        """Return what sums and differences of some facts determine; None where there are too many."""
        if sum(fact.counts for fact in facts) > MAX_TOGETHER:
            return None
        seen = tally.domain.columns
        columns = [*seen, *dict.fromkeys(c for fact in facts for c in fact.columns if c not in seen)]
        classes = [self._classes(tally, facts, column) for column in columns]
        shape = [int(each.max(initial=-1)) + 1 for each in classes]
        if math.prod(shape) > MAX_CLASSES or not facts:
            return None if facts else []
        holds, answers = find_known_counts(facts, columns, classes)
        inside = find_counted_classes(tally, columns, classes)
        kinds, kind_of = np.unique(holds, axis=1, return_inverse=True)
        kinds, kind_of = kinds.astype(np.int64), kind_of.reshape(shape)
        types = find_kinds_by_bin(tally, classes, np.where(inside, kind_of, kinds.shape[1]), kinds.shape[1])
        if types is None:
            return None
        has, type_of = types
        outside = np.unique(kind_of[~inside])
        if parts is not None:
            has, type_of, more = gather_parts(has, type_of, parts)
            outside = np.union1d(outside, more)
        wanted = find_sums(kinds, has, outside)
        rows = np.where(has.any(axis=1), (wanted @ kinds)[:, np.argmax(has, axis=1)], 0)
        kept, known_of = (np.asarray(rows.any(axis=axis)) for axis in (1, 0))
        labels = np.where(known_of[type_of], type_of, -1)
        return [Family(frozen(labels), (wanted @ answers)[kept], rows[kept])] if kept.any() else []

    def _classes(self, tally: Tally, facts: Iterable[Fact], column: str) -> Ints:
        """Return classes of a column's cells that no fact, no filter and no missing bin separates."""
        size, seen = self.domain[column].size, tally.domain.columns
        found = np.zeros(size, dtype=np.int64)
        separating = [signatures(f.condition, column, size) for f in facts if f.condition is not None]
        if any(fact.condition is None and column in fact.columns for fact in facts):
            separating.append(np.arange(size))
        if column in seen:
            separating.append((tally.marks[seen.index(column)] < 0).astype(np.int64))
            separating += [] if tally.condition is None else [signatures(tally.condition, column, size)]
        for each in separating:
            both = found * (int(each.max(initial=0)) + 1) + each
            found = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return found


def _every(domain: Domain, column: str, rows: int) -> Fact:
    """Return the number of all rows as a known count."""
    condition = Atom(column, np.ones(domain[column].size, dtype=bool))
    stated = Count(f"every {column}", answer=rows)
    return Fact(stated, (column,), condition, (), np.array(rows, dtype=np.int64))


def _table(tally: Tally, parts: Ints | None, fact: Fact) -> list[Family]:
    """Return what a marginal alone determines, however many counts it has."""
    seen = tally.domain.columns
    axes = [axis for axis, column in enumerate(seen) if column in fact.columns]
    order = [fact.columns.index(seen[axis]) for axis in axes]
    assert fact.answer is not None
    gone = tuple(place for place in range(len(fact.columns)) if place not in order)
    answer = fact.answer.sum(axis=gone).transpose(np.argsort(np.argsort(order)))
    others = tuple(axis for axis in range(len(seen)) if axis not in axes)
    passes = tally.sieve.passes
    some, every = np.asarray(passes.any(axis=others)), np.asarray(passes.all(axis=others))
    cells = np.ix_(*(tally.sieve.classes[axis] for axis in axes)) if axes else ...
    own = np.zeros(1, dtype=np.int64)
    for axis in axes:
        own = (own[:, None] * tally.shape[axis] + np.maximum(tally.marks[axis], 0)).ravel()
    bins, full = math.prod(tally.shape[axis] for axis in axes), every[cells].ravel()
    totals = np.zeros(bins, dtype=np.int64)
    np.add.at(totals, own[full], answer.ravel()[full])
    known = np.zeros(bins, dtype=bool)
    known[own[full]] = True
    known[own[(some & ~every)[cells].ravel()]] = False  # the filter asks for more than the marginal counts
    label = np.where(known, np.cumsum(known) - 1, -1).reshape(
        [tally.shape[axis] if axis in axes else 1 for axis in range(len(seen))]
    )
    labels, totals = np.broadcast_to(label, tally.shape).reshape(-1), totals[known]
    if parts is not None:
        labels, totals = _merged(tally, labels, totals, parts)
    return [Family(frozen(labels.copy()), totals)] if len(totals) else []


def _merged(tally: Tally, labels: Ints, totals: Ints, parts: Ints) -> tuple[Ints, Ints]:
    """Return known sums over parts of several bins: those that part no bins are added up."""
    count, many = int(parts.max(initial=-1)) + 1, len(totals)
    ends = np.column_stack([np.where(parts < 0, count, parts), np.where(labels < 0, many, labels)])
    ends = ends[tally.occupied] + [0, count + 1]
    group = connect(np.concatenate([ends, [[count, count + 1 + many]]]), count + many + 2)
    wrong, own = group[count], group[count + 1 : count + 1 + many]
    kept, number = np.unique(own[own != wrong], return_inverse=True)
    sums = np.bincount(number.reshape(-1), totals[own != wrong], len(kept)).astype(np.int64)
    place = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return place[group[:count]], sums


def _nothing(tally: Tally) -> list[Family]:
    """Return that bins without a cell that is counted hold no rows."""
    empty = ~tally.occupied
    if not empty.any():
        return []
    labels = np.where(empty, np.cumsum(empty) - 1, -1)
    return [Family(frozen(labels), np.zeros(int(empty.sum()), dtype=np.int64))]
