"""The audit of workload: the exact loss of what is measured, and the answers' errors, by enumeration."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

from pandas_blowfish.plan.linear import optimise
from pandas_blowfish.plan.linear.question import LINES
from pandas_blowfish.plan.loss import edge_loss

CHUNKS, EACH = 6, 40


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    """Whatever rows a search finds, their loss is exact: a short one will do."""
    monkeypatch.setattr(optimise, "MOST", 2)
    monkeypatch.setattr(optimise, "LEAST", 1)
    monkeypatch.setattr(optimise, "STAGES", ((0.03, 100.0),))


def random_workload(draw, make_full_policy, make_filter):
    """Return a policy, a plan maker and the answers as a matrix over the cells of the plan's domain."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 5 if columns < 3 else 3)
    asked = draw.sample(policy.domain.columns, draw.randint(1, columns))
    groups = asked[: draw.randint(0, len(asked) - 1)] if draw.random() < 0.5 else []
    rest = [column for column in asked if column not in groups]
    scope = policy.plan
    if draw.random() < 0.5:
        scope = scope.where(make_filter(draw, policy.domain))
    if groups:
        scope = scope.groupby(groups)
    cells = int(np.prod([policy.domain[column].size for column in rest]))
    density, values = draw.choice([0.3, 0.6, 1.0]), draw.choice([(0, 1), (-3, 3), (-1000, 1000)])
    matrix = np.array(
        [
            [draw.randint(*values) if draw.random() < density else 0 for _ in range(cells)]
            for _ in range(draw.randint(1, 5))
        ]
    )
    return policy, scope, rest, matrix


def over_cells(plan, matrix):
    """Return the answers as sums over the cells of the plan's domain."""
    tally = plan.asked[0].tally
    bins = tally.labels()
    groups = tally.size // matrix.shape[1]
    found = np.zeros((groups * len(matrix), len(bins)))
    kept = np.flatnonzero(bins >= 0)
    found[:, kept] = np.kron(np.eye(groups), matrix)[:, bins[kept]]
    return found


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_workloads(chunk, make_full_policy, make_filter):
    """Of 240 random policies and matrices none loses more than epsilon, with any strategy; most lose all."""
    visible = tight = 0

    for number in range(EACH):
        draw = random.Random(70_000 + chunk * EACH + number)
        policy, scope, rest, matrix = random_workload(draw, make_full_policy, make_filter)
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        first = scope.workload(matrix, rest)
        names, edges = first.asked[0].strategies, definition_edges(policy, first.domain.columns)

        for strategy in ("auto", *names):
            plan = scope.workload(matrix, rest, epsilon=epsilon, strategy=strategy)
            measured, answers = plan.matrix(), over_cells(plan, matrix)
            loss = edge_loss(measured, plan.scales, edges).value

            assert loss <= plan.cost <= epsilon
            assert loss == plan.privacy_loss()
            assert (plan.cost == 0) == (plan.sensitivity == 0)
            ends = np.append(answers, np.zeros((len(answers), 1)), axis=1)[:, edges]
            seen = np.abs(ends[:, :, 0] - ends[:, :, 1]).sum(axis=1) > 0
            assert seen.any() == (plan.cost > 0)
            assert strategy in LINES or (plan.std[~seen] == 0).all()
            assert (plan.std[seen] > 0).all() or plan.scale < Fraction(1, 100)
            visible += plan.cost > 0
            tight += plan.cost > 0 and loss == epsilon

    assert visible > EACH
    assert tight / visible >= 0.95


@pytest.mark.parametrize("seed", range(40))
def test_errors_are_those_of_least_squares(seed, make_full_policy, make_filter, by_dense_algebra):
    """What is said about the error of every answer is the variance of the best estimate from the rows."""
    draw = random.Random(90_000 + seed)
    _, scope, rest, matrix = random_workload(draw, make_full_policy, make_filter)

    for strategy in scope.workload(matrix, rest).asked[0].strategies:
        plan = scope.workload(matrix, rest, epsilon="1/10", strategy=strategy)
        slow = by_dense_algebra(plan.matrix().toarray(), list(plan.scales), over_cells(plan, matrix))

        np.testing.assert_allclose(plan.std**2, slow.variances, rtol=1e-6, atol=1e-6 * (1 + plan.mse))
        assert plan.mse == pytest.approx(np.mean(plan.std**2))


def test_the_audit_finds_a_plan_that_lies(make_full_policy, make_filter):
    """Half the scale loses more than epsilon: the audit can fail."""
    draw = random.Random(70_001)
    policy, scope, rest, matrix = random_workload(draw, make_full_policy, make_filter)
    plan = scope.workload(matrix, rest, strategy="direct")
    edges = definition_edges(policy, plan.domain.columns)

    smaller = [scale / 2 for scale in plan.scales]

    assert plan.sensitivity > 0
    assert edge_loss(plan.matrix(), smaller, edges).value > 1
