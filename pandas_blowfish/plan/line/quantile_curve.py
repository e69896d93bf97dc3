"""Quantiles read off cumulative counts, with how far the noise may have moved them. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats

STEPS = tuple(quarters / 4 for quarters in range(4, 15))  # standard errors that bands are tried with


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of an ordered column as a result lists them.

    Attributes:
        low: Where each cell begins, as a number (nanoseconds for instants, places for categories).
        high: Where it ends; one further for bins of whole numbers.
        cells: The index itself.
        ends: The least and the greatest value there are, exactly.
    """

    low: Floats
    high: Floats
    cells: pd.Index[Any]
    ends: tuple[Any, Any]

    @classmethod
    def of(cls, cells: pd.Index[Any], declared: Sequence[Any] | None = None) -> Axis:
        """Return the axis of an index of numbers, instants, intervals or ordered categories.

        Args:
            cells: What a release is indexed by.
            declared: The least and the greatest declared value, which may cut the first and the last bin.

        Examples:
            >>> Axis.of(pd.interval_range(1.0, 6.0, closed="left"), (1.0, 5.0)).high.tolist()
            [2.0, 3.0, 4.0, 5.0, 5.0]
        """
        if isinstance(cells, pd.CategoricalIndex) or cells.dtype == bool:
            places = np.arange(len(cells), dtype=np.float64)
            return cls(places, places, cells, (0.0, float(max(len(cells) - 1, 0))))
        if not isinstance(cells, pd.IntervalIndex):
            return cls(_numbers(cells), _numbers(cells), cells, _ends(cells, cells))
        closed = cells.closed == "both"
        ends = _ends(cells.left, cells.right) if declared is None else (declared[0], declared[1])
        low, high = _numbers(cells.left), _numbers(cells.right)
        low = np.maximum(low, float(ends[0]))
        high = np.maximum(np.minimum(high, float(ends[1])), low) + (1.0 if closed else 0.0)
        return cls(low, high, cells, ends)

    def value(self, places: Floats, cell: NDArray[np.int64]) -> Any:
        """Return numbers as the column's own values; NaN stays missing."""
        kind = self.cells.left if isinstance(self.cells, pd.IntervalIndex) else self.cells
        if isinstance(kind, pd.DatetimeIndex):
            known = ~np.isnan(places)
            whole = np.where(known, places, 0).astype(np.int64)
            if len(self.low) and float(np.max(self.high - self.low)) >= 60e9:  # bins of a minute and more
                whole = (whole + 500_000_000) // 1_000_000_000 * 1_000_000_000
            whole = np.clip(whole, int(self.ends[0]), int(self.ends[1]))
            stamps = pd.to_datetime(whole, unit="ns", utc=True)
            stamps = stamps.tz_convert(kind.tz) if kind.tz is not None else stamps.tz_localize(None)
            return stamps.where(known)
        if isinstance(self.cells, pd.CategoricalIndex):
            codes = np.where(np.isnan(places), -1, cell)
            return pd.Categorical.from_codes(codes, self.cells.categories, bool(self.cells.ordered))
        return places

    def distance(self, lengths: Floats) -> Any:
        """Return lengths along the axis in the column's own units: time spans for instants."""
        kind = self.cells.left if isinstance(self.cells, pd.IntervalIndex) else self.cells
        return pd.to_timedelta(lengths, unit="ns") if isinstance(kind, pd.DatetimeIndex) else lengths


def quantiles(positions: Floats, spread: Floats, axis: Axis, q: Floats) -> tuple[Any, Any]:
    """Return the values where a share q of each line's rows is reached, and their standard errors.

    The value is that of the first cell whose cumulative count reaches q of the total, linear inside bins.
    Its error is how far it may be off a standard error of the counts: at worst, among bands of up to four
    standard errors around the curve, read off at the same height in the same way; NaN where the counts' own
    is not known.

    Args:
        positions: Cumulative counts that never fall, lines x (cells + 1).
        spread: Their standard errors, lines x (cells + 1).
        axis: The cells.
        q: Shares between 0 and 1.

    Examples:
        >>> cells = Axis.of(pd.Index([10, 20, 30]))
        >>> found = quantiles(np.array([[0.0, 1.0, 3.0, 4.0]]), np.zeros((1, 4)), cells, np.array([0.5]))
        >>> found[0].tolist()
        [20.0]
    """
    goals = positions[:, -1:] * q
    places, cell = _places(positions, axis, goals)
    std = np.zeros(places.shape)
    for line in range(len(positions)):
        known = np.nan_to_num(spread[line])
        # bands of so many standard errors, the total's own share included; none around an exact curve
        for many in STEPS if known.any() else ():
            wide = many * (known[:, None] + known[-1] * q)
            ends = (_crossed(positions[line][:, None] + sign * wide, goals[line], axis) for sign in (1, -1))
            moved = np.maximum.reduce([np.abs(end - places[line]) for end in ends])
            std[line] = np.fmax(std[line], moved / many)
    if isinstance(axis.cells, pd.CategoricalIndex):
        std = np.full(std.shape, np.nan)  # categories have no distances
    std = np.where(np.isnan(spread).any(axis=1, keepdims=True), np.nan, std)
    return axis.value(places.ravel(), cell.ravel()), axis.distance(std.ravel())


def _crossed(curves: Floats, goals: Floats, axis: Axis) -> Floats:
    """Return where each curve, one a goal, first reaches its goal, linear inside bins (or the end)."""
    rising = np.maximum.accumulate(curves, axis=0)
    over = rising[1:] >= goals - 1e-9 * np.maximum(np.abs(goals), 1.0)
    cell = np.where(over.any(axis=0), over.argmax(axis=0), len(over) - 1)
    before, after = (rising[cell + more, np.arange(len(goals))] for more in (0, 1))
    part = np.divide(goals - before, after - before, out=np.ones(len(goals)), where=after > before)
    return _inside(axis, cell, part)


def _inside(axis: Axis, cell: NDArray[np.int64], part: Floats) -> Floats:
    """Return the places that lie such a part into cells."""
    wide = (axis.high - axis.low)[cell]
    return np.minimum(axis.low[cell] + np.clip(part, 0, 1) * wide, _top(axis, cell))


def _top(axis: Axis, cell: NDArray[np.int64]) -> Floats:
    """Return the largest value of cells."""
    return np.asarray(axis.high[cell] - (1.0 if _closed(axis) else 0.0))


def _places(positions: Floats, axis: Axis, goals: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return where goals are reached on each line, NaN on a line without rows."""
    found, cells = np.full(goals.shape, np.nan), np.zeros(goals.shape, dtype=np.int64)
    for number, line in enumerate(positions):
        total = line[-1]
        if not total > 1e-6:  # what rounding leaves of no rows
            continue
        goal = np.clip(goals[number], 0.0, total)
        dust = 1e-9 * max(float(total), 1.0)
        first = int(np.searchsorted(line[1:], dust, "right"))  # cells before the first row reach nothing
        cell = np.clip(np.searchsorted(line[1:], goal - dust), first, len(line) - 2)
        inside = line[cell + 1] - line[cell]
        part = np.divide(goal - line[cell], inside, out=np.zeros(len(goal)), where=inside > 0)
        found[number] = _inside(axis, cell, part)
        cells[number] = cell
    return found, cells


def _closed(axis: Axis) -> bool:
    return isinstance(axis.cells, pd.IntervalIndex) and axis.cells.closed == "both"


def _ends(first: pd.Index[Any], last: pd.Index[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest of two indexes, instants as whole nanoseconds."""
    if not len(first):
        return 0.0, 0.0
    ends = (
        index.as_unit("ns").asi8 if isinstance(index, pd.DatetimeIndex) else _numbers(index)
        for index in (first, last)
    )
    low, high = ends
    return low.min().item(), high.max().item()


def _numbers(index: pd.Index[Any]) -> Floats:
    if isinstance(index, pd.DatetimeIndex):
        return np.asarray(index.as_unit("ns").asi8, dtype=np.float64)
    return np.asarray(index, dtype=np.float64)
