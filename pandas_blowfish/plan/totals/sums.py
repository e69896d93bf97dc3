"""Total: sums of whole weights with noise in proportion to what an edge can change. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.number import plain
from pandas_blowfish.markup import span_words
from pandas_blowfish.plan.lattice import InUnits, Lattice, Total, lightest, rounding
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.scaled_totals import WeighedTotals
from pandas_blowfish.plan.totals.sensitivity import Pattern, Shifts
from pandas_blowfish.plan.totals.sum_boxes import SumBox
from pandas_blowfish.plan.totals.tail_counts import CutPoints
from pandas_blowfish.policy.attribute import Attribute

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

SECRET = "; a sum has no interval: how many rows it is of is secret"
ENOUGH = 1_000  # rows times epsilon from which on clipping may be worth trying
PROOF = (
    "Sums of whole weights (each value less an origin, over a unit), and row counts where they are needed: a "
    "neighbouring table moves one row along one edge of the policy. Either the row keeps its group, and then "
    "only columns whose blocks move change their sums, each by its longest edge at most; or it changes group "
    "or leaves, and then each sum changes by the weights at its ends. The edge that loses most changes the "
    "rows by at most {sensitivity} in L1 and, with the scales {scales}, loses at most epsilon = {epsilon}. "
    "Rows of scale 0 are the same in all neighbouring tables and cost nothing."
)
PROOF_HIDDEN = (
    " The total itself is secret: two totals that must look alike are at most {hidden} units apart (three "
    "times delta, rounded up), and what is released depends on the rows by their total alone, so that under "
    "either statement it is a mixture over such totals, and its odds change by exp(epsilon) at most."
)
PROOF_EXACT = (
    "No edge of the policy changes any of these sums: they are the same in all neighbouring tables, so they "
    "are released exactly and cost nothing."
)


@dataclass(frozen=True)
class SummedColumn:
    """One column's part in the answers.

    Attributes:
        attribute: The column.
        lattice: What its rows weigh.
        bounds: The least and the greatest number that can be counted; None without bounds.
        count: Which of the counts is how many rows were added up; None where that is not needed.
        exact: Whether no edge changes that count.
    """

    attribute: Attribute
    lattice: Lattice
    bounds: tuple[Fraction, Fraction] | None
    count: int | None
    exact: bool


@dataclass(frozen=True, eq=False)
class NoisySums(WeighedTotals):
    """One noisy sum per column and group, then one count per column that needs it, and group.

    Attributes:
        verb: "sum" or "mean".
        tally: The groups and the filter.
        totals: What is added up: a sum per column, then counts.
        summed: How answers are read off them, column by column.
        moved: What one edge can do to them.
        epsilon: What may be lost.
        split: Of means by noisy counts: how much more noise counts get, for what an edge changes them,
            than sums do, and where sums are measured from.
        index: The index of the answers.
        rows: The number of rows, where it is known.
        hidden: How far apart, in units, totals can lie that a secret of the whole table keeps
            indistinguishable; 0 without one. Then there is one column, and one group of all rows.
        boxes: Which totals draw their noise together.

    Proof note:
        Requires: no touched facts; `shifts` as its note says; of hidden totals `Aggregate.distance`.
        Ensures:  privacy loss <= epsilon, over edges and between any two totals `hidden` units apart.
        Because:  scales are in proportion to what an edge can change each total, or to what is hidden where
                  that is more, times one factor for which the bound of `Shifts.loss` is exactly epsilon, in
                  fractions, or the loss between hidden totals is. Totals that no edge changes, and groups
                  that no row can be in, have scale 0. Of totals drawn together: see `WeighedTotals`.
        Checked:  tests/privacy/test_total_loss.py::test_loss_of_random_instances,
                  tests/privacy/test_total_box_loss.py::test_loss_of_random_instances,
                  tests/beyond/test_total_plan.py::test_the_larger_of_both
    """

    verb: str
    tally: Tally
    totals: tuple[Total | Tally, ...]
    summed: tuple[SummedColumn, ...]
    moved: Shifts
    epsilon: Fraction
    split: tuple[Fraction, str]
    index: pd.Index[Any]
    rows: int | None = None
    hidden: int = 0
    boxes: tuple[SumBox, ...] = ()

    name = "total"

    @property
    def weighed(self) -> tuple[Attribute, ...]:
        return tuple(column.attribute for column in self.summed)

    @property
    def form(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.noisy_counts:
            found |= {"share": str(self.split[0]), "origin": self.split[1]}
        return found | ({"boxes": [each.form for each in self.boxes]} if self.boxes else {})

    @property
    def rounding(self) -> tuple[Fraction, ...]:
        """Return, column by column, the most by which a value differs from what it is added up as."""
        return tuple(rounding(column.lattice) for column in self.summed)

    @property
    def lightest(self) -> tuple[Fraction, ...]:
        """Return, column by column, the least absolute number a row is added up as, or 0."""
        return tuple(lightest(column.lattice, column.bounds) for column in self.summed)

    @property
    def noisy_counts(self) -> bool:
        """Return whether a count that is needed can change."""
        return any(column.count is not None and not column.exact for column in self.summed)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        sums = len(self.summed)
        return (Fraction(1),) * sums + (self.split[0],) * (len(self.totals) - sums)

    @property
    def peaks(self) -> Pattern:
        return (max(self.moved.peaks[0], self.hidden), *self.moved.peaks[1:])

    def lose(self, rates: list[Fraction], moved: Shifts) -> Fraction:
        """Return what an edge, or two hidden totals, lose when a change by 1 of total t loses rates[t]."""
        return max(super().lose(rates, moved), self.hidden * rates[0])

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        scales = ", ".join(str(scale) for scale in self.total_scales)
        said = PROOF.format(sensitivity=self.sensitivity, scales=scales, epsilon=self.epsilon)
        said += self.box_proof
        return said + PROOF_HIDDEN.format(hidden=self.hidden) if self.hidden else said

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each answer; NaN for a mean whose number of rows is not known."""
        each = [
            _times(law.variance, column.lattice.unit)
            for column, law in zip(self.summed, self.laws, strict=False)
        ]
        if self.verb == "mean":
            known = [self.rows if self._all_rows(column) else None for column in self.summed]
            each = [
                0.0 if column.exact and not value else value / many**2 if many else np.nan
                for value, many, column in zip(each, known, self.summed, strict=True)
            ]
        out = np.tile(np.array(each, dtype=np.float64), (self.tally.size, 1))
        out[~self.occupied] = 0.0
        return out.ravel()

    @property
    def guess(self) -> float:
        """Return how wrong answers are, compared with other noise: of means on average over declared bounds.

        Of sums, and means by public numbers of rows: for what an edge changes.
        """
        found = 0.0
        for column, law, most in zip(self.summed, self.laws, self.moved.rows, strict=False):
            if column.count is None or column.bounds is None or not self.noisy_counts:
                found += law.variance / max(most, 1) ** 2
                continue
            low, high = (float((b - column.lattice.origin) / column.lattice.unit) for b in column.bounds)
            far = (low * low + low * high + high * high) / 3  # the mean square of the distance to the origin
            counting = self.laws[len(self.summed) + column.count].variance
            found += (law.variance + far * counting) / max((high - low) ** 2, 1.0)
        return found

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return how far values are from what they are read as, what draws together, what bounds are wide."""
        hint = self.box_notes | hint_clip(self)
        if not any(self.rounding):
            return hint
        far = {
            column.attribute.name: span_words(float(most))
            if column.attribute.kind == "datetime"
            else plain(most)
            for column, most in zip(self.summed, self.rounding, strict=True)
            if most
        }
        each = [str(most) if len(self.summed) == 1 else f"{most} ({name})" for name, most in far.items()]
        said = f"read as the middle of their cell: off by up to {', '.join(each)} each"
        if query["verb"] == "sum":
            rows = zip(self.summed, self.rounding, self.lightest, strict=True)
            noisy = [light for column, most, light in rows if most and not column.exact]
            secret = not rows_public and not all(noisy)
            said += SECRET if secret else "; intervals allow for all rows a sum can be of" * bool(noisy)
        return {"values": said, **hint}

    def in_units(self) -> tuple[InUnits, ...]:
        """Return each column's sum in its own units, and a noisy count of rows besides."""
        if not self.occupied.any():
            return ()
        errors = np.sqrt(self.variances.reshape(-1, len(self.summed))[self.occupied][0])
        found = []
        for number, (peak, law) in enumerate(zip(self.peaks, self.laws, strict=True)):
            if number >= len(self.summed):
                if peak:
                    found.append(InUnits("rows", Fraction(1), Fraction(peak), law.size, np.nan, "number"))
                continue
            attribute, step = self.summed[number].attribute, self.summed[number].lattice.unit
            kind = "logarithm" if getattr(attribute, "log", False) else "number"
            kind = "datetime" if attribute.kind == "datetime" else kind
            parts = (step, step * peak, step * law.size, float(errors[number]))
            found.append(InUnits(attribute.name, *parts, kind))
        return tuple(found)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        from pandas_blowfish.plan.totals.solve import solve_sums  # here: solving needs the strategies

        return solve_sums(self, values, post, known)

    def cut_points(self, number: int) -> CutPoints | None:
        """Return where a column's values could be clipped; None where that cannot change its noise."""
        column, peak = self.summed[number], self.moved.peaks[number]
        if not peak or column.bounds is None or not self.occupied.any():
            return None
        found = CutPoints.of(column.lattice, column.bounds, peak if column.exact else None)
        return found if found.many else None

    def _all_rows(self, column: SummedColumn) -> bool:
        """Return whether a column's count is the number of all rows."""
        return column.exact and not column.attribute.nullable and not self.tally.binnings


def hint_clip(sums: NoisySums) -> dict[str, str]:
    """Return when clipping values may be worth trying: where noise follows bounds that lie far apart.

    So many rows are needed that a first round, with its share of epsilon, can tell where they lie.
    """
    few = sums.rows is not None and sums.rows * sums.epsilon < ENOUGH
    if few or sums.hidden or any(column.lattice.clip for column in sums.summed):
        return {}
    points = [
        sums.cut_points(number)
        for number, column in enumerate(sums.summed)
        if column.attribute.kind in ("integer", "float")
        and column.attribute.bounded
        and (not column.exact or sums.moved.peaks[number] >= column.lattice.span)  # not that of a threshold
    ]
    names = [each.lattice.attribute.name for each in points if each is not None and each.wide]
    if not names:
        return {}
    said = "the noise follows the declared bounds: where most values are far from them"
    return {"wide bounds": f'{", ".join(names)}: {said}, clip="auto" may be much less noisy'}


def _times(value: float, unit: Fraction) -> float:
    try:
        return value * float(unit) ** 2
    except OverflowError:
        return float("inf")
