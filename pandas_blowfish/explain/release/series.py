"""The answers of one group as a picture shows them, and their numbers in words. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import STEPS

WIDE = 0.02  # share of the declared range from which on an interval is no detail


@dataclass(frozen=True, eq=False)
class Series:
    """The answers of one group.

    Attributes:
        name: The group.
        cells: Which cell each is of.
        value: The answers.
        low: Where their intervals begin, NaN where answers are exact or their errors not known.
        high: Where those end.
        bounds: The least and the largest that each value can be; None for counts, whose intervals end there.
    """

    name: str
    cells: NDArray[np.intp]
    value: Floats
    low: Floats
    high: Floats
    bounds: tuple[Floats, Floats] | None = None

    @property
    def errors(self) -> Floats:
        """Return how far each bar reaches down and up; NaN draws nothing."""
        return np.maximum([self.value - self.low, self.high - self.value], 0.0)

    @property
    def sides(self) -> Floats:
        """Return -1 for a value that noise may have moved to its lower bound, 1 to its upper one, else 0.

        Of values with declared bounds those whose intervals are wide: others are known to be there.
        """
        wide = self.high - self.low
        if self.bounds is None:
            below, above = (np.abs(self.value - end) <= 1e-9 * wide for end in (self.low, self.high))
        else:
            least, most = self.bounds
            near, unsure = 1e-9 * (most - least), wide > WIDE * (most - least)
            below, above = unsure & (self.value <= least + near), unsure & (self.value >= most - near)
        return np.where(below, -1.0, np.where(above, 1.0, 0.0))

    def times(self, by: Floats) -> Series:
        """Return these answers times a number per cell."""
        own = by[self.cells]
        return replace(self, value=self.value * own, low=self.low * own, high=self.high * own)


def words_of(value: float, low: float, high: float, *, held: bool | None = None, whole: bool = False) -> str:
    """Return an answer and its error in words: from a bound to the other end where noise reached one.

    A count is `held` where its interval ends.
    """
    error = float(np.fmax(high - value, value - low))
    if error > 0 and (value in (low, high) if held is None else held):
        digits = max(0, 1 - int(np.floor(np.log10(error))))
        least, most = np.floor(low * 10.0**digits), np.ceil(round(high * 10.0**digits, 6))
        return f"{least / 10.0**digits:,.{digits}f} to {most / 10.0**digits:,.{digits}f}"
    return about(value, max(error, 0.0) if error == error else error, whole=whole)


def about(value: float, error: float, *, whole: bool = False) -> str:
    """Return a number, give or take an error that is rounded up, with the digits that make sense."""
    if np.isnan(error) or error <= 0:
        return f"{value:,.10g}"
    digits = 0 if whole else max(0, 1 - int(np.floor(np.log10(error))))
    most = np.ceil(round(error * 10.0**digits, 6)) / 10.0**digits
    return f"{value:,.{digits}f} \N{PLUS-MINUS SIGN} {most:,.{digits}f}"


def write_counts(axis: Any) -> None:
    """Write counts along an axis, thousands separated."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=STEPS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
