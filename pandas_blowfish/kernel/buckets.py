"""Buckets of neighbouring sums, chosen with noise: sees counts and randomness."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import ScaleError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.kernel.noise import check_scale, discrete_laplace
from pandas_blowfish.plan.line.dawa import CONTINUES, median_distances


def draw_buckets(dawa: Any, exact: Ints) -> Ints:
    """Return the noisy totals of buckets chosen with noise, then the exact totals as they are.

    Args:
        dawa: What is measured, with which scales.
        exact: The sums of the tree on every line, then exact totals.
    """
    lines, rows = dawa.line.groups, len(dawa.rows)
    values = exact.copy()
    for number in range(lines):
        part = exact[number * rows : (number + 1) * rows]
        begins = partition(part, dawa.partition_scale, round(dawa.bucket_scale))
        totals = np.add.reduceat(part, begins) if rows else part
        line = np.full(rows, CONTINUES, dtype=np.int64)
        line[begins] = totals + discrete_laplace(dawa.bucket_scale, len(begins))
        values[number * rows : (number + 1) * rows] = line
    return values


def check_buckets(dawa: Any) -> None:
    """Refuse scales at which the costs of a partition could leave 64 bits, before anything is charged."""
    check_scale(dawa.partition_scale)
    most = 2**62 // (64 * max(len(dawa.rows), 1))
    if dawa.partition_scale + dawa.bucket_scale > most:
        raise ScaleError(most)


def partition(sums: Ints, scale: Fraction, each: int) -> Ints:
    """Return where the buckets of a nearly cheapest partition begin.

    Buckets are runs of 1, 2, 4, ... sums, each starting at a multiple of its length. A bucket costs the L1
    distance of its sums from their median, plus `each` for its total's own noise.

    Args:
        sums: The exact sums.
        scale: The noise scale of every bucket's cost.
        each: What a bucket costs besides.

    Proof note:
        Requires: two neighbouring tables' sums differ by at most D in L1.
        Ensures:  the odds of any partition change by at most exp(2 D / scale).
        Because:  see `Dawa`; the L1 distance from a median changes by no more than the sums do, and of
                  two partitions of equal cost the one with the larger bucket is always taken.
        Checked:  tests/kernel/test_buckets.py::test_partition_loss_by_enumeration
    """
    size = len(sums)
    if size == 0:
        return np.zeros(0, dtype=np.int64)
    best = each + discrete_laplace(scale, size)
    begins = np.ones(size, dtype=bool)
    width = 2
    while width // 2 < size:
        nodes = -(-size // width)
        cost = median_distances(sums, width) + each + discrete_laplace(scale, nodes)
        padded = np.append(best, np.zeros(2 * nodes - len(best), dtype=np.int64))
        apart = padded[0::2] + padded[1::2]
        merged = cost <= apart
        whole = size % width if size % width else width  # a last node of one half alone is that half
        if whole <= width // 2:
            merged[-1], apart[-1] = False, padded[2 * nodes - 2]
        begins &= ~np.repeat(merged, width)[:size] | (np.arange(size) % width == 0)
        best = np.where(merged, cost, apart)
        width *= 2
    return np.flatnonzero(begins)
