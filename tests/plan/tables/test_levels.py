"""Levels: tables of nodes, their matrix, scales and variances against dense algebra."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SIZES = (4, 6)
CASES = {
    "full": ({}, {}),
    "threshold": ({"a": bf.threshold(1)}, {}),
    "ball": ({("a", "b"): bf.threshold(2)}, {}),
    "groups": ({"a": bf.partition([[0, 1], [2, 3]]), "b": bf.partition([[0, 1, 2], [3, 4, 5]])}, {}),
    "uneven groups": ({"b": bf.partition([[0], [1, 2, 3], [4, 5]])}, {}),
    "no runs": ({"a": bf.partition([[0, 2], [1, 3]])}, {}),
    "attribute": ({}, {"neighbors": "attribute"}),
    "presence": ({}, {"presence": True}),
    "one public": ({"a": bf.public()}, {}),
}


def policy_of(case, *more, **secrets):
    """Return a policy over 4 x 6 cells and perhaps more columns."""
    own, options = CASES[case]
    domain = Domain((integers("a", 0, SIZES[0] - 1), integers("b", 0, SIZES[1] - 1), *more))
    return bf.Policy(domain, secrets={**own, **secrets}, **options)


def every_box():
    """Return all boxes of single cells, and some wider ones."""
    single = [((a, a), (b, b)) for a in range(SIZES[0]) for b in range(SIZES[1])]
    return [*single, ((0, 1), (2, 5)), ((1, 3), (0, 2)), ((0, 3), (0, 5))]


@pytest.mark.parametrize("strategy", ["identity", "hierarchical"])
@pytest.mark.parametrize("case", CASES)
def test_loss_is_epsilon(case, strategy):
    """The worst edge by definition loses epsilon; at half the scales twice as much."""
    policy = policy_of(case)
    plan = policy.plan.range(["a", "b"], every_box(), epsilon="2/7", strategy=strategy)
    edges = definition_edges(policy, plan.domain.columns)

    loss = edge_loss(plan.matrix(), plan.scales, edges).value

    assert loss == plan.privacy_loss() == Fraction(2, 7)
    assert edge_loss(plan.matrix(), [scale / 2 for scale in plan.scales], edges).value == 2 * loss


@pytest.mark.parametrize("case", CASES)
def test_still_nodes_are_exact_and_finest(case):
    """Counts of scale 0 change over no edge; where rows can come and go there are none."""
    plan = policy_of(case).plan.range(["a", "b"], every_box(), strategy="hierarchical")
    exact = [row for row, scale in enumerate(plan.scales) if scale == 0]
    still = plan.measurement.still

    if case == "presence":
        assert still is None
        assert not exact
    else:
        assert len(exact) == np.prod(plan.measurement.shape(still))
    if case == "groups":
        assert plan.measurement.shape(still) == (2, 2)
        assert plan.std[-1] == 0


@pytest.mark.parametrize("case", CASES)
def test_variances_are_those_of_the_estimates(case):
    """Estimates are linear in what was measured: their variances, from unit vectors, are the stated ones."""
    from pandas_blowfish.plan.scales import variance

    plan = policy_of(case).plan.range(["a", "b"], every_box(), strategy="hierarchical", epsilon="3/2")
    spread = np.array([variance(scale) for scale in plan.scales])
    ones = np.eye(len(spread), dtype=np.int64) * 10**6

    estimator = np.column_stack([plan.measurement.solve(one, post=False).answers for one in ones]) / 10**6

    assert np.allclose(estimator**2 @ spread, plan.std**2, rtol=1e-6, atol=1e-9)
    assert plan.mse == pytest.approx((plan.std**2).mean())


@pytest.mark.parametrize("seed", range(10))
def test_groups_on_a_secret_column(seed):
    """A row may change group and box at once: the loss over all edges is still epsilon."""
    draw = random.Random(seed)
    sex = from_dict("s", {"type": "category", "values": ["F", "M", "X"], "nullable": seed % 2 == 0})
    case = draw.choice([each for each in CASES if each != "presence"])
    policy = policy_of(case, sex, s=draw.choice([bf.full(), bf.partition([["F", "X"], ["M"]])]))

    plan = policy.plan.groupby("s").range(["b", "a"], [((0, 2), (0, 1)), ((1, 5), (2, 3))], epsilon=1)

    assert edge_loss(plan.matrix(), plan.scales, definition_edges(policy, plan.domain.columns)).value == 1
    assert len(plan.std) == 2 * sex.size


def test_read_again_from_its_form():
    """A stored answer is read by radices, levels and weights."""
    policy = policy_of("uneven groups")
    plan = policy.plan.range(["a", "b"], every_box(), epsilon=1, strategy="hierarchical")

    again = plan.asked[0].reread(policy, plan.epsilon, "hierarchical", plan.measurement.form)

    assert list(again.scales) == list(plan.scales)
    assert (again.matrix() != plan.matrix()).nnz == 0
    assert np.allclose(again.variances, plan.std**2)


@pytest.mark.parametrize("epsilon", ["1e-9", 10**9])
def test_extreme_epsilons(epsilon):
    """The loss stays exact, errors finite."""
    plan = policy_of("ball").plan.range(["a", "b"], every_box(), epsilon=epsilon, strategy="hierarchical")

    assert plan.privacy_loss() == plan.epsilon
    assert np.isfinite(plan.std).all()
