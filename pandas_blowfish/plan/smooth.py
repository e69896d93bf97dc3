"""Counts of wide bins dealt out to narrower ones, smoothly, and none of them lost. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PARTS = 2  # narrower bins to a wide one, along each axis
TIMES = 5  # that neighbours are averaged
MAX_NARROW = 1 << 16


def smoothed(counts: Floats, cells: Sequence[int] | None = None) -> Floats:
    """Return counts of bins half as wide along each axis, smooth across wide bins; their sums stay.

    Rows in a wide bin lie rather where its neighbours are full. Each pass averages neighbours, then makes the
    sums of the wide bins right again. Axes of one bin, and more than 2^16 narrow bins, stay as they are; so
    do axes whose bins cannot be cut in two, if `cells` says how many cells there are along each.

    Examples:
        >>> smoothed(np.array([0.0, 4.0, 8.0])).round(2).tolist()
        [0.0, 0.0, 1.37, 2.63, 3.71, 4.29]
    """
    cut = [many > 1 for many in counts.shape]
    if cells is not None:
        cut = [own >= PARTS * many > PARTS for own, many in zip(cells, counts.shape, strict=True)]
    split = tuple(PARTS if each else 1 for each in cut)
    if counts.size * np.prod(split) > MAX_NARROW or not counts.any():
        return counts
    fine = _dealt(counts / np.prod(split), split)
    for _ in range(TIMES):
        for axis, part in enumerate(split):
            if part > 1:
                fine = _averaged(fine, axis)
        sums = fine.reshape([n for pair in zip(counts.shape, split, strict=True) for n in pair])
        sums = sums.sum(axis=tuple(range(1, 2 * len(split), 2)))
        factor = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
        fine = fine * _dealt(factor, split)
    return fine


def narrowed(places: Floats, parts: int) -> Floats:
    """Return the middles of narrower bins from those of wide ones, which are about even.

    Examples:
        >>> narrowed(np.array([2.0, 6.0]), 2).tolist()
        [1.0, 3.0, 5.0, 7.0]
    """
    if parts == 1 or len(places) == 1:
        return places
    edges = np.concatenate(
        [
            [1.5 * places[0] - 0.5 * places[1]],
            (places[1:] + places[:-1]) / 2,
            [1.5 * places[-1] - 0.5 * places[-2]],
        ]
    )
    low, width = edges[:-1], np.diff(edges)
    inside = (np.arange(parts) + 0.5) / parts
    return np.asarray((low[:, None] + width[:, None] * inside[None, :]).ravel())


def _dealt(counts: Floats, split: tuple[int, ...]) -> Floats:
    for axis, part in enumerate(split):
        counts = np.repeat(counts, part, axis=axis)
    return counts


def _averaged(fine: Floats, axis: int) -> Floats:
    """Return each value's mean with its two neighbours along an axis."""
    along = np.moveaxis(fine, axis, 0)
    wide = np.concatenate([along[:1], along, along[-1:]])
    return np.moveaxis((wide[:-2] + along + wide[2:]) / 3, 0, axis)
