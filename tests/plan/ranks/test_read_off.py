"""Noisy counts of all candidates, the largest listed."""

from fractions import Fraction

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, integers

PLAN = bf.Policy(Domain((integers("x", 0, 4), integers("y", 0, 2)))).plan


def test_all_picks_share_one_measurement():
    """However many values are listed, the noise is that of a histogram."""
    one, four = (PLAN.top(k, "x", epsilon=1, strategy="counts") for k in (1, 4))

    assert one.scales == four.scales == [Fraction(2)] * 5
    assert one.mse == variance(Fraction(2))
    assert np.allclose(four.std, variance(Fraction(2)) ** 0.5)
    assert one.privacy_loss() == 1


def test_counts_are_taken_where_they_miss_less():
    """For several values; the plan lists both, and a receipt could tell why."""
    plan = PLAN.top(3, "x", epsilon=1)

    assert plan.strategy == "counts"
    assert plan.candidates["strategy"].tolist() == ["counts", "select"]
    assert plan.candidates["gap"].is_monotonic_increasing
    assert plan.facts()["chosen"].startswith("'counts' misses at most")
    assert "for all i" in plan.facts()["accuracy"]
