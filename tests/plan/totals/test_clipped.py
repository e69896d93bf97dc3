"""Clipped sums and means: what a plan states, what a release finds, and how wrong it is."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError
from pandas_blowfish.plan.totals.clipped import SHARE

HIGH = 999_999


def protect(values, *, low=0, high=HIGH, epsilon=10**6, secret=None, **policy):
    """Return protected rows of one column with far too wide bounds."""
    column = pa.Column(int, pa.Check.in_range(low, high), metadata=secret or bf.full())
    schema = pa.DataFrameSchema({"x": column})
    return pd.DataFrame({"x": values}).blowfish.protect(bf.Policy(schema, **policy), epsilon=epsilon)


def tails(kind, n=20_000):
    """Return values that are mostly far below the bound."""
    draw = np.random.default_rng(4)
    values = {
        "lognormal": np.exp(draw.normal(7, 1, n)),
        "pareto": 100 * (draw.pareto(2.5, n) + 1),
        "two-sided": draw.standard_t(4, n) * 500,
    }[kind]
    return np.round(values).clip(-HIGH, HIGH).astype(int)


@pytest.mark.parametrize(
    ("kind", "presence"),
    [("lognormal", False), ("lognormal", True), ("pareto", True), ("two-sided", False)],
)
def test_heavy_tails_have_far_smaller_errors(kind, presence):
    """Root mean squared errors of 12 releases each, with bounds found first and without."""
    values = tails(kind)
    df = protect(values, low=-HIGH if kind == "two-sided" else 0, presence=presence)

    with bf.testing.replay(5):
        clipped = [df.blowfish.mean("x", epsilon=1, clip="auto")["value"].iloc[0] for _ in range(12)]
        plain = [df.blowfish.mean("x", epsilon=1)["value"].iloc[0] for _ in range(12)]

    ours, theirs = (np.sqrt(np.mean((np.array(each) - values.mean()) ** 2)) for each in (clipped, plain))
    assert ours < theirs / 3


def test_values_that_fill_the_bounds_are_not_clipped():
    """Then the answer is as if three quarters of epsilon were all there is."""
    values = np.random.default_rng(1).integers(0, 1_000, 20_000)
    df = protect(values, high=999)

    found = df.blowfish.sum("x", epsilon=1, clip="auto")

    assert found[["clip_low", "clip_high", "outside"]].to_numpy().tolist() == [[0, 999, 0]]
    assert found.blowfish.receipt["clip"] == "no value is clipped"
    assert found["std"].iloc[0] == pytest.approx(2**0.5 * 999 / 0.75, rel=1e-4)
    bounds = found.blowfish.interval()
    assert bounds["low"].iloc[0] < found["value"].iloc[0] < bounds["high"].iloc[0]


def test_the_share_outside_is_that_of_the_rows():
    """Up to its standard error; rows beyond the bounds count as these."""
    values = tails("lognormal")
    df = protect(values)

    with bf.testing.replay(3):
        found = df.blowfish.mean("x", epsilon=2, clip="auto")

    high, share = found["clip_high"].iloc[0], found["outside"].iloc[0]
    stated = found.blowfish.receipt["technical"]
    assert abs(share - (values > high).mean()) < 5 * stated["outside_std"][0]
    assert abs(found["value"].iloc[0] - values.clip(0, high).mean()) < 6 * found["std"].iloc[0]
    assert stated["clip_low"], stated["clip_high"] == ([None], [str(int(high))])


def test_both_rounds_add_up_to_epsilon():
    """A quarter finds the bounds; what edges leave alone needs none."""
    plan = protect(tails("pareto")).blowfish.plan.mean("x", epsilon="0.4", clip="auto")
    measured = plan.measurement

    assert plan.cost == Fraction(2, 5)
    assert sum(2 / b for b in measured.counts.each_scale) == SHARE * plan.cost
    assert measured.widest.epsilon == plan.cost * (1 - SHARE)
    assert plan.privacy_loss() == plan.cost


def test_exact_counts_need_no_share():
    """Where groups of a partition are the bins, they are exact and the sums have all of epsilon."""
    groups = [[0, 1], [2], [3, 4], *([2**k + 1 + i for i in range(2**k)] for k in range(2, 5))]
    df = protect(np.arange(4_000) % 8, high=32, secret=bf.partition(groups))

    measured = df.blowfish.plan.mean("x", epsilon=1, clip="auto").measurement

    assert measured.moves == (0,)
    assert measured.widest.epsilon == 1
    assert df.blowfish.mean("x", epsilon=1, clip="auto")["clip_high"].iloc[0] <= 16


def test_a_plan_states_what_is_done():
    """The share of epsilon, that noise is at most so much, and what clipping may do."""
    facts = protect(tails("pareto")).blowfish.plan.mean("x", epsilon=1, clip="auto").facts()

    assert facts["strategy"] == "clipped"
    assert facts["clip"].startswith("0.25 of epsilon counts rows in 21 bins")
    assert "too small" in facts["clip"]
    assert facts["noise"] == "discrete Laplace, scale 1,333,332 at most, less where values are clipped"
    assert facts["typical error"].startswith("depends on the rows")
    assert "wide bounds" not in facts


def test_a_plan_says_when_clipping_is_worth_trying():
    """Where noise follows bounds that are far apart, and there are rows enough to find closer ones."""
    wide = protect(tails("pareto")).blowfish.plan
    near = protect([1, 2] * 5_000, high=500).blowfish.plan
    line = protect(tails("pareto"), secret=bf.threshold(5_000)).blowfish.plan
    few = protect([1, 2, 3]).blowfish.plan

    assert 'clip="auto"' in wide.mean("x", epsilon=1).facts()["wide bounds"]
    assert 'clip="auto"' in repr(wide.sum("x", epsilon=1))
    for plan in (near, line, few):
        assert "wide bounds" not in plan.mean("x", epsilon=1).facts()
    assert "wide bounds" not in wide.mean("x", epsilon=1, clip=(0, 5_000)).facts()


def test_nothing_to_gain_is_refused():
    """Where the answer is exact, or the noise follows a threshold of one step."""
    public = protect(tails("pareto"), secret=bf.public()).blowfish.plan
    line = protect(tails("pareto"), secret=bf.threshold(1)).blowfish.plan

    for plan in (public, line):
        with pytest.raises(ArgumentError, match="closer bounds would not change"):
            plan.mean("x", epsilon=1, clip="auto")


def test_there_is_no_interval_of_clipped_values():
    """How far the answer is moved is not known."""
    found = protect(tails("pareto")).blowfish.mean("x", epsilon=1, clip="auto")

    with pytest.raises(FrameError, match="values were clipped"):
        found.blowfish.interval()


def test_the_same_noise_leads_to_the_same_bounds():
    """Bounds follow from the noisy counts alone: a stored answer is read as it was measured."""
    df = protect(tails("lognormal"), epsilon=3)

    first = df.blowfish.mean("x", epsilon=1, clip="auto", name="pay")
    again = df.blowfish.mean("x", epsilon=1, clip="auto", name="pay")
    unshaped = df.blowfish.mean("x", epsilon=1, clip="auto", name="pay", post=False)

    pd.testing.assert_frame_equal(first, again)
    assert unshaped["clip_high"].equals(first["clip_high"])
    assert df.blowfish.budget.spent == 1


def test_there_is_no_matrix_and_no_epsilon_for_an_error():
    """Both depend on noisy counts."""
    plan = protect(tails("pareto")).blowfish.plan.mean("x", epsilon=1, clip="auto")

    with pytest.raises(ArgumentError, match="no matrix"):
        plan.matrix()
    with pytest.raises(ArgumentError, match="depends on the rows"):
        plan.epsilon_for(rmse=10)
