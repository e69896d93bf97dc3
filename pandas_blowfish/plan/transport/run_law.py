"""How noise of least runs varies along a line: its covariances, by a dynamic programme. Never sees rows.

From left to right, what comes next depends on how many runs are open, by how far they still reach: c_1, ...,
c_n, n = reach - 1. The weight of all that may follow is a polynomial of these numbers, a sum of products of
b_m(c) = C(c + m - 1, m). A product is written as its (m_1, ..., m_n). Floats: planning alone reads this.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.run_chain import FARTHEST as FARTHEST_REACH
from pandas_blowfish.plan.scales import FARTHEST

Product = tuple[int, ...]
Term = tuple[Product, int]  # a product, and m where it is times a / (1 - a)**m; m = 0 for no such factor
Sums = dict[Product, int]
SETTLED = 1e-12
FEW = 4_096  # cuts up to which a whole line is looked at
NEVER = 1e-11  # of a variance: what counts as no covariance


def _times_one(form: Sums, place: int) -> Sums:
    """Return a polynomial times c_place: c b_m(c) = (m + 1) b_{m+1}(c) - m b_m(c)."""
    found: Sums = defaultdict(int)
    for product, value in form.items():
        m = product[place]
        found[(*product[:place], m + 1, *product[place + 1 :])] += value * (m + 1)
        found[product] -= value * m
    return found


def _times_all(form: Sums, length: int) -> Sums:
    """Return a polynomial times the sum of all c."""
    found: Sums = defaultdict(int)
    for place in range(length):
        for product, value in _times_one(form, place).items():
            found[product] += value
    return found


def step_back(product: Product, power: int, *, odd: bool) -> dict[Term, int]:
    """Return the sum over all y of y**power a**(new runs) times a product of the runs that are then open.

    Args:
        product: Of the runs open after y; of values below 0 the mirror image if `odd`.
        power: Of y.
        odd: Whether the product changes sign with the runs.

    Proof note:
        Requires: nothing.
        Ensures:  the exact polynomial of the runs open before y, in terms.
        Because:  y keeps the newest of some runs, all of them and m > 0 new ones, or none and m new ones of
                  the other sign: sums of b_m over 1..c are b_{m+1}(c), sums of a**x b_m(x) over x > 0 are
                  a / (1 - a)**(m + 1).
        Checked:  tests/plan/transport/test_run_law.py::test_covariances_are_those_of_all_points
    """
    n, none = len(product), (0,) * len(product)
    found: dict[Term, int] = defaultdict(int)
    kept: Sums = {(0, *product[:-1]): 1} if not product[-1] else {}
    opened: Sums = {(0, *product): 1}  # the last place is that of the new runs: y is the sum of all
    later: Sums = {product: 1} if not any(product[:-1]) else {}
    for _ in range(power):
        kept, opened = _times_all(kept, n), _times_all(opened, n + 1)
        later = _times_one(later, n - 1)
    for each, value in kept.items():
        found[none, 0] += value * (not any(each))
        for place in range(n):
            if not any(each[:place]):
                found[(*each[:place], each[place] + 1, *each[place + 1 :]), 0] += value
    for each, value in opened.items():
        found[each[:-1], each[-1] + 1] += value
    sign = -1 if odd != (power % 2 == 1) else 1
    for each, value in later.items():
        found[none, each[-1] + 1] += sign * value
    return {term: value for term, value in found.items() if value}


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a matrix, of old products by new ones: each a whole number, times powers of a and 1 - a."""

    rows: Ints
    columns: Ints
    values: Floats
    opens: Ints
    rests: Ints


@dataclass(frozen=True, eq=False)
class BackSteps:
    """BackSteps back as sparse matrices, but for a: which products, and what they become.

    Products are taken times (1 - a)**degree, and sums over y**power times (1 - a)**(power + 1): then all
    entries are moderate numbers, however large the scale.

    Attributes:
        number: The number of each product.
        even: A step; `odd` one of what changes sign with the runs.
        first: The same times y, of what does not change sign; `second` of what does; `square` times y**2.
    """

    number: dict[Product, int]
    even: Entries
    odd: Entries
    first: Entries
    second: Entries
    square: Entries

    def matrix(self, entries: Entries, a: float, rest: float) -> Any:
        """Return a step for some a, with 1 - a: what products become, new x old."""
        from scipy.sparse import csr_array

        values = entries.values * np.where(entries.opens > 0, a, 1.0) * rest**entries.rests
        return csr_array((values, (entries.rows, entries.columns)), shape=(len(self.number),) * 2)


@lru_cache(maxsize=8)
def steps_of(reach: int) -> BackSteps:
    """Return the steps back of a reach."""
    none, made = (0,) * (reach - 1), _Made({})
    plain = made.close([none])
    once = made.close(made.find_next(plain, 1))
    every = sorted({*plain, *once, *made.close([*made.find_next(plain, 2), *made.find_next(once, 1)])})
    number = {product: place for place, product in enumerate(every)}
    return BackSteps(
        number,
        made.entries(number, every, 0, odd=False),
        made.entries(number, once, 0, odd=True),
        made.entries(number, plain, 1, odd=False),
        made.entries(number, once, 1, odd=True),
        made.entries(number, plain, 2, odd=False),
    )


@dataclass(frozen=True)
class _Made:
    """What products become, each found out once."""

    known: dict[tuple[Product, int, bool], dict[Term, int]]

    def back(self, product: Product, power: int, *, odd: bool) -> dict[Term, int]:
        """Return what a product becomes."""
        key = (product, power, odd)
        if key not in self.known:
            self.known[key] = step_back(product, power, odd=odd)
        return self.known[key]

    def find_next(self, start: Iterable[Product], power: int) -> list[Product]:
        """Return the products that a step leads to."""
        return [product for each in start for product, _ in self.back(each, power, odd=False)]

    def close(self, start: Iterable[Product]) -> set[Product]:
        """Return some products and all that further steps lead to."""
        found = set(start)
        new = found
        while new:
            new = {product for product in self.find_next(new, 0) if product not in found}
            found |= new
        return found

    def entries(
        self, number: dict[Product, int], products: Iterable[Product], power: int, *, odd: bool
    ) -> Entries:
        """Return the matrix of a step for some products."""
        listed = [
            (number[new], number[old], value, m, sum(old) - sum(new) - m)
            for old in products
            for (new, m), value in self.back(old, power, odd=odd).items()
        ]
        rows, columns, values, opens, rests = (np.array(each) for each in zip(*listed, strict=True))
        return Entries(rows, columns, values.astype(np.float64), opens, rests + power + 1)


class LineLaw:
    """Variances of sums of atoms along a line of segments whose totals are exact.

    Args:
        reach: How many neighbouring prefix sums of a segment a run holds at most.
        scale: P(y) ~ exp(-N(y) / scale).
        sizes: How many atoms each segment has.
    """

    def __init__(self, reach: int, scale: Fraction, sizes: Ints) -> None:
        self.sizes, self.size = sizes, int(sizes.sum())
        self.laws = {size: RunLaw(reach, scale, size - 1) for size in np.unique(sizes).tolist() if size > 1}
        starts = np.append(np.cumsum(sizes) - sizes, self.size)
        self.segment = np.append(np.repeat(np.arange(len(sizes)), sizes), len(sizes))
        self.cut: Ints = np.arange(self.size + 1) - starts[self.segment] - 1  # -1 where all is exact

    @classmethod
    def read(cls, record: Mapping[str, Any], sizes: Ints) -> LineLaw:
        """Return the law that a receipt describes, refusing what is none."""
        reach = record["reach"]
        if not isinstance(reach, int) or not 2 <= reach <= FARTHEST_REACH or sizes.dtype.kind != "i":
            raise ValueError("no law of least runs")
        if sizes.min(initial=1) < 1:
            raise ValueError("segments without atoms")
        return cls(reach, Fraction(record["scales"][0]), sizes)

    def _own(self, places: Ints, size: int) -> Ints:
        """Return which of some positions are cuts inside segments of a size."""
        sizes = np.append(self.sizes, 0)[self.segment[places]]
        return np.flatnonzero((sizes == size) & (self.cut[places] >= 0))

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each cumulative count, size + 1 of them."""
        found, places = np.zeros(self.size + 1), np.arange(self.size + 1)
        for size, law in self.laws.items():
            own = self._own(places, size)
            found[own] = law.variance(self.cut[own])
        return found

    def differences(self, starts: Ints, stops: Ints) -> Floats:
        """Return the variances of sums of atoms start..stop-1; in either order."""
        low, high = np.minimum(starts, stops), np.maximum(starts, stops)
        found = self.variances[low] + self.variances[high]
        together = self.segment[low] == self.segment[high]
        for size, law in self.laws.items():
            own = self._own(low, size)
            own = own[together[own]]
            first = self.cut[low[own]]
            found[own] -= 2 * law.covariance(first, self.cut[high[own]] - first)
        return np.where(low == high, 0.0, np.maximum(found, 0.0))

    def weigh(self, weights: Floats, first: int = 0) -> Floats:
        """Return the variances of weighted sums of atoms from the first on, weights being sums x atoms."""
        steps, end = np.zeros((len(weights), self.size + 1)), first + weights.shape[1]  # of cumulative counts
        steps[:, first + 1 : end + 1] += weights
        steps[:, first:end] -= weights
        found = np.zeros(len(weights))
        for size, law in self.laws.items():
            own = self._own(np.arange(self.size + 1), size)
            for apart in range(min(law.table.shape[1], size - 1)):
                low = own[self.cut[own] + apart < size - 1]
                each = law.covariance(self.cut[low], np.full(len(low), apart))
                found += (2 if apart else 1) * (steps[:, low] * steps[:, low + apart]) @ each
        return np.asarray(np.maximum(found, 0.0))

    @property
    def every_range(self) -> float:
        """Return the mean variance over every range."""
        whole = sum(self.laws[size].total for size in self.sizes.tolist() if size > 1)
        # the sum over all pairs of positions of Var(P_b - P_a) is (k + 1) sum Var(P) - Var(sum P)
        summed = (self.size + 1) * float(self.variances.sum()) - whole
        return summed / (self.size * (self.size + 1) / 2)


class RunLaw:
    """Variances and covariances of noise on the cuts of one segment.

    Args:
        reach: How many neighbours a run holds at most.
        scale: P(y) ~ exp(-N(y) / scale).
        cuts: How many numbers are drawn.
    """

    def __init__(self, reach: int, scale: Fraction, cuts: int) -> None:
        self.cuts = cuts
        self.table = _table(reach, scale, min(cuts, FEW))

    def covariance(self, low: Ints, apart: Ints) -> Floats:
        """Return the covariance of some numbers and others so far behind them.

        Proof note:
            Requires: 0 <= low, low + apart < cuts.
            Ensures:  what the table holds, for the nearer of both ends.
            Because:  N is the same read backwards; far from both ends nothing depends on where.
            Checked:  tests/plan/transport/test_run_law.py::test_covariances_are_those_of_all_points
        """
        rows, columns = self.table.shape
        end = np.minimum(np.minimum(low, self.cuts - 1 - low - apart), rows - 1)
        return np.where(apart < columns, self.table[end, np.minimum(apart, columns - 1)], 0.0)

    def variance(self, cuts: Ints) -> Floats:
        """Return the variances of some numbers."""
        return self.covariance(cuts, np.zeros_like(cuts))

    @property
    def total(self) -> float:
        """Return the variance of the sum of all numbers."""
        rows, columns = self.table.shape
        found = 0.0
        for apart in range(min(columns, self.cuts)):
            many = self.cuts - apart
            ends = min(many // 2, rows - 1)
            own = 2 * self.table[:ends, apart].sum() + (many - 2 * ends) * self.table[ends, apart]
            found += float(own) * (2 if apart else 1)
        return found


@lru_cache(maxsize=64)
def _table(reach: int, scale: Fraction, cuts: int) -> Floats:
    """Return covariances by the distance from the nearer end, and from each other.

    The last row stands for all that are further from both ends.
    """
    if scale > FARTHEST:  # as good as without steps
        return np.asarray(_table(reach, FARTHEST, cuts) * float(min(scale / FARTHEST, Fraction(10**70))) ** 2)
    steps, rate = steps_of(reach), float(min(1 / scale, Fraction(1_000)))
    a, rest = math.exp(-rate), -math.expm1(-rate)
    if not a:
        return np.zeros((1, 1))
    even, odd, first, second, square = (
        steps.matrix(each, a, rest)
        for each in (steps.even, steps.odd, steps.first, steps.second, steps.square)
    )
    start = np.zeros(len(steps.number))
    start[steps.number[(0,) * (reach - 1)]] = 1.0
    after, _ = _settle(even, start, cuts)
    before, growth = _settle(even.T.tocsr(), start, cuts)
    rows: int = min((cuts + 1) // 2, max(len(after), len(before)))
    vectors = np.stack([before[min(row, len(before) - 1)] for row in range(rows)])
    follow = np.stack([after[min(cuts - 1 - row, len(after) - 1)] for row in range(rows)])
    found = [((vectors @ square) * follow).sum(axis=1) / ((vectors @ even) * follow).sum(axis=1)]
    left = vectors @ second
    for apart in range(1, cuts):
        places = range(apart, rows + apart)
        behind = [cuts - 1 - place for place in places]
        own = np.array(behind) >= np.arange(rows)  # the nearer end is the first
        if not own.any():
            break
        scales = np.array([growth[min(place - 1, len(growth) - 1)] for place in places])
        left = (left if apart == 1 else left @ odd) / scales[:, None]
        follow = np.stack([after[min(max(each, 0), len(after) - 1)] for each in behind])
        there = np.stack([before[min(place, len(before) - 1)] for place in places])
        values = (left * (first @ follow.T).T).sum(axis=1) / ((there @ even) * follow).sum(axis=1)
        found.append(np.where(own, values, 0.0))
        if np.abs(found[-1]).max() < NEVER * found[0].max():
            break
    return np.stack(found, axis=1) / rest**2


def _settle(step: Any, start: Floats, cuts: int) -> tuple[list[Floats], list[float]]:
    """Return vectors step by step until they stay as they are but for a factor, and the factors.

    Each vector is divided by its number for no open runs.
    """
    unit = int(start.argmax())
    vectors, factors = [start], [1.0]
    while len(vectors) < cuts:
        new = step @ vectors[-1]
        factors[len(vectors) - 1 :] = [float(new[unit])]
        vectors.append(np.asarray(new / new[unit]))
        if len(vectors) > 2 and np.allclose(vectors[-1], vectors[-2], SETTLED, 0):
            break
    return vectors, factors
