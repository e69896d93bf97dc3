"""logsum and geomean: sums and means of logarithms where a secret is a factor, and nowhere else."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from oracle.duckdb_tables import kept_table

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    LedgerTamperedError,
    OutsideDomainError,
    UnboundedColumnError,
)
from pandas_blowfish.policy.secret import absolute_error, relative_error
from pandas_blowfish.queries.call.call_reader import parse_call

SCHEMA = pa.DataFrameSchema(
    {
        "price": pa.Column(float, metadata=relative_error("0.9")),
        "weight": pa.Column(float, nullable=True, metadata=relative_error("0.5", missing="public")),
        "income": pa.Column(float, metadata=absolute_error(1000, step=1)),
        "kind": pa.Column(str, pa.Check.isin(["a", "b"]), metadata=bf.public()),
        "age": pa.Column(int, pa.Check.in_range(0, 99)),
    }
)
POLICY = bf.Policy(SCHEMA)


def _frame(rows=2_000):
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "price": draw.lognormal(3, 1, rows),
            "weight": np.where(draw.random(rows) < 0.2, np.nan, draw.lognormal(0, 1, rows)),
            "income": draw.normal(50_000, 9_000, rows),
            "kind": draw.choice(["a", "b"], rows),
            "age": draw.integers(0, 99, rows),
        }
    )


def test_answers_are_those_of_the_rows():
    """With little noise: all rows, groups of a public column, several columns, missing values left out."""
    frame = _frame()
    df = frame.blowfish.protect(POLICY, epsilon=10**7)
    logs = np.log(frame[["price", "weight"]])

    total = df.blowfish.logsum(["price", "weight"], epsilon=10**5)
    mean = df.blowfish.groupby("kind").geomean("price", epsilon=10**5)
    some = df.blowfish.where("kind == 'a'").geomean(["weight"], epsilon=10**5)

    assert total["value"].to_numpy() == pytest.approx(logs.sum().to_numpy(), abs=1e-3)
    assert mean["value"].to_numpy() == pytest.approx(np.exp(logs["price"].groupby(frame["kind"]).mean()))
    assert some["value"].iloc[0] == pytest.approx(
        np.exp(logs["weight"][frame["kind"] == "a"].mean()), rel=1e-6
    )
    assert (
        mean.blowfish.receipt["query"]
        == "groupby(['kind']).geomean('price', rows=2000, strategy='auto', epsilon='100000')"
    )
    bounds = total.blowfish.interval()
    assert (bounds["low"] <= logs.sum()).all()
    assert (logs.sum() <= bounds["high"]).all()


def test_noise_is_that_of_the_factor():
    """4 ln(1 / c) / epsilon, for any scale of the prices; a mean's error is a share of it."""
    plan = POLICY.plan.logsum("price", epsilon="1/2")
    unit = plan.measurement.summed[0].lattice.unit

    assert plan.scale * unit == pytest.approx(8 * math.log(1 / 0.9), rel=1e-6)
    assert plan.sensitivity * unit >= 4 * math.log(1 / 0.9)
    assert POLICY.plan.geomean("price", rows=100).std[0] == pytest.approx(plan.std[0] / 200, rel=1e-6)
    assert plan.epsilon_for(std=1) == Fraction(597, 1000)


def test_names_keep_answers_and_texts_ask_them():
    """The same query under a name is free; the text of a plan is read back."""
    df = _frame().blowfish.protect(POLICY, epsilon=1)

    first = df.blowfish.geomean("price", epsilon=0.5, name="typical")
    again = df.blowfish.geomean("price", epsilon=0.5, name="typical")

    pd.testing.assert_frame_equal(first, again)
    assert df.blowfish.budget.spent == Fraction(1, 2)
    text = first.blowfish.receipt["query"]
    assert parse_call(text).on(POLICY.plan).call == text
    assert parse_call(text).with_name("typical").on(df.blowfish)["value"].tolist() == first["value"].tolist()
    with pytest.raises(ArgumentError, match="number of rows"):
        parse_call("geomean('price', rows=3, epsilon=1)").on(df.blowfish)


REFUSED = {
    "sum": (lambda plan: plan.sum("price"), UnboundedColumnError, "logsum"),
    "mean": (lambda plan: plan.mean("price"), UnboundedColumnError, "geomean"),
    "logs of another secret": (lambda plan: plan.logsum("income"), ArgumentError, "relative_error"),
    "logs of bounds": (lambda plan: plan.geomean("age"), ArgumentError, "relative_error"),
    "filter of a secret": (
        lambda plan: plan.where("age > 3").logsum("price"),
        UnboundedColumnError,
        "filter",
    ),
    "groups of a secret": (lambda plan: plan.groupby("age").geomean("price"), UnboundedColumnError, "group"),
    "cells": (lambda plan: plan.hist("price"), UnboundedColumnError, "no cells"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_bounded_is_refused(case):
    """Typed, with the way out."""
    ask, error, match = REFUSED[case]
    with pytest.raises(error, match=match):
        ask(POLICY.plan)


@pytest.mark.parametrize("value", [0.0, -1.0, -0.0, np.inf, np.nan])
def test_values_that_have_no_logarithm_are_outside(value):
    """Refused at protect; clipping does not help them, but for what has a sign."""
    frame = _frame(10)
    frame.loc[3, "price"] = value
    for outside in ("error", "clip"):
        with pytest.raises(OutsideDomainError, match="price"):
            frame.blowfish.protect(POLICY, epsilon=1, outside=outside)


@pytest.mark.parametrize("dtype", ["float32", "Float64", "Int64", "int64", "object", "double[pyarrow]"])
def test_storage_does_not_matter(dtype):
    """Whole numbers, masks, objects and arrow: one answer."""
    frame = _frame(40)
    frame["price"] = np.arange(1, 41) * 7
    df = frame.astype({"price": dtype}).blowfish.protect(POLICY, epsilon=10**7)

    found = df.blowfish.logsum("price", epsilon=10**6)["value"].iloc[0]

    assert found == pytest.approx(np.log(frame["price"].astype(float)).sum(), abs=1e-4)


@pytest.mark.parametrize("engine", ["pyarrow", "polars", "duckdb"])
def test_tables_of_other_engines_are_taken(engine):
    """Their rows come in batches to the one encoder, which decides logarithms for certain."""
    pyarrow, own = pytest.importorskip("pyarrow"), pytest.importorskip(engine)
    frame = _frame(50)
    arrow = pyarrow.Table.from_pandas(frame)
    given = {"pyarrow": lambda: arrow, "polars": lambda: own.from_arrow(arrow)}
    given |= {"duckdb": lambda: kept_table(arrow)}

    table = bf.protect(given[engine](), POLICY, epsilon=10**6)

    assert table.geomean("price", epsilon=10**5)["value"].iloc[0] == pytest.approx(
        np.exp(np.log(frame["price"]).mean()), rel=1e-4
    )


@pytest.mark.parametrize(
    ("verb", "values"), [("logsum", "logarithms"), ("geomean", "exponentials of logarithms")]
)
def test_receipts_state_the_verb_of_their_entry(verb, values):
    """So that the ledger vouches for them, as it does for those that say "sum" or "mean" for their verb."""
    book = bf.Ledger()
    df = _frame().blowfish.protect(POLICY, epsilon=10, dataset="prices", ledger=book)

    receipt = getattr(df.blowfish, verb)("price", epsilon=1).blowfish.receipt

    assert (receipt["verb"], receipt["values_are"]) == (verb, values)
    assert book.verify(receipt)
    assert book.verify({**receipt, "verb": {"logsum": "sum", "geomean": "mean"}[verb]})
    with pytest.raises(LedgerTamperedError):
        book.verify({**receipt, "verb": "hist"})
