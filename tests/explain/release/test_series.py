"""Answers know when noise moved them to a bound, and are written as what they may be."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from pandas_blowfish.explain.release.series import Series, words_of, write_counts


def test_a_value_at_the_end_of_its_interval_is_at_a_bound():
    """Intervals are cut at bounds alone; exact values, and those of unknown error, are at none."""
    value, low = np.array([0.0, 5, 100, 7, 7]), np.array([0.0, 2, 90, np.nan, 6])
    high = np.array([4.0, 8, 100, np.nan, 9])

    one = Series("", np.arange(5), value, low, high)

    assert one.sides.tolist() == [-1, 0, 1, 0, 0]


def test_values_have_declared_bounds():
    """What lies at one is marked where its interval is wide: a sure value is there by itself."""
    value, low = np.array([0.0, 0.0, 100.0, 0.25]), np.array([0.0, 0.0, 20.0, 0.0])
    high, least = np.array([60.0, 0.5, 100.0, 40.0]), np.array([0.0, 0.0, 0.0, 0.25])

    one = Series("", np.arange(4), value, low, high, (least, np.full(4, 100.0)))

    assert one.sides.tolist() == [-1, 0, 1, -1]
    assert words_of(0.25, 0.0, 40.0, held=True) == "0 to 40"


def test_times_scales_answers_and_intervals():
    """By a number per cell, also where cells are in another order."""
    one = Series("", np.array([1, 0]), np.array([10.0, 20]), np.array([8.0, 18]), np.array([12.0, 22]))

    twice = one.times(np.array([1.0, 0.5]))

    assert twice.value.tolist() == [5, 20]
    assert twice.errors.tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((0.0, 0.0, 31.2), "0 to 32"),
        ((160.0, 12.0, 160.0), "12 to 160"),
        ((100.0, 70.0, 130.4), "100 \N{PLUS-MINUS SIGN} 31"),
        ((7.0, np.nan, np.nan), "7"),
        ((0.0, np.nan, np.nan), "0"),
    ],
)
def test_values_at_a_bound_are_written_as_what_they_may_be(answer, words):
    """Not as a number with an error that reaches beyond the bound."""
    assert words_of(*answer) == words


def test_counts_are_written_in_full():
    """Thousands are separated, large numbers have no exponent."""
    axes = Figure().subplots()
    axes.set_xlim(0, 5_000_000)

    write_counts(axes.xaxis)

    assert axes.xaxis.get_major_formatter()(2_000_000, 0) == "2,000,000"


def test_counts_are_written_as_whole_numbers():
    """Beside a bar no part of a row is shown; sums and means keep the digits of their errors."""
    assert words_of(251.4, 248.4, 254.4, whole=True) == "251 \N{PLUS-MINUS SIGN} 3"
    assert words_of(251.4, 248.4, 254.4) == "251.4 \N{PLUS-MINUS SIGN} 3.0"
