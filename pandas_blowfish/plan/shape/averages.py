"""Means and variances of a column from noisy counts of its cells, with intervals. Never sees rows.

Counts are read at the middles of their cells: a value is off by half a cell at most, which intervals allow
for. What is estimated, sums of counts, is linear, so its errors are those of `covariance.sum_variances`, or
bounds of them; only the quotients are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.scales import ESTIMATE, variance, widest
from pandas_blowfish.plan.transport.tails import any_reach

STEPS = 45  # halvings that ends of intervals are found by
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Averages:
    """The counts of cells along lines, as sums of powers of where the cells lie.

    Places are measured from the middle of the axis in halves of its length, so that they lie in -1..1.

    Attributes:
        sums: The unbiased sums of counts times 1, place, place^2, half the cell's width: lines x 4.
        error: Returns for coefficients (... x lines x 4) of these sums the standard error, or a bound of it.
        places: The places of the first and the last cell.
        half: Half the width of the widest cell.
        within: The least and the greatest value, as places.
        exact: Whether errors are exact and not bounds.
        public: For each line whether its number of rows is exact.
        finest: The smallest scale of the noise.
        post: Whether impossible values are moved to the nearest that are not.
        widening: How many times further than their errors say sums may go of noises that sum to 0.
        terms: What counts are off by: of weighted sums of other noise than Laplace's no law is known.
    """

    sums: Floats
    error: Callable[[Floats], Floats]
    places: tuple[float, float]
    half: float
    within: tuple[float, float]
    exact: bool
    public: Any
    finest: Fraction
    post: bool
    widening: float = 1.0
    terms: str = ESTIMATE

    @property
    def rows(self) -> Floats:
        """Return the number of rows of each line that averages divide by; NaN for none."""
        total = self.sums[:, 0]
        return np.where(self.public, np.where(total > 0.5, np.rint(total), np.nan), np.maximum(total, 1.0))

    def means(self) -> tuple[Floats, Floats]:
        """Return means, as places, and their standard errors to first order."""
        found = self.sums[:, 1] / self.rows
        if self.post:
            found = np.clip(found, *self.places)
        return found, self.error(_weights(-found, 1.0)) / self.rows

    def variances(self, ddof: int) -> tuple[Floats, Floats]:
        """Return variances, in squares of places, and their standard errors to first order.

        The square of a noisy mean is too large by its variance, which is added again where that is known.
        """
        rows, mean = self.rows, self.sums[:, 1] / self.rows
        found = self.sums[:, 2] / rows - mean**2
        if self.exact:
            found = found + (self.error(_weights(-mean, 1.0)) / rows) ** 2
        if self.post:
            found = np.clip(found, 0.0, self._most)
        more = np.where(rows > ddof, rows / np.where(rows > ddof, rows - ddof, 1.0), np.nan)
        error = self.error(_weights(mean**2 - found, -2 * mean, 1.0)) / rows
        return found * more, error * more

    @property
    def _most(self) -> float:
        """Return the largest variance that places can have."""
        return ((self.places[1] - self.places[0]) / 2) ** 2

    def reach(self, levels: Sequence[Fraction], shares: int = 1) -> Floats:
        """Return within how many standard errors a weighted sum of noises lies, levels x 1.

        Args:
            levels: The probabilities.
            shares: By how many such sums the doubt is shared.
        """
        sure = [1 - (1 - level) / shares for level in levels]
        if self.terms != ESTIMATE:
            return np.array([any_reach(each) for each in sure])[:, None]
        one, wide = variance(self.finest), np.array([widest(each) for each in sure])
        wide = self.widening * wide
        if one <= 0:
            return wide[:, None]
        rounding = np.sqrt(float(2 * self.finest**2) / one)
        return np.asarray((rounding * wide + 2 / np.sqrt(one))[:, None])  # whole noises, in steps of a weight

    def mean_bounds(self, levels: Sequence[Fraction]) -> tuple[Floats, Floats]:
        """Return low and high of the mean of the values themselves, as places, levels x lines.

        Proof note:
            Requires: unbiased sums, and errors that are exact or upper bounds.
            Ensures:  P(low <= mean of the values <= high) >= level for each line that has rows.
            Because:  the values' mean lies between those of the least and of the greatest values of cells.
                      With m either of these, sum (place - m) count is 0 in truth, so its estimate is within
                      `reach` standard errors of 0 but for this doubt, and by symmetry on either side but for
                      half of it: m is on that side of its end (`find_ends`).
            Checked:  tests/queries/frames/test_free_averages.py::test_intervals_cover
        """
        reach = self.reach(levels)
        return self._mean_ends(reach, -1.0)[0], self._mean_ends(reach, 1.0)[1]

    def _mean_ends(self, reach: Floats, side: float = 0.0) -> tuple[Floats, Floats]:
        """Return the ends of the mean of middles, or of the least or greatest values of cells."""
        over = self.sums[:, 1] + side * self.sums[:, 3]
        within = self.within if side else self.places

        def error(at: Floats) -> Floats:
            return self.error(_weights(-at, 1.0, 0.0, side))

        return find_ends(over, self.sums[:, 0], error, reach, within)

    def deviation_bounds(self, levels: Sequence[Fraction], ddof: int) -> tuple[Floats, Floats]:
        """Return low and high of the values' own standard deviation, in lengths of places, levels x lines.

        Proof note:
            Requires: as `mean_bounds`.
            Ensures:  P(low <= deviation <= high) >= level for each line that has more rows than `ddof`.
            Because:  with m and v the mean and variance of the middles, sum ((place - m)^2 - v) count is 0
                      in truth, so its estimate is within `reach` errors of 0. About the estimated mean c,
                      with m - c = d, the estimate is S - v T + d^2 T, and its error at most that of the sum
                      about c, 2 |d| times that of the first power and d^2 that of the rows. m is within
                      the ends of the mean, the number of rows, where not exact, within its own: the doubt is
                      shared by all. Deviations of values and of middles differ by at most that of what
                      they are off by, half a cell.
            Checked:  tests/queries/frames/test_free_averages.py::test_intervals_cover
        """
        reach, total = self.reach(levels, 2 if self.public.all() else 3), self.sums[:, 0]
        some = total > 0
        centre = np.divide(self.sums[:, 1], total, out=np.zeros(len(total)), where=some)
        ends = self._mean_ends(reach)
        far = np.maximum(np.abs(ends[0] - centre), np.abs(ends[1] - centre))
        around = self.sums[:, 2] - centre**2 * total
        rest = self.error(_weights(1.0 + 0 * centre))
        slack = reach * (2 * far * self.error(_weights(-centre, 1.0)) + far**2 * rest)

        def error(at: Floats) -> Floats:
            return self.error(_weights(centre**2 - at, -2 * centre, 1.0))

        stated = (error, reach, (0.0, self._most), slack)
        low = find_ends(around, total, *stated)[0]
        high = find_ends(around + far**2 * total, total, *stated)[1]
        wide = (self.within[1] - self.within[0]) / 2
        low = np.maximum(np.sqrt(low) - self.half, 0.0)
        high = np.minimum(np.sqrt(high) + self.half, wide)
        near = np.where(self.public, 0.0, reach * rest)
        fewest, most = (np.maximum(total + sign * near, ddof + 1.0) for sign in (-1, 1))
        return low * np.sqrt(most / (most - ddof)), high * np.sqrt(fewest / (fewest - ddof))


def _weights(rows: Floats, first: Any = 0.0, second: Any = 0.0, width: float = 0.0) -> Floats:
    """Return coefficients of the sums of 1, places, their squares and widths."""
    return np.stack([np.broadcast_to(each, rows.shape) for each in (rows, first, second, width)], axis=-1)


def powers(places: Floats, halves: Floats) -> Floats:
    """Return what counts are multiplied by in each sum, sums x cells."""
    return np.stack([np.ones(len(places)), places, places**2, halves])


def exact_error(variances: Callable[[Floats], Floats], each: Floats) -> Callable[[Floats], Floats]:
    """Return the standard errors of combinations of some weighted sums of cells.

    Args:
        variances: Returns lines x sums for weights, sums x cells.
        each: The weights of the sums.
    """
    pairs = list(combinations(range(len(each)), 2))
    found = variances(np.concatenate([each, [each[a] + each[b] for a, b in pairs]]))
    spread = np.zeros((len(found), len(each), len(each)))
    for number, own in enumerate(found.T[: len(each)]):
        spread[:, number, number] = own
    for (a, b), both in zip(pairs, found.T[len(each) :], strict=True):
        spread[:, a, b] = spread[:, b, a] = (both - spread[:, a, a] - spread[:, b, b]) / 2

    def error(part: Floats) -> Floats:
        square = np.einsum("...li,lij,...lj->...l", part, spread, part)
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    return error


def bound_error(std: Floats, each: Floats, *, summed: bool) -> Callable[[Floats], Floats]:
    """Return bounds of the standard errors of combinations of some weighted sums: errors may all add up.

    Args:
        std: The standard errors of counts, lines x cells; of cumulative ones if `summed`.
        each: The weights of the sums.
        summed: Whether counts were released cumulatively.
    """

    def error(part: Floats) -> Floats:
        weights = part @ each
        if summed:
            weights = weights - np.concatenate([weights[..., 1:], 0 * weights[..., :1]], axis=-1)
        return np.asarray((np.abs(weights) * std).sum(axis=-1))

    return error


def find_ends(
    over: Floats,
    under: Floats,
    error: Callable[[Floats], Floats],
    reach: Floats | float,
    within: Sequence[float],
    slack: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Return the least and the greatest v with |over - v under| <= reach error(v) + slack, line by line.

    All of `within` where `under` is not positive; where no v fits, the nearest to the quotient.

    Proof note:
        Requires: error(v) is convex.
        Ensures:  every v of `within` that fits lies between the ends.
        Because:  on either side of the quotient, |over - v under| less the right side is concave. Where it is
                  above 0 at an end of `within` and at most 0 at the quotient it crosses 0 once between
                  them; where it is at most 0 at the end, that is taken; where it is above 0 at both ends of
                  a stretch on one side, it is so on all of it.
        Checked:  tests/plan/shape/test_averages.py::test_ends_hold_all_that_fits
    """
    shape, some = np.broadcast_shapes(np.shape(over), np.shape(under), np.shape(reach)), under > 0
    low, high = (np.full(shape, float(end)) for end in within)
    start = np.clip(np.divide(over, under, out=low.copy(), where=some), low, high)

    def beyond(at: Floats) -> Any:
        return np.abs(over - at * under) > reach * error(at) + slack

    ends = []
    for end in (low, high):
        inner, outer = start.copy(), end.copy()
        for _ in range(STEPS):
            middle = (inner + outer) / 2
            out = beyond(middle)
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
        found = np.where(beyond(start), start, outer)
        ends.append(np.where(beyond(end) & some, found, end))
    length = SLACK * (within[1] - within[0])
    return np.maximum(ends[0] - length, low), np.minimum(ends[1] + length, high)
