"""Cumulative counts that never fall, start at 0 and end where they must: free, never sees rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints


def monotone(
    positions: Floats, starts: Ints, exact: NDArray[np.bool_], weights: Floats | None = None
) -> Floats:
    """Return the nearest cumulative counts of the right shape, segment by segment.

    Args:
        positions: Cumulative counts, lines x (atoms + 1).
        starts: The first atom of each segment.
        exact: Whether a segment's total is exact, lines x segments.
        weights: How much each position counts, one per position, or lines x positions; None for the same.

    Examples:
        >>> monotone(np.array([[0.0, 3.0, 1.0, 4.0]]), np.array([0]), np.array([[True]])).tolist()
        [[0.0, 2.0, 2.0, 4.0]]

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  counts >= 0 in every atom, and the exact total in every segment that has one.
        Because:  cut at what is known (0 below, the exact total above) the isotonic fit is the nearest
                  among all that keep these bounds; post-processing costs no privacy.
        Checked:  tests/plan/shape/test_monotone.py::test_matches_quadratic_programme
    """
    from scipy.optimize import isotonic_regression

    ends = np.append(starts[1:], positions.shape[1] - 1)
    out = np.zeros_like(positions)
    wholes = positions[:, ends] - positions[:, starts]
    tops = np.where(exact, wholes, np.inf)
    fits = {}
    weights = None if weights is None else np.broadcast_to(weights, positions.shape)
    for number in np.flatnonzero(ends - starts > 1):
        start, end = int(starts[number]), int(ends[number])
        for row in range(len(positions)):
            fixed = bool(exact[row, number])
            inside = positions[row, start + 1 : end + 1 - fixed] - positions[row, start]
            own = None if weights is None else weights[row][start + 1 : end + 1 - fixed]
            fit = np.clip(isotonic_regression(inside, weights=own).x, 0.0, max(tops[row, number], 0.0))
            out[row, start + 1 : end + 1 - fixed] = fit
            fits[row, number] = fit[-1] if len(fit) else 0.0
    last = np.where(exact, np.maximum(tops, 0.0), np.maximum(wholes, 0.0))
    for (row, number), value in fits.items():
        if not exact[row, number]:
            last[row, number] = value
    out[:, ends] = last
    before = np.cumsum(last, axis=1) - last
    out[:, 1:] += np.repeat(before, ends - starts, axis=1)
    return out
