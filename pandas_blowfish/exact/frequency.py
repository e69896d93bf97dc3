"""Where days, weeks, months, ... begin: the frequencies of pandas as exact instants. Never sees rows."""

from __future__ import annotations

import math
import warnings
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.instant import from_ns, span_ns, span_text, to_ns

MAX_PERIODS = 10**6
ALLOWED = '"h", "D", "W", "MS", "QS", "YS", "15min", ...'
ENDS = ("ME", "QE", "YE", "BME", "BQE", "BYE", "W")  # named by their last day: the next one begins after it


def frequency_text(value: Any, argument: str = "bins") -> str | None:
    """Return a frequency, an offset or a time span as text that pandas reads back; None for anything else.

    Examples:
        >>> [frequency_text(each) for each in (pd.offsets.MonthBegin(), pd.Timedelta("90min"), [1])]
        ['MS', '90min', None]
    """
    if isinstance(value, pd.offsets.BaseOffset):
        try:
            if _offset(value.freqstr, argument) == value:
                return str(value.freqstr)
        except ArgumentError:
            pass
        fix = "give the edges: pd.date_range(first, last, freq=...)."
        raise ArgumentError(argument, "an offset that has no name", allowed=ALLOWED, fix=fix)
    if isinstance(value, (timedelta, np.timedelta64)):
        return span_text(span_ns(value, argument))
    return value if isinstance(value, str) else None


def find_begins(text: str, low: int, high: int, tz: str | None, argument: str = "bins") -> list[int]:
    """Return the instants after `low` and up to `high` at which a period of a frequency begins.

    Days and longer periods begin when clocks first show them, in the column's time zone; hours and shorter
    ones are counted from the midnight before `low`. Those of several (two weeks) begin with the period that
    holds `low`.

    Args:
        text: A frequency of pandas.
        low: The first instant, in nanoseconds.
        high: The last.
        tz: The time zone.
        argument: What errors name.

    Examples:
        >>> first, last = to_ns("2026-01-15", None), to_ns("2026-03-10", None)
        >>> [str(from_ns(each, None).date()) for each in find_begins("MS", first, last, None)]
        ['2026-02-01', '2026-03-01']
    """
    offset = _offset(text, argument)
    start = from_ns(low, tz).tz_localize(None).normalize().as_unit("us")
    if isinstance(offset, pd.offsets.Tick) and not isinstance(offset, pd.offsets.Day):
        begin, step = _instants(pd.DatetimeIndex([start]), tz)[0], int(span_ns(offset, argument))
        if (high - low) // step > MAX_PERIODS:
            raise ArgumentError(argument, f"{text!r} has too many periods", allowed=f"{MAX_PERIODS:,}")
        first = begin + ((low - begin) // step + 1) * step
        return list(range(first, high + 1, step))
    past = offset.rule_code.split("-")[0] in ENDS
    try:
        anchor = offset.rollback(start - pd.Timedelta(days=1) if past else start)
        stop = from_ns(high, tz).tz_localize(None).as_unit("us") + pd.Timedelta(days=1)
        named = pd.date_range(anchor, stop, freq=offset, unit="us")
    except (ValueError, OverflowError, TypeError):
        raise ArgumentError(argument, f"{text!r} cannot be followed so far", allowed=ALLOWED) from None
    found = _instants(named + pd.Timedelta(days=1) if past else named, tz)
    return sorted({each for each in found if low < each <= high})


def shared_step(low: int, step: int, begins: list[int]) -> str:
    """Return the longest step, a part of the present one, whose cells from `low` begin at all instants.

    Examples:
        >>> day = 86_400 * 10**9
        >>> shared_step(0, 7 * day, [31 * day, 59 * day])
        '1D'
    """
    return span_text(Fraction(math.gcd(step, *(each - low for each in begins))))


def _offset(text: str, argument: str) -> Any:
    """Return a frequency of pandas, or raise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of names that pandas will drop
            offset: Any = pd.tseries.frequencies.to_offset(text)
    except (ValueError, TypeError, Warning):
        offset = None
    if offset is None or offset.n < 1:
        raise ArgumentError(argument, f"{text!r} is not a frequency", allowed=ALLOWED)
    return offset


def _instants(clock: pd.DatetimeIndex, tz: str | None) -> list[int]:
    """Return when clocks of a time zone first show some times, or go past them."""
    if tz is not None:
        first = np.ones(len(clock), dtype=bool)
        clock = clock.tz_localize(tz, ambiguous=first, nonexistent="shift_forward")
    return [to_ns(each, tz) for each in clock]
