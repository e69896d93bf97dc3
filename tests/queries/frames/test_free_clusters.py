"""What a released k-means measured gives other numbers of clusters, free."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError, NotProtectedError, ReceiptError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.frames import answer

DOMAIN = Domain(
    (integers("x", 0, 63), integers("y", 0, 63), from_dict("sex", {"type": "category", "values": ["F", "M"]}))
)
RANDOM = np.random.default_rng(4)
SPOTS = RANDOM.integers(0, 5, 3_000)
ROWS = pd.DataFrame(
    {
        "x": np.clip(np.array([8, 20, 32, 44, 56])[SPOTS] + RANDOM.normal(0, 2, 3_000).astype(int), 0, 63),
        "y": np.clip(np.array([56, 8, 32, 8, 56])[SPOTS] + RANDOM.normal(0, 2, 3_000).astype(int), 0, 63),
        "sex": RANDOM.choice(["F", "M"], 3_000),
    }
)
POLICIES = {
    "full": {},
    "near": {"secrets": {"x": bf.threshold(4), "y": bf.threshold(4)}},
    "pieces": {"secrets": {"x": bf.partition(8), "y": bf.partition(8), "sex": bf.public()}},
    "anyone": {"presence": True},
}


def _protected(promise="full", **options):
    policy = bf.Policy(DOMAIN, **POLICIES[promise], **options)
    return ROWS.blowfish.protect(policy, epsilon=10**6, ledger=bf.Ledger())


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("strategy", ["auto", "grid", "soft", "adaptive", "whole"])
@pytest.mark.parametrize("promise", POLICIES)
def test_other_numbers_of_clusters_are_free(promise, strategy, group):
    """Every synopsis, read for the same k is the release itself; for others it has as many clusters."""
    df = _protected(promise)
    source = df.blowfish.groupby("sex") if group else df.blowfish.where("sex == 'F'")
    try:
        centres = source.kmeans(["x", "y"], k=4, epsilon=1, strategy=strategy)
    except ArgumentError:
        assert strategy == "whole"
        assert promise != "pieces"
        return
    spent = df.blowfish.budget.spent

    pd.testing.assert_frame_equal(centres.blowfish.kmeans(4), centres)
    five = centres.blowfish.kmeans(k=5)

    assert df.blowfish.budget.spent == spent
    assert five.groupby(level=0, observed=True).size().tolist() == ([5, 5] if group else [1] * 5)
    assert five.blowfish.receipt["k"] == 5
    assert five.blowfish.receipt["derived"] == "kmeans(k=5), of what was measured for k=4"
    assert five.blowfish.receipt["entry"] == centres.blowfish.receipt["entry"]
    assert set(five.blowfish.assign(ROWS).dropna()) <= set(range(5))
    pd.testing.assert_frame_equal(five.blowfish.kmeans(2), centres.blowfish.kmeans(2))


def test_parts_stay_those_that_were_measured():
    """Where noise is large as many parts as clusters are summed: another k reads the same sums."""
    df = _protected("pieces")
    centres = df.blowfish.kmeans(["x", "y"], k=4, epsilon="0.0001", strategy="whole")

    for k in (2, 9):
        found = centres.blowfish.kmeans(k)
        assert len(found) == k
        assert found["size"].sum() == 3_000


def test_five_clusters_are_found_in_a_release_of_four():
    """Centres of what is there, with sizes whose intervals are read as those of a kmeans."""
    centres = _protected().blowfish.kmeans(["x", "y"], k=4, epsilon=20)

    five = centres.blowfish.kmeans(k=5)

    truth = sorted(zip([8, 20, 32, 44, 56], [56, 8, 32, 8, 56], strict=True))
    found = sorted(five[["x", "y"]].itertuples(index=False, name=None))
    assert np.abs(np.array(found) - truth).max() < 3
    assert five["size"].sum() == pytest.approx(3_000)
    assert (five.blowfish.interval()["low"] <= five["size"]).all()
    assert five.blowfish.plot() is not None


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
def test_a_saved_release_is_clustered_again(tmp_path, ending):
    """The receipt holds what was measured."""
    centres = _protected("near").blowfish.kmeans(["x", "y"], k=3, epsilon=1)
    bf.save(centres, tmp_path / f"centres.{ending}")

    back = bf.load(tmp_path / f"centres.{ending}")

    pd.testing.assert_frame_equal(back.blowfish.kmeans(6), centres.blowfish.kmeans(6))


def test_what_cannot_be_clustered_again_is_refused(monkeypatch):
    """Too many clusters, other releases, edited receipts, synopses too large for a receipt, public facts."""
    df = _protected()
    centres = df.blowfish.kmeans(["x"], k=2, epsilon="0.01")
    edited = centres.copy()
    record = centres.attrs["blowfish"]
    inner = record["technical"]

    for k in (0, 10**3, True, "3"):
        with pytest.raises((ArgumentError, TypeError)):
            centres.blowfish.kmeans(k)
    with pytest.raises(FrameError, match="only a kmeans"):
        df.blowfish.hist("sex", epsilon=1).blowfish.kmeans(3)
    with pytest.raises(NotProtectedError):
        centres.blowfish.kmeans(["x"], 3, epsilon=1)
    for change in (
        {"policy": "{}"},
        {"policy": _protected("near").blowfish.policy.to_yaml()},
        {"values": inner["synopsis"]["values"][1:]},
        {"values": ["1"]},
        {"form": {"bins": [5], "inside": False}},
    ):
        technical = {**inner, "synopsis": {**inner["synopsis"], **change}}
        edited.attrs["blowfish"] = {**record, "technical": technical}
        with pytest.raises(ReceiptError):
            edited.blowfish.kmeans(3)
    monkeypatch.setattr(answer, "MOST_VALUES", 3)
    with pytest.raises(FrameError, match="does not state"):
        df.blowfish.kmeans(["x"], k=2, epsilon=1).blowfish.kmeans(3)
    monkeypatch.undo()
    known = _protected(constraints=[bf.Count("x < 9")])
    with pytest.raises(FrameError, match="does not state"):
        known.blowfish.kmeans(["x"], k=2, epsilon=1).blowfish.kmeans(3)
