"""The k most frequent values as a question: by picks alone, or by noisy counts. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pandas_blowfish.plan.protocol import Question, Strategy, find_builder
from pandas_blowfish.plan.ranks.candidates import Candidates
from pandas_blowfish.plan.ranks.read_off import ReadOff
from pandas_blowfish.plan.ranks.selection import Selection
from pandas_blowfish.policy.policy import Policy

# what can be measured, the simplest first: a class with `name`, `gap` and
# `build(graph, candidates, epsilon)`; to add a strategy, add its class here
STRATEGIES: list[Any] = [Selection, ReadOff]


@dataclass(frozen=True, eq=False)
class MostFrequent(Question):
    """Which k candidates of each group have most rows."""

    among: Candidates

    @property
    def columns(self) -> tuple[str, ...]:
        return self.among.tally.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(each.name for each in STRATEGIES)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what misses least, whatever the rows are, and of equals what tells more; or each."""
        names = self.strategies if strategy == "auto" else (strategy,)
        found: list[Any] = [self.reread(policy, epsilon, name, {}) for name in names]
        best = min(reversed(found), key=lambda each: each.gap)  # of equals the last, with counts
        rest = [each for each in found if each is not best]
        yield replace(best, instead=(rest[0].name, rest[0].gap)) if rest else best
        if every:
            yield from rest

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        graph = policy.graph.project(self.columns)
        found: Any = find_builder(STRATEGIES, strategy).build(graph, self.among, epsilon)
        stated: Strategy = replace(found, instead=tuple(form["instead"])) if "instead" in form else found
        return stated
