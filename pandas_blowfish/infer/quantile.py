"""Quantiles read off cumulative counts, with how far the noise may have moved them. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of an ordered column as a result lists them.

    Attributes:
        low: Where each cell begins, as a number (nanoseconds for instants, places for categories).
        high: Where it ends.
        cells: The index itself.
    """

    low: Floats
    high: Floats
    cells: pd.Index[Any]

    @classmethod
    def of(cls, cells: pd.Index[Any]) -> Axis:
        """Return the axis of an index of numbers, instants, intervals or ordered categories."""
        if isinstance(cells, pd.IntervalIndex):
            low, high = _numbers(cells.left), _numbers(cells.right)
            return cls(low, high + (1.0 if cells.closed == "both" else 0.0), cells)
        if isinstance(cells, pd.CategoricalIndex) or cells.dtype == bool:
            places = np.arange(len(cells), dtype=np.float64)
            return cls(places, places, cells)
        places = _numbers(cells)
        return cls(places, places, cells)

    def value(self, places: Floats, cell: NDArray[np.int64]) -> Any:
        """Return numbers as the column's own values; NaN stays missing."""
        kind = self.cells.left if isinstance(self.cells, pd.IntervalIndex) else self.cells
        if isinstance(kind, pd.DatetimeIndex):
            known = ~np.isnan(places)
            whole = np.where(known, places, 0).astype(np.int64)
            stamps = pd.to_datetime(whole, unit="ns", utc=True)
            stamps = stamps.tz_convert(kind.tz) if kind.tz is not None else stamps.tz_localize(None)
            wide = len(self.low) and float(np.max(self.high - self.low)) >= 60e9  # bins of a minute and more
            return (stamps.round("s") if wide else stamps).where(known)
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
    Its error is how far it moves when that count is off by one standard error, or half as far as when it
    is off by two; NaN where the count's own is not known.

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
    places, cell = _places(positions, axis, positions[:, -1:] * q)
    error = np.take_along_axis(spread, cell + 1, axis=1)
    std = np.zeros(places.shape)
    for many in (1, 2):  # what is flat nearby may be steep a little further
        low, _ = _places(positions, axis, positions[:, -1:] * q - many * np.nan_to_num(error))
        high, _ = _places(positions, axis, positions[:, -1:] * q + many * np.nan_to_num(error))
        std = np.maximum(std, np.maximum(high - places, places - low) / many)
    if isinstance(axis.cells, pd.CategoricalIndex):
        std = np.full(std.shape, np.nan)  # categories have no distances
    std = np.where(np.isnan(error), np.nan, std)
    return axis.value(places.ravel(), cell.ravel()), axis.distance(std.ravel())


def _places(positions: Floats, axis: Axis, goals: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return where goals are reached on each line, NaN on a line without rows."""
    found, cells = np.full(goals.shape, np.nan), np.zeros(goals.shape, dtype=np.int64)
    for number, line in enumerate(positions):
        total = line[-1]
        if not total > 1e-6:  # what rounding leaves of no rows
            continue
        goal = np.clip(goals[number], 0.0, total)
        first = int(np.searchsorted(line[1:], 0.0, "right"))  # cells before the first row reach nothing
        reached = np.searchsorted(line[1:], goal - 1e-9 * max(float(total), 1.0))
        cell = np.clip(reached, first, len(line) - 2)
        inside = line[cell + 1] - line[cell]
        part = np.divide(goal - line[cell], inside, out=np.zeros(len(goal)), where=inside > 0)
        top = axis.high[cell] - (1.0 if _closed(axis) else 0.0)
        found[number] = np.minimum(axis.low[cell] + np.clip(part, 0, 1) * (axis.high - axis.low)[cell], top)
        cells[number] = cell
    return found, cells


def _closed(axis: Axis) -> bool:
    return isinstance(axis.cells, pd.IntervalIndex) and axis.cells.closed == "both"


def _numbers(index: pd.Index[Any]) -> Floats:
    if isinstance(index, pd.DatetimeIndex):
        return np.asarray(index.as_unit("ns").asi8, dtype=np.float64)
    return np.asarray(index, dtype=np.float64)
