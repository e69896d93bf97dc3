"""Domains: products of columns, their plain form, and what is refused."""

import enum
import json
import math
import random

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import (
    BlowfishError,
    DomainTooLargeError,
    SchemaError,
    UnboundedColumnError,
    UndeclaredColumnError,
)
from pandas_blowfish.policy.attribute import Grid, Unbounded
from pandas_blowfish.policy.domain import (
    Domain,
    from_dict,
    integers,
    numeric_attribute,
    read_step,
    to_dict,
    values_attribute,
)

SPECS = [
    {"type": "integer", "min": 0, "max": 9},
    {"type": "integer", "min": 0, "max": 99, "step": 10, "nullable": True},
    {"type": "integer", "min": -(2**61), "max": 2**61},
    {"type": "float", "min": 0, "max": "0.29", "step": "0.01"},
    {"type": "float", "min": "1/3", "max": 5, "step": "1/3", "exclusive_min": True, "exclusive_max": True},
    {"type": "datetime", "min": "2020-01-01T00:00:00", "max": "2020-01-31T00:00:00", "step": "1D"},
    {
        "type": "datetime",
        "min": "2020-01-01T00:00:00+01:00",
        "max": "2020-07-01T00:00:00+02:00",
        "step": "1ns",
        "tz": "Europe/Paris",
    },
    {
        "type": "datetime",
        "values": ["2020-01-01T00:00:00+01:00", "2020-07-01T00:00:00+02:00"],
        "tz": "Europe/Paris",
    },
    {"type": "bool", "values": [False, True]},
    {"type": "category", "values": ["b", 1, 2.5], "ordered": True},
    {"type": "string", "values": ["yes", "no", "1e5", "null", "é"], "nullable": True},
    {"type": "integer", "values": [3, 1, 2]},
    {"type": "float", "values": [0.1, 1e-05]},
    {"type": "float"},
    {"type": "float", "step": "0.5"},
    {"type": "datetime", "step": "1D"},
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_plain_form_round_trips(spec):
    """What `to_dict` writes is JSON, and reads back as the same column."""
    column = from_dict("x", spec)

    written = to_dict(column)

    assert written == spec
    again = from_dict("x", json.loads(json.dumps(written)))
    assert again == column
    assert not column.bounded or again.cells > 10**6 or again.index().equals(column.index())


def test_instants_of_two_offsets_are_one_column():
    """Values on both sides of a clock change share one zone in the index, also after a round trip."""
    stamps = [pd.Timestamp("2020-01-01", tz="Europe/Paris"), pd.Timestamp("2020-07-01", tz="Europe/Paris")]

    column = from_dict("t", to_dict(values_attribute("t", "datetime", stamps, nullable=False)))

    assert column.labels().tolist() == stamps
    assert str(column.labels().tz) == "Europe/Paris"


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"type": "complex"},
        {"type": "integer", "min": 5, "max": 4},
        {"type": "integer", "min": 0.2, "max": 0.8},
        {"type": "float", "min": 1, "max": 1, "step": 1, "exclusive_max": True},
        {"type": "integer", "min": 0, "max": 9, "step": 0},
        {"type": "integer", "min": 0, "max": 9, "step": "0.5"},
        {"type": "integer", "min": 0, "max": 9, "step": 10**30},
        {"type": "integer", "min": 0, "max": 2**63},
        {"type": "integer", "min": True, "max": 9},
        {"type": "integer", "min": 0, "max": float("inf")},
        {"type": "float", "min": 0, "max": 1, "step": -1},
        {"type": "float", "min": 0, "max": 1, "step": "1D"},
        {"type": "float", "min": 0, "max": "1e400", "step": "1e390"},
        {"type": "float", "min": "1e15", "max": "1000000000000001", "step": "0.07"},
        {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01", "step": 5},
        {"type": "datetime", "min": "0001-01-01", "max": "2021-01-01", "step": "1D"},
        {"type": "datetime", "min": "2020-01-01", "max": "now", "step": "1D"},
        {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01T00:00Z", "step": "1D"},
        {"type": "datetime", "min": "2020-01-01T00Z", "max": "2021-01-01T00:00Z", "step": "1D", "tz": "Mars"},
        {"type": "category"},
        {"type": "category", "values": []},
        {"type": "category", "values": "abc"},
        {"type": "category", "values": 5},
        {"type": "category", "values": ["a", "a"]},
        {"type": "category", "values": ["a", None]},
        {"type": "category", "values": [1, True]},
        {"type": "category", "values": [["a"], ["b"]]},
        {"type": "category", "values": [pd.Interval(0, 1)]},
        {"type": "category", "values": {"a"}},
        {"type": "integer", "values": [1, 1.0]},
        {"type": "integer", "values": [1.5]},
        {"type": "integer", "values": [1, 2**70]},
        {"type": "integer", "values": [-1, 2**63]},
        {"type": "integer", "values": [True]},
        {"type": "integer", "values": ["a"]},
        {"type": "bool", "values": [0, 1]},
        {"type": "string", "values": ["a", 1]},
        {"type": "datetime", "values": ["2020-01-01", "x"]},
        {"type": "datetime", "values": ["2020-01-01", "2020-01-01T00:00Z"]},
        {"type": "datetime", "values": [5]},
        {"type": "integer", "min": 0, "max": 9, "steps": 2},
        {"type": "integer", "values": [1], "min": 0},
        {"type": "integer", "min": 0, "max": 9, "nullable": "no"},
    ],
    ids=str,
)
def test_what_makes_no_column_is_refused(spec):
    """Every slip in a column's description is a SchemaError that names the column."""
    with pytest.raises(SchemaError) as caught:
        from_dict("x", spec)

    assert caught.value.column == "x"
    assert caught.value.fix


def test_steps_of_huge_integers_and_fine_instants_are_taken():
    """Only floats need a step that floats can tell apart."""
    whole = from_dict("x", {"type": "integer", "min": 2**60, "max": 2**60 + 5})
    fine = from_dict("t", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-02", "step": "1ns"})

    assert whole.labels().tolist() == list(range(2**60, 2**60 + 6))
    assert fine.cells == 86_400 * 10**9 + 1


def test_float_edges_always_differ():
    """A step that is accepted cuts different floats, whatever the offset."""
    draw = random.Random(5)
    for _ in range(200):
        low, step = 10.0 ** draw.randint(-3, 17) * draw.random(), 10.0 ** draw.randint(-8, 3) * draw.random()
        try:
            column = numeric_attribute(
                "x", "float", low, float(np.nextafter(low + 20 * step, math.inf)), step
            )
        except SchemaError:
            continue

        edges = column.lows(column.cells + 1)

        assert (np.diff(edges) > 0).all()


def test_aware_bounds_bring_their_zone():
    """Bounds written with an offset need no tz beside them."""
    column = from_dict(
        "t", {"type": "datetime", "min": "2020-01-01T00:00Z", "max": "2020-01-03T00:00Z", "step": "1D"}
    )

    assert column.tz == "UTC"
    assert column.cells == 3


def test_values_become_plain():
    """Numpy scalars and members of enumerations become the values a policy can write down."""

    class Colour(enum.StrEnum):
        RED = "red"

    column = values_attribute("c", "category", [Colour.RED, np.str_("x"), np.int8(3)], nullable=False)

    assert column.values == ("red", "x", 3)
    assert [type(value) for value in column.values] == [str, str, int]


def test_equal_values_are_equal_columns():
    """1 and 1.0 in a float column, or 2.0 in an integer one, are the same declaration."""
    floats = [from_dict("x", {"type": "float", "values": values}) for values in ([1, 2], [1.0, "2"])]
    whole = [from_dict("x", {"type": "integer", "values": values}) for values in ([1, 2], [1.0, 2.0])]

    assert json.dumps(to_dict(floats[0])) == json.dumps(to_dict(floats[1]))
    assert json.dumps(to_dict(whole[0])) == json.dumps(to_dict(whole[1]))


def test_products_have_a_shape_and_select_in_order():
    """Columns are found by name, sizes multiply, missing cells count."""
    domain = Domain((integers("a", 0, 4), integers("b", 0, 2, nullable=True), Unbounded("u", "float", False)))

    chosen = domain.select(["b", "a"])

    assert (chosen.columns, chosen.shape, chosen.size) == (("b", "a"), (4, 5), 20)
    assert Domain(()).size == 1
    assert [column.name for column in domain] == ["a", "b", "u"]


def test_unknown_unbounded_and_huge_columns_are_refused():
    """Each is its own error, and says what would help."""
    domain = Domain(
        (Unbounded("u", "float", False), integers("id", 0, 10**12)), {"w": "add Check.isin([...])."}
    )

    with pytest.raises(UnboundedColumnError):
        domain.select(["u"])
    with pytest.raises(DomainTooLargeError, match="'id'"):
        domain.select(["id"])
    with pytest.raises(UndeclaredColumnError, match="isin") as caught:
        domain["w"]
    assert caught.value.declared == ["u", "id"]


def test_integers_checks_its_bounds():
    """The short constructor refuses what the long one does."""
    assert isinstance(integers("x", 0, 1), Grid)

    with pytest.raises(SchemaError):
        integers("x", 1, 0)


@pytest.mark.parametrize(
    ("kind", "step"), [("integer", -1), ("float", 0), ("datetime", "-1D"), ("integer", "x")]
)
def test_bad_steps_are_typed_errors(kind, step):
    """A step that is not positive is refused by one of our own errors."""
    with pytest.raises(BlowfishError):
        read_step(kind, step)


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0, 2**52, 1), (0, "4503599627370495.5", 1), ("1/97", 10**9, "1e-6")]
)
def test_float_cells_that_cannot_be_placed_are_refused(low, high, step):
    """Too many to list their edges, and too fine to work each out: a typed refusal and no MemoryError."""
    with pytest.raises(SchemaError, match="more cells than can be listed"):
        from_dict("x", {"type": "float", "min": low, "max": high, "step": step})
    assert from_dict("x", {"type": "float", "min": 0, "max": 10**9, "step": "0.001"}).cells == 10**12 + 1
    assert from_dict("x", {"type": "float", "min": "0.1", "max": "1e9", "step": "1/3"}).cells > 10**9
