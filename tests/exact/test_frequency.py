"""Frequencies of pandas as exact instants: where periods begin, in any time zone."""

import pandas as pd
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.frequency import find_begins, frequency_text, shared_step
from pandas_blowfish.exact.instant import constant_ns, from_ns

FREQUENCIES = ["MS", "ME", "W", "W-WED", "QS", "QE", "YS", "YE", "D", "6h", "SMS", "90min", "QS-FEB", "2D"]


@pytest.mark.parametrize("tz", [None, "Europe/Paris", "Australia/Lord_Howe"])
@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_rows_are_grouped_as_pandas_groups_them(frequency, tz):
    """Hours over a year in which clocks change: the same rows are together, the first period may be cut."""
    hours = pd.date_range("2018-09-01", "2019-03-31 23:00", freq="h", tz="UTC").tz_convert(tz)
    hours = hours[3:] if tz is not None else hours
    rows = pd.Series(1, index=hours)
    wanted = rows.groupby(pd.Grouper(freq=frequency)).sum()
    low, high = (constant_ns(end, tz) for end in (hours[0], hours[-1]))

    begins = [low, *find_begins(frequency, low, high, tz)]
    found = pd.cut(hours, [from_ns(each, tz) for each in [*begins, high + 1]], right=False)

    assert [n for n in found.value_counts().sort_index() if n] == wanted[wanted > 0].tolist()


def test_periods_of_several_begin_with_the_one_that_holds_the_first():
    """Two months from a middle of January are what is left of it, and February."""
    low, high = (constant_ns(end, None) for end in ("2026-01-31 12:00", "2026-07-01"))
    months = ["2026-03-01", "2026-05-01", "2026-07-01"]

    for text in ("2MS", "2ME"):
        assert [str(from_ns(each, None).date()) for each in find_begins(text, low, high, None)] == months


def test_a_day_begins_when_clocks_show_it():
    """Where midnight is skipped the day begins at one; the hour that is shown twice is no second day."""
    low, high = (constant_ns(end, "America/Sao_Paulo") for end in ("2018-11-03", "2018-11-05"))
    shown = [
        str(from_ns(each, "America/Sao_Paulo")) for each in find_begins("D", low, high, "America/Sao_Paulo")
    ]

    assert shown == ["2018-11-04 01:00:00-02:00", "2018-11-05 00:00:00-02:00"]


@pytest.mark.parametrize("text", ["M", "H", "soon", "", "-1D", "0D", "2"])
def test_what_is_no_frequency_is_refused(text):
    """Names that pandas has dropped, and what goes backward."""
    with pytest.raises(ArgumentError, match="is not a frequency"):
        find_begins(text, 0, 10**18, None)


def test_too_many_periods_are_refused():
    """Nanoseconds of a year are not listed."""
    with pytest.raises(ArgumentError, match="too many periods"):
        find_begins("ns", 0, 10**18, None)


@pytest.mark.parametrize(
    "offset", [pd.DateOffset(months=1), pd.offsets.CustomBusinessDay(holidays=["2026-01-01"])]
)
def test_offsets_without_a_name_are_refused(offset):
    """A ledger could not state them."""
    with pytest.raises(ArgumentError, match="has no name"):
        frequency_text(offset)


def test_a_step_that_works_is_named():
    """The longest part of the step on which all periods begin."""
    day = 86_400 * 10**9
    assert shared_step(0, 5 * day, [31 * day, 59 * day]) == "1D"
    assert shared_step(0, day, [day - 3_600 * 10**9]) == "1h"
