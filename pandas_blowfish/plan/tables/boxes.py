"""Boxes over several ordered columns, asked of every group: what they are, and how they can be measured.

Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.line.layouts import branchings
from pandas_blowfish.plan.linear.bound import count_both, forced_by_edges
from pandas_blowfish.plan.protocol import AskedCase, Builder, Question, Strategy, find_builder
from pandas_blowfish.plan.tables.ladder import Ladder, count_filled, ladder, longest
from pandas_blowfish.plan.tables.levels import BoxLevels, Levels, search
from pandas_blowfish.plan.tables.mesh import Mesh, mesh
from pandas_blowfish.plan.tables.sensitivity import Changes, changes
from pandas_blowfish.plan.tally import MAX_ANSWERS, Binning, Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Condition
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import connect
from pandas_blowfish.policy.policy import Policy

IDENTITY, HIERARCHICAL, MESH = "identity", "hierarchical", "mesh"
MAX_TABLES = 300  # combinations of levels that are considered together
MAX_DEPTH = 5
FILLED, FEW = 4, 10**6  # leaves that filling segments up may lead to: so many times the atoms, or so many


WHY_NOT = {
    Mesh.name: "needs boxes of two columns, and edges that change nothing else and lead nowhere else",
}


@dataclass(frozen=True, eq=False)
class Boxes(Question):
    """How many rows lie in each box of some columns, for every combination of the groups' values.

    Attributes:
        domain: The columns that answers are grouped by, the boxes' columns, those of the filter alone.
        groups: How many of the columns are groups.
        starts: For each of the boxes' columns the first cell of each box.
        stops: One past its last.
        labels: Makes the index of all answers.
        condition: What a row must satisfy to be counted.
        binned: Groups whose cells are counted in bins.
    """

    domain: Domain
    groups: int
    starts: tuple[Ints, ...]
    stops: tuple[Ints, ...]
    labels: Callable[[], pd.Index[Any]]
    condition: Condition | None = None
    binned: Mapping[str, Binning] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""
        return tuple(each.name for each in BOXES)

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of all answers: groups outermost."""
        return self.labels()

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on the boxes."""
        shown, binnings = self.shown_columns, self.whole.binnings
        hidden = (each.join() for each in binnings[shown:])
        counted = replace(self.whole, binnings=(*binnings[:shown], *hidden))
        return forced_by_edges(policy, counted, self._gram, most)

    def _gram(self) -> Floats:
        """Return for each two cells how many boxes hold both; those of two groups share none."""
        shape = self.whole.shape
        each = count_both(self.starts, self.stops, shape[self.groups : self.shown_columns])
        return np.asarray(np.kron(np.eye(math.prod(shape[: self.groups])), each), dtype=np.float64)

    @property
    def shown_columns(self) -> int:
        """Return how many columns index what is counted: groups and the boxes' own."""
        return self.groups + len(self.starts)

    @cached_property
    def whole(self) -> Tally:
        """Return the counts of all cells, or bins, those of missing values of the boxes' columns left out."""
        binnings = []
        for place, attribute in enumerate(self.domain):
            if attribute.name in self.binned:
                binnings.append(self.binned[attribute.name])
                continue
            marks = np.arange(attribute.size)
            if self.groups <= place < self.shown_columns:
                marks[attribute.cells :] = -1
            binnings.append(Binning(attribute, frozen(marks), pd.RangeIndex(attribute.size)))
        return Tally(tuple(binnings), self.shown_columns, self.condition)

    @cached_property
    def kept_cells(self) -> tuple[NDArray[np.bool_], ...]:
        """Return which cells of each column the filter lets through with some values of the others."""
        sieve, found = self.whole.sieve, []
        for axis, classes in enumerate(sieve.classes):
            rows = np.moveaxis(sieve.passes, axis, 0).reshape(sieve.passes.shape[axis], -1)
            found.append(np.logical_or.reduce(rows, axis=1)[classes])
        return tuple(found)

    @cached_property
    def kept_groups(self) -> tuple[Ints, ...]:
        """Return the cells, or bins, of each group's column that hold a kept cell."""
        pairs = zip(self.whole.marks, self.kept_cells, strict=True)
        return tuple(frozen(np.unique(marks[kept])) for marks, kept in pairs)[: self.groups]

    @cached_property
    def atoms(self) -> tuple[Ints, ...]:
        """Return the atom of each cell of each seen column: cells that no box separates share one."""
        found = []
        for place in range(self.shown_columns):
            kept = self.kept_cells[place]
            if place < self.groups:
                atom = np.searchsorted(self.kept_groups[place], self.whole.marks[place])
            else:
                starts, stops = self.starts[place - self.groups], self.stops[place - self.groups]
                edges = np.unique(np.concatenate([[0], starts, stops]))
                run = np.searchsorted(edges, np.arange(len(kept)), "right")
                atom = np.searchsorted(np.unique(run[kept]), run)
            found.append(frozen(np.where(kept, atom, -1)))
        return tuple(found)

    @cached_property
    def counted(self) -> Tally:
        """Return the counts of atoms, all seen columns shown."""
        shown, hidden = [], []
        for place, attribute in enumerate(self.domain):
            if place < self.shown_columns:
                atom = self.atoms[place]
                shown.append(Binning(attribute, atom, pd.RangeIndex(int(atom.max(initial=-1)) + 1)))
            else:
                zeros = frozen(np.zeros(attribute.size, dtype=np.int64))
                hidden.append(Binning(attribute, zeros, pd.RangeIndex(1)))
        return Tally((*shown, *hidden), self.shown_columns, self.condition)

    @property
    def empty(self) -> bool:
        """Tell whether the filter lets nothing through."""
        return not bool(self.whole.sieve.passes.any())

    @cached_property
    def spans(self) -> tuple[tuple[Ints, Ints], ...]:
        """Return for each of the boxes' columns first atom and one past the last, box by box."""
        found = []
        for place in range(self.groups, self.shown_columns):
            atom = self.atoms[place]
            reached = np.append(0, np.maximum.accumulate(atom + 1))  # atoms that begin before each cell
            starts, stops = self.starts[place - self.groups], self.stops[place - self.groups]
            found.append((frozen(reached[starts]), frozen(reached[stops])))
        return tuple(found)

    @cached_property
    def nonempty(self) -> NDArray[np.bool_]:
        """Return which boxes hold any atom."""
        inside = [stop > start for start, stop in self.spans]
        return np.asarray(np.logical_and.reduce(inside))

    def table(self, ladders: Sequence[Ladder], levels: Sequence[int]) -> Tally:
        """Return the counts of nodes of one level a column; columns that tell nothing are left out."""
        attributes = list(self.domain)
        shown: list[Binning] = []
        hidden: list[Binning] = []
        for place, (each, level) in enumerate(zip(ladders, levels, strict=True)):
            marks = each.marks(level)
            binning = Binning(attributes[place], marks, pd.RangeIndex(each.counts[level]))
            filters = self.condition is not None and place in self._filtering
            (shown if level > 0 else hidden if filters or (marks < 0).any() else []).append(binning)
        for place in range(self.shown_columns, len(attributes)):
            zeros = frozen(np.zeros(attributes[place].size, dtype=np.int64))
            hidden.append(Binning(attributes[place], zeros, pd.RangeIndex(1)))
        return Tally((*shown, *hidden), len(shown), self.condition)

    @cached_property
    def _filtering(self) -> frozenset[int]:
        from pandas_blowfish.policy.expression import columns_of

        names = [] if self.condition is None else columns_of(self.condition)
        return frozenset(place for place, name in enumerate(self.domain.columns) if name in names)

    def graph(self, policy: Policy) -> RecordGraph:
        """Return the secret graph that these columns see."""
        return policy.graph.project(self.domain.columns)

    def segments(self, policy: Policy) -> tuple[Ints, ...]:
        """Return the connected part of each atom of each seen column, ways over other cells included."""
        graph, found = self.graph(policy), []
        for place in range(self.shown_columns):
            block = graph.project([self.domain.columns[place]]).blocks[0]
            atom, part = self.atoms[place], block.graph.components
            count, kept = int(atom.max(initial=-1)) + 1, atom >= 0
            ends = np.column_stack([atom[kept], count + part[kept]])
            found.append(connect(ends, count + int(part.max(initial=-1)) + 1)[:count])
        return self._joined(found)

    def _joined(self, segments: list[Ints]) -> tuple[Ints, ...]:
        """Return segments, a column's taken as one where filling them up would lead to too many leaves."""
        most = max(FILLED * math.prod(len(each) for each in segments), FEW)
        while True:
            leaves = [count_filled(each, ordered=n >= self.groups) for n, each in enumerate(segments)]
            if math.prod(leaves) <= most:
                return tuple(segments)
            waste = [many / max(len(each), 1) for many, each in zip(leaves, segments, strict=True)]
            worst = int(np.argmax(waste))
            segments = [each * 0 if n == worst else each for n, each in enumerate(segments)]

    def why_not(self, strategy: str) -> str:
        """Return why a strategy may not be able to answer this question."""
        return WHY_NOT.get(strategy, super().why_not(strategy))

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all counts are exact."""
        case = BoxCase(self, policy, epsilon, strategy != "auto", every)
        self._check(case.segments)
        for each in BOXES:
            if strategy in ("auto", each.name):
                for found in each.build(case):
                    yield found
                    if found.sensitivity == 0:
                        return

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured, from the strategy's name and `form`."""
        made: Builder[BoxCase] = find_builder(BOXES, strategy)
        return made.reread(BoxCase(self, policy, epsilon, True, False), form)

    def ladders(self, segments: Sequence[Ints], radices: Sequence[tuple[int, ...]]) -> tuple[Ladder, ...]:
        """Return the levels of each column, its segments cut as radices say."""
        made = []
        for place, (each, cuts) in enumerate(zip(segments, radices, strict=True)):
            made.append(ladder(self.atoms[place], each, cuts, ordered=place >= self.groups))
        return tuple(made)

    def along(self, place: int, radices: tuple[int, ...]) -> Ladder:
        """Return levels along one of the boxes' columns, all its atoms in one segment."""
        atom = self.atoms[self.groups + place]
        whole = np.zeros(int(atom.max(initial=-1)) + 1, dtype=np.int64)
        return ladder(atom, whole, radices, ordered=True)

    def _check(self, segments: Sequence[Ints]) -> None:
        cells = math.prod(max(len(each), 1) for each in segments)
        if cells > MAX_ANSWERS:
            fix = "ask for fewer boxes at a time, or on coarser edges, or drop a column."
            raise DomainTooLargeError("the cells that these boxes separate", cells, MAX_ANSWERS, fix=fix)


@dataclass(frozen=True, eq=False)
class BoxCase(AskedCase[Boxes]):
    """Boxes that are asked under a policy, for an epsilon, and what follows for all strategies."""

    @cached_property
    def changes(self) -> Changes:
        """Return which columns one edge may change at once."""
        return changes(self.question.graph(self.policy), self.question.whole)

    @cached_property
    def segments(self) -> tuple[Ints, ...]:
        """Return the connected part of each atom of each seen column."""
        return self.question.segments(self.policy)

    @cached_property
    def flat(self) -> list[tuple[int, ...]]:
        """Return the cut of each column's segments into single atoms at once."""
        groups = self.question.groups
        return [(longest(each, ordered=place >= groups),) for place, each in enumerate(self.segments)]

    @cached_property
    def exact(self) -> bool:
        """Tell whether no edge changes any of the counts."""
        return not self.levels(self.flat).effects

    def levels(self, radices: Sequence[tuple[int, ...]]) -> BoxLevels:
        """Return the boxes with their columns cut into levels."""
        return BoxLevels(self.question, self.question.ladders(self.segments, radices), self.changes)

    def shapes(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield ways to cut the columns into levels: groups at once, boxes' columns by a few radices each."""
        groups = self.question.groups
        options = [branchings(each[0])[:MAX_DEPTH] for each in self.flat[groups:]]
        together = [[each[min(depth, len(each) - 1)] for each in options] for depth in range(MAX_DEPTH)]
        mixed = [list(each) for each in itertools.product(*options)] if len(options) <= 2 else []
        seen: set[tuple[tuple[int, ...], ...]] = set()
        for each in [*together, *mixed]:
            radices = [*self.flat[:groups], *each]
            tables = math.prod(len(cuts) + 1 for cuts in radices)
            key = tuple(map(tuple, radices))
            if key not in seen and (tables <= MAX_TABLES or not seen):
                seen.add(key)
                yield radices

    def measure_levels(
        self, name: str, radices: Sequence[tuple[int, ...]], tables: Sequence[tuple[tuple[int, ...], int]]
    ) -> Levels:
        """Return some tables of nodes as a strategy."""
        return Levels(name, self.levels(radices), tuple(radices), tuple(tables), self.epsilon)


class NodesBuilder:
    """Tables of nodes of some levels: the best that a search finds."""

    name = HIERARCHICAL

    def build(self, case: BoxCase) -> Iterator[Strategy]:
        """Yield the tables of least error; none where everything is exact and any strategy does."""
        if not case.exact:
            yield from self.find(case)
        elif case.alone:
            yield case.measure_levels(self.name, case.flat, [])

    def find(self, case: BoxCase) -> Iterator[Strategy]:
        """Yield the best tables of the two best ways to cut columns."""
        shapes = list(case.shapes())
        tried = [search(case.levels(each)) for each in shapes]
        order = np.argsort([each.error() for each in tried], kind="stable") if len(tried) > 1 else [0]
        found = [(*tried[place].tables(), shapes[place]) for place in order[:2]]
        tables, _, shape = min(found, key=lambda each: each[1])
        yield case.measure_levels(self.name, shape, tables)

    def reread(self, case: BoxCase, form: Mapping[str, Any]) -> Strategy:
        """Return the tables that `form` lists."""
        tables = [(tuple(levels), weight) for levels, weight in form["tables"]]
        return case.measure_levels(self.name, [tuple(each) for each in form["radices"]], tables)


class CellsBuilder(NodesBuilder):
    """The counts of atoms themselves."""

    name = IDENTITY

    def build(self, case: BoxCase) -> Iterator[Strategy]:
        """Yield the one table; also where everything is exact."""
        finest = tuple(each.levels - 1 for each in case.levels(case.flat).ladders)
        if case.exact or case.alone or case.every:
            yield case.measure_levels(self.name, case.flat, [] if case.exact else [(finest, 1)])


class MeshBuilder(NodesBuilder):
    """The mesh of a joint threshold."""

    name = MESH

    def find(self, case: BoxCase) -> Iterator[Strategy]:
        """Yield the mesh, where edges allow one."""
        woven = mesh(case.question, case.question.graph(case.policy), case.epsilon)
        if woven is not None:
            yield woven

    def reread(self, case: BoxCase, form: Mapping[str, Any]) -> Strategy:
        """Return the mesh that `form` describes, or nothing but exact counts."""
        if "lines" not in form:
            return super().reread(case, form)
        return Mesh.from_form(case.question, case.question.graph(case.policy), case.epsilon, form)


# what can be measured for boxes, in the order they are tried; to add a strategy, add its builder here
BOXES: list[Builder[BoxCase]] = [CellsBuilder(), NodesBuilder(), MeshBuilder()]
