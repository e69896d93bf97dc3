"""mode and top: frames, groups, filters, missing values, stored answers, files, other engines, pictures."""

from fractions import Fraction

import matplotlib
import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.call_reader import parse_call

matplotlib.use("Agg")
SEX = from_dict("sex", {"type": "category", "values": ["F", "M"]})
CITY = from_dict("city", {"type": "category", "values": ["c", "b", "a"], "nullable": True})
PAY = from_dict("pay", {"type": "float", "min": 0, "max": 40, "step": 10})
POLICY = bf.Policy(Domain((integers("age", 0, 9), SEX, CITY, PAY)))


def rows():
    """Return rows whose most frequent values are known; more than half of the cities are missing."""
    return pd.DataFrame(
        {
            "age": [3] * 500 + [7] * 300 + [1] * 100 + [9] * 100,
            "sex": ["F", "M"] * 500,
            "city": (["a"] * 3 + ["c"] * 1 + [None] * 6) * 100,
            "pay": [15.0] * 800 + [39.0] * 200,
        }
    )


@pytest.fixture(name="df")
def _df():
    return rows().blowfish.protect(POLICY, epsilon=10**6)


def test_the_most_frequent_value_has_its_dtype(df):
    """By rank; an Interval for bins, a category for categories, and no count."""
    ages, pays = (df.blowfish.mode(name, epsilon=2) for name in ("age", "pay"))

    assert ages["age"].tolist() == [3]
    assert ages.index.tolist() == [1]
    assert ages.index.name == "rank"
    assert ages.columns.tolist() == ["age"]
    assert ages["age"].dtype == "int64"
    assert pays["pay"].tolist() == [pd.Interval(10.0, 20.0, closed="left")]
    assert ages.blowfish.receipt["noise"] == "one-sided geometric"


def test_several_values_come_with_counts(df):
    """Largest first, with standard errors; combinations of columns have a column each."""
    found = df.blowfish.top(3, ["sex", "age"], epsilon=50)

    assert found.columns.tolist() == ["sex", "age", "count", "std", "unshaped"]
    assert found["age"].tolist()[:2] == [3, 3]
    assert found["count"].is_monotonic_decreasing
    assert found.blowfish.receipt["strategy"] == "counts"
    assert "misses at most" in found.blowfish.receipt["chosen"]


@pytest.mark.parametrize("strategy", ["select", "counts"])
def test_both_strategies_list_the_same_where_noise_is_small(df, strategy):
    """Of all ten values too, of which the last needs no choice."""
    found = df.blowfish.top(2, "age", epsilon=200, strategy=strategy)
    whole = df.blowfish.top(10, "age", epsilon=2000, strategy=strategy)

    assert found["age"].tolist() == whole["age"].tolist()[:2] == [3, 7]
    assert sorted(whole["age"]) == list(range(10))


@pytest.mark.parametrize("strategy", ["select", "counts"])
def test_groups_are_outermost_and_filters_leave_values_out(df, strategy):
    """A group without a candidate is not listed."""
    asked = df.blowfish.groupby("sex")

    both = asked.top(2, "age", epsilon=200, strategy=strategy)
    some = asked.where("sex == 'M' and age != 3").mode("age", epsilon=200, strategy=strategy)

    assert both.index.names == ["sex", "rank"]
    assert both.loc["F", "age"].tolist() == both.loc["M", "age"].tolist() == [3, 7]
    assert some.index.tolist() == [("M", 1)]
    assert some["age"].tolist() == [7]


def test_missing_values_count_only_if_asked(df):
    """As in pandas: dropna=True leaves them out."""
    without, among = (df.blowfish.mode("city", epsilon=200, dropna=dropna) for dropna in (True, False))

    assert without["city"].tolist() == ["a"]
    assert among["city"].isna().tolist() == [True]


def test_exact_values_cost_nothing():
    """Public columns: with their counts, ties in the order of the schema."""
    policy = bf.Policy(Domain((CITY, SEX)), secrets={"city": bf.public(), "sex": bf.public()})
    df = rows().blowfish.protect(policy, epsilon=1)

    top, mode = df.blowfish.top(2, "sex", epsilon=1), df.blowfish.mode("sex", epsilon=1, strategy="select")

    assert top["sex"].tolist() == ["F", "M"]
    assert top["count"].tolist() == [500, 500]
    assert mode["sex"].tolist() == ["F"]
    assert df.blowfish.budget.spent == 0


@pytest.mark.parametrize("strategy", ["select", "counts"])
def test_a_name_keeps_the_answer(df, strategy):
    """Asked again it is the same, free; the ledger keeps places of picks, no score."""
    asked = df.blowfish.groupby("sex")
    first = asked.top(3, "age", epsilon="1/10", strategy=strategy, name="tops")
    spent = df.blowfish.budget.spent

    again = asked.top(3, "age", epsilon="1/10", strategy=strategy, name="tops")
    stored = df.blowfish.ledger.answer(df.attrs["blowfish"]["dataset"], "tops")

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first, stored)
    assert df.blowfish.budget.spent == spent == Fraction(1, 10)
    assert df.blowfish.ledger.verify()


def test_a_fact_learnt_later_is_priced(df):
    """The charge of a pick under a threshold is that of the furthest move once a fact is public."""
    policy = bf.Policy(POLICY.domain, secrets={"age": bf.threshold(1)})
    df = rows().blowfish.protect(policy, epsilon=10)
    for strategy in ("select", "counts"):
        df.blowfish.top(2, "age", epsilon=1, strategy=strategy)
    dataset, ledger = df.attrs["blowfish"]["dataset"], df.blowfish.ledger

    ledger.record_exact(dataset, bf.Count("age < 5"))

    assert ledger.budget(dataset).spent == 4  # two records move, along pairs that lose no more than an edge
    df.blowfish.mode("age", epsilon=1)
    assert ledger.verify()


def test_intervals_hold_for_all_that_might_be_listed(df):
    """A count that is listed for being large is covered; values without counts refuse, and say what holds."""
    missed = 0
    truth = rows()["age"].value_counts()
    for _ in range(40):
        found = df.blowfish.top(3, "age", epsilon="1/50")
        bounds = found.blowfish.interval(0.9)
        own = found["age"].map(truth).fillna(0)
        missed += not ((bounds["low"] <= own) & (own <= bounds["high"])).all()

    assert missed <= 16  # of 40, at most a tenth expected
    with pytest.raises(FrameError, match="at most"):
        df.blowfish.mode("age", epsilon=1).blowfish.interval()


def test_pictures_are_of_counts(df):
    """Bars by value; of values alone there is nothing to draw."""
    axes = df.blowfish.top(3, ["age", "sex"], epsilon=50).blowfish.plot()
    grouped = df.blowfish.groupby("sex").top(2, "age", epsilon=50).blowfish.plot()

    assert axes.get_xticklabels()[0].get_text() in ("3, F", "3, M")
    assert grouped.get_legend() is not None
    with pytest.raises(FrameError, match="no counts to draw"):
        df.blowfish.mode("age", epsilon=1).blowfish.plot()


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("strategy", ["select", "counts"])
def test_files_keep_values_and_receipt(df, tmp_path, ending, strategy):
    """Dtypes and labels come back."""
    found = df.blowfish.groupby("sex").top(2, ["age", "city"], epsilon=1, strategy=strategy)

    bf.save(found, tmp_path / f"tops.{ending}")
    back = bf.load(tmp_path / f"tops.{ending}")

    pd.testing.assert_frame_equal(back, found)
    assert back.blowfish.receipt == found.blowfish.receipt


def test_a_report_shows_what_is_proved(df, tmp_path):
    """Both kinds of releases have their place on the page."""
    found = [df.blowfish.mode("age", epsilon=1), df.blowfish.top(3, "age", epsilon=1)]

    page = df.blowfish.report(tmp_path / "page.html", releases=found).read_text()

    assert "has at most" in page
    assert "for all values at once" in page


@pytest.mark.parametrize("text", ["mode('age', epsilon=1)", "groupby('sex').top(2, ['age'], epsilon=1)"])
def test_calls_are_read_back(text):
    """What a plan writes is what it reads."""
    plan = parse_call(text).on(POLICY.plan)

    assert parse_call(plan.call).on(POLICY.plan).call == plan.call


def test_names_of_the_result_are_refused():
    """A column called rank or count would be two columns."""
    policy = bf.Policy(Domain((integers("count", 0, 3), integers("rank", 0, 3))))

    for name in ("count", "rank"):
        with pytest.raises(ArgumentError, match="name in the result"):
            policy.plan.mode(name)
    with pytest.raises(ArgumentError, match="name in the result"):
        policy.plan.groupby("rank").mode("count")


def test_rows_that_follow_each_other():
    """Under a chain a pick is measured as strongly as the chain allows."""
    chain = bf.Markov("x", [[0.9, 0.1], [0.2, 0.8]], length=1000)
    policy = bf.Policy(Domain((integers("x", 0, 1),)), chain=chain)
    df = pd.DataFrame({"x": np.arange(1000) % 2}).blowfish.protect(policy, epsilon=1)

    plan = df.blowfish.plan.mode("x", epsilon=1)

    assert plan.scale > 2
    assert df.blowfish.mode("x", epsilon=1)["x"].iloc[0] in (0, 1)
    assert plan.privacy_loss() <= 1
