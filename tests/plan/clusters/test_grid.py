"""Grid: a histogram of a grid's bins, and nothing else."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters.grid import GridCounts, cut_inside
from pandas_blowfish.policy.domain import Domain, integers


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_histogram_of_its_bins(seed, make_clusters):
    """Rows, scales and exact totals are those of counts of the same bins."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    bins = tuple(draw.randint(1, cells) for cells in found.space.cells)

    grid = GridCounts.build(found.graph, found.space, bins, Fraction(1, 3), 0.5)

    assert (grid.matrix().toarray() == found.rows(grid)).all()
    assert grid.scales == grid.queries.scales
    assert grid.sensitivity == grid.queries.sensitivity == found.change(grid)
    assert grid.form == {"bins": list(bins), "inside": False}
    assert grid.bins == bins
    assert grid.bound_loss(found.graph) == found.loss(grid)
    assert len(grid.points()) == np.prod(bins)


def test_points_are_the_middles_of_bins():
    """Where bins lie, back in the columns' own units."""
    policy = bf.Policy(Domain((integers("a", 0, 5), integers("b", 10, 13))))
    space = policy.plan.kmeans(["a", "b"], 2, scale=False).asked[0].space

    grid = GridCounts.build(policy.graph, space, (3, 2), Fraction(1), 0.0)

    assert space.original(grid.points()).round(9).tolist() == [
        [0.5, 10.5],
        [0.5, 12.5],
        [2.5, 10.5],
        [2.5, 12.5],
        [4.5, 10.5],
        [4.5, 12.5],
    ]
    assert grid.grid == "3 x 2 bins"
    assert set(grid.scales) == {Fraction(2), Fraction(0)}


def test_bins_know_nothing_of_rows():
    """Plans of the same policy, number of rows and epsilon have the same bins: none was looked at."""
    domain = Domain((integers("a", 0, 255),))

    first = bf.Policy(domain).plan.kmeans("a", 3, rows=500, strategy="grid")
    second = bf.Policy(domain).plan.kmeans("a", 3, rows=500, strategy="grid")
    more = bf.Policy(domain).plan.kmeans("a", 3, rows=50_000, strategy="grid")

    assert first.measurement.bins == second.measurement.bins < more.measurement.bins
    assert "noisy counts alone" in first.proof


@pytest.mark.parametrize("many", [1, 2, 3, 9])
def test_bins_inside_classes(many):
    """No bin reaches over two classes, each class has as many as asked for, or as it has cells."""
    classes = np.repeat([0, 1, 2, 3], [1, 5, 2, 8])

    bins = cut_inside(classes, many)

    assert (np.diff(bins) >= 0).all()
    assert sorted(set(bins)) == list(range(bins.max() + 1))
    assert all(len(set(classes[bins == each])) == 1 for each in set(bins))
    assert [len(set(bins[classes == own])) for own in range(4)] == [min(many, n) for n in (1, 5, 2, 8)]


def test_totals_of_classes_are_exact():
    """Bins cut inside the groups of a partition: what each group holds is told exactly, and is free."""
    policy = bf.Policy(Domain((integers("a", 0, 255),)), secrets={"a": bf.partition({"width": 64})})

    grid = policy.plan.kmeans("a", 3, rows=10**6, strategy="grid").measurement

    assert grid.form["inside"]
    assert list(grid.scales[-4:]) == [0] * 4
    assert grid.matrix().toarray()[-4:].sum(axis=0).tolist() == [1] * 256
