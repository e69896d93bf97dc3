"""DAWA as Haney et al. (VLDB 2015) use it: sound, and as its public code has it, which is not; sees counts.

Neighbours are bounded (one row moves along an edge, the number of rows is public): plain differential
privacy is the policy `full`, where a histogram changes by 2. That is the paper's epsilon / 2 with unbounded
neighbours; that the row count is public is a gift to the peers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from ranges import FULL, policy_of

from pandas_blowfish.kernel.buckets import draw_buckets, partition
from pandas_blowfish.kernel.measure import add_noise
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.line.dawa import PARTITION_SHARE, Dawa
from pandas_blowfish.plan.plan import Plan

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
CHUNK = 1 << 21  # values of windows that are looked at together


def dawa(values: Ints, change: int, epsilon: Fraction, *, nested: bool = False) -> Floats:
    """Return DAWA's estimates of values that neighbours change by at most `change` in L1.

    A quarter of epsilon chooses the buckets, the rest measures their totals: with one noise each, or
    (`nested`, counts of disjoint cells only) as a hierarchy of buckets with least squares, in place of the
    published greedy one. A total is spread evenly over its bucket. The buckets are chosen as the library
    does, with noise on the cost of every bucket: see `PublicCode` for what is lost otherwise.
    """
    scale = Fraction(change) / (epsilon * (1 - PARTITION_SHARE))
    begins = partition(values, 2 * Fraction(change) / (epsilon * PARTITION_SHARE), round(scale))
    return measured(values, begins, change, epsilon, nested=nested)


def measured(values: Ints, begins: Ints, change: int, epsilon: Fraction, *, nested: bool) -> Floats:
    """Return estimates of values from the noisy totals of buckets; see `dawa`."""
    rest = epsilon * (1 - PARTITION_SHARE)
    totals = np.add.reduceat(values, begins)
    lengths = np.diff(np.append(begins, len(values)))
    scale = Fraction(change) / rest
    noisy = _nested(totals, rest) if nested else totals + discrete_laplace(scale, len(totals))
    return np.repeat(noisy / lengths, lengths)


@dataclass(frozen=True, eq=False)
class PublicCode:
    """DAWA's buckets as public code chooses them: unsound, shown for comparison alone.

    Rewritten from what a stored copy of that code does (its repository is not named, and whether the paper's
    authors ran it is not known). Buckets are runs of 1, 2, 4, ... values that begin anywhere. Costs are L1
    distances from the mean. There is no noise on the cost of a single value, what is negative after noise is
    cut to 0, and the noise is half of what the usual argument needs. So every bucket that holds a value
    counts, not one: see `singles_loss`.

    Attributes:
        values: The exact values.
        costs: For each width the cost of the run that begins at each place.
    """

    values: Ints
    costs: tuple[Floats, ...]

    @classmethod
    def of(cls, values: Ints) -> PublicCode:
        """Return the costs of all buckets of these values."""
        costs, width = [np.zeros(len(values))], 2
        while width <= len(values):
            views, step = sliding_window_view(values.astype(float), width), max(1, CHUNK // width)
            parts = [views[start : start + step] for start in range(0, len(views), step)]
            costs.append(
                np.concatenate([np.abs(each - each.mean(axis=1)[:, None]).sum(axis=1) for each in parts])
            )
            width *= 2
        return cls(values, tuple(costs))

    def scale(self, width: int) -> float:
        """Return the noise scale of the cost of a bucket, times epsilon of this step over the change."""
        return 2 - 1 / width - 1 / len(self.values) if width > 1 else 0.0

    @staticmethod
    def singles_loss(cells: int) -> float:
        """Return what "every cell is a bucket" loses between no rows and one, in epsilons of this step.

        It is chosen when no bucket is cheaper than its cells one by one, which are independent events; each
        bucket that holds the row's cell (in the middle) is likelier to be dear, by (its cost) / (its scale).
        """
        middle, total, width = cells // 2, 0.0, 2
        while width <= cells:
            holding = min(middle, cells - width) - max(0, middle - width + 1) + 1
            total += holding * 2 * (1 - 1 / width) / (2 - 1 / width - 1 / cells)
            width *= 2
        return total

    def estimates(self, change: int, epsilon: Fraction, *, nested: bool = False) -> Floats:
        """Return estimates of the values that neighbours change by at most `change` in L1."""
        first = change / float(epsilon * PARTITION_SHARE)
        each = change / float(epsilon * (1 - PARTITION_SHARE))
        noisy = [self.costs[0] + each]
        for level, cost in enumerate(self.costs[1:], 1):
            fine = discrete_laplace(Fraction(round(1000 * first * self.scale(1 << level))), len(cost)) / 1000
            noisy.append(np.maximum(cost + fine, 0) + each)
        begins = cheapest([cost.tolist() for cost in noisy])
        return measured(self.values, begins, change, epsilon, nested=nested)


def cheapest(costs: list[list[float]]) -> Ints:
    """Return where the buckets of the cheapest partition begin: costs are those of 1, 2, 4, ... values."""
    size = len(costs[0])
    best, came = [0.0], [0]
    for end in range(1, size + 1):
        least, width, chosen = best[end - 1] + costs[0][end - 1], 1, 1
        for cost in costs[1:]:
            width *= 2
            if width > end:
                break
            found = best[end - width] + cost[end - width]
            if found <= least:
                least, chosen = found, width
        best.append(least)
        came.append(chosen)
    begins, end = [], size
    while end:
        end -= came[end]
        begins.append(end)
    return np.array(begins[::-1], dtype=np.int64)


def _nested(totals: Ints, epsilon: Fraction) -> Floats:
    """Return estimates of disjoint counts from a hierarchy, under `full` with a public row count."""
    size = max(4, 1 << (len(totals) - 1).bit_length())
    plan = hierarchy(size, epsilon)
    counts = np.append(totals, np.zeros(size - len(totals), dtype=np.int64))
    found = answers(plan, counts, post=False)
    return np.diff(found, prepend=0.0)[: len(totals)]


@lru_cache(maxsize=64)
def hierarchy(size: int, epsilon: Fraction) -> Plan:
    """Return prefix counts from the hierarchy that is best for random ranges under `full`."""
    plan = policy_of(size, FULL).plan.cumhist("x", epsilon=epsilon, strategy="hierarchical")
    return reread(plan, "hierarchical", 0, _best_form(size))


@lru_cache(maxsize=16)
def _best_form(size: int) -> dict[str, object]:
    draw, starts = np.random.default_rng(size), np.arange(size)
    every = np.column_stack([starts, draw.integers(starts, size)])  # so that all cells are told apart
    ends = np.concatenate([every, np.sort(draw.integers(0, size, (2 * size, 2)), axis=1)])
    bounds = [tuple(pair) for pair in ends.tolist()]
    plan = policy_of(size, FULL).plan.range("x", bounds, epsilon=1, strategy="hierarchical")
    return plan.measurement.form


def answers(plan: Plan, counts: Ints, *, post: bool) -> Floats:
    """Return the answers of a plan on the cells of one column, with fresh noise."""
    measurement = plan.measurement
    atom = measurement.tally.marks[0]
    inside = atom >= 0
    exact = measurement.apply(np.bincount(atom[inside], counts[inside]).astype(np.int64))
    values = (
        draw_buckets(measurement, exact)
        if isinstance(measurement, Dawa)
        else add_noise(plan.measurement, exact, plan.cost)
    )
    return measurement.solve(values, post=post).answers


def hilbert(side: int) -> Ints:
    """Return the cells of a square grid in the order of a Hilbert curve around it, numbered in C order."""
    order = max(1, (side - 1).bit_length())
    place = np.arange(4**order)
    x, y = np.zeros_like(place), np.zeros_like(place)
    rest = place.copy()
    for level in range(order):
        size = 1 << level
        right = (rest // 2) & 1
        up = (rest ^ right) & 1
        turned, flipped = up == 0, (up == 0) & (right == 1)
        x, y = np.where(flipped, size - 1 - x, x), np.where(flipped, size - 1 - y, y)
        x, y = np.where(turned, y, x), np.where(turned, x, y)
        x, y, rest = x + size * right, y + size * up, rest // 4
    inside = (x < side) & (y < side)
    return np.asarray(x[inside] * side + y[inside])
