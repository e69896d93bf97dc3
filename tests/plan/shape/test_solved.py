"""What solving hands on: answers, the estimates they were shaped from, and what none exceeds."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 2))))


@pytest.mark.parametrize("post", [True, "nonnegative"])
def test_unshaped_estimates_are_handed_on(post):
    """Whatever shape was asked for, the unbiased answers are beside the shaped ones."""
    plan = POLICY.plan.marginal([["a"], ["a", "b"]])
    values = np.random.default_rng(1).integers(-9, 20, len(plan.scales))
    values[-1] = 40

    plain = plan.measurement.solve(values, post=False)
    shaped = plan.measurement.solve(values, post=post)

    assert plain.unshaped.tolist() == shaped.unshaped.tolist() == plain.answers.tolist()
    assert plain.most == shaped.most == 40
