"""Accuracy first: the epsilon found meets the goal where it is planned, and a shorter one does not."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.kernel import noise
from pandas_blowfish.plan.goal import MAX_SCALE, STEPS, decimal
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute

PATIENTS = bf.datasets.patients_policy()
LINE = bf.Policy(Domain((integers("x", 0, 99),)), secrets={"x": bf.threshold(3)})


def _below(epsilon):
    """Return the next smaller decimal of three digits."""
    power = math.floor(math.log10(epsilon.numerator) - math.log10(epsilon.denominator) + 1e-12)
    index = next(
        index
        for index in range((power - 1) * STEPS, (power + 2) * STEPS)
        if decimal(index) == epsilon  # it is one of them
    )
    return decimal(index - 1)


def _verb(draw, policy, planner):
    """Return a function that plans some verb at an epsilon."""
    columns = [each.name for each in policy.domain]
    ordered = [each.name for each in policy.domain if each.ordered]
    numbers = [each.name for each in policy.domain if each.kind in ("integer", "float")]
    kind = draw.choice(["hist", "count", "cumhist", "quantile", "range", "marginal", "sum", "workload"])
    some = draw.sample(columns, draw.randint(1, len(columns)))
    if kind == "cumhist" and ordered:
        return lambda epsilon: planner.cumhist(ordered[0], epsilon=epsilon)
    if kind == "quantile" and ordered:
        return lambda epsilon: planner.quantile(ordered[0], [0.1, 0.5], epsilon=epsilon)
    if kind == "range" and ordered:
        return lambda epsilon: planner.range(ordered[-1], [(None, None)], epsilon=epsilon)
    if kind == "marginal" and len(columns) > 1:
        return lambda epsilon: planner.marginal(columns, order=1, epsilon=epsilon)
    if kind == "sum" and numbers:
        return lambda epsilon: planner.sum(numbers, epsilon=epsilon)
    if kind == "workload":
        cells = math.prod(policy.domain[name].size for name in some)
        matrix = [[draw.randint(-2, 2) for _ in range(cells)] for _ in range(3)]
        return lambda epsilon: planner.workload(matrix, some, epsilon=epsilon)
    if kind == "count":
        return lambda epsilon: planner.count(epsilon=epsilon)
    return lambda epsilon: planner.hist(some, epsilon=epsilon)


@pytest.mark.parametrize("seed", range(60))
def test_the_goal_is_met_where_it_is_planned(seed, make_full_policy, make_facts, make_filter):
    """Any verb, policy, filter and facts: met at the result, missed at the decimal below."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 3), most=4)
    if seed % 3 == 0:
        counts = np.array([draw.randint(0, 3) for _ in range(policy.domain.size)])
        policy = policy.with_facts(make_facts(draw, policy.domain, counts, draw.randint(1, 2)))
    planner = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.4 else policy.plan
    ask = _verb(draw, policy, planner)
    rmse = draw.choice([0.01, 0.3, 1, 7.5, 40, 12345.678, "1/3"])

    plan = ask(draw.choice([1, "0.003", 25]))
    found = plan.epsilon_for(rmse=rmse)

    assert isinstance(found, Fraction)
    assert ask(found).mse ** 0.5 <= float(Fraction(rmse))
    if plan.sensitivity:
        assert ask(_below(found)).mse ** 0.5 > float(Fraction(rmse))
    else:
        assert found == plan.epsilon
        assert ask(found).cost == 0


@pytest.mark.parametrize("seed", range(25))
def test_clusterings_meet_goals(seed, make_clusters):
    """Sizes and the expected distortion; what cannot be reached says so."""
    draw = random.Random(seed)
    case = make_clusters(draw, facts=seed % 2)
    goals = [{"rmse": draw.choice([1, 20, 300])}, {"distortion": draw.choice([0.05, 0.5])}]

    for goal in goals:
        try:
            found = case.plan.at(case.plan.epsilon_for(**goal))
        except ArgumentError as error:
            why = error.problem
        else:
            why = ""
        if why:
            assert "least" in why or "exact already" in why
            continue
        value = found.mse**0.5 if "rmse" in goal else found.distortion
        assert value <= next(iter(goal.values()))


def test_several_goals_all_hold():
    """The largest standard error, and both together."""
    plan = LINE.plan.cumhist("x", epsilon="0.1")

    for goals in ({"std": 5}, {"std": 5, "rmse": 5}, {"std": 50, "rmse": 2}):
        found = plan.at(plan.epsilon_for(**goals))
        assert found.std.max() <= goals["std"]
        assert found.mse**0.5 <= goals.get("rmse", math.inf)
        below = plan.at(_below(found.epsilon))
        assert below.std.max() > goals["std"] or below.mse**0.5 > goals.get("rmse", math.inf)


def test_it_is_asked_with_what_was_asked_before():
    """A filter, groups, a named strategy and the number of rows stay."""
    planner = PATIENTS.plan.where("age >= 18").groupby("sex")
    plan = planner.hist("disease", strategy="identity")

    found = plan.epsilon_for(rmse=3)

    assert plan.at(found).call == planner.hist("disease", strategy="identity", epsilon=found).call
    assert planner.hist("disease", strategy="identity", epsilon=found).mse ** 0.5 <= 3
    mean = PATIENTS.plan.mean("age", rows=1_000)
    assert PATIENTS.plan.mean("age", rows=1_000, epsilon=mean.epsilon_for(rmse=0.01)).mse <= 0.01**2


def test_the_strategy_may_change_on_the_way():
    """What is planned at the result counts, not what was planned before."""
    plan = PATIENTS.plan.kmeans(["age", "income"], 3, rows=10_000, epsilon=3)

    found = plan.at(plan.epsilon_for(distortion=0.2))

    assert plan.strategy == "soft"
    assert found.distortion <= 0.2
    assert found.grid != plan.grid


def test_lengths_of_time_are_goals_of_mean_instants():
    """A timedelta for instants, refused for numbers."""
    day = numeric_attribute("day", "datetime", "2026-01-01", "2026-03-01", "1D")
    policy = bf.Policy(Domain((day, integers("x", 0, 9))))
    plan = policy.plan.mean("day", rows=1_000)

    found = plan.at(plan.epsilon_for(rmse=pd.Timedelta("2h")))

    assert found.mse**0.5 <= pd.Timedelta("2h").value
    assert plan.epsilon_for(rmse=np.timedelta64(2, "h")) == found.epsilon
    with pytest.raises(ArgumentTypeError, match="numbers"):
        policy.plan.mean("x", rows=10).epsilon_for(rmse=pd.Timedelta("2h"))


def test_an_exact_answer_needs_no_epsilon():
    """The plan's own is returned, for it can be passed on; even for an error of 0."""
    plan = PATIENTS.plan.hist("region", epsilon="0.7")

    assert plan.epsilon_for(rmse=0) == Fraction(7, 10)
    assert plan.at(plan.epsilon_for(rmse=10)).cost == 0


def test_noise_that_cannot_be_drawn_is_not_a_result():
    """A goal beyond all noise leads to the smallest epsilon that can be released."""
    plan = LINE.plan.hist("x")

    found = plan.at(plan.epsilon_for(rmse=1e300))

    assert MAX_SCALE == noise.MAX_SCALE
    assert found.scale <= MAX_SCALE < plan.at(_below(found.epsilon)).scale


@pytest.mark.parametrize(
    ("plan", "goals", "said"),
    [
        (LINE.plan.hist("x"), {}, "no goal"),
        (LINE.plan.hist("x"), {"rmse": 0}, "never exact"),
        (LINE.plan.hist("x"), {"rmse": -1}, "negative"),
        (LINE.plan.hist("x"), {"rmse": float("nan")}, "not finite"),
        (LINE.plan.hist("x"), {"rmse": "ten"}, "not a number"),
        (LINE.plan.hist("x"), {"rmse": True}, "bool"),
        (LINE.plan.hist("x"), {"rmse": [1]}, "not a number"),
        (LINE.plan.hist("x"), {"distortion": 0.1}, "only a kmeans"),
        (LINE.plan.cumhist("x", strategy="dawa"), {"rmse": 10}, "depends on the rows"),
        (LINE.plan.mean("x"), {"rmse": 1}, "how many rows"),
        (PATIENTS.plan.kmeans(["age", "income"], 3, rows=9), {"distortion": 1e-9}, "the least"),
        (PATIENTS.plan.kmeans(["age", "income"], 3, rows=9), {"distortion": 0}, "never exact"),
        (PATIENTS.with_facts([]).plan.sum("income"), {"rmse": -0.5}, "negative"),
    ],
)
def test_goals_that_no_epsilon_meets_are_refused(plan, goals, said):
    """Wrong, unreachable or unknowable: a typed error that says which."""
    with pytest.raises(ArgumentError, match=said):
        plan.epsilon_for(**goals)


def test_few_plans_are_made():
    """A usual goal takes a handful, an extreme one a few dozen."""
    made = []
    plan = LINE.plan.cumhist("x")
    counted = replace(plan, again=lambda epsilon: made.append(epsilon) or plan.again(epsilon))

    for rmse, most in ((10, 5), (1_000, 5), (1e-20, 40), (1e20, 40)):
        made.clear()
        counted.epsilon_for(rmse=rmse)
        assert 0 < len(made) <= most


def test_text_of_a_plan_stays():
    """A plan says nothing new about itself."""
    assert "epsilon_for" not in repr(LINE.plan.hist("x"))
    assert LINE.plan.hist("x").at("0.5").epsilon == Fraction(1, 2)
