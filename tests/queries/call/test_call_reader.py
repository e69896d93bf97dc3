"""Queries as text: what a plan prints is read back as the same plan, and nothing else is read."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, EpsilonError
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.policy.secret import relative_error
from pandas_blowfish.queries.call.call_reader import VERBS, parse_call

POLICY = bf.datasets.patients_policy()
PLAN = POLICY.plan
DATES = bf.Policy(
    Domain(
        (
            from_dict(
                "day",
                {"type": "datetime", "min": "2026-01-01 00:00Z", "max": "2026-03-01 00:00Z", "step": "1D"},
            ),
            from_dict("third", {"type": "float", "min": 0, "max": 2, "step": "1/3", "nullable": True}),
            from_dict("grade", {"type": "category", "values": ["lo'w", 'mi"d', "hi\nch"], "ordered": True}),
            from_dict("a `name`\t", {"type": "bool"}),
            from_dict("code", {"type": "string", "values": ["01", "@x", "é"]}),
        )
    )
).plan
PRICES = bf.Policy(
    Domain((from_dict("price", {"type": "float"}),)), secrets={"price": relative_error("0.9")}
).plan
EIGHTEEN, SEXES, DAY, EDGE = 18, {"M", "F"}, pd.Timestamp("2026-02-01", tz="UTC"), Fraction(1, 3)

PLANS = {
    "hist": PLAN.hist("age", epsilon=0.1, strategy="identity"),
    "hist by groups of values": PLAN.hist("disease", bins=bf.datasets.DISEASES),
    "hist of two, cut": PLAN.hist(["age", "disease"], bins={"age": 10, "disease": {1: ["flu"]}}),
    "hist by edges": PLAN.groupby("sex").hist("income", bins=np.array([0.0, 1_000, 500_000])),
    "hist of dates": DATES.hist("day", bins=pd.date_range("2026-01-01", "2026-02-26", freq="7D", tz="UTC")),
    "hist with missing": DATES.hist("third", bins={"low": [0, "1/3"], "none": [None]}),
    "hist of an awkward name": DATES.hist(["a `name`\t", "grade"], epsilon="1/3"),
    "cumhist": PLAN.where("age >= @EIGHTEEN and sex in @SEXES").cumhist("income", epsilon=Fraction(1, 7)),
    "quantile": PLAN.quantile("income", [0.25, Fraction(1, 3)]),
    "median": DATES.quantile("grade"),
    "range": PLAN.range("age", [(0, 17), (18, None)]),
    "one range": PLAN.range("age", (3, 4)),
    "every range": PLAN.range("age", "all"),
    "ranges of dates": DATES.range("day", [("2026-01-03 00:00Z", None), (None, DAY)]),
    "ranges of thirds": DATES.range("third", [("1/3", "4/3"), (1, None)]),
    "ranges of categories": DATES.range("grade", [("lo'w", 'mi"d'), ("hi\nch", "hi\nch")]),
    "boxes": PLAN.range(["age", "income"], [((18, 64), (0, 20_000)), ((65, None), (None, 50_000))]),
    "marginal": PLAN.marginal(["sex", "region"]),
    "marginal of one": PLAN.marginal("sex"),
    "one marginal in a list": PLAN.marginal([["sex"]]),
    "marginals": PLAN.groupby(["region"]).marginal([["sex"], ["sex", "disease"]], strategy="even"),
    "marginals of an order": PLAN.marginal(["sex", "region", "disease"], order=2),
    "workload": PLAN.workload([[1, -1]], "sex"),
    "workload of two": PLAN.where("age < 9")
    .groupby("region")
    .workload(np.eye(12, dtype=int), ["sex", "disease"]),
    "count": PLAN.count(),
    "count of some": DATES.where("day < @DAY and third >= @EDGE").where("code == '@x'").count(epsilon="0.5"),
    "sum": PLAN.sum("income", rows=7),
    "sum by column": PLAN.sum(["income"]),
    "mean": PLAN.mean(["age", "income"], rows=20_000),
    "mean of some": PLAN.where("sex == 'F'").mean("age"),
    "logsum": PRICES.logsum("price", epsilon="1/3"),
    "geomean": PRICES.geomean(["price"], rows=7),
    "var": PLAN.var("age", ddof=0, rows=9),
    "std": PLAN.groupby("sex").std(["age"]),
    "cov": PLAN.cov(["age", "income"], epsilon="1/3"),
    "corr": PLAN.where("sex == 'F'").corr(["age", "income"]),
    "describe": PLAN.describe("age", percentiles=[0.1]),
    "describe all": PLAN.groupby("sex").describe(["age"], rows=7),
    "agg": PLAN.agg({"age": ["mean", "std"], "income": "sum", "sex": "count"}),
    "kmeans": PLAN.kmeans(["age", "income"], 3),
    "mode": PLAN.where("age > 3").mode(["sex", "disease"]),
    "top": PLAN.groupby("sex").top(2, "disease", strategy="select", dropna=False),
    "kmeans, scaled": PLAN.where("age > 3").kmeans(
        ["age", "income"], 2, scale={"age": 1, "income": 0.1}, rows=50
    ),
    "kmeans, as it is": PLAN.groupby("sex").kmeans(["age"], k=2, scale=False),
    "value_counts": PLAN.value_counts("disease"),
    "value_counts of bins": PLAN.groupby("sex")["age"].value_counts(
        bins=[0, 18, 99], normalize=True, sort=False, ascending=True, dropna=False
    ),
    "value_counts of two": PLAN.value_counts(["sex", "disease"], bins={"disease": {"any": ["flu"]}}),
    "size": PLAN.groupby("region").size(strategy="identity"),
    "median itself": PLAN.median("age"),
    "median, lower": PLAN.where("sex == 'F'")["age"].median(interpolation="lower", strategy="haar"),
    "crosstab": PLAN.crosstab("sex", "disease", normalize=True),
    "crosstab of three": PLAN.groupby("region").crosstab("sex", ["age", "disease"], bins={"age": 2}),
}


@pytest.mark.parametrize("case", PLANS)
def test_what_a_plan_prints_is_the_same_plan(case):
    """The text of every verb's plan asks the same question at the same epsilon, and prints itself."""
    plan = PLANS[case]
    planner = next(each for each in (PLAN, DATES, PRICES) if each.policy == plan.policy)

    again = parse_call(plan.call).on(planner)

    assert again.query == plan.query
    assert again.epsilon == plan.epsilon
    assert again.strategy == plan.strategy
    assert again.call == plan.call
    assert str(parse_call(str(parse_call(plan.call)))) == str(parse_call(plan.call))


SELECTED = {
    "['age'].mean(epsilon=1)": "mean('age', epsilon=1)",
    "df.blowfish['age'].range([(0, 17)], epsilon=1)": "range('age', [[0, 17]], epsilon=1)",
    "groupby('sex')['income'].mean(epsilon=0.1)": "groupby('sex').mean('income', epsilon=0.1)",
    "policy.plan[['age', 'income']].kmeans(4)": "kmeans(['age', 'income'], 4)",
    "where('age > 3')[['age', 'income']]['age'].quantile(0.25)": "where('age > 3').quantile('age', 0.25)",
    "[['sex', 'region']].value_counts()": "value_counts(['sex', 'region'])",
}


@pytest.mark.parametrize("text", SELECTED)
def test_columns_in_brackets_are_read(text):
    """Selected columns are the verb's own: the plan states the same call, whichever way it was asked."""
    call = parse_call(text)

    assert call.on(PLAN).call == parse_call(SELECTED[text]).on(PLAN).call
    assert str(parse_call(str(call))) == str(call)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("['age', 'income'].hist()", "not a column in brackets"),
        ("groupby('sex')['age', 'income'].mean()", "several columns"),
        ("groupby('sex')[1:2].mean()", "not a literal"),
        ("groupby('sex')['age']", "not a call"),
        ("groupby('sex').hist()", "of no column"),
        ("df.blowfish" + "['age']" * 150 + ".hist()", "more than 100 steps"),
    ],
)
def test_other_brackets_are_refused(text, said):
    """With the place and what to write."""
    with pytest.raises(ArgumentError, match="query") as refused:
        parse_call(text)

    assert said in str(refused.value)


def test_every_verb_is_among_them():
    """No verb is left out of the cases, or of the language."""
    assert {plan.query.get("spelt", plan.query)["verb"] for plan in PLANS.values()} == set(VERBS)
    assert all(hasattr(PLAN, verb) and hasattr(bf.Protected, verb) for verb in VERBS)


@pytest.mark.parametrize("seed", range(40))
def test_random_plans_are_read_back(seed, make_full_policy, make_filter, make_bins):
    """Any columns, filters, groups and bins come back as they were asked."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, 3)
    first, second, third = draw.sample(list(policy.domain), 3)
    planner = policy.plan.where(make_filter(draw, policy.domain)).groupby(first.name)
    plans = [planner.hist(second.name, bins=make_bins(draw, second))]
    plans += [policy.plan.hist([third.name, second.name], bins={third.name: make_bins(draw, third)})]
    plans += [planner.range(second.name, "all")] if second.ordered else []

    for plan in plans:
        again = parse_call(plan.call).on(policy.plan)

        assert again.query == plan.query
        assert again.index.equals(plan.index)
        assert again.mse == plan.mse or np.isnan(plan.mse)


@pytest.mark.parametrize(
    "text",
    [
        "hist('age', epsilon=0.1)",
        ".hist('age', epsilon=0.1)",
        "  df.blowfish.hist('age', epsilon=0.1)\n",
        "df.blowfish.plan.hist('age', epsilon=0.1,)",
        "policy.plan.hist('age', epsilon=+0.1)",
        "(patients.blowfish\n  .hist('age', epsilon=0.1))",
        "hist(\n'age', # the ages\nepsilon=0.1)",
        "df.blowfish\n.hist('age',\nepsilon=0.1)",
        "hist('a' 'ge', epsilon=0.1)",
    ],
)
def test_pasted_spellings(text):
    """What people copy from Python is read, on one line or several."""
    assert str(parse_call(text)) == "hist('age', epsilon=0.1)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("   .  ", "empty"),
        ("hist", "not a call"),
        ("hist('age'", "cannot be read"),
        ("hist('age', epsilon=0.1) + 1", "not a call"),
        ("hist('age'); import os", "cannot be read"),
        ("where('age > 1')", "a verb must follow"),
        ("hist('age').where('age > 1').count()", "before another step"),
        ("protect('x')", "no verb"),
        ("blowfish.report('x')", "no verb"),
        ("df.hist('age')", "not a call"),
        ("df.plan.blowfish.hist('age')", "not a call"),
        ("__import__('os').system('ls')", "no verb"),
        ("hist.__class__('x')", "no verb"),
        ("[hist][0]('age')", "not the name"),
        ("hist(open('x'), epsilon=1)", "character 6, \"open('x'), epsilon=1)\": a call"),
        ("hist('age', epsilon=eps)", "the name 'eps' stands for nothing"),
        ("hist('age', epsilon=1/3)", "'1/3'"),
        ("hist('age', epsilon=-(-1))", "not a literal"),
        ("hist('age', epsilon=not 1)", "not a literal"),
        ("hist(b'age')", "not a literal"),
        ("hist(1j)", "not a literal"),
        ("hist(...)", "not a literal"),
        ("hist(f'{1}')", "not a literal"),
        ("hist(*['age'])", "not a literal"),
        ("hist({'age'})", "not a literal"),
        ("hist([x for x in 'ab'])", "not a literal"),
        ("hist('age', **{'epsilon': 1})", "arguments in a dict"),
        ("hist('age', epsilon=1, epsilon=2)", "given twice"),
        ("hist('age', bins={**{}})", "a key"),
        ("hist('age', bins={(1,): [1]})", "a key"),
        ("hist('age', bins={'a': [1], 'a': [2]})", "twice"),
        ("hist('age', epsilom=1)", "hist takes columns, epsilon"),
        ("hist('age', 0.1)", "hist takes"),
        ("quantile()", "quantile takes"),
        ("where('age > @x').count()", "@variable"),
        ("where(1, 2).count()", "where takes"),
        ("hist('age', name=' x')", "name="),
        ("hist('age', name=3)", "name="),
        ("hist('age', post='nonnegative')", "post="),
        ("hist('age', post=1)", "post="),
        ("hist('age'))(", "cannot be read"),
        ("hist('age'))(\n'x'", "do not match"),
        ("hist('age'\x00)", "cannot be read"),
        ("hist('\ud800')", "odd characters"),
        ("hist('age', epsilon=1" + "0" * 5_000 + ")", "cannot be read"),
        ("hist(" + "[" * 150 + "]" * 150 + ")", "too deep"),
        ("hist(" + "(" * 10_000, "cannot be read"),
        ("hist(" + "-" * 100_000 + "1)", "cannot be read"),
        ("where('age > 1')." * 101 + "count()", "more than 100 steps"),
        ("a." * 200_000 + "hist('age')", "cannot be read"),
        ("x" * 1_000_001, "longer than"),
        (None, "not text"),
        (b"hist('age')", "not text"),
    ],
    ids=itertools.count(),
)
def test_anything_else_is_refused(text, said):
    """Whatever is no query is a typed error that says where and what to do."""
    with pytest.raises(ArgumentError, match="query") as refused:
        parse_call(text)

    assert said in str(refused.value).replace("\\'", "'")
    assert len(str(refused.value)) < 700


def test_the_place_is_told():
    """An error counts characters as a person does, on the line where it is."""
    with pytest.raises(ArgumentError, match=r"at line 2, character 14, 'eps\)'"):
        parse_call("where('é > 1')\n.hist('é', ü=eps)")

    with pytest.raises(ArgumentError, match=r"at character 12, 'x\)'"):
        parse_call("hist('éé', x)")


@pytest.mark.parametrize(
    "plan",
    [
        PLAN.workload(np.ones((3, 100), dtype=int), "age"),
        PLAN.range("age", [(low, low) for low in range(100)] * 3),
        PLAN.range(["age", "income"], [((low, low), (0, 100)) for low in range(100)] * 3),
        PLAN.hist("income", bins=list(range(0, 30_000, 100))),
    ],
    ids=["matrix", "ranges", "boxes", "bins"],
)
def test_a_hash_cannot_be_asked(plan):
    """Where the record holds a hash alone the text is read, and asking it is refused."""
    call = parse_call(plan.call)

    assert not call.replayable
    with pytest.raises(ArgumentError, match="by a hash"):
        call.on(PLAN)


def test_released_from_text():
    """On a protected frame the text releases, under its name, and a mean knows its rows."""
    df = bf.datasets.patients(500).blowfish.protect(POLICY, epsilon=2)
    call = parse_call("where('age >= 18').hist('sex', epsilon='0.1')").with_name("adults")

    found = call.on(bf.of(df))
    again = parse_call(found.blowfish.receipt["query"]).with_name("adults").on(df.blowfish)
    mean = df.blowfish.mean("age", epsilon=0.1, name="mean")
    same = parse_call(mean.blowfish.receipt["query"]).but(name="mean").on(df.blowfish)

    assert again.equals(found)
    assert same.equals(mean)
    assert df.blowfish.budget.spent == Fraction(1, 5)
    with pytest.raises(EpsilonError):
        parse_call("hist('age')").on(df.blowfish)
    with pytest.raises(EpsilonError):
        parse_call("sum('age')").on(df.blowfish)
    with pytest.raises(ArgumentError, match="rows"):
        parse_call("mean('age', epsilon=1, rows=7)").on(df.blowfish)


def test_changed_arguments_are_checked():
    """A call can be given other arguments, which its verb must take."""
    call = parse_call("hist('age', epsilon=1, name='x')")

    assert call.name == "x"
    assert call.with_name(None).name is None
    assert call.but(post=False).arguments["post"] is False
    with pytest.raises(ArgumentError, match="order"):
        call.but(order=2)
    with pytest.raises(ArgumentError, match="name="):
        call.with_name("")


def test_rows_are_compared():
    """A sum or mean may say the public number of rows, where there is one; other verbs mean it otherwise."""
    for text in ("mean('age', epsilon=1, rows=5)", "sum('age', epsilon=1, rows=5)"):
        parse_call(text).require_rows(5)
        for known in (None, 6):
            with pytest.raises(ArgumentError, match="not the public number"):
                parse_call(text).require_rows(known)
    parse_call("kmeans('age', k=2, epsilon=1, rows=5)").require_rows(None)
    parse_call("mean('age', epsilon=1)").require_rows(None)
