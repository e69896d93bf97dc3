"""Selection in rounds: who is left, how much each round costs, what a plan states."""

from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.ranks.selection import rounds_of
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 4), integers("y", 0, 2)))
PLAN = bf.Policy(DOMAIN).plan


def test_epsilon_is_shared_among_the_picks():
    """Three picks at a third each; the last of all five needs no choice."""
    three, five = (PLAN.top(k, "x", epsilon=1, strategy="select") for k in (3, 5))

    assert (three.scale, three.values, three.measurement.in_rounds) == (6, 3, True)
    assert (five.scale, five.values) == (8, 4)
    assert three.privacy_loss() == five.privacy_loss() == three.cost == 1


def test_rounds_end_when_all_is_picked():
    """Each round has a query row per candidate that is left, in each group."""
    measured = PLAN.groupby("y").top(2, "x", strategy="select").measurement

    second = measured.next_round([np.array([1, 5, 14])])

    assert measured.next_round([]) is measured
    assert len(second.scales) == 12
    assert second.choices.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert measured.next_round([np.array([1, 5, 14]), np.array([0, 4, 8])]) is None
    assert rounds_of(measured.candidates) == 2


@pytest.mark.parametrize("values", [[3, 1, 14], [1, 5], [-1, 5, 14], [1, 5, 15]])
def test_picks_that_cannot_be_are_refused(values):
    """Of another group, too few, or beyond the last."""
    measured = PLAN.groupby("y").top(2, "x", strategy="select").measurement

    with pytest.raises(ArgumentError):
        measured.next_round([np.array(values)])


def test_a_plan_states_law_accuracy_and_reason():
    """One-sided noise, no numbers, a proved bound, and what the other strategy would miss."""
    facts = PLAN.mode("x", epsilon="0.1").facts()

    assert facts["noise"] == "one-sided geometric, scale 20; just the picks are released"
    assert facts["typical error"] == "no numbers are released"
    assert facts["accuracy"].startswith("with 95% probability the value listed has at most 73 rows fewer")
    assert facts["chosen"] == "'select' misses at most 73 rows, 'counts' 92"
    assert "exp(2 / 20)" in PLAN.mode("x", epsilon="0.1").proof


def test_exact_picks_cost_nothing():
    """Where no edge changes a difference of counts."""
    plan = bf.Policy(DOMAIN, secrets={"x": bf.public()}).plan.mode("x", strategy="select")

    assert (plan.cost, plan.scale, plan.strategy) == (0, 0, "exact")
    assert plan.facts()["accuracy"] == "the value listed is the most frequent"
    assert "cost nothing" in plan.proof
    assert plan.measurement.gap == 0


def test_a_single_candidate_is_known_beforehand():
    """No difference is left that an edge could change, though counts do."""
    plan = PLAN.where("x == 2").mode("x", epsilon=1, strategy="select")

    assert (plan.cost, plan.privacy_loss()) == (0, Fraction(0))
