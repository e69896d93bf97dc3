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
    assert receipt["noise"] == "transport (odds of exp(-edges / scale))"
    assert receipt["unit"] == "row-level"
    assert receipt["hash"] == df.blowfish.ledger.entries["hash"].iloc[-1]
    assert df.blowfish.ledger.verify(receipt)
    assert "Receipt" in repr(receipt)
    assert "<table" in receipt._repr_html_()


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


FORGED = {
    "policy": "bf1-0000",
    "strategy": "dawa",
    "noise": "none",
    "unit": "guest_id",
    "outside": "clip",
    "verb": "cumhist",
    "columns": [],
    "sensitivity": "0",
    "name": "other",
    "time": "2020-01-01T00:00:00",
}


@pytest.mark.parametrize("key", FORGED)
def test_a_forged_receipt_is_told_apart(key):
    """Whatever the ledger knows of a release is compared; the receipt is named, not the ledger blamed."""
    ledger = bf.Ledger()
    df = bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=1, ledger=ledger)
    free = df.blowfish.count(epsilon="0.1").blowfish.receipt
    receipt = df.blowfish.hist("sex", epsilon="0.1").blowfish.receipt

    with pytest.raises(bf.errors.LedgerTamperedError, match=rf"another {key}[^?]*was the receipt changed"):
        ledger.verify({**receipt, key: FORGED[key]})

    assert ledger.verify(receipt)
    assert ledger.verify(free)


def test_receipts_of_derived_answers_verify():
    """What a release tells besides carries its receipt, under facts recorded since too."""
    df = bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=9, dataset="facts")
    cum = df.blowfish.cumhist("age", epsilon="0.1")
    df.blowfish.ledger.record_exact("facts", bf.Count("age < 18"))
    later = df.blowfish.hist("sex", epsilon="0.1")

    for frame in (cum, cum.blowfish.quantile([0.5]), cum.blowfish.hist(bins=10), later):
        assert df.blowfish.ledger.verify(frame.blowfish.receipt)


def test_a_path_is_no_receipt():
    """A file's name is not taken for a hash that the ledger lost."""
    with pytest.raises(bf.errors.ArgumentError, match="json"):
        bf.Ledger().verify("ages.receipt.json")


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
        for seed in range(150):
            with bf.testing.replay(seed):
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


CORNERS = np.array([[10, 10], [10, 90], [90, 10], [90, 90]])


def _corners(secret, **arguments):
    """Return rows in four corners that no bin's border comes near, and the same protected."""
    draw = np.random.default_rng(0)
    places = CORNERS[draw.choice(4, 2_000, p=[0.1, 0.2, 0.3, 0.4])] + draw.integers(-5, 6, (2_000, 2))
    rows = pd.DataFrame(places, columns=["x", "y"])
    domain = Domain((integers("x", 0, 99), integers("y", 0, 99)))
    policy = bf.Policy(domain, secrets={"x": secret, "y": secret}, **arguments)
    return rows, rows.blowfish.protect(policy, epsilon=10**4)


@pytest.mark.parametrize(
    ("strategy", "secret"),
    [
        ("grid", bf.full()),
        ("soft", bf.threshold(5)),
        ("adaptive", bf.full()),
        ("whole", bf.partition(20)),
    ],
    ids=["grid", "soft", "adaptive", "whole"],
)
@pytest.mark.parametrize("post", [True, False])
def test_intervals_of_sizes_cover_clusters_apart(strategy, secret, post):
    """Where no border cuts a bin that holds rows, the number that assign finds is inside as often as said."""
    rows, df = _corners(secret)
    inside = []

    for _ in range(40):
        centres = df.blowfish.kmeans(["x", "y"], 4, epsilon=2, strategy=strategy, post=post)
        bounds = centres.blowfish.interval(0.95)
        truth = centres.blowfish.assign(rows).value_counts().reindex(range(4), fill_value=0).to_numpy()
        inside.append((bounds["low"] <= truth) & (truth <= bounds["high"]))

    assert np.mean(inside) > 0.85


def test_intervals_of_sizes_stay_between_none_and_all():
    """A size is no less than 0 and no more than the public row count, unless it is not shaped."""
    _, df = _corners(bf.full())
    ask = {"columns": ["x", "y"], "k": 4, "epsilon": "1/50", "strategy": "grid"}

    shaped = df.blowfish.kmeans(**ask).blowfish.interval(0.999)
    plain = df.blowfish.kmeans(**ask, post=False)
    bounds = plain.blowfish.interval(0.999)

    assert shaped.to_numpy().min() >= 0
    assert shaped.to_numpy().max() <= 2_000
    assert (shaped["low"] <= shaped["high"]).all()
    assert (bounds["high"] - plain["size"]).to_numpy() == pytest.approx(plain["size"] - bounds["low"])
    assert bounds["low"].min() < 0


def test_intervals_of_sizes_are_those_that_were_released():
    """Exact sizes have no width; some rows keep theirs; sums, rounded ones and lost columns are refused."""
    rows, df = _corners(bf.partition(20))
    exact = df.blowfish.kmeans(["x", "y"], 3, epsilon=1, strategy="whole")
    _, other = _corners(bf.full())
    noisy = other.blowfish.groupby("x").kmeans("y", 2, epsilon=1)

    assert (exact.blowfish.interval().to_numpy() == exact[["size", "size"]].to_numpy()).all()
    assert len(noisy.tail(7).blowfish.interval()) == 7
    assert noisy.join(noisy.blowfish.interval()).blowfish.assign(rows).notna().all()
    for edited in (noisy.round(), noisy * 2, noisy.drop(columns="size"), noisy[["size"]]):
        with pytest.raises(FrameError):
            edited.blowfish.interval()
    with pytest.raises(ArgumentError):
        noisy.blowfish.interval(0)


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
def test_clusters_are_saved_with_their_receipt(ending, tmp_path):
    """As every release, also by group."""
    _, df = _corners(bf.full())
    centres = df.blowfish.groupby("x").kmeans("y", 2, epsilon=1)

    written = bf.save(centres, tmp_path / f"c.{ending}")

    assert written[0].exists()
    if ending == "parquet":
        back = pd.read_parquet(written[0])
        assert back.blowfish.receipt == centres.blowfish.receipt
        pd.testing.assert_frame_equal(back.blowfish.interval(), centres.blowfish.interval())
        assert "Receipt" in back.blowfish._repr_html_()


def test_a_receipt_is_grouped_as_a_reader_asks():
    """Question, cost, noise, promise, where to verify; what it says besides comes last, all of it escaped."""
    receipt = _protected([1, 2, 3], epsilon=1).blowfish.hist("x", epsilon=1).blowfish.receipt

    parts = type(receipt)({**receipt, "<b>": "<i>" * 500}).parts()
    shown = type(receipt)({**receipt, "<b>": "<i>" * 500})._repr_html_()

    assert list(parts) == ["question", "cost", "noise", "promise", "where to verify", "more", "technical"]
    stated = {*receipt, *receipt["technical"], "<b>"} - {"kind", "technical"}
    assert {key for part in parts.values() for key in part} == stated
    assert not [tag for tag in ("<b>", "<i>") if tag in shown]
    assert " cost\n" in repr(receipt)


def test_intervals_of_counts_are_whole_numbers():
    """However large the counts are and however they were estimated or summed, no end has a fraction."""
    rows = pd.DataFrame({"x": np.arange(60_000) % 100})
    policy = bf.Policy(Domain((integers("x", 0, 99),)), secrets={"x": bf.threshold(3)})
    df = rows.blowfish.protect(policy, epsilon=100)
    releases = [
        df.blowfish.hist("x", epsilon="0.37"),
        df.blowfish.hist("x", epsilon="0.37", post=False),
        df.blowfish.cumhist("x", epsilon="0.37"),
        df.blowfish.cumhist("x", epsilon="0.37", strategy="hierarchical"),
        df.blowfish.range("x", [(0, 49), (3, 70)], epsilon="0.37"),
        df.blowfish.cumhist("x", epsilon="0.37").blowfish.range([(0, 49), (3, 70)]),
    ]

    for released in releases:
        bounds = released.blowfish.interval()
        assert (bounds == bounds.round()).all(axis=None)
        assert (bounds["low"] <= bounds["high"]).all()
