"""Known: numbers of rows that no edge changes: exact, they cost nothing. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import OwnNoise
from pandas_blowfish.plan.query_rows import columns_from, exact_rows, exact_totals
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells


@dataclass(frozen=True, eq=False)
class Known(OwnNoise):
    """The counts of bins that no edge changes, then the totals of connected ones.

    Attributes:
        tallies: The bins.
        exact: Which of their counts, and totals, are exact.

    Proof note:
        Requires: `exact_parts` as its note says.
        Ensures:  nothing is lost.
        Because:  these rows are the same in all neighbouring tables.
        Checked:  tests/plan/test_sensitivity.py::test_exact_parts_have_sensitivity_zero
    """

    tallies: tuple[Tally]
    exact: ExactParts

    @property
    def scales(self) -> Scales:
        many = int(self.exact.alone.sum()) + self.exact.totals
        return Scales([Fraction(0)], np.zeros(many, dtype=np.int8))

    def apply(self, counts: Ints) -> Ints:
        return exact_totals(counts[None, :], np.arange(len(counts)), self.exact)

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: the exact count or total they belong to."""
        return columns_from([(self.rows_at(self.tallies[0].bins_at(cells), 0), 1)], len(self.scales))

    def rows_at(self, bins: Ints, first: int) -> Ints:
        """Return the row of each bin, -1 for none, rows beginning at `first`; no bin has two."""
        return exact_rows(bins, self.exact, first)
