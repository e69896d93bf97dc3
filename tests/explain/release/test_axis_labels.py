"""Cells lie on an axis where their values do, or one after the other with their names."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.explain.release.axis_labels import (
    in_lines,
    name_of,
    numbers_of,
    places_of,
    plain,
    write_units,
)

mpl.use("Agg")
DAYS = pd.date_range("2026-01-01", periods=4, freq="1D", tz="Europe/Paris")


def _axis(places, label="x"):
    from matplotlib.figure import Figure

    axis = Figure().subplots().xaxis
    write_units(axis, places, label)
    return axis


@pytest.mark.parametrize(
    ("cells", "left", "right"),
    [
        (pd.Index([0, 1, 2]), [-0.5, 0.5, 1.5], [0.5, 1.5, 2.5]),
        (pd.Index([2, 0]), [1, -1], [3, 1]),
        (pd.Index([7]), [6.5], [7.5]),
        (pd.IntervalIndex.from_tuples([(0, 9), (10, 19)], closed="both"), [-0.5, 9.5], [9.5, 19.5]),
        (pd.IntervalIndex.from_breaks([0.0, 0.5, 2.0], closed="left"), [0, 0.5], [0.5, 2]),
    ],
    ids=["integers", "some integers", "one integer", "bins", "uneven bins"],
)
def test_numbers_lie_where_they_are(cells, left, right):
    """Whole numbers reach half a step around, bins from edge to edge."""
    places = places_of(cells, listed=False)

    assert places.left.tolist() == left
    assert places.right.tolist() == right
    assert places.labels is None
    assert places.missing is None
    assert places.middle.tolist() == [(a + b) / 2 for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (pd.CategoricalIndex(["b", "a", None]), ["b", "a", "missing"]),
        (pd.Index([True, False]), ["True", "False"]),
        (pd.Index([1, 50, 1000]), ["1", "50", "1000"]),
        (pd.Index([1, 1.5, 1.75, 19]), ["1", "1.5", "1.75", "19"]),
        (pd.Index([], dtype="int64"), []),
        (DAYS[:2], ["2026-01-01", "2026-01-02"]),
        (pd.IntervalIndex.from_tuples([(1.5, 1.5), (2.5, 3.5)], closed="both"), ["[1.5, 1.5]", "[2.5, 3.5]"]),
    ],
    ids=["categories", "bool", "far apart", "uneven", "none", "listed days", "points"],
)
def test_lists_lie_one_after_the_other(cells, names):
    """What has no even axis is written out, in the order given."""
    places = places_of(cells, listed=False)

    assert places.labels == names
    assert places.middle.tolist() == list(range(len(names)))


@pytest.mark.parametrize(
    "cells",
    [
        pd.Index([0.0, 1.0, 2.0, np.nan]),
        pd.IntervalIndex.from_arrays([0, 10, np.nan], [9, 19, np.nan], closed="both"),
        pd.IntervalIndex.from_breaks(DAYS, closed="left").insert(3, np.nan),
    ],
    ids=["integers", "bins", "days"],
)
def test_missing_values_stand_beside_the_axis(cells):
    """The missing cell comes last, after a gap, with its name as a tick."""
    places = places_of(cells, listed=False)
    axis = _axis(places)

    assert places.left[-1] > places.right[:-1].max()
    assert places.left[-1] < places.missing < places.right[-1]
    assert axis.get_ticklabels()[-1].get_text() == "missing"
    assert axis.get_ticklocs()[-1] == places.missing
    assert len(axis.get_ticklocs()) > 1


def test_whole_numbers_beside_missing_keep_their_width():
    """Bins [0, 9] that became floats beside a missing cell still touch."""
    cells = pd.IntervalIndex.from_arrays([0, 10, np.nan], [9, 19, np.nan], closed="both")

    places = places_of(cells, listed=False)

    assert places.right[0] == places.left[1] == 9.5


def test_days_are_shown_by_their_own_clock():
    """A day in Paris begins at midnight on the axis, not at eleven in the evening."""
    places = places_of(pd.IntervalIndex.from_breaks(DAYS, closed="left"), listed=False)

    assert places.dates
    assert (places.left % 1 == 0).all()
    assert (places.right - places.left == 1).all()
    assert "Date" in type(_axis(places).get_major_formatter()).__name__


def test_names_are_readable():
    """Intervals, days, missing values and tuples of them."""
    day = pd.Timestamp("2026-02-01")

    assert name_of(pd.Interval(0, 17, "both")) == "[0, 17]"
    assert name_of(pd.Interval(0.0, 100.0, "left")) == "[0, 100)"
    assert name_of(pd.Interval(day, day + pd.Timedelta("12h"), "left")) == "[2026-02-01, 2026-02-01 12:00)"
    assert name_of(("north", np.nan, True)) == "north, missing, True"
    assert name_of(pd.NaT) == "missing"
    assert plain("$5 to $10") == r"\$5 to \$10"


def test_values_become_numbers():
    """Categories are their places, a missing one none; dates are days."""
    codes, names, dates = numbers_of(pd.Series(pd.Categorical(["b", None], categories=["a", "b"])))

    assert codes[0] == 1
    assert np.isnan(codes[1])
    assert names == ["a", "b"]
    assert not dates
    assert numbers_of(pd.Series(DAYS))[2]
    assert numbers_of(pd.Series([1, 2]))[0].tolist() == [1, 2]


def test_many_long_names_are_turned():
    """Names that would run into each other are written at an angle, in lines, very long ones cut."""
    places = places_of(pd.Index([f"a rather long name {number} " * 3 for number in range(8)]), listed=False)

    labels = _axis(places).get_ticklabels()

    assert labels[0].get_rotation() == 35
    assert all(len(line) <= 26 for label in labels for line in label.get_text().split("\n"))
    assert {label.get_text().count("\n") for label in labels} == {1}


def test_long_names_are_wrapped():
    """Few stay level, in lines; names of one word are turned."""
    names = ["furniture or household equipment", "radio or television", "education"] * 2
    level = _axis(places_of(pd.Index(names), listed=False)).get_ticklabels()
    words = _axis(
        places_of(pd.Index([name.replace(" ", "") for name in names]), listed=False)
    ).get_ticklabels()

    assert "\n" in level[0].get_text()
    assert {label.get_text().replace("\n", " ") for label in level} == set(names)
    assert words[0].get_rotation() > 0


@pytest.mark.parametrize(
    ("name", "lines", "shown"),
    [
        ("a short one", 2, ["a short one"]),
        ("two lines that are full", 2, ["two lines"]),
        ("Donaudampfschiffahrt", 1, ["Donaudam..."]),
        ("", 1, [""]),
    ],
)
def test_names_in_lines(name, lines, shown):
    """No line is longer than asked for, and what does not fit is cut."""
    found = in_lines(name, 11, lines).split("\n")

    assert len(found) <= lines
    assert all(len(line) <= 11 for line in found)
    assert found[0] == shown[0]
