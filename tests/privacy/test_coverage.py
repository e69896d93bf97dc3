"""Intervals hold the truth as often as they say, and no wider than they must be."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

RELEASES = 10_000


@pytest.mark.parametrize("strategy", ["identity", "ordered"])
def test_unbiased_intervals_cover(strategy):
    """Over 10^4 releases interval(0.95) covers at least 94.5%, and one step narrower does not."""
    policy = bf.Policy(Domain((integers("x", 0, 1),)))
    epsilon = 2  # where one step makes a difference that 10^4 releases show
    df = pd.DataFrame({"x": [0, 0, 0, 1]}).blowfish.protect(policy, epsilon=10**6)
    inside = narrower = 0

    for _ in range(RELEASES):
        released = df.blowfish.hist("x", epsilon=epsilon, strategy=strategy, post=False)
        low, high = released.blowfish.interval(0.95).to_numpy()[0]
        inside += low <= 3 <= high
        narrower += low + 1 <= 3 <= high - 1

    assert inside / RELEASES >= 0.945
    assert narrower / RELEASES < 0.945


def test_releases_are_unbiased_and_spread_as_std_says():
    """Mean and variance of post=False answers are the truth and std squared."""
    policy = bf.Policy(Domain((integers("x", 0, 9_999),)))
    df = pd.DataFrame({"x": np.arange(10_000)}).blowfish.protect(policy, epsilon=10)

    released = df.blowfish.hist("x", epsilon="1/10", post=False)
    error = released["count"] - 1

    assert abs(error.mean()) < 5 * released["std"].iloc[0] / 100
    assert error.var() == pytest.approx(released["std"].iloc[0] ** 2, rel=0.15)
