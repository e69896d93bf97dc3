"""quantile: values of the column, read off cumulative counts."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.quantile import plan_quantile, shares_of

POLICY = bf.Policy(
    Domain(
        (
            integers("x", 0, 99),
            from_dict("pay", {"type": "float", "min": 0, "max": 100, "step": 10}),
            from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"}),
            from_dict("size", {"type": "category", "values": ["s", "m", "l"], "ordered": True}),
        )
    ),
    secrets={
        "x": bf.threshold(5),
        "pay": bf.threshold(10),
        "day": bf.threshold("2D"),
        "size": bf.threshold(1),
    },
)
ROWS = pd.DataFrame(
    {
        "x": np.arange(1000) % 100,
        "pay": np.arange(1000) % 100 + 0.5,
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(1000) % 10, unit="D"),
        "size": pd.Categorical(["s"] * 100 + ["m"] * 800 + ["l"] * 100, ["s", "m", "l"], ordered=True),
    }
)


def _protected():
    return ROWS.blowfish.protect(POLICY, epsilon=10**9)


def test_values_are_those_of_the_column():
    """Whole numbers as they are, bins linearly, instants as instants, categories as categories."""
    df, q = _protected(), [0.25, 0.5, 0.75]

    assert df.blowfish.quantile("x", q, epsilon=10**5)["value"].tolist() == [24, 49, 74]
    assert df.blowfish.quantile("pay", q, epsilon=10**5)["value"].tolist() == pytest.approx([25, 50, 75])
    days = df.blowfish.quantile("day", q, epsilon=10**5)["value"]
    assert days.dt.normalize().tolist() == [pd.Timestamp(f"2026-01-{day:02d}") for day in (3, 6, 8)]
    assert df.blowfish.quantile("size", q, epsilon=10**5)["value"].tolist() == ["m", "m", "m"]


def test_ends_are_the_first_and_last_rows():
    """0 and 1 are reached where rows are."""
    rows = pd.DataFrame({"x": [10, 20, 30], "pay": 0.0, "day": pd.Timestamp("2026-01-01"), "size": "s"})

    found = rows.blowfish.protect(POLICY, epsilon=10**9).blowfish.quantile("x", [0, 1], epsilon=10**5)

    assert found["value"].tolist() == [10, 30]


def test_the_error_is_that_of_the_rank():
    """std says how far the value moves when the count there is off by its own."""
    found = _protected().blowfish.quantile("x", 0.5, epsilon="1/2")

    assert found.index.tolist() == [0.5]
    assert found["std"].item() > 0
    bounds = found.blowfish.interval()
    assert bounds["low"].item() <= found["value"].item() <= bounds["high"].item()
    assert bounds["low"].item() < bounds["high"].item()


def test_groups_come_first_in_the_index():
    """One set of quantiles a group."""
    found = _protected().blowfish.groupby("size").quantile("x", [0.1, 0.9], epsilon=10**5)

    assert found.index.names == ["size", "q"]
    assert found["value"].tolist() == pytest.approx([9, 89] * 3)


def test_no_rows_have_no_quantile():
    """Nothing to find the middle of."""
    found = ROWS.iloc[:0].blowfish.protect(POLICY, epsilon=1).blowfish.quantile("x", 0.5, epsilon=1)

    assert found["value"].isna().all()


@pytest.mark.parametrize("q", [[], -0.1, 1.5, "half", None, [0.5, 2]])
def test_wrong_shares_are_refused(q):
    """Shares lie between 0 and 1."""
    with pytest.raises(ArgumentError):
        shares_of(q)
    with pytest.raises(ArgumentError):
        plan_quantile(POLICY, "x", q, epsilon=1)


def test_intervals_of_quantiles_cover_at_flat_ends():
    """Where the curve is flat a small error of the counts moves the value far."""
    rows = pd.DataFrame({"x": np.repeat(np.arange(12), 2 ** np.arange(12)[::-1] // 4)})
    policy = bf.Policy(Domain((integers("x", 0, 39),)), secrets={"x": bf.threshold(5)})
    df = rows.blowfish.protect(policy, epsilon=10**6)
    q = [0.1, 0.5, 0.9, 0.98, 1]
    truth = df_quantiles(rows["x"], q)
    inside = np.zeros(len(q))

    for _ in range(200):
        bounds = df.blowfish.quantile("x", q, epsilon="1/2").blowfish.interval(0.9)
        inside += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert (inside / 200 > 0.85).all()


LAST = "2026-01-31 23:59:59.999999999+01:00"
CUT = bf.Policy(
    Domain(
        (
            from_dict("rating", {"type": "float", "min": 1, "max": 5, "step": 1, "nullable": True}),
            integers("stay", 0, 9, 4),
            from_dict(
                "day",
                {"type": "datetime", "min": "2026-01-01 00:00+01:00", "max": LAST}
                | {"step": "2D", "tz": "Europe/Paris"},
            ),
        )
    ),
    secrets={"rating": bf.full(), "stay": bf.full(), "day": bf.threshold("2D")},
)


@pytest.mark.parametrize("column", ["rating", "stay", "day"])
@pytest.mark.parametrize("epsilon", ["1/50", 100])
def test_nothing_leaves_the_declared_bounds(column, epsilon):
    """Neither values nor intervals nor the receipt, though the last bin ends beyond them; on releases too."""
    last = pd.Timestamp("2026-01-31 23:59:59.999999999", tz="Europe/Paris")
    rows = pd.DataFrame({"rating": [4.0, 5.0, 5.0, None] * 50, "stay": [8, 9] * 100, "day": last})
    asked, q = rows.blowfish.protect(CUT, epsilon=10**4).blowfish, [0, 0.3, 0.9, 1]
    bounds = {"rating": (1, 5), "stay": (0, 9), "day": (pd.Timestamp("2026-01-01", tz="Europe/Paris"), last)}
    low, high = bounds[column]

    counts = [asked.cumhist(column, epsilon=epsilon), asked.hist(column, epsilon=epsilon)]
    read = [each.blowfish.quantile(q) for each in counts]
    read += [asked.quantile(column, q, epsilon=epsilon), counts[1].blowfish.cumhist().blowfish.quantile(q)]
    for found in read:
        edges = found.blowfish.interval(0.999)
        for each in (found["value"], edges["low"], edges["high"]):
            assert (each.isna() | ((each >= low) & (each <= high))).all()  # noise may leave no rows at all
        ends = [found.attrs["blowfish"]["technical"][end] for end in ("smallest_value", "largest_value")]
        assert ends == ([low, high] if column != "day" else [low.value, high.value])
        assert json.loads(json.dumps(found.attrs)) == found.attrs


def test_releases_of_before_bounds_were_told_end_with_their_cells():
    """Their receipts do not say where the last bin is cut."""
    rows = pd.DataFrame(
        {"rating": [5.0] * 50, "stay": 1, "day": pd.Timestamp("2026-01-02", tz="Europe/Paris")}
    )
    old = rows.blowfish.protect(CUT, epsilon=100).blowfish.hist("rating", epsilon=50)
    del old.attrs["blowfish"]["technical"]["declared_ends"]

    assert 5 < old.blowfish.quantile(0.5)["value"].item() < 6


def _columns():
    """Return columns as files have them, with what is declared of each."""
    draw = np.random.default_rng(4)
    tenths = {"type": "float", "min": 0, "max": 50, "step": 0.1}
    tips = np.where(draw.random(5_000) < 0.68, 0, draw.exponential(5, 5_000).round(1)).clip(0, 50)
    return {
        "zero-inflated": (tips, tenths),
        "tied": (draw.choice([5.0, 10.0, 20.0], 5_000, p=[0.4, 0.3, 0.3]), tenths),
        "discrete": (draw.poisson(30, 5_000).clip(0, 99), {"type": "integer", "min": 0, "max": 99}),
        "continuous": (draw.normal(25, 6, 5_000).clip(0, 50), tenths),
        "coarse": (draw.normal(25, 6, 5_000).clip(0, 50), {**tenths, "step": 10}),
    }


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("column", _columns())
def test_intervals_hold_the_value_itself(column, post):
    """At 95% in 94 of 100 and more, wherever rows lie inside bins, shaped or not."""
    values, declared = _columns()[column]
    policy = bf.Policy(Domain((from_dict("x", declared),)), secrets={"x": bf.threshold(1)})
    df, q = pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=10**6), [0.25, 0.5, 0.69, 0.9]
    truth, inside, repeats = df_quantiles(pd.Series(values), q), np.zeros(len(q)), 120

    with bf.testing.replay(7):
        for _ in range(repeats):
            found = df.blowfish.quantile("x", q, epsilon="1/10", post=post)
            bounds = found.blowfish.interval()
            inside += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert (inside / repeats >= 0.94).all()
    assert (found["std"] >= declared.get("step", 0) / np.sqrt(12) * (1 - 1e-9)).all()
    assert ((bounds["low"] <= found["value"]) & (found["value"] <= bounds["high"])).all()


def test_intervals_hold_whole_cells_at_any_level():
    """They begin and end with cells, grow with the level up to all there is, and are kept with each row."""
    values, declared = _columns()["zero-inflated"]
    policy = bf.Policy(Domain((from_dict("x", declared),)), secrets={"x": bf.threshold(1)})
    with bf.testing.replay(8):
        df = pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=10**6)
        found = df.blowfish.quantile("x", [0.5, 0.9, 0.5], epsilon="1/10")

    for level in (0.01, 0.5, 0.77, 0.95, "0.96", 0.9999):
        bounds = found.blowfish.interval(level)
        assert bounds.loc[0.5].drop_duplicates().to_numpy().tolist() == [[0, 0.1]]
        assert np.allclose(bounds * 10, np.rint(bounds * 10))
        assert found.iloc[[1]].blowfish.interval(level).equals(bounds.iloc[[1]])
    assert found.blowfish.interval(0.96).equals(found.blowfish.interval(0.98))
    assert found.blowfish.interval(0.99999).to_numpy().tolist() == [[0, 50]] * 3
    with pytest.raises(FrameError, match="not the values"):
        found.assign(value=found["value"] * 100).blowfish.interval()
    with pytest.raises(ArgumentError, match="level"):
        found.blowfish.interval(1)
    del found.attrs["blowfish"]["technical"]["cell_bounds"]
    with pytest.raises(FrameError, match="name again"):
        found.blowfish.interval()


def test_which_value_of_a_bin_is_shown_is_asked_for():
    """The middle, or an end where values are multiples of the step; a free question takes it too."""
    values, declared = _columns()["zero-inflated"]
    policy = bf.Policy(Domain((from_dict("x", declared),)), secrets={"x": bf.threshold(1)})
    df = pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=10**6)
    cum = df.blowfish.cumhist("x", epsilon=1000)

    for inside, wanted in (("lower", 0), ("midpoint", 0.05), ("higher", 0.1)):
        found = df.blowfish.quantile("x", epsilon=1000, interpolation=inside)
        assert found["value"].tolist() == [wanted]
        assert cum.blowfish.quantile(interpolation=inside)["value"].tolist() == [wanted]
        assert found.blowfish.interval().to_numpy().tolist() == [[0, 0.1]]
        assert f"interpolation='{inside}'" in found.blowfish.receipt["query"]
    for wrong in ("nearest", None, 1):
        with pytest.raises(ArgumentError, match="interpolation"):
            df.blowfish.quantile("x", epsilon=1000, interpolation=wrong)
        with pytest.raises(ArgumentError, match="interpolation"):
            cum.blowfish.quantile(interpolation=wrong)


def test_categories_have_a_first_and_a_last_one():
    """Of the same ordered dtype, by group; an empty group may be anything, and nothing if that is exact."""
    public = bf.Policy(
        Domain((POLICY.domain["size"], from_dict("town", {"type": "category", "values": ["a", "b", "c"]}))),
        secrets={"size": bf.full(), "town": bf.full()},
    )
    rows = ROWS[["size"]].assign(town=pd.Categorical(["a", "b"] * 500))
    asked = rows.blowfish.protect(public, epsilon=10**9).blowfish.groupby("town")

    with bf.testing.replay(3):
        noisy = asked.quantile("size", [0.05, 0.5], epsilon="1/2").blowfish.interval()
    sure = asked.quantile("size", 0.5, epsilon=10**6).blowfish.interval()

    assert noisy.dtypes.tolist() == [ROWS["size"].dtype] * 2
    assert noisy.loc["a"].to_numpy().tolist() == [["s", "s"], ["m", "m"]]
    assert noisy.loc["c"].iloc[0].tolist() == ["s", "l"]
    assert sure.loc["b"].to_numpy().tolist() == [["m", "m"]]
    assert sure.loc["c"].isna().all(axis=None)


def test_exact_curves_have_one_cell():
    """What no edge changes is sure at every level; 0 and 1 are the first and the last row."""
    policy = bf.Policy(
        Domain((POLICY.domain["x"], POLICY.domain["pay"])), secrets={"x": bf.public(), "pay": bf.public()}
    )
    asked = ROWS[["x", "pay"]].iloc[20:50].blowfish.protect(policy, epsilon=1).blowfish
    q = [0, 0.5, 1]

    whole, bins = (asked.quantile(column, q, epsilon=1) for column in ("x", "pay"))

    assert whole.blowfish.interval(0.9999).to_numpy().tolist() == [[20, 20], [34, 34], [49, 49]]
    assert whole["std"].tolist() == [0, 0, 0]
    assert bins.blowfish.interval().to_numpy().tolist() == [[20, 30], [30, 40], [40, 50]]
    assert bins["std"].tolist() == pytest.approx([10 / np.sqrt(12)] * 3)
    assert whole.blowfish.receipt["epsilon"] == "0"


@pytest.mark.parametrize("post", [True, False])
def test_intervals_hold_under_public_facts(post):
    """Counts that agree with what is known are off by no more; neither are quantiles."""
    policy = bf.Policy(
        Domain((POLICY.domain["x"],)), secrets={"x": bf.threshold(5)}, constraints=[bf.Count("x < 40")]
    )
    df, q = ROWS[["x"]].blowfish.protect(policy, epsilon=10**6), [0.1, 0.4, 0.41, 0.7]
    truth, inside = df_quantiles(ROWS["x"], q), np.zeros(len(q))

    with bf.testing.replay(9):
        for _ in range(100):
            bounds = df.blowfish.quantile("x", q, epsilon="1/5", post=post).blowfish.interval()
            inside += (bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy())

    assert (inside >= 94).all()


def test_instants_end_with_their_cells():
    """To the nanosecond, in their zone; missing values and filters make the number of rows secret."""
    zone = "Europe/Paris"
    day = from_dict(
        "day",
        {"type": "datetime", "min": "2026-01-01 00:00+01:00", "max": LAST, "step": "1D", "tz": zone}
        | {"nullable": True},
    )
    policy = bf.Policy(
        Domain((day, integers("x", 0, 9))), secrets={"day": bf.threshold("2D"), "x": bf.full()}
    )
    when = pd.Series(pd.date_range("2026-01-01", periods=31, tz=zone)).repeat(200).reset_index(drop=True)
    rows = pd.DataFrame({"day": when.where(np.arange(6200) % 7 > 0), "x": np.arange(6200) % 10})
    asked = rows.blowfish.protect(policy, epsilon=10**6).blowfish

    for found in (
        asked.quantile("day", [0.5, 1], epsilon=1),
        asked.where("x < 5").quantile("day", [0.5, 1], epsilon=1, post=False),
    ):
        bounds = found.blowfish.interval()

        assert bounds.dtypes.astype(str).tolist() == [f"datetime64[ns, {zone}]"] * 2
        assert bounds["low"].iloc[0] <= pd.Timestamp("2026-01-16", tz=zone) <= bounds["high"].iloc[0]
        assert (bounds["low"] == bounds["low"].dt.normalize()).all()
        assert bounds["high"].iloc[1] == pd.Timestamp(LAST).tz_convert(zone)
        assert found["std"].iloc[0] >= pd.Timedelta("1D") / np.sqrt(12)


def test_how_wrong_dawa_is_is_not_told():
    """Its error depends on the rows: no standard error, no interval."""
    found = _protected().blowfish.quantile("x", 0.5, epsilon="1/10", strategy="dawa")

    assert found["std"].isna().all()
    with pytest.raises(FrameError, match="rows"):
        found.blowfish.interval()


def df_quantiles(values, q):
    """Return the first value that a share q of the rows reaches."""
    ordered = np.sort(values.to_numpy())
    return np.array([ordered[max(int(np.ceil(share * len(ordered))) - 1, 0)] for share in q])
