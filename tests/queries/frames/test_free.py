"""An earlier release answers more questions, free, and says how wrong they may be."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    BlowfishError,
    FrameError,
    NotProtectedError,
    NotReleasedError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.frames.free import lines_of, quantile_again

POLICY = bf.Policy(
    Domain(
        (
            integers("x", 0, 49, nullable=True),
            from_dict("pay", {"type": "float", "min": 0, "max": 20, "step": "0.5"}),
            from_dict("sex", {"type": "category", "values": ["F", "M"]}),
            from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"}),
        )
    ),
    secrets={"pay": bf.threshold(1), "day": bf.threshold("1D")},
)
ROWS = pd.DataFrame(
    {
        "x": pd.array([*range(50), None, None] * 4, dtype="Int64"),
        "pay": np.arange(208) % 20 + 0.25,
        "sex": ["F", "M"] * 104,
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(208) % 31, unit="D"),
    }
)


@pytest.fixture
def df():
    """Return protected rows with plenty of budget."""
    return ROWS.blowfish.protect(POLICY, epsilon=10**9, ledger=bf.Ledger())


@pytest.mark.parametrize(
    ("column", "bounds", "count"),
    [
        ("x", [(0, 9), (None, 49)], [40, 200]),
        ("pay", [(0, 0.5), (0.5, 20), (None, None)], [11, 197, 208]),
        ("day", [("2026-01-01", "2026-01-02")], [14]),
    ],
)
@pytest.mark.parametrize("verb", ["cumhist", "hist"])
def test_ranges_of_a_release(df, verb, column, bounds, count):
    """Same bounds, same counts, nothing spent."""
    release = getattr(df.blowfish, verb)(column, epsilon=10**5)
    spent = df.blowfish.budget.spent

    found = release.blowfish.range(bounds)

    assert found["count"].tolist() == pytest.approx(count)
    assert df.blowfish.budget.spent == spent
    assert found.blowfish.receipt["derived"].startswith("range(")
    assert found.index.equals(df.blowfish.range(column, bounds, epsilon=10**5).index)


def test_quantiles_and_counts_of_a_release(df):
    """The same as asking for them."""
    cum = df.blowfish.cumhist("pay", epsilon=10**5)

    middle = cum.blowfish.quantile([0.25, 0.5])

    assert middle["value"].tolist() == pytest.approx(
        df.blowfish.quantile("pay", [0.25, 0.5], epsilon=10**5)["value"].tolist(), abs=0.02
    )
    assert cum.blowfish.quantile()["value"].item() == pytest.approx(middle["value"].iloc[1])
    assert cum.blowfish.hist()["count"].tolist() == pytest.approx(np.diff(cum["count"], prepend=0).tolist())


def test_grouped_releases_answer_by_group(df):
    """Groups stay outermost."""
    cum = df.blowfish.groupby("sex").cumhist("pay", epsilon=10**5)

    found = cum.blowfish.range([(0, 10), (10, None)])

    assert found.index.names == ["sex", "pay"]
    assert found["count"].groupby(level="sex").sum().tolist() == pytest.approx([104, 104])
    assert cum.blowfish.quantile([0.5]).index.names == ["sex", "q"]


@pytest.mark.parametrize(
    "strategy", ["identity", "ordered", "ordered_hierarchical", "hierarchical", "haar", "tree"]
)
@pytest.mark.parametrize("verb", ["cumhist", "hist"])
def test_errors_are_at_most_what_is_said(df, verb, strategy):
    """The standard error of a derived range is never below the true one."""
    bounds = [(0, 3), (2.5, 11), (None, 15), (4, 4.5)]
    plan = getattr(df.blowfish.plan, verb)("pay", epsilon=1, strategy=strategy)
    release = getattr(df.blowfish, verb)("pay", epsilon=1, strategy=strategy, post=False)

    said = release.blowfish.range(bounds)["std"].to_numpy()
    draws = []
    with bf.testing.replay(7):
        for _ in range(300):
            once = getattr(df.blowfish, verb)("pay", epsilon=1, strategy=strategy, post=False)
            draws.append(once.blowfish.range(bounds)["count"].to_numpy())

    assert (np.std(draws, axis=0) <= 1.15 * said).all()
    assert plan.sensitivity >= 1


def test_what_is_no_release_or_was_changed_is_refused(df):
    """Only whole histograms answer, in the order they were released."""
    cum = df.blowfish.cumhist("pay", epsilon=1)

    with pytest.raises(NotProtectedError):
        ROWS.blowfish.quantile([0.5])
    with pytest.raises(NotReleasedError):
        quantile_again(ROWS, [0.5])
    with pytest.raises(FrameError):
        cum.iloc[:-1].blowfish.range([(0, 1)])
    with pytest.raises(FrameError):
        cum.drop(columns="std").blowfish.range([(0, 1)])
    with pytest.raises(FrameError, match="hist"):
        df.blowfish.range("pay", [(0, 1)], epsilon=1).blowfish.range([(0, 1)])
    with pytest.raises(FrameError, match="order"):
        df.blowfish.hist("sex", epsilon=1).blowfish.quantile([0.5])
    for bounds in ([(0, 0.3)], [(3, 2)], "some", [(0, 99)]):
        with pytest.raises(BlowfishError):
            cum.blowfish.range(bounds)
    with pytest.raises(FrameError, match="shaped"):
        df.blowfish.hist("pay", epsilon=1).blowfish.range([(0, 1)]).blowfish.interval()
    with pytest.raises(ArgumentError, match="earlier release"):
        cum.blowfish.quantile(0.5, strategy="ordered")
    with pytest.raises(ArgumentError, match="earlier release"):
        cum.blowfish.hist(name="again")
    for bins in (0, [1], [3, 2], "many", [0, 0.3]):
        with pytest.raises(BlowfishError):
            cum.blowfish.hist(bins=bins)


def test_lines_leave_the_missing_cell_out(df):
    """A histogram of a nullable column tells about its values."""
    release = df.blowfish.hist("x", epsilon=10**5)

    lines = lines_of(release)

    assert lines.cells.tolist() == list(range(50))
    assert lines.positions[0, -1] == pytest.approx(200)
    assert lines.groups is None


def test_coarser_bins_and_cumulative_counts_of_a_release(df):
    """A release is cut as `hist` would cut it, and summed as `cumhist` would."""
    cum = df.blowfish.cumhist("pay", epsilon=10**5)
    plain = df.blowfish.hist("pay", epsilon=10**5)
    edges = [0, 5, 10, 20]

    coarse = cum.blowfish.hist(bins=edges)

    assert coarse["count"].tolist() == pytest.approx(
        df.blowfish.hist("pay", epsilon=10**5, bins=edges)["count"].tolist()
    )
    assert len(cum.blowfish.hist(bins=4)) == 4
    assert len(cum.blowfish.range("all")) == 41 * 42 // 2
    summed = plain.blowfish.cumhist()
    assert summed["count"].tolist() == pytest.approx(cum["count"].tolist())
    assert summed["cdf"].iloc[-1] == 1


def test_intervals_of_ranges_of_a_shaped_release_cover(df):
    """What shaping moved is allowed for on both sides."""
    bounds, truth = [(0, 3), (2.5, 11)], np.array([33, 94])
    inside = np.zeros(2)

    for _ in range(200):
        found = df.blowfish.cumhist("pay", epsilon="1/2").blowfish.range(bounds).blowfish.interval(0.9)
        inside += (found["low"].to_numpy() <= truth) & (truth <= found["high"].to_numpy())

    assert (inside / 200 > 0.85).all()


def test_reordered_and_relabelled_releases_are_refused(df):
    """Cumulative counts mean nothing in another order."""
    cum = df.blowfish.cumhist("pay", epsilon=1)
    grouped = df.blowfish.groupby("sex").cumhist("pay", epsilon=1)

    for changed in (
        cum.sort_values("count", ascending=False),
        cum.iloc[::-1],
        cum.reset_index(drop=True),
        cum.rename_axis("other"),
        grouped.sort_index(level=1),
        grouped.swaplevel(),
    ):
        with pytest.raises(FrameError):
            changed.blowfish.quantile(0.5)
        with pytest.raises(FrameError):
            changed.blowfish.range([(0, 1)])


def test_bounds_of_a_release_are_checked_as_those_of_a_verb(df):
    """Intervals must be closed as the cells are, and bounds must be bounds."""
    cum = df.blowfish.cumhist("pay", epsilon=1)

    for bounds in (
        pd.IntervalIndex.from_tuples([(0, 5)], closed="right"),
        pd.IntervalIndex([], closed="left"),
        [([1], {})],
    ):
        with pytest.raises(BlowfishError):
            cum.blowfish.range(bounds)
    assert len(cum.blowfish.range([(0, 1)] * 60).blowfish.receipt["derived"]) < 40
