"""Quantiles of an ordered column as a question: cumulative counts, or picked places. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import pandas as pd

from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.price import Price
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.quantiles.line_cells import LineCells
from pandas_blowfish.plan.quantiles.select import Select, build_select
from pandas_blowfish.policy.policy import Policy

MOST = 10**7  # cells that are picked from, over all quantiles
WORTH = (
    4  # how many times less the squared error of a rank must be, as counts have errors and intervals besides
)


@dataclass(frozen=True, eq=False)
class Quantiles(Question):
    """The values below which given shares of each line's rows lie.

    Attributes:
        curve: The cumulative counts that they may be read off.
        shares: The shares, as they were asked for.
        inside: Whether values inside cells matter.
    """

    curve: Spans
    shares: tuple[Fraction, ...]
    inside: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return self.curve.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        return (*self.curve.strategies, Select.name)

    @cached_property
    def lines(self) -> LineCells:
        """Return the cells that are picked from."""
        return LineCells(self.curve.tally)

    def price(self, policy: Policy) -> Price:
        return self.curve.price(policy)

    def why_not(self, strategy: str) -> str:
        if strategy == Select.name:
            return "needs an ordinary promise, a filter that leaves some value, and fewer cells"
        return self.curve.why_not(strategy)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured; places only where they are worth it, unless every candidate is wanted.

        Both errors are of ranks, in rows, and neither looks at rows: that of cumulative counts at the average
        cell, and that of places, were rows spread evenly.
        """
        picked = self._select(policy, epsilon) if strategy in ("auto", Select.name) else None
        if strategy != Select.name:
            least = float("inf")
            for each in self.curve.candidates(policy, epsilon, strategy, every=every):
                least = min(least, each.mse if each.sensitivity else 0.0)
                yield each
            ends = not all(0 < share < 1 for share in self.shares)  # where all empty cells are alike
            if picked is None or not picked.change or (not every and (ends or WORTH * picked.mse > least)):
                return
        if picked is not None:
            yield picked

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        if strategy == Select.name:
            return self._build(policy, epsilon, form)
        return self.curve.reread(policy, epsilon, strategy, form)

    def _select(self, policy: Policy, epsilon: Fraction) -> Select | None:
        """Return the picks of places, where they can be made."""
        many = len(self.lines.bins) * len(set(self.shares))
        tied = policy.chain is not None or policy.aggregates
        return None if tied or not 0 < many <= MOST else self._build(policy, epsilon, None)

    def _build(self, policy: Policy, epsilon: Fraction, form: Mapping[str, Any] | None) -> Select:
        graph = policy.graph.project(self.columns)
        outer = [binning.index for binning in self.curve.tally.binnings[: self.curve.axis]]
        labels: pd.Index[Any] | None = None
        if outer:
            labels = outer[0] if len(outer) == 1 else pd.MultiIndex.from_product(outer)
        return build_select(graph, self.lines, self.shares, labels, epsilon, inside=self.inside, form=form)
