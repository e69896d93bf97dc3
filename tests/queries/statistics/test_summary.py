"""describe and agg, end to end: one charge, answers near pandas, intervals by part."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.call_reader import parse_call
from pandas_blowfish.queries.statistics.summary import functions_of

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        integers("visits", 0, 20, nullable=True),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(5)})
ASKED = {"visits": ["count", "size", "sum", "mean", "var", "std", "median"], "age": "median"}


@pytest.fixture(scope="module")
def rows():
    """Return 2,000 people."""
    draw, n = np.random.default_rng(4), 2_000
    visits = pd.array(draw.integers(0, 21, n), dtype="Int64")
    visits[draw.random(n) < 0.2] = pd.NA
    return pd.DataFrame(
        {"age": draw.integers(0, 100, n), "visits": visits, "sex": draw.choice(["F", "M"], n)}
    )


@pytest.fixture
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(POLICY, epsilon=100_000)


def test_describe_is_near_pandas_in_one_charge(df, rows):
    """By statistic and column, in the order of pandas, without the ends; all intervals hold."""
    before = df.blowfish.budget.spent
    release = df.blowfish.describe(["age", "visits"], epsilon=1_000)
    wanted = rows[["age", "visits"]].astype(float).describe().drop(["min", "max"])
    ends = release.blowfish.interval(0.99)

    assert df.blowfish.budget.spent - before == 1_000
    assert release["value"].index.tolist() == wanted.index.tolist()
    assert release["value"].columns.tolist() == wanted.columns.tolist()
    assert np.allclose(release["value"], wanted, rtol=0.06)
    assert ((ends["low"] <= wanted + 1e-9) & (wanted - 1e-9 <= ends["high"])).all(axis=None)


def test_describe_by_groups_is_laid_out_as_in_pandas(df, rows):
    """Groups by statistics of one column; the plan and the receipt state why the ends are left out."""
    release = df.blowfish.groupby("sex")["age"].describe(epsilon=1_000)
    wanted = rows.groupby("sex")["age"].describe().drop(columns=["min", "max"])

    assert np.allclose(release["value"].to_numpy(), wanted.to_numpy(), rtol=0.06)
    assert "single rows" in df.blowfish.plan.describe("age").facts()["left out"]
    assert "single rows" in release.blowfish.receipt["left_out"]
    assert release.blowfish.interval().shape == (2, 12)
    assert "counts not drawn" in "".join(text.get_text() for text in release.blowfish.plot().texts)


def test_one_column_has_one_level(df):
    """Statistics alone; percentiles as pandas names them."""
    release = df.blowfish.describe("age", epsilon=1, percentiles=[0.9, 0.005])

    assert release.index.tolist() == ["count", "mean", "std", "0.5%", "90%"]
    assert release.loc["count", "std"] == 0
    assert len(release.blowfish.interval()) == 5


def test_agg_by_groups(df, rows):
    """Every statistic, groups outermost, then column and statistic as asked."""
    release = df.blowfish.where("age >= 10").groupby("sex").agg(ASKED, epsilon=1_000)
    kept = rows[rows.age >= 10].astype({"visits": float})
    wanted = (
        kept.groupby("sex")
        .agg({"visits": ASKED["visits"], "age": ["median"]})
        .stack([0, 1], future_stack=True)
    )
    ends = release.blowfish.interval(0.999)

    assert list(release.index.names) == ["sex", "column", "statistic"]
    assert list(release.loc["F"].index)[:2] == [("visits", "count"), ("visits", "size")]
    for label, value in wanted.items():
        assert release.loc[label, "value"] == pytest.approx(value, rel=0.08)
        assert ends.loc[label, "low"] - 1e-9 <= value <= ends.loc[label, "high"] + 1e-9


def test_all_columns_of_numbers_by_default(df):
    """Those with bounds that answers are not grouped by."""
    plan = df.blowfish.plan.groupby("sex").describe()

    assert plan.query["columns"] == ["age", "visits"]


def test_names_files_and_reports(df, tmp_path):
    """Under a name it is free; files keep the parts, so that intervals are the same."""
    first = df.blowfish.agg(ASKED, epsilon=1, name="summary")
    again = df.blowfish.agg(ASKED, epsilon=1, name="summary")
    bf.save(first, tmp_path / "summary.parquet")
    loaded = bf.load(tmp_path / "summary.parquet")
    json.dumps(first.attrs["blowfish"])

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(loaded.blowfish.interval(), first.blowfish.interval())
    kept = df.blowfish.ledger.answer(first.attrs["blowfish"]["dataset"], "summary")
    assert np.allclose(kept["value"], first["value"], equal_nan=True)
    assert first.blowfish.plot() is not None
    assert first.iloc[[2, 5]].blowfish.interval().shape == (2, 2)


def test_edited_answers_are_refused(df):
    """Each part compares its values with what was measured."""
    release = df.blowfish.agg({"age": ["mean", "median"]}, epsilon=1)
    for row in range(2):
        edited = release.copy()
        edited.iloc[row, 0] += 40.0
        with pytest.raises(errors.FrameError):
            edited.blowfish.interval()


def test_calls_are_read_back():
    """What a plan prints can be asked."""
    for plan in (POLICY.plan.groupby("sex").agg(ASKED, epsilon="1/3"), POLICY.plan.describe("age")):
        assert parse_call(plan.call).on(POLICY.plan).scales == plan.scales


def test_functions_are_named_by_column():
    """Of selected columns names alone are enough."""
    assert functions_of(["mean", "std"], ["age"]) == {"age": ["mean", "std"]}
    with pytest.raises(errors.ArgumentTypeError):
        functions_of("mean")


def test_describe_costs_less_than_its_parts():
    """At the same noise, asking one by one costs more."""
    plan = POLICY.plan.describe("age", epsilon=1, rows=1_000)
    moments, curve = plan.members
    alone = POLICY.plan.std("age", epsilon=1, rows=1_000)
    std_needs = alone.scales[1] / moments.scales[1]
    quantile_needs = POLICY.plan.quantile("age", [0.25, 0.5, 0.75], epsilon=1).mse / curve.mse
    mean_needs = POLICY.plan.mean("age", epsilon=1, rows=1_000).mse / moments.measurement.variances[1]

    assert std_needs + float(mean_needs) ** 0.5 + float(quantile_needs) ** 0.5 > 1
