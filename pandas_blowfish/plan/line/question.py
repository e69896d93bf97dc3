"""Questions along a line: sums of runs of atoms, for every line of a tally. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.exact.run_chain import FARTHEST
from pandas_blowfish.plan.line.axis import LineGraph, joins_next_but_one, line
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.inward import Inward
from pandas_blowfish.plan.line.layouts import CELLS, HIERARCHICAL, LAYOUTS, ORDERED, lay_cells
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.search import SHORT, VERY_LONG, search, shorter
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.linear.bound import count_both, forced_by_edges
from pandas_blowfish.plan.linear.line_rows import MAX_ATOMS, Optimised
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import Question, Strategy, find_builder
from pandas_blowfish.plan.tables.question import Counts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.transport.transport import TRANSPORT, TransportBuilder
from pandas_blowfish.policy.policy import Policy

LONG = 1_024  # atoms beyond which single cells are not measured by runs of cells
SEARCHED_ALONE = (
    256  # bins up to which rows for listed ranges are searched for by plan/linear/listed_ranges.py
)
STAYS = "needs lines that no row can leave or change"
WHY_NOT = {
    Dawa.name: STAYS,
    TRANSPORT: f"{STAYS}, and edges of 2 to {FARTHEST} cells",
    Optimised.name: f"needs lines of up to {MAX_ATOMS} atoms whose edges can be listed",
}


class LineBuilder(Protocol):
    """How a strategy along a line is made for a question."""

    @property
    def name(self) -> str:
        """Return the strategy's name."""

    def build(self, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Strategy]:
        """Yield what can be measured; `alone` where nothing else is considered."""

    def reread(self, asked: Spans, axis: LineGraph, epsilon: Fraction, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured."""


@dataclass(frozen=True)
class RunsBuilder:
    """A strategy of nested runs: the best of its layouts."""

    name: str
    layouts: Callable[[LineGraph], list[Layout]]

    def build(self, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Strategy]:
        """Yield the layout of least error; single cells where there is none and nothing else is left."""
        if layouts := self.layouts(axis) or (lay_cells(axis) if alone else []):
            layout, weights = search(axis, asked, layouts)
            yield Nested(self.name, asked, axis, layout, weights, epsilon)

    def reread(self, asked: Spans, axis: LineGraph, epsilon: Fraction, form: Mapping[str, Any]) -> Strategy:
        """Return the runs that `form` describes."""
        return Nested.from_form(self.name, asked, axis, epsilon, form)


# what can be measured along a line, in the order they are tried; to add a strategy, add its builder here
RUNS = [RunsBuilder(name, lay) for name, lay in LAYOUTS.items()]
STRATEGIES: list[LineBuilder] = [*RUNS, Tree, Inward, TransportBuilder(), Optimised, Dawa]


@dataclass(frozen=True, eq=False)
class Spans(Question):
    """The sums of atoms start..stop-1, asked of each line of a tally.

    Attributes:
        tally: What is counted; its last shown column is the axis.
        kind: "cells", "prefixes", "all" (every range) or "ranges" (those given).
        given: Starts and stops of the ranges, for "ranges".
        labels: Makes the index of one line's answers.
    """

    tally: Tally
    kind: str
    given: tuple[Ints, Ints]
    labels: Callable[[], pd.Index[Any]]
    shown: int | None = None  # atoms that are asked about, where not all are

    @property
    def size(self) -> int:
        """Return the number of atoms."""
        return self.shown or self.tally.shape[self.axis]

    @property
    def axis(self) -> int:
        """Return the place of the axis among the tally's columns."""
        return self.tally.levels - 1

    @property
    def groups(self) -> int:
        """Return the number of lines."""
        return math.prod(self.tally.shape[: self.axis])

    @property
    def per_line(self) -> int:
        """Return the number of answers of one line."""
        if self.kind == "ranges":
            return len(self.given[0])
        return self.size * (self.size + 1) // 2 if self.kind == "all" else self.size

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Return starts and stops of one line's answers."""
        atoms = np.arange(self.size)
        if self.kind == "cells":
            return frozen(atoms), frozen(atoms + 1)
        if self.kind == "prefixes":
            return frozen(atoms * 0), frozen(atoms + 1)
        if self.kind == "all":
            low, high = np.triu_indices(self.size)
            return frozen(low), frozen(high + 1)
        return self.given

    @cached_property
    def index(self) -> pd.Index[Any]:
        outer = [binning.index for binning in self.tally.binnings[: self.axis]]
        inner = self.labels()
        if not outer:
            return inner
        if isinstance(inner, pd.MultiIndex):
            lines = pd.MultiIndex.from_product(outer) if len(outer) > 1 else outer[0]
            frames = [lines.repeat(len(inner)).to_frame(index=False)]
            frames.append(pd.concat([inner.to_frame(index=False)] * len(lines), ignore_index=True))
            return pd.MultiIndex.from_frame(pd.concat(frames, axis=1))
        return pd.MultiIndex.from_product([*outer, inner])

    @property
    def columns(self) -> tuple[str, ...]:
        return self.tally.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        counts = self.counts.strategies if self.kind == "cells" else ()
        listed = ("direct",) if self.kind == "ranges" else ()  # see plan/linear/listed_ranges.py
        return tuple(dict.fromkeys([*counts, *listed, *(each.name for each in STRATEGIES)]))

    @property
    def counts(self) -> Counts:
        """Return the counts of the atoms themselves, as a question."""
        return Counts(self.tally)

    def price(self, policy: Policy) -> Price:
        return price_of(policy, self.columns, self.compact().tally)

    def forced_error(self, policy: Policy, most: int) -> float:
        return forced_by_edges(policy, self.tally, self._gram, most)

    def _gram(self) -> Floats:
        """Return for each two atoms how many answers count both; those of two lines share none."""
        each = count_both([self.ends[0]], [self.ends[1]], [self.tally.shape[self.axis]])
        return np.asarray(np.kron(np.eye(self.groups), each), dtype=np.float64)

    def why_not(self, strategy: str) -> str:
        return WHY_NOT.get(strategy, self.counts.why_not(strategy))

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first.

        Unless every candidate is asked for, all layouts compete in one search, and of a long line that
        repeats itself just the best is yielded, found on a part of it: what measures runs of the whole line
        gets no better as the line gets longer.
        """
        auto, cells = strategy == "auto", self.kind == "cells"
        if cells and (auto or strategy in self.counts.strategies):
            for plain in self.counts.candidates(policy, epsilon, strategy, every=every):
                yield plain
                if not auto or plain.sensitivity == 0:
                    return
        graph = policy.graph.project(self.columns)
        if cells and auto and not every and self.size > VERY_LONG and joins_next_but_one(graph, self.tally):
            return  # prefix sums are surely worse than counts; transport is not looked at for so many
        asked = self.compact()
        axis = line(graph, asked.tally)
        wanted = [
            each
            for each in STRATEGIES
            if strategy == each.name or (auto and is_worthwhile(each.name, axis, counts=cells))
        ]
        if auto and self.kind == "ranges" and self.tally.size <= SEARCHED_ALONE:
            wanted = [each for each in wanted if each is not Optimised]
        if not auto or every or axis.size <= SHORT:
            for each in wanted:
                yield from each.build(asked, axis, epsilon, alone=len(wanted) == 1)
        else:
            yield from _contest(axis, asked, epsilon, wanted)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        if strategy in self.counts.strategies and not form:
            return self.counts.reread(policy, epsilon, strategy, form)
        asked = self.compact()
        axis = line(policy.graph.project(asked.columns), asked.tally)
        made: LineBuilder = find_builder(STRATEGIES, strategy)
        return made.reread(asked, axis, epsilon, form)

    def only(self, starts: Ints, stops: Ints) -> Spans:
        """Return other ranges of the same lines."""
        return Spans(self.tally, "ranges", (starts, stops), self.labels, self.shown)

    def cut(self, size: int) -> Spans:
        """Return the same kind of question about the first atoms alone."""
        return Spans(self.tally, self.kind, self.given, self.labels, size)

    def compact(self) -> Spans:
        """Return the same questions on a line without the atoms that a filter leaves empty everywhere."""
        if self.kind == "all" or self.tally.condition is None:
            return self
        held = np.asarray(self.tally.occupied.reshape(-1, self.size).any(axis=0))
        if held.all() or not held.any():
            return self
        place = np.append(0, np.cumsum(held))
        marks = self.tally.marks[self.axis]
        labels = np.where((marks >= 0) & held[marks], place[marks], -1)
        fewer = self.tally.rebin(self.axis, labels, int(place[-1]))
        starts, stops = self.ends
        return Spans(fewer, "ranges", (frozen(place[starts]), frozen(place[stops])), self.labels)

    def answers(self, positions: Floats) -> Floats:
        """Return the answers from cumulative counts, lines x (size + 1)."""
        if self.kind == "cells":
            return np.diff(positions, axis=1).ravel()
        starts, stops = self.ends
        return (positions[:, stops] - positions[:, starts]).ravel()

    def variances(self, spread: Spread) -> Floats:
        """Return the variance of every answer."""
        found = self._by_line(spread)
        return found.ravel() if len(found) == self.groups else np.tile(found[0], self.groups)

    def _by_line(self, spread: Spread) -> Floats:
        """Return the variances of each line's answers; one array where all lines have the same."""
        if self.kind == "cells" and not spread.nest.line.open:
            return spread.atoms()[None]
        if self.kind == "prefixes" and not (spread.nest.line.open or spread.nest.layout.mirrored):
            each = np.maximum(spread.prefixes(), 0.0)
            each[spread.nest.segments.end - 1] = 0.0
            return each[None]
        return spread.by_line(*self.ends)

    def mean_variance(self, spread: Spread) -> float:
        """Return the mean variance of the answers; in linear time for every range, too."""
        if self.kind != "all":
            return float(self._by_line(spread).mean())
        k = self.size
        prefixes = Spans(self.tally, "prefixes", self.given, self.labels, self.shown)
        each = float(prefixes.variances(spread).sum()) / self.groups
        # the sum over all pairs of positions of Var(P_b - P_a) is (k + 1) sum Var(P) - Var(sum P)
        whole, follows = spread.weigh(np.arange(k, 0, -1, dtype=np.float64))
        whole -= float((follows**2 * spread.cuts()).sum()) / self.groups
        return ((k + 1) * each - whole) / self.per_line


def is_worthwhile(name: str, axis: LineGraph, *, counts: bool) -> bool:
    """Return whether a strategy may be the best.

    Totals of pieces that are no runs are kept by trees (and by counts of cells) alone. Single cells of
    long lines are not measured by runs of cells; the rows decide about dawa, so it must be asked for.
    """
    if name == Dawa.name or (counts and name == CELLS):
        return False
    if int(axis.pieces.max(initial=0)) + 1 > len(axis.starts):
        return name == Tree.name
    if axis.size > VERY_LONG and (len(axis.across) or 2 * len(axis.away) > axis.size):
        return name == HIERARCHICAL  # rows leave from everywhere: sums from one end cost the most
    return not counts or name in (ORDERED, Tree.name, TRANSPORT) or axis.size <= LONG


def _contest(
    axis: LineGraph, asked: Spans, epsilon: Fraction, wanted: Sequence[LineBuilder]
) -> Iterator[Strategy]:
    """Yield the best of the nested layouts of all strategies together, and the tree of listed edges.

    Without listed edges a tree is prefix sums of blocks and single atoms: blocks with runs do better.
    """
    short = shorter(axis, asked)
    part, question = short or (axis, asked)
    layouts = {layout: each.name for each in RUNS if each in wanted for layout in each.layouts(part)}
    others = [each for each in wanted if each not in RUNS]
    if layouts and axis.listed is None:
        others = [each for each in others if each.name != Tree.name]
    nested: Nested | None = None
    if layouts:
        layout, weights = search(part, question, list(layouts))
        nested = Nested(layouts[layout], question, part, layout, weights, epsilon)
    found: list[Strategy] = [] if nested is None else [nested]
    for each in others:
        found += each.build(question, part, epsilon, alone=False)
    if short is None:
        yield from found
        return
    best = min(found, key=lambda each: each.mse)
    if nested is not None and best is nested and nested.layout.spacing is not None:
        yield replace(nested, asked=asked, line=axis)
        return
    chosen = [each for each in others if each.name == best.name] or wanted
    for each in chosen:
        yield from each.build(asked, axis, epsilon, alone=len(wanted) == 1)
