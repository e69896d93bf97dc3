"""Which totals variances, covariances and several statistics are read off, and how noise is shared."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UnboundedColumnError
from pandas_blowfish.plan.totals.moments import NoisyMoments
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 9), integers("y", 0, 20, nullable=True), integers("z", -3, 3)))
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.threshold(2)})


def test_each_total_is_measured_once():
    """Pairs of columns without missing values share their sums, squares and the count."""
    whole = POLICY.plan.cov(["x", "z"]).measurement
    gaps = POLICY.plan.corr(["x", "y"]).measurement

    assert len(whole.totals) == 6  # two sums, three products, one count
    assert whole.degrees.count(2) == 3
    assert len(gaps.totals) == 7  # all over the rows where y is present, and the number of all rows


def test_one_measurement_answers_several_statistics():
    """What is not needed is not measured."""
    found = POLICY.plan.agg({"x": ["mean", "count"], "z": "std"}).measurement.members[0]

    assert isinstance(found, NoisyMoments)
    assert sorted(found.degrees) == [0, 1, 1, 2]
    assert [of for _, of in found.reads] == ["mean", "count", "std"]


def test_weights_begin_in_the_middle_of_what_is_left():
    """A filter moves the origin, so that squares change least."""
    whole, some = POLICY.plan.var("x"), POLICY.plan.where("x >= 6").var("x")

    assert whole.measurement.bounds == ((-5, 4),)
    assert some.measurement.bounds == ((-2, 1),)


def test_noise_follows_the_better_shares():
    """Of all shares those with the least guess are taken; a form reads them back."""
    plan = POLICY.plan.groupby("z").var("x")
    other = plan.asked[0].reread(POLICY, plan.epsilon, "moments", {"counts": "1", "sums": "1"})

    assert plan.measurement.guess <= other.guess
    assert plan.asked[0].reread(POLICY, plan.epsilon, "moments", plan.measurement.form).scales == plan.scales


def test_errors_that_are_known_beforehand():
    """Of variances of all rows the most that they can be; of deviations nothing but a note."""
    known, unknown = POLICY.plan.var("x", rows=100), POLICY.plan.var("x")

    assert known.std[0] > 0
    assert np.isnan(unknown.std[0])
    assert np.isnan(POLICY.plan.std("x", rows=100).std[0])
    assert "std of evenly spread values" in POLICY.plan.std("x", rows=100).facts()
    assert known.epsilon_for(rmse=0.5) > 0


def test_without_bounds_a_square_has_no_limit():
    """Refused with the fix, whatever the secret."""
    policy = bf.Policy(Domain((Unbounded("r", "float", False),)), secrets={"r": bf.threshold(1, step=1)})

    with pytest.raises(UnboundedColumnError, match="in_range"):
        policy.plan.var("r")
