"""Trees with their root where rows leave: their loss by enumeration, their errors, when they are chosen."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict


def _policy(size, theta, like, **given):
    column = from_dict("x", {"type": "integer", "min": 0, "max": size - 1, "nullable": True})
    return bf.Policy(Domain((column,)), secrets={"x": bf.threshold(theta, missing=like)}, **given)


@pytest.mark.parametrize("size", [5, 9, 16, 23])
def test_loss_matches_enumeration(size):
    """Every theta and every stand-in that leaves the ends alone: exactly epsilon, by definition."""
    draw, found = random.Random(size), 0
    for theta in range(1, size):
        for like in range(theta + 1, size - 1 - theta):
            epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 9))
            plan = _policy(size, theta, like).plan.cumhist("x", epsilon=epsilon, strategy="inward")

            loss = edge_loss(plan.matrix(), plan.scales, definition_edges(plan.policy, ("x",))).value

            assert plan.strategy == "inward"
            assert loss == epsilon
            assert plan.sensitivity <= 3
            found += 1
    assert found


def test_uneven_values_and_filters_lose_no_more():
    """Listed numbers reach differently far, a filter lets rows leave besides."""
    draw, found = random.Random(5), 0
    for _ in range(300):
        values = sorted(draw.sample(range(30), draw.randint(6, 10)))
        column = from_dict("x", {"type": "integer", "values": values, "nullable": True})
        secret = bf.threshold(draw.randint(3, 8), missing=draw.choice(values[2:-2]))
        policy = bf.Policy(Domain((column,)), secrets={"x": secret})
        scope = policy.plan.where(f"x > {values[0]}") if draw.random() < 0.2 else policy.plan

        plan = scope.cumhist("x", epsilon=1, strategy="inward")

        assert edge_loss(plan.matrix(), plan.scales, definition_edges(policy, ("x",))).value <= 1
        found += plan.measurement.within
    assert found > 20


def test_errors_are_those_of_dense_least_squares():
    """Of each cumulative count, from the inverse of the measured matrix."""
    plan = _policy(12, 2, 5).plan.cumhist("x", epsilon=1, strategy="inward")

    rows = plan.matrix().toarray()[:, :12]
    inverse = np.tril(np.ones((12, 12))) @ np.linalg.inv(rows)
    each = plan.measurement.row_variances

    assert plan.std**2 == pytest.approx(inverse**2 @ each)


def test_stand_ins_in_the_middle_keep_curves_cheap():
    """Chosen by itself, several times better than a hierarchy, and it reads its rows right."""
    policy = _policy(1_000, 1, 400)
    every = policy.with_missing({"x": "protected"})
    rows = pd.DataFrame({"x": [None, 3, 3, 400, 400, 401, 999, None]}, dtype="Int64")

    plan = policy.plan.cumhist("x", epsilon=1)
    frame = rows.blowfish.protect(policy, epsilon=10**6)
    curve = frame.blowfish.cumhist("x", epsilon=10**5)["count"]

    assert plan.strategy == "inward"
    assert every.plan.cumhist("x", epsilon=1).mse > 16 * plan.mse
    assert curve.loc[[0, 3, 399, 400, 401, 998, 999]].tolist() == [0, 2, 2, 4, 5, 5, 6]


def test_elsewhere_it_is_the_tree():
    """Where no row leaves, or from an end too, it must be asked for, and measures what a tree does."""
    for like in ("public", 0, "protected"):
        planner = _policy(9, 1, like).plan
        tree, inward = (planner.cumhist("x", strategy=name) for name in ("tree", "inward"))

        assert (tree.matrix() != inward.matrix()).nnz == 0
        assert tree.scales == inward.scales
        assert "inward" not in planner.cumhist("x").candidates["strategy"].tolist()
