"""Weighted k-means of a synopsis: the same points and weights always have the same clusters.

Never sees rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import MissingPackageError
from pandas_blowfish.exact.arrays import Floats

Ints = NDArray[np.int64]
RESTARTS, FEW = 12, 4
LARGE = 1 << 15  # points times clusters beyond which few starts are tried, and one beyond eight times that
GOLDEN = (5**0.5 - 1) / 2
STEPS, TOLERANCE = 300, 1e-6  # of one start: at most so many, until centres move by less of the variance


def find_clusterer() -> str:
    """Return which k-means clusters synopses here: that of scikit-learn where it is installed."""
    try:
        import sklearn.cluster  # noqa: F401
    except ImportError:
        return SCIPY
    return SKLEARN


def clusterer_form(clusterer: str) -> dict[str, str]:
    """Return what a stored answer states of the k-means that decided what was measured."""
    return {} if clusterer == SKLEARN else {"clusterer": clusterer}


def cluster_points(
    points: Floats, weights: Floats, k: int, clusterer: str | None = None
) -> tuple[Floats, Ints]:
    """Return k centres, and the nearest of each point.

    Weighted k-means++ with restarts, always the same ones, in one thread: what is measured next may depend on
    the result (`Whole`), so it must be a function of the points, the weights and the clusterer alone.

    Args:
        points: Different points, at least k of them.
        weights: How many rows each stands for; where fewer than k are positive, the points furthest from all
            others become centres of nothing.
        k: The number of clusters.
        clusterer: "sklearn" or "scipy"; None for `find_clusterer`.

    Examples:
        >>> points = np.array([[0.0], [1.0], [9.0]])
        >>> centres, nearest = cluster_points(points, np.array([1.0, 1.0, 4.0]), 2)
        >>> sorted(centres.ravel().tolist())
        [0.5, 9.0]
    """
    kept = _enough(points, np.flatnonzero(weights > 0), k)
    if len(kept) == k:
        centres = points[kept]
    else:
        work = len(kept) * k
        starts = RESTARTS if work <= LARGE else FEW if work <= 8 * LARGE else 1
        fit = FITS[clusterer or find_clusterer()]
        centres = fit(points[kept], weights[kept], k, starts)
    return centres, nearest(points, centres)


def _fit_sklearn(points: Floats, weights: Floats, k: int, starts: int) -> Floats:
    try:
        from sklearn.cluster import KMeans
    except ImportError:  # an answer that was measured with it
        raise MissingPackageError("scikit-learn", 'pip install "pandas-blowfish[kmeans]"') from None
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points that coincide: fewer clusters than asked for have rows
        model = KMeans(k, n_init=starts, random_state=0, tol=TOLERANCE)
        return np.asarray(model.fit(points, sample_weight=weights).cluster_centers_)


def _fit_scipy(points: Floats, weights: Floats, k: int, starts: int) -> Floats:
    """Return the best centres of several starts, each seeded by k-means++ and improved until they rest."""
    numbers = (each * GOLDEN % 1 for each in count(1))  # spread evenly over [0, 1), the same each time
    middle = np.average(points, axis=0, weights=weights)
    moved = points - middle
    rest = TOLERANCE * float(moved.var(axis=0).mean())
    tried = [_improve(moved, weights, _seed(moved, weights, k, numbers), rest) for _ in range(starts)]
    return np.asarray(min(tried, key=lambda each: each[1])[0] + middle)


def _seed(points: Floats, weights: Floats, k: int, numbers: Iterator[float]) -> Floats:
    """Return k points, each the best of a few taken in proportion to weight times squared distance."""
    trials = 2 + int(np.log(k))
    chosen = [_pick(weights, next(numbers))]
    away = _squares(points, points[chosen[0]])
    while len(chosen) < k:
        tried = [_pick(weights * away, next(numbers)) for _ in range(trials)]
        left = [np.minimum(away, _squares(points, points[each])) for each in tried]
        best = int(np.argmin([weights @ each for each in left]))
        chosen.append(tried[best])
        away = left[best]
    return points[chosen]


def _pick(mass: Floats, number: float) -> int:
    """Return the place at which a share of the whole mass is reached."""
    reached = np.cumsum(mass)
    return min(int(np.searchsorted(reached, number * reached[-1], side="right")), len(mass) - 1)


def _improve(points: Floats, weights: Floats, centres: Floats, rest: float) -> tuple[Floats, float]:
    """Return centres after Lloyd's steps, and the weighted squared distance that is left."""
    from scipy.cluster.vq import vq

    for _ in range(STEPS):
        label, away = vq(points, centres, check_finite=False)
        held = np.bincount(label, weights, minlength=len(centres))
        for empty in np.flatnonzero(held == 0).tolist():  # takes the point that costs most
            far = int((weights * away**2).argmax())
            label[far], away[far] = empty, 0.0
        held = np.bincount(label, weights, minlength=len(centres))
        sums = [np.bincount(label, weights * axis, minlength=len(centres)) for axis in points.T]
        before = centres
        means = np.stack(sums, axis=1) / np.maximum(held, 1e-300)[:, None]
        centres = np.where(held[:, None] > 0, means, before)
        if float(((centres - before) ** 2).sum()) <= rest:
            break
    _, away = vq(points, centres, check_finite=False)
    return centres, float(weights @ away**2)


def _squares(points: Floats, centre: Floats) -> Floats:
    return np.asarray(((points - centre) ** 2).sum(axis=1))


SKLEARN, SCIPY = "sklearn", "scipy"
FITS = {SKLEARN: _fit_sklearn, SCIPY: _fit_scipy}


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
