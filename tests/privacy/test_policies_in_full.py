"""The audit of policies in full: random secrets, neighbours, presence, filters and groups, by definition."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss

CHUNKS, EACH = 15, 500


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_bins, make_filter, monkeypatch):
    """Of 7,500 instances none loses more than epsilon; 98% of those with a visible edge lose all of it."""
    monkeypatch.setattr(choose, "MAX_PLANS", 1)  # none is asked for twice
    visible = tight = 0

    for number in range(EACH):
        draw = random.Random(1_000_000 + chunk * EACH + number)
        columns = draw.randint(1, 3)
        policy = make_full_policy(draw, columns, 4 if columns < 3 else 3)
        asked = draw.sample(policy.domain.columns, draw.randint(0 if draw.random() < 0.3 else 1, columns))
        scope = policy.plan
        filtered = draw.random() < 0.6
        if filtered:
            scope = scope.where(make_filter(draw, policy.domain))
        groups = asked[: draw.randint(0, len(asked))] if draw.random() < 0.4 else []
        if groups:
            scope = scope.groupby(groups)
        rest = [column for column in asked if column not in groups]
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        if rest:
            made = {column: make_bins(draw, policy.domain[column]) for column in rest}
            bins = {column: each for column, each in made.items() if each is not None}
            plan = scope.hist(rest, epsilon=epsilon, bins=bins or None)
        else:
            plan = scope.count(epsilon=epsilon)

        edges = definition_edges(policy, plan.domain.columns)
        graph = policy.graph.project(plan.domain.columns)
        loss = edge_loss(plan.matrix(), plan.scales, edges).value

        assert loss <= epsilon
        assert (plan.cost == 0) == (plan.sensitivity == 0)
        assert loss <= plan.cost
        assert loss == plan.privacy_loss()
        assert {tuple(edge) for edge in graph.edges().tolist()} == {tuple(edge) for edge in edges.tolist()}
        assert graph.edge_count == len(edges)
        visible += loss > 0  # no scale is infinite: whatever an edge changes costs something
        tight += loss == epsilon

    assert visible > EACH / 3
    assert tight / visible >= 0.98


def test_the_oracle_finds_a_plan_that_lies(make_full_policy):
    """A scale that is too small is found: the audit can fail."""
    policy = make_full_policy(random.Random(3), 2, 4)
    plan = policy.plan.hist(list(policy.domain.columns), epsilon=1)
    edges = definition_edges(policy, plan.domain.columns)

    smaller = [scale / 2 for scale in plan.scales]

    assert len(edges)
    assert np.isfinite(float(plan.privacy_loss()))
    assert edge_loss(plan.matrix(), smaller, edges).value > 1
