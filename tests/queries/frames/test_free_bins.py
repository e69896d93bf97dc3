"""Bins that are asked of a release are read as those of rows are: intervals, open ends, frequencies."""

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError

SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 29), metadata=bf.threshold(2)),
        "pay": pa.Column(float, pa.Check.in_range(0, 40), metadata=bf.threshold(2, step=1)),
        "day": pa.Column(
            "datetime64[ns]",
            pa.Check.in_range(pd.Timestamp("2024-01-10"), pd.Timestamp("2024-04-20")),
            metadata=bf.threshold("7D", step="1D"),
        ),
    }
)


@pytest.fixture(scope="module")
def df():
    """Return protected rows."""
    draw, n = np.random.default_rng(1), 400
    rows = pd.DataFrame(
        {
            "age": draw.integers(0, 30, n),
            "pay": draw.random(n) * 40,
            "day": pd.Timestamp("2024-01-10") + pd.to_timedelta(draw.integers(0, 100, n), unit="D"),
        }
    )
    return rows.blowfish.protect(bf.Policy(SCHEMA), epsilon=10**7)


@pytest.mark.parametrize(
    ("column", "bins"),
    [
        ("age", [None, 10, 20, None]),
        ("age", [-np.inf, 10, np.inf]),
        ("age", pd.IntervalIndex.from_tuples([(0, 4), (10, 29)], closed="both")),
        ("pay", [None, 10, 40]),
        ("pay", pd.IntervalIndex.from_breaks([0, 10, 20], closed="left")),
        ("day", "MS"),
        ("day", "W"),
        ("day", pd.Timedelta(days=7)),
        ("day", ["2024-01-10", "2024-02-01", None]),
    ],
    ids=str,
)
def test_bins_of_a_release_are_those_of_rows(df, column, bins):
    """The same bins, with nearly the same counts."""
    release = df.blowfish.hist(column, epsilon=10**5)
    asked = df.blowfish.hist(column, bins=bins, epsilon=10**5)

    free = release.blowfish.hist(bins=bins)

    assert free.index.tolist() == asked.index.tolist()
    assert free["count"].to_numpy() == pytest.approx(asked["count"].to_numpy(), abs=0.01)


@pytest.mark.parametrize(
    "bins",
    [
        [0, 20, 10],
        pd.IntervalIndex.from_tuples([(0, 9), (5, 29)], closed="both"),
        pd.IntervalIndex.from_breaks([0, 10], closed="left"),
        "MS",
        {},
        [],
        31,
    ],
    ids=str,
)
def test_what_is_no_bins_of_a_release(df, bins):
    """Edges that fall, intervals that overlap or are closed otherwise, frequencies of numbers."""
    release = df.blowfish.hist("age", epsilon=1)

    with pytest.raises(BlowfishError):
        release.blowfish.hist(bins=bins)


def test_periods_off_the_cells_are_refused(df):
    """Hours of released days are not known."""
    release = df.blowfish.hist("day", epsilon=1)

    with pytest.raises((ArgumentError, BlowfishError)):
        release.blowfish.hist(bins="h")
