"""The audit of hist: the exact loss of what is measured, from the plan's own matrix and scales."""

import random
from fractions import Fraction

import pytest
from oracle.definition import definition_edges

from pandas_blowfish.plan.loss import edge_loss


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("seed", range(400))
def test_loss_is_epsilon(seed, make_policy, make_bins):
    """Loss <= epsilon over every edge by definition, and = epsilon when an edge is seen."""
    draw = random.Random(10_000 + seed)
    policy = make_policy(draw, draw.randint(1, 3))
    columns = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
    bins = {
        column: made for column in columns if (made := make_bins(draw, policy.domain[column])) is not None
    }
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 50))

    plan = policy.plan.hist(columns, epsilon=epsilon, bins=bins or None)
    edges = definition_edges(policy, columns)
    loss = edge_loss(plan.matrix(), plan.scales, edges).value
    plain = policy.plan.hist(columns, epsilon=epsilon, bins=bins or None, strategy="identity")
    ones = [Fraction(1)] * len(plain.index)
    seen = edge_loss(plain.matrix()[: len(plain.index)], ones, edges).value > 0

    assert loss <= epsilon
    assert loss == (epsilon if seen else 0)
    assert loss == plan.privacy_loss()
    assert plan.cost == loss
