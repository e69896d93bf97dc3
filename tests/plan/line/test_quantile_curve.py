"""Quantiles read off cumulative counts, on every kind of axis."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.plan.line.quantile_curve import LEVELS, Axis, Curves, cell_bounds, quantiles

INSIDE = ("linear", "lower", "midpoint", "higher")


def _ask(cells, positions, q, spread=None, inside="linear"):
    positions = np.atleast_2d(np.array(positions, dtype=float))
    spread = np.zeros(positions.shape) if spread is None else np.full(positions.shape, float(spread))
    return quantiles(_curves(positions, spread), Axis.of(cells), np.array(q, dtype=float), inside)


def _curves(positions, spread, law="any"):
    rest = np.sqrt(spread[:, -1:] ** 2 - spread**2) if law == "cells" else None
    return Curves(positions, np.maximum.accumulate(positions, axis=1), spread, rest, law == "sums")


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
    """A hundred rows in a bin of ten: an error of a row moves it by a tenth; the bin's width is added."""
    bins = pd.interval_range(0.0, 30.0, freq=10, closed="left")
    positions, spread = np.array([[0.0, 100, 200, 300]]), np.array([[0.0, error, error, 0]])

    values, std = quantiles(_curves(positions, spread), Axis.of(bins), np.array([0.5]))

    assert values.tolist() == [15]
    assert std == pytest.approx([np.hypot(error / 10, 10 / np.sqrt(12))])


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
        values, std = quantiles(_curves(positions, 0.3 * (positions > 0)), axis, np.array(q, dtype=float))

        assert list(values) == wanted
        assert not pd.isna(std).any()


def test_an_exact_end_does_not_make_its_quantile_exact():
    """The last row is where the noisy curve first gets there, asked alone or with others."""
    positions, spread = np.array([[0.0, 5, 5, 6]]), np.array([[0.0, 2, 2, 0]])

    for q in ([1.0], [0.5, 1.0]):
        std = quantiles(_curves(positions, spread), Axis.of(pd.RangeIndex(3)), np.array(q))[1]

        assert std[-1] > 0
    exact = _curves(positions, 0 * spread)
    assert quantiles(exact, Axis.of(pd.RangeIndex(3)), np.array([1.0]))[1].tolist() == [0]


def test_a_line_without_rows_has_no_quantile():
    """NaN, NaT or no category; other lines are not touched."""
    positions = [[0, 0, 0], [0, 1, 2]]
    days = pd.date_range("2020-01-01", periods=2)
    ranks = pd.CategoricalIndex(["a", "b"], ordered=True)

    assert _ask(pd.RangeIndex(2), positions, [0.5])[0].tolist()[1] == 0
    assert np.isnan(_ask(pd.RangeIndex(2), positions, [0.5])[0][0])
    assert _ask(days, positions, [0.5])[0].isna().tolist() == [True, False]
    assert _ask(ranks, positions, [0.5])[0].isna().tolist() == [True, False]


def test_parts_of_a_cell_are_chosen_as_pandas_names_them():
    """The beginning, the middle or the end of the bin; a whole number is itself."""
    bins, closed = (
        pd.interval_range(0, 20, freq=10, closed="left"),
        pd.IntervalIndex.from_arrays([0], [9], "both"),
    )

    assert [_ask(bins, [0, 4, 8], [0.7], inside=each)[0].item() for each in INSIDE] == [14, 10, 15, 20]
    assert [_ask(closed, [0, 4], [0.7], inside=each)[0].item() for each in INSIDE] == [7, 0, 5, 9]
    assert [_ask(pd.RangeIndex(2), [0, 4, 8], [0.7], inside=each)[0].item() for each in INSIDE] == [1] * 4


@pytest.mark.parametrize("law", ["sums", "cells", "any"])
@pytest.mark.parametrize("counts", ["ties", "even", "empty tails", "few"])
def test_cells_are_covered_whatever_the_curve(counts, law):
    """Each level by itself, with the noise of cells or of sums, whole or nearly without rows."""
    draw, size, q = np.random.default_rng(3), 150, np.array([0.02, 0.5, 0.51, 0.9, 1])
    rows = {
        "ties": np.where(np.arange(size) % 50 == 0, 500, 3),
        "even": np.full(size, 12),
        "empty tails": np.where(np.abs(np.arange(size) - 75) < 3, 300, 0),
        "few": np.where(np.arange(size) == 75, 10, 0),
    }[counts]
    truth = np.append(0, np.cumsum(rows))
    cells = (truth[1:] >= q[:, None] * truth[-1]).argmax(axis=1)
    inside, repeats = np.zeros((len(q), len(LEVELS))), 400

    for _ in range(repeats):
        noise = draw.laplace(0, 20, size)
        noise = np.append(0, noise if law != "cells" else np.cumsum(noise))
        spread = np.full(size, 20 * np.sqrt(2)) * (np.sqrt(np.arange(size) + 1) if law == "cells" else 1)
        curves = _curves((truth + noise)[None], np.append(0, spread)[None], law)
        first, last = cell_bounds(curves, Axis.of(pd.RangeIndex(size)), q)
        inside += (first <= cells[:, None]) & (cells[:, None] <= last)

    level = np.array([float(each) for each in LEVELS])
    assert (inside / repeats >= level - 3 * np.sqrt(level * (1 - level) / repeats)).all()


def test_higher_levels_hold_lower_ones_and_the_value():
    """Bands only grow; the cell that the value is read off is always among them."""
    draw, axis, q = np.random.default_rng(5), Axis.of(pd.RangeIndex(200)), np.array([0.1, 0.5, 0.99])

    for _ in range(20):
        positions = np.append(0, 5 * np.arange(200) + draw.laplace(0, 60, 200))[None]
        curves = _curves(positions, np.append(0, np.full(200, 85))[None])
        first, last = cell_bounds(curves, axis, q)

        assert (np.diff(first, axis=1) <= 0).all()
        assert (np.diff(last, axis=1) >= 0).all()
        values = quantiles(curves, axis, q)[0]
        assert ((first[:, 0] <= values) & (values <= last[:, 0])).all()


def test_empty_tails_are_ruled_out_by_means_of_many():
    """Single positions that noise throws across are not enough where hundreds say otherwise."""
    draw, size = np.random.default_rng(6), 4_000
    positions = np.append(0, np.minimum(10 * np.arange(1, size + 1), 1_000) + draw.laplace(0, 60, size))[None]
    curves = _curves(positions, np.append(0, np.full(size, 60 * np.sqrt(2)))[None], "sums")

    last = cell_bounds(curves, Axis.of(pd.RangeIndex(size)), np.array([0.5]))[1]

    assert last[0, LEVELS.index(Fraction("0.95"))] < 300


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_errors_at_a_share_are_those_of_dense_covariances(q):
    """From the errors before a position, after it and of all; bounds are at least as large."""
    draw = np.random.default_rng(9)
    mix = draw.normal(size=(7, 5))
    covariance = mix.T @ mix  # of five counts
    before = np.tri(6, 5, -1)
    spread, rest = (np.sqrt(np.diag(m @ covariance @ m.T))[None] for m in (before, 1 - before))
    dense = before - q * before[-1]

    exact = Curves(spread, spread, spread, rest).errors(0, q)

    assert exact == pytest.approx(np.sqrt(np.diag(dense @ covariance @ dense.T)))
    assert (Curves(spread, spread, spread).errors(0, q) >= exact - 1e-9).all()
