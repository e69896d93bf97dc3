"""Quantiles read off cumulative counts, their errors and intervals of whole cells. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.scales import CONCAVE, ESTIMATE, widest
from pandas_blowfish.plan.transport.tails import any_reach, concave_line

STEPS = tuple(quarters / 4 for quarters in range(4, 15))  # standard errors that bands are tried with
LEVELS = tuple(
    Fraction(level)
    for level in ("0.5", "0.68", "0.8", "0.9", "0.95", "0.98", "0.99", "0.995", "0.999", "0.9999")
)
WINDOWS = ((1, Fraction(9, 10)), (64, Fraction(1, 10)))  # positions whose mean is tested, share of the doubt
PARTS = {"lower": 0.0, "midpoint": 0.5, "higher": 1.0}  # of a cell, instead of a linear one


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

    def ends_of(self, first: Ints, last: Ints) -> tuple[list[Any], list[Any]]:
        """Return where runs of cells begin and end, within the declared bounds: instants as nanoseconds."""
        ends: Any = (self.low[first], _top(self, last))
        cells: Any = self.cells
        edges = (cells.left, cells.right) if isinstance(cells, pd.IntervalIndex) else (cells, cells)
        if isinstance(edges[0], pd.DatetimeIndex):  # floats do not hold nanoseconds
            ends = [each.as_unit("ns").asi8[at] for each, at in zip(edges, (first, last), strict=True)]
        ends = np.clip(ends, *self.ends)
        return ends[0].tolist(), ends[1].tolist()

    @property
    def tops(self) -> Floats:
        """Return the largest value of each cell; of half-open ones, where they end."""
        return _top(self, np.arange(len(self.low)))

    def distance(self, lengths: Floats) -> Any:
        """Return lengths along the axis in the column's own units: time spans for instants."""
        kind = self.cells.left if isinstance(self.cells, pd.IntervalIndex) else self.cells
        return pd.to_timedelta(lengths, unit="ns") if isinstance(kind, pd.DatetimeIndex) else lengths


@dataclass(frozen=True, eq=False)
class Curves:
    """Cumulative counts with their errors.

    Attributes:
        positions: The unbiased ones, lines x (cells + 1).
        rising: The same, made to rise: what values are read off.
        spread: Their standard errors.
        rest: Those of the counts after each position; None where only bounds are known.
        together: Whether errors of cumulative counts have no covariance below 0.
        rounding: How much wider whole noise may be than its standard error, 1 or more.
        terms: What counts are off by, if by no sums of Laplace noises.
    """

    positions: Floats
    rising: Floats
    spread: Floats
    rest: Floats | None = None
    together: bool = False
    rounding: float = 1.0
    terms: str = ESTIMATE

    def room(self, window: int, level: Fraction) -> tuple[float, float]:
        """Return how far means over a window may be off: by so many errors, and a number where there are any.

        Proof note:
            Requires: as `cell_bounds`.
            Ensures:  a mean exceeds that with at most half of what is missing of the level.
            Because:  all laws are symmetric. Whole Laplace noise is `widest` errors and off by one at most.
                      Where noise is log-concave in sums of cells the total is exact, so D is such a sum but
                      for a constant; of means of these, and of what agrees with facts, no law is known.
            Checked:  tests/plan/transport/test_tails.py::test_quantile_rooms_hold_what_is_known_of_the_law
        """
        if self.terms == ESTIMATE:
            return widest(level) * self.rounding, 1.0
        return concave_line(level) if self.terms == CONCAVE and window == 1 else (any_reach(level), 0.0)

    def errors(self, line: int, q: float) -> Floats:
        """Return the standard errors of positions less the share q of the last one: exact, or at most these.

        With V of the counts before a position, W of those after it and T of all of them the variance is
        (1 - q) V + q W - q (1 - q) T, as T is V + W and twice their covariance.
        """
        own = np.nan_to_num(self.spread[line])
        if self.rest is not None:
            found = (1 - q) * own**2 + q * self.rest[line] ** 2 - q * (1 - q) * own[-1] ** 2
            return np.sqrt(np.where(found > 1e-9 * own.max() ** 2 + 1e-60, found, 0.0))
        return np.asarray(np.hypot(own, q * own[-1]) if self.together else own + q * own[-1])


def quantiles(curves: Curves, axis: Axis, q: Floats, inside: str = "linear") -> tuple[Any, Any]:
    """Return the values where a share q of each line's rows is reached, and their standard errors.

    The value is that of the first cell whose cumulative count reaches q of the total, linear inside bins or
    always the same part of them. Its error has two parts. One is how far it may be off a standard error of
    the counts: at worst, among bands of up to four standard errors around the curve, read off at the same
    height; NaN where the counts' own is not known. The other is the width of the cell over sqrt(12), as where
    rows lie inside it is not known.

    Args:
        curves: Cumulative counts, lines x (cells + 1).
        axis: The cells.
        q: Shares between 0 and 1.
        inside: "linear", "lower", "midpoint" or "higher".

    Examples:
        >>> cells, counts = Axis.of(pd.Index([10, 20, 30])), np.array([[0.0, 1.0, 3.0, 4.0]])
        >>> quantiles(Curves(counts, counts, 0 * counts), cells, np.array([0.5]))[0].tolist()
        [20.0]
    """
    goals = curves.rising[:, -1:] * q
    places, cell = _places(curves.rising, axis, goals)
    std = np.zeros(places.shape)
    for line, rising in enumerate(curves.rising):
        errors = np.stack([curves.errors(line, share) for share in q], axis=1)
        for many in STEPS if errors.any() else ():
            ends = (_crossed(rising[:, None] + sign * many * errors, goals[line], axis) for sign in (1, -1))
            moved = np.maximum.reduce([np.abs(end - places[line]) for end in ends])
            std[line] = np.fmax(std[line], moved / many)
    wide = np.where(_top(axis, cell) > axis.low[cell], (axis.high - axis.low)[cell], 0.0)
    std = np.hypot(std, wide / np.sqrt(12))
    if inside != "linear":
        places = places * 0 + _inside(axis, cell, np.full(cell.shape, PARTS[inside]))
    known = ~np.isnan(curves.spread).any(axis=1, keepdims=True) & ~np.isnan(places)
    known &= not isinstance(axis.cells, pd.CategoricalIndex)  # which have no distances
    std = np.where(known, std, np.nan)
    return axis.value(places.ravel(), cell.ravel()), axis.distance(std.ravel())


def place_values(axis: Axis, cells: Ints, parts: Floats, inside: str) -> Any:
    """Return the values of places: cells, and how far inside them; of cell -1, missing values.

    Examples:
        >>> cells = Axis.of(pd.Index([10, 20]))
        >>> place_values(cells, np.array([[1, -1]]), np.zeros((1, 2)), "linear").tolist()
        [20.0, nan]
    """
    known, at = cells.ravel() >= 0, np.maximum(cells.ravel(), 0)
    part = np.nan_to_num(parts.ravel()) if inside == "linear" else np.full(len(at), PARTS[inside])
    return axis.value(np.where(known, _inside(axis, at, part), np.nan), at)


def cell_bounds(curves: Curves, axis: Axis, q: Floats) -> tuple[Ints, Ints]:
    """Return the first and the last cell in which each quantile may lie, answers x `LEVELS`; -1 for none.

    Proof note:
        Requires: unbiased positions whose errors are sums of Laplace noises, or as `Curves.terms` states,
                  with standard errors of at most `Curves.errors`; a share q that does not depend on them.
        Ensures:  each pair, by itself, holds the cell of the quantile with at least its level's probability.
        Because:  let D be the true positions less q of the last one: they rise, and the quantile's cell c is
                  the first with D[c + 1] >= 0, so D <= 0 up to c and D >= 0 after it. A cell is left out only
                  if the mean of D over the positions up to it, of one or of 64, comes out above t errors of
                  it, or that of those after it below -t errors; errors of means are at most means of errors.
                  For c each has `Curves.room` at its share of the doubt, half on a side, and the shares add
                  up to 1. Other cells need no test: the pair encloses all that are not left out.
        Checked:  tests/plan/line/test_quantile_curve.py::test_cells_are_covered_whatever_the_curve
    """
    steps = [[curves.room(window, 1 - (1 - level) * share) for level in LEVELS] for window, share in WINDOWS]
    _, cells = _places(curves.rising, axis, curves.rising[:, -1:] * q)
    bounds = np.full((2, cells.size, len(LEVELS)), -1, dtype=np.int64)
    for line, positions in enumerate(curves.positions):
        for number, share in enumerate(q.tolist()):
            errors, cell = curves.errors(line, share), cells[line, number]
            if not errors.any():  # an exact curve
                bounds[:, line * len(q) + number] = cell if positions[-1] > 1e-6 else -1
                continue
            above = positions - share * positions[-1]
            last = _passed(above, errors, steps)
            first = len(above) - 2 - _passed(-above[::-1], errors[::-1], steps)
            ends = (np.minimum(np.minimum(first, last), cell), np.maximum(np.maximum(first, last), cell))
            bounds[:, line * len(q) + number] = ends
    return bounds[0], bounds[1]


def _passed(above: Floats, errors: Floats, steps: list[list[tuple[float, float]]]) -> Ints:
    """Return for each level the last position, the end left out, that may lie at or below 0."""
    dust = 1e-9 * max(float(np.abs(above).max()), 1.0)
    means = [(_means(above, window), _means(errors, window)) for window, _ in WINDOWS]
    found, last = np.zeros(len(LEVELS), dtype=np.int64), len(LEVELS) - 1
    begin, end = 0, len(above) - 1
    for level in (last, *range(last)):  # the highest leaves few positions for the others
        out = np.zeros(end - begin, dtype=bool)
        for (mean, error), rooms in zip(means, steps, strict=True):
            wide, (many, more) = error[begin:end], rooms[level]
            room = many * wide + more * (wide > 0) + dust
            out |= mean[begin:end] > room
        found[level] = begin + np.flatnonzero(~out).max(initial=0)  # nothing lies before the first cell
        begin, end = (begin, found[level] + 1) if level == last else (found[level], end)
    return found


def _means(values: Floats, window: int) -> Floats:
    """Return the mean of each value and as many before it as a window holds."""
    if window == 1:
        return values
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(1, len(sums))
    start = np.maximum(at - window, 0)
    return np.asarray((sums[at] - sums[start]) / (at - start))


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
