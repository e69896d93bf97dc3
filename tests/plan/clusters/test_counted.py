"""Counted: the number of rows first, then what suits it, for epsilon in all."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters.counted import SHARE
from pandas_blowfish.plan.clusters.question import Clustering
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 255), integers("y", 0, 3))))


@pytest.mark.parametrize("seed", range(25))
def test_the_count_and_the_rest_add_up(seed, make_clusters):
    """What the count loses, and what follows whatever it said, is at most epsilon on every edge."""
    found = make_clusters(random.Random(seed))
    counted = Clustering(found.space, None, 50)._counted(found.moves, Fraction(4, 5), "auto")
    first = found.loss(counted.count)

    assert first == (SHARE * Fraction(4, 5) if counted.count.sensitivity else 0)
    for noisy in (-(2**61), -1, 0, 1, 7, 10**5, 2**61):
        assert first + found.loss(counted.choose_synopsis(np.array([noisy]))) <= Fraction(4, 5)
    assert (counted.matrix().toarray() == found.rows(counted)).all()
    assert len(counted.scales) == counted.matrix().shape[0]
    assert found.loss(counted) <= Fraction(4, 5)
    assert found.change(counted) <= counted.sensitivity
    assert counted.bound_loss(found.graph) is None


def test_what_follows_depends_on_the_count_alone():
    """Few rows are cut into few bins, many into many; no count is below one row."""
    counted = POLICY.plan.where("y == 1").kmeans("x", 3, epsilon=1).measurement

    few, many = (counted.next_round([np.array([count])]) for count in (10, 10**7))

    assert counted.in_rounds
    assert counted.next_round([]) is counted.count
    assert len(few.scales) < len(many.scales)
    assert counted.next_round([np.array([10])]) is few
    assert counted.choose_synopsis(np.array([-5])) is counted.choose_synopsis(np.array([1]))
    assert counted.next_round([np.array([10]), np.zeros(len(few.scales))]) is None


@pytest.mark.parametrize("strategy", ["grid", "soft", "adaptive"])
def test_a_strategy_that_was_named_follows(strategy):
    """Whatever the count says."""
    line = bf.Policy(POLICY.domain, secrets={"x": bf.threshold(3)})
    counted = line.plan.where("y == 1").kmeans("x", 2, strategy=strategy).measurement

    for count in (-3, 10, 10**4, 10**12):
        assert counted.choose_synopsis(np.array([count])).name == strategy
    assert counted.name == "counted"
    assert counted.form == {"usual": 10_000, "strategy": strategy}
    assert counted.proof_id == "counted"
    assert "if the count says 10,000 rows" in counted.grid


def test_a_public_number_of_rows_costs_nothing():
    """Rows of a group that no edge leaves are counted exactly, and all of epsilon is left."""
    policy = bf.Policy(POLICY.domain, secrets={"y": bf.public()})
    counted = policy.plan.where("y == 1").kmeans("x", 3, epsilon=1).measurement

    assert list(counted.count.scales) == [0] * len(counted.count.scales)
    assert counted.choose_synopsis(np.array([9])).queries.epsilon == 1
    assert "0 of epsilon" in counted.proof


@pytest.mark.parametrize("epsilon", ["1/1000", 1, 100])
def test_scales_are_bounded_before_anything_is_charged(epsilon):
    """`largest` is at least the scale of all that may follow."""
    line = bf.Policy(POLICY.domain, secrets={"x": bf.threshold(3)}, presence=True)
    counted = line.plan.kmeans("x", 3, epsilon=epsilon).measurement

    for count in (1, 50, 300, 10**4, 10**6, 10**12, 2**61):
        step = counted.choose_synopsis(np.array([count]))
        assert max(step.scales.values) <= counted.largest
