"""Softness taken out again: rows stay as many, counts non-negative, and points are found."""

import numpy as np
import pytest

from pandas_blowfish.plan.clusters.smooth import MAX_NARROW_SHARPEN as MAX_NARROW
from pandas_blowfish.plan.clusters.smooth import map_axes, narrow_bins, shares, sharpen


def maps_of(nodes, bins):
    """Return what narrow bins from 0 to 1 count in even nodes, for each column."""
    return [shares(np.linspace(0, 1, n), 0.0, 1.0, m) for m, n in zip(nodes, bins, strict=True)]


@pytest.mark.parametrize(
    ("nodes", "bins"), [((3,), (9,)), ((2, 4), (5, 12)), ((2, 2, 3), (4, 4, 7)), ((1, 3), (1, 6))]
)
def test_as_many_rows_none_negative(nodes, bins):
    """Whatever the soft counts are."""
    draw = np.random.default_rng(0)

    for _ in range(10):
        soft = draw.integers(0, 9, nodes) * draw.integers(0, 2, nodes) * 1.0
        found = sharpen(soft, maps_of(nodes, bins))

        assert found.shape == bins
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(soft.sum())


@pytest.mark.parametrize("place", range(9))
def test_a_point_is_found(place):
    """All rows in one narrow bin: most come back there or beside it, and their mean is right."""
    maps, truth = maps_of((3,), (9,)), np.zeros(9)
    truth[place] = 100.0

    found = sharpen(map_axes(truth, maps), maps)

    assert found[max(place - 1, 0) : place + 2].sum() > 60
    assert found @ np.arange(9) / 100 == pytest.approx(place, abs=0.3)


def test_points_at_nodes_in_two_columns():
    """Rows that stand at nodes come back to them alone."""
    maps, truth = maps_of((3, 3), (9, 9)), np.zeros((9, 9))
    truth[0, 0], truth[8, 4] = 40.0, 60.0

    found = sharpen(map_axes(truth, maps), maps)

    assert found[0, 0] == pytest.approx(40, rel=0.1)
    assert found[8, 3:6].sum() == pytest.approx(60, rel=0.1)


def test_nothing_stays_nothing():
    """No rows are even nowhere."""
    assert not sharpen(np.zeros((3, 3)), maps_of((3, 3), (5, 5))).any()


@pytest.mark.parametrize("nodes", range(1, 6))
def test_shares_add_up_to_a_row(nodes):
    """Between two nodes a row is shared by how near it is; beyond the ends it is the end's."""
    table = shares(np.linspace(-0.5, 4.5, 41), 0.0, 4.0, nodes)

    assert (table >= 0).all()
    assert np.allclose(table.sum(axis=0), 1)
    assert np.allclose(shares(np.zeros(3), 2.0, 2.0, nodes).sum(axis=0), 1)


def test_through_maps_each_axis():
    """The same as one Kronecker product."""
    draw = np.random.default_rng(1)
    counts, maps = draw.random((3, 4, 2)), [draw.random((2, 3)), draw.random((5, 4)), draw.random((3, 2))]

    slow = np.kron(np.kron(maps[0], maps[1]), maps[2]) @ counts.ravel()

    assert np.allclose(map_axes(counts, maps).ravel(), slow)


def test_narrow_bins_fit():
    """At most one a cell, one for a column of one node, and not too many in all."""
    assert narrow_bins([4, 1, 2], [256, 99, 3]) == (12, 1, 3)
    assert narrow_bins([16], [1000]) == (46,)
    many = narrow_bins([8] * 6, [64] * 6)
    assert np.prod(many) <= MAX_NARROW
    assert min(many) >= 2
