"""How fine synopses are: rules of the number of rows, epsilon, columns and clusters alone."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from pandas_blowfish.plan.clusters.resolution import (
    EXACTLY,
    FIRST,
    MAX_DEPTH,
    STEP,
    adaptive_excess,
    grid_bins,
    grid_excess,
    halvings,
    whole_excess,
)


def random_shape(draw):
    """Return cells and lengths of a few columns."""
    cells = [draw.choice([1, 2, 3, 7, 16, 100, 1000]) for _ in range(draw.randint(1, 5))]
    return cells, np.array([draw.choice([0.0, 0.1, 1.0, 3.0]) if many > 1 else 0.0 for many in cells])


@pytest.mark.parametrize("seed", range(60))
def test_bins_fit(seed):
    """Never more bins than cells or than allowed, and as many as clusters where there are cells."""
    draw = random.Random(seed)
    cells, spans = random_shape(draw)
    k, most = draw.randint(1, 9), draw.choice([1, 50, 1 << 15])

    for signal in (1e-9, 1.0, 1e3, 1e7, EXACTLY, 1e300):
        bins = grid_bins(cells, spans, k, signal, most)

        assert all(1 <= many <= own for many, own in zip(bins, cells, strict=True))
        assert math.prod(bins) >= min(k, math.prod(cells))
        assert math.prod(bins) <= max(most, 2 * k)


def test_more_rows_make_finer_grids():
    """A grid gets finer with rows times epsilon, and what is expected to be added falls."""
    cells, spans = [256] * 3, np.ones(3)
    signals = [10.0**power for power in range(1, 9)]

    bins = [math.prod(grid_bins(cells, spans, 4, signal, 1 << 15)) for signal in signals]
    added = [
        grid_excess(np.full(3, round(n ** (1 / 3))), spans, 4, s) for n, s in zip(bins, signals, strict=True)
    ]

    assert bins == sorted(bins)
    assert bins[0] < 64 < 3000 < bins[-1]
    assert added == sorted(added, reverse=True)


def test_longer_columns_are_cut_more_often():
    """Bins are nearly square in distances."""
    few, many = grid_bins([100, 100], np.array([1.0, 4.0]), 4, 1e5, 1 << 15)

    assert 3 <= many / few <= 5


@pytest.mark.parametrize("seed", range(60))
def test_rounds_halve_ever_more(seed):
    """Columns are never halved below a cell, each round goes on from the last, none is too large a step."""
    draw = random.Random(seed)
    cells, spans = random_shape(draw)
    lots, most = draw.choice([1, 3, 100]), 1 << 22

    for signal in (1e-9, 1e2, 1e4, 1e9, EXACTLY):
        k = draw.choice([1, 4, 100])
        found = halvings(cells, spans, k, signal, lots, most)
        totals = [sum(often) for often in found]

        assert all(2**n <= many for n, many in zip(found[-1], cells, strict=True))
        assert all((np.diff(pair, axis=0) >= 0).all() for pair in pairwise(found))
        assert totals[0] <= max(FIRST, math.ceil(math.log2(k)))
        assert all(0 < b - a <= STEP for a, b in pairwise(totals))
        assert lots * 2 ** totals[-1] <= most
        assert totals[-1] <= MAX_DEPTH


def test_depth_grows_with_the_signal_and_the_first_round_does_not():
    """What a count says of the number of rows changes how deep boxes go, never whether there are enough."""
    found = [halvings([1000] * 5, np.ones(5), 4, signal, 1, 1 << 22) for signal in (1.0, 1e3, 1e5, 1e9)]

    assert len({each[0] for each in found}) == 1
    assert [sum(each[-1]) for each in found] == sorted(sum(each[-1]) for each in found)
    assert len(found[-1]) > len(found[0])


def test_expected_additions_know_their_limits():
    """Less noise adds less; exact pieces as coarse as the column add most; nothing divides by zero."""
    few, many = (whole_excess(np.array([pieces]), np.ones(1), 4, 10.0) for pieces in (4, 64))

    assert adaptive_excess(5, 4, 1e6) < adaptive_excess(5, 4, 1e3) < adaptive_excess(9, 4, 1e3)
    assert many < few
    assert (
        whole_excess(np.array([4]), np.ones(1), 4, 1e9)
        < few
        < whole_excess(np.array([4]), np.ones(1), 4, 0.0)
    )
    assert whole_excess(np.array([1]), np.zeros(1), 1, 0.0) >= 0
    assert math.isfinite(grid_excess(np.ones(1), np.zeros(1), 1, 0.0))
