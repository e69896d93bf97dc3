"""Means, variances and medians of an earlier release: unbiased, free, with intervals that cover."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FrameError, NotProtectedError, NotReleasedError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 29, nullable=True),
        from_dict("pay", {"type": "float", "min": 0, "max": 20, "step": "0.5"}),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("size", {"type": "category", "values": ["S", "M", "L"], "ordered": True}),
        from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"}),
    )
)
SECRETS = {"pay": bf.threshold(1), "day": bf.threshold("3D")}


def _rows(seed, many=400):
    random = np.random.default_rng(seed)
    x = random.binomial(29, random.uniform(0.2, 0.8), many)
    return pd.DataFrame(
        {
            "x": pd.array(x, dtype="Int64"),
            "pay": np.clip(random.gamma(2, 3, many), 0, 20),
            "sex": random.choice(["F", "M"], many),
            "size": random.choice(["S", "M", "L"], many),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 30 * 24, many), unit="h"),
        }
    )


def _protected(rows, **options):
    policy = bf.Policy(DOMAIN, secrets=SECRETS, **options)
    return rows.blowfish.protect(policy, epsilon=10**9, ledger=bf.Ledger())


@pytest.mark.parametrize("verb", ["hist", "cumhist"])
def test_averages_of_a_release_are_those_of_pandas(verb):
    """With next to no noise, in the shape that the verbs have, and nothing is spent."""
    rows = _rows(1)
    df = _protected(rows)
    whole = getattr(df.blowfish, verb)("x", epsilon=10**5)
    grouped = getattr(df.blowfish.groupby("sex"), verb)("x", epsilon=10**5)
    spent = df.blowfish.budget.spent

    for name in ("mean", "var", "std", "median"):
        found = getattr(whole.blowfish, name)()
        by = getattr(grouped.blowfish, name)()

        assert found["value"].item() == pytest.approx(
            getattr(rows["x"], name)(), abs=0.51 * (name == "median") + 1e-6
        )
        assert by["value"].tolist() == pytest.approx(
            getattr(rows.groupby("sex")["x"], name)().tolist(), abs=0.51 * (name == "median") + 1e-6
        )
        assert by.index.names == ["sex"]
        assert list(found.columns) == ["value", "std"]
        assert found.blowfish.receipt["verb"] == name
        assert found.blowfish.receipt["derived"].startswith(name)
        assert found.blowfish.receipt["entry"] == whole.blowfish.receipt["entry"]
    assert whole.blowfish.var(ddof=0)["value"].item() == pytest.approx(rows["x"].var(ddof=0))
    assert df.blowfish.budget.spent == spent
    assert whole.blowfish.mean().index.equals(df.blowfish.mean("x", epsilon=1).index)


def test_instants_have_means_and_spans():
    """Means are instants, deviations time spans; squares of spans are refused."""
    rows = _rows(2)
    release = _protected(rows).blowfish.hist("day", epsilon=10**5)

    mean, spread = release.blowfish.mean(), release.blowfish.std()

    assert abs(mean["value"].item() - rows["day"].mean()) < pd.Timedelta("12h")
    assert abs(spread["value"].item() - rows["day"].std()) < pd.Timedelta("12h")
    for found, truth in ((mean, rows["day"].mean()), (spread, rows["day"].std())):
        ends = found.blowfish.interval()
        assert ends["low"].item() <= truth <= ends["high"].item()
    with pytest.raises(FrameError, match="squares"):
        release.blowfish.var()


@pytest.mark.parametrize(
    ("verb", "strategy"),
    [("hist", "identity"), ("hist", "auto"), ("cumhist", "ordered_hierarchical"), ("cumhist", "tree")],
)
def test_estimates_are_unbiased_and_vary_as_they_state(verb, strategy):
    """Of a public number of rows, unshaped: means and variances, over replayed noise."""
    rows = _rows(3)
    df = _protected(rows)
    found = {"mean": [], "var": []}
    stated = {"mean": [], "var": []}

    for seed in range(60):
        with bf.testing.replay(seed):
            once = getattr(df.blowfish, verb)("pay", epsilon=1, strategy=strategy, post=False)
        for name in found:
            answer = getattr(once.blowfish, name)()
            found[name].append(answer["value"].item())
            stated[name].append(answer["std"].item())

    middles = np.minimum(np.floor(rows["pay"] / 0.5) * 0.5 + 0.25, 20)
    for name in found:
        truth, error = getattr(middles, name)(), np.mean(stated[name])
        assert np.mean(found[name]) == pytest.approx(truth, abs=4 * error / np.sqrt(60))
        assert np.std(found[name]) == pytest.approx(error, rel=0.35)


@pytest.mark.parametrize(
    ("options", "scope", "ask"),
    [
        ({}, {}, {"columns": "pay"}),
        ({}, {"groupby": "sex"}, {"columns": "pay", "bins": [0, 2, 5, 20]}),
        ({}, {"where": "sex == 'F'"}, {"columns": "x"}),
        ({"presence": True}, {"groupby": "sex"}, {"columns": "x"}),
        ({"constraints": [bf.Count("pay < 5")]}, {}, {"columns": "pay"}),
    ],
    ids=["plain", "coarse", "filter", "presence", "facts"],
)
def test_intervals_cover(options, scope, ask):
    """The mean and the deviation of the values themselves, on random tables, whatever is secret."""
    inside = {"mean": [], "std": [], "var": [], "median": []}

    for seed in range(30):
        rows = _rows(seed)
        source = _protected(rows, **options).blowfish
        kept = rows[rows["sex"] == "F"] if "where" in scope else rows
        source = source.where(scope["where"]) if "where" in scope else source
        source = source.groupby("sex") if "groupby" in scope else source
        with bf.testing.replay(seed):
            release = source.hist(**ask, epsilon="1/2")
        own = kept.groupby("sex") if "groupby" in scope else kept.groupby(lambda _: 0)
        for name, seen in inside.items():
            ends = getattr(release.blowfish, name)().blowfish.interval(0.8)
            truth = getattr(own[ask["columns"]], name)().to_numpy(dtype=float)
            seen += ((ends["low"].to_numpy() <= truth) & (truth <= ends["high"].to_numpy())).tolist()

    for name, seen in inside.items():
        assert np.mean(seen) > 0.72, name


def test_bounds_are_stated_where_errors_are_not_known_together():
    """A receipt without covariance gives bounds: never below the exact errors."""
    df = _protected(_rows(4))
    for verb in ("hist", "cumhist"):
        release = getattr(df.blowfish, verb)("pay", epsilon=1)
        plain = release.copy()
        inner = {**release.attrs["blowfish"]["technical"], "covariance": None}
        plain.attrs["blowfish"] = {**release.attrs["blowfish"], "technical": inner}

        for name in ("mean", "std"):
            exact, bound = getattr(release.blowfish, name)(), getattr(plain.blowfish, name)()
            assert bound["std"].item() >= exact["std"].item()
            wide, narrow = (each.blowfish.interval() for each in (bound, exact))
            assert wide["low"].item() <= narrow["low"].item()
            assert wide["high"].item() >= narrow["high"].item()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_saved_averages_keep_their_intervals(tmp_path, ending):
    """A derived answer is saved and loaded as a release is; a loaded release answers as it did."""
    release = _protected(_rows(5)).blowfish.groupby("sex").hist("pay", epsilon=1)
    mean = release.blowfish.mean()
    for number, frame in enumerate((release, mean)):
        bf.save(frame, tmp_path / f"{number}.{ending}")

    back, again = (bf.load(tmp_path / f"{number}.{ending}") for number in range(2))

    pd.testing.assert_frame_equal(back.blowfish.mean(), mean)
    pd.testing.assert_frame_equal(again.blowfish.interval(), mean.blowfish.interval())


def test_what_has_no_average_is_refused():
    """Categories, changed frames, wrong arguments, other roles; a median of ordered categories is one."""
    rows = _rows(6)
    df = _protected(rows)
    release = df.blowfish.hist("pay", epsilon=1)

    assert df.blowfish.hist("size", epsilon=10**5).blowfish.median()["value"].item() in ("S", "M", "L")
    with pytest.raises(FrameError, match="categories have no mean"):
        df.blowfish.hist("size", epsilon=1).blowfish.mean()
    with pytest.raises(FrameError, match="no order"):
        df.blowfish.hist("sex", epsilon=1).blowfish.std()
    with pytest.raises(FrameError):
        release.iloc[:-1].blowfish.mean()
    with pytest.raises(FrameError):
        release.drop(columns="unshaped").blowfish.var()
    for ddof in (2, True, "1"):
        with pytest.raises(ArgumentError, match="ddof"):
            release.blowfish.var(ddof=ddof)
    with pytest.raises(ArgumentError, match="earlier release"):
        release.blowfish.mean(strategy="total")
    with pytest.raises(NotProtectedError):
        release.blowfish.mean("pay", epsilon=1)
    with pytest.raises((NotReleasedError, NotProtectedError)):
        rows.blowfish.median()
    mean = release.blowfish.mean()
    with pytest.raises(FrameError, match="not the values"):
        (mean * 2).blowfish.interval()
