"""Cumulative counts that never fall, start at 0 and end where they must: free, never sees rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


def monotone(
    positions: Floats, starts: Ints, exact: NDArray[np.bool_], weights: Floats | None = None
) -> Floats:
    """Return the nearest cumulative counts of the right shape, segment by segment.

    Args:
        positions: Cumulative counts, lines x (atoms + 1).
        starts: The first atom of each segment.
        exact: Whether a segment's total is exact, lines x segments.
        weights: How much each position counts, one a position; None for alike.

    Examples:
        >>> monotone(np.array([[0.0, 3.0, 1.0, 4.0]]), np.array([0]), np.array([[True]])).tolist()
        [[0.0, 2.0, 2.0, 4.0]]

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  counts >= 0 in every atom, and the exact total in every segment that has one.
        Because:  cut at what is known (0 below, the exact total above) the isotonic fit is the nearest
                  among all that keep these bounds; post-processing costs no privacy.
        Checked:  tests/infer/test_monotone.py::test_matches_quadratic_programme
    """
    from scipy.optimize import isotonic_regression

    ends = np.append(starts[1:], positions.shape[1] - 1)
    out = np.empty_like(positions)
    out[:, 0] = 0.0
    single = np.flatnonzero(ends - starts == 1)
    steps = np.zeros(positions.shape)
    whole = positions[:, starts[single] + 1] - positions[:, starts[single]]
    steps[:, starts[single] + 1] = np.where(exact[:, single], whole, np.maximum(whole, 0.0))
    for number in np.flatnonzero(ends - starts > 1):
        start, end = int(starts[number]), int(ends[number])
        for row in range(len(positions)):
            inside = positions[row, start + 1 : end + 1] - positions[row, start]
            fixed = bool(exact[row, number])
            kept = slice(0, len(inside) - fixed)
            own = None if weights is None else weights[start + 1 : end + 1][kept]
            fit = isotonic_regression(inside[kept], weights=own).x
            top = max(float(inside[-1]), 0.0) if fixed else np.inf
            fit = np.append(np.clip(fit, 0.0, top), [top] * fixed)
            steps[row, start + 1 : end + 1] = np.diff(fit, prepend=0.0)
    out[:, 1:] = np.cumsum(steps[:, 1:], axis=1)
    return out
