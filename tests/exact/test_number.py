"""Numbers are read exactly, once, and written back so that they read the same."""

import ast
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, EpsilonError
from pandas_blowfish.exact import number as module
from pandas_blowfish.exact.number import canonical, canonical_value, epsilon_of, exact, number, plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (5, Fraction(5)),
        (1e-5, Fraction(1, 100_000)),
        (1e22, Fraction(10**22)),
        (-0.0, Fraction(0)),
        ("0.25", Fraction(1, 4)),
        (" 1/3 ", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("0.29"), Fraction(29, 100)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    ],
)
def test_numbers_are_read_as_they_were_written(value, expected):
    """Every accepted type is the decimal its writer meant."""
    result = exact(value)

    assert result == expected
    assert type(result) is Fraction


@pytest.mark.parametrize("value", [True, False, np.True_, None, b"1", [1], 1j, pd.NA, np.timedelta64(1, "D")])
def test_what_is_not_a_number_is_refused(value):
    """A bool, and anything that is no number, is a type error that names the argument."""
    with pytest.raises(ArgumentTypeError) as caught:
        exact(value, "theta")

    assert caught.value.argument == "theta"
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        np.float32("nan"),
        np.float64("-inf"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1e999999"),
        "nan",
        "inf",
        "",
        "one",
        "1/0",
        "1e99999999",
        "1e-99999999",
        "9" * 3000,
        pytest.param(10**5000, id="long int"),
        Fraction(1, 10**5000),
        Decimal("0." + "1" * 6000),
    ],
)
def test_absurd_numbers_are_refused(value):
    """What is not finite, or too long to print, is refused before it costs memory."""
    with pytest.raises(ArgumentError):
        exact(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_to_themselves(value):
    """The fraction of a float rounds to that float."""
    result = exact(value)

    assert float(result) == value


@given(st.fractions())
def test_plain_round_trips(value):
    """A fraction written plainly reads back as itself."""
    written = plain(value)

    assert exact(written) == value
    assert isinstance(written, (int, str))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(3), 3),
        (Fraction(-1, 4), "-0.25"),
        (Fraction(1, 3), "1/3"),
        (Fraction(29, 100), "0.29"),
        (Fraction(1, 2**30), f"1/{2**30}"),
        (Fraction(1, 1000), "0.001"),
    ],
)
def test_plain_prefers_decimals(value, expected):
    """Short decimals are decimals, the rest is p/q."""
    assert plain(value) == expected


@pytest.mark.parametrize("value", [0, -1, "-0.1", float("nan"), "1e9999", "x"])
def test_epsilon_must_be_positive_and_finite(value):
    """A privacy parameter that is no positive number is its own error."""
    with pytest.raises(EpsilonError):
        epsilon_of(value)


def test_epsilon_keeps_type_errors():
    """A bool epsilon is a type error, a good one an exact fraction."""
    assert epsilon_of(0.1) == Fraction(1, 10)

    with pytest.raises(ArgumentTypeError):
        epsilon_of(True)


def test_number_shows_whole_fractions_as_ints():
    """What pandas shows is an int where it is whole, a float elsewhere."""
    assert (number(Fraction(4)), number(Fraction(1, 2))) == (4, 0.5)
    assert type(number(Fraction(4))) is int


def test_canonical_is_json_data():
    """Nested values become what JSON keeps."""
    value = {
        1: (Fraction(1, 4), np.int64(2), np.True_, None),
        "t": pd.Timestamp("2020-01-01"),
        "f": 0.5,
        "g": np.float32(0.1),
    }

    result = canonical(value)

    assert result == {"1": ["0.25", 2, True, None], "t": "2020-01-01T00:00:00", "f": "0.5", "g": "0.1"}
    assert result["1"][2] is True


def test_canonical_value_keeps_floats():
    """A declared float stays a float, numpy's become Python's."""
    values = [0.5, np.float32(0.1), np.float64(2.0), np.int8(3), np.str_("x"), np.False_]

    result = [canonical_value(value) for value in values]

    assert result == [0.5, 0.1, 2.0, 3, "x", False]
    assert [type(value) for value in result] == [float, float, float, int, str, bool]


def test_exact_numbers_need_no_numpy():
    """The ledger reads fractions in processes that never load numpy."""
    source = Path(module.__file__).read_text()

    imported = {node.names[0].name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import)}

    assert imported == {"math", "numbers"}
