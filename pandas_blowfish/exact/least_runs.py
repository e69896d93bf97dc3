"""How many signed runs of neighbours add up to whole numbers; never sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Bools


def least_runs(values: NDArray[Any], begins: Bools, reach: int) -> NDArray[Any]:
    """Return for each row the least number of signed runs of at most `reach` neighbours that add up to it.

    Args:
        values: Whole numbers, rows x places.
        begins: Where something begins that no run goes on into from before: rows x places, or places.
        reach: How many neighbours a run holds at most.

    Examples:
        >>> least_runs(np.array([[1, 1, 1, 0], [1, 0, -2, -1]]), np.array([True, False, False, False]), 2)
        array([2, 3])

    Proof note:
        Requires: reach >= 1.
        Ensures:  N, a norm on whole numbers: N(v) = N(-v), N(v + w) <= N(v) + N(w), N(v) = 0 just for v = 0.
        Because:  a least number of signed summands is one. Runs of both signs at one place can be swapped
                  for runs of one sign or none, so runs of the sign of each place suffice; opening as few as
                  possible at a place, and keeping those that reach furthest, leaves runs open that can do
                  whatever others could, place by place.
        Checked:  tests/exact/test_least_runs.py::test_agrees_with_linear_programmes
    """
    found = np.zeros(len(values), dtype=values.dtype)
    sign, begins = found, np.broadcast_to(begins, values.shape)
    left = [found] * (reach - 1)  # open runs that reach 1, 2, ... places further
    for place in range(values.shape[1]):
        value = values[:, place]
        now, wanted = np.sign(value), np.abs(value)
        goes_on = (now == sign) & ~begins[:, place]
        kept = []
        for runs in reversed(left):
            kept.append(np.minimum(np.where(goes_on, runs, 0), wanted))
            wanted = wanted - kept[-1]
        found, sign = found + wanted, now
        left = [*kept[::-1][1:], wanted] if left else left
    return found
