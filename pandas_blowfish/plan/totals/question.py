"""Sums and means of columns, group by group, as a question. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pandas as pd

from pandas_blowfish.plan.lattice import (
    Lattice,
    Total,
    clip_lattice,
    extremes,
    lattice,
    nearest,
    ones,
    representative,
)
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.sensitivity import find_exits, shifts
from pandas_blowfish.plan.totals.sum_boxes import SumBox, offer_boxes, read_boxes
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
        clips: What values beyond count as, by column; None for columns that are added up as they are.
    """

    verb: str
    tally: Tally
    attributes: tuple[Attribute, ...]
    listed: bool
    rows: int | None = None
    clips: tuple[tuple[Fraction, Fraction] | None, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        names = (*self.tally.domain.columns, *(attribute.name for attribute in self.attributes))
        return tuple(dict.fromkeys(names))

    @property
    def strategies(self) -> tuple[str, ...]:
        return (NoisySums.name,)

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on the sums, or on the means of a known number of rows.

        Proof note:
            Requires: each column is a secret by itself, which no filter or group depends on.
            Ensures:  as `Question.forced_error`.
            Because:  in each group that holds a counted cell an edge moves a row's value by the longest step
                      of the column, up or down, and where all columns may move at once each by its own, with
                      any signs: of these steps w_s, all 2^k as likely, the mean of w_s w_s' is diagonal, and
                      the bound of `least_error` the square of the sum of steps; else the sum of squares.
            Checked:  tests/plan/linear/test_bound.py::test_sums_match_their_cells
        """
        del most
        blocks = [next(block for block in policy.secrets if each.name in block) for each in self.attributes]
        rows = 1 if self.verb == "sum" else self.rows
        own = all(len(block) == 1 for block in blocks) and len(set(blocks)) == len(blocks)
        if not own or not rows or {each.name for each in self.attributes} & set(self.tally.domain.columns):
            return math.nan
        if self.verb == "mean" and (self.tally.binnings or any(each.nullable for each in self.attributes)):
            return math.nan
        _, columns, moved = self._found(policy, MIDDLE)
        steps = [
            max(max(pattern[number] for pattern in block) for block in moved.blocks)
            * float(each.lattice.unit)
            for number, each in enumerate(columns)
        ]
        together = moved.limit >= len(steps)
        each = sum(steps) ** 2 if together else sum(step**2 for step in steps)
        return float(self.tally.occupied.sum() * each / rows**2)

    def is_total_of(self, column: str) -> bool:
        whole = not self.tally.binnings and self.tally.condition is None and not any(self.clips)
        return whole and [attribute.name for attribute in self.attributes] == [column]

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield the totals with the noise that should do best: independent, or drawn together in boxes.

        Of means by a noisy count that is a choice of origins and splits, too.
        """
        del strategy, every
        first = self._build(policy, epsilon, Fraction(1), MIDDLE)
        noisy = first.noisy_counts
        shares, origins = (SHARES, (MIDDLE, EXITS)) if noisy else (SHARES[6:7], (MIDDLE,))
        tried = [self._build(policy, epsilon, share, origin) for origin in origins for share in shares]
        for origin in origins:
            made = self._build(policy, epsilon, Fraction(1), origin)
            kinds = [int(number < len(made.summed)) for number in range(len(made.totals))]
            for boxes, split in offer_boxes(policy, made.moved, int(made.occupied.sum()), kinds):
                own = shares if split else (Fraction(1),)
                some = [self._build(policy, epsilon, share, origin, boxes) for share in own]
                tried.append(min(some, key=lambda each: each.guess).cut_finely())
        yield min((each for each in tried if each.is_drawable), key=lambda each: each.guess)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> NoisySums:
        del strategy
        share, origin = Fraction(form.get("share", 1)), form.get("origin", MIDDLE)
        return self._build(policy, epsilon, share, origin, read_boxes(form))

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

    def _build(
        self,
        policy: Policy,
        epsilon: Fraction,
        share: Fraction,
        origin: str,
        boxes: tuple[SumBox, ...] = (),
    ) -> NoisySums:
        totals, columns, moved = self._found(policy, origin)
        split = (share, origin)
        hidden = policy.aggregates[0].distance(columns[0].lattice.unit) if policy.aggregates else 0
        asked = (self.verb, self.tally, totals, columns, moved, epsilon, split, self.index, self.rows)
        return NoisySums(*asked, hidden, boxes)

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
        if clip := self._clip_of(attribute):
            found, bounds = replace(self, clips=())._weights(policy, attribute, exact, origin)
            assert bounds is not None
            return clip_column(found, bounds, clip, centred=self.is_centred(exact, origin))
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

    def is_centred(self, exact: bool, origin: str) -> bool:
        """Return whether a sum is measured from the middle of the values that can be counted."""
        return self.verb == "mean" and not exact and origin == MIDDLE

    def _clip_of(self, attribute: Attribute) -> tuple[Fraction, Fraction] | None:
        """Return what values of a column beyond count as; None where it is added up as it is."""
        if not self.clips:
            return None
        return self.clips[[each.name for each in self.attributes].index(attribute.name)]


def clip_column(
    found: Lattice, bounds: tuple[Fraction, Fraction], clip: tuple[Fraction, Fraction], *, centred: bool
) -> tuple[Lattice, tuple[Fraction, Fraction]]:
    """Return a column's weights, and the bounds of the values that can be counted, with values clipped."""
    low, high = (min(max(end, clip[0]), clip[1]) for end in bounds)
    return clip_lattice(found, *clip, (low, high) if centred else None), (low, high)
