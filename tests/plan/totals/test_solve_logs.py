"""Geometric means are exponentials of means of logarithms, and so are their intervals."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import FrameError
from pandas_blowfish.plan.totals.solve import as_logs, exponentials, from_logs, logs_of
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.secret import relative_error

POLICY = bf.Policy(
    Domain((Unbounded("price", "float", False), integers("g", 0, 2))),
    secrets={"price": relative_error("0.9"), "g": bf.public()},
)


@pytest.mark.parametrize("step", ["0.01", "0.0000001"])
def test_intervals_cover_geometric_means(step):
    """Of all rows and of groups, coarse cells included: at least as often as they say."""
    policy = bf.Policy(POLICY.domain, secrets={"price": relative_error("0.9"), "g": bf.public()})
    if step == "0.01":
        price = Unbounded("price", "float", False)
        policy = bf.Policy(
            Domain((price, integers("g", 0, 2))),
            secrets={"price": relative_error("0.9", step=step), "g": bf.public()},
        )
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"price": draw.lognormal(3, 2, 300), "g": draw.integers(0, 2, 300)})
    df = frame.blowfish.protect(policy, epsilon=10_000)
    truth = np.exp(np.log(frame["price"]).groupby(frame["g"]).mean())
    held = 0
    for _ in range(60):
        found = df.blowfish.groupby("g").geomean("price", epsilon=1)
        bounds, value = found.blowfish.interval(0.8).iloc[:2], found["value"].iloc[:2]
        held += int(((bounds["low"] <= truth) & (truth <= bounds["high"])).sum())
        assert (bounds["high"] / value).to_numpy() == pytest.approx((value / bounds["low"]).to_numpy())
        assert np.isnan(found["value"].iloc[2])  # there are surely no rows
    assert held >= 0.8 * 120 - 3 * np.sqrt(120 * 0.16)


def test_errors_are_those_of_the_first_order():
    """std is the value times that of the mean of logarithms; what floats do not hold has no known error."""
    value, std = exponentials(np.array([0.0, 2.0, np.nan, 1e4, -1e4]), np.array([0.1, 0.2, np.nan, 1, 1]))

    assert value[:2] == pytest.approx([1, np.exp(2)])
    assert std[:2] == pytest.approx([0.1, 0.2 * np.exp(2)])
    assert np.isnan(value[2])
    assert np.isnan(std[2])
    assert np.isinf(std[3:]).all()


def test_a_release_is_read_back_as_its_logarithms():
    """There and back, and other receipts are left alone."""
    receipt = logs_of("geomean")
    release = pd.DataFrame({"value": [2.0, np.inf, 0.0], "std": [0.5, np.inf, np.inf]})

    logs = as_logs(receipt, release)

    assert logs["value"].iloc[0] == np.log(2)
    assert logs["std"].tolist() == [0.25, np.inf, np.inf]
    low, high = from_logs(receipt, np.array([-np.inf, 0.0]), np.array([np.inf, 0.0]))
    assert low.tolist() == [0, 1 - 1e-12]
    assert high.tolist() == [np.inf, 1 + 1e-12]
    assert as_logs(logs_of("logsum"), release) is release
    assert logs_of("sum") == {}
    with pytest.raises(FrameError):
        as_logs(receipt, -release)


def test_far_noise_says_nothing():
    """Where the exponential is beyond floats the interval is all numbers."""
    frame = pd.DataFrame({"price": [1.0], "g": [0]})
    df = frame.blowfish.protect(POLICY, epsilon=1)

    found = df.blowfish.geomean("price", epsilon="1e-6")
    bounds = found.blowfish.interval()

    assert bounds["low"].iloc[0] <= 1 <= bounds["high"].iloc[0]
