"""Quantiles read off cumulative counts, on every kind of axis."""

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.plan.line.quantile_curve import Axis, quantiles


def _ask(cells, positions, q, spread=None):
    positions = np.atleast_2d(np.array(positions, dtype=float))
    spread = np.zeros(positions.shape) if spread is None else np.full(positions.shape, float(spread))
    return quantiles(positions, spread, Axis.of(cells), np.array(q, dtype=float))


@pytest.mark.parametrize("seed", range(20))
def test_single_values_match_numpy(seed):
    """The first value whose cumulative count reaches q: numpy's inverted_cdf."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 9, 25)
    positions = np.append(0, np.cumsum(np.bincount(rows, minlength=9)))
    shares = np.array([0, 0.1, 0.25, 0.5, 0.77, 0.96, 1])

    values, std = _ask(pd.RangeIndex(9), positions, shares)

    assert values.tolist() == np.quantile(rows, shares, method="inverted_cdf").tolist()
    assert (std == 0).all()


def test_bins_are_linear_inside():
    """Half of a half-open bin's rows are reached in its middle; closed whole numbers end at their last."""
    halves = pd.interval_range(0, 30, freq=10, closed="left")
    closed = pd.IntervalIndex.from_arrays([0, 10], [9, 19], closed="both")

    assert _ask(halves, [0, 4, 8, 8], [0, 0.25, 0.5, 0.75, 1])[0].tolist() == [0, 5, 10, 15, 20]
    assert _ask(closed, [0, 4, 8], [0, 0.25, 0.5, 1])[0].tolist() == [0, 5, 9, 19]


def test_instants_and_categories_keep_their_kind():
    """Times come back as times, with their zone; ordered categories as categories without distances."""
    days = pd.date_range("2020-01-01", periods=3, tz="Europe/Paris")
    ranks = pd.CategoricalIndex(["low", "mid", "high"], categories=["low", "mid", "high"], ordered=True)

    times, _ = _ask(days, [0, 1, 2, 4], [0.5, 1])
    names, std = _ask(ranks, [0, 1, 2, 4], [0.5, 1], spread=1)
    flags, _ = _ask(pd.Index([False, True]), [0, 1, 4], [0.1, 0.9])

    assert list(times) == [days[1], days[2]]
    assert names.tolist() == ["mid", "high"]
    assert names.ordered
    assert np.isnan(std).all()
    assert flags.tolist() == [0, 1]


def test_bins_of_time_are_linear_too():
    """The middle of a day."""
    days = pd.date_range("2020-01-01", periods=3)
    cells = pd.IntervalIndex.from_breaks(days, closed="left")

    times, _ = _ask(cells, [0, 2, 4], [0.25])

    assert list(times) == [pd.Timestamp("2020-01-01 12:00")]


def test_the_error_is_how_far_one_standard_error_moves_it():
    """Ten rows a cell, errors of ten rows: fifteen with the total's share, within two cells."""
    positions = np.arange(0, 101, 10)

    values, std = _ask(pd.RangeIndex(10), positions, [0.5], spread=10)

    assert values.tolist() == [4]
    assert std.tolist() == [2]


@pytest.mark.parametrize("error", [1.0, 4.0, 16.0])
def test_the_error_inside_a_bin_is_linear_too(error):
    """A hundred rows in a bin of ten: an error of a row moves the value by a tenth, not to the bin's edge."""
    bins = pd.interval_range(0.0, 30.0, freq=10, closed="left")
    positions, spread = np.array([[0.0, 100, 200, 300]]), np.array([[0.0, error, error, 0]])

    values, std = quantiles(positions, spread, Axis.of(bins), np.array([0.5]))

    assert values.tolist() == [15]
    assert std == pytest.approx([error / 10])


def test_bins_that_bounds_cut_end_there():
    """Of numbers, of whole ones and of instants to the nanosecond; rows lie evenly in what is left."""
    ratings = Axis.of(pd.interval_range(1.0, 6.0, closed="left"), (1.0, 5.0))
    half = Axis.of(pd.interval_range(0.0, 20.0, freq=10, closed="left"), (0.0, 15.0))
    whole = Axis.of(pd.IntervalIndex.from_arrays([0, 4, 8], [3, 7, 9], closed="both"), (0, 9))
    last = pd.Timestamp("2025-01-02 23:59:59.999999999")
    breaks = pd.date_range("2025-01-01", periods=3)
    days = Axis.of(pd.IntervalIndex.from_breaks(breaks, closed="left"), (breaks[0].value, last.value))

    for axis, q, wanted in (
        (ratings, [0, 0.9, 1], [1, 5, 5]),
        (half, [0.5, 0.75, 1], [10, 12.5, 15]),
        (whole, [1], [9]),
        (days, [0, 1], [breaks[0], last]),
    ):
        positions = np.arange(len(axis.low) + 1, dtype=float)[None, :]
        values, std = quantiles(positions, 0.3 * (positions > 0), axis, np.array(q, dtype=float))

        assert list(values) == wanted
        assert not pd.isna(std).any()


def test_an_exact_end_does_not_make_its_quantile_exact():
    """The last row is where the noisy curve first gets there, asked alone or with others."""
    positions, spread = np.array([[0.0, 5, 5, 6]]), np.array([[0.0, 2, 2, 0]])

    for q in ([1.0], [0.5, 1.0]):
        std = quantiles(positions, spread, Axis.of(pd.RangeIndex(3)), np.array(q))[1]

        assert std[-1] > 0
    assert quantiles(positions, 0 * spread, Axis.of(pd.RangeIndex(3)), np.array([1.0]))[1].tolist() == [0]


def test_a_line_without_rows_has_no_quantile():
    """NaN, NaT or no category; other lines are not touched."""
    positions = [[0, 0, 0], [0, 1, 2]]
    days = pd.date_range("2020-01-01", periods=2)
    ranks = pd.CategoricalIndex(["a", "b"], ordered=True)

    assert _ask(pd.RangeIndex(2), positions, [0.5])[0].tolist()[1] == 0
    assert np.isnan(_ask(pd.RangeIndex(2), positions, [0.5])[0][0])
    assert _ask(days, positions, [0.5])[0].isna().tolist() == [True, False]
    assert _ask(ranks, positions, [0.5])[0].isna().tolist() == [True, False]
