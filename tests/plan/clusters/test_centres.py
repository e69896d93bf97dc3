"""Weighted k-means of a synopsis: always the same, and right where clusters are plain."""

import builtins
import itertools

import numpy as np
import pytest

from pandas_blowfish.errors import MissingPackageError
from pandas_blowfish.plan.clusters.centres import cluster_points, nearest, require_clusters


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


def test_missing_package(monkeypatch):
    """Without scikit-learn the error says what to install."""
    true = builtins.__import__

    def none(name, *rest, **more):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return true(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none)

    with pytest.raises(MissingPackageError, match="pandas-blowfish\\[kmeans\\]"):
        require_clusters()
