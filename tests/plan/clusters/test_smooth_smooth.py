"""Wide bins dealt out to narrower ones: none of their rows is lost."""

import numpy as np
import pytest

from pandas_blowfish.plan.clusters import smooth as module
from pandas_blowfish.plan.clusters.smooth import smooth_counts, split_middles


def gathered(fine, shape):
    """Return the sums of narrow bins by wide one."""
    view = [part for wide, narrow in zip(shape, fine.shape, strict=True) for part in (wide, narrow // wide)]
    return fine.reshape(view).sum(axis=tuple(range(1, 2 * len(shape), 2)))


@pytest.mark.parametrize("shape", [(2,), (7,), (1,), (3, 4), (1, 5), (2, 3, 4), (1, 1, 2)])
def test_sums_of_wide_bins_stay(shape):
    """Counts stay non-negative and add up to what they were, bin by bin; empty bins stay empty."""
    for seed in range(5):
        draw = np.random.default_rng(seed)
        counts = draw.integers(0, 9, shape) * draw.integers(0, 2, shape) * 1.5

        fine = smooth_counts(counts)

        assert (fine >= 0).all()
        assert np.allclose(gathered(fine, shape), counts)


def test_rows_lie_where_neighbours_are_full():
    """A slope goes on inside a bin, and even counts stay even."""
    slope, even = smooth_counts(np.array([1.0, 3.0, 9.0, 3.0])), smooth_counts(np.full((3, 3), 4.0))

    assert slope[2] < slope[3]
    assert slope[6] > slope[7]
    assert np.allclose(even, 1.0)


def test_what_is_not_split():
    """Nothing, single bins and too many bins stay as they are."""
    large = np.ones(module.MAX_NARROW)

    assert smooth_counts(np.zeros((3, 2))).tolist() == [[0.0, 0.0]] * 3
    assert smooth_counts(np.array([[5.0]])).tolist() == [[5.0]]
    assert smooth_counts(large) is large


def test_bins_of_one_cell_are_not_split():
    """Where no value lies between two bins, nothing is dealt out between them."""
    counts = np.array([[1.0, 5.0, 2.0], [0.0, 3.0, 4.0]])

    assert smooth_counts(counts, (2, 3)) is counts or np.array_equal(smooth_counts(counts, (2, 3)), counts)
    assert smooth_counts(counts, (2, 6)).shape == (2, 6)
    assert smooth_counts(counts, (3, 5)).shape == (2, 3)
    assert np.array_equal(smooth_counts(counts, (4, 6)), smooth_counts(counts))


def test_middles_of_narrow_bins():
    """The middles of a bin's parts have its own middle as their mean, where bins are even."""
    places = np.arange(5) * 3.0 + 1

    for parts in (1, 2, 3):
        fine = split_middles(places, parts)

        assert len(fine) == 5 * parts
        assert np.allclose(fine.reshape(5, parts).mean(axis=1), places)
        assert np.allclose(np.diff(fine), 3.0 / parts)
    assert split_middles(np.array([2.0]), 2).tolist() == [2.0]


def test_axes_whose_bins_cannot_be_cut_stay():
    """Bins of a single cell are not cut in two; those of two cells are."""
    counts = np.array([[1.0, 2.0], [3.0, 4.0]])

    assert smooth_counts(counts, [2, 4]).shape == (2, 4)
    assert smooth_counts(counts, [3, 3]).shape == (2, 2)
    assert np.allclose(gathered(smooth_counts(counts, [2, 9]), (2, 2)), counts)
