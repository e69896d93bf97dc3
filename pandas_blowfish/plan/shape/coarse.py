"""Counts that are not negative while their coarse sums stay where they were measured. Never sees rows."""

from __future__ import annotations

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.shape.simplex import shape

BLOCK = 16  # counts whose sums are left to the projection
LEVELS = 10  # of halves of halves that are looked at
APART = 1.0  # standard errors that the projection may move the split of a sum from where it was measured


def shape_sums(noisy: Floats, total_of: Ints, totals: Floats, variance: float) -> Floats:
    """Return non-negative counts with exact totals whose coarse sums are near the measured ones.

    The nearest non-negative counts alone would do harm: cutting off negative noise adds up over many small
    counts, and all large counts pay for it. So the cells of a total are halved, in index order, and halved
    again. At each step the projection says how the sum is split; where that is more than `APART`
    standard errors from the split that was measured, it is moved to there.

    Args:
        noisy: The measured counts, with noise of one variance each.
        total_of: For each count the number of its exact total, -1 for none.
        totals: The exact totals.
        variance: Of the noise.

    Examples:
        >>> noisy, one = np.array([5.0, -1.0, 3.0]), np.zeros(3, dtype=np.int64)
        >>> shape_sums(noisy, one, np.array([6.0]), 2.0).tolist()
        [4.0, 0.0, 2.0]

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  counts >= 0, and sums equal the totals.
        Because:  a sum is split into two numbers of at least 0 that add up to it, down to blocks, and
                  `shape` returns non-negative counts with the sum of their block; post-processing.
        Checked:  tests/plan/shape/test_coarse.py::test_totals_hold_and_nothing_is_negative
    """
    label = np.where(total_of >= 0, total_of, len(totals))
    order = np.argsort(label, kind="stable")
    value, (held, sizes) = noisy[order], np.unique(label, return_counts=True)
    stop = np.cumsum(sizes)
    start, running = stop - sizes, np.append(0.0, np.cumsum(value))
    if len(held) and held[-1] == len(totals):  # no total is known: the positive counts', if that is near
        rest, room = value[start[-1] :], APART * np.sqrt(variance * sizes[-1])
        near = np.clip(np.maximum(rest, 0.0).sum(), rest.sum() - room, rest.sum() + room)
        totals = np.append(totals, max(float(near), 0.0))
    total = np.maximum(totals[held], 0.0).astype(np.float64)
    for _ in range(LEVELS):
        wide = stop - start > BLOCK
        if not wide.any():
            break
        fit = np.append(0.0, np.cumsum(_fit(value, start, stop, total)))
        middle = (start + stop) // 2
        share = (middle - start) / (stop - start)
        left = running[middle] - running[start]
        left = left + (total - running[stop] + running[start]) * share  # as measured, less what is too much
        room = APART * np.sqrt(variance * share * (stop - middle))
        split = np.clip(fit[middle] - fit[start], left - room, left + room)
        split = np.clip(split, 0.0, total)
        start, stop, total = (
            np.concatenate([each[~wide], one[wide], two[wide]])
            for each, one, two in (
                (start, start, middle),
                (stop, middle, stop),
                (total, split, total - split),
            )
        )
        by_place = np.argsort(start)
        start, stop, total = start[by_place], stop[by_place], total[by_place]
    found = np.empty(len(noisy))
    found[order] = _fit(value, start, stop, total)
    return found


def _fit(value: Floats, start: Ints, stop: Ints, total: Floats) -> Floats:
    """Return the nearest non-negative counts of runs that add up to their totals."""
    return shape(value, np.repeat(np.arange(len(start)), stop - start), total).counts
