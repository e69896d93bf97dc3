"""Rows of numbers that no other row reaches everywhere: a Pareto front. Never sees rows of a table.

Differences that come with all shorter ones are kept as their front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Bools, Ints

MAX_LISTED = 4 * 10**6  # combinations of all axes but one that may be gone through
MAX_FRONT = 500_000
MAX_PROFILE = 10**7  # entries of a profile
MAX_COMPARED = 4 * 10**6  # numbers of all pairs of rows that are compared at once


def is_maximal(rows: NDArray[Any]) -> Bools:
    """Return which rows no other row reaches everywhere; of equal ones the first.

    Examples:
        >>> is_maximal(np.array([[0, 3], [1, 1], [2, 0], [1, 0], [0, 3]])).tolist()
        [True, True, True, False, False]
    """
    if len(rows) * rows.size <= MAX_COMPARED:
        below = np.asarray((rows[:, None, :] <= rows[None, :, :]).all(axis=2))
        return np.asarray(~(below & (~below.T | np.tri(len(rows), k=-1, dtype=bool))).any(axis=1))
    numbers = rows.astype(np.int64) if rows.dtype == bool else rows
    keys = [*-numbers.T[::-1], -numbers.sum(axis=1)]  # what is reached by a row comes after it
    rest, kept = np.lexsort(keys), np.zeros(len(rows), dtype=bool)
    while len(rest):
        kept[rest[0]] = True
        rest = rest[(numbers[rest] > numbers[rest[0]]).any(axis=1)]
    return kept


def maximal(rows: Ints) -> Ints:
    """Return the rows of non-negative numbers that no other row reaches everywhere, each once.

    Examples:
        >>> maximal(np.array([[0, 3], [1, 1], [2, 0], [1, 0], [0, 3]])).tolist()
        [[0, 3], [1, 1], [2, 0]]
    """
    if len(rows) < 2:
        return rows
    sizes = rows.max(axis=0) + 1
    axis = int(np.argmax(sizes))
    if math.prod(np.delete(sizes, axis).tolist()) <= min(len(rows) ** 2, MAX_PROFILE):
        found = _peaks(profile(rows, axis), axis)
    else:
        found = rows[is_maximal(rows)]
    return np.asarray(found[np.lexsort(found.T[::-1])])


def profile(rows: Ints, axis: int, reach: Sequence[int] | None = None) -> Ints:
    """Return the most one axis has in a row that reaches each combination of the others; -1 for none.

    Args:
        rows: Non-negative numbers, one column per axis.
        axis: The one whose numbers are returned: it has but one entry in the result.
        reach: The largest number of each axis; those of the rows, where it is left out.
    """
    sizes = (rows.max(axis=0) if reach is None else np.asarray(reach)) + 1
    sizes[axis] = 1
    most, place = np.full(sizes, -1, dtype=np.int64), rows.copy()
    place[:, axis] = 0
    np.maximum.at(most, tuple(place.T), rows[:, axis])
    return below(most)


def below(most: Ints) -> Ints:
    """Return for each place the largest entry of all places that lie nowhere before it."""
    for axis, size in enumerate(most.shape):
        if size > 1:
            most = np.flip(np.maximum.accumulate(np.flip(most, axis), axis=axis), axis)
    return most


def _peaks(most: Ints, axis: int) -> Ints:
    """Return the rows of a profile that no other one reaches everywhere."""
    kept = most >= 0
    for other, size in enumerate(most.shape):
        ahead, here = ([slice(None)] * most.ndim for _ in range(2))
        ahead[other], here[other] = slice(1, size), slice(0, size - 1)
        kept[tuple(here)] &= most[tuple(ahead)] < most[tuple(here)]
    rows = np.argwhere(kept)
    rows[:, axis] = most[kept]
    return np.asarray(rows, dtype=np.int64)


def metric_front(
    metric: str, limit: int, steps: Sequence[int], starts: Sequence[int], reach: Sequence[int], name: str
) -> Ints:
    """Return offsets of cells within a distance, the longest ones among them.

    Args:
        metric: How the distances of axes make one: l1, l2 or linf.
        limit: The largest distance.
        steps: What one cell more of each axis adds.
        starts: The least distance of neighbouring cells; 0 where it is never attained, being that of
            half-open cells.
        reach: How far each axis goes alone.
        name: What to call them in errors.

    Proof note:
        Requires: one axis alone is within the limit up to its reach or less.
        Ensures:  an offset is nowhere longer than some row exactly when it is within the limit or moves
                  one axis alone, by at most its reach.
        Because:  distances grow along every axis, and with one that is attained so are all shorter
                  ones. So the offsets within the limit are, for each combination of some axes that is,
                  those of one more axis up to a largest one, found by bisection in whole numbers.
        Checked:  tests/exact/test_pareto.py::test_metric_front_matches_every_offset
    """
    moving = sorted((axis for axis, most in enumerate(reach) if most), key=lambda axis: reach[axis])
    alone = np.diag(np.array(reach, dtype=np.int64))
    if len(moving) < 2:
        return alone
    power = 2 if metric == "l2" else 1
    widest = max(
        limit, *(step * most + start for step, most, start in zip(steps, reach, starts, strict=True))
    )
    kind: Any = np.int64 if widest**power * len(steps) < 2**62 else object
    left, whole = np.array([limit**power], dtype=kind), np.ones(1, dtype=bool)
    rows = np.zeros((1, len(reach)), dtype=np.int64)
    for axis in moving:
        far = np.maximum(np.arange(reach[axis] + 1) - 1, 0).astype(kind) * steps[axis]
        far[1:] += starts[axis]
        far, reached = far**power, starts[axis] > 0
        many = np.where(
            whole & reached, np.searchsorted(far, left, "right"), np.searchsorted(far, left, "left")
        )
        many = np.maximum(many, 1)  # not to move this axis is always within
        if metric == "linf":  # each axis by itself
            rows[:, axis] = many - 1
            continue
        if axis == moving[-1]:
            rows[:, axis] = many - 1
            break
        total = int(many.sum())
        if total > MAX_LISTED:
            raise DomainTooLargeError(name, total, MAX_LISTED, fix="declare wider steps.")
        from_row = np.repeat(np.arange(len(rows)), many)
        moved = np.arange(total) - np.repeat(np.cumsum(many) - many, many)
        rows, left = rows[from_row], left[from_row] - far[moved]
        whole = whole[from_row] & (reached | (moved == 0))
        rows[:, axis] = moved
    return np.vstack([rows, alone])
