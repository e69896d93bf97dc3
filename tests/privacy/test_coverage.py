"""Intervals hold the truth as often as they say, and no wider than they must be."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

EPSILON = 2  # where one step makes a difference that some thousand releases show


def _shares(df, ask, releases):
    """Return how often the interval of a true count of 3 holds it, and does so one step narrower."""
    inside = narrower = 0.0
    for _ in range(releases):
        low, high = ask(df.blowfish).blowfish.interval(0.95).to_numpy()[::2].T
        inside += ((low <= 3) & (high >= 3)).mean()
        narrower += ((low + 1 <= 3) & (high - 1 >= 3)).mean()
    return inside / releases, narrower / releases


@pytest.mark.parametrize("strategy", ["identity", "ordered"])
def test_unbiased_intervals_cover(strategy):
    """Over thousands of releases interval(0.95) covers at least 94.5%, and one step narrower does not.

    For identity presence is secret: counts that add up to a public total are surer than their own noise,
    which intervals are about. 100 histograms of one release are as many for ordered.
    """
    groups, releases = {"identity": (1, 4_000), "ordered": (100, 100)}[strategy]
    domain = Domain((integers("g", 0, groups - 1), integers("x", 0, 1)))
    secret = strategy == "identity"
    policy = bf.Policy(domain, secrets={"g": bf.public(), "x": bf.full()}, presence=secret)
    rows = pd.DataFrame({"g": np.repeat(np.arange(groups), 4), "x": [0, 0, 0, 1] * groups})
    df = rows.blowfish.protect(policy, epsilon=10**6)

    def ask(asked):
        scope = asked if groups == 1 else asked.groupby("g")
        return scope.hist("x", epsilon=EPSILON, strategy=strategy, post=False)

    inside, narrower = _shares(df, ask, releases)

    assert inside >= 0.945
    assert narrower < 0.945


def test_releases_are_unbiased_and_spread_as_std_says():
    """Mean and variance of post=False answers are the truth and std squared."""
    policy = bf.Policy(Domain((integers("x", 0, 9_999),)))
    df = pd.DataFrame({"x": np.arange(10_000)}).blowfish.protect(policy, epsilon=10)

    released = df.blowfish.hist("x", epsilon="1/10", post=False)
    error = released["count"] - 1

    assert abs(error.mean()) < 5 * released["std"].iloc[0] / 100
    assert error.var() == pytest.approx(released["std"].iloc[0] ** 2, rel=0.15)
