"""Cells of one column: every row of the table of domains, with exact edges."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import ArgumentError, DeclaredValueError, UnboundedColumnError
from pandas_blowfish.policy.attribute import Grid, Unbounded, Values
from pandas_blowfish.policy.domain import from_dict, integers


def floats(low, high, step, **extra):
    """Return a float column in bins."""
    return from_dict("x", {"type": "float", "min": low, "max": high, "step": step, **extra})


def days(low, high, step="1D", **extra):
    """Return a datetime column in bins."""
    return from_dict("t", {"type": "datetime", "min": low, "max": high, "step": step, **extra})


def test_whole_numbers_are_their_own_cells():
    """Each integer is a cell, named by itself in int64."""
    age = integers("age", -2, 3)

    labels = age.labels()

    assert (age.cells, age.single, age.ordered) == (6, True, True)
    assert labels.dtype == "int64"
    assert labels.tolist() == [-2, -1, 0, 1, 2, 3]
    assert [age.code(value) for value in labels] == list(range(6))


@pytest.mark.parametrize(
    ("high", "cells", "last"), [(99, 10, (90, 99)), (95, 10, (90, 95)), (90, 10, (90, 90))]
)
def test_whole_numbers_in_bins_are_closed_and_end_at_the_bound(high, cells, last):
    """Bins of ten are [0, 9], [10, 19], ...; the last one ends where the domain does."""
    age = integers("age", 0, high, 10)

    labels = age.labels()

    assert age.cells == cells
    assert isinstance(labels, pd.IntervalIndex)
    assert (labels.closed, str(labels.dtype)) == ("both", "interval[int64, both]")
    assert (labels[1].left, labels[1].right) == (10, 19)
    assert (labels[-1].left, labels[-1].right) == last
    assert (age.code(0), age.code(9), age.code(10), age.code(high)) == (0, 0, 1, 9)


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({"low": 0, "high": 1, "step": "0.1"}, 11),
        ({"low": 0, "high": 1, "step": "0.1", "exclusive_max": True}, 10),
        ({"low": 0, "high": "0.95", "step": "0.1"}, 10),
        ({"low": 0, "high": "0.95", "step": "0.1", "exclusive_max": True}, 10),
        ({"low": 0, "high": 1, "step": "0.1", "exclusive_min": True}, 11),
        ({"low": 0, "high": "0.29", "step": "0.01"}, 30),
        ({"low": 0, "high": 0.29, "step": 0.01, "exclusive_max": True}, 29),
        ({"low": 0, "high": 5, "step": 10}, 1),
        ({"low": 5, "high": 5, "step": 1}, 1),
        ({"low": 0, "high": 1, "step": "1/3"}, 4),
    ],
)
def test_floats_are_cut_from_exact_decimals(spec, cells):
    """There are floor((max - min) / step) + 1 cells; an exclusive max on an edge drops the last."""
    column = floats(**spec)

    labels = column.labels()

    assert column.cells == len(labels) == cells
    assert (labels.closed, labels.dtype.subtype) == ("left", np.dtype("float64"))
    assert labels.is_monotonic_increasing


@pytest.mark.parametrize(
    ("low", "step", "count"),
    [
        ("0", "0.1", 500),
        ("0", "0.07", 500),
        ("0", "1/3", 500),
        ("0", "1e-5", 1000),
        ("-0.3", "0.1", 100),
        ("0.123456789", "1e-9", 500),
        ("123456789012", "0.01", 200),
        ("-1e15", "0.5", 100),
        ("1e300", "1e290", 50),
        ("1/7", "1/11", 200),
        ("0.1", "1e-17", 100),
    ],
)
def test_lows_round_the_exact_edge_once(low, step, count):
    """Every edge is the float nearest to the exact decimal, never an accumulated sum."""
    column = Grid("x", "float", False, Fraction(low), Fraction(low) + 10**6, Fraction(step))

    edges = column.lows(count)

    assert edges.dtype == np.float64
    assert edges.tolist() == [float(Fraction(low) + i * Fraction(step)) for i in range(count)]


def test_every_decimal_falls_in_its_own_cell():
    """Percent 29 of 0.01 is cell 29, though 0.29 / 0.01 is 28.999 in floats."""
    column = floats(0, 1, "0.01")

    codes = [column.code(i / 100) for i in range(101)]

    assert codes == list(range(101))
    assert column.code(np.float32(0.29)) == column.code("0.29") == 29


def test_floats_are_placed_by_the_rounded_edges():
    """A float that equals a rounded edge begins its cell, as rows are counted."""
    column = floats(0, 1, "1/3")

    codes = [column.code(float(edge)) for edge in column.lows()]

    assert codes == [0, 1, 2, 3]
    assert column.code("0.3333333333333333") == 0


@pytest.mark.parametrize(
    ("column", "inside", "outside"),
    [
        (floats(0, 1, "0.5"), [0, 1.0], [-0.1, 1.01, float("nan"), True, "a"]),
        (floats(0, 1, "0.5", exclusive_max=True), [0, 0.99], [1, -1]),
        (floats(0, 1, "0.5", exclusive_min=True), [0.01, 1], [0, 0.0]),
        (integers("x", 0, 9), [0, 9, 9.0, "9"], [-1, 10, 0.5, True, None]),
        (days("2020-01-01", "2020-01-03"), ["2020-01-01", dt.date(2020, 1, 3)], ["2019-12-31", 5, "now"]),
    ],
)
def test_bounds_are_kept(column, inside, outside):
    """A constant within the bounds has a cell, any other is refused by the column's name."""
    assert all(0 <= column.code(value) < column.cells for value in inside)

    for value in outside:
        with pytest.raises(DeclaredValueError, match=repr(column.name)):
            column.code(value)


def test_integer_bounds_may_be_exclusive_or_off_the_integers():
    """Only whole numbers within the bounds are cells."""
    column = from_dict("x", {"type": "integer", "min": 0.5, "max": 5, "exclusive_max": True})

    assert column.labels().tolist() == [1, 2, 3, 4]
    assert not column.open_high


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (days("2020-01-01", "2020-01-31"), 31),
        (days("2020-01-01", "2020-01-31", exclusive_max=True), 30),
        (days("2020-01-01", "2020-01-31 12:00", exclusive_max=True), 31),
        (days("2020-01-01", "2020-01-02", "1h"), 25),
        (days("2020-01-01", "2020-01-01 00:00:00.000000003", "1ns"), 4),
        (days("2020-03-28T00:00+01:00", "2020-03-31T00:00+02:00", tz="Europe/Paris"), 3),
    ],
)
def test_instants_are_cut_evenly(column, cells):
    """Datetime cells are [start, start + step) in exact nanoseconds, also across a clock change."""
    labels = column.labels()

    assert column.cells == len(labels) == cells
    assert isinstance(labels, pd.IntervalIndex)
    assert labels.closed == "left"
    assert all(label.right - label.left == pd.Timedelta(int(column.step), unit="ns") for label in labels)
    assert [column.code(label.left) for label in labels] == list(range(cells))


def test_instants_show_in_the_column_zone():
    """A tz-aware column is labelled in its zone and placed by the instant, in whatever zone."""
    column = days("2020-07-01T00:00+02:00", "2020-07-02T00:00+02:00", "12h", tz="Europe/Paris")

    labels = column.labels()

    assert str(labels[0].left) == "2020-07-01 00:00:00+02:00"
    assert column.code(pd.Timestamp("2020-07-01 10:00", tz="UTC")) == 1
    assert column.code("2020-07-01 12:00") == 1  # text is read in the column's zone
    for value in (pd.Timestamp("2020-07-01"), "2020-07-01 10:00+00:00 or so"):
        with pytest.raises(DeclaredValueError):
            column.code(value)


def test_listed_values_keep_their_order():
    """Categories and text are a CategoricalIndex in schema order."""
    for kind in ("category", "string"):
        column = from_dict("c", {"type": kind, "values": ["b", "a", "c"]})

        labels = column.labels()

        assert isinstance(labels, pd.CategoricalIndex)
        assert labels.tolist() == labels.categories.tolist() == ["b", "a", "c"]
        assert not labels.ordered
        assert not column.ordered
        assert [column.code(value) for value in "bac"] == [0, 1, 2]


def test_ordered_categories_say_so():
    """An ordered category has an ordered index."""
    column = from_dict("c", {"type": "category", "values": ["low", "high"], "ordered": True})

    assert column.ordered
    assert column.labels().ordered


def test_bools_are_false_then_true_and_never_numbers():
    """A bool column has two cells; 0 and 1 are other values."""
    column = from_dict("b", {"type": "bool"})

    assert column.labels().tolist() == [False, True]
    assert column.labels().dtype == bool
    assert (column.code(False), column.code(np.True_)) == (0, 1)
    for value in (0, 1, "True"):
        with pytest.raises(DeclaredValueError):
            column.code(value)


def test_true_is_not_one():
    """A category that holds 1 does not hold True, nor the other way round."""
    column = from_dict("c", {"type": "category", "values": [1, "1", 2.5, False]})

    assert [column.code(value) for value in (1, "1", 2.5, 1.0, False)] == [0, 1, 2, 0, 3]
    for value in (True, 0):
        with pytest.raises(DeclaredValueError):
            column.code(value)


@pytest.mark.parametrize(
    ("spec", "dtype", "ordered"),
    [
        ({"type": "integer", "values": [1, 5, 9]}, "int64", True),
        ({"type": "integer", "values": [9, 1, 5.0]}, "int64", False),
        ({"type": "float", "values": [0.1, 2, "3.5"]}, "float64", True),
        ({"type": "datetime", "values": ["2020-01-01", "2020-02-01"]}, "datetime64[us]", True),
        (
            {"type": "datetime", "values": ["2020-01-01T00:00Z", "2020-01-01T02:00+01:00"]},
            "datetime64[us, UTC]",
            True,
        ),
    ],
)
def test_listed_numbers_and_instants_are_themselves(spec, dtype, ordered):
    """Listed numbers keep their order and dtype, and are found by value."""
    column = from_dict("x", spec)

    labels = column.labels()

    assert isinstance(column, Values)
    assert str(labels.dtype) == dtype
    assert column.ordered is ordered
    assert [column.code(value) for value in spec["values"]] == list(range(column.cells))


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        (integers("x", 0, 9), {-5: 0, 0: 0, 4: 4, 9: 9, 10: 10, 99: 10}),
        (integers("x", 0, 29, 10), {0: 0, 10: 1, 20: 2, 29: 3, 30: 3}),
        (floats(0, 1, "0.5", exclusive_max=True), {0: 0, 0.5: 1, 1.0: 2, 7: 2}),
        (floats(0, "0.9", "0.5"), {0.5: 1, 0.9: 2, 1: 2}),
        (from_dict("x", {"type": "integer", "values": [1, 3, 7]}), {0: 0, 1: 0, 2: 1, 3: 1, 7: 2, 8: 3}),
        (days("2020-01-01", "2020-01-03"), {"2020-01-02": 1, "2021-01-01": 3}),
    ],
)
def test_edges_are_where_cells_begin(column, edges):
    """An edge is the number of the cell that begins there; beyond the domain it is clipped."""
    assert {value: column.edge(value) for value in edges} == edges


def test_the_largest_value_ends_bins_only_when_asked():
    """In bins the closed maximum stands for the end; elsewhere it begins its own cell."""
    column = floats(0, 1, "0.5")

    assert (column.edge(1.0), column.edge(1.0, closed=False)) == (3, 2)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (integers("x", 0, 99, 10), 15),
        (floats(0, 1, "0.5"), 0.3),
        (days("2020-01-01", "2020-02-01"), "2020-01-01 06:00"),
    ],
)
def test_an_edge_inside_a_cell_is_refused(column, value):
    """A cut that does not fall between cells is an error that shows the declared bounds."""
    with pytest.raises(DeclaredValueError, match="edge of a cell"):
        column.edge(value)


def test_categories_have_no_axis():
    """Listed values that are no rising numbers cannot be cut."""
    for spec in ({"type": "category", "values": ["a"]}, {"type": "integer", "values": [2, 1]}):
        with pytest.raises(ArgumentError, match="no axis"):
            from_dict("c", spec).edge(1)


def test_merged_runs_are_named_by_their_ends():
    """Runs of cells are intervals, or first..last for categories."""
    ranked = from_dict("c", {"type": "category", "values": list("abcd"), "ordered": True})
    listed = from_dict("x", {"type": "integer", "values": [1, 3, 7]})

    whole = integers("x", 0, 9).name_runs([0, 5], [5, 10])
    real = floats(0, 1, "0.25").name_runs([0, 2], [2, 5])

    assert [str(label) for label in whole] == ["[0, 4]", "[5, 9]"]
    assert [str(label) for label in real] == ["[0.0, 0.5)", "[0.5, 1.25)"]
    assert ranked.name_runs([0, 3], [3, 4]).tolist() == ["a..c", "d"]
    assert [str(label) for label in listed.name_runs([0, 2], [2, 3])] == ["[1, 3]", "[7, 7]"]


def test_descriptions_show_what_was_declared():
    """Bounds, steps and values appear as a person writes them; long lists are cut."""
    many = from_dict("c", {"type": "category", "values": [f"v{i}" for i in range(50)]})

    assert integers("x", 0, 99).describe() == "[0, 99]"
    assert floats(0, 1, "0.25", exclusive_max=True).describe() == "[0, 1) by 0.25"
    assert days("2020-01-01", "2020-01-02").describe().endswith("by 1D")
    assert many.describe().endswith("(50 values)")


def test_unbounded_columns_have_no_cells():
    """Every question about cells is one typed error."""
    column = Unbounded("x", "float", False)

    questions = [
        lambda: column.cells,
        lambda: column.size,
        column.labels,
        column.index,
        lambda: column.code(1),
        lambda: column.edge(1),
        lambda: column.name_runs([0], [1]),
    ]

    assert (column.bounded, column.ordered, column.describe()) == (False, True, "any number")
    for question in questions:
        with pytest.raises(UnboundedColumnError):
            question()


def test_a_million_cells_are_quick():
    """Edges of a million decimal cells are one vectorised division."""
    column = floats(0, 100_000, "0.1")

    edges = column.lows()

    assert column.cells == 1_000_001
    assert edges[3] == 0.3
    assert edges[-1] == 100_000.0
