"""The norm of changes along lines in runs of a few neighbours. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.least_runs import least_runs
from pandas_blowfish.exact.run_chain import FARTHEST


@dataclass(frozen=True, eq=False)
class Runs:
    """Query rows in lines, which draw their noise together: the norm of the least signed runs of neighbours.

    Attributes:
        rows: The query rows, by number, line after line.
        sizes: How many rows each line has.
        reach: How many neighbours of a line a run holds at most.

    Proof note:
        Requires: no query row occurs twice.
        Ensures:  N(c) of `least_runs`, a norm on whole changes, so the odds of any noisy values change by at
                  most exp(N(change) / scale); it is the sum of the lines' own, whose noise is independent.
        Because:  `least_runs`; P(y) / P(y - c) = exp((N(y - c) - N(y)) / scale) and N(y - c) <= N(y) + N(c).
        Checked:  tests/plan/transport/test_run_norm.py::test_norms_agree_with_enumeration
    """

    rows: Ints
    sizes: tuple[int, ...]
    reach: int

    def __post_init__(self) -> None:
        if not 2 <= self.reach <= FARTHEST:
            raise ArgumentError("reach", f"{self.reach} is not offered", allowed=f"2 to {FARTHEST}")
        if sum(self.sizes) != len(self.rows) or min(self.sizes, default=0) < 0:
            raise ArgumentError("sizes", "do not add up to the number of query rows")
        if not len(self.rows) or len(np.unique(self.rows)) < len(self.rows) or self.rows.min() < 0:
            raise ArgumentError("rows", "a query row occurs twice, or there are none")

    @property
    def blocks(self) -> tuple[()]:
        """Return nothing: what edges lose is at most as much as in L1."""
        return ()

    def renumber(self, numbers: Ints) -> Runs:
        """Return the same for query rows that got other numbers, given for each old one."""
        return Runs(numbers[self.rows], self.sizes, self.reach)

    def is_same(self, other: Any) -> bool:
        """Return whether both are the same norm of the same query rows."""
        same = isinstance(other, Runs) and (self.sizes, self.reach) == (other.sizes, other.reach)
        return same and np.array_equal(self.rows, other.rows)

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x all query rows."""
        change, row = np.nonzero(changes)
        return self.measure_entries(row, change, changes[change, row], len(changes))

    def measure_entries(self, rows: Ints, change: Ints, amounts: NDArray[Any], many: int) -> NDArray[Any]:
        """Return the norm of each of so many changes, given by their entries that are not 0.

        Args:
            rows: The query row of each entry; those of other noise are left out.
            change: The number of the change that it belongs to.
            amounts: By how much: one number for each row and change.
            many: How many changes there are.
        """
        kind = object if amounts.dtype == object else np.int64
        place, line = self._by_row(max(int(self.rows.max()), int(rows.max(initial=0))) + 1)
        own = np.flatnonzero((place[rows] >= 0) & (amounts != 0))
        own = own[np.lexsort((place[rows[own]], change[own]))]
        at, of, lines = place[rows[own]], change[own], line[rows[own]]
        next_to = (np.diff(at) == 1) & (np.diff(of) == 0) & (np.diff(lines) == 0)
        first = np.searchsorted(of, np.arange(many))  # of each change, its first entry
        column = np.arange(len(own)) - first[of]
        values = np.zeros((many, int(column.max(initial=-1)) + 1), dtype=kind)
        begins = np.ones(values.shape, dtype=bool)
        values[of, column] = amounts[own].astype(kind)
        begins[of, column] = np.append(True, ~next_to)[: len(own)]
        return least_runs(values, begins, self.reach)

    def _by_row(self, size: int) -> tuple[Ints, Ints]:
        """Return for each of so many query rows its place in all lines, -1 for none, and its line."""
        place, line = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        line[self.rows] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return place, line
