"""The audit of verbs that are other spellings: the exact loss of what each measures, by definition."""

import random
from fractions import Fraction

import pytest
from oracle.definition import definition_edges

from pandas_blowfish.plan.loss import edge_loss


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("seed", range(60))
def test_loss_is_at_most_epsilon(seed, make_policy):
    """Over every edge by definition, and equal to that of the verb it is another spelling of."""
    draw = random.Random(77_000 + seed)
    policy = make_policy(draw, draw.randint(2, 3))
    first, last, *_ = draw.sample(policy.domain.columns, len(policy.domain.columns))
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 50))
    plan, grouped = policy.plan, policy.plan.groupby(first)
    pairs = [
        (plan.value_counts([first, last], epsilon=epsilon), plan.hist([first, last], epsilon=epsilon)),
        (grouped[last].value_counts(epsilon=epsilon), grouped.hist(last, epsilon=epsilon)),
        (grouped.size(epsilon=epsilon), grouped.count(epsilon=epsilon)),
        (plan.crosstab(first, last, epsilon=epsilon), plan.hist([first, last], epsilon=epsilon)),
    ]
    if policy.domain[last].ordered:
        pairs.append((plan.median(last, epsilon=epsilon), plan.quantile(last, epsilon=epsilon)))

    for asked, like in pairs:
        edges = definition_edges(policy, asked.domain.columns)
        loss = edge_loss(asked.matrix(), asked.scales, edges).value
        assert loss <= epsilon
        assert loss == asked.cost == like.cost
        assert asked.std.tolist() == like.std.tolist()
