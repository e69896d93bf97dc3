"""The audit of boxes: random policies, filters and groups lose at most epsilon, by definition."""

import random
from fractions import Fraction

import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 8, 30


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_filter, make_boxes):
    """No instance loses more than epsilon, whatever is measured; without a filter most lose all of it."""
    visible = tight = tried = 0
    for number in range(EACH):
        draw = random.Random(9_000 + chunk * EACH + number)
        policy = make_full_policy(draw, draw.randint(2, 3), 4)
        names = [a.name for a in policy.domain if a.ordered]
        if len(names) < 2:
            continue
        names = draw.sample(names, 2 if draw.random() < 0.8 else len(names))
        scope, filtered = policy.plan, draw.random() < 0.4
        if filtered:
            scope = scope.where(make_filter(draw, policy.domain))
        others = [name for name in policy.domain.columns if name not in names]
        if others and draw.random() < 0.5:
            scope = scope.groupby(others)
        boxes = make_boxes(draw, [policy.domain[name] for name in names], draw.randint(1, 6))
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        edges = definition_edges(policy, scope.range(names, boxes).domain.columns)
        tried += 1

        for strategy in ("auto", "identity", "hierarchical"):
            plan = scope.range(names, boxes, epsilon=epsilon, strategy=strategy)
            loss = plan.privacy_loss()

            assert loss <= epsilon
            assert loss <= plan.cost
            if plan.strategy != "mesh":
                assert loss == edge_loss(plan.matrix(), plan.scales, edges).value
            if plan.sensitivity and not filtered:
                visible += 1
                tight += loss == epsilon

    assert tried > EACH / 4
    assert tight / visible >= 0.8


@pytest.mark.parametrize("theta", [1, 2, 3])
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_joint_balls(theta, metric):
    """Every strategy under a joint threshold, with the mesh from its noise map."""
    domain = Domain((integers("a", 0, 5), integers("b", 0, 6)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(theta, metric=metric)})
    boxes = [((1, 3), (0, 4)), ((0, 5), (2, 6)), ((2, 2), (3, 3)), ((1, 5), (1, 6))]

    for strategy in ("identity", "hierarchical", "mesh"):
        plan = policy.plan.range(["a", "b"], boxes, epsilon="1/3", strategy=strategy)

        assert plan.privacy_loss() <= Fraction(1, 3)
        assert plan.strategy == strategy
