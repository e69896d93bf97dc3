"""A workload of linear counting queries, and what can be measured to answer it. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.line.axis import LineGraph, line
from pandas_blowfish.plan.line.layouts import CELLS, LAYOUTS, lay_cells
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.search import search
from pandas_blowfish.plan.linear.atom_rows import (
    DIRECT,
    IDENTITY,
    OPTIMISED,
    Linear,
    dense,
    distinct,
    unpack_rows,
)
from pandas_blowfish.plan.linear.atoms import Atoms, column_classes, gather
from pandas_blowfish.plan.linear.bound import forced_by_edges
from pandas_blowfish.plan.linear.line_sums import LineSums, number_answers
from pandas_blowfish.plan.linear.optimise import optimise
from pandas_blowfish.plan.linear.woven import Woven
from pandas_blowfish.plan.protocol import AskedCase, Builder, Question, Strategy, find_builder
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.policy import Policy

MAX_OPTIMISED = 256  # atoms up to which rows are searched for numerically
MAX_WOVEN = 200_000_000  # queries times atoms of a line up to which nests are looked at
MAX_WEIGHT = 1 << 20  # numbers of queries up to which rows are combined of them
BETTER = 0.99  # of the best structured error: what is less of a gain is not worth keeping a matrix for
LINES = tuple(name for name in LAYOUTS if name != CELLS)


@dataclass(frozen=True, eq=False)
class Queries(Question):
    """Whole-number queries over the cells of some columns, the same for each group.

    Attributes:
        tally: Counts of single cells: groups outermost, then the queries' columns, then those of a filter.
        matrix: Queries x cells of one group, scipy sparse rows, int64.
        digest: The matrix's sha256.
        groups: How many columns answers are grouped by.
    """

    tally: Tally
    matrix: Any
    digest: bytes
    groups: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.tally.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""
        return tuple(each.name for each in WORKLOADS if self.ordered or each.name not in LINES)

    @property
    def ordered(self) -> bool:
        """Tell whether the queries are about one column whose values have an order."""
        return self.axis == self.groups and self.tally.binnings[self.axis].attribute.ordered

    @property
    def axis(self) -> int:
        """Return the place of the queries' last column among the tally's."""
        return (len(self.tally.binnings) if self.tally.shown is None else self.tally.shown) - 1

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups outermost, then the number of the query."""
        return number_answers(self.tally.binnings[: self.groups], self.matrix.shape[0])

    def stated_matrix(self) -> Any:
        """Return the queries as the caller wrote them."""
        return self.matrix

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on the answers."""
        return forced_by_edges(policy, self.tally, self._gram, most)

    def _gram(self) -> Floats:
        """Return for each two cells the product of their columns; those of two groups share no query."""
        matrix = self.matrix.astype(np.float64)
        groups = self.tally.size // matrix.shape[1]
        return np.kron(np.eye(groups), (matrix.T @ matrix).toarray())

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all answers are exact."""
        case = WorkloadCase(self, policy, epsilon, strategy != "auto", every, [])
        for each in WORKLOADS:
            if strategy in ("auto", each.name):
                for found in each.build(case):
                    yield found
                    case.found.append(found)
                    if case.exact:
                        return

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured, from the strategy's name and `form`."""
        made: Builder[WorkloadCase] = find_builder(WORKLOADS, strategy)
        return made.reread(WorkloadCase(self, policy, epsilon, True, False, []), form)

    def over_atoms(self, atoms: Atoms, woven: Woven) -> Any:
        """Return the weighted rows of a nest over atoms; None where it separates what an atom holds."""
        size = woven.line.groups * woven.line.size
        if size > 2 * MAX_OPTIMISED:
            return None
        labels = woven.tally.marks[self.axis]
        lines = np.arange(woven.line.groups)[:, None] * woven.line.size
        of_bin = np.where(labels < 0, size, labels + lines).ravel()  # what the line leaves out is zeros
        rows = np.column_stack([woven.apply(one) for one in np.eye(size, dtype=np.int64)])
        scales = np.array([float(scale) for scale in woven.scales])
        rows = rows[scales > 0] / scales[scales > 0][:, None]
        rows = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
        occupied = self.tally.occupied
        both = np.unique(np.column_stack([atoms.of_bin, of_bin])[occupied], axis=0)
        over = np.zeros((len(rows), atoms.count + 1))  # the last is what no atom holds
        over[:, both[:, 0]] = rows[:, both[:, 1]]
        if not np.array_equal(over[:, both[:, 0]], rows[:, both[:, 1]]) or over[:, -1].any():
            return None
        return over[:, :-1]

    @cached_property
    def _runs(self) -> dict[bool, tuple[Ints, Any]]:
        """Return runs of cells that no query separates, and the queries over them.

        By whether cells that no query counts are runs too, or left out.
        """
        classes = column_classes(self.matrix)
        attribute = self.tally.binnings[self.axis].attribute
        change = np.append(False, classes[1:] != classes[:-1])
        change[attribute.cells :] = True  # missing values are no neighbours of the last
        runs = np.cumsum(change)
        first = np.flatnonzero(np.append(True, change[1:]))
        by_cell = self.matrix.tocsc()
        ways = {True: (frozen(runs), by_cell[:, first].tocsr())}
        held = classes[first] > 0
        if held.any() and not held.all():
            fewer = np.where(held, np.cumsum(held) - 1, -1)[runs]
            ways[False] = (frozen(fewer), by_cell[:, first[held]].tocsr())
        return ways

    def lines(self, policy: Policy) -> dict[bool, tuple[LineSums, LineGraph]]:
        """Return the questions along the column, and the lines they are asked of."""
        found = {}
        tally, axis = self.tally, self.axis
        graph = policy.graph.project(tally.domain.columns)
        for covered, (labels, weights) in self._runs.items():
            attribute = tally.binnings[axis].attribute
            labels, weights = _occupied(tally, labels, weights)
            if weights.shape[0] * weights.shape[1] > MAX_WOVEN or not weights.shape[1]:
                continue
            own = Binning(attribute, frozen(labels), pd.RangeIndex(weights.shape[1]))
            binnings = (*tally.binnings[:axis], own, *tally.binnings[axis + 1 :])
            fewer = Tally(binnings, tally.shown, tally.condition)
            mark = np.frombuffer(self.digest, dtype=np.int64)
            labelled = partial(pd.RangeIndex, weights.shape[0])
            asked = LineSums(fewer, "ranges", (mark, mark), labelled, None, weights)
            found[covered] = (asked, line(graph, fewer))
        return found


def _occupied(tally: Tally, labels: Ints, weights: Any) -> tuple[Ints, Any]:
    """Return runs and the queries over them without the runs that a filter leaves empty everywhere."""
    if tally.condition is None:
        return labels, weights
    cells = tally.occupied.reshape(-1, len(labels)).any(axis=0)
    held = np.zeros(weights.shape[1], dtype=bool)
    held[labels[cells & (labels >= 0)]] = True
    place = np.append(np.where(held, np.cumsum(held) - 1, -1), -1)
    return place[labels], weights[:, np.flatnonzero(held)]


def _counts(atoms: Atoms, *, rest: bool) -> Any:
    """Return a row for each atom that some query needs to know, or for all of the totals these are in."""
    from scipy.sparse import eye_array

    wanted = atoms.needed & (rest | (np.diff(atoms.queries.tocsc().indptr) > 0))
    return eye_array(atoms.count, dtype=np.int64, format="csr")[np.flatnonzero(wanted)]


def _direct(atoms: Atoms) -> Any:
    """Return the queries that edges change, each once, but for multiples and exact totals.

    Totals are kept in where dense algebra could not add them again.
    """
    if dense(atoms, 0):
        rows = distinct(atoms.less_totals(atoms.queries[np.flatnonzero(atoms.changing)]))
        if dense(atoms, rows.shape[0]):
            return rows
    return _alone(atoms)


def _alone(atoms: Atoms) -> Any:
    """Return the queries that edges change, each once, but for multiples."""
    return distinct(atoms.queries[np.flatnonzero(atoms.changing)])


@dataclass(frozen=True, eq=False)
class WorkloadCase(AskedCase[Queries]):
    """A workload that is asked under a policy, for an epsilon.

    Attributes:
        found: The candidates so far.
    """

    found: list[Strategy]

    @cached_property
    def atoms(self) -> Atoms:
        """Return sets of cells that no query separates, and which of them edges join."""
        asked = self.question
        return gather(self.policy.graph.project(asked.tally.domain.columns), asked.tally, asked.matrix)

    @property
    def exact(self) -> bool:
        """Tell whether no edge changes any of the answers."""
        return not self.atoms.changing.any()

    def measure_rows(self, name: str, rows: Any, way: Mapping[str, Any] | None) -> Linear:
        """Return rows over atoms as a strategy; `way` says how they are made again, None to keep them."""
        asked = self.question
        return Linear(name, asked.tally, asked.index, self.atoms, rows, self.epsilon, way)

    def nothing(self, name: str) -> Linear:
        """Return no rows at all, where everything is exact."""
        return self.measure_rows(name, self.atoms.queries[:0], {"rows": "none"})

    @cached_property
    def nests(self) -> list[Woven]:
        """Return the best nests of all strategies of lines together, or of each by itself."""
        return list(self.weave(LINES)) if self.question.ordered else []

    def weave(self, names: tuple[str, ...]) -> Iterator[Woven]:
        """Yield the nests of some strategies: the best of all, or of each by itself."""
        for covered, (asked, axis) in self.question.lines(self.policy).items():
            if len(names) > 1 and int(axis.pieces.max(initial=0)) + 1 > len(axis.starts):
                continue  # totals of pieces that are no runs are kept by the others
            layouts: dict[Layout, str] = {}
            for name in names:
                listed = LAYOUTS[name](axis) or (lay_cells(axis) if len(names) == 1 else [])
                layouts |= dict.fromkeys(listed, name)
            groups = [list(layouts)]
            if self.alone or self.every:
                groups = [[each for each in layouts if layouts[each] == name] for name in names]
            for some in groups:
                if some:
                    layout, weights = search(axis, asked.sample(), some)
                    yield Woven(layouts[layout], asked, axis, layout, weights, self.epsilon, covered)


class RowsBuilder:
    """Rows over atoms: the atoms' counts, or those that some query needs alone, whichever is better."""

    name = IDENTITY

    def build(self, case: WorkloadCase) -> Iterator[Strategy]:
        """Yield the rows found; none where everything is exact and any strategy does."""
        if not case.exact:
            yield from self.find(case)
        elif case.alone or self.name == IDENTITY:
            yield case.nothing(self.name)

    def find(self, case: WorkloadCase) -> Iterator[Strategy]:
        """Yield the better of two ways."""
        ways = [
            case.measure_rows(self.name, _counts(case.atoms, rest=rest), {"rows": said})
            for rest, said in ((True, "all atoms"), (False, "asked atoms"))
        ]
        yield min(ways, key=lambda each: each.mse)

    def reread(self, case: WorkloadCase, form: Mapping[str, Any]) -> Strategy:
        """Return the rows that `form` holds, or says how to make."""
        rows, atoms = form["rows"], case.atoms
        if not isinstance(rows, str):
            return case.measure_rows(self.name, unpack_rows(rows), None)
        if rows in ("all atoms", "asked atoms"):
            return case.measure_rows(self.name, _counts(atoms, rest=rows == "all atoms"), form)
        if rows == "none":
            return case.nothing(self.name)
        return case.measure_rows(self.name, (_direct if rows == "queries" else _alone)(atoms), form)


class DirectBuilder(RowsBuilder):
    """The queries themselves, each answered by all of them, or by itself where algebra fails."""

    name = DIRECT

    def find(self, case: WorkloadCase) -> Iterator[Strategy]:
        """Yield the one way that can be computed."""
        found = case.measure_rows(self.name, _direct(case.atoms), {"rows": "queries"})
        if not found.enough:
            found = case.measure_rows(self.name, _alone(case.atoms), {"rows": "queries alone"})
        yield found


@dataclass(frozen=True)
class NestBuilder:
    """A strategy of nested runs along the one ordered column that queries are about."""

    name: str

    def build(self, case: WorkloadCase) -> Iterator[Strategy]:
        """Yield its own nest; among all strategies what of the best is its own and keeps what is exact."""
        if not case.question.ordered:
            return
        if case.alone:
            yield from [case.nothing(IDENTITY)] if case.exact else case.weave((self.name,))
        elif not case.exact:
            steady = ~case.atoms.changing  # a line may not know all that is exact
            own = (each for each in case.nests if each.name == self.name)
            yield from (each for each in own if not each.variances[steady].any())

    def reread(self, case: WorkloadCase, form: Mapping[str, Any]) -> Strategy:
        """Return the nest that `form` describes."""
        asked, axis = case.question.lines(case.policy)[form["covered"]]
        return Woven.from_form(self.name, asked, axis, case.epsilon, form)


class OptimisedBuilder(RowsBuilder):
    """The best rows that a numerical search finds from the structured ones."""

    name = OPTIMISED

    def find(self, case: WorkloadCase) -> Iterator[Strategy]:
        """Yield the rows found; among all strategies only where they are much better than the others."""
        many = int(case.atoms.needed.sum())
        if many <= MAX_OPTIMISED and case.atoms.links.pairs is not None:
            best = self._search(case)
            if case.alone or case.every or best.mse < BETTER * min(each.mse for each in case.found):
                yield best
        elif case.alone:
            raise ArgumentError(
                "strategy",
                f"{many:,} sets of cells that queries separate are too many to optimise",
                allowed=f"up to {MAX_OPTIMISED}",
                fix='"auto"',
            )

    def _search(self, case: WorkloadCase) -> Linear:
        from scipy.sparse import csr_array

        atoms, needed = case.atoms, np.flatnonzero(case.atoms.needed)
        place = np.full(atoms.count + 1, len(needed), dtype=np.int64)
        place[needed] = np.arange(len(needed))
        assert atoms.links.pairs is not None
        ends = place[atoms.links.pairs]
        ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
        queries = atoms.queries.astype(np.float64)[:, needed]
        gram = np.asarray((queries.T @ queries).toarray()) / queries.shape[0]
        starts = [np.eye(len(needed))]
        direct, few = _direct(atoms), None
        if direct.shape[0] <= 2 * len(needed) and abs(direct).max() < MAX_WEIGHT:
            few = direct.toarray()[:, needed]
        nests = [each for each in case.nests if case.alone or each in case.found]
        over = (case.question.over_atoms(atoms, each) for each in nests)
        starts += [each[:, needed] for each in over if each is not None]
        rows = optimise(gram, ends, atoms.links.parts[needed], starts, few)
        full = np.zeros((len(rows), atoms.count), dtype=np.int64)
        full[:, needed] = rows
        found = case.measure_rows(self.name, csr_array(full), None)
        return found if found.enough else case.measure_rows(self.name, _counts(atoms, rest=True), None)


# what can be measured for workloads, in the order they are tried; to add a strategy, add its builder here
WORKLOADS: list[Builder[WorkloadCase]] = [
    RowsBuilder(),
    DirectBuilder(),
    *(NestBuilder(name) for name in LINES),
    OptimisedBuilder(),
]
