"""Weighted k-means of a synopsis: the same points and weights always have the same clusters.

Never sees rows.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import MissingPackageError
from pandas_blowfish.exact.arrays import Floats

Ints = NDArray[np.int64]
RESTARTS, FEW = 12, 4
LARGE = 1 << 15  # points times clusters beyond which few starts are tried, and one beyond eight times that


def require_clusters() -> None:
    """Refuse where the package that clusters is not installed."""
    try:
        import sklearn.cluster  # noqa: F401
    except ImportError:
        raise MissingPackageError("scikit-learn", 'pip install "pandas-blowfish[kmeans]"') from None


def cluster_points(points: Floats, weights: Floats, k: int) -> tuple[Floats, Ints]:
    """Return k centres, and the nearest of each point.

    Weighted k-means++ with restarts, always the same ones, in one thread: what is measured next may depend on
    the result (`Whole`), so it must be a function of the points and weights alone.

    Args:
        points: Different points, at least k of them.
        weights: How many rows each stands for; where fewer than k are positive, the points furthest from all
            others become centres of nothing.
        k: The number of clusters.

    Examples:
        >>> points = np.array([[0.0], [1.0], [9.0]])
        >>> centres, nearest = cluster_points(points, np.array([1.0, 1.0, 4.0]), 2)
        >>> sorted(centres.ravel().tolist())
        [0.5, 9.0]
    """
    require_clusters()
    from sklearn.cluster import KMeans

    kept = _enough(points, np.flatnonzero(weights > 0), k)
    if len(kept) == k:
        centres = points[kept]
    else:
        work = len(kept) * k
        starts = RESTARTS if work <= LARGE else FEW if work <= 8 * LARGE else 1
        with _one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # points that coincide: fewer clusters than asked for have rows
            model = KMeans(k, n_init=starts, random_state=0, tol=1e-6)
            centres = model.fit(points[kept], sample_weight=weights[kept]).cluster_centers_
    return centres, nearest(points, centres)


def nearest(points: Floats, centres: Floats) -> Ints:
    """Return the number of the nearest centre of each point, the first of equals."""
    found = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), 1 << 16):
        some = points[start : start + (1 << 16)]
        squares = (centres**2).sum(axis=1) - 2 * some @ centres.T
        found[start : start + len(some)] = squares.argmin(axis=1)
    return found


def _enough(points: Floats, kept: Ints, k: int) -> Ints:
    """Return some points, and more until there are k: each the furthest from all before it."""
    if len(kept) >= k:
        return kept
    if not len(kept):
        kept = np.array([((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin()])
    away = np.min([((points - points[each]) ** 2).sum(axis=1) for each in kept.tolist()], axis=0)
    away[kept] = -1.0
    found = kept.tolist()
    while len(found) < k:
        found.append(int(away.argmax()))
        away = np.minimum(away, ((points - points[found[-1]]) ** 2).sum(axis=1))
        away[found[-1]] = -1.0
    return np.array(found, dtype=np.int64)


def _one_thread() -> Any:
    """Return a context in which clustering uses a single thread."""
    return _controller().limit(limits=1)


@lru_cache(maxsize=1)
def _controller() -> Any:
    import sklearn.cluster  # noqa: F401  its libraries must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
