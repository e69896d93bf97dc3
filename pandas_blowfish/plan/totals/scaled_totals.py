"""What all strategies that add up weights have in common: groups, scales, columns of the matrix.

Never sees rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.protocol import OneRound
from pandas_blowfish.plan.query_rows import MAX_NONZEROS, columns_from, every_column, shift_rows
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.plan.totals.sensitivity import Shifts
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain


class WeighedTotals(OneRound):
    """Totals of weights in each group of a tally, each with a scale of its own that all groups share.

    Proof note:
        Requires: no touched facts; `moved` bounds what an edge changes the totals by, together.
        Ensures:  privacy loss <= epsilon over every edge.
        Because:  scales are factors times one number for which the bound of `Shifts.loss` is exactly epsilon,
                  in fractions. Totals that no edge changes, and groups that no row can be in, have scale 0.
        Checked:  tests/privacy/test_total_loss.py::test_loss_of_random_instances,
                  tests/privacy/test_moment_loss.py::test_loss_of_random_instances
    """

    tally: Tally
    totals: tuple[Total | Tally, ...]
    moved: Shifts
    epsilon: Fraction

    @property
    @abstractmethod
    def weighed(self) -> Sequence[Attribute]:
        """Return the columns whose values are weighed."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Fraction, ...]:
        """Return the scales of the totals in proportion; 0 for what no edge changes."""

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
    def total_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each total, as large as epsilon asks for."""
        loss = self.lose([1 / factor if factor else Fraction(0) for factor in self.factors])
        return tuple(factor * loss / self.epsilon for factor in self.factors)

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the query rows between neighbours, in units, or a bound on it."""
        return self.lose([Fraction(int(factor > 0)) for factor in self.factors])

    def lose(self, rates: list[Fraction]) -> Fraction:
        """Return what an edge loses at most when a change by 1 of total t loses rates[t]."""
        return self.moved.loss(rates)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale per query row: total after total, group by group."""
        free = len(self.totals)
        codes = np.repeat(np.arange(free, dtype=np.int32), self.tally.size).reshape(free, -1)
        codes = np.where(self.occupied, codes, free)
        return Scales([*self.total_scales, Fraction(0)], codes.ravel())

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
