"""Transport noise on a line under a threshold: its variances by a dynamic programme over polynomials.

Noise y is added to the k - 1 prefix sums, with P(y) proportional to exp(-epsilon N(y)); N(y) is the least
number of edges (signed runs of at most theta neighbouring prefix sums) that add up to y. From left to right,
runs are opened as late as possible, and of those that are open the newest are kept: that needs N(y) runs.
What comes next depends on how many runs are open, by how far they still reach: c_1, ..., c_n, n = theta - 1.
The weight of all that may follow is a polynomial of these numbers, a sum of products of b_m(c) = C(c + m - 1,
m): sums over c and over new runs stay in it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from scipy.optimize import linprog

Powers = tuple[int, ...]
Polynomial = dict[Powers, float]
SETTLED = 1e-12


def least_edges(y: tuple[int, ...], theta: int) -> int:
    """Return N(y): runs are opened late, and the newest are kept."""
    ages: list[int] = []  # how far each open run still reaches, the furthest first
    sign, opened = 0, 0
    for value in y:
        if value * sign <= 0:
            ages = []
        sign = (value > 0) - (value < 0)
        ages = ages[: abs(value)]
        opened += abs(value) - len(ages)
        ages = [theta] * (abs(value) - len(ages)) + ages
        ages = [age - 1 for age in ages if age > 1]
    return opened


def times_place(form: Polynomial, place: int) -> Polynomial:
    """Return a polynomial times c_place: c b_m(c) = (m + 1) b_{m+1}(c) - m b_m(c)."""
    found: Polynomial = defaultdict(float)
    for powers, value in form.items():
        m = powers[place]
        found[(*powers[:place], m + 1, *powers[place + 1 :])] += value * (m + 1)
        found[powers] -= value * m
    return found


def times_sum(form: Polynomial) -> Polynomial:
    """Return a polynomial times the sum of all c."""
    found: Polynomial = defaultdict(float)
    for place in range(len(next(iter(form), ()))):
        for powers, value in times_place(form, place).items():
            found[powers] += value
    return found


class Steps:
    """What the next prefix sum does to a polynomial of the open runs.

    Attributes:
        n: theta - 1.
        a: exp(-epsilon).
    """

    def __init__(self, theta: int, epsilon: float) -> None:
        self.n, self.a = theta - 1, math.exp(-epsilon)

    def back(self, form: Polynomial, power: int, *, odd: bool) -> Polynomial:
        """Return the sum over all y of y^power exp(-epsilon new runs) form(runs then open).

        Args:
            form: Of the runs open after it; of its values below 0 the mirror image if `odd`.
            power: Of y.
            odd: Whether the form changes sign with the runs.
        """
        n, a = self.n, self.a
        found: Polynomial = defaultdict(float)
        kept: Polynomial = {(0, *powers[:-1]): value for powers, value in form.items() if not powers[-1]}
        opened: Polynomial = {(0, *powers): value for powers, value in form.items()}
        later = {powers: value for powers, value in form.items() if not any(powers[:-1])}
        flipped = (-1.0 if odd else 1.0) * (-1.0) ** power
        for _ in range(power):
            kept = times_sum(kept)
            opened = times_sum(opened)  # the last place is that of the new runs: y is the sum of all
            later = times_place(later, n - 1)
        for powers, value in kept.items():
            found[(0,) * n] += value * (not any(powers))
            for place in range(n):
                if not any(powers[:place]):
                    found[(*powers[:place], powers[place] + 1, *powers[place + 1 :])] += value
        for powers, value in opened.items():
            found[powers[:-1]] += value * a / (1 - a) ** (powers[-1] + 1)
        for powers, value in later.items():
            found[(0,) * n] += flipped * value * a / (1 - a) ** (powers[-1] + 1)
        return {powers: value for powers, value in found.items() if value}


class Moments:
    """The same steps as matrices: a polynomial is a vector, what it is worth before a place a row."""

    def __init__(self, theta: int, epsilon: float) -> None:
        self.steps = Steps(theta, epsilon)
        plain = self.close([(0,) * (theta - 1)])
        once = self.close(self.reached(plain, 1))
        every = sorted({*plain, *once, *self.close([*self.reached(plain, 2), *self.reached(once, 1)])})
        self.place = {powers: number for number, powers in enumerate(every)}
        self.even, self.odd = (self.matrix(every, 0, odd=odd) for odd in (False, True))
        self.first = self.matrix(plain, 1, odd=False)
        self.second = self.matrix(once, 1, odd=True)
        self.square = self.matrix(plain, 2, odd=False)

    def reached(self, start: Iterable[Powers], power: int) -> list[Powers]:
        """Return the products that a step leads to."""
        return [p for each in start for p in self.steps.back({each: 1.0}, power, odd=False)]

    def close(self, start: Iterable[Powers]) -> set[Powers]:
        """Return some products and all that further steps lead to."""
        found, new = set(start), list(start)
        while new:
            new = [powers for powers in self.reached(new, 0) if powers not in found]
            found |= set(new)
        return found

    def matrix(self, start: Iterable[Powers], power: int, *, odd: bool) -> np.ndarray:
        """Return a step as a matrix, for polynomials of some products."""
        found = np.zeros((len(self.place), len(self.place)))
        for each in start:
            for powers, value in self.steps.back({each: 1.0}, power, odd=odd).items():
                found[self.place[powers], self.place[each]] = value
        return found

    def unit(self) -> np.ndarray:
        """Return the polynomial 1; also what polynomials are worth where no run is open."""
        found = np.zeros(len(self.place))
        found[self.place[min(self.place)]] = 1.0
        return found


def covariances(cuts: int, theta: int, epsilon: float, far: int) -> np.ndarray:
    """Return the covariance of prefix sums i and i + d, for d up to `far`: cuts x (far + 1)."""
    moments = Moments(theta, epsilon)
    after, before = [moments.unit()], [moments.unit()]  # by distance from the end, from the start
    for vectors, step in ((after, moments.even), (before, moments.even.T)):
        while len(vectors) < cuts and not (len(vectors) > 2 and np.allclose(*vectors[-2:], SETTLED, 0)):
            new = step @ vectors[-1]
            vectors.append(new / new[moments.place[min(moments.place)]])
    found = np.zeros((cuts, far + 1))
    known: dict[tuple[int, int], np.ndarray] = {}
    for place in range(cuts):
        rest = cuts - 1 - place
        key = (min(place, len(before) - 1), min(rest, len(after) - 1 + far))
        if key not in known:
            known[key] = np.zeros(far + 1)
            start = before[key[0]]
            follow = after[min(rest, len(after) - 1)]
            known[key][0] = start @ (moments.square @ follow) / (start @ (moments.even @ follow))
            left = start @ moments.second  # of what is odd in the open runs after the place
            growth = start @ moments.even
            for apart in range(1, min(far, rest) + 1):
                follow = after[min(rest - apart, len(after) - 1)]
                known[key][apart] = left @ (moments.first @ follow) / (growth @ (moments.even @ follow))
                left, growth = left @ moments.odd, growth @ moments.even
        found[place] = known[key]
    return found


def range_error(cells: int, theta: int, epsilon: float = 1.0) -> float:
    """Return the mean squared error over all ranges."""
    far = 12 * theta
    spread = covariances(cells - 1, theta, epsilon, min(far, cells - 2))
    each = spread[:, 0].sum()
    whole = each + 2 * spread[:, 1:].sum()
    # over all pairs of k + 1 positions, two of them exact: (k + 1) sum of variances less that of the sum
    return float(((cells + 1) * each - whole) / (cells * (cells + 1) / 2))


def prefix_error(cells: int, theta: int, epsilon: float = 1.0) -> float:
    """Return the mean squared error of the cumulative counts, of which the last is exact."""
    return float(covariances(cells - 1, theta, epsilon, 0)[:, 0].sum() / cells)


def check() -> None:
    """Compare runs with a linear programme, and variances with every point of small lines."""
    random = np.random.default_rng(7)
    for theta, cuts in ((2, 5), (3, 6), (4, 7)):
        runs = [
            [int(start <= at < stop) for at in range(cuts)]
            for start in range(cuts)
            for stop in range(start + 1, min(start + theta, cuts) + 1)
        ]
        edges = np.array(runs).T
        for _ in range(40):
            y = random.integers(-3, 4, cuts)
            best = linprog(np.ones(2 * len(runs)), A_eq=np.hstack([edges, -edges]), b_eq=y).fun
            assert math.isclose(best, least_edges(tuple(y.tolist()), theta), abs_tol=1e-6)
    for theta, cuts, reach in ((2, 3, 12), (3, 3, 12), (4, 4, 6)):
        epsilon, total = 4.0, 0.0
        moments = np.zeros((cuts, cuts))
        for y in itertools.product(range(-reach, reach + 1), repeat=cuts):
            weight = math.exp(-epsilon * least_edges(y, theta))
            total += weight
            moments += weight * np.multiply.outer(y, y)
        found = covariances(cuts, theta, epsilon, cuts - 1)
        for one, apart in itertools.product(range(cuts), repeat=2):
            if one + apart < cuts:
                exact = moments[one, one + apart] / total
                assert abs(found[one, apart] - exact) < 1e-5, (theta, one, apart, found[one, apart], exact)
