"""Weighted sums read off nests keep what is needed to read them again."""

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.plan.linear.woven import Woven
from pandas_blowfish.policy.domain import Domain, integers


def test_form_says_what_is_on_the_line():
    """The layout, the weights, and whether cells that no query counts are measured."""
    policy = bf.Policy(Domain((integers("x", 0, 15),)), secrets={"x": bf.threshold(1)})
    matrix = np.tril(np.ones((8, 16), dtype=int))

    plan = policy.plan.workload(matrix, "x", strategy="ordered")

    assert isinstance(plan.measurement, Woven)
    assert set(plan.measurement.form) == {"layout", "weights", "covered"}
    assert plan.sensitivity == 1
    assert plan.strategy == "ordered"
