"""Counts of narrow bins from those of soft ones: the softness taken out again. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pandas_blowfish.exact.arrays import Floats

PARTS = 2  # narrower bins to a wide one, along each axis
TIMES = 5  # that neighbours are averaged
MAX_NARROW = 1 << 16


def smooth_counts(counts: Floats, cells: Sequence[int] | None = None) -> Floats:
    """Return counts of bins half as wide along each axis, smooth across wide bins; their sums stay.

    Rows in a wide bin lie rather where its neighbours are full. Each pass averages neighbours, then makes the
    sums of the wide bins right again. Axes of one bin, and more than 2^16 narrow bins, stay as they are; so
    do axes whose bins cannot be cut in two, if `cells` states how many cells there are along each.

    Examples:
        >>> smooth_counts(np.array([0.0, 4.0, 8.0])).round(2).tolist()
        [0.0, 0.0, 1.37, 2.63, 3.71, 4.29]
    """
    cut = [many > 1 for many in counts.shape]
    if cells is not None:
        cut = [own >= PARTS * many > PARTS for own, many in zip(cells, counts.shape, strict=True)]
    split = tuple(PARTS if each else 1 for each in cut)
    if counts.size * np.prod(split) > MAX_NARROW or not counts.any():
        return counts
    fine = _repeat(counts / np.prod(split), split)
    for _ in range(TIMES):
        for axis, part in enumerate(split):
            if part > 1:
                fine = _average(fine, axis)
        sums = fine.reshape([n for pair in zip(counts.shape, split, strict=True) for n in pair])
        sums = sums.sum(axis=tuple(range(1, 2 * len(split), 2)))
        factor = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
        fine = fine * _repeat(factor, split)
    return fine


def split_middles(places: Floats, parts: int) -> Floats:
    """Return the middles of narrower bins from those of wide ones, which are about even.

    Examples:
        >>> split_middles(np.array([2.0, 6.0]), 2).tolist()
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


def _repeat(counts: Floats, split: tuple[int, ...]) -> Floats:
    for axis, part in enumerate(split):
        counts = np.repeat(counts, part, axis=axis)
    return counts


def _average(fine: Floats, axis: int) -> Floats:
    """Return each value's mean with its two neighbours along an axis."""
    along = np.moveaxis(fine, axis, 0)
    wide = np.concatenate([along[:1], along, along[-1:]])
    return np.moveaxis((wide[:-2] + along + wide[2:]) / 3, 0, axis)


STEPS = 20  # more would fit the noise
LEAST = 12  # narrow bins of a column, if it has so many cells
MAX_NARROW_SHARPEN = 1 << 15


def sharpen(soft: Floats, hats: Sequence[Floats]) -> Floats:
    """Return counts of narrow bins whose softened counts are near those given.

    Richardson-Lucy steps from even counts: each compares what the narrow bins would look like with the soft
    counts, and gives bins more where these are larger. Counts stay non-negative, their sum is that of `soft`.

    Args:
        soft: Non-negative counts of nodes, one axis per column.
        hats: For each column what a row in each narrow bin counts in each node, nodes x bins, summing to 1.

    Examples:
        >>> even = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
        >>> sharpen(np.array([6.0, 0.0]), [even]).round(3).tolist()
        [6.0, 0.0, 0.0]
    """
    shape = tuple(each.shape[1] for each in hats)
    found = np.full(shape, float(soft.sum()) / max(int(np.prod(shape)), 1))
    if not soft.any():
        return found
    for _ in range(STEPS):
        seen = map_axes(found, hats)
        ratio = np.divide(soft, seen, out=np.zeros_like(soft), where=seen > 1e-12 * float(soft.max()))
        found = found * map_axes(ratio, [each.T for each in hats])
    return found


def narrow_bins(nodes: Sequence[int], cells: Sequence[int]) -> tuple[int, ...]:
    """Return how many narrow bins each column has: three between two nodes, as far as they fit.

    Examples:
        >>> narrow_bins([4, 4], [256, 8])
        (12, 8)
    """
    bins = [
        min(own, max(LEAST, 3 * (many - 1) + 1)) if many > 1 else 1
        for many, own in zip(nodes, cells, strict=True)
    ]
    while np.prod(bins) > MAX_NARROW_SHARPEN and max(bins) > 2:
        widest = bins.index(max(bins))
        bins[widest] -= 1
    return tuple(bins)


def shares(places: Floats, low: float, high: float, nodes: int) -> Floats:
    """Return what a row at each place counts in each of even nodes from low to high, nodes x places.

    Examples:
        >>> shares(np.array([0.0, 1.0, 4.0]), 0.0, 4.0, 2).tolist()
        [[1.0, 0.75, 0.0], [0.0, 0.25, 1.0]]
    """
    if nodes == 1 or high <= low:
        return np.ones((nodes, len(places))) / nodes
    along = np.clip((places - low) / (high - low), 0.0, 1.0) * (nodes - 1)
    return np.asarray(np.maximum(1.0 - np.abs(along[None, :] - np.arange(nodes)[:, None]), 0.0))


def map_axes(counts: Floats, maps: Sequence[Floats]) -> Floats:
    """Return counts mapped along each axis, by a matrix each."""
    for each in maps:  # the first axis left is mapped, and comes last
        counts = np.tensordot(counts, each, axes=(0, 1))
    return counts
