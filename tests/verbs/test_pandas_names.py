"""Names of pandas that are no verbs here, misspelt ones, and columns in brackets: typed errors that help."""

import pandas as pd
import pytest
from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotProtectedError,
    NotReleasedError,
    UndeclaredColumnError,
    UnknownVerbError,
)
from pandas_blowfish.verbs.pandas_names import FIXES, INSTEAD, OTHERS

KINDS = (pd.DataFrame, pd.Series, DataFrameGroupBy, SeriesGroupBy)
NAMES = sorted({name for kind in KINDS for name in dir(kind) if not name.startswith("_")} - {"blowfish"})


@pytest.fixture(scope="module")
def df():
    """Return protected patients."""
    return bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)


def _views(df):
    verbs = df.blowfish
    table = bf.protect(bf.datasets.patients(50), bf.datasets.patients_policy(), epsilon=1)
    return [verbs, verbs.where("age > 3"), verbs.groupby("sex")["age"], verbs.plan, verbs.policy.plan, table]


def test_every_name_of_pandas_is_a_verb_or_says_what_to_use(df):
    """Of the installed pandas, on every view; `hasattr` stays False, and nothing is charged."""
    for view in _views(df):
        own = {name for name in dir(type(view)) if not name.startswith("_")}
        for name in NAMES:
            if name in own:
                continue
            with pytest.raises((UnknownVerbError, NotReleasedError)) as caught:  # plot, assign: of releases
                getattr(view, name)
            assert caught.value.fix
            assert not hasattr(view, name)
    assert df.blowfish.budget.spent == 0


def test_every_name_has_a_sentence_of_its_own():
    """The table is complete for this pandas, names nothing twice, and no verb that there is."""
    listed = [name for names in INSTEAD.values() for name in names.split()]

    assert len(listed) == len(set(listed)) == len(FIXES)
    lacking = {name for name in NAMES if name not in FIXES and not hasattr(bf.Protected, name)}
    assert not lacking
    assert not [name for name in FIXES if hasattr(bf.Protected, name)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("head", "single rows"),
        ("max", "quantile([0.01, 0.99]"),
        ("apply", "any function"),
        ("merge", "before they are protected"),
        ("fillna", "df.fillna(...)"),
        ("query", "where("),
        ("to_csv", "bf.save"),
        ("resample", 'bins="MS"'),
        ("pivot_table", "crosstab"),
        ("nlargest", "top"),
        ("columns", 'df.blowfish["age"]'),
        ("age", "df.blowfish['age']"),
        ("hst", "did you mean hist?"),
        ("value_count", "did you mean value_counts?"),
    ],
)
def test_an_error_says_what_to_use(df, name, said):
    """In one sentence."""
    for view in (df.blowfish, df.blowfish.plan):
        with pytest.raises(UnknownVerbError) as caught:
            getattr(view, name)
        assert said in str(caught.value)


def test_rows_and_releases_have_errors_of_their_own(df):
    """A release is a plain frame itself; rows are protected first."""
    released = df.blowfish.hist("sex", epsilon="0.1")

    with pytest.raises(UnknownVerbError, match=r"release\.head"):
        _ = released.blowfish.head
    with pytest.raises(UnknownVerbError, match="did you mean quantile"):
        _ = released.blowfish.quantil
    with pytest.raises(NotProtectedError, match="is not protected"):
        _ = bf.datasets.patients(5).blowfish["age"]
    with pytest.raises(NotProtectedError, match="is a release"):
        _ = released.blowfish["sex"]
    assert OTHERS


def test_a_new_name_of_pandas_has_the_default_sentence(df, monkeypatch):
    """So that a later version's names are typed errors too."""
    monkeypatch.setattr(pd.DataFrame, "brand_new", None, raising=False)

    with pytest.raises(UnknownVerbError, match="has no verb here"):
        _ = df.blowfish.brand_new


@pytest.mark.parametrize(
    ("ask", "near"),
    [
        (lambda each: each.groupby(column="sex"), "columns"),
        (lambda each: each.where(expresion="age > 3"), "expression"),
        (lambda each: each.hist("age", epsilom=1), "epsilon"),
        (lambda each: each.value_counts("age", epsilon=1, normalise=True), "normalize"),
        (lambda each: each.crosstab("age", "sex", epsilon=1, normalise=True), "normalize"),
    ],
)
def test_a_misspelt_keyword_names_the_nearest(df, ask, near):
    """On protected rows and on `plan`."""
    for view in (df.blowfish, df.blowfish.plan):
        with pytest.raises(ArgumentTypeError, match=f"did you mean {near}="):
            ask(view)


def test_misspelt_keywords_of_a_release(df):
    """The same."""
    released = df.blowfish.hist("age", epsilon="0.1").blowfish

    for ask in (lambda: released.interval(leve=0.9), lambda: released.plot(levle=0.9)):
        with pytest.raises(ArgumentTypeError, match="did you mean level="):
            ask()


def test_variables_are_those_of_the_caller(df):
    """`where` finds `@name` where it is called from, though its call is checked first."""
    grown = 18  # noqa: F841  read by its name

    assert df.blowfish.where("age >= @grown").plan.count().query["where"] == ["age >= 18"]


SPELT = {
    "mean": (lambda v: v["age"].mean(), lambda v: v.mean("age")),
    "a list": (lambda v: v[["age"]].mean(), lambda v: v.mean(["age"])),
    "by group": (
        lambda v: v.groupby("sex")["income"].mean(),
        lambda v: v.groupby("sex").mean("income"),
    ),
    "filtered": (
        lambda v: v.where("age < 9")["age"].hist(),
        lambda v: v.where("age < 9").hist("age"),
    ),
    "range": (lambda v: v["age"].range([(0, 17)]), lambda v: v.range("age", [(0, 17)])),
    "every range": (lambda v: v["sex"]["sex"].hist(), lambda v: v.hist("sex")),
    "quantile": (lambda v: v["age"].quantile([0.25]), lambda v: v.quantile("age", [0.25])),
    "its default": (lambda v: v["age"].quantile(), lambda v: v.quantile("age")),
    "kmeans": (
        lambda v: v[["age", "income"]].kmeans(2),
        lambda v: v.kmeans(["age", "income"], 2),
    ),
    "named": (lambda v: v["age"].range(bounds="all"), lambda v: v.range("age", "all")),
    "all ranges": (lambda v: v["age"].range("all"), lambda v: v.range("age", "all")),
    "twice alike": (lambda v: v["age"].quantile("age", 0.1), lambda v: v.quantile("age", 0.1)),
    "workload": (lambda v: v["sex"].workload([[1, -1]]), lambda v: v.workload([[1, -1]], "sex")),
    "marginal": (
        lambda v: v[["sex", "region", "disease"]].marginal(order=2),
        lambda v: v.marginal(["sex", "region", "disease"], order=2),
    ),
    "grouped later": (
        lambda v: v[["sex", "age"]].groupby("sex").mean(),
        lambda v: v.groupby("sex").mean(["age"]),
    ),
    "count": (lambda v: v["age"].count(), lambda v: v.count()),
}


@pytest.mark.parametrize("case", SPELT)
def test_selected_columns_are_the_verb_s_own(df, case):
    """The plan, its call and what records state are as if the verb had named them."""
    selected, named = SPELT[case]

    for view in (df.blowfish.plan, bf.datasets.patients_policy().plan):
        assert selected(view).call == named(view).call
        assert selected(view).query == named(view).query


def test_a_release_of_selected_columns_states_the_canonical_call(df):
    """In its receipt, with the dtype and labels of the plain call; on tables of other engines too."""
    table = bf.protect(bf.datasets.patients(50), bf.datasets.patients_policy(), epsilon=1)
    for view in (df.blowfish, table):
        with bf.testing.replay(1):
            found = view.groupby("sex")["income"].mean(epsilon="0.1")
        with bf.testing.replay(1):
            wanted = view.groupby("sex").mean("income", epsilon="0.1")
        pd.testing.assert_frame_equal(found, wanted)
        assert found.blowfish.receipt["query"].startswith("groupby(['sex']).mean('income', ")


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda each: each["nothing"], UndeclaredColumnError),
        (lambda each: each[["age", "nothing"]], UndeclaredColumnError),
        (lambda each: each[3], ArgumentTypeError),
        (lambda each: each[["age", "age"]], ArgumentError),
        (lambda each: each["age"]["sex"], ArgumentError),
        (lambda each: each["age"].hist("sex", epsilon=1), ArgumentError),
        (lambda each: each["age"].quantile("sex", epsilon=1), ArgumentError),
        (lambda each: each["age"].range("sex", [(0, 1)], epsilon=1), ArgumentError),
        (lambda each: each[["age", "income"]].cumhist(epsilon=1), ArgumentError),
        (lambda each: each["age"].marginal([["age"], ["sex"]], epsilon=1), ArgumentError),
        (lambda each: each.hist(epsilon=1), ArgumentTypeError),
        (lambda each: each["age"].range(epsilon=1), ArgumentTypeError),
        (lambda each: each[["age", "income"]].kmeans(epsilon=1), ArgumentError),
        (lambda each: list(each), TypeError),
        (lambda each: "age" in each, TypeError),
    ],
)
def test_wrong_selections_are_typed_errors(df, ask, error):
    """At once, on rows and on `plan`; nothing is charged."""
    spent = df.blowfish.budget.spent

    for view in (df.blowfish, df.blowfish.plan):
        with pytest.raises(error):
            ask(view)

    assert df.blowfish.budget.spent == spent


def test_views_show_what_is_selected(df):
    """In a terminal and in a notebook."""
    view = df.blowfish.where("age < 18").groupby("sex")[["age", "income"]]

    for shown in (repr(view), view._repr_html_(), repr(view.plan), view.plan._repr_html_()):
        assert "age, income" in shown
        assert "selected" in shown
