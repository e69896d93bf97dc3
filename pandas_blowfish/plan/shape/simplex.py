"""Counts of groups that add up: to exact numbers of rows, or to their own sums. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints


@dataclass(frozen=True)
class Shaped:
    """Shaped counts."""

    counts: Floats


def shape(noisy: Floats, total_of: NDArray[np.int64], totals: Floats) -> Shaped:
    """Return the nearest non-negative counts whose sums are the exact totals.

    Args:
        noisy: The measured counts.
        total_of: For each count the number of its exact total, -1 for none.
        totals: The exact totals.

    Examples:
        >>> shape(np.array([5.0, -1.0, 3.0]), np.array([0, 0, 0]), np.array([6.0])).counts.tolist()
        [4.0, 0.0, 2.0]

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  counts >= 0, sums equal the totals, and max(0, noisy - s) for one shift s per total.
        Because:  it is the Euclidean projection on a product of simplices (sort, then the largest rank
                  whose value exceeds the mean excess); post-processing costs no privacy.
        Checked:  tests/plan/shape/test_simplex_simplex.py::test_matches_bisection
    """
    counts = np.maximum(noisy, 0.0)
    inside = np.flatnonzero(total_of >= 0)
    if not len(inside):
        return Shaped(counts)
    order = inside[np.lexsort((-noisy[inside], total_of[inside]))]
    group, value = total_of[order], noisy[order]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    sizes = np.diff(np.append(first, len(group)))
    start = np.repeat(first, sizes)
    rank = np.arange(len(group)) - start + 1
    # sums restart in each group, so that a large group costs a small one no digits
    running = np.concatenate([np.cumsum(part) for part in np.split(value, first[1:])])
    excess = (running - totals[group]) / rank
    last = np.maximum.reduceat(np.where(value > excess, rank, 1), first) - 1
    shifts = excess[first + last]
    counts[order] = np.maximum(value - np.repeat(shifts, sizes), 0.0)
    return Shaped(counts)


Mask = NDArray[np.bool_]


def exact_totals(alone: Mask, total_of: Ints, known: Ints) -> tuple[Ints, Floats]:
    """Return for each group the number of the exact total that it is in, -1 for none, and the totals.

    Args:
        alone: Groups whose own number of rows is exact.
        total_of: Which total of several groups each is in, -1 for none.
        known: The exact numbers: of groups, then of totals.

    Examples:
        >>> exact_totals(np.array([True, False, False]), np.array([-1, 0, 0]), np.array([5, 9]))[0].tolist()
        [0, 1, 1]
    """
    many = int(alone.sum())
    labels = np.where(alone, np.cumsum(alone) - 1, np.where(total_of >= 0, total_of + many, -1))
    return labels, np.maximum(known, 0).astype(np.float64)


def pin(counts: Floats, total_of: Ints, totals: Floats, spread: Floats | None = None) -> Floats:
    """Return counts moved so that they add up to totals, by as much as they vary.

    Examples:
        >>> pin(np.array([1.0, 2.0, 7.0]), np.array([0, 0, -1]), np.array([5.0])).tolist()
        [2.0, 3.0, 7.0]
    """
    inside = total_of >= 0
    if not inside.any():
        return counts
    wide = np.ones(len(counts)) if spread is None else np.maximum(spread, 1e-300)
    sums, room = (np.bincount(total_of[inside], each[inside], len(totals)) for each in (counts, wide))
    gaps = (totals - sums)[total_of[inside]]
    moved = counts.copy()
    moved[inside] += gaps * wide[inside] / room[total_of[inside]]
    return moved


def project(counts: Floats, total_of: Ints, noisy: Mask, lots: int) -> Floats:
    """Return the nearest non-negative counts with the same sums.

    Where a sum is not exact the noisy one is kept: cutting off negative counts alone would leave all that
    noise added, and take away nothing that it took.

    Args:
        counts: Groups one after another, as many each, already adding up to what is exact.
        total_of: The exact total that each is in, -1 for none.
        noisy: Which of them are noisy.
        lots: How many groups there are.

    Examples:
        >>> project(np.array([4.0, -2.0, 1.0]), np.full(3, -1), np.ones(3, dtype=bool), 1).tolist()
        [3.0, 0.0, 0.0]
    """
    group = np.repeat(np.arange(lots), len(counts) // lots)
    first = int(total_of.max(initial=-1)) + 1
    label = np.where(total_of >= 0, total_of, np.where(noisy, first + group, -1))
    inside = label >= 0
    totals = np.bincount(label[inside], counts[inside], first + lots)
    return shape(counts, label, np.maximum(totals, 0.0)).counts
