"""mean, end to end: public and noisy counts, instants, missing values, plans with rows."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        from_dict("score", {"type": "float", "min": 0, "max": 10, "step": "0.1", "nullable": True}),
        from_dict(
            "day",
            {
                "type": "datetime",
                "min": "2024-01-01 00:00+00:00",
                "max": "2024-12-31 00:00+00:00",
                "step": "1h",
                "tz": "UTC",
            },
        ),
        from_dict("plain", {"type": "datetime", "min": "2024-01-01", "max": "2024-12-31", "step": "1h"}),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("open", {"type": "datetime"}),
    )
)
SECRETS = {"age": bf.threshold(5), "day": bf.threshold("2D")}
POLICY = bf.Policy(DOMAIN, secrets=SECRETS)


@pytest.fixture(scope="module")
def rows():
    """Return 3,000 made-up visits."""
    draw, n = np.random.default_rng(2), 3_000
    hours = pd.to_timedelta(draw.integers(0, 24 * 300, n), unit="h")
    return pd.DataFrame(
        {
            "age": draw.integers(20, 70, n),
            "score": np.where(draw.random(n) < 0.9, draw.random(n) * 10, np.nan),
            "day": pd.Timestamp("2024-02-01", tz="UTC") + hours,
            "plain": pd.Timestamp("2024-02-01") + hours,
            "sex": draw.choice(["F", "M"], n),
            "open": pd.Timestamp("2024-02-01") + hours,
        }
    )


@pytest.fixture
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(POLICY, epsilon=1_000)


def test_public_count(df, rows):
    """The sum over the known number of rows; the plan knows its error."""
    found = df.blowfish.mean("age", epsilon=1)

    assert abs(found["value"].item() - rows["age"].mean()) < 0.1
    assert found["std"].item() == pytest.approx(np.sqrt(2) * 5 / 3_000, rel=0.01)
    assert df.blowfish.plan.mean("age").std[0] == pytest.approx(found["std"].item())
    assert found.blowfish.receipt["expected_squared_error"] == pytest.approx(found["std"].item() ** 2)


def test_noisy_count(df, rows):
    """Of filtered rows and groups: covered by the interval, within the bounds, one charge."""
    young = df.blowfish.where("age < 50").mean("age", epsilon=2)
    groups = df.blowfish.groupby("sex").mean(["age", "score"], epsilon=2)
    wanted = rows.groupby("sex", observed=True)[["age", "score"]].mean().to_numpy().ravel()

    bounds = groups.blowfish.interval(0.999999)
    assert ((bounds["low"] - 0.06 <= wanted) & (wanted <= bounds["high"] + 0.06)).all()
    assert abs(young["value"].item() - rows["age"][rows["age"] < 50].mean()) < 1
    assert df.blowfish.budget.spent == 4
    assert young.blowfish.receipt["expected_squared_error"] is None
    assert json.loads(json.dumps(dict(groups.blowfish.receipt), allow_nan=False))


def test_missing_values_are_left_out(df, rows):
    """Their number is secret too, so the count is noisy."""
    found = df.blowfish.mean("score", epsilon=5)

    assert abs(found["value"].item() - rows["score"].mean()) < 0.2
    assert found.blowfish.receipt["technical"]["count_scales"] != ["0"]


@pytest.mark.parametrize("column", ["day", "plain"])
@pytest.mark.parametrize("text", [None, "sex == 'F'"])
def test_instants(df, rows, column, text):
    """A mean is an instant in the column's zone, its error a span; the interval holds the truth."""
    scope, kept = (df.blowfish, rows) if text is None else (df.blowfish.where(text), rows.query(text))
    found = scope.mean(column, epsilon=5)
    bounds = found.blowfish.interval(0.99999)
    truth = kept[column].mean() + pd.Timedelta("30min")  # the middle of an hour

    assert found["value"].dtype.kind == "M"
    assert found["value"].dt.tz is None or str(found["value"].dt.tz) == "UTC"
    assert found["std"].dtype.kind == "m"
    assert bounds["low"].item() <= truth <= bounds["high"].item()
    assert abs(found["value"].item() - truth) < pd.Timedelta("5D")


def test_plans_with_rows():
    """Known where all rows are averaged and their number is public, and given."""
    secret = bf.Policy(DOMAIN, secrets=SECRETS, presence=True)

    assert POLICY.plan.mean("age", rows=100).std[0] == pytest.approx(np.sqrt(2) * 5 / 100, rel=0.01)
    assert POLICY.plan.mean("age", rows=200).std[0] == pytest.approx(np.sqrt(2) * 5 / 200, rel=0.01)
    assert np.isnan(POLICY.plan.mean("age").std[0])
    assert np.isnan(secret.plan.mean("age", rows=100).mse)
    with pytest.raises(errors.ArgumentTypeError):
        POLICY.plan.mean("age", rows="many")


def test_secret_presence_hides_the_rows(rows):
    """Plans of the protected frame do not use how many there are."""
    df = rows.blowfish.protect(bf.Policy(DOMAIN, secrets=SECRETS, presence=True), epsilon=10)
    found = df.blowfish.mean("age", epsilon=2)

    assert df.blowfish.plan.rows is None
    assert np.isnan(df.blowfish.plan.mean("age").mse)
    assert abs(found["value"].item() - rows["age"].mean()) < 2
    assert "rows" not in str(found.blowfish.receipt["query"])


def test_the_same_name_is_free(df):
    """With the split between sum and count that was measured."""
    first = df.blowfish.where("sex == 'F'").mean("age", epsilon=1, name="mean")
    spent = df.blowfish.budget.spent

    again = df.blowfish.where("sex == 'F'").mean("age", epsilon=1, name="mean")

    pd.testing.assert_frame_equal(first, again)
    assert df.blowfish.budget.spent == spent


def test_refusals(df):
    """Categories, instants without bounds, and instants beside numbers or in other zones."""
    for columns, words in (
        ("sex", "no mean"),
        ("open", "without bounds"),
        (["age", "day"], "separately"),
        (["day", "plain"], "separately"),
    ):
        with pytest.raises(errors.ArgumentError, match=words):
            df.blowfish.mean(columns, epsilon=1)
    assert df.blowfish.budget.spent == 0
