"""Sums and means from noisy totals: exact where nothing is noisy, and covered where something is."""

import numpy as np
import pandas as pd
import pytest
from oracle.box_draws import draw_noise

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import FrameError
from pandas_blowfish.plan.lattice import LIMIT
from pandas_blowfish.plan.totals.solve import Estimated, instants
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.totals import total_frame

DOMAIN = Domain(
    (
        integers("x", 0, 20),
        integers("pay", 0, 999, 10),
        integers("g", 0, 1),
        from_dict("maybe", {"type": "integer", "min": -5, "max": 5, "nullable": True}),
        from_dict("d", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-31", "step": "1D"}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.threshold(3), "pay": bf.threshold(20)})
RANDOM = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "x": RANDOM.integers(0, 21, 400),
        "pay": RANDOM.integers(0, 1000, 400),
        "g": RANDOM.integers(0, 2, 400),
        "maybe": pd.Series(RANDOM.integers(-5, 6, 400), dtype="Int64").where(RANDOM.random(400) < 0.8),
        "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 31, 400), unit="D"),
    }
)


def _drawn(plan, times, post=True):
    """Return many solved releases of a plan on the frame, without noise first."""
    exact = plan.measurement.apply(count_cells(FRAME, plan.measurement.tallies, clip=False))
    noise = draw_noise(plan.scales, times, 11)
    return [plan.measurement.solve(exact + each, post=post) for each in [np.zeros_like(exact), *noise]]


def _frame(plan, solved, post):
    return total_frame(plan, solved, {"kind": "release", "verb": plan.query["verb"], "post": post, **RECEIPT})


RECEIPT = {"scale": "1", "smallest_scale": "1", "lowest_shift": 0, "highest_shift": 0, "strategy": "total"}
TRUTH = {
    "x": FRAME["x"],
    "pay": FRAME["pay"] // 10 * 10 + 4.5,
    "maybe": FRAME["maybe"].astype(float),
}


@pytest.mark.parametrize("column", list(TRUTH))
def test_without_noise_it_is_pandas(column):
    """Of every column, with and without groups and a filter."""
    values, groups = TRUTH[column], FRAME["g"]
    kept = FRAME["x"] >= 7

    for verb in ("sum", "mean"):
        alone, *_ = _drawn(getattr(POLICY.plan, verb)(column), 1)
        grouped, *_ = _drawn(getattr(POLICY.plan.where("x >= 7").groupby("g"), verb)(column), 1)

        assert alone.answers == pytest.approx([getattr(values, verb)()])
        assert grouped.answers == pytest.approx(
            getattr(values[kept].groupby(groups[kept]), verb)().to_numpy()
        )
        assert isinstance(alone, Estimated)


EXAMPLES = {
    "public rows": lambda plan: plan,
    "noisy rows": lambda plan: plan.where("g == 1"),
    "groups": lambda plan: plan.groupby("g"),
}


@pytest.mark.parametrize("scope", list(EXAMPLES))
@pytest.mark.parametrize("verb", ["sum", "mean"])
def test_expected_error_is_monte_carlo(scope, verb):
    """The released standard error, and that of the plan where it is known, within 5%."""
    plan = getattr(EXAMPLES[scope](POLICY.plan), verb)(
        "x", epsilon=2, **({"rows": 400} if verb == "mean" else {})
    )

    truth, *drawn = _drawn(plan, 16_000, post=False)
    off = np.array([each.answers - truth.answers for each in drawn])
    spread = np.sqrt((off**2).mean(axis=0))

    assert np.sqrt((np.array([each.std for each in drawn]) ** 2).mean(axis=0)) == pytest.approx(
        spread, rel=0.05
    )
    if verb == "sum" or scope == "public rows":
        assert plan.std == pytest.approx(spread, rel=0.05)
        assert plan.mse == pytest.approx((off**2).mean(), rel=0.05)


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize(
    ("verb", "columns", "scope"),
    [
        ("sum", ["x", "pay"], lambda plan: plan.groupby("g")),
        ("sum", ["maybe"], lambda plan: plan),
        ("mean", ["x", "maybe"], lambda plan: plan),
        ("mean", ["x"], lambda plan: plan.where("x >= 18").groupby("g")),
        ("mean", ["d"], lambda plan: plan.where("g == 1")),
    ],
)
@pytest.mark.parametrize("epsilon", ["1/20", "2"])
def test_intervals_cover(verb, columns, scope, post, epsilon):
    """At least 80% of the time, at either end of epsilon; shaped or not; and no interval is upside down."""
    plan = getattr(scope(POLICY.plan), verb)(columns, epsilon=epsilon)
    truth, *drawn = _drawn(plan, 300, post=post)
    goal = _frame(plan, truth, post)["value"]
    slack = pd.Timedelta(2) if columns == ["d"] else 1e-9 * (1 + goal.abs())
    above, below = (goal + slack).to_numpy(), (goal - slack).to_numpy()

    held = np.zeros(len(goal))
    for each in drawn:
        low, high = _frame(plan, each, post).blowfish.interval(0.8)[["low", "high"]].to_numpy().T
        held += (low <= above) & (below <= high)
        assert (low <= high).all()

    assert (held / len(drawn) > 0.8 - 0.09).all()


def test_post_keeps_to_the_bounds():
    """Shaped means lie within the declared values; sums of non-negative ones are not negative."""
    mean, total = (
        getattr(POLICY.plan.where("g == 1"), verb)("x", epsilon="1/1000") for verb in ("mean", "sum")
    )

    shaped = np.array([each.answers[0] for each in _drawn(mean, 200)])
    plain = np.array([each.answers[0] for each in _drawn(mean, 200, post=False)])
    sums = np.array([each.answers[0] for each in _drawn(total, 200)])

    assert (shaped >= 0).all()
    assert (shaped <= 20).all()
    assert (np.abs(plain - 10) > 10).any()
    assert (sums >= 0).all()


def test_no_rows_have_no_mean():
    """Where that is surely so; the sum of nothing is 0."""
    known = bf.Policy(DOMAIN, secrets={"g": bf.public()})
    plan = known.plan.where("g == 1").groupby("g").mean("x")
    nothing = plan.measurement.solve(np.zeros(len(plan.scales), dtype=np.int64), post=True)

    assert np.isnan(nothing.answers).all()
    assert np.isnan(nothing.std).all()
    assert np.isnan(_frame(plan, nothing, True).blowfish.interval()).all(axis=None)
    emptied = POLICY.plan.where("g == 1").groupby("g").mean("x")
    assert np.isnan(_drawn(emptied, 1)[1].answers[0])


def test_a_sum_at_the_limit_says_so():
    """What saturates has no error bar: its interval is everything."""
    plan = POLICY.plan.sum("x")
    cut = plan.measurement.solve(np.array([LIMIT, 3], dtype=np.int64), post=False)
    frame = _frame(plan, cut, False)

    assert np.isinf(cut.std).all()
    assert np.isinf(frame.blowfish.interval()).all(axis=None)


def test_changed_values_are_refused():
    """A scaled sum is not what was released."""
    plan = POLICY.plan.sum(["x", "pay"])
    frame = _frame(plan, _drawn(plan, 1)[1], True)
    scaled = frame * 2
    scaled.attrs = frame.attrs
    strange = frame.rename(index={"x": "y"})
    strange.attrs = frame.attrs

    for other in (scaled, strange):
        with pytest.raises(FrameError):
            other.blowfish.interval()
    assert len(frame.iloc[[1]].blowfish.interval()) == 1


def test_instants_stay_within_what_pandas_holds():
    """Far offsets are cut, missing ones are NaT, zones are kept."""
    found = instants(np.array([0, 0, 10**18]), np.array([1.4, np.nan, 1e30]), "Europe/Paris")

    assert found[0].value == 1
    assert pd.isna(found[1])
    assert found[2].year > 2100
    assert str(found.tz) == "Europe/Paris"
