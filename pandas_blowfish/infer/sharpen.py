"""Counts of narrow bins from those of soft ones: the softness taken out again. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 20  # more would fit the noise
LEAST = 12  # narrow bins of a column, if it has so many cells
MAX_NARROW = 1 << 15


def sharpened(soft: Floats, hats: Sequence[Floats]) -> Floats:
    """Return counts of narrow bins whose softened counts are near those given.

    Richardson-Lucy steps from even counts: each compares what the narrow bins would look like with the soft
    counts, and gives bins more where these are larger. Counts stay non-negative, their sum is that of `soft`.

    Args:
        soft: Non-negative counts of nodes, one axis a column.
        hats: For each column what a row in each narrow bin counts in each node, nodes x bins, summing to 1.

    Examples:
        >>> even = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
        >>> sharpened(np.array([6.0, 0.0]), [even]).round(3).tolist()
        [6.0, 0.0, 0.0]
    """
    shape = tuple(each.shape[1] for each in hats)
    found = np.full(shape, float(soft.sum()) / max(int(np.prod(shape)), 1))
    if not soft.any():
        return found
    for _ in range(STEPS):
        seen = through(found, hats)
        ratio = np.divide(soft, seen, out=np.zeros_like(soft), where=seen > 1e-12 * float(soft.max()))
        found = found * through(ratio, [each.T for each in hats])
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
    while np.prod(bins) > MAX_NARROW and max(bins) > 2:
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


def through(counts: Floats, maps: Sequence[Floats]) -> Floats:
    """Return counts mapped along each axis, by a matrix each."""
    for each in maps:  # the first axis left is mapped, and comes last
        counts = np.tensordot(counts, each, axes=(0, 1))
    return counts
