"""The audit of sums and means: their exact loss over every edge by definition is at most epsilon."""

import random
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.totals.sensitivity import Shifts

CHUNKS, EACH = 6, 120


def instance(draw, make_full_policy, make_filter):
    """Return a random policy and the plan of a random sum or mean on it; None where nothing adds up."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 4 if columns < 3 else 3)
    numbers = [a for a in policy.domain if a.kind not in ("category", "string")]
    verb = draw.choice(["sum", "mean"])
    kinds = {"datetime"} if draw.random() < 0.2 and verb == "mean" else {"integer", "float", "bool"}
    numbers = [a.name for a in numbers if a.kind in kinds]
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


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_filter):
    """None of 720 instances loses more than epsilon, the sensitivity is a bound, and most are tight."""
    noisy = tight = 0

    for number in range(EACH):
        draw = random.Random(7_000_000 + chunk * EACH + number)
        found = instance(draw, make_full_policy, make_filter)
        if found is None:
            continue
        policy, plan, epsilon = found
        loss = exact_loss(policy, plan)
        noise = np.array([scale > 0 for scale in plan.scales])
        edges = definition_edges(policy, plan.domain.columns)
        noisy_rows = plan.matrix()[np.flatnonzero(noise)]
        change = edge_loss(noisy_rows, [Fraction(1)] * noisy_rows.shape[0], edges).value

        assert loss <= epsilon
        assert loss <= plan.cost
        assert loss == plan.privacy_loss()
        assert (plan.cost == 0) == (plan.sensitivity == 0)
        assert change <= plan.sensitivity
        noisy += plan.cost > 0
        tight += plan.cost > 0 and loss == epsilon

    assert noisy > EACH / 4
    assert tight / noisy > 0.8


def test_single_sums_are_tight(make_policy):
    """The loss of one column's sum without filter is exactly epsilon whenever any edge changes it."""
    found = 0
    for number in range(300):
        draw = random.Random(number)
        policy = make_policy(draw, draw.randint(1, 2), 4)
        for attribute in policy.domain:
            if attribute.kind in ("category", "datetime"):
                continue
            others = [column for column in policy.domain.columns if column != attribute.name]
            scope = policy.plan.groupby(others) if others and draw.random() < 0.5 else policy.plan
            plan = scope.sum(attribute.name, epsilon="1/3")

            assert exact_loss(policy, plan) == plan.cost
            found += plan.cost > 0

    assert found > 100


@pytest.mark.parametrize("broken", ["half the scales", "no crossing", "no missing"])
def test_the_audit_finds_a_plan_that_lies(broken, make_full_policy, make_filter, monkeypatch):
    """Scales that forget something are found: the audit can fail."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())  # neither kept plans here, nor these elsewhere
    true_loss = Shifts.loss

    def forgetful(self, rates):
        blocks, flows = self.blocks, self.flows
        if broken == "no crossing":
            flows = ()
        if broken == "no missing":
            blocks = tuple(block[:1] for block in blocks)
        loss = true_loss(replace(self, blocks=blocks, flows=flows), rates)
        return loss / 2 if broken == "half the scales" else loss

    monkeypatch.setattr(Shifts, "loss", forgetful)
    caught = 0
    for number in range(120):
        found = instance(random.Random(number), make_full_policy, make_filter)
        if found is not None:
            policy, plan, epsilon = found
            caught += exact_loss(policy, plan) > epsilon

    assert caught > 0


def test_rows_of_the_mathematics(line_of):
    """Full b - a, threshold its longest edge, partition its widest group."""
    full, line = line_of(8, 0).policy, line_of(8, 1).policy
    groups = bf.Policy(line.domain, secrets={"x": bf.partition([[0, 1, 2], [3, 4, 5, 6, 7]])})

    assert full.plan.sum("x").sensitivity == 7
    assert line.plan.sum("x").sensitivity == 1
    assert line_of(8, 3).policy.plan.sum("x").sensitivity == 3
    assert groups.plan.sum("x").sensitivity == 4
    assert line.plan.where("x >= 4").sum("x").sensitivity == 4
    assert line.plan.where("x >= 4").count().sensitivity == 1
    assert line_of(8, 1, presence=True).policy.plan.sum("x").sensitivity == 7
