"""Centres and sizes of clusters from a noisy synopsis: free post-processing, never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.solved import Solved, without_dust


@dataclass(frozen=True, eq=False)
class Clustered(Solved):
    """Sizes of clusters, largest first in each group, with their centres and standard errors.

    Attributes:
        centres: In the columns' own units, one row per cluster.
        std: Of the sizes, if the same bins were clustered together.
    """

    centres: Floats = None  # type: ignore[assignment]
    std: Floats = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class GroupClusters:
    """One group's clusters before they are put in order, in distances."""

    centres: Floats
    sizes: Floats
    variances: Floats


def order_clusters(space: Space, lots: list[GroupClusters]) -> Clustered:
    """Return the groups' clusters one after another, the largest of each group first."""
    centres, sizes, spread = [], [], []
    longest = np.array([places[-1] for places in space.places])
    for lot in lots:
        order = np.argsort(-lot.sizes, kind="stable")
        inside = np.clip(lot.centres[order], 0.0, longest)  # middles of narrow bins may lie beyond all values
        centres.append(without_dust(space.original(inside), 1e-12))
        sizes.append(without_dust(lot.sizes[order]))
        spread.append(np.sqrt(np.maximum(lot.variances[order], 0.0)))
    listed = np.concatenate(sizes)
    return Clustered(listed, listed, None, np.concatenate(centres), np.concatenate(spread))


def shape_sizes(sizes: Floats, post: bool | str) -> Floats:
    """Return sizes as they are, or the nearest ones that are not negative and add up to as much."""
    if not post:
        return sizes
    return shape(sizes, np.zeros(len(sizes), dtype=np.int64), np.maximum([sizes.sum()], 0.0)).counts


def sum_clusters(of: Ints, counts: NDArray[Any], k: int) -> Floats:
    """Return the sums of counts by cluster."""
    return np.asarray(np.bincount(of, counts, k), dtype=np.float64)
