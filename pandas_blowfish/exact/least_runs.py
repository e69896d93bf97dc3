"""How many signed runs of neighbours add up to whole numbers; never sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Bools, Ints


def least_runs(values: NDArray[Any], reach: int, begins: Bools) -> NDArray[Any]:
    """Return for each row the least number of signed runs of at most `reach` neighbours that add up to it.

    Args:
        values: Whole numbers, rows x places.
        reach: How many neighbours a run holds at most.
        begins: Whether a line begins at a place: no run goes on into it.

    Examples:
        >>> least_runs(np.array([[1, 1, 1, 0], [1, 0, -2, -1]]), 2, np.array([True, False, False, False]))
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
    if not values.size:
        return np.zeros(len(values), dtype=values.dtype)
    some = values != 0
    first = some.argmax(axis=1)
    width = int(((values.shape[1] - some[:, ::-1].argmax(axis=1)) - first)[some.any(axis=1)].max(initial=0))
    sign, found = np.zeros_like(first), np.zeros(len(values), dtype=values.dtype)
    left = [np.zeros_like(found) for _ in range(reach - 1)]  # open runs that reach 1, 2, ... places further
    rows = np.arange(len(values))
    for place in range(width):  # from the first number that is not 0
        at = np.minimum(first + place, values.shape[1] - 1)
        value = np.where(first + place < values.shape[1], values[rows, at], 0)
        now, wanted = np.sign(value), np.abs(value)
        goes_on = (now == sign) & (now != 0) & ~begins[at]
        kept = []
        for runs in reversed(left):
            kept.append(np.minimum(np.where(goes_on, runs, 0), wanted))
            wanted = wanted - kept[-1]
        found, sign = found + wanted, now
        left = [*kept[::-1][1:], wanted] if left else left
    return found


def line_begins(sizes: Ints) -> Bools:
    """Return whether a line begins at each place, of lines of some sizes one after another."""
    begins = np.zeros(int(sizes.sum()), dtype=bool)
    begins[(np.cumsum(sizes) - sizes)[sizes > 0]] = True
    return begins
