"""Names as a caller writes them: one or several columns, a strategy."""

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.queries.call.scope import column_names, strategy_name


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("a", ["a"]),
        (["a"], ["a"]),
        (("a", "b"), ["a", "b"]),
        (pd.Index(["b", "a"]), ["b", "a"]),
        (np.array(["a", "b"]), ["a", "b"]),
    ],
)
def test_columns_become_a_list(columns, expected):
    """One name, a list, a tuple, an Index or an array, in the order given."""
    assert column_names(columns) == expected


@pytest.mark.parametrize("columns", [None, 3, ["a", 3], {"a"}, {"a": 1}, (c for c in "ab"), b"a", [["a"]]])
def test_what_names_no_column_is_a_type_error(columns):
    """Sets have no order, and other things are no names."""
    with pytest.raises(ArgumentTypeError, match="names"):
        column_names(columns)


@pytest.mark.parametrize("columns", [[], (), ["a", "a"]])
def test_no_column_or_one_twice_is_refused(columns):
    """A column is asked for once."""
    with pytest.raises(ArgumentError, match="different"):
        column_names(columns)


def test_strategies_are_named():
    """A strategy is given by its name."""
    assert strategy_name("auto") == "auto"
    with pytest.raises(ArgumentTypeError, match="auto"):
        strategy_name(None)


def test_columns_that_are_left_out_are_said_to_be():
    """hist(epsilon=1) on rows, say: nothing was given, rather than something wrong."""
    with pytest.raises(ArgumentTypeError, match="columns: not given"):
        column_names(None)
