"""Intervals of sums and means hold those of the values themselves, not of the middles of their cells."""

import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books.receipt import translate, write_receipt
from pandas_blowfish.errors import FrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

mpl.use("Agg")


def _values(kind):
    """Return a column in cells, of which half the rows are 0, and its policy."""
    draw = np.random.default_rng(8)
    spec = (
        {"type": "float", "step": 1}
        if kind == "endless"
        else {"type": "float", "min": 0, "max": 50, "step": 1}
    )
    secrets = {"x": bf.threshold(2)} if kind == "endless" else {"x": bf.full()}
    policy = bf.Policy(
        Domain((from_dict("x", spec), integers("g", 0, 2))), secrets={**secrets, "g": bf.public()}
    )
    values = np.where(draw.random(20_000) < 0.9, 0.0, draw.random(20_000) * 50)
    return policy, pd.DataFrame({"x": values, "g": np.minimum(np.arange(20_000) // 9_000, 1)})


@pytest.mark.parametrize("kind", ["bounded", "endless"])
@pytest.mark.parametrize("post", [True, False])
def test_intervals_cover_the_values_themselves(kind, post):
    """Of means, and of sums of public numbers of rows, though values are read as the middle of their cell."""
    policy, frame = _values(kind)
    df = frame.blowfish.protect(policy, epsilon=1_000)
    truth = frame.groupby("g")["x"]

    for verb in ("sum", "mean"):
        alone = getattr(df.blowfish, verb)("x", epsilon=20, post=post)
        groups = getattr(df.blowfish.groupby("g"), verb)("x", epsilon=20, post=post)
        apart = abs(alone["value"].iloc[0] - getattr(frame["x"], verb)())
        bounds, each = alone.blowfish.interval(), groups.blowfish.interval()

        assert apart > 8 * alone["std"].iloc[0]
        assert bounds["low"].iloc[0] <= getattr(frame["x"], verb)() <= bounds["high"].iloc[0]
        wanted = getattr(truth, verb)()
        assert (each.loc[[0, 1], "low"] <= wanted).all()
        assert (wanted <= each.loc[[0, 1], "high"]).all()
        assert alone.blowfish.receipt["technical"]["column_rounding"] == ["1/2"]
        assert json.loads(json.dumps(groups.attrs)) == groups.attrs
        some = groups.iloc[[1]].blowfish.interval()
        assert some.iloc[0].tolist() == each.iloc[1].tolist()
    if kind == "bounded" and post:
        assert (each.loc[[0, 1], "low"] >= 0).all()


def test_many_sums_are_widened_by_the_largest(monkeypatch):
    """A receipt does not list thousands of row counts."""
    monkeypatch.setattr("pandas_blowfish.plan.totals.solve.LISTED", 2)
    policy, frame = _values("bounded")
    groups = frame.blowfish.protect(policy, epsilon=10).blowfish.groupby("g").sum("x", epsilon=1)
    bounds = groups.blowfish.interval()

    assert groups.blowfish.receipt["technical"]["public_counts"] == {"": 11_000}
    assert (bounds["high"] - groups["value"] >= 5_500).all()


SPECS = {
    "ratings": {"type": "float", "min": 1, "max": 5, "step": 1},
    "from zero": {"type": "float", "min": 0, "max": 50, "step": 3},
    "both signs": {"type": "float", "min": -20, "max": 30, "step": 7},
    "negative": {"type": "float", "min": -9, "max": -1, "step": "1/3"},
    "whole": {"type": "integer", "min": 3, "max": 40, "step": 10},
}
SCOPES = {
    "missing": lambda asked: asked,
    "groups": lambda asked: asked.groupby("g"),
    "filter": lambda asked: asked.where("g == 1"),
    "empty groups": lambda asked: asked.where("g == 1").groupby("g"),
}


def _ratings(spec, *, presence=False, nullable=True):
    """Return rows at the low ends of their cells, some missing, in groups that are secret, and a policy."""
    draw = np.random.default_rng(5)
    spec = {**SPECS[spec], "nullable": nullable}
    domain = Domain((from_dict("x", spec), integers("g", 0, 2)))
    policy = bf.Policy(domain, secrets={"x": bf.full(), "g": bf.full()}, presence=presence)
    grid = domain["x"]
    values = np.floor(float(grid.low) + float(grid.step) * draw.integers(0, grid.cells, 3_000) + 1e-9)
    if grid.step.denominator > 1:
        values = float(grid.low) + draw.integers(0, 9, 3_000).astype(float)
    x = pd.Series(np.clip(values, float(grid.low), float(grid.high)))
    if nullable:
        x = x.where(pd.Series(draw.random(3_000)) < 0.9)
    return policy, pd.DataFrame(
        {"x": x if grid.kind == "float" else x.astype("Int64"), "g": draw.integers(0, 2, 3_000)}
    )


def _truth(frame, scope):
    kept = frame if scope in ("missing", "groups") else frame[frame["g"] == 1]
    if "groups" not in scope:
        return [float(kept["x"].sum())]
    return [float(kept["x"][kept["g"] == group].sum()) for group in range(3)]


@pytest.mark.parametrize("spec", list(SPECS))
@pytest.mark.parametrize("scope", list(SCOPES))
@pytest.mark.parametrize("presence", [False, True])
def test_sums_of_secret_numbers_of_rows_are_covered(spec, scope, presence):
    """Missing values, groups and filters of a secret column; refused where nothing bounds the rows."""
    policy, frame = _ratings(spec, presence=presence)
    df, truth = frame.blowfish.protect(policy, epsilon=10**6), np.array(_truth(frame, scope))
    refused = presence and spec == "both signs"

    for epsilon in ("1/20", "100"):
        for post in (True, False):
            asked = SCOPES[scope](df.blowfish)
            found = asked.sum("x", epsilon=epsilon, post=post)
            if refused:
                with pytest.raises(FrameError, match="of a secret number of rows"):
                    found.blowfish.interval()
                continue
            bounds = found.blowfish.interval(0.999999)

            assert (bounds["low"] <= truth).all()
            assert (truth <= bounds["high"]).all()
            assert found.blowfish.receipt["rows"] == (None if presence else 3_000)
            assert json.loads(json.dumps(found.attrs)) == found.attrs


@pytest.mark.parametrize("spec", list(SPECS))
@pytest.mark.parametrize("presence", [False, True])
def test_means_over_noisy_counts_are_covered(spec, presence):
    """Those of the values too, wherever there are rows; never refused."""
    policy, frame = _ratings(spec, presence=presence)
    df = frame.blowfish.protect(policy, epsilon=10**6)
    truth = frame.groupby("g")["x"].mean().to_numpy(dtype=float)

    for epsilon in ("1/20", "100"):
        for post in (True, False):
            means = df.blowfish.groupby("g").mean("x", epsilon=epsilon, post=post)
            bounds = means.blowfish.interval(0.999999).loc[[0, 1]]

            assert (bounds["low"] <= truth).all()
            assert (truth <= bounds["high"]).all()


@pytest.mark.parametrize(("spec", "presence"), [("ratings", False), ("ratings", True), ("both signs", False)])
def test_they_hold_as_often_as_they_say(spec, presence):
    """At 80%, with noise as large as what cells add."""
    policy, frame = _ratings(spec, presence=presence)
    df, truth = frame.blowfish.protect(policy, epsilon=10**6), np.array(_truth(frame, "groups"))
    held = np.zeros(len(truth))

    for _ in range(150):
        bounds = df.blowfish.groupby("g").sum("x", epsilon="1/100").blowfish.interval(0.8)
        held += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert (held / 150 > 0.8 - 0.1).all()


def test_the_sum_itself_may_tell_of_fewer_rows_than_the_table():
    """A rating is added up as 1.5 at least, so a small group has a short interval."""
    policy, frame = _ratings("ratings", nullable=False)
    frame.loc[frame.index[100:], "g"] = 0
    groups = frame.blowfish.protect(policy, epsilon=10**4).blowfish.groupby("g").sum("x", epsilon=100)
    bounds = groups.blowfish.interval()
    wide = bounds["high"] - bounds["low"]

    assert wide.loc[1] < 400 < wide.loc[0] < 3_100
    assert groups.blowfish.receipt["technical"]["smallest_weights"] == ["3/2"]


def test_receipts_that_do_not_tell_are_refused():
    """Those of before rows were told, whose intervals were of the middles."""
    policy, frame = _ratings("both signs")
    df = frame.blowfish.protect(policy, epsilon=10)
    found, mean = df.blowfish.sum("x", epsilon=1), df.blowfish.mean("x", epsilon=1)

    lacking = (
        (found, ("rows", "smallest_weights")),
        (found, ("column_rounding",)),
        (mean, ("column_rounding",)),
    )
    for release, keys in lacking:
        facts = translate(release.attrs["blowfish"])
        old = release.copy()
        old.attrs = {"blowfish": write_receipt({k: v for k, v in facts.items() if k not in keys})}
        with pytest.raises(FrameError):
            old.blowfish.interval()


def test_refused_intervals_are_drawn_without_bars():
    """And the note beneath the title says why."""
    policy, frame = _ratings("both signs", presence=True)
    axes = (
        frame.blowfish.protect(policy, epsilon=10).blowfish.groupby("g").sum("x", epsilon=1).blowfish.plot()
    )

    texts = [each.get_text() for each in axes.figure.findobj(mpl.text.Text)]
    assert any("no error bars: the middles of cells were summed" in text.replace("\n", " ") for text in texts)


def test_whole_numbers_need_no_bound():
    """Each value counts as itself, whoever is there."""
    domain = Domain((from_dict("x", {"type": "integer", "min": -5, "max": 5, "nullable": True}),))
    policy = bf.Policy(domain, secrets={"x": bf.full()}, presence=True)
    found = (
        pd.DataFrame({"x": [1, 2, None]}).blowfish.protect(policy, epsilon=10).blowfish.sum("x", epsilon=1)
    )

    width = found.blowfish.interval()["high"].iloc[0] - found["value"].iloc[0]
    assert width < 10 * found["std"].iloc[0]


def test_plans_say_how_far_values_are_off():
    """And what the intervals of sums make of it."""
    policy, _ = _ratings("ratings")
    secret, _ = _ratings("both signs", presence=True)
    said = "read as the middle of their cell: off by up to 0.5 each"

    assert policy.plan.mean("x").facts()["values"] == said
    assert policy.plan.sum("x").facts()["values"] == f"{said}; intervals allow for all rows a sum can be of"
    assert secret.plan.sum("x").facts()["values"].endswith("how many rows it is of is secret")
    dates = bf.Policy(Domain((integers("pay", 0, 999, 10), integers("x", 0, 9), DAYS)))
    assert (
        dates.plan.sum("pay").facts()["values"] == "read as the middle of their cell: off by up to 4.5 each"
    )
    assert "off by up to 12 hours each" in repr(dates.plan.mean("d"))
    assert "4.5 (pay)" in dates.plan.mean(["x", "pay"]).facts()["values"]
    assert "values" not in dates.plan.mean("x").facts()


DAYS = from_dict("d", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-31", "step": "1D"})
