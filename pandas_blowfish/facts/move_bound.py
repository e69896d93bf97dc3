"""How many records two neighbouring tables differ in at most, given what is public. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.integer_kernel import (
    has_independent_rows,
    independent,
    longest_zero_sum,
    only_direction,
)
from pandas_blowfish.facts.constraint_graph import ConstraintGraph, constraint_graph
from pandas_blowfish.facts.fact import Fact, find_needed
from pandas_blowfish.facts.signature import Signatures, is_disjoint, signatures_of
from pandas_blowfish.facts.touched import touches
from pandas_blowfish.policy.expression import truth

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy

UNTOUCHED, KNOWN = "untouched", "known"  # rules by which facts cost nothing
ROWS = "rows"  # the rule that no more records move than there are
MAX_CELLS = 1_024  # of tables whose kernel is looked at
MAX_TABLE = 160  # signatures, and labels, of which the rank is found exactly
MAX_ATOMS = 30_000_000  # signatures times labels that are looked at to see whether they are independent
MAX_PAIRS = 20_000  # of signatures whose differences are listed
MAX_RANK = 4  # dimensions in which minimal zero sums are looked for
MOST = 2**64  # records: no table has as many rows
MOST_SPLIT = 8  # facts that a bound is tried to be built on


@dataclass(frozen=True)
class MoveBound:
    """How far apart neighbours are, in single moved records, and the rule by which.

    Attributes:
        count: How many moves of one record the change of the histogram is made of at most; 0 where the
            facts leave only one table, so that all of it is public already.
        records: How many records differ at most, which is no less: some may bring back what others take.
        rule: The rule's name.
        why: The rule in words.
        interacting: Facts that one neighbour may change together, by their number in the policy.
        exact: Whether the number is that of the rule itself, and not a bound for it.
    """

    count: int
    records: int
    rule: str
    why: str
    interacting: tuple[tuple[int, ...], ...] = ()
    exact: bool = True
    limit: ClassVar[int] = MOST  # what a count is capped at where it is used

    @property
    def known(self) -> bool:
        """Return whether the facts leave only one table, so that nothing is left to protect."""
        return self.rule == KNOWN

    @property
    def moves(self) -> int:
        """Return the moves of one record that noise must hide, from 1 up to the limit."""
        return min(max(self.count, 1), MOST)

    @property
    def free(self) -> bool:
        """Return whether the facts cost nothing: the promise is that of the edges alone."""
        return self.rule == UNTOUCHED

    def cap(self, rows: int) -> MoveBound:
        """Return the bound for tables of a public number of rows: no more records move than there are.

        Proof note:
            Requires: presence is public, so that neighbours have the same `rows` rows.
            Ensures:  as `bound_moves`.
            Because:  row by row one table turns into the other, each row between cells that agree on the
                      public columns: at most `rows` moves (MATH, section 9).
            Checked:  tests/privacy/test_fact_oracle.py::test_never_more_than_all_rows
        """
        most = max(rows, 1)
        if self.free or self.known or max(self.count, self.records) <= most:
            return self
        if self.count <= most:
            return replace(self, records=most)
        why = f"no more than all {most:,} rows can move, and their number is public"
        return replace(self, count=most, records=most, rule=ROWS, why=why, exact=False)


@lru_cache(maxsize=256)
def bound_moves(policy: Policy) -> MoveBound:
    """Return how far apart neighbours of a policy are at most.

    Proof note:
        Requires: the policy's facts are 0/1 counts of cells.
        Ensures:  neighbours (Definition 4.1, both directions) differ in at most `records` records (unless
                  the rule is "kernel" or "known"), and their histograms by at most `count` moves of one
                  record between cells that agree on the public columns, or with presence to or from
                  "absent".
        Because:  the moves of a minimal neighbour have no part that leaves all known counts as they are:
                  else that part, or the rest, alone would be a smaller one. If no edge changes any known
                  count one move is such a part. If each move lifts and lowers at most one count each, the
                  moves are a simple cycle, or a simple path from v+ to v-, of the constraint graph; as one
                  record enters a count where another leaves it, the histogram changes by one move for each
                  count of two cells or more. In general they are a minimal zero sum of vectors with entries
                  -1, 0, 1, of which as many coordinates matter as are independent: found by completion, or
                  with d of them ordered (Steinitz) so that all partial sums, no two of them equal, are
                  within d: (2d + 1)^d. Where some facts have a constraint graph, the moves are put together
                  from its cycles and paths, of m moves at most; these change the d others by at most m, and
                  are ordered instead. If the facts and the public totals leave the histogram one direction
                  g, it changes by g: as much as |g|/2 moves.
        Checked:  tests/privacy/test_fact_oracle.py::test_never_below_the_truth
    """
    facts = policy.facts
    if not any(touches(policy.graph, fact) for fact in facts):
        return MoveBound(
            1, 1, UNTOUCHED, "no edge of the policy changes a known count: the facts cost nothing"
        )
    kept = find_needed(facts)
    found = min((each for each in _rules(policy, [facts[place] for place in kept]) if each), key=_far)
    return replace(found, interacting=tuple(tuple(kept[n] for n in part) for part in found.interacting))


def _far(found: MoveBound) -> int:
    return found.count


def _rules(policy: Policy, facts: Sequence[Fact]) -> Iterator[MoveBound | None]:
    """Yield the bound of each rule that applies to some facts."""
    public, presence = policy.public_columns, policy.presence
    if len(facts) == 1 and facts[0].condition is None:
        yield _one_marginal(policy, facts[0])
        if len(policy.domain.columns) == len(facts[0].columns):
            yield MoveBound(0, 0, KNOWN, "the marginal is the whole table: all of it is public already")
        return
    yield _kernel(policy, facts)
    found = signatures_of(facts, policy.domain, public, presence)
    every = (tuple(range(len(facts))),)
    if found is None:
        if is_disjoint(facts, policy.domain):
            why = f"{len(facts):,} counts of disjoint cells: at most one more than there are"
            yield MoveBound(len(facts) + 1, len(facts) + 1, "disjoint", why, every, False)
            return
        many = sum(fact.counts for fact in facts)
        bound = _ordered(1, many)
        yield MoveBound(bound, bound, "steinitz", _steinitz(many), every, False)
        return
    graph = constraint_graph(found)
    if graph is not None:
        yield _from_graph(found, graph)
        return
    yield from _overlapping(policy, found)


def _one_marginal(policy: Policy, fact: Fact) -> MoveBound:
    """Return the closed form for a single marginal: all cells of its secret columns in one cycle."""
    names = [column for column in fact.columns if column not in policy.public_columns]
    cells = math.prod(policy.domain[column].size for column in names)
    known = f"one marginal with {cells:,} cells in its secret columns"
    if not policy.presence:
        return MoveBound(cells, cells, "one marginal", f"{known}: a cycle through all of them", ((0,),))
    others = [policy.domain[column] for column in policy.public_columns - set(fact.columns)]
    spread = any(not each.bounded or each.size > 1 for each in others)
    why = f"{known}, and rows may be absent: a path through all of them"
    return MoveBound(cells + spread, cells + 1, "one marginal", why, ((0,),))


def _from_graph(found: Signatures, graph: ConstraintGraph) -> MoveBound:
    """Return the longest cycle or path of a constraint graph, or a bound for it."""
    count, records, exact, interacting, complete = 1, 1, True, [], True
    for number, part in enumerate(graph.parts):
        longest = graph.longest(number)
        exact, complete = exact and longest.exact, complete and longest.complete
        count, records = max(count, longest.heaviest), max(records, longest.cycle, longest.path)
        interacting.append(tuple(np.unique(found.fact_of(graph.vertices[part])).tolist()))
    together = tuple(dict.fromkeys(interacting))
    if not exact:
        why = f"constraint graph of {len(graph.vertices):,} counts: a bound for its longest cycle or path"
        return MoveBound(count, records, "constraint graph", why, together, False)
    if complete:
        why = "counts of disjoint cells, of which a record can change any into any other"
        return MoveBound(count, records, "disjoint", why, together)
    why = f"constraint graph of {len(graph.vertices):,} counts: its longest cycle or path"
    return MoveBound(count, records, "constraint graph", why, together)


def _overlapping(policy: Policy, found: Signatures) -> Iterator[MoveBound]:
    """Yield bounds where one record may change several counts the same way."""
    every = (tuple(range(len(found.facts))),)
    groups = found.groups()
    if found.labels > MAX_TABLE or found.size > MAX_TABLE:
        few = found.size <= found.labels + len(groups) and found.size * found.labels <= MAX_ATOMS
        table = found.with_totals(groups) if few else None
        if table is not None and has_independent_rows(table[table.any(axis=1)]):
            yield _atoms(found, groups, every)
            return
        many = found.labels - (0 if found.presence else sum(fact.condition is None for fact in found.facts))
        bound = _ordered(1, many)  # a marginal's last count follows
        yield MoveBound(bound, bound, "steinitz", _steinitz(many), every, False)
        return
    table = found.with_totals(groups)
    basis = independent(table)
    if len(basis) == int((found.matrix.any(axis=1) | (not found.presence)).sum()):
        yield _atoms(found, groups, every)
        return
    narrow = table[:, [place for place in basis if found.presence or place >= len(groups)]]
    rank = narrow.shape[1]
    moves = _differences(narrow, groups, found.presence) if rank <= MAX_RANK else None
    longest = None if moves is None else longest_zero_sum(moves)
    if longest is not None:
        why = f"overlapping facts, {rank} of them independent: the longest moves that balance only together"
        yield MoveBound(longest, longest, "zero sums", why, every)
        return
    bound = _ordered(1, rank)
    yield MoveBound(bound, bound, "steinitz", _steinitz(rank), every, False)
    for first in range(min(len(found.facts), MOST_SPLIT)):
        many, left = _split(policy, found, first, rank)
        bound = _ordered(many, left)
        yield MoveBound(bound, bound, "steinitz", _steinitz(left, many), every, False)


def _atoms(found: Signatures, groups: Sequence[Ints], every: tuple[tuple[int, ...], ...]) -> MoveBound:
    """Return the rule for facts that are as good as a count of each kind of cell they distinguish."""
    several = found.cells > 1 if found.confined else np.ones(found.size, dtype=bool)
    told = "the facts together tell the counts of all kinds of cells they tell apart"
    if found.presence:  # cells that no fact counts, and "absent", are the ends of a path
        counted = np.asarray(found.matrix.sum(axis=1) > 0)
        ends = [int(not found.confined or not counted[rows].all()) for rows in groups]
        kinds = [several[rows] & counted[rows] for rows in groups]
        count = max(int(each.sum()) + more for each, more in zip(kinds, ends, strict=True))
        records = 1 + max(int(counted[rows].sum()) for rows in groups)
        return MoveBound(max(count, 1), records, "atoms", f"{told}: a path through all of these", every)
    count, records = max(int(several[rows].sum()) for rows in groups), max(map(len, groups))
    return MoveBound(max(count, 1), records, "atoms", f"{told}: a cycle through all of these", every)


def _split(policy: Policy, found: Signatures, first: int, rank: int) -> tuple[int, int]:
    """Return the moves of a cycle or path of some facts, and how many others are independent of them."""
    chosen, many, own = [found.facts[first]], 1, 0
    for fact in (None, *found.facts):
        trial = chosen if fact is None else [*chosen, fact]
        if fact in chosen:
            continue
        part = signatures_of(trial, policy.domain, policy.public_columns, found.presence)
        graph = None if part is None else constraint_graph(part)
        if part is None or graph is None:
            continue
        chosen, many = trial, _from_graph(part, graph).records
        groups = part.groups()
        own = len(independent(part.with_totals(groups))) - (0 if found.presence else len(groups))
    return many, rank - own


def _ordered(many: int, dimension: int) -> int:
    """Return how many moves a minimal zero sum of steps of up to `many` moves has at most."""
    if dimension < 2:  # on a line partial sums can be kept between the steps; m and -m are a sum of their own
        return many * (max(2, 2 * many - 1) if dimension else 1)
    each = 2 * dimension * many + 1
    return MOST if dimension * math.log2(each) > 64 else min(int(many * each**dimension), MOST)


def _differences(table: Ints, groups: Sequence[Ints], presence: bool) -> list[list[int]] | None:
    """Return how one moved record can change some counts; None where there are too many ways to list."""
    if sum(len(rows) ** 2 for rows in groups) > MAX_PAIRS:
        return None
    parts = [(table[rows][:, None] - table[rows][None]).reshape(-1, table.shape[1]) for rows in groups]
    found = np.concatenate([*parts, table] if presence else parts)
    listed: list[list[int]] = np.unique(found, axis=0).tolist()
    return listed


def _kernel(policy: Policy, facts: Sequence[Fact]) -> MoveBound | None:
    """Return what follows when the facts leave the whole table no, or just one, way to change."""
    domain = policy.domain
    if not all(a.bounded for a in domain) or domain.size > MAX_CELLS:
        return None
    rows = _rows(policy, facts)
    if len(rows) > 2 * MAX_CELLS:
        return None
    every = (tuple(range(len(facts))),)
    direction = only_direction(rows)
    if direction is None:
        return None
    if not len(direction):
        return MoveBound(0, 0, KNOWN, "the facts leave only one table: all of it is public already", every)
    if policy.presence:
        return None
    size = int(np.abs(direction).sum()) // 2
    why = "the facts leave the table one direction to change in: as many moves as it takes"
    return MoveBound(size, size, "kernel", why, every)


def _rows(policy: Policy, facts: Sequence[Fact]) -> Ints:
    """Return the known counts, and totals that are public, as 0/1 rows over all cells of the table."""
    domain = policy.domain
    names = list(domain.columns)
    classes = [np.arange(size) for size in domain.shape]
    grid = np.arange(domain.size).reshape(domain.shape)
    codes = dict(zip(names, np.unravel_index(grid.ravel(), domain.shape), strict=True)) if names else {}
    shared = [codes[name] for name in names if name in policy.public_columns]
    rows = [np.empty((0, domain.size), dtype=np.int64) if policy.presence else _one_hot(shared, domain.size)]
    for fact in facts:
        if fact.condition is None:
            rows.append(_one_hot([codes[column] for column in fact.columns], domain.size))
        else:
            rows.append(truth(fact.condition, names, classes).reshape(1, -1).astype(np.int64))
    return np.unique(np.concatenate(rows), axis=0)


def _one_hot(codes: list[Ints], size: int) -> Ints:
    """Return a row for each combination of codes, 1 where a cell has it."""
    if not codes:
        return np.ones((1, size), dtype=np.int64)
    _, label = np.unique(np.stack(codes), axis=1, return_inverse=True)
    table = np.zeros((int(label.max(initial=0)) + 1, size), dtype=np.int64)
    table[label.reshape(-1), np.arange(size)] = 1
    return table


def _steinitz(rank: int, many: int = 1) -> str:
    what = f"overlapping facts, {rank:,} of them independent"
    if many > 1:
        what += f" of others that take up to {many:,} moves"
    return f"{what}: Steinitz' bound; drop or merge facts to lower it"
