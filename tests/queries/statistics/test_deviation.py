"""var, std, cov, corr, end to end: frames, receipts, files, names and errors."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        from_dict("score", {"type": "float", "min": 0, "max": 10, "step": "0.1", "nullable": True}),
        from_dict("day", {"type": "datetime", "min": "2024-01-01", "max": "2024-12-31", "step": "1h"}),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(5), "day": bf.threshold("2D")})
VERBS = ("var", "std", "cov", "corr")


@pytest.fixture(scope="module")
def rows():
    """Return 3,000 made-up visits."""
    draw, n = np.random.default_rng(2), 3_000
    age = draw.integers(20, 70, n)
    return pd.DataFrame(
        {
            "age": age,
            "score": np.where(draw.random(n) < 0.9, np.clip(age / 10 + draw.normal(0, 1, n), 0, 10), np.nan),
            "day": pd.Timestamp("2024-02-01") + pd.to_timedelta(draw.integers(0, 7_200, n), unit="h"),
            "sex": draw.choice(["F", "M"], n),
        }
    )


@pytest.fixture
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(POLICY, epsilon=100_000)


@pytest.mark.parametrize("verb", VERBS)
def test_large_epsilon_is_near_pandas(df, rows, verb):
    """By column, or by both columns, as pandas computes it."""
    release = getattr(df.blowfish, verb)(["age", "score"], epsilon=1_000)
    wanted = getattr(rows[["age", "score"]], verb)()

    assert np.allclose(release["value"], wanted, rtol=0.01)
    assert list(release.index.names) == ["column"]
    assert list(release.columns.names) == ([None] if verb in ("var", "std") else [None, "other"])
    ends = release.blowfish.interval()
    assert ((ends["low"] <= wanted.to_numpy()) & (wanted.to_numpy() <= ends["high"])).all(axis=None)


def test_groups_filters_and_ddof(df, rows):
    """Groups outermost, rows left out as in pandas."""
    release = df.blowfish.where("age >= 40").groupby("sex").std("age", epsilon=1_000, ddof=0)
    wanted = rows[rows.age >= 40].groupby("sex")["age"].std(ddof=0)

    assert np.allclose(release["value"], wanted, rtol=0.02)
    assert list(release.index) == ["F", "M"]


def test_instants_deviate_by_a_length_of_time(df, rows):
    """A Timedelta, with an interval of such."""
    release = df.blowfish.std("day", epsilon=100)
    ends = release.blowfish.interval()

    assert release["value"].dtype.kind == "m"
    assert abs(release["value"].iloc[0] - rows["day"].std()) < pd.Timedelta("2h")
    assert ends["low"].iloc[0] <= rows["day"].std() <= ends["high"].iloc[0]


def test_groups_that_no_row_can_be_in_are_missing(df):
    """A filter that leaves a group empty."""
    release = df.blowfish.where("sex == 'F'").groupby("sex").var("age", epsilon=10)

    assert release["value"].isna().tolist() == [False, True]
    assert release.blowfish.interval()["low"].isna().tolist() == [False, True]


def test_receipts_are_plain_data_and_edited_values_are_refused(df):
    """JSON; a value that is not what the totals say has no interval."""
    release = df.blowfish.cov(["age", "score"], epsilon=1)
    json.dumps(release.attrs["blowfish"])

    edited = release.copy()
    edited["value"] = edited["value"] + 1.0
    with pytest.raises(errors.FrameError):
        edited.blowfish.interval()
    part = df.blowfish.var(["age", "score"], epsilon=1).iloc[[1]]
    assert len(part.blowfish.interval()) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_files_and_names(df, verb, tmp_path):
    """Saved and loaded they have their intervals; under a name they are free."""
    first = getattr(df.blowfish, verb)(["age", "score"], epsilon=1, name=f"kept {verb}")
    again = getattr(df.blowfish, verb)(["age", "score"], epsilon=1, name=f"kept {verb}")
    bf.save(first, tmp_path / "release.parquet")
    loaded = bf.load(tmp_path / "release.parquet")

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(loaded.blowfish.interval(), first.blowfish.interval())
    kept = df.blowfish.ledger.answer(first.attrs["blowfish"]["dataset"], f"kept {verb}")
    assert np.allclose(kept["value"], first["value"], equal_nan=True)


@pytest.mark.parametrize("verb", VERBS)
def test_calls_are_read_back_and_plots_drawn(df, verb):
    """What a plan prints can be asked; a release can be looked at."""
    from pandas_blowfish.queries.call.call_reader import parse_call

    plan = getattr(POLICY.plan.groupby("sex"), verb)(["age", "score"], epsilon="1/3")
    release = getattr(df.blowfish, verb)(["age", "score"], epsilon=1)

    assert parse_call(plan.call).on(POLICY.plan).scales == plan.scales
    assert release.blowfish.plot() is not None


def test_two_columns_and_their_order(df):
    """Both ways round the same number; the diagonal of a correlation is 1."""
    release = df.blowfish.corr(["age", "score"], epsilon=5)["value"]

    assert release.loc["age", "score"] == release.loc["score", "age"]
    assert np.diag(release).tolist() == [1, 1]
