"""Clusters of rows as a question: which synopses can answer it, and which adds least. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.adaptive import Adaptive
from pandas_blowfish.plan.clusters.counted import SHARE, Counted
from pandas_blowfish.plan.clusters.grid import GridCounts
from pandas_blowfish.plan.clusters.resolution import (
    EXACTLY,
    MAX_BINS,
    adaptive_excess,
    grid_bins,
    grid_excess,
    halvings,
    soft_excess,
    whole_excess,
)
from pandas_blowfish.plan.clusters.sensitivity import MAX_TOTAL
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.clusters.synopsis import Synopsis
from pandas_blowfish.plan.clusters.whole import Whole, pieces
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.sensitivity import EdgeReach, ExactParts, edge_reach, exact_parts, tally_sensitivity
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.policy import Policy

MAX_TABLE = 1 << 22  # bins that rows are counted in
MAX_NODES = 16  # soft ones of a column
MAX_SOFT, MAX_STOPS = 4, 10**5  # columns, and cells of one, for which soft bins are considered
NAMES = (GridCounts.name, Soft.name, Adaptive.name, Whole.name)
FINER = 1.4  # times that bins may be narrower where the totals of classes are exact
FEWER = 4  # times the usual number of bins that these may be
USUAL = 10_000  # rows, where nobody says how many


WHY_NOT = {
    Soft.name: "needs columns with more cells, or fewer clusters or groups",
    Adaptive.name: "needs columns with more cells, or fewer clusters or groups",
    Whole.name: "needs pieces (partition groups, say) that no edge leaves, as many as clusters or more",
}


@dataclass(frozen=True, eq=False)
class Clustering(Question):
    """Centres of k clusters of rows, in each group.

    Attributes:
        space: What is clustered.
        rows: How many rows there are, or are thought to be; None to count them first.
        usual: What a plan takes for their number then.
    """

    space: Space
    rows: int | None
    usual: int = USUAL

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.space.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the synopses."""
        return NAMES

    def why_not(self, strategy: str) -> str:
        """Return why a strategy may not be able to answer this question."""
        return WHY_NOT.get(strategy, super().why_not(strategy))

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield synopses: the best, or each by itself."""
        if self.rows is None:
            counted = self._counted(policy, epsilon, strategy)
            yield from [counted] if counted is not None else []
            return
        found = self._synopses(policy, epsilon, self.rows, strategy)
        best = min(found, key=lambda each: each.distortion, default=None)
        if best is not None:
            yield best
        if every:
            yield from [each for each in found if each is not best]

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return the synopsis that an earlier release measured."""
        graph = policy.graph.project(self.columns)
        found: Any
        if "usual" in form:
            found = replace(self, usual=int(form["usual"]))._counted(policy, epsilon, form["strategy"])
        elif strategy == GridCounts.name:
            classes = self._classes(policy) if form["inside"] else None
            found = GridCounts.build(graph, self.space, tuple(form["bins"]), epsilon, math.nan, classes)
        elif strategy == Soft.name:
            nodes, known = tuple(form["nodes"]), self._known(policy)
            found = Soft.build(policy, self.space, known, nodes, int(form["parts"]), epsilon)
        elif strategy == Adaptive.name:
            halved = tuple(tuple(often) for often in form["halved"])
            found = Adaptive.build(graph, self.space, halved, epsilon, math.nan)
        else:
            found = Whole.build(policy, self.space, epsilon, math.nan)
        return found  # type: ignore[no-any-return]

    def _counted(self, policy: Policy, epsilon: Fraction, strategy: str) -> Any:
        """Return the count, and what follows it; None where nothing can."""
        graph = policy.graph.project(self.columns)
        rest = [
            Binning(each.attribute, np.minimum(marks, 0), each.index[:1])
            for each, marks in zip(self.space.whole.binnings, self.space.whole.marks, strict=True)
        ]
        all_rows = Tally(tuple(rest), 0, self.space.whole.condition)
        share = SHARE if tally_sensitivity(graph, all_rows) else Fraction(0)
        count = Identity.build(graph, all_rows, epsilon * share if share else epsilon)
        left = epsilon * (1 - share)
        usual = self._synopses(policy, left, self.usual, strategy)
        if not usual:
            return None
        expected = min(each.distortion for each in usual)
        whole = Whole.build(policy, self.space, left, 0.0)
        most = max(4 * math.ceil(MAX_TOTAL / left), 0 if whole is None else whole.largest)
        suited = lru_cache(maxsize=16)(partial(self._best, policy, left, strategy))
        cells = [np.arange(many) for many in self.space.cells]
        change = tally_sensitivity(graph, self.space.tally_bins(cells))
        return Counted(self.space, count, suited, self.usual, most, change, strategy, expected)

    def _best(self, policy: Policy, epsilon: Fraction, strategy: str, rows: int) -> Synopsis:
        found: list[Synopsis] = self._synopses(policy, epsilon, rows, strategy)
        return min(found, key=lambda each: each.distortion)

    def _synopses(self, policy: Policy, epsilon: Fraction, rows: int, strategy: str) -> list[Any]:
        """Return what can be measured for a number of rows, each as fine as suits it."""
        space, auto = self.space, strategy == "auto"
        graph = policy.graph.project(self.columns)
        each = max(rows / space.lots, 1.0)
        finest = grid_bins(space.cells, space.spans, space.k, EXACTLY, self._most)
        change = tally_sensitivity(graph, space.cut(finest))
        signal = each * 2 * _finite(epsilon) / float(change) if change else EXACTLY
        found: list[Any] = []
        if auto or strategy == GridCounts.name:
            bins = grid_bins(space.cells, space.spans, space.k, signal, self._most)
            expected = grid_excess(np.array(bins), space.spans, space.k, signal)
            found.append(self._grid(policy, bins, epsilon, expected))
        if auto and not change:
            return found  # exact and free: no other way tells more
        narrow = len(space.attributes) <= MAX_SOFT and max(space.cells) <= MAX_STOPS
        if strategy == Soft.name or (auto and narrow):
            found += self._soft(policy, epsilon, each)
        if strategy == Adaptive.name or (auto and len(space.attributes) > 3):
            halved = halvings(space.cells, space.spans, space.k, signal, space.lots, MAX_TABLE)
            expected = adaptive_excess(len(space.attributes), space.k, signal)
            if 2 ** sum(halved[0]) >= space.k:
                found.append(Adaptive.build(graph, space, halved, epsilon, expected))
        if (auto or strategy == Whole.name) and not policy.presence:
            whole = Whole.build(policy, space, epsilon, 0.0)
            if whole is not None:
                pieces = np.array([int(marks.max()) + 1 for marks in whole.marks])
                expected = whole_excess(pieces, space.spans, space.k, each / max(whole.enough, 1.0))
                found.append(replace(whole, distortion=expected))
        return found

    def _grid(self, policy: Policy, bins: tuple[int, ...], epsilon: Fraction, expected: float) -> GridCounts:
        """Return a grid, cut inside the classes that edges do not leave where there are fewer of these."""
        graph, classes = policy.graph.project(self.columns), self._classes(policy)
        inside = [1] * len(bins) if classes is None else [int(own.max()) + 1 for own in classes]
        if classes is None or max(inside) == 1 or any(a > b for a, b in zip(inside, bins, strict=True)):
            return GridCounts.build(graph, self.space, bins, epsilon, expected)
        each = tuple(math.ceil(FINER * many / own) for many, own in zip(bins, inside, strict=True))
        if math.prod(many * own for many, own in zip(each, inside, strict=True)) > FEWER * self._most:
            return GridCounts.build(graph, self.space, bins, epsilon, expected)
        return GridCounts.build(graph, self.space, each, epsilon, expected, classes)

    def _classes(self, policy: Policy) -> list[Ints] | None:
        """Return for each column the classes of cells that edges do not leave; None where one is no run."""
        found = pieces(policy, self.space)
        return None if any((np.diff(own) < 0).any() for own in found) else found

    @property
    def _most(self) -> int:
        return max(min(MAX_BINS, MAX_TABLE // self.space.lots), 1)

    def _soft(self, policy: Policy, epsilon: Fraction, rows: float) -> list[Soft]:
        """Return the soft bins that are expected to add least, where they are better than none."""
        space, known = self.space, self._known(policy)
        best: Soft | None = None
        for many in range(2, MAX_NODES + 1):
            nodes = tuple(min(many, cells) for cells in space.cells)
            if math.prod(nodes) > self._most:
                break
            if math.prod(nodes) < space.k or (parts := self._parts(nodes)) < 2:
                continue
            found = Soft.build(policy, space, known, nodes, parts, epsilon)
            signal = (
                rows * 2 * _finite(epsilon) * float(found.queries.total / found.sensitivity)
                if found.sensitivity
                else EXACTLY
            )
            expected = soft_excess(np.array(nodes), space.spans, space.k, signal)
            if best is None or expected < best.distortion:
                best = replace(found, distortion=expected)
        return [] if best is None else [best]

    def _known(self, policy: Policy) -> tuple[EdgeReach, ExactParts]:
        """Return what edges do to the groups, and which numbers of their rows are exact."""
        graph = policy.graph.project(self.columns)
        return edge_reach(graph, self.space.whole), exact_parts(graph, self.space.whole)

    def _parts(self, nodes: tuple[int, ...]) -> int:
        """Return into how many parts the way between two nodes is cut: as many as fit, up to 64."""
        soft = sum(many > 1 for many in nodes)
        parts = 64
        while parts > 1 and (
            self.space.lots * math.prod((many - 1) * parts + 1 for many in nodes) > MAX_TABLE
            or parts**soft > MAX_TOTAL
            or any(
                (many - 1) * parts + 1 > cells
                for many, cells in zip(nodes, self.space.cells, strict=True)
                if many > 1
            )
        ):
            parts //= 2
        return parts


def _finite(epsilon: Fraction) -> float:
    """Return epsilon as a float that how fine to measure is chosen by; what is drawn and charged is exact."""
    return float(min(epsilon, Fraction(10**100)))
