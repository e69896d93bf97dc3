"""The least number of runs: against linear programmes and a search, and what makes it a norm."""

import itertools
import math

import numpy as np
import pytest
from oracle.run_law import all_runs, by_distance
from scipy.optimize import linprog

from pandas_blowfish.exact.least_runs import least_runs


def one_line(values, reach):
    """Return the least numbers of runs on a single line."""
    values = np.asarray(values)
    return least_runs(values, np.arange(values.shape[1]) == 0, reach)


@pytest.mark.parametrize(("reach", "places"), [(1, 4), (2, 5), (3, 6), (4, 7), (8, 9)])
def test_agrees_with_linear_programmes(reach, places):
    """No fractions of runs do with less."""
    values = np.random.default_rng(reach).integers(-3, 4, (40, places))
    runs = all_runs(places, reach).T

    found = one_line(values, reach)

    for y, many in zip(values, found, strict=True):
        best = linprog(np.ones(2 * runs.shape[1]), A_eq=np.hstack([runs, -runs]), b_eq=y).fun
        assert math.isclose(best, many, abs_tol=1e-6), (y, many, best)


@pytest.mark.parametrize(("reach", "places"), [(2, 4), (3, 4), (4, 4)])
def test_agrees_with_a_search(reach, places):
    """Steps along runs reach a point as soon as stated."""
    distances = by_distance(places, reach, 2, 4)

    found = one_line(list(distances), reach)

    assert found.tolist() == list(distances.values())


def test_is_a_norm():
    """Numbers of runs of sums are at most the sums of theirs, and both signs need as many."""
    points = np.array(list(itertools.product(range(-1, 2), repeat=4)))

    for reach in (1, 2, 3):
        own = one_line(points, reach)
        together = one_line((points[:, None] + points[None]).reshape(-1, 4), reach).reshape(81, 81)
        assert (together <= own[:, None] + own[None]).all()
        assert (one_line(-points, reach) == own).all()
        assert ((own == 0) == (points == 0).all(axis=1)).all()


def test_runs_end_with_their_line():
    """Of two lines the numbers add up, wherever the first change is."""
    values = np.random.default_rng(5).integers(-2, 3, (60, 7)) * (
        np.random.default_rng(6).random((60, 7)) < 0.6
    )

    both = least_runs(values, np.isin(np.arange(7), [0, 3]), 3)

    assert (both == one_line(values[:, :3], 3) + one_line(values[:, 3:], 3)).all()


def test_nothing_needs_no_runs():
    """Neither rows without change, nor lines without places, nor no rows at all."""
    assert one_line(np.zeros((2, 3), dtype=np.int64), 2).tolist() == [0, 0]
    assert one_line(np.zeros((0, 3), dtype=np.int64), 2).tolist() == []
    assert one_line(np.zeros((2, 0), dtype=np.int64), 2).tolist() == [0, 0]
