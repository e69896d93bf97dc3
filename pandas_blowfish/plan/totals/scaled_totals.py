"""What all strategies that add up weights have in common: groups, noise, columns of the matrix.

Never sees rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.joint_noise import box
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.protocol import OneRound
from pandas_blowfish.plan.query_rows import MAX_NONZEROS, columns_from, every_column, shift_rows
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.plan.totals.law import BoxLaw
from pandas_blowfish.plan.totals.sensitivity import Pattern, Shifts
from pandas_blowfish.plan.totals.sum_boxes import SumBox, box_laws, cut_finely, draw_together
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain

PROOF_BOX = (
    " The rows {groups} of {names} draw their noise together: z with odds that fall by exp(1 / {scale}) for "
    "each step, the largest of |z| over {reaches}, rounded up. An edge changes each of them by {steps} steps "
    "at most, all at once, so that one draw loses {steps} / {scale} whatever it changes."
)


class WeighedTotals(OneRound):
    """Totals of weights in each group of a tally, each with a scale of its own that all groups share.

    Proof note:
        Requires: no touched facts; `moved` bounds what an edge changes the totals by, together.
        Ensures:  privacy loss <= epsilon over every edge.
        Because:  scales are factors times one number for which the bound of `Shifts.loss` is exactly epsilon,
                  in fractions. Totals that no edge changes, and groups that no row can be in, have scale 0.
                  Of totals in a box no edge changes a draw by more than `SumBox.longest` steps, and it
                  changes as many draws as `draw_together` has it: the scale is that of one step, times these.
        Checked:  tests/privacy/test_total_loss.py::test_loss_of_random_instances,
                  tests/privacy/test_total_box_loss.py::test_loss_of_random_instances,
                  tests/privacy/test_moment_loss.py::test_loss_of_random_instances
    """

    tally: Tally
    totals: tuple[Total | Tally, ...]
    moved: Shifts
    epsilon: Fraction
    boxes: tuple[SumBox, ...]

    @property
    @abstractmethod
    def weighed(self) -> Sequence[Attribute]:
        """Return the columns whose values are weighed."""

    @property
    @abstractmethod
    def weights(self) -> tuple[Fraction, ...]:
        """Return how much more noise each total has than others, for what an edge changes it."""

    @property
    def peaks(self) -> Pattern:
        """Return the most that is hidden of each total; 0 for what no edge changes."""
        return self.moved.peaks

    @property
    def tallies(self) -> tuple[Total | Tally, ...]:
        return self.totals

    @cached_property
    def domain(self) -> Domain:
        """Return the columns that are looked at: groups, those added up, those of the filter alone."""
        return self._cells.domain

    @cached_property
    def _cells(self) -> Tally:
        shown = self.tally.levels
        groups = {binning.attribute.name for binning in self.tally.binnings[:shown]}
        asked = [attribute for attribute in self.weighed if attribute.name not in groups]
        names = {attribute.name for attribute in asked}
        rest = [b.attribute for b in self.tally.binnings[shown:] if b.attribute.name not in names]
        one = [Binning(each, _zeros(each), pd.RangeIndex(1)) for each in (*asked, *rest)]
        return Tally((*self.tally.binnings[:shown], *one), shown, self.tally.condition)

    @cached_property
    def occupied(self) -> NDArray[np.bool_]:
        """Return which groups the filter leaves any rows in."""
        return self.tally.occupied

    @cached_property
    def factors(self) -> tuple[Fraction, ...]:
        """Return the scales of the totals in proportion; 0 for what no edge changes."""
        if not self.occupied.any():
            return (Fraction(0),) * len(self.totals)
        return tuple(peak * weight for peak, weight in zip(self.peaks, self.weights, strict=True))

    @cached_property
    def total_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each total's noise, or of the draw that it is a part of."""
        factors = list(self.factors)
        for each in self.boxes:
            for number in each.totals:
                factors[number] = self.weights[number] if number == each.first else Fraction(0)
        rates = [1 / factor if factor else Fraction(0) for factor in factors]
        loss = self.lose(rates, draw_together(self.moved, self.boxes))
        scales = [factor * loss / self.epsilon for factor in factors]
        for each in self.boxes:
            for number in reversed(each.totals):
                scales[number] = scales[each.first] * each.longest(self.moved.rows)
        return tuple(scales)

    @cached_property
    def laws(self) -> tuple[BoxLaw, ...]:
        """Return the law of each total's noise."""
        found = [BoxLaw(scale) for scale in self.total_scales]
        for each in self.boxes:
            scale, groups = self.total_scales[each.first], int(self.occupied.sum())
            for number, law in zip(each.totals, box_laws(each, self.moved.rows, scale, groups), strict=True):
                found[number] = law
        return tuple(found)

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the query rows between neighbours, in units, or a bound on it."""
        return self.lose([Fraction(int(factor > 0)) for factor in self.factors], self.moved)

    def lose(self, rates: list[Fraction], moved: Shifts) -> Fraction:
        """Return what an edge loses at most when a change by 1 of total t loses rates[t]."""
        return moved.loss(rates)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale per query row: total after total, group by group."""
        free, size = len(self.totals), self.tally.size
        codes = np.repeat(np.arange(free, dtype=np.int32), size).reshape(free, -1)
        codes = np.where(self.occupied, codes, free)
        values, joint = [*self.total_scales, Fraction(0)], {}
        seen = np.flatnonzero(self.occupied)
        for each in self.boxes:
            reaches = np.array(each.reaches(self.moved.rows), dtype=object)
            for groups in (seen,) if each.wide else seen[:, None]:
                rows = np.add.outer(np.array(each.totals) * size, groups)
                codes.reshape(-1)[rows.ravel()] = len(values)
                joint[len(values)] = box(rows.ravel(), np.repeat(reaches, len(groups)).tolist())
                values.append(self.total_scales[each.first])
        return Scales(values, codes.ravel(), joint)

    def cut_finely(self) -> Self:
        """Return the same with as many steps for each box as are best."""
        groups, rows = int(self.occupied.sum()), self.moved.rows
        found = [
            cut_finely(each, rows, self.total_scales[each.first] / each.longest(rows), groups)
            for each in self.boxes
        ]
        return replace(self, boxes=tuple(found))  # type: ignore[type-var]

    @property
    def box_proof(self) -> str:
        """Return what is argued of noise that is drawn together; nothing where none is."""
        return "".join(
            PROOF_BOX.format(
                names=", ".join(map(self._total_name, each.totals)),
                groups="of all groups" if each.wide else "of a group",
                reaches=", ".join(map(str, each.reaches(self.moved.rows))),
                steps=each.longest(self.moved.rows),
                scale=self.total_scales[each.first],
            )
            for each in self.boxes
        )

    @property
    def box_notes(self) -> dict[str, str]:
        """Return which totals draw their noise together, for people."""
        if not self.boxes:
            return {}
        named = ["; ".join(", ".join(map(self._total_name, each.totals)) for each in self.boxes)]
        named += ["over all groups"] if any(each.wide for each in self.boxes) else []
        return {"drawn together": " ".join(named)}

    def _total_name(self, number: int) -> str:
        total = self.totals[number]
        return (
            " * ".join(each.attribute.name for each in total.factors) if isinstance(total, Total) else "rows"
        )

    @property
    def is_drawable(self) -> bool:
        """Return whether all noise that is drawn together is of numbers that the kernel draws."""
        return all(law.is_drawable for law in self.laws)

    def apply(self, counts: Ints) -> Ints:
        return counts

    def matrix(self) -> Any:
        found = every_column(self, self.domain, self.domain.size * len(self.totals))
        found.eliminate_zeros()
        return found

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: one weight per total."""
        entries: list[tuple[Ints, Ints | int]] = []
        for number, total in enumerate(self.totals):
            group, weight = total.entries(cells) if isinstance(total, Total) else (total.bins_at(cells), 1)
            entries.append((shift_rows(group, number * self.tally.size), weight))
        return columns_from(entries, len(self.scales))


def _zeros(attribute: Attribute) -> Ints | None:
    """Return one bin for all of a column's cells; None where they cannot be listed."""
    few = attribute.bounded and attribute.size <= MAX_NONZEROS
    return np.zeros(attribute.size, dtype=np.int64) if few else None
