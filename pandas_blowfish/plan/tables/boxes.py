"""Boxes over several ordered columns, asked of every group: what they are, and how they can be measured.

Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.plan.line.layouts import branchings
from pandas_blowfish.plan.protocol import Question, Strategy
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
    """

    domain: Domain
    groups: int
    starts: tuple[Ints, ...]
    stops: tuple[Ints, ...]
    labels: Callable[[], pd.Index[Any]]
    condition: Condition | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return what can be measured."""
        return (IDENTITY, HIERARCHICAL, MESH)

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of all answers: groups outermost."""
        return self.labels()

    @property
    def shown_columns(self) -> int:
        """Return how many columns index what is counted: groups and the boxes' own."""
        return self.groups + len(self.starts)

    @cached_property
    def whole(self) -> Tally:
        """Return the counts of all cells, those of missing values of the boxes' columns left out."""
        binnings = []
        for place, attribute in enumerate(self.domain):
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
    def atoms(self) -> tuple[Ints, ...]:
        """Return the atom of each cell of each seen column: cells that no box separates share one."""
        found = []
        for place in range(self.shown_columns):
            kept = self.kept_cells[place]
            if place < self.groups:
                atom = np.cumsum(kept) - 1
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
        """Yield counts of cells, of nodes of several levels, and the mesh of a joint threshold."""
        moves, segments = changes(self.graph(policy), self.whole), self.segments(policy)
        auto = strategy == "auto"
        self._check(segments)
        flat = self._flat(segments)
        counted = BoxLevels(self, tuple(self._ladders(segments, flat)), moves)
        if not counted.effects:  # everything is exact
            yield self._made(IDENTITY if auto else strategy, policy, moves, epsilon, flat, [])
            return
        if strategy == IDENTITY or (auto and every):
            finest = tuple(each.levels - 1 for each in counted.ladders)
            yield self._made(IDENTITY, policy, moves, epsilon, flat, [(finest, 1)])
        if strategy == HIERARCHICAL or auto:
            shapes = list(self._shapes(segments))
            tried = [search(BoxLevels(self, tuple(self._ladders(segments, each)), moves)) for each in shapes]
            order = np.argsort([each.error() for each in tried], kind="stable") if len(tried) > 1 else [0]
            found = [(*tried[place].tables(), shapes[place]) for place in order[:2]]
            tables, _, shape = min(found, key=lambda each: each[1])
            yield self._made(HIERARCHICAL, policy, moves, epsilon, shape, tables)
        if strategy == MESH or auto:
            woven = mesh(self, self.graph(policy), epsilon)
            if woven is not None:
                yield woven

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return the measurement that a form describes."""
        if strategy == MESH and "lines" in form:
            return Mesh.from_form(self, self.graph(policy), epsilon, form)
        tables = [(tuple(levels), weight) for levels, weight in form["tables"]]
        radices = [tuple(each) for each in form["radices"]]
        moves = changes(self.graph(policy), self.whole)
        return self._made(strategy, policy, moves, epsilon, radices, tables)

    def _made(
        self,
        name: str,
        policy: Policy,
        moves: Changes,
        epsilon: Fraction,
        radices: list[tuple[int, ...]],
        tables: Sequence[tuple[tuple[int, ...], int]],
    ) -> Levels:
        ladders = self._ladders(self.segments(policy), radices)
        return Levels(name, BoxLevels(self, tuple(ladders), moves), tuple(radices), tuple(tables), epsilon)

    def _ladders(self, segments: Sequence[Ints], radices: Sequence[tuple[int, ...]]) -> list[Ladder]:
        made = []
        for place, (each, cuts) in enumerate(zip(segments, radices, strict=True)):
            made.append(ladder(self.atoms[place], each, cuts, ordered=place >= self.groups))
        return made

    def along(self, place: int, radices: tuple[int, ...]) -> Ladder:
        """Return levels along one of the boxes' columns, all its atoms in one segment."""
        atom = self.atoms[self.groups + place]
        whole = np.zeros(int(atom.max(initial=-1)) + 1, dtype=np.int64)
        return ladder(atom, whole, radices, ordered=True)

    def _flat(self, segments: Sequence[Ints]) -> list[tuple[int, ...]]:
        """Return the cut of each column's segments into single atoms at once."""
        return [(longest(each, ordered=place >= self.groups),) for place, each in enumerate(segments)]

    def _shapes(self, segments: Sequence[Ints]) -> Iterator[list[tuple[int, ...]]]:
        """Yield ways to cut the columns into levels: groups at once, boxes' columns by a few radices each."""
        flat = self._flat(segments)
        options = [branchings(each[0])[:MAX_DEPTH] for each in flat[self.groups :]]
        together = [[each[min(depth, len(each) - 1)] for each in options] for depth in range(MAX_DEPTH)]
        mixed = [list(each) for each in itertools.product(*options)] if len(options) <= 2 else []
        seen: set[tuple[tuple[int, ...], ...]] = set()
        for each in [*together, *mixed]:
            radices = [*flat[: self.groups], *each]
            tables = math.prod(len(cuts) + 1 for cuts in radices)
            key = tuple(map(tuple, radices))
            if key not in seen and (tables <= MAX_TABLES or not seen):
                seen.add(key)
                yield radices

    def _check(self, segments: Sequence[Ints]) -> None:
        cells = math.prod(max(len(each), 1) for each in segments)
        if cells > MAX_ANSWERS:
            fix = "ask for fewer boxes at a time, or on coarser edges, or drop a column."
            raise DomainTooLargeError("the cells that these boxes tell apart", cells, MAX_ANSWERS, fix=fix)
