"""Weighted k-means of a synopsis: always the same, and right where clusters are plain."""

import itertools
import sys

import numpy as np
import pytest

from pandas_blowfish.errors import MissingPackageError
from pandas_blowfish.plan.clusters.centres import cluster_points, find_clusterer, nearest


def cost(points, weights, centres):
    """Return the sum of squared distances to the nearest centre."""
    away = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return float(weights @ away.min(axis=1))


@pytest.mark.parametrize("seed", range(8))
def test_best_of_all_partitions(seed):
    """On a few points the centres are the best ones, by trying every assignment."""
    draw = np.random.default_rng(seed)
    points, weights = draw.normal(size=(7, 2)), draw.integers(0, 5, 7).astype(float)
    weights[:3] += 1

    centres, of = cluster_points(points, weights, 2)
    best = np.inf
    for split in itertools.product([0, 1], repeat=7):
        marks = np.array(split)
        if all(weights[marks == side].sum() for side in (0, 1)):
            means = [
                np.average(points[marks == side], axis=0, weights=weights[marks == side]) for side in (0, 1)
            ]
            best = min(best, cost(points, weights, np.array(means)))

    assert cost(points, weights, centres) == pytest.approx(best, rel=1e-6)
    assert (of == nearest(points, centres)).all()


def test_the_same_points_have_the_same_clusters():
    """A function of points and weights, bit for bit, whatever was asked in between."""
    draw = np.random.default_rng(0)
    points, weights = draw.normal(size=(500, 3)), draw.random(500)

    first = cluster_points(points, weights, 5)
    np.random.default_rng(9).random(10)
    cluster_points(points[::-1].copy(), weights, 3)
    second = cluster_points(points.copy(), weights.copy(), 5)

    assert all((a == b).all() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("weights", [[0, 0, 0, 0], [0, 3, 0, 0], [2, 0, 0, 1], [-1, -2, -3, -4]])
def test_more_clusters_than_occupied_points(weights):
    """Occupied points are centres; the others are points far from them, each once."""
    points = np.array([[0.0], [1.0], [4.0], [9.0]])

    for k in range(1, 5):
        centres, of = cluster_points(points, np.array(weights, dtype=float), k)
        occupied = [place for place, weight in enumerate(weights) if weight > 0]

        assert centres.shape == (k, 1)
        assert len({float(centre[0]) for centre in centres}) == k
        assert set(centres.ravel()) <= {0.0, 1.0, 4.0, 9.0} or k < len(occupied)
        if k >= len(occupied):
            assert {float(points[place, 0]) for place in occupied} <= set(centres.ravel().tolist())
        assert of.max() < k


def test_nearest_takes_the_first_of_equals():
    """Halfway between two centres the first wins; large inputs are gone through in parts."""
    centres = np.array([[0.0], [2.0]])

    assert nearest(np.array([[1.0], [1.5], [-9.0]]), centres).tolist() == [0, 1, 0]
    many = np.tile([[0.1], [1.9]], (70_000, 1))
    assert (nearest(many, centres) == np.tile([0, 1], 70_000)).all()


def test_without_scikit_learn_clusters_are_as_good():
    """Scipy's distances and our seeding leave no more than 1% more than scikit-learn does."""
    draw, ratios = np.random.default_rng(3), []
    for size, dimensions, k in [(200, 1, 3), (400, 2, 4), (343, 3, 4), (2_000, 2, 8), (2_000, 4, 6)] * 4:
        middles = draw.random((k, dimensions))
        points = middles[draw.integers(0, k, size)] + 0.12 * draw.normal(size=(size, dimensions))
        weights = np.maximum(draw.poisson(5, size) + draw.laplace(0, 3, size), 0)
        left = {}
        for clusterer in ("scipy", "sklearn"):
            centres, of = cluster_points(points, weights, k, clusterer)
            left[clusterer] = weights @ ((points - centres[of]) ** 2).sum(axis=1)
        ratios.append(left["scipy"] / left["sklearn"])

    assert np.mean(ratios) < 1.01


def test_scikit_learn_is_used_where_it_is_installed(monkeypatch):
    """Without it scipy clusters; an answer that was measured with it says that it is missing."""
    points, weights = np.arange(12.0)[:, None], np.ones(12)
    assert find_clusterer() == "sklearn"
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)

    assert find_clusterer() == "scipy"
    assert cluster_points(points, weights, 3)[0].shape == (3, 1)
    with pytest.raises(MissingPackageError, match="pandas-blowfish\\[kmeans\\]"):
        cluster_points(points, weights, 3, "sklearn")


def test_points_that_coincide_leave_no_cluster_without_a_centre():
    """Fewer different places than clusters: every centre is a number, and nothing is left over."""
    points = np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]]), 5, axis=0)

    centres, of = cluster_points(points, np.ones(10), 4, "scipy")

    assert np.isfinite(centres).all()
    assert ((points - centres[of]) ** 2).sum() < 1e-12
