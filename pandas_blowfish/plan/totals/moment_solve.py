"""Variances and covariances from noisy totals, with how wrong they may be. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.lattice import LIMIT
from pandas_blowfish.plan.scales import divisor
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.totals.law import BoxLaw, read_law, state_laws
from pandas_blowfish.plan.totals.moments import COUNTED, NoisyMoments
from pandas_blowfish.policy.attribute import Grid

SLACK = 1e-11  # of a bound, for what rounding to floats may move it
USED = {"count": 1, "size": 1, "sum": 2, "mean": 2}  # of a pair's totals, by statistic; of others all
Ends = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class SolvedMoments(Solved):
    """Answers, their standard errors, and the noisy totals of each group that they were read off."""

    std: Floats = None  # type: ignore[assignment]
    totals: Ints = None  # type: ignore[assignment]


def moment_facts(measurement: NoisyMoments) -> dict[str, Any]:
    """Return what answers and their intervals are read by, as plain data."""
    halves: list[str] = []
    lows: list[str] = []
    boxes, own_boxes = state_laws(measurement.laws)
    for own, (low, high) in zip(measurement.lattices, measurement.bounds, strict=True):
        most = measurement.rounding[len(halves)]
        least, greatest = (own.origin + own.unit * end for end in (low, high))
        least, greatest = least - most, greatest + most
        if isinstance(own.attribute, Grid):
            least, greatest = max(least, own.attribute.low), min(greatest, own.attribute.high)
        halves.append(str((greatest - least) / 2))
        lows.append(str(least))
    return {
        "ddof": measurement.ddof,
        "columns": [each.name for each in measurement.weighed],
        "units": [str(each.unit) for each in measurement.lattices],
        "origins": [str(each.origin) for each in measurement.lattices],
        "rounding": [str(each) for each in measurement.rounding],
        "halves": halves,
        "lows": lows,
        "scales": [str(scale) for scale in measurement.total_scales],
        **({"box_reaches": boxes, "boxes": own_boxes} if boxes else {}),
        "pairs": [[*p.columns, p.count, *p.sums, *p.squares, p.product] for p in measurement.pairs],
    }


@dataclass(frozen=True)
class MomentReader:
    """Reads one pair of columns off the totals of some groups, groups x totals.

    Attributes:
        stated: What `moment_facts` states.
        number: Which of the pairs it is.
        of: Which statistic.
        totals: The noisy totals.
    """

    stated: Mapping[str, Any]
    number: int
    of: str
    totals: Floats

    @property
    def ddof(self) -> int:
        """Return what is taken off the number of rows, which just variances and covariances depend on."""
        return int(self.stated["ddof"]) if self.of in ("var", "std", "cov") else 0

    def _columns(self) -> tuple[int, int]:
        first, second = self.stated["pairs"][self.number][:2]
        return int(first), int(second)

    @property
    def alone(self) -> bool:
        """Return whether it is one column."""
        one, two = self._columns()
        return one == two

    def _each(self, key: str) -> tuple[float, float]:
        one, two = self._columns()
        return float(Fraction(self.stated[key][one])), float(Fraction(self.stated[key][two]))

    def _parts(self) -> tuple[int, ...]:
        """Return the numbers of the count, both sums, both squares and the product."""
        return tuple(int(each) for each in self.stated["pairs"][self.number][2:])

    def _law(self, number: int) -> BoxLaw:
        boxes = self.stated.get("boxes")  # receipts without are of independent noise
        own = boxes[number] if boxes else None
        return read_law(self.stated["scales"][number], own, self.stated.get("box_reaches", ()))

    def _noise(self, number: int) -> float:
        return self._law(number).variance if number >= 0 else 0.0

    def _rows(self) -> Floats:
        """Return the number of rows, one that can be divided by; NaN where there are surely too few."""
        count = self._parts()[0]
        return divisor(self.totals[:, count], self._law(count).sure, self.ddof)

    def estimate(self, post: bool) -> tuple[Floats, Floats]:
        """Return answers and their standard errors, to first order; NaN where there are too few rows."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = self._estimate(post)
        far = np.zeros(len(self.totals), dtype=bool)
        for number in self._parts():
            if number >= 0:
                far |= np.abs(self.totals[:, number]) >= float(LIMIT - self._law(number).limit)
        return found[0], np.where(far, np.inf, found[1])  # how large it is was cut off

    def _estimate(self, post: bool) -> tuple[Floats, Floats]:
        if self.of == "corr":
            return self._correlation(post)
        if self.of in ("var", "std", "cov"):
            return self._spread(post)
        count, number = self._parts()[:2]
        many, counting = self.totals[:, count], self._noise(count)
        if self.of in COUNTED:
            return np.maximum(many, 0.0) if post else many, np.full(len(many), np.sqrt(counting))
        unit, origin = self._each("units")[0], self._each("origins")[0]
        low = self._each("lows")[0]
        high = low + 2 * self._each("halves")[0]
        own, noise = self.totals[:, number], self._noise(number)
        if self.of == "sum":
            found, error = unit * own + origin * many, np.sqrt(unit**2 * noise + origin**2 * counting)
            if post and not counting:
                found = np.clip(found, low * many, high * many)
            return found, np.full(len(many), error)
        rows = self._rows()
        mean = own / rows
        error = unit * np.sqrt(noise + mean**2 * counting) / rows
        found = origin + unit * mean
        return np.clip(found, low, high) if post else found, error

    def _centred(self, product: int, sums: tuple[int, int]) -> Floats:
        """Return products less those of the sums over the rows, unbiased where the rows are known."""
        one, two = self.totals[:, sums[0]], self.totals[:, sums[1]]
        off = self._noise(sums[0]) if sums[0] == sums[1] else 0.0
        return np.asarray(self.totals[:, product] - (one * two - off) / self._rows())

    def _spread(self, post: bool) -> tuple[Floats, Floats]:
        """Return a variance, standard deviation or covariance."""
        count, one, two, _, _, product = self._parts()
        rows, units = self._rows(), self._each("units")
        unit, left = units[0] * units[1], rows - self.ddof
        means = self.totals[:, one] / rows, self.totals[:, two] / rows
        found = self._centred(product, (one, two)) / left
        noise = self._noise(product) + (means[0] * means[1] - found) ** 2 * self._noise(count)
        if self.alone:
            squared = self._law(one).fourth - self._noise(one) ** 2
            noise = noise + 4 * means[0] ** 2 * self._noise(one) + squared / rows**2
        else:
            noise = noise + means[1] ** 2 * self._noise(one) + means[0] ** 2 * self._noise(two)
            noise = noise + self._law(one).squares(self._law(two)) / rows**2
        found, error = found * unit, np.sqrt(noise) / left * unit
        if post:
            most = math.prod(self._each("halves")) * rows / left
            found = np.clip(found, 0.0 if self.alone else -most, most)
        if self.of != "std":
            return found, error
        root = np.sqrt(np.where(found >= 0, found, np.nan))
        return root, np.fmin(error / (2 * root), np.sqrt(error))

    def _correlation(self, post: bool) -> tuple[Floats, Floats]:
        count, one, two, first, second, product = self._parts()
        rows = self._rows()
        if self.alone:
            return np.where(np.isnan(rows), np.nan, 1.0), np.where(np.isnan(rows), np.nan, 0.0)
        means = self.totals[:, one] / rows, self.totals[:, two] / rows
        spreads = [self._centred(first, (one, one)), self._centred(second, (two, two))]
        spreads = [np.where(each > 0, each, np.nan) for each in spreads]
        size = np.sqrt(spreads[0] * spreads[1])
        found = self._centred(product, (one, two)) / size
        slopes = {
            product: 1 / size,
            one: found * means[0] / spreads[0] - means[1] / size,
            two: found * means[1] / spreads[1] - means[0] / size,
            first: -found / (2 * spreads[0]),
            second: -found / (2 * spreads[1]),
            count: means[0] * means[1] / size
            - found * (means[0] ** 2 / spreads[0] + means[1] ** 2 / spreads[1]) / 2,
        }
        error = np.sqrt(sum(slope**2 * self._noise(number) for number, slope in slopes.items()))
        return np.clip(found, -1, 1) if post else found, error

    def bound(self, level: Any) -> Ends:
        """Return low and high that hold the truth of the values themselves.

        Proof note:
            Requires: the noisy totals and their scales.
            Ensures:  P(low <= true answer <= high) >= level, where it has more rows than `ddof`.
            Because:  each of k noisy totals lies within its noise's reach at 1 - (1 - level) / k, so all do
                      at `level`, drawn together or not. With P, S and n in these boxes
                      (P - S S' / n) / (n - ddof) lies between its extremes: P and S S' at their ends, n at an
                      end or where the derivative is 0. Values are off by at most h from what is added up, and
                      the deviation is a seminorm: deviations differ by at most h, covariances by
                      h s' + h' s + h h' (times n / (n - ddof)), where s is at most half the range. A quotient
                      lies between the extreme quotients; means are off by h, sums by h for each row.
            Checked:  tests/plan/totals/test_moment_solve.py::test_intervals_cover
        """
        used = self._parts()[: USED.get(self.of)]
        noisy = sum(self._law(number).scale > 0 for number in {each for each in used if each >= 0})
        within = 1 - (1 - exact(level, "level")) / max(noisy, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.of in (*COUNTED, "sum", "mean"):
                low, high = self._linear(within)
            elif self.of == "corr":
                low, high = self._quotient(within)
            else:
                low, high = self._box(within, self._parts()[1:3], self._parts()[5], self._each("rounding"))
            if self.of == "std":
                low, high = np.sqrt(np.maximum(low, 0.0)), np.sqrt(high)
        return low, high

    def _linear(self, within: Fraction) -> Ends:
        """Return bounds of a count, a sum or a mean."""
        count, number = self._parts()[:2]
        few, many = self._between(count, within)
        few, many = np.maximum(few, 0.0), np.maximum(many, 0.0)
        if self.of in COUNTED:
            return few, many
        unit, origin, off = (self._each(key)[0] for key in ("units", "origins", "rounding"))
        below, above = self._between(number, within)
        slack = SLACK * (np.maximum(np.abs(below), np.abs(above)) * unit + abs(origin) * many)
        if self.of == "sum":
            ends = np.sort(np.stack([origin * few, origin * many]), axis=0)
            return unit * below + ends[0] - off * many - slack, unit * above + ends[1] + off * many + slack
        few = np.where(np.isnan(self._rows()), np.nan, np.maximum(few, 1.0))
        many = np.maximum(many, few)
        low = origin + unit * below / np.where(below < 0, few, many) - off - slack / few
        high = origin + unit * above / np.where(above > 0, few, many) + off + slack / few
        least = self._each("lows")[0]
        most = least + 2 * self._each("halves")[0]
        return np.clip(low, least, most), np.clip(high, least, most)

    def _between(self, number: int, within: Fraction) -> Ends:
        own, far = self.totals[:, number], float(self._law(number).within(within))
        spread = np.where(np.abs(own) >= float(LIMIT - self._law(number).limit), np.inf, far)
        return own - spread, own + spread

    def _box(self, within: Fraction, sums: tuple[int, ...], product: int, off: tuple[float, float]) -> Ends:
        """Return the least and the greatest (co)variance that boxes of totals leave possible."""
        alone = sums[0] == sums[1]
        few, many = self._between(self._parts()[0], within)
        few = np.where(np.isnan(self._rows()), np.nan, np.maximum(few, self.ddof + 1))
        many = np.maximum(many, few)
        ends = [self._between(number, within) for number in sums]
        corners = np.stack([one * two for one in ends[0] for two in ends[1]])
        least, greatest = corners.min(axis=0), corners.max(axis=0)
        if alone:
            least = np.where((ends[0][0] <= 0) & (ends[0][1] >= 0), 0.0, np.minimum(*np.square(ends[0])))
        below, above = self._between(product, within)
        low = _over_rows(below, greatest, few, many, self.ddof, np.fmin)
        high = _over_rows(above, least, few, many, self.ddof, np.fmax)
        units = self._each("units") if not alone else (self._unit_of(sums),) * 2
        unit = units[0] * units[1]
        slack = SLACK * (np.maximum(np.abs(below), np.abs(above)) + np.abs(corners).max(axis=0) / few)
        low, high = (low - slack / (few - self.ddof)) * unit, (high + slack / (few - self.ddof)) * unit
        over = few / (few - self.ddof)
        halves = self._each("halves") if not alone else (self._half_of(sums),) * 2
        if alone:
            far, most = off[0] * np.sqrt(over), halves[0] * np.sqrt(over)
            low = np.square(np.maximum(np.sqrt(np.maximum(low, 0.0)) - far, 0.0))
            high = np.square(np.fmin(np.sqrt(np.maximum(high, 0.0)) + far, most))
            return low, np.maximum(high, low)
        far = over * (off[0] * halves[1] + off[1] * halves[0] + off[0] * off[1])
        most = over * halves[0] * halves[1]
        return np.fmax(low - far, -most), np.fmin(high + far, most)

    def _place(self, sums: tuple[int, ...]) -> int:
        """Return which of the two columns a sum is of."""
        return self._columns()[int(sums[0] != self._parts()[1])]

    def _unit_of(self, sums: tuple[int, ...]) -> float:
        return float(Fraction(self.stated["units"][self._place(sums)]))

    def _half_of(self, sums: tuple[int, ...]) -> float:
        return float(Fraction(self.stated["halves"][self._place(sums)]))

    def _quotient(self, within: Fraction) -> Ends:
        """Return bounds of a correlation from those of the covariance and of both deviations."""
        if self.alone:
            same, _ = self.estimate(True)
            return same, same
        _, one, two, first, second, product = self._parts()
        off = self._each("rounding")
        low, high = self._box(within, (one, two), product, off)
        pair = [
            self._box(within, (one, one), first, (off[0],) * 2),
            self._box(within, (two, two), second, (off[1],) * 2),
        ]
        least, most = (np.sqrt(pair[0][end] * pair[1][end]) for end in (0, 1))
        low = np.where(low < 0, low / least, low / most)
        high = np.where(high > 0, high / least, high / most)
        low, high = np.where(np.isnan(low), -1.0, low), np.where(np.isnan(high), 1.0, high)
        missing = np.isnan(self._rows())
        return (
            np.where(missing, np.nan, np.clip(low - SLACK, -1, 1)),
            np.where(missing, np.nan, np.clip(high + SLACK, -1, 1)),
        )


def _over_rows(product: Floats, squared: Floats, few: Floats, many: Floats, ddof: int, pick: Any) -> Floats:
    """Return the extreme of (product - squared / n) / (n - ddof) over numbers of rows n in few..many."""
    root = np.sqrt(np.maximum(squared * squared - product * squared * ddof, 0.0))
    turns = [(squared + root) / product, (squared - root) / product]
    places = [few, many, *(np.clip(np.where(np.isfinite(turn), turn, few), few, many) for turn in turns)]
    found = [(product - squared / n) / (n - ddof) for n in places]
    return np.asarray(pick.reduce(np.stack(found)))


def solve_moments(measurement: NoisyMoments, values: Ints, post: bool) -> SolvedMoments:
    """Return variances, deviations, covariances or correlations from the measured totals, groups outermost.

    With `post` variances are not negative and nothing exceeds what declared bounds allow; without, variances
    and covariances are unbiased where the number of rows is known.
    """
    size = measurement.tally.size
    totals = values.reshape(len(measurement.totals), size).T
    stated = moment_facts(measurement)
    answers, std = (np.zeros((size, len(measurement.reads))) for _ in range(2))
    found: dict[tuple[int, str], tuple[Floats, Floats]] = {}
    for place, (number, of) in enumerate(measurement.reads):
        if (number, of) not in found:
            reader = MomentReader(stated, number, of, totals.astype(np.float64))
            found[number, of] = reader.estimate(post)
        answers[:, place], std[:, place] = found[number, of]
    blank = np.array([0.0 if of in (*COUNTED, "sum") else np.nan for _, of in measurement.reads])
    answers[~measurement.occupied], std[~measurement.occupied] = blank, blank
    return SolvedMoments(answers.ravel(), answers.ravel(), None, std.ravel(), totals)
