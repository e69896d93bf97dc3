"""Releases carry what an outsider needs, and their intervals hold after shaping too."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError, NotReleasedError
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 19),)), secrets={"x": bf.threshold(2)})


def _protected(values, epsilon=10**4, policy=POLICY):
    return pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=epsilon)


def test_shaped_intervals_cover():
    """With post=True every cell's interval still covers at least as often as it says."""
    values = [3] * 50 + [4] * 5 + [15]
    truth = np.bincount(values, minlength=20)
    df = _protected(values)
    inside = np.zeros(20)

    for _ in range(1_500):
        bounds = df.blowfish.hist("x", epsilon="1/2").blowfish.interval(0.9)
        inside += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert (inside / 1_500 > 0.87).all()


def test_the_receipt_is_flat_json_and_complete():
    """Every field of the contract is there, fractions as text, nothing that JSON cannot hold."""
    df = _protected([1, 2, 3], epsilon=1)

    receipt = df.blowfish.hist("x", epsilon=0.1).blowfish.receipt

    assert json.loads(json.dumps(receipt)) == dict(receipt)
    wanted = {"query", "columns", "dataset", "policy", "strategy", "sensitivity", "scale", "epsilon", "noise"}
    wanted |= {"expected_squared_error", "proof", "spent", "remaining", "version", "time", "entry", "hash"}
    assert wanted <= set(receipt)
    assert receipt["epsilon"] == receipt["spent"] == "1/10"
    assert receipt["remaining"] == "9/10"
    assert receipt["noise"] == "discrete Laplace"
    assert receipt["unit"] == "row-level"
    assert receipt["hash"] == df.blowfish.ledger.entries["hash"].iloc[-1]
    assert df.blowfish.ledger.verify(receipt)
    assert "Receipt" in repr(receipt)
    assert "<table>" in receipt._repr_html_()


def test_shaped_counts_agree_with_what_is_exact():
    """Counts are non-negative, sum to the public row count, and to every partition group."""
    policy = bf.Policy(Domain((integers("x", 0, 19),)), secrets={"x": bf.partition(5)})
    values = np.arange(200) % 13
    df = _protected(values, policy=policy)

    released = df.blowfish.hist("x", epsilon="1/5")

    assert (released["count"] >= 0).all()
    groups = released["count"].to_numpy().reshape(4, 5).sum(axis=1)
    assert groups == pytest.approx(np.bincount(values // 5, minlength=4), abs=1e-9)


def test_intervals_ask_for_a_release():
    """A plain frame, or a release without its counts, has no interval."""
    df = _protected([1, 2, 3])
    released = df.blowfish.hist("x", epsilon=1)

    with pytest.raises(NotReleasedError):
        df.blowfish.interval()
    with pytest.raises(NotReleasedError):
        _ = df.blowfish.receipt
    with pytest.raises(FrameError):
        released[["std"]].blowfish.interval()
    with pytest.raises(ArgumentError):
        released.blowfish.interval(95)


def test_part_of_a_release_keeps_its_intervals():
    """Rows of a release can be filtered and sorted, as any pandas frame."""
    released = _protected([1, 2, 3]).blowfish.hist("x", epsilon=1)
    some = released[released["count"] > 0].sort_values("count")

    bounds = some.blowfish.interval(0.5)

    assert bounds.index.equals(some.index)
    assert (bounds["low"] <= bounds["high"]).all()


def test_exact_answers_have_no_width():
    """std 0 means the count itself."""
    released = _protected([1, 2, 3]).blowfish.count(epsilon=1)

    assert released["count"].tolist() == [3.0]
    assert released["std"].tolist() == [0.0]
    assert released.blowfish.interval().to_numpy().tolist() == [[3.0, 3.0]]
    assert Fraction(released.blowfish.receipt["epsilon"]) == 0
    assert released.blowfish.receipt["noise"] == "none"


@pytest.mark.parametrize(
    "change", [lambda h: h.cumsum(), lambda h: h * 2, lambda h: h.round(), lambda h: h / 7]
)
def test_intervals_refuse_what_is_no_longer_the_release(change):
    """Sums, multiples and rounded counts have other errors than the release."""
    released = _protected([1, 2, 3]).blowfish.hist("x", epsilon="1/3")

    with pytest.raises(FrameError, match="not the counts"):
        change(released).blowfish.interval()


def test_intervals_join_their_release(tmp_path):
    """Counts with their intervals are still a release that can be saved."""
    released = _protected([1, 2, 3]).blowfish.hist("x", epsilon=1)

    joined = released.join(released.blowfish.interval())
    bf.save(joined, tmp_path / "ages.parquet")

    assert pd.read_parquet(tmp_path / "ages.parquet").blowfish.receipt == released.blowfish.receipt


def test_the_ledger_refuses_a_receipt_with_other_costs():
    """A receipt that states another cost than its entry is found."""
    df = _protected([1, 2, 3])
    receipt = df.blowfish.hist("x", epsilon="1/10").blowfish.receipt

    assert df.blowfish.ledger.verify(receipt)
    for change in ({"epsilon": "1/1000"}, {"remaining": "5"}, {"query": "hist('y')"}, {"scale": "1"}):
        with pytest.raises(bf.errors.LedgerTamperedError):
            df.blowfish.ledger.verify({**receipt, **change})


@pytest.mark.parametrize(
    "strategy", ["ordered", "ordered_hierarchical", "hierarchical", "haar", "tree", "auto"]
)
@pytest.mark.parametrize("epsilon", ["1/4", "2"])
def test_intervals_of_estimates_cover(strategy, epsilon):
    """Intervals of sums of many noises cover, shaped or not, at small scales too."""
    values = [3] * 50 + [4] * 5 + [15]
    truth = np.cumsum(np.bincount(values, minlength=20))
    df = _protected(values, epsilon=10**6)
    inside = {post: np.zeros(20) for post in (True, False)}

    for post, found in inside.items():
        for _ in range(150):
            cum = df.blowfish.cumhist("x", epsilon=epsilon, strategy=strategy, post=post)
            bounds = cum.blowfish.interval(0.9)
            found += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert min(found.min() / 150 for found in inside.values()) > 0.81
    assert min(found.mean() / 150 for found in inside.values()) > 0.89


def test_intervals_of_quantiles_stay_in_the_domain():
    """A value of the column lies between its declared bounds, whatever the noise."""
    df = _protected([1, 2, 3])

    bounds = df.blowfish.quantile("x", [0, 0.5, 1], epsilon="1/100").blowfish.interval(0.99)

    assert (bounds["low"] >= 0).all()
    assert (bounds["high"] <= 19).all()
