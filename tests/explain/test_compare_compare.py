"""What if: every policy at every epsilon, as planned, with refusals as rows."""

import functools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, EpsilonError
from pandas_blowfish.policy.domain import Domain, integers, values_attribute

AGES = Domain((integers("age", 0, 99), values_attribute("sex", "category", ["F", "M"], nullable=False)))
LINE = bf.Policy(AGES, secrets={"age": bf.threshold(1), "sex": bf.public()})
DP = bf.Policy(AGES)
BOTH = {"line": LINE, "dp": DP}


def test_the_call_of_the_issue():
    """Two policies, two epsilons: what each plan says, by policy and epsilon."""
    table = bf.compare(BOTH, lambda plan, epsilon: plan.cumhist("age", epsilon=epsilon), epsilon=(0.1, 1))

    assert isinstance(table, pd.DataFrame)
    assert list(table.index) == [("line", 0.1), ("line", 1.0), ("dp", 0.1), ("dp", 1.0)]
    assert list(table.index.names) == ["policy", "epsilon"]
    for (name, epsilon), row in table.iterrows():
        plan = BOTH[name].plan.cumhist("age", epsilon=epsilon)
        assert row["strategy"] == plan.strategy
        assert row["answers"] == 100
        assert row["sensitivity"] == plan.sensitivity
        assert row["cost"] == float(plan.cost)
        assert row["rmse"] == plan.mse**0.5
        assert row["std_high"] == plan.std.max()
        assert row["refused"] == ""
    assert table.loc[("line", 0.1), "times_best"] == 1
    best = table.loc[("dp", 0.1), "rmse"] / table.loc[("line", 0.1), "rmse"]
    assert table.loc[("dp", 0.1), "times_best"] == pytest.approx(best)


@pytest.mark.parametrize(
    "ask",
    [
        lambda plan: plan.cumhist("age"),
        lambda plan: plan.cumhist("age", epsilon=7),
        lambda plan, epsilon: plan.cumhist("age", epsilon=epsilon),
        lambda plan, spend: plan.cumhist("age", epsilon=spend),
        lambda plan, *, epsilon: plan.cumhist("age", epsilon=epsilon),
        lambda plan, epsilon=1: plan.cumhist("age", epsilon=epsilon),
        lambda plan, epsilon, /: plan.cumhist("age", epsilon=epsilon),
        lambda plan, column="age": plan.cumhist(column),
        functools.partial(lambda column, plan, epsilon: plan.cumhist(column, epsilon=epsilon), "age"),
    ],
)
def test_functions_of_one_or_two_arguments(ask):
    """However the epsilon is taken, or not at all, the table is the same."""
    wanted = bf.compare(BOTH, lambda plan, epsilon: plan.cumhist("age", epsilon=epsilon), epsilon=(0.1, 1))

    pd.testing.assert_frame_equal(bf.compare(BOTH, ask, epsilon=[0.1, 1]), wanted)


def test_without_epsilon_a_question_says_its_own():
    """The default is 1, or what the function writes."""
    assert list(bf.compare(LINE, lambda plan: plan.hist("age")).index) == [("policy", 1.0)]
    own = bf.compare(LINE, lambda plan: plan.hist("age", epsilon="0.25"))
    assert list(own.index) == [("policy", 0.25)]
    given = bf.compare(LINE, lambda plan, epsilon: plan.hist("age", epsilon=epsilon))
    assert list(given.index) == [("policy", 1.0)]
    half = bf.compare(LINE, lambda plan, epsilon: plan.hist("age", epsilon=epsilon / 2), "0.5")
    assert half.loc[("policy", 0.5), "cost"] == 0.25


def test_what_may_stand_for_a_policy():
    """Lists, one alone, a schema, a planner with a filter."""
    schema = pa.DataFrameSchema({"age": pa.Column(int, pa.Check.in_range(0, 99))})
    table = bf.compare([LINE, schema, DP.plan.where("sex == 'F'")], lambda plan: plan.hist("age"))

    assert [name for name, _ in table.index] == ["policy 1", "policy 2", "policy 3"]
    assert bf.compare((schema,), lambda plan: plan.hist("age")).index[0] == ("policy 1", 1.0)


def test_a_refusal_is_a_row():
    """The library's reasons are told; other mistakes are raised."""
    other = bf.Policy(Domain((integers("height", 0, 9),)))

    table = bf.compare({**BOTH, "other": other}, lambda plan: plan.hist("age"), epsilon=(0.1, 1))

    refused = table.loc["other"]
    assert (refused["strategy"] == "refused").all()
    assert refused["refused"].str.contains("column 'age' has no declared domain. allowed: height fix:").all()
    assert refused[["rmse", "cost", "times_best"]].isna().all(axis=None)
    assert (table.loc["dp", "refused"] == "").all()
    with pytest.raises(ZeroDivisionError):
        bf.compare(BOTH, lambda plan: 1 / 0)


def test_several_questions_have_rows_each():
    """A dict of functions: by question, policy and epsilon; each is compared with itself."""
    table = bf.compare(
        BOTH, {"ages": lambda plan: plan.hist("age"), "sexes": lambda plan: plan.hist("sex")}, epsilon=(1, 2)
    )

    assert list(table.index.names) == ["question", "policy", "epsilon"]
    assert len(table) == 8
    assert table.loc[("sexes", "line", 1.0), "strategy"] == "exact"
    assert table.loc[("sexes", "line", 1.0), "cost"] == 0
    assert table.loc[("sexes", "line", 1.0), "times_best"] == 1
    assert math.isinf(table.loc[("sexes", "dp", 1.0), "times_best"])
    assert table.loc[("ages", "dp", 2.0), "times_best"] >= 1


def test_clusters_are_compared_by_what_they_add():
    """Distortion decides, beside the error of sizes; an unknown error is not a number."""
    ages = Domain((integers("age", 0, 99), integers("height", 0, 99)))
    policies = {"near": bf.Policy(ages, secrets={("age", "height"): bf.threshold(3)}), "dp": bf.Policy(ages)}
    table = bf.compare(policies, lambda plan: plan.kmeans(["age", "height"], 3, rows=5_000), epsilon="0.1")

    added = table["distortion"]
    assert table["times_best"].to_numpy() == pytest.approx((added / added.min()).to_numpy())
    unknown = bf.compare(BOTH, lambda plan: plan.cumhist("age", strategy="dawa"))
    assert unknown[["rmse", "times_best"]].isna().all(axis=None)
    assert "distortion" not in unknown


def test_nothing_is_spent():
    """Planning a protected frame's verbs charges nothing."""
    rows = pd.DataFrame({"age": np.arange(50), "sex": pd.Categorical(["F", "M"] * 25)})
    frame = rows.blowfish.protect(LINE, epsilon=1)

    bf.compare({"own": frame.blowfish.plan, "dp": DP}, lambda plan: plan.hist("age"), epsilon=(0.1, 1))

    assert frame.blowfish.budget.spent == 0


@pytest.mark.parametrize(
    ("policies", "ask", "epsilon", "kind", "said"),
    [
        ({}, lambda plan: plan.hist("age"), 1, ArgumentError, "there are none"),
        ("policy.yaml", lambda plan: plan.hist("age"), 1, ArgumentTypeError, "no policy"),
        ({"a": 3}, lambda plan: plan.hist("age"), 1, ArgumentTypeError, "no policy"),
        (LINE, "hist", 1, ArgumentTypeError, "not a function"),
        (LINE, {}, 1, ArgumentTypeError, "not a function"),
        (LINE, lambda plan: None, 1, ArgumentTypeError, "returned nothing"),
        (LINE, lambda plan: pd.DataFrame(), 1, ArgumentTypeError, "returned a DataFrame"),
        (LINE, lambda plan, epsilon: plan.hist("age"), (1, 2), ArgumentError, "not pass it on"),
        (LINE, lambda plan: plan.hist("age"), 0, EpsilonError, "not positive"),
        (LINE, lambda plan: plan.hist("age"), (), ArgumentError, "there are none"),
        (LINE, lambda plan: plan.hist("age"), [None], EpsilonError, "not given"),
    ],
)
def test_wrong_calls_are_typed(policies, ask, epsilon, kind, said):
    """Each says what is allowed."""
    with pytest.raises(kind, match=said):
        bf.compare(policies, ask, epsilon=epsilon)


def test_fractions_are_exact_on_the_way():
    """An epsilon is read as everywhere else, and asked once."""
    table = bf.compare(LINE, lambda plan: plan.hist("age"), epsilon=["1/3", Fraction(1, 3), 0.1])

    assert list(table.index.get_level_values("epsilon")) == [1 / 3, 0.1]
