"""The score and the other methods that k-means releases are compared with; not run by itself.

Peers: a private Lloyd that keeps the promise (`noisy_lloyd`, its sensitivity from `sound_sensitivity`), the
Blowfish paper's Lloyd, which does not (`paper_lloyd`), and diffprivlib's (`diffprivlib_kmeans`). All take an
array of rows with known bounds and return centres. Noise here is numpy's float Laplace: good enough to
measure errors, never to release anything.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from sklearn.cluster import KMeans

STARTS = 10
CHUNK = 65_536
SPREAD = 0.225  # how far a typical centre is from the middle, of a half width (Su et al. 2016)


def objective(points: np.ndarray, centres: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the sum of squared distances of the rows to their nearest centres, each weights times."""
    total = 0.0
    for start in range(0, len(points), CHUNK):
        part = points[start : start + CHUNK]
        each = (part**2).sum(axis=1) + ((centres**2).sum(axis=1) - 2 * part @ centres.T).min(axis=1)
        total += each.sum() if weights is None else each @ weights[start : start + CHUNK]
    return float(total)


def best(points: np.ndarray, k: int, weights: np.ndarray | None = None) -> float:
    """Return the least objective of ten runs without privacy, half of them from k-means++."""
    models = [
        KMeans(k, init=("k-means++", "random")[seed % 2], n_init=1, random_state=seed)
        for seed in range(STARTS)
    ]
    runs = [model.fit(points, sample_weight=weights) for model in models]
    return min(objective(points, run.cluster_centers_, weights) for run in runs)


def sound_sensitivity(
    kind: str,
    low: np.ndarray,
    high: np.ndarray,
    *,
    theta: float | None = None,
    side: float | np.ndarray | None = None,
    step: float | np.ndarray = 0.0,
) -> tuple[float, float]:
    """Return the largest L1 changes of all clusters' sums and of all sizes, together, between neighbours.

    One row is replaced, x by y (an edge). Sums are of u = (x - middle) / half width, so that |u_i| <= 1;
    centres are known and may lie anywhere, at least two of them. If x and y fall into one cluster its sum
    changes by |u - v|_1 and no size does. Else one sum changes by u, another by v and two sizes by 1: |u|_1 +
    |v|_1, which is no less, and 2. Any edge may be cut (put centres at its ends), so this is exact. Per kind,
    d columns:

    full: any two corners, 2 d. attribute: two corners that differ in one column, 2 d as well.
    threshold: x is a corner and y next to it. Values that are real come as near as one likes: 2 d. On a
    lattice y is one step away in one column, 2 d - step / half width, unless theta reaches the corner beyond.
    So attribute and threshold secrets gain nothing: an edge's length matters only inside one cluster.
    partition: cubes go to clusters whole (`noisy_lloyd(side=...)`), by their midpoints. No edge leaves its
    cube, so no edge is cut: sizes do not change at all and sums by the widest cube, sum of side / half width.

    Low, high, theta (the longest edge), side and step (the least difference of two values of a column, 0 for
    real values) are in the data's units. Returned are the sums' (in half widths) and the sizes': Laplace
    noise of scales sums' / a and sizes' / b costs a + b.
    """
    width = high - low
    half, corners = width / 2, 2.0 * len(low)
    if kind == "threshold" and theta is not None:
        return corners - float((np.minimum(step, np.maximum(width - theta, 0)) / half).min()), 2.0
    if kind == "partition" and side is not None:
        return float((np.minimum(side - step, width) / half).sum()), 0.0
    if kind not in ("full", "attribute"):
        raise ValueError(f"no sensitivity for {kind!r} without theta or side")
    return corners, 2.0


def noisy_lloyd(
    points: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    k: int,
    epsilon: float,
    rng: np.random.Generator,
    *,
    sum_sensitivity: float,
    size_sensitivity: float,
    side: float | np.ndarray | None = None,
    iterations: int | None = None,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the centres of a private Lloyd, as good as we could make one; the row count is public.

    Su et al. (2016), and what helped on this very data beyond it, so that the peer is flattered: starts far
    from each other, their split between sums and sizes, their formula for iterations (more of them: 1 to 10),
    half as much budget again for each next iteration; sizes made to sum to the row count, centres drawn to
    the middle as much as their noise says, clusters with under a fifth of an equal share put beside the
    largest one (except at the end). All this sees bounds, the row count and noisy values only. No better
    on the whole: uniform starts, other splits, equal budgets, 2 to 7 iterations as published, small clusters
    kept, sums from the middle of the box around each cluster's own cell (which are less sensitive).

    The sensitivities are `sound_sensitivity`'s; 0 leaves sizes exact. With a side the secrets are a partition
    into such cubes, whose row counts are exact and free: it starts from the centres of their midpoints, no
    noise, and measures sums once (more often was no better). Weights are how many rows each point stands for.
    """
    rows = len(points) if weights is None else int(weights.sum())
    columns, middle, half = len(low), (low + high) / 2, (high - low) / 2
    scaled = (points - middle) / half
    place = points if side is None else low + (np.floor((points - low) / side) + 0.5) * side
    for_sizes = np.cbrt(4 * columns * SPREAD**2)
    if iterations is None:
        unit = np.sqrt(500 * k**3 * (columns + for_sizes) ** 3) / rows
        iterations = 1 if side is not None else int(np.clip(1.5 + epsilon / unit, 1, 10))
    budgets = 1.5 ** np.arange(iterations)
    share = for_sizes / (columns + for_sizes) if size_sensitivity else 0.0
    centres = (
        _apart(k, columns, rng) if side is None else (_clustered(place, k, rng, weights) - middle) / half
    )
    for turn, budget in enumerate(epsilon * budgets / budgets.sum()):
        sizes, sums = _totals(place, scaled, middle + half * centres, weights)
        scale = sum_sensitivity / (budget * (1 - share))
        sums += rng.laplace(0, scale, sums.shape)
        if size_sensitivity:
            sizes = _to_total(sizes + rng.laplace(0, size_sensitivity / (budget * share), k), rows)
        weight = sizes / (sizes**2 + 8 * scale**2)  # 2 scale^2 / (1/2)^2: centres about 1/2 from the middle
        centres = sums * weight[:, None]
        if turn < iterations - 1:
            small = sizes < 0.2 * rows / k
            centres[small] = centres[sizes.argmax()] + rng.normal(0, 0.2, (int(small.sum()), columns))
        centres = centres.clip(-1, 1)
    return middle + half * centres


def paper_sensitivity(
    kind: str,
    low: np.ndarray,
    high: np.ndarray,
    *,
    theta: float | None = None,
    side: float | np.ndarray | None = None,
) -> float:
    """Return what the paper's Lemma 6.1 prints for the sums, in the data's units.

    False: a row that changes cluster changes one sum by x and another by y, measured from 0, however near x
    and y are. Only "full" is right, and only where the domain contains 0 (as in all of `kmeans_data`).
    """
    width = high - low
    if kind == "threshold" and theta is not None:
        return 2 * theta
    if kind == "partition" and side is not None:
        return float(2 * np.minimum(side, width).sum())
    if kind not in ("full", "attribute"):
        raise ValueError(f"no printed sensitivity for {kind!r} without theta or side")
    return float(2 * (width.sum() if kind == "full" else width.max()))


def paper_lloyd(
    points: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    k: int,
    epsilon: float,
    rng: np.random.Generator,
    *,
    sum_sensitivity: float,
    size_sensitivity: float = 2,
    iterations: int = 10,
    weights: np.ndarray | None = None,
    cut: bool = True,
) -> np.ndarray:
    """Return the centres of the paper's SuLQ k-means. Unsound but for full: reported only, never to be used.

    Noise for `paper_sensitivity` on sums and for 2 on sizes, ten iterations from random centres, as printed.
    The paper does not say how epsilon is split: equally over the iterations here, then halved between sums
    and sizes. Nor what becomes of sizes below 1 and of centres outside the domain: they are cut to 1 and to
    the bounds (only sizes are with cut=False).
    """
    budget = epsilon / iterations / 2
    centres = rng.uniform(low, high, (k, len(low)))
    for _ in range(iterations):
        sizes, sums = _totals(points, points, centres, weights)
        sums += rng.laplace(0, sum_sensitivity / budget, sums.shape)
        sizes = np.maximum(sizes + rng.laplace(0, size_sensitivity / budget, k), 1)
        centres = sums / sizes[:, None]
        centres = centres.clip(low, high) if cut else centres
    return centres


def diffprivlib_kmeans(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, k: int, epsilon: float, seed: int
) -> np.ndarray:
    """Return the centres of diffprivlib's KMeans (DPLloyd of Su et al.), unchanged, bounds given.

    Its noise is for one row added or removed (a count changes by 1, one cluster's sum by a width): for one
    row replaced, our notion, it may lose nearly twice epsilon; call it with half of epsilon to compare like
    with like. Read in its source (0.6.6), and not mended here: the two parts of the budget are
    swapped (`_split_epsilon`), which spends 0.91, 0.92, 0.96 of epsilon on 2, 3, 4 columns but more than
    epsilon from 5 on; a cluster without rows keeps its centre to the last digit, which shows that it has
    none; sums are not recentred, so a width is too small where 0 is outside the bounds. It does not raise
    where clusters are empty.
    """
    model = _diffprivlib()(n_clusters=k, epsilon=epsilon, bounds=(low, high), random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.fit(points).cluster_centers_)


@cache
def _diffprivlib() -> type:
    """Return diffprivlib's KMeans, lending its forests (unused) two names that scikit-learn 1.9 dropped."""
    from sklearn.tree import _tree

    lent = {"DOUBLE": np.float64, "DTYPE": np.float32}
    lent = {name: kind for name, kind in lent.items() if not hasattr(_tree, name)}
    for name, kind in lent.items():
        setattr(_tree, name, kind)
    try:
        from diffprivlib.models import KMeans as Theirs
    finally:
        for name in lent:
            delattr(_tree, name)
    return Theirs


def _totals(
    place: np.ndarray, values: np.ndarray, centres: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return each cluster's size and its sum of values, rows going to the centre nearest to their place."""
    k = len(centres)
    nearest = (place @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
    counted = values if weights is None else values * weights[:, None]
    sums = [np.bincount(nearest, column, k) for column in counted.T]
    return np.bincount(nearest, weights, minlength=k).astype(float), np.stack(sums, axis=1)


def _apart(k: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return random centres in [-1, 1]^d that are far from each other and half as far from the sides."""
    radius = 1.0
    while True:
        found: list[np.ndarray] = []
        for _ in range(100 * k):
            point = rng.uniform(radius - 1, 1 - radius, columns)
            if all(np.linalg.norm(point - other) >= 2 * radius for other in found):
                found.append(point)
            if len(found) == k:
                return np.array(found)
        radius *= 0.9


def _clustered(place: np.ndarray, k: int, rng: np.random.Generator, weights: np.ndarray | None) -> np.ndarray:
    """Return centres of the cubes' midpoints, weighted with their row counts."""
    cubes, cube = np.unique(place, axis=0, return_inverse=True)
    counts = np.bincount(cube, weights)
    model = KMeans(k, n_init=STARTS, random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(cubes, sample_weight=counts).cluster_centers_)


def _to_total(sizes: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest sizes (least squares) that are not negative and sum to the total."""
    falling = np.sort(sizes)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(sizes) + 1)
    return np.asarray(np.maximum(sizes - excess[falling > excess][-1], 0))
