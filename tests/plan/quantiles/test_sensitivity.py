"""What one edge changes is no more than stated, over random policies, and attained by simple ones."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle import cases
from oracle.tap import ask

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan.quantiles import select
from pandas_blowfish.plan.quantiles.halving import pick_apart, pick_by_halves
from pandas_blowfish.plan.quantiles.sensitivity import Reach, place_change
from pandas_blowfish.policy.domain import Domain, integers

SHARES = ([0.5], [0.2, 0.5], [0.25, 0.5, 0.75], [0.1, 0.2, 0.6, 0.9, 1])
QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


def test_no_edge_changes_more(monkeypatch):
    """The kernel finds at most the charge in all rounds together, whatever was picked."""
    monkeypatch.setattr(select, "ENOUGH", 1)
    monkeypatch.setattr(select, "MOST_PARTS", 4)
    seen = whole = 0
    for seed in range(60):
        draw = random.Random(f"change {seed}")
        policy = cases._policy(draw, "quantile", draw.random() < 0.4)
        try:
            steps = cases._question(draw, policy, "quantile")[0] if policy is not None else ()
            if not steps or steps[-1][0] != "quantile":
                continue
            name, given, named = steps[-1]
            named = {**named, "strategy": "select"}
            plan = ask(policy.plan, (*steps[:-1], (name, (given[0], draw.choice(SHARES)), named)))
        except BlowfishError:
            continue
        if plan.price.settled or policy.constraints:
            continue
        check, left, values = Check.of(policy, plan), plan.cost, []
        while (step := plan.measurement.next_round(values)) is not None:
            left -= check.require(step, left)
            ends = [np.flatnonzero(step.choices == own) for own in range(len(step.targets.shares))]
            values.append(
                np.array([draw.randrange(len(own)) + own[0] for own in ends]) * step.targets.parts
                + draw.randrange(step.targets.parts)
            )
        assert left >= 0
        seen += 1
        whole += left == 0
    assert seen > 15
    assert whole > seen / 3


@pytest.mark.parametrize(
    ("secret", "q", "change"),
    [
        (bf.full(), [0.5], 2),
        (bf.threshold(2), [0.25], 2),
        (bf.threshold(1), [0.5], 1),
        (bf.full(), [0.25, 0.5, 0.75], 4),
        (bf.full(), [0.3, 0.6], 4),
        (bf.public(), [0.5], 0),
    ],
)
def test_simple_policies(secret, q, change):
    """Half as much between neighbouring cells; by halves once per round."""
    policy = bf.Policy(Domain((integers("x", 0, 99),)), secrets={"x": secret})

    assert policy.plan.quantile("x", q, epsilon=1, strategy="select").sensitivity == change


def test_groups_and_filters_cost_what_ranks_move():
    """A row that leaves moves the median by half a row, on both sides; one that changes group twice."""
    policy = bf.Policy(
        Domain((integers("x", 0, 9), integers("sex", 0, 1))), secrets={"x": bf.public(), "sex": bf.full()}
    )
    plan = policy.plan

    assert plan.where("sex == 0").quantile("x", 0.5, epsilon=1, strategy="select").sensitivity == 1
    assert plan.where("sex == 0").quantile("x", 0.9, epsilon=1, strategy="select").sensitivity == Fraction(
        9, 5
    )
    assert plan.groupby("sex").quantile("x", 0.5, epsilon=1, strategy="select").sensitivity == 2


def test_rounds_add_up():
    """Each round costs what a move within a run does, or one from a run to another if that is more."""
    moves, free = Reach(True, True, False, False), Reach(False, False, False, False)

    assert place_change(pick_apart(QUARTERS), moves, parts=1) == 6
    assert place_change(pick_by_halves(QUARTERS), moves, parts=64) == 4
    assert place_change(
        pick_by_halves([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]), moves, parts=1
    ) == (2 + Fraction(16, 5))
    assert place_change(pick_by_halves(QUARTERS), free, parts=1) == 0
