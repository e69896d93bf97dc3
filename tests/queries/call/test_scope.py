"""where and groupby on data: what is public stays exact, what is not is noisy, names know the scope."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    ExpressionError,
    NameTakenError,
    UndeclaredColumnError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope

DOMAIN = Domain(
    (
        integers("age", 0, 9),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("region", {"type": "category", "values": ["n", "s", "w"]}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(2), "sex": bf.full(), "region": bf.public()})
LIMIT = 5


@pytest.fixture
def df():
    """Return a protected frame of 400 rows, with plenty of budget."""
    draw = random.Random(1)
    rows = [(draw.randrange(10), draw.choice("FM"), draw.choice("nns")) for _ in range(400)]
    return pd.DataFrame(rows, columns=list(DOMAIN.columns)).blowfish.protect(POLICY, epsilon=100)


def test_a_filter_on_a_public_column_keeps_the_row_count_public(df):
    """No row can enter or leave: the count is exact and free, and histograms add up to it."""
    north = int((df["region"] == "n").sum())

    count = df.blowfish.where("region == 'n'").count(epsilon=1)
    ages = df.blowfish.where("region == 'n'").hist("age", epsilon="1/10")
    budget = df.blowfish.budget.spent

    assert count["count"].tolist() == [north]
    assert count["std"].tolist() == [0]
    assert ages["count"].sum() == pytest.approx(north, abs=1e-9)
    assert ages["std"].gt(0).all()
    assert budget * 10 == 1


def test_a_filter_on_a_secret_column_hides_the_row_count(df):
    """Rows can leave the filter: the count is noisy and no total is exact."""
    scope = df.blowfish.where("age >= 5")

    count = scope.count(epsilon="1/10")
    sexes = scope.hist("sex", epsilon="1/10")
    plan = scope.plan.hist("sex", epsilon="1/10")

    assert count["std"].iloc[0] > 0
    assert count.blowfish.receipt["sensitivity"] == "1"
    assert sexes["std"].gt(0).all()
    assert plan.matrix().shape == (2, 20)  # the bins, and no exact total below them
    assert plan.sensitivity == 2
    totals = {scope.hist("sex", epsilon="1/10")["count"].sum() for _ in range(8)}
    assert len(totals) > 1


def test_cells_outside_the_filter_are_listed_as_exact_zeros(df):
    """The whole domain is listed; what the filter excludes is 0 with std 0, whatever the rows hold."""
    for post in (True, False):
        ages = df.blowfish.where("3 <= age < 7").hist("age", epsilon=10, post=post)
        outside = ages.drop(index=[3, 4, 5, 6])

        assert ages.index.tolist() == list(range(10))
        assert (outside == 0).all(axis=None)
        assert ages.loc[3:6, "std"].gt(0).all()
        true = df.loc[df["age"].between(3, 6), "age"].value_counts().sort_index()
        assert np.abs(ages.loc[3:6, "count"] - true).max() < 20


def test_groups_are_outermost(df):
    """Levels come in the order grouped, then asked; groups can be chained."""
    by = df.blowfish.groupby(["region", "sex"]).hist("age", epsilon=1)
    chained = df.blowfish.groupby("region").groupby("sex").hist("age", epsilon=1)

    assert by.index.names == chained.index.names == ["region", "sex", "age"]
    assert by.index.tolist() == list(itertools.product("nsw", "FM", range(10)))
    totals = by["count"].groupby("region", observed=False).sum()
    assert totals.tolist() == pytest.approx(
        df["region"].value_counts().reindex(list("nsw"), fill_value=0).tolist()
    )


def test_chained_filters_must_all_hold(df):
    """where twice is "and"; order of where and groupby does not matter."""
    once = df.blowfish.plan.where("age >= 5 and sex == 'F'").groupby("region").count()
    twice = df.blowfish.plan.where("age >= 5").groupby("region").where("sex == 'F'").count()
    domain = list(once.domain.columns)

    assert list(twice.domain.columns) == domain
    assert once.matrix().toarray().tolist() == twice.matrix().toarray().tolist()


def test_a_scope_is_lazy_and_shares_nothing(df):
    """where and groupby charge nothing, and leave the frame and other scopes as they were."""
    base = df.blowfish.where("age > 1")

    base.groupby("sex")
    base.where("age > 5")

    assert base._scope.facts() == {"where": ["age > 1"]}
    assert df.blowfish._scope.facts() == {}
    assert df.blowfish.budget.spent == 0
    assert "age > 1" in repr(base)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda b: b.groupby("age").hist("age", epsilon=1), ArgumentError),
        (lambda b: b.groupby("age").hist(["sex", "age"], epsilon=1), ArgumentError),
        (lambda b: b.groupby("age").groupby("age"), ArgumentError),
        (lambda b: b.groupby(["age", "age"]), ArgumentError),
        (lambda b: b.groupby([]), ArgumentError),
        (lambda b: b.groupby(3), ArgumentTypeError),
        (lambda b: b.groupby("nobody"), UndeclaredColumnError),
        (lambda b: b.where("nobody > 1"), UndeclaredColumnError),
        (lambda b: b.where("age > @nobody"), ExpressionError),
        (lambda b: b.where("open('x')"), ExpressionError),
        (lambda b: b.where(None), ExpressionError),
    ],
)
def test_wrong_scopes_are_refused_before_a_charge(df, ask, error):
    """A grouped column in a histogram, unknown names and other text are typed errors that cost nothing."""
    for subject in (df.blowfish, df.blowfish.plan):
        with pytest.raises(error):
            ask(subject)

    assert df.blowfish.budget.spent == 0


def test_names_know_the_scope(df):
    """The same name is free for the same filter and groups, and taken for any other."""
    low = 5
    first = df.blowfish.where("age >= @low").groupby("sex").count(epsilon=1, name="kept")

    again = df.blowfish.where("age >= @low").groupby("sex").count(epsilon=1, name="kept")
    spelt = df.blowfish.where("age >= 5").groupby("sex").count(epsilon=1, name="kept")

    assert again["count"].tolist() == spelt["count"].tolist() == first["count"].tolist()
    assert df.blowfish.budget.spent == 1
    assert "where('age >= 5')" in first.blowfish.receipt["query"]
    assert "groupby(['sex'])" in first.blowfish.receipt["query"]
    low = 6  # noqa: F841  read by name
    for other in (
        df.blowfish.where("age >= @low").groupby("sex"),
        df.blowfish.where("age >= 5"),
        df.blowfish.groupby("sex"),
        df.blowfish.where("age >= 5").groupby("region"),
        df.blowfish,
    ):
        with pytest.raises(NameTakenError):
            other.count(epsilon=1, name="kept")
    assert df.blowfish.budget.spent == 1


def test_variables_are_the_callers():
    """@name is a local of the caller first, then a global; never one of the library's own."""
    here = 3  # noqa: F841  read by name

    assert POLICY.plan.where("age < @here").scope.texts == ("age < 3",)
    assert POLICY.plan.where("age < @LIMIT").scope.texts == ("age < 5",)
    for name in ("expression", "caller", "variables", "self", "nobody"):
        with pytest.raises(ExpressionError, match=name):
            POLICY.plan.where(f"age < @{name}")


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        ("age in @v", {"v": [1, 2]}, "age in [1, 2]"),
        ("age in @v", {"v": np.array([1, 2])}, "age in [1, 2]"),
        ("age in @v", {"v": {2, 1}}, "age in [1, 2]"),
        ("age in @v", {"v": range(2)}, "age in [0, 1]"),
        ("sex in @v", {"v": {"M", "F"}}, "sex in ['F', 'M']"),
        ("sex == @v", {"v": "F"}, "sex == 'F'"),
        ("age > @v", {"v": np.int64(3)}, "age > 3"),
        (" age > @v and age < @w ", {"v": 3, "w": 5}, "age > 3 and age < 5"),
        ("`a@b` > @b", {"b": 3}, "`a@b` > 3"),
        ("mail == 'x@y'", {"y": 3}, "mail == 'x@y'"),
        ("day < @v", {"v": pd.Timestamp("2020-01-02")}, "day < '2020-01-02T00:00:00'"),
    ],
)
def test_the_record_spells_variables(text, variables, expected):
    """What is written down has values, so that it means the same tomorrow; text in quotes is left alone."""
    policy = bf.Policy(
        Domain(
            (
                *DOMAIN,
                integers("a@b", 0, 9),
                from_dict("mail", {"type": "category", "values": ["x@y", "z"]}),
                from_dict(
                    "day", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-04", "step": "1D"}
                ),
            )
        )
    )

    scope = Scope().where(policy, text, variables)

    assert scope.texts == (expected,)
    assert Scope().where(policy, expected, {}).texts == (expected,)
    assert scope.facts() == {"where": [expected]}


@pytest.mark.parametrize("neighbors", ["record", "attribute", 1, 2])
def test_attribute_neighbours_cannot_cross_a_group_and_a_bin_at_once(neighbors):
    """However many blocks move, two counts change; at most as many as may move tell a filter apart."""
    policy = bf.Policy(DOMAIN, secrets={"region": bf.public()}, neighbors=neighbors)

    both = policy.plan.where("age < 5 and sex == 'F' or age >= 5 and sex == 'M'").count()
    diagonal = policy.plan.where("age == 0 and sex == 'F' or age == 1 and sex == 'M'").groupby("sex").count()

    assert both.sensitivity == 1
    assert diagonal.sensitivity == (2 if neighbors in ("record", 2) else 1)
    assert both.privacy_loss() == diagonal.privacy_loss() == 1
