"""What every column answers: its cells, the missing one last."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DeclaredValueError, UndeclaredColumnError
from pandas_blowfish.policy.attribute import suggest, with_missing
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SPECS = {
    "integer": {"type": "integer", "min": 0, "max": 2},
    "binned": {"type": "integer", "min": 0, "max": 5, "step": 2},
    "float": {"type": "float", "min": 0, "max": 1, "step": "0.5"},
    "datetime": {"type": "datetime", "min": "2020-01-01", "max": "2020-01-02", "step": "1D"},
    "bool": {"type": "bool"},
    "category": {"type": "category", "values": ["b", "a"]},
    "string": {"type": "string", "values": ["b", "a"]},
    "stamps": {"type": "datetime", "values": ["2020-01-01", "2020-03-01"]},
    "listed": {"type": "integer", "values": [4, 1]},
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_missing_is_the_last_cell(spec):
    """A nullable column has one more cell, NaN in its index, where None and NaN are placed."""
    plain, nullable = from_dict("x", spec), from_dict("x", {**spec, "nullable": True})

    index = nullable.index()

    assert nullable.cells == plain.cells == plain.size == nullable.size - 1
    assert len(index) == nullable.size
    assert index.isna().tolist() == [False] * plain.cells + [True]
    assert index.name == "x"
    assert {nullable.cell(value) for value in (None, np.nan, pd.NA, pd.NaT, Decimal("sNaN"))} == {plain.cells}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_missing_is_refused_where_it_is_not_allowed(spec):
    """A column that is not nullable has no cell for missing, and code never has."""
    plain, nullable = from_dict("x", spec), from_dict("x", {**spec, "nullable": True})

    for column, place in ((plain, plain.cell), (plain, plain.code), (nullable, nullable.code)):
        for value in (None, float("nan"), [1], {"a": 1}):
            with pytest.raises(DeclaredValueError) as caught:
                place(value)
            assert caught.value.column == column.name


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (pd.Index([1, 2]), "float64"),
        (pd.Index([0.5]), "float64"),
        (pd.Index([False, True]), "object"),
        (pd.CategoricalIndex(["b", "a"], categories=["b", "a"]), "category"),
        (pd.DatetimeIndex(["2020-01-01"]).as_unit("us"), "datetime64[us]"),
        (pd.interval_range(0.0, 2.0), "interval[float64, right]"),
    ],
)
def test_with_missing_keeps_the_kind_of_index(labels, dtype):
    """An index gains NaN without losing its order or, where NaN fits, its type."""
    result = with_missing(labels)

    assert str(result.dtype).startswith(dtype)
    assert result[:-1].tolist() == labels.tolist()
    assert pd.isna(result[-1])


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("nigts", "'nights'"), ("Nights", "'nights'"), ("AGE", "'Age'"), ("xyz", ""), (3, "")],
)
def test_misspelt_names_are_told_the_nearest(written, wanted):
    """Letters left out, or of another case; nothing where no name is near."""
    said = suggest(written, ["arrival", "nights", "Age"])

    assert wanted in said
    assert bool(said) == bool(wanted)


def test_errors_say_what_was_meant():
    """Wherever a column is named: in a verb, a filter, a group."""
    policy = bf.Policy(Domain((integers("nights", 0, 9),)))

    for ask in (
        lambda plan: plan.hist("nigts"),
        lambda plan: plan.where("Nights > 3").count(),
        lambda plan: plan.groupby("night").count(),
    ):
        with pytest.raises(UndeclaredColumnError, match="did you mean 'nights'"):
            ask(policy.plan)
