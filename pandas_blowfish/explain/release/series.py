"""The answers of one group as a picture shows them, and their numbers in words. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import STEPS


@dataclass(frozen=True, eq=False)
class Series:
    """The answers of one group: which cells, the values, and the bounds where they are known."""

    name: str
    cells: NDArray[np.intp]
    value: Floats
    low: Floats
    high: Floats

    @property
    def errors(self) -> Floats:
        """Return how far each bar reaches down and up; NaN draws nothing."""
        return np.maximum([self.value - self.low, self.high - self.value], 0.0)

    @property
    def sides(self) -> Floats:
        """Return -1 for a value at the lower end of its interval, a bound, 1 at the upper end, else 0."""
        near = 1e-9 * (self.high - self.low)
        below, above = (np.abs(self.value - end) <= near for end in (self.low, self.high))
        return np.where(below, -1.0, np.where(above, 1.0, 0.0))

    def times(self, by: Floats) -> Series:
        """Return these answers times a number per cell."""
        own = by[self.cells]
        return replace(self, value=self.value * own, low=self.low * own, high=self.high * own)


def words_of(value: float, low: float, high: float) -> str:
    """Return an answer and its error in words: from a bound to the other end where noise reached one."""
    error = float(np.fmax(high - value, value - low))
    if error > 0 and value in (low, high):
        digits = max(0, 1 - int(np.floor(np.log10(error))))
        least, most = np.floor(low * 10.0**digits), np.ceil(round(high * 10.0**digits, 6))
        return f"{least / 10.0**digits:,.{digits}f} to {most / 10.0**digits:,.{digits}f}"
    return about(value, max(error, 0.0) if error == error else error)


def about(value: float, error: float) -> str:
    """Return a number, give or take an error that is rounded up, with the digits that make sense."""
    if np.isnan(error) or error <= 0:
        return f"{value:,.10g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    most = np.ceil(round(error * 10.0**digits, 6)) / 10.0**digits
    return f"{value:,.{digits}f} \N{PLUS-MINUS SIGN} {most:,.{digits}f}"


def write_counts(axis: Any) -> None:
    """Write counts along an axis, thousands separated."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=STEPS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
