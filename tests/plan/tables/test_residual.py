"""Residual: measured tables, folds, exact totals, scales and errors by dense algebra."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((integers("a", 0, 1), integers("b", 0, 2), integers("c", 0, 1), integers("d", 0, 3)))
CASES = {
    "full": ({}, {}),
    "attribute": ({}, {"neighbors": "attribute"}),
    "two of four": ({}, {"neighbors": 2}),
    "presence": ({}, {"presence": True}),
    "public": ({"a": bf.public(), "d": bf.public()}, {}),
    "no runs": ({"d": bf.partition([[0, 2], [1, 3]]), "b": bf.partition([[0, 2], [1]])}, {}),
    "joint": ({("a", "c"): bf.edges([((0, 0), (1, 1)), ((0, 1), (1, 0))])}, {}),
    "ball of three": ({("a", "b", "d"): bf.threshold(2)}, {"neighbors": 1}),
}
TABLES = [["a", "b"], ["b", "a"], ["c"], ["a", "c", "d"], ["d", "b"]]


def plan_of(case, strategy="residual", where=None, **arguments):
    """Return the plan of five tables under a policy."""
    secrets, options = CASES[case]
    policy = bf.Policy(DOMAIN, secrets=secrets, **options)
    scope = policy.plan.where(where) if where else policy.plan
    return scope.marginal(TABLES, strategy=strategy, **{"epsilon": "3/4", **arguments})


@pytest.mark.parametrize("strategy", ["residual", "even", "joint"])
@pytest.mark.parametrize("case", CASES)
def test_the_worst_edge_loses_epsilon(case, strategy):
    """By definition, and at half the scales twice as much."""
    plan = plan_of(case, strategy)
    edges = definition_edges(plan.policy, plan.domain.columns)

    loss = edge_loss(plan.matrix(), plan.scales, edges).value

    assert loss == plan.privacy_loss() == Fraction(3, 4)
    assert edge_loss(plan.matrix(), [scale / 2 for scale in plan.scales], edges).value == 2 * loss


@pytest.mark.parametrize(
    "where", [None, "a == 0 or b < 2", "d in [0, 2] and c == 1", "not (a == 1 and d == 3)"]
)
@pytest.mark.parametrize("case", CASES)
def test_overlapping_filters_lose_no_more(case, where):
    """Filters on the tables' own columns, products or not."""
    plan = plan_of(case, where=where)
    edges = definition_edges(plan.policy, plan.domain.columns)

    assert edge_loss(plan.matrix(), plan.scales, edges).value <= plan.epsilon


@pytest.mark.parametrize("where", [None, "a == 0 or b < 2"])
@pytest.mark.parametrize("case", CASES)
def test_measured_is_the_matrix(case, where):
    """What the kernel adds noise to is the matrix times the cells, folds and totals included."""
    plan = plan_of(case, where=where)
    made = plan.measurement
    draw = random.Random(1)
    cells = np.array([draw.randint(0, 9) for _ in range(plan.domain.size)])
    counts = []
    for tally in made.tallies:
        place = [plan.domain.columns.index(name) for name in tally.domain.columns]
        others = tuple(axis for axis in range(len(plan.domain.shape)) if axis not in place)
        own = cells.reshape(plan.domain.shape).sum(axis=others)
        own = own.transpose(np.argsort(np.argsort(place))) if place else own
        labels = tally.labels()
        counts.append(np.bincount(labels[labels >= 0], own.ravel()[labels >= 0], tally.size))

    measured = made.apply(np.concatenate(counts).astype(np.int64))

    assert (measured == plan.matrix() @ cells).all()


@pytest.mark.parametrize("case", CASES)
def test_variances_are_those_of_the_estimates(case):
    """Estimates are linear in what was measured; their variances from unit vectors are the stated ones."""
    plan = plan_of(case)
    spread = np.array([variance(scale) for scale in plan.scales])
    ones = np.eye(len(spread), dtype=np.int64) * 10**6

    estimator = np.column_stack([plan.measurement.solve(one, post=False).answers for one in ones]) / 10**6

    assert np.allclose(estimator**2 @ spread, plan.std**2, rtol=1e-6, atol=1e-9)
    assert plan.mse == pytest.approx((plan.std**2).mean())


@pytest.mark.parametrize("case", CASES)
def test_exact_totals_change_over_no_edge(case):
    """Rows of scale 0 are the same at both ends of every edge; with presence there are none."""
    plan = plan_of(case)
    exact = np.array([scale == 0 for scale in plan.scales])
    matrix = plan.matrix().toarray()[exact]

    assert exact.any() == (case != "presence")
    if case != "presence":
        edges = definition_edges(plan.policy, plan.domain.columns)
        assert (matrix[:, edges[:, 0]] == matrix[:, edges[:, 1]]).all()


@pytest.mark.parametrize("case", CASES)
def test_read_again_from_its_form(case):
    """A stored answer is read by its tables, folds and weights, as plain data."""
    import json

    plan = plan_of(case)

    form = json.loads(json.dumps(plan.measurement.form))
    again = plan.asked[0].reread(plan.policy, plan.epsilon, "residual", form)

    assert list(again.scales) == list(plan.scales)
    assert (again.matrix() != plan.matrix()).nnz == 0


@pytest.mark.parametrize("missing", ["public", None])
@pytest.mark.parametrize("seed", range(6))
def test_missing_values(missing, seed):
    """A missing cell is one more value, secret or public; filters drop it."""
    draw = random.Random(seed)
    domain = Domain(
        (
            from_dict("u", {"type": "integer", "min": 0, "max": 1, "nullable": True}),
            from_dict("v", {"type": "category", "values": ["x", "y"], "nullable": True}),
            integers("w", 0, 1),
        )
    )
    secrets = {"u": bf.threshold(1, missing=missing), "v": bf.full(missing=missing)}
    if draw.random() < 0.4:
        secrets = {("u", "v"): bf.full(missing=missing)}
    policy = bf.Policy(domain, secrets=secrets, neighbors=draw.choice(["record", 1]))
    scope = policy.plan.where(draw.choice(["u >= 0", "v == 'x' or w == 0"])) if seed % 2 else policy.plan
    tables = [list(pair) for pair in itertools.permutations("uvw", 2)]

    plan = scope.marginal(tables, epsilon=1)
    edges = definition_edges(policy, plan.domain.columns)

    assert edge_loss(plan.matrix(), plan.scales, edges).value <= 1


@pytest.mark.parametrize("folded", [[0], [2], [0, 2]])
@pytest.mark.parametrize("where", [None, "b < 2", "d != 1"])
def test_folded_tables_are_measured_as_their_matrix(folded, where):
    """Differences of one or both columns of two values, from counts and from cells; the loss is epsilon."""
    policy = bf.Policy(DOMAIN, neighbors="attribute")
    scope = policy.plan.where(where) if where else policy.plan
    plan = scope.marginal([["a", "b", "c"], ["c"], ["d"]])
    form = {"tables": [[[0, 1, 2], folded, 3], [[0, 1, 2], [], 2], [[3], [], 1]]}
    made = plan.asked[0].reread(policy, plan.epsilon, "residual", form)
    cells = np.random.default_rng(3).integers(0, 9, plan.domain.size)
    counts = []
    for tally in made.tallies:
        place = [plan.domain.columns.index(name) for name in tally.domain.columns]
        others = tuple(axis for axis in range(len(plan.domain.shape)) if axis not in place)
        own = cells.reshape(plan.domain.shape).sum(axis=others)
        own = own.transpose(np.argsort(np.argsort(place))) if place else own
        labels = tally.labels()
        counts.append(np.bincount(labels[labels >= 0], own.ravel()[labels >= 0], tally.size))

    measured = made.apply(np.concatenate(counts).astype(np.int64))
    loss = edge_loss(made.matrix(), made.scales, definition_edges(policy, plan.domain.columns)).value

    assert (measured == made.matrix() @ cells).all()
    assert loss == plan.epsilon if where is None else loss <= plan.epsilon
    answers = made.solve(measured, post=False).answers
    assert np.allclose(answers, plan.measurement.solve(plan.matrix() @ cells, post=False).answers)
