"""What solving hands on: answers, by how much shaping moved them, and what none exceeds."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 2))))


@pytest.mark.parametrize("post", [True, "nonnegative"])
def test_the_shift_bounds_what_shaping_moved(post):
    """Unbiased answers are the shaped ones plus something between the two ends of the shift."""
    plan = POLICY.plan.marginal([["a"], ["a", "b"]])
    values = np.random.default_rng(1).integers(-9, 20, len(plan.scales))
    values[-1] = 40

    plain = plan.measurement.solve(values, post=False)
    shaped = plan.measurement.solve(values, post=post)
    moved = plain.answers - shaped.answers

    assert plain.shift == (0.0, 0.0)
    assert shaped.shift[0] - 1e-9 <= moved.min()
    assert moved.max() <= shaped.shift[1] + 1e-9
    assert plain.most == shaped.most == 40
