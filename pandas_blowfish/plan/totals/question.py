"""Sums and means of columns, group by group, as a question. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import pandas as pd

from pandas_blowfish.plan.lattice import Lattice, Total, extremes, lattice, nearest, ones, representative
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.sensitivity import find_exits, shifts
from pandas_blowfish.plan.totals.sums import NoisySums, SummedColumn
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.policy import Policy

SHARES = tuple(Fraction(text) for text in ("1/100", "1/20", "1/8", "1/4", "1/2", "3/4", "1", "3/2", "2", "3"))
MIDDLE, EXITS = "middle", "exits"  # where the sum behind a mean is measured from


@dataclass(frozen=True, eq=False)
class Totals(Question):
    """The sum or the mean of some columns, in each group of the rows that pass a filter.

    Attributes:
        verb: "sum" or "mean".
        tally: The groups and the filter.
        attributes: The columns.
        listed: Whether answers are indexed by column, innermost.
        rows: The number of rows, where it is known.
    """

    verb: str
    tally: Tally
    attributes: tuple[Attribute, ...]
    listed: bool
    rows: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        names = (*self.tally.domain.columns, *(attribute.name for attribute in self.attributes))
        return tuple(dict.fromkeys(names))

    @property
    def strategies(self) -> tuple[str, ...]:
        return (NoisySums.name,)

    def is_total_of(self, column: str) -> bool:
        whole = not self.tally.binnings and self.tally.condition is None
        return whole and [attribute.name for attribute in self.attributes] == [column]

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield the totals; of means by a noisy count, with the origin and the split that should do best."""
        del strategy, every
        first = self._build(policy, epsilon, Fraction(1), MIDDLE)
        if not first.noisy_counts:
            yield first
            return
        ways = [(share, origin) for origin in (MIDDLE, EXITS) for share in SHARES]
        yield min((self._build(policy, epsilon, *way) for way in ways), key=lambda each: each.guess)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> NoisySums:
        del strategy
        return self._build(policy, epsilon, Fraction(form.get("share", 1)), form.get("origin", MIDDLE))

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups, then (where several can be) columns."""
        names: pd.Index[Any] = pd.Index([each.name for each in self.attributes], name="column")
        groups = [binning.index for binning in self.tally.binnings[: self.tally.shown]]
        if not groups:
            return names
        if not self.listed:
            return self.tally.index
        return pd.MultiIndex.from_product([*groups, names])

    def _build(self, policy: Policy, epsilon: Fraction, share: Fraction, origin: str) -> NoisySums:
        totals, columns, moved = self._found(policy, origin)
        split = (share, origin)
        hidden = policy.aggregates[0].distance(columns[0].lattice.unit) if policy.aggregates else 0
        asked = (self.verb, self.tally, totals, columns, moved, epsilon, split, self.index, self.rows)
        return NoisySums(*asked, hidden)

    def _found(self, policy: Policy, origin: str) -> Any:
        """Return what is added up, by column, and what edges do to it; the same for every share."""
        kept = self.__dict__.setdefault("_kept", {})
        if (policy.fingerprint, origin) in kept:
            return kept[policy.fingerprint, origin]
        totals: list[Total | Tally] = []
        counts: dict[str, int] = {}
        columns: list[SummedColumn] = []
        for attribute in self.attributes:
            counting = Total(self.tally, ones(attribute)) if attribute.nullable else self.tally
            exact = not any(shifts(policy, self.tally, [counting]).peaks)
            weights, bounds = self._weights(policy, attribute, exact, origin)
            totals.append(Total(self.tally, weights))
            key = attribute.name if attribute.nullable else ""
            if (exact or self.verb == "mean") and key not in counts:
                counts[key] = len(counts)
            number = counts.get(key) if exact or self.verb == "mean" else None
            columns.append(SummedColumn(attribute, weights, bounds, number, exact))
        nullable = {each.name: each for each in self.attributes}
        totals += [Total(self.tally, ones(nullable[key])) if key else self.tally for key in counts]
        found = tuple(totals), tuple(columns), shifts(policy, self.tally, totals)
        kept[policy.fingerprint, origin] = found
        return found

    def _weights(
        self, policy: Policy, attribute: Attribute, exact: bool, origin: str
    ) -> tuple[Lattice, tuple[Fraction, Fraction] | None]:
        """Return a column's lattice, and the bounds of the values that can be counted.

        Where the count is exact the origin changes no loss: near 0 the sum is least likely to exceed 61
        bits. A mean by a noisy count is measured from the middle, which halves what a leaving row changes,
        or from the middle of the cells that rows can leave, where that is some of them only.
        """
        if not attribute.bounded:
            return lattice(attribute), None
        seen = self.tally.domain.columns
        some = self.tally.find_passing(seen.index(attribute.name)) if attribute.name in seen else None
        ends = extremes(attribute, some)
        bounds = representative(attribute, ends[0]), representative(attribute, ends[1])
        if exact:
            return lattice(attribute, (nearest(attribute),) * 2), bounds
        if self.verb == "sum":
            return lattice(attribute), bounds
        centre = find_exits(policy, self.tally, attribute) if origin == EXITS else None
        return lattice(attribute, centre or ends), bounds
