"""The audit of marginals: random policies, filters, groups and tables lose at most epsilon, by definition."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 8, 60


def random_tables(draw, columns):
    """Return some sets of columns, each once."""
    every = [list(c) for n in range(1, len(columns) + 1) for c in itertools.combinations(columns, n)]
    return [draw.sample(each, len(each)) for each in draw.sample(every, draw.randint(1, len(every)))]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_filter):
    """No instance loses more than epsilon, whatever is measured; without a filter most lose all of it."""
    visible = tight = 0
    for number in range(EACH):
        draw = random.Random(7_000 + chunk * EACH + number)
        columns = draw.randint(1, 3)
        policy = make_full_policy(draw, columns, 3)
        names = list(policy.domain.columns)
        scope, filtered = policy.plan, draw.random() < 0.4
        if filtered:
            scope = scope.where(make_filter(draw, policy.domain))
        if columns > 1 and draw.random() < 0.3:
            scope, names = scope.groupby(names[0]), names[1:]
        tables = random_tables(draw, names)
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        edges = definition_edges(policy, scope.marginal(tables).domain.columns)

        for strategy in ("auto", "even", "residual"):
            if len(tables) == 1 and strategy == "even":
                continue
            plan = scope.marginal(tables, epsilon=epsilon, strategy=strategy)
            loss = edge_loss(plan.matrix(), plan.scales, edges).value

            assert loss <= epsilon
            assert loss <= plan.cost
            assert loss == plan.privacy_loss()
            if plan.sensitivity and not filtered:
                visible += 1
                tight += loss == epsilon

    assert visible > EACH / 3
    assert tight / visible >= 0.9


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2])
def test_folded_columns_lose_what_is_said(neighbors):
    """Differences of two-valued columns: an even number of turns changes nothing, an odd one all."""
    domain = Domain((*(integers(name, 0, 1) for name in "abcd"), integers("e", 0, 2)))
    policy = bf.Policy(domain, neighbors=neighbors)
    pairs = list(itertools.combinations(range(5), 2))
    tables = [[each, [place for place in each if place < 4], 1 + sum(each)] for each in [*pairs, (4,)]]
    plan = policy.plan.marginal(list("abcde"), order=2, epsilon=1)

    made = plan.asked[0].reread(policy, Fraction(1), "residual", {"tables": tables})
    edges = definition_edges(policy, plan.domain.columns)

    assert edge_loss(made.matrix(), made.scales, edges).value == 1
    halved = [scale / 2 for scale in made.scales]
    assert edge_loss(made.matrix(), halved, edges).value == 2


def test_a_public_column_costs_nothing():
    """Tables of public columns are exact and free; with a secret one just that is noisy."""
    domain = Domain((integers("r", 0, 3), integers("s", 0, 2), integers("x", 0, 4)))
    policy = bf.Policy(domain, secrets={"r": bf.public(), "s": bf.public()})

    free = policy.plan.marginal([["r", "s"], ["r"]], epsilon=1)
    mixed = policy.plan.marginal([["r", "s"], ["r", "x"]], epsilon=1)

    assert free.cost == 0
    assert free.std.max() == 0
    assert mixed.cost == 1
    assert (mixed.std[:12] == 0).all()
    assert (mixed.std[12:] > 0).all()
    assert np.isclose(mixed.mse, (mixed.std**2).mean())
