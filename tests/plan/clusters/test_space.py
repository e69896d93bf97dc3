"""The space of a clustering: which cells it holds, where they lie, and how they are cut into bins."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters.space import each_run, points_of
from pandas_blowfish.plan.lattice import representative
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def space_of(domain, columns, k=1, where=None, groupby=None, **options):
    """Return the space of a plan."""
    planner = bf.Policy(domain).plan
    planner = planner.where(where) if where else planner
    planner = planner.groupby(groupby) if groupby else planner
    return planner.kmeans(columns, k, **options).asked[0].space


@pytest.mark.parametrize("cells", range(1, 20))
def test_runs_are_even_and_halves_nest(cells):
    """Runs differ by one cell at most, and a cut into twice as many cuts each run in two."""
    for many in range(1, cells + 1):
        runs = each_run(cells, many)
        lengths = np.bincount(runs)

        assert len(lengths) == many
        assert (np.diff(runs) >= 0).all()
        assert lengths.max() - lengths.min() <= 1
        if 2 * many <= cells:
            assert (each_run(cells, 2 * many) // 2 == runs).all()


@pytest.mark.parametrize("seed", range(40))
def test_cells_places_and_bins_by_enumeration(seed, make_clusters):
    """What the filter leaves, where cells lie and in which bin each is, cell by cell."""
    draw = random.Random(seed)
    space = make_clusters(draw).space
    whole, domain = space.whole, space.domain
    counted = whole.labels() >= 0
    codes = np.unravel_index(np.arange(domain.size), domain.shape)

    for axis, attribute in enumerate(space.attributes):
        seen = codes[space.groups + axis][counted]
        first, last = space.ends[axis]
        start = representative(attribute, first)
        middles = [float(representative(attribute, cell) - start) for cell in range(first, last + 1)]

        assert (first, last) == ((seen.min(), seen.max()) if len(seen) else (0, 0))
        assert space.cells[axis] == last - first + 1
        assert np.allclose(space.places[axis], space.units[axis] * np.array(middles))
        assert space.starts[axis] == start
        assert (seen < attribute.cells).all(), "a missing value is clustered"
    bins = [draw.randint(1, cells) for cells in space.cells]
    runs = [each_run(cells, many) for cells, many in zip(space.cells, bins, strict=True)]
    labels = space.cut(bins).labels()

    assert ((labels >= 0) == counted).all()
    for cell in np.flatnonzero(counted):
        group = np.ravel_multi_index(
            [c[cell] for c in codes[: space.groups]] or [0], whole.shape[: space.groups] or (1,)
        )
        inside = [
            run[codes[space.groups + axis][cell] - first]
            for axis, (run, (first, _)) in enumerate(zip(runs, space.ends, strict=True))
        ]
        assert labels[cell] == np.ravel_multi_index([group, *inside], [space.lots, *bins])


def test_ranges_count_alike_unless_told_otherwise():
    """With scale=True every declared range has length 1; else the longest has, the others as told."""
    domain = Domain((integers("a", 0, 99), from_dict("b", {"type": "float", "min": 0, "max": 5, "step": 1})))

    even, units = space_of(domain, ["a", "b"]), space_of(domain, ["a", "b"], scale=False)
    told = space_of(domain, ["b", "a"], scale={"a": 2, "b": 10})

    assert np.allclose([places[-1] - places[0] for places in even.places], 1)
    assert units.units == (1 / 99, 1 / 99)
    assert told.units == pytest.approx((10 / 198, 2 / 198))
    assert np.allclose(told.original(np.array([[10.0, 10.0]]) / 198), [[1.0 + float(told.starts[0]), 5.0]])
    assert np.allclose(even.spans, [100 / 99, 6 / 5], rtol=0.2)  # whole cells at both ends


def test_groups_are_outermost():
    """The index lists clusters within groups, and groups are the first axis of every table."""
    domain = Domain((integers("a", 0, 3), from_dict("sex", {"type": "category", "values": ["F", "M"]})))
    space = space_of(domain, "a", k=2, groupby="sex")

    assert space.lots == 2
    assert space.index.names == ["sex", "cluster"]
    assert space.index.tolist() == [("F", 0), ("F", 1), ("M", 0), ("M", 1)]
    assert space.cut([2]).shape == (2, 2)
    assert space.domain.columns == ("sex", "a")


def test_a_filter_cuts_the_ends_off():
    """Bins are cut from the first to the last cell that the filter passes, and holes stay empty."""
    domain = Domain((integers("a", 0, 9), integers("b", 0, 1)))
    space = space_of(domain, "a", where="a >= 2 and a < 8 and a != 5 and b == 1")

    assert space.cells == (6,)
    assert space.domain.columns == ("a", "b")
    assert (space.cut([3]).labels().reshape(10, 2)[:, 1]).tolist() == [-1, -1, 0, 0, 1, -1, 2, 2, -1, -1]


def test_middles_of_bins_and_points_of_a_grid():
    """Middles are means of cells, points run through the last column first."""
    space = space_of(Domain((integers("a", 0, 4),)), "a", scale=False)

    (middles,) = space.centres([each_run(5, 2)])

    assert (4 * middles).tolist() == [0.5, 3.0]
    middles = 4 * middles
    assert points_of([middles, np.array([7.0, 9.0])]).tolist() == [[0.5, 7], [0.5, 9], [3, 7], [3, 9]]
