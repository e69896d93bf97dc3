"""The lower bound of errors is below whatever can be measured, and says so in words."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.plan.linear import bound, optimise
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, from_dict, integers

FAR = 12  # noise beyond which a lattice is cut off
STEPS = {  # what edges change on a lattice, what answers are made of it, and whether the bound is attained
    "a count": ([[1]], [[1]], True),
    "a sum that changes by 1 or 2": ([[1], [2]], [[1]], False),
    "three cells": ([[1, 0], [0, 1], [1, 1]], [[1, 0], [-1, 1], [0, -1]], False),
    "prefix sums": ([[1, 0], [0, 1]], [[1, 0], [0, 1]], True),
    "prefix sums, two at once": ([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], False),
    "two sums": ([[1, 1], [1, -1], [1, 0], [0, 1]], [[1, 0], [0, 1]], False),
    "all ranges": ([[1, 0], [0, 1]], [[1, 0], [0, 1], [1, -1]], False),
}


def _line(high, theta=1, **more):
    return bf.Policy(Domain((integers("x", 0, high),)), secrets={"x": bf.threshold(theta)}, **more)


def _random_plan(draw, policy, make_filter):
    """Return a plan of any kind whose answers are sums of counts."""
    names = list(policy.domain.columns)
    planner = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.3 else policy.plan
    name, epsilon = draw.choice(names), draw.choice(["1/10", "1/2", 1, 3])
    rest = [each for each in names if each != name]
    if rest and draw.random() < 0.3:
        planner, names = planner.groupby(rest[0]), [name]
    verb = draw.choice(["hist", "cumhist", "range", "marginal", "marginal", "workload", "sum", "count"])
    if verb == "marginal":
        some = {tuple(sorted(draw.sample(names, draw.randint(1, len(names))))) for _ in range(3)}
        tables = [list(each) for each in sorted(some)]
        return planner.marginal(tables, epsilon=epsilon)
    if verb == "range":
        return planner.range(name, "all", epsilon=epsilon)
    if verb == "workload":
        size = policy.domain[name].size
        matrix = [[draw.randint(-1, 2) for _ in range(size)] for _ in range(draw.randint(1, 4))]
        return planner.workload(matrix, name, epsilon=epsilon)
    if verb == "count":
        return planner.count(epsilon=epsilon)
    return getattr(planner, verb)(names if verb == "hist" else name, epsilon=epsilon)


@pytest.fixture
def _short_search(monkeypatch):
    """Whatever rows a search finds, the bound is below their error."""
    monkeypatch.setattr(optimise, "MOST", 2)
    monkeypatch.setattr(optimise, "LEAST", 1)
    monkeypatch.setattr(optimise, "STAGES", ((0.03, 100.0),))


@pytest.mark.usefixtures("_short_search")
def test_no_candidate_is_better(make_full_policy, make_filter):
    """On random policies and questions nothing that is considered has an error below the bound."""
    draw = random.Random(5)
    known = close = 0
    for number in range(180):
        policy = make_full_policy(draw, draw.randint(1, 3), 4)
        try:
            plan = _random_plan(draw, policy, make_filter)
        except BlowfishError:  # a question that this column does not have
            continue
        if math.isnan(plan.bound):
            continue
        known += plan.cost > 0
        errors = plan.candidates["mse"].dropna() if number % 4 == 0 else np.array([plan.mse])
        close += bool(plan.cost) and plan.mse <= 1.1 * plan.bound
        assert plan.bound <= min(plan.mse, errors.min()), plan.call

    assert known > 60
    assert close > 10


def _least_on_a_lattice(steps, answers, epsilon):
    """Return the least mean square of any noise on a cut-off lattice, by linear programming."""
    axes = [np.arange(-FAR, FAR + 1)] * len(steps[0])
    points = np.array(list(itertools.product(*axes)))
    squares = ((points @ np.array(answers).T) ** 2).sum(axis=1)
    shape, rows = [2 * FAR + 1] * len(steps[0]), []
    for step in steps:
        inside = np.flatnonzero((abs(points + step) <= FAR).all(axis=1))
        there = np.ravel_multi_index(tuple((points[inside] + step + FAR).T), shape)
        rows += [(inside, there), (there, inside)]
    low, high = (np.concatenate([pair[side] for pair in rows]) for side in (0, 1))
    place = np.arange(len(low))
    values = np.concatenate([np.ones(len(low)), np.full(len(low), -math.exp(epsilon))])
    odds = coo_array((values, (np.tile(place, 2), np.concatenate([low, high]))), (len(low), len(points)))
    once = np.ones((1, len(points)))
    return linprog(squares, A_ub=odds.tocsr(), b_ub=np.zeros(len(low)), A_eq=once, b_eq=[1]).fun


@pytest.mark.parametrize("epsilon", [1.5, 3.0])
@pytest.mark.parametrize("name", list(STEPS))
def test_no_noise_on_a_lattice_is_better(name, epsilon):
    """The best of all noises, additive or not, found as a linear programme, is no better than the bound."""
    steps, answers, attained = STEPS[name]
    changes = np.array(steps) @ np.array(answers).T  # of an edge from where nothing is counted to a cell
    pairs = np.column_stack([np.arange(len(steps)), np.full(len(steps), len(steps))])

    found = bound.least_error(changes @ changes.T.astype(float), pairs) * variance(1 / Fraction(epsilon))
    best = _least_on_a_lattice(steps, answers, epsilon)

    assert found <= best * (1 + 1e-4)  # as much as noise beyond the lattice that was cut off adds
    assert not attained or found >= best * (1 - 1e-3)
    assert found >= best / 2.5


def test_noise_drawn_together_is_no_better():
    """Cliques and boxes have the errors of the best known noise, which lie above the bound."""
    for cells, error in ((3, 3.16), (4, 4.03), (8, 5.66), (16, 6.67), (64, 7.53)):
        policy = bf.Policy(Domain((integers("x", 0, cells - 1),)))
        assert error / 2.1 < policy.plan.hist("x", epsilon=1).bound < error
    for columns in (2, 3, 5, 8):
        own = Domain(tuple(from_dict(f"c{n}", {"type": "bool"}) for n in range(columns)))
        tables = bf.Policy(own).plan.marginal([[each] for each in own.columns], epsilon=1)
        assert tables.bound == pytest.approx(variance(Fraction(1)) * columns, rel=5e-3)


def test_singular_values():
    """Of prefix sums of a line, of which all ranges are asked, the bound is known: nearly attained."""
    plan = _line(255).plan.range("x", "all", epsilon="1/100")

    assert plan.bound * 1e-4 == pytest.approx(3.956, abs=2e-3)
    assert plan.mse < 1.004 * plan.bound


def test_sums_match_their_cells():
    """The closed form of sums is that of the answers over all cells, or less."""
    draw = random.Random(2)
    for _ in range(40):
        many = draw.randint(1, 2)
        domain = Domain(
            tuple(integers(name, draw.randint(-3, 1), draw.randint(1, 4)) for name in "uv"[:many])
        )
        secrets = {
            each: draw.choice([bf.full(), bf.threshold(draw.randint(1, 3))]) for each in domain.columns
        }
        neighbors = draw.choice(["record", "attribute"])
        policy = bf.Policy(domain, secrets=secrets, neighbors=neighbors, presence=draw.random() < 0.3)
        plan = policy.plan.sum(list(domain.columns), epsilon=1)

        low = [each.value_at(0) if hasattr(each, "value_at") else int(each.index()[0]) for each in domain]
        codes = np.unravel_index(np.arange(domain.size), domain.shape)
        values = np.array([code + first for code, first in zip(codes, low, strict=True)], dtype=float)
        graph = policy.graph.project(domain.columns)
        slow = bound.least_error(values.T @ values, graph.edges()) * variance(Fraction(1)) / many

        assert plan.bound <= slow * (1 + 1e-3)
        assert plan.bound <= plan.mse
        if not policy.presence and (many == 1 or neighbors == "record"):
            assert plan.bound == pytest.approx(slow, rel=2e-3)


def test_classes_join_what_edges_join(make_full_policy, make_filter, make_bins, monkeypatch):
    """Edges gone through one by one, runs of a column, and classes of cells join the same counts."""
    draw, tried = random.Random(8), 0
    for _ in range(120):
        policy = make_full_policy(draw, draw.randint(1, 3), 4)
        name = policy.domain.columns[0]
        planner = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.7 else policy.plan
        counted = planner.hist(name, bins=make_bins(draw, policy.domain[name])).asked[0].tally
        graph = policy.graph.project(counted.domain.columns)
        found = []
        for edges, cells in ((4_000, 0), (0, 20_000)):  # of 0 there are always more
            monkeypatch.setattr(bound, "EACH", edges)
            monkeypatch.setattr(bound, "CELLS", cells)
            found.append(bound._joined(graph, counted, 1_000))
        monkeypatch.setattr(bound, "joined_in_column", lambda *_: None)
        found.append(bound._joined(graph, counted, 1_000))
        monkeypatch.undo()
        tried += len(found[0]) > 0

        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])

    assert tried > 40


def test_more_epsilon_less_error():
    """The bound falls as epsilon rises; what is exact has none."""
    policy = bf.datasets.patients_policy()
    bounds = [policy.plan.hist("age", epsilon=each).bound for each in ("0.01", "0.1", 1, 5)]

    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds) > 0
    assert policy.plan.count().bound == 0


def test_people_with_several_rows():
    """All rows of a person may move alike: so much further apart are the tables that look alike."""
    one, three = (_line(9, max_rows=rows).plan.hist("x", epsilon=1) for rows in (1, 3))

    assert three.bound == pytest.approx(9 * one.bound)
    assert three.bound <= three.mse


def test_means_of_a_known_number_of_rows():
    """The mean is the sum over the rows."""
    plan = _line(99, 5).plan

    assert plan.mean("x", rows=50).bound == pytest.approx(plan.sum("x").bound / 2_500)
    assert plan.mean("x", rows=50).bound <= plan.mean("x", rows=50).mse
    assert math.isnan(plan.mean("x").bound)


def test_where_it_is_not_known():
    """Clusters, picks, quantiles, statistics, people, touched facts, tables that must be small, many bins."""
    policy = bf.datasets.patients_policy()
    touched = bf.Policy(policy.domain, constraints=[bf.Count("age < 18")])
    untouched = _line(9, constraints=[bf.Marginal("x", answer=[0] * 10)])
    empty = bf.Policy(
        Domain((integers("x", 0, 5), integers("y", 0, 1))),
        secrets={"y": bf.public()},
        constraints=[bf.Marginal("y", answer=[0, 9])],
    )
    unknown = [
        policy.plan.kmeans(["age", "income"], k=2),
        policy.plan.mode("disease"),
        policy.plan.quantile("age", 0.5),
        policy.plan.describe("age"),
        policy.plan.var("age"),
        _line(9, max_rows=3).plan.where("x < 5").count(units=True),
        touched.plan.hist("age"),
        empty.plan.hist("x"),
        policy.plan.hist("income"),
    ]

    assert [plan.call for plan in unknown if not math.isnan(plan.bound)] == []
    assert not any("compared" in plan.facts() for plan in unknown)
    assert untouched.plan.hist("x").bound == 0  # it follows from what is public


def test_untouched_facts_change_nothing():
    """Where no edge changes a known count neighbours are edges, as without facts."""
    own = Domain((integers("x", 0, 5), integers("y", 0, 1)))
    free = bf.Policy(own, secrets={"y": bf.public()})
    told = bf.Policy(own, secrets={"y": bf.public()}, constraints=[bf.Marginal("y", answer=[7, 9])])

    assert told.plan.hist("x").bound == free.plan.hist("x").bound


def test_words():
    """A plan shows how far from the best possible it may be, rounded up."""
    policy = bf.datasets.patients_policy()
    near, far = policy.plan.where("age >= 18").count(), policy.plan.hist("age", strategy="identity")
    times = (far.mse / far.bound) ** 0.5

    assert near.facts()["compared"] == "the best possible, within 1%"
    assert far.facts()["compared"] == "at most 1.5 times the best possible"
    assert 1.49 < times <= 1.5
    assert "at most 1.5 times the best possible" in far._repr_html_()
    assert "compared" not in policy.plan.count().facts()


def test_many_counts_are_shown_once_they_are_known():
    """What takes time is worked out when it is asked for, and not to print a plan."""
    plan = _line(299).plan.cumhist("x")

    assert "compared" not in plan.facts()
    assert plan.mse < 1.01 * plan.bound
    assert plan.facts()["compared"] == "the best possible, within 1%"
