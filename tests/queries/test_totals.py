"""sum, end to end: values, receipts, names, groups, refusals."""

import json

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict

SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.threshold(5)),
        "income": pa.Column(float, pa.Check.in_range(0, 500_000), metadata=bf.threshold(10_000, step=100)),
        "balance": pa.Column(float, metadata=bf.threshold(50, step="0.01")),
        "paid": pa.Column(bool),
        "sex": pa.Column("category", pa.Check.isin(["F", "M"])),
        "region": pa.Column("category", pa.Check.isin(["n", "s"]), metadata=bf.public()),
        "born": pa.Column(
            "datetime64[ns]", pa.Check.in_range("1920-01-01", "2025-12-31"), metadata=bf.full(step="1D")
        ),
    }
)
POLICY = bf.Policy(SCHEMA)


@pytest.fixture(scope="module")
def rows():
    """Return 2,000 made-up people."""
    draw, n = np.random.default_rng(1), 2_000
    return pd.DataFrame(
        {
            "age": draw.integers(0, 100, n),
            "income": draw.gamma(2, 20_000, n).clip(0, 500_000),
            "balance": draw.normal(0, 10_000, n),
            "paid": draw.random(n) < 0.3,
            "sex": pd.Categorical(draw.choice(["F", "M"], n), ["F", "M"]),
            "region": pd.Categorical(draw.choice(["n", "s"], n), ["n", "s"]),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(draw.integers(0, 20_000, n), unit="D"),
        }
    )


@pytest.fixture
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(POLICY, epsilon=1_000)


def test_one_column(df, rows):
    """A row named by the column, near the truth, with its receipt."""
    found = df.blowfish.sum("age", epsilon=1)

    assert found.index.tolist() == ["age"]
    assert found.index.name == "column"
    assert list(found.columns) == ["value", "std"]
    assert found.dtypes.tolist() == [np.float64, np.float64]
    assert abs(found["value"].item() - rows["age"].sum()) < 200
    assert found["std"].item() == pytest.approx(7.07, rel=0.01)
    receipt = found.blowfish.receipt
    assert (receipt["verb"], receipt["sensitivity"], receipt["strategy"]) == ("sum", "5", "total")
    assert json.loads(json.dumps(dict(receipt), allow_nan=False)) == dict(receipt)


def test_columns_and_groups(df, rows):
    """Groups outermost, columns innermost; public groups need no more noise than one."""
    found = df.blowfish.groupby("region").sum(["age", "income", "balance", "paid"], epsilon=100)
    wanted = rows.groupby("region", observed=False)[["age", "income", "balance", "paid"]].sum().stack()

    assert found.index.names == ["region", "column"]
    assert found.index.tolist() == wanted.index.tolist()
    bounds = found.blowfish.interval(0.999999)
    slack = np.tile([0, 50, 0.005, 0], 2) * len(rows)  # what the middles of bins may be off in all
    assert ((bounds["low"] - slack <= wanted) & (wanted <= bounds["high"] + slack)).all()


def test_private_groups_cost_more(df):
    """A row that changes group takes its whole value along."""
    assert df.blowfish.plan.groupby("sex").sum("age").sensitivity == 198
    assert df.blowfish.plan.groupby("region").sum("age").sensitivity == 5
    assert df.blowfish.plan.where("sex == 'F'").sum("age").sensitivity == 99
    assert df.blowfish.groupby("sex").sum("age", epsilon=1).index.tolist() == ["F", "M"]


def test_without_bounds(df, rows):
    """A threshold alone prices it; where a row can leave, it is refused and nothing is charged."""
    found = df.blowfish.sum("balance", epsilon=1)
    spent = df.blowfish.budget.spent

    assert abs(found["value"].item() - rows["balance"].sum()) < 1_500
    assert df.blowfish.where("region == 'n'").sum("balance", epsilon=1)["std"].item() == pytest.approx(
        70.7, rel=0.01
    )
    with pytest.raises(errors.UnboundedColumnError, match="leave the filter"):
        df.blowfish.where("sex == 'F'").sum("balance", epsilon=1)
    assert df.blowfish.budget.spent == spent + 1


def test_truth_counts_one(df, rows):
    """The sum of a column of truth values is how many are True."""
    found = df.blowfish.sum("paid", epsilon=50)

    assert abs(found["value"].item() - rows["paid"].sum()) <= 2


def test_the_same_name_is_free(df):
    """The stored answer comes back; another question under the name is refused."""
    first = df.blowfish.sum(["age", "income"], epsilon=1, name="totals")
    spent = df.blowfish.budget.spent

    again = df.blowfish.sum(["age", "income"], epsilon=1, name="totals")

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first.blowfish.interval(), again.blowfish.interval())
    assert df.blowfish.budget.spent == spent
    with pytest.raises(errors.NameTakenError):
        df.blowfish.sum("age", epsilon=1, name="totals")
    df.blowfish.sum("age", epsilon=1, name="age")
    with pytest.raises(errors.NameTakenError):
        df.blowfish.sum(["age"], epsilon=1, name="age")


def test_exact_sums_are_free(rows):
    """Of public columns, to the last digit."""
    policy = bf.Policy(SCHEMA, secrets={"age": bf.public()})
    df = rows.blowfish.protect(policy, epsilon=1)

    found = df.blowfish.groupby("region").sum("age", epsilon=1)

    assert found["value"].tolist() == rows.groupby("region", observed=False)["age"].sum().tolist()
    assert (found["std"] == 0).all()
    assert found.blowfish.receipt["epsilon"] == "0"
    assert df.blowfish.budget.spent == 0
    assert found.blowfish.interval()["low"].tolist() == found["value"].tolist()


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("sex", errors.ArgumentError, "categories"),
        ("born", errors.ArgumentError, "do not add up"),
        ("nobody", errors.UndeclaredColumnError, "declared"),
        ([], errors.ArgumentError, "none"),
        (["age", "age"], errors.ArgumentError, "twice"),
        (5, errors.ArgumentTypeError, "not column names"),
    ],
)
def test_refusals(df, columns, error, words):
    """Typed, before anything is charged."""
    with pytest.raises(error, match=words):
        df.blowfish.sum(columns, epsilon=1)
    assert df.blowfish.budget.spent == 0


def test_a_grouped_column_is_not_summed(df):
    """It is the group's own value already."""
    with pytest.raises(errors.ArgumentError, match="grouped by already"):
        df.blowfish.groupby("age").sum("age", epsilon=1)


@pytest.mark.parametrize("rows", [-1, True, 2.5, "7"])
def test_rows_of_plans(rows):
    """A number of rows is a whole one."""
    with pytest.raises(errors.ArgumentError):
        POLICY.plan.sum("age", rows=rows)
    assert POLICY.plan.sum("age", rows=10).sensitivity == 5


def test_empty_frames(rows):
    """No rows, the same noise."""
    df = rows.iloc[:0].blowfish.protect(POLICY, epsilon=10)

    assert df.blowfish.sum(["age", "balance"], epsilon=1)["std"].gt(0).all()
    assert df.blowfish.mean("age", epsilon=1)["value"].isna().all()


def test_pictures(df):
    """Points with error bars, by column or by group; instants too."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for found in (
        df.blowfish.sum(["age", "paid"], epsilon=1),
        df.blowfish.groupby("region").sum("age", epsilon=1),
        df.blowfish.groupby("region").mean(["age", "paid"], epsilon=1),
        df.blowfish.mean("born", epsilon=1),
    ):
        axes = found.blowfish.plot()
        panels = axes.child_axes or [axes]  # one per column: units never share an axis
        assert all(panel.has_data() for panel in panels)
        pyplot.close(axes.figure)


def test_saved_with_its_receipt(df, tmp_path):
    """Like every release."""
    found = df.blowfish.groupby("region").mean(["age", "paid"], epsilon=1)

    bf.save(found, tmp_path / "means.csv")

    assert len(list(tmp_path.iterdir())) == 2


def test_odd_bounds_take_a_small_epsilon():
    """A bound with all the digits of a float makes no noise too large to draw."""
    domain = Domain((from_dict("x", {"type": "float", "min": 0, "max": 100 / 3, "step": "0.1"}),))
    df = pd.DataFrame({"x": [1.0, 33.0]}).blowfish.protect(bf.Policy(domain), epsilon=1)

    assert len(df.blowfish.sum("x", epsilon="1e-6")) == 1


def test_narrow_floats_without_bounds_are_in_their_cells():
    """0.7 and 0.8 are cells 7 and 8 of 0.1, whatever their storage."""
    domain = Domain((from_dict("x", {"type": "float", "step": "0.1"}),))
    policy = bf.Policy(domain, secrets={"x": bf.public()})

    for kind in ("float64", "float32", "float16", "Float32"):
        df = pd.DataFrame({"x": pd.Series([0.7, 0.8], dtype=kind)}).blowfish.protect(policy, epsilon=1)
        assert df.blowfish.sum("x", epsilon=1)["value"].tolist() == pytest.approx([0.75 + 0.85], abs=1e-12)


@pytest.mark.parametrize("kind", ["integer", "float"])
def test_numbers_beyond_floats_are_refused_at_protect(kind):
    """A mean of nanoseconds would be one of 2^53, with a small error."""
    policy = bf.Policy(Domain((from_dict("x", {"type": kind}),)), secrets={"x": bf.threshold(5)})
    rows = pd.DataFrame({"x": np.full(9, 1_700_000_000_000_000_001)})

    with pytest.raises(errors.OutsideDomainError):
        rows.blowfish.protect(policy, epsilon=1)
