"""An earlier release answers more questions, free, and says how wrong they may be."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    BlowfishError,
    FrameError,
    NotProtectedError,
    NotReleasedError,
    ReceiptError,
)
from pandas_blowfish.plan.linear.atom_rows import pack_rows
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
OF_ROWS = {"of": "rows", "scales": ["1"], "sizes": [[40, 1]], "exact": [[-2, 1]]}
OTHERS = pack_rows(csr_array(np.eye(3, dtype=np.int64)))  # query rows over another line
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
    assert found["count"].groupby(level="sex", observed=True).sum().tolist() == pytest.approx([104, 104])
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
    with pytest.raises(FrameError, match="unshaped"):
        df.blowfish.hist("pay", epsilon=1).drop(columns="unshaped").blowfish.range([(0, 1)])
    with pytest.raises(FrameError, match="unshaped"):
        df.blowfish.hist("pay", epsilon=1).drop(columns="unshaped").blowfish.interval()
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
    bounds, truth = [(0, 3), (2.5, 11)], np.array([33, 85])
    inside = np.zeros(2)

    for seed in range(200):
        with bf.testing.replay(seed):
            release = df.blowfish.cumhist("pay", epsilon="1/2")
        found = release.blowfish.range(bounds).blowfish.interval(0.9)
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


DELAYS = np.clip(np.rint(np.random.default_rng(3).gamma(0.6, 25, 60_000) - 12), -60, 1_440).astype(int)
EDGES = [-60, 0, 600, 1_440]


def _delays():
    """Return protected delays of 1,501 cells, nearly all rows in the first hundred."""
    policy = bf.Policy(Domain((integers("delay", -60, 1_440),)), secrets={"delay": bf.full()})
    return pd.DataFrame({"delay": DELAYS}).blowfish.protect(policy, epsilon=10**6, ledger=bf.Ledger())


def test_an_empty_tail_and_a_mean_are_not_invented():
    """Coarse bins, means and quantiles of many cells are unbiased, with the errors that they state."""
    df, truth = _delays(), np.histogram(DELAYS, EDGES)[0]
    bins, stds, inside, means, tops = [], [], [], [], []

    for seed in range(40):
        with bf.testing.replay(seed):
            hist = df.blowfish.hist("delay", epsilon=0.1)
        coarse = hist.blowfish.hist(bins=EDGES)
        bounds = coarse.blowfish.interval(0.95)
        bins.append(coarse["unshaped"].to_numpy())
        stds.append(coarse["std"].to_numpy())
        inside.append((bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy()))
        means.append((hist.index.to_numpy() * hist["unshaped"]).sum() / len(DELAYS))
        tops.append(hist.blowfish.quantile(0.99)["value"].item())
        assert (coarse["count"] >= 0).all()

    assert np.ptp(stds, axis=0) == pytest.approx(0)
    assert (np.abs(np.mean(bins, axis=0) - truth) < 4 * stds[0] / np.sqrt(40)).all()
    assert np.std(bins, axis=0, ddof=1) == pytest.approx(stds[0], rel=0.45)
    assert np.mean(inside, axis=0).min() >= 0.85
    assert np.mean(means) == pytest.approx(DELAYS.mean(), abs=4 * np.std(means) / np.sqrt(40))
    assert np.median(tops) == pytest.approx(np.quantile(DELAYS, 0.99), abs=25)


@pytest.mark.parametrize(
    ("options", "scope", "column"),
    [
        ({}, {}, "pay"),
        ({}, {"groupby": "sex"}, "pay"),
        ({}, {"where": "sex == 'F'"}, "pay"),
        ({}, {}, "x"),
        ({"constraints": [bf.Count("pay < 5", answer=55), bf.Count("pay < 9 and sex == 'F'")]}, {}, "pay"),
        ({"presence": True}, {"groupby": "sex"}, "x"),
    ],
    ids=["plain", "groups", "filter", "missing", "facts", "presence"],
)
@pytest.mark.parametrize("verb", ["hist", "cumhist"])
def test_intervals_of_derived_answers_cover(verb, options, scope, column):
    """Ranges, bins and cumulative counts of shaped releases, whatever else is known or left out."""
    policy = bf.Policy(POLICY.domain, secrets=POLICY.secrets, **options)
    rows = ROWS.blowfish.protect(policy, epsilon=10**9, ledger=bf.Ledger())
    source, kept = rows.blowfish, ROWS
    if "where" in scope:
        source, kept = source.where(scope["where"]), ROWS[ROWS["sex"] == "F"]
    source = source.groupby("sex") if "groupby" in scope else source
    bounds = {"pay": [(0, 5), (2, 11), (12, 20)], "x": [(0, 9), (5, 30), (None, 49)]}[column]
    groups = [part for _, part in kept.groupby("sex")] if "groupby" in scope else [kept]
    truth = np.concatenate([_counted(part[column], bounds) for part in groups])
    inside, off = [], []

    for seed in range(60):
        with bf.testing.replay(seed):
            release = getattr(source, verb)(column, epsilon="1/4")
        found = release.blowfish.range(bounds)
        ends = found.blowfish.interval(0.9)
        inside.append((ends["low"].to_numpy() <= truth) & (truth <= ends["high"].to_numpy()))
        off.append((found["unshaped"].to_numpy() - truth) / np.maximum(found["std"].to_numpy(), 1e-9))

    assert np.mean(inside) > 0.88
    assert np.mean(inside, axis=0).min() > 0.78
    assert np.abs(np.mean(off, axis=0)).max() < 0.55


def _counted(values, bounds):
    """Return the true counts of ranges: half open of floats, closed of whole numbers."""
    values = values.dropna().astype(float)
    closed = 0 if values.mod(1).any() else 1
    ends = [(-1 if low is None else low, high + closed) for low, high in bounds]
    return [int(((values >= low) & (values < high)).sum()) for low, high in ends]


@pytest.mark.parametrize("verb", ["hist", "cumhist"])
def test_derived_answers_are_asked_again(df, verb):
    """Bins of bins, and cumulative counts of bins, have the errors of the cells that they are sums of."""
    release = getattr(df.blowfish.groupby("sex"), verb)("pay", epsilon=1)
    coarse = release.blowfish.hist(bins=[0, 5, 10, 15, 20])

    twice = coarse.blowfish.hist(bins=[0, 10, 20])
    summed = coarse.blowfish.cumhist()

    once = release.blowfish.hist(bins=[0, 10, 20])
    pd.testing.assert_frame_equal(twice[["std", "unshaped"]], once[["std", "unshaped"]])
    last = release.blowfish.cumhist()["unshaped"].to_numpy().reshape(2, -1)[:, [9, 19, 29, 40]]
    assert summed["unshaped"].to_numpy() == pytest.approx(last.ravel())
    assert list(summed.columns) == ["count", "std", "cdf", "unshaped"]
    assert (summed["count"].groupby(level=0, observed=True).diff().fillna(0) >= 0).all()


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
@pytest.mark.parametrize("verb", ["hist", "cumhist"])
def test_saved_releases_answer_as_the_release_does(df, verb, ending, tmp_path):
    """Files hold the unshaped counts and what errors of sums are computed from."""
    release = getattr(df.blowfish, verb)("x", epsilon=1)
    written = bf.save(release, tmp_path / f"x.{ending}")

    back = _read_back(written, release.index)

    bounds = [(0, 9), (5, 30)]
    for ask in (lambda frame: frame.blowfish.range(bounds), lambda frame: frame.blowfish.interval()):
        assert ask(back).to_numpy() == pytest.approx(ask(release).to_numpy(), abs=1e-9)
    assert back.blowfish.range(bounds)["unshaped"].tolist() == pytest.approx(
        [release["unshaped"].iloc[:10].sum(), release["unshaped"].iloc[5:31].sum()]
        if verb == "hist"
        else [release["unshaped"].iloc[9], release["unshaped"].iloc[30] - release["unshaped"].iloc[4]]
    )


FRACTIONS = ("scale", "epsilon", "sensitivity", "spent", "remaining", "smallest_scale")


def _read_back(written, index):
    """Return a saved release; files other than Parquet keep the receipt apart, and labels as text."""
    if written[0].suffix == ".parquet":
        return pd.read_parquet(written[0])
    if written[0].suffix == ".csv":
        frame, receipt = pd.read_csv(written[0]), json.loads(written[1].read_text(encoding="utf-8"))
    else:
        frame = pd.read_excel(written[0], sheet_name="release")
        cells = pd.read_excel(written[0], sheet_name="receipt", dtype=str, keep_default_na=False)
        receipt = {"technical": {}}
        for key, text in zip(cells["receipt"], cells["value"], strict=True):
            part, name = (receipt["technical"], key[10:]) if key.startswith("technical.") else (receipt, key)
            try:
                value = json.loads(text)
            except ValueError:
                value = text
            part[name] = text if name in FRACTIONS else value
    frame = frame.drop(columns="x").set_index(index)
    frame.attrs["blowfish"] = receipt
    return frame


def test_releases_of_earlier_versions_answer_as_they_did(df):
    """Without unshaped counts intervals allow for the shift, and sums of shaped counts have none."""
    new = df.blowfish.hist("pay", epsilon=1)
    old = new.drop(columns="unshaped")
    record = {**new.attrs["blowfish"]}
    inner = {
        key: value for key, value in record["technical"].items() if key not in ("noise_terms", "covariance")
    }
    old.attrs["blowfish"] = {**record, "technical": {**inner, "lowest_shift": 2.0, "highest_shift": 2.0}}

    found = old.blowfish.range([(0, 5)])

    assert found["count"].item() == pytest.approx(old["count"].iloc[:10].sum())
    assert list(found.columns) == ["count", "std"]
    with pytest.raises(FrameError, match="shaped one by one"):
        found.blowfish.interval()
    width = old.blowfish.interval()["high"] - old["count"]
    assert width.iloc[0] > 2
    assert len(old.blowfish.quantile(0.5)) == 1


@pytest.mark.parametrize(
    "edit",
    [
        {"covariance": {"of": "cells", "scales": ["1"], "exact": [[-1, 10**14]]}},
        {"covariance": {"of": "cells", "scales": ["1"], "exact": [[-1, 3]]}},
        {"covariance": {"of": "cells", "scales": ["1"], "exact": [[10**18, 41]]}},
        {"covariance": {"of": "cells", "scales": ["1"], "exact": [[10**9, 41]]}},
        {"covariance": {"of": "cells", "scales": ["1"]}},
        {"covariance": {"of": "runs", "scales": ["1"], "sizes": [[41, 1]], "exact": [[-1, 1]]}},
        {
            "covariance": {
                "of": "rows",
                "scales": ["1"],
                "sizes": [[40, 1]],
                "exact": [[-2, 1]],
                "rows": OTHERS,
            }
        },
        {"covariance": {**OF_ROWS, "rows": OTHERS}},
        {"covariance": {**OF_ROWS, "rows": 3}},
        {"covariance": {"of": "other", "scales": []}},
        {"covariance": {"of": "tree", "scales": ["1e9"]}},
        {"covariance": 3},
        {"noise_terms": 3},
    ],
)
def test_edited_errors_are_refused(df, edit):
    """Whatever a receipt states of errors, reading it ends with an error that has a name."""
    release = df.blowfish.hist("pay", epsilon=1)
    record = release.attrs["blowfish"]
    release.attrs["blowfish"] = {**record, "technical": {**record["technical"], **edit}}

    with pytest.raises(ReceiptError):
        release.blowfish.range([(0, 5)])


@pytest.mark.parametrize(
    "edit", [{"declared_ends": 3}, {"declared_ends": ["x", [1]]}, {"smallest_scale": None}]
)
def test_edited_ends_are_refused(df, edit):
    """Quantiles read more of a receipt: what it lacks or states otherwise is named."""
    release = df.blowfish.cumhist("pay", epsilon=1)
    record = release.attrs["blowfish"]
    release.attrs["blowfish"] = {**record, "technical": {**record["technical"], **edit}}

    with pytest.raises(ReceiptError):
        release.blowfish.quantile(0.5)


@pytest.mark.parametrize(
    ("column", "value"),
    [("count", np.inf), ("count", np.nan), ("unshaped", -1e300), ("std", -1.0), ("std", np.inf)],
)
def test_edited_counts_are_refused(df, column, value):
    """Numbers that no release holds are not computed with."""
    release = df.blowfish.cumhist("pay", epsilon=1).assign(**{column: value})

    with pytest.raises((FrameError, ReceiptError)):
        release.blowfish.cumhist()
