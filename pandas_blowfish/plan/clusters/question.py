"""Clusters of rows as a question: which synopses can answer it, and which adds least. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pandas_blowfish.plan.clusters.adaptive import Adaptive
from pandas_blowfish.plan.clusters.centres import SKLEARN, find_clusterer
from pandas_blowfish.plan.clusters.counted import SHARE, Counted
from pandas_blowfish.plan.clusters.grid import GridCounts
from pandas_blowfish.plan.clusters.sensitivity import MAX_TOTAL
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.clusters.synopsis import Setting, Synopsis, SynopsisBuilder
from pandas_blowfish.plan.clusters.whole import Whole
from pandas_blowfish.plan.protocol import Question, Strategy, find_builder
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.policy import Policy

USUAL = 10_000  # rows, where nobody says how many

# what rows can be clustered by, the simplest first; to add a strategy, add its class here
STRATEGIES: list[SynopsisBuilder] = [GridCounts, Soft, Adaptive, Whole]


@dataclass(frozen=True, eq=False)
class Clustering(Question):
    """Centres of k clusters of rows, in each group.

    Attributes:
        space: What is clustered.
        rows: How many rows there are, or are thought to be; None to count them first.
        usual: What a plan takes for their number then.
        clusterer: Which k-means clusters them, where that decides what is measured.
    """

    space: Space
    rows: int | None
    usual: int = USUAL
    clusterer: str = field(default_factory=find_clusterer)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.space.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(each.name for each in STRATEGIES)

    def why_not(self, strategy: str) -> str:
        found = (each.why_not for each in STRATEGIES if each.name == strategy)
        return next(found, super().why_not(strategy))

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
        clusterer = form.get("clusterer", SKLEARN)
        if "usual" in form:
            then = replace(self, usual=int(form["usual"]), clusterer=clusterer)
            counted = then._counted(policy, epsilon, form["strategy"])
            assert counted is not None
            return counted
        made: SynopsisBuilder = find_builder(STRATEGIES, strategy)
        return made.reread(Setting(policy, self.space, epsilon, clusterer=clusterer), form)

    def _counted(self, policy: Policy, epsilon: Fraction, strategy: str) -> Counted | None:
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
        whole = Whole.build(Setting(policy, self.space, left), 0.0)
        most = max(4 * math.ceil(MAX_TOTAL / left), 0 if whole is None else whole.largest)
        suited = lru_cache(maxsize=16)(partial(self._best, policy, left, strategy))
        cells = [np.arange(many) for many in self.space.cells]
        change = tally_sensitivity(graph, self.space.tally_bins(cells))
        said = (self.usual, most, change, strategy, expected, self.clusterer)
        return Counted(self.space, count, suited, *said)

    def _best(self, policy: Policy, epsilon: Fraction, strategy: str, rows: int) -> Synopsis:
        return min(self._synopses(policy, epsilon, rows, strategy), key=lambda each: each.distortion)

    def _synopses(self, policy: Policy, epsilon: Fraction, rows: int, strategy: str) -> list[Synopsis]:
        """Return what can be measured for a number of rows, each as fine as suits it."""
        setting, auto = Setting(policy, self.space, epsilon, rows, self.clusterer), strategy == "auto"
        wanted = STRATEGIES if auto else [find_builder(STRATEGIES, strategy)]
        found: list[Synopsis] = []
        for each in wanted:
            found += each.propose(setting, alone=not auto)
            if auto and not setting.change:
                break  # the first is exact and costs nothing: no other is better
        return found
