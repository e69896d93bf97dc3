"""The audit of variances and covariances: their exact loss over every edge is at most epsilon."""

import random
from collections import OrderedDict
from fractions import Fraction

import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.totals import products
from pandas_blowfish.plan.totals.sensitivity import Shifts

CHUNKS, EACH = 4, 90


def instance(draw, make_full_policy, make_filter):
    """Return a random policy and the plan of a random question on it; None where nothing is numbers."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 4 if columns < 3 else 3)
    verb = draw.choice(["var", "std", "cov", "corr"])
    kinds = {"datetime"} if draw.random() < 0.2 and verb == "std" else {"integer", "float", "bool"}
    numbers = [a.name for a in policy.domain if a.kind in kinds]
    if not numbers:
        return None
    asked = draw.sample(numbers, draw.randint(1, len(numbers)))
    rest = [column for column in policy.domain.columns if column not in asked]
    scope = policy.plan
    if draw.random() < 0.5:
        scope = scope.where(make_filter(draw, policy.domain))
    if rest and draw.random() < 0.6:
        scope = scope.groupby(draw.sample(rest, draw.randint(1, len(rest))))
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
    return policy, getattr(scope, verb)(asked, epsilon=epsilon), epsilon


def exact_loss(policy, plan):
    """Return the loss of a plan over the edges that the words of the policy draw."""
    return edge_loss(plan.matrix(), plan.scales, definition_edges(policy, plan.domain.columns)).value


@pytest.mark.parametrize("tried", ["tried", "bounded"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, tried, make_full_policy, make_filter, monkeypatch):
    """None of 720 instances loses more than epsilon; where all edges are tried every one is tight."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    if tried == "bounded":
        monkeypatch.setattr(products, "TRIED_CELLS", 0)
    noisy = tight = 0

    for number in range(EACH):
        found = instance(random.Random(9_000_000 + chunk * EACH + number), make_full_policy, make_filter)
        if found is None:
            continue
        policy, plan, epsilon = found
        loss = exact_loss(policy, plan)

        assert loss <= epsilon
        assert loss <= plan.cost
        assert loss == plan.privacy_loss()
        assert (plan.cost == 0) == (plan.sensitivity == 0)
        noisy += plan.cost > 0
        tight += plan.cost > 0 and loss == epsilon

    assert noisy > EACH / 5
    assert tight == noisy if tried == "tried" else tight / noisy > 0.3


@pytest.mark.parametrize("broken", ["half the scales", "one pattern", "no flows"])
def test_the_audit_finds_a_plan_that_lies(broken, make_full_policy, make_filter, monkeypatch):
    """Scales that forget something are found: the audit can fail."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    monkeypatch.setattr(products, "TRIED_CELLS", 0)
    true_loss = Shifts.loss

    def forgetful(self, rates):
        blocks = tuple(block[:1] for block in self.blocks) if broken == "one pattern" else self.blocks
        flows = () if broken == "no flows" else self.flows
        loss = true_loss(Shifts(blocks, flows, self.limit, self.shared), rates)
        return loss / 2 if broken == "half the scales" else loss

    monkeypatch.setattr(Shifts, "loss", forgetful)
    caught = 0
    for number in range(150):
        found = instance(random.Random(number), make_full_policy, make_filter)
        if found is not None:
            policy, plan, epsilon = found
            caught += exact_loss(policy, plan) > epsilon

    assert caught > 0


def test_rows_of_the_mathematics(line_of):
    """Squares are measured from the middle, where an edge changes them least."""
    full, line = line_of(9, 0).policy, line_of(9, 1).policy
    from_middle = full.plan.var("x").measurement

    assert from_middle.moved.peaks == (8, 16, 0)
    assert line.plan.var("x").measurement.moved.peaks == (1, 7, 0)
    assert line.plan.where("x >= 4").var("x").measurement.moved.peaks == (2, 4, 1)
    assert bf.Policy(full.domain, presence=True).plan.var("x").measurement.moved.peaks == (8, 16, 1)
