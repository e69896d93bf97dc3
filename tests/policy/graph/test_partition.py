"""Groups of a partition, in every form a person may write."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import ArgumentError, DomainTooLargeError, SecretError
from pandas_blowfish.policy.domain import from_dict, integers
from pandas_blowfish.policy.graph.partition import group_cells, plain_groups, width_of

LETTERS = from_dict("c", {"type": "category", "values": ["a", "b", "c", "d"]})
AGES = integers("age", 0, 9)
REAL = from_dict("x", {"type": "float", "min": 0, "max": 1, "step": "0.25"})
DAYS = from_dict("t", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-04", "step": "1D"})
LISTED = from_dict("n", {"type": "integer", "values": [1, 3, 7, 9]})


@pytest.mark.parametrize(
    ("groups", "column", "cells"),
    [
        ({"p": ["a", "c"], "q": ["b", "d"]}, LETTERS, [0, 1, 0, 1]),
        ({"a": "p", "b": "q", "c": "p", "d": "q"}, LETTERS, [0, 1, 0, 1]),
        ([["d"], ("a", "b"), {"c"}], LETTERS, [1, 1, 2, 0]),
        ([pd.Index(["a", "b"]), np.array(["c", "d"])], LETTERS, [0, 0, 1, 1]),
        ({"width": ["a", "b", "c", "d"]}, LETTERS, [0, 0, 0, 0]),
        ([range(0, 4), range(4, 10)], AGES, [0] * 4 + [1] * 6),
        ([range(0, 9), range(9, 10)], AGES, [0] * 9 + [1]),
        ({"even": range(0, 10, 2), "odd": range(1, 10, 2)}, AGES, [0, 1] * 5),
        ([range(-5, 5), range(5, 500)], AGES, [0] * 5 + [1] * 5),
        ({0: "lo", **dict.fromkeys(range(1, 10), "hi")}, AGES, [0] + [1] * 9),
        (5, AGES, [0] * 5 + [1] * 5),
        ("4", AGES, [0] * 4 + [1] * 4 + [2] * 2),
        ({"width": 10**30}, AGES, [0] * 10),
        (0.5, REAL, [0, 0, 1, 1, 2]),
        ([pd.Interval(0, 0.5, "left"), pd.Interval(0.5, 9, "left")], REAL, [0, 0, 1, 1, 1]),
        ([pd.Interval(0, 1, "left"), pd.Interval(1, 2, "left")], REAL, [0, 0, 0, 0, 1]),
        ([{"low": 0, "high": 0.25}, {"low": 0.25, "high": 2}], REAL, [0, 1, 1, 1, 1]),
        ("2D", DAYS, [0, 0, 1, 1]),
        (dt.timedelta(days=2), DAYS, [0, 0, 1, 1]),
        (pd.Timedelta("1D"), DAYS, [0, 1, 2, 3]),
        (
            [[dt.date(2020, 1, 1), "2020-01-03"], ["2020-01-02", pd.Timestamp("2020-01-04")]],
            DAYS,
            [0, 1, 0, 1],
        ),
        (
            np.array([["2020-01-01", "2020-01-02"], ["2020-01-03", "2020-01-04"]], "M8[ns]"),
            DAYS,
            [0, 0, 1, 1],
        ),
        ([range(0, 4), range(4, 10)], LISTED, [0, 0, 1, 1]),
        ({"p": [1, 9.0], "q": ["3", 7]}, LISTED, [0, 1, 1, 0]),
    ],
    ids=str,
)
def test_every_form_gives_the_cells(groups, column, cells):
    """Groups written in any form become plain JSON data and then the group of each cell."""
    plain = plain_groups(groups)

    result = group_cells(plain, column)

    assert result.tolist() == cells
    assert json.loads(json.dumps(plain)) == plain
    assert plain_groups(plain) == plain


@pytest.mark.parametrize(
    ("groups", "column", "problem"),
    [
        ({"p": ["a", "b"]}, LETTERS, "in no group"),
        ({"p": ["a", "b", "c"], "q": ["c", "d"]}, LETTERS, "two groups"),
        ({"p": ["a", "b", "c", "d", "z"]}, LETTERS, "not a declared value"),
        ([range(0, 5), range(4, 10)], AGES, "two groups"),
        ([range(0, 9)], AGES, "in no group"),
        ([pd.Interval(0, 0.3, "left")], REAL, "edge of a cell"),
        ([range(0, 4)], LETTERS, "no axis"),
        (5, LETTERS, "evenly spaced"),
        (5, LISTED, "evenly spaced"),
        ("0.3", REAL, "multiple of the step"),
        ("x", AGES, "not a number"),
        (5, DAYS, "not a time span"),
        ("5h", DAYS, "multiple of the step"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, column, problem):
    """Each declared value is in exactly one group, made of whole cells."""
    with pytest.raises(SecretError, match=problem) as caught:
        group_cells(plain_groups(groups), column)

    assert caught.value.column == column.name


@pytest.mark.parametrize(
    "groups",
    [
        None,
        [],
        ["a", "b"],
        True,
        object(),
        [{"low": 1}],
        {"p": {"low": 1}},
        [pd.Interval(0, 1)],
        float("nan"),
    ],
)
def test_what_is_not_groups_is_refused(groups):
    """Anything but groups or a width is an ArgumentError."""
    with pytest.raises(ArgumentError):
        plain_groups(groups)


def test_sets_have_a_stable_order():
    """A set of values is written in the same order in every process."""
    assert plain_groups([{"b", "c", "a"}]) == [["a", "b", "c"]]


def test_groups_of_very_many_cells_have_a_width():
    """Listing them would take gigabytes; those of a width are worked out where they are needed."""
    many = integers("n", 0, 99_999_999)

    with pytest.raises(DomainTooLargeError):
        group_cells([[0], [1]], many)

    assert width_of(10, many) == 10
