"""Non-negative counts that agree with exact totals: free post-processing, never sees rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shaped:
    """Shaped counts; every positive one is its noisy answer less a shift within `shift`."""

    counts: Floats
    shift: tuple[float, float]


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
        Ensures:  counts >= 0, sums equal the totals, and max(0, noisy - s) for one shift s a total.
        Because:  it is the Euclidean projection on a product of simplices (sort, then the largest rank
                  whose value exceeds the mean excess); post-processing costs no privacy.
        Checked:  tests/infer/test_simplex.py::test_matches_bisection
    """
    counts = np.maximum(noisy, 0.0)
    inside = np.flatnonzero(total_of >= 0)
    if not len(inside):
        return Shaped(counts, (0.0, 0.0))
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
    others = total_of.min() < 0
    return Shaped(
        counts,
        (
            float(min(shifts.min(), 0.0 if others else np.inf)),
            float(max(shifts.max(), 0.0 if others else -np.inf)),
        ),
    )
