"""Counts of the bins of one table, as a question. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.policy import Policy

# what can be measured for a table of counts, the simplest first: a class with `name` and
# `build(graph, tally, epsilon)`; to add a strategy, add its class here
STRATEGIES: list[Any] = [Identity]


@dataclass(frozen=True, eq=False)
class Counts(Question):
    """How many rows lie in each bin of a tally."""

    tally: Tally

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.tally.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""
        return tuple(each.name for each in STRATEGIES)

    def price(self, policy: Policy) -> Price:
        """Return what public facts cost these counts."""
        return price_of(policy, self.columns, self.tally)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all counts are exact."""
        del every
        graph = policy.graph.project(self.columns)
        for each in STRATEGIES:
            if strategy in ("auto", each.name):
                found: Strategy = each.build(graph, self.tally, epsilon)
                yield found
                if found.sensitivity == 0:
                    return

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured: the bins determine it."""
        del form
        graph = policy.graph.project(self.columns)
        made = next((each for each in STRATEGIES if each.name == strategy), Identity)
        found: Strategy = made.build(graph, self.tally, epsilon)
        return found
