"""Instants and spans as whole nanoseconds, so that datetime cells have exact edges.

Never sees rows.
"""

from __future__ import annotations

import numbers
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.number import canonical, exact

NS_PER_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY_NS = 86_400 * 10**9
_DATE = re.compile(r"\d{4}(?P<month>-\d{1,2}(?P<day>-\d{1,2})?)?", re.ASCII)
_BARE = re.compile(r"[-+.\s\d]+")  # a span without a unit, which pandas reads as nanoseconds
_CLOCK = ("now", "today")  # pandas reads these as the time of the call, which no declaration means


def to_ns(value: object, tz: str | None) -> int:
    """Return an instant as nanoseconds since 1970; a naive one is read in no time zone.

    Examples:
        >>> to_ns("1970-01-01 00:00:01", None)
        1000000000
    """
    stamp = _stamp(value)
    if (stamp.tz is None) != (tz is None):
        kind = "without a time zone" if tz is None else f"in a time zone (the column's is {tz})"
        raise ArgumentError("datetime", f"{value!r} does not match the column", allowed=f"instants {kind}")
    return int(stamp.value) if stamp.unit == "ns" else int(stamp.asm8.view("int64")) * NS_PER_UNIT[stamp.unit]


def constant_ns(value: object, tz: str | None) -> int:
    """Return an instant that a person wrote: text and dates without a zone are read in the column's own.

    Examples:
        >>> constant_ns("2026-01-01", "Europe/Paris") == to_ns("2025-12-31 23:00+00:00", "Europe/Paris")
        True
    """
    if tz is None or not _is_written(value) or (stamp := _stamp(value)).tz is not None:
        return to_ns(value, tz)
    return to_ns(_localize(stamp, tz), tz)


def date_end(value: object, tz: str | None) -> int | None:
    """Return where the day, month or year ends that a date names, in nanoseconds; None for an instant.

    Text without a time of day and `datetime.date` are dates; a Timestamp is an instant.

    Examples:
        >>> date_end("2026-12-31", None) == date_end("2026-12", None) == to_ns("2027-01-01", None)
        True
        >>> date_end("2026-12-31 00:00", None), date_end(pd.Timestamp("2026-12-31"), None)
        (None, None)
    """
    if not _is_written(value):
        return None
    named = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and named is None:
        return None
    whole = "D" if named is None or named["day"] else "M" if named["month"] else "Y"
    end = _stamp(value).to_period(whole).end_time.floor("D") + pd.Timedelta(days=1)
    return to_ns(end if tz is None else _localize(end, tz), tz)


def _is_written(value: object) -> bool:
    """Tell whether a constant is text or a plain date, and not an instant of some library."""
    return isinstance(value, str) or (isinstance(value, date) and not isinstance(value, datetime))


def _localize(stamp: pd.Timestamp, tz: str) -> pd.Timestamp:
    """Return a clock's reading as an instant of a time zone, refusing what it shows twice or never."""
    found = stamp.tz_localize(tz, ambiguous="NaT", nonexistent="NaT")
    if not isinstance(found, pd.Timestamp):  # NaT
        problem = f"{str(stamp)!r} is shown twice, or never, by clocks in {tz}"
        raise ArgumentError("datetime", problem, fix="write its offset: '... 02:30+01:00'.")
    return found


def zone_of(value: object) -> str | None:
    """Return the time zone an instant is written in, if any.

    Examples:
        >>> zone_of("2026-01-01 00:00+01:00"), zone_of("2026-01-01")
        ('UTC+01:00', None)
    """
    zone = _stamp(value).tz
    return None if zone is None else str(zone)


def check_zone(tz: object) -> None:
    """Refuse a time zone that does not exist."""
    try:
        if tz is not None:
            pd.Timestamp(0, tz=str(tz))
    except (KeyError, ValueError, TypeError, OSError):
        raise ArgumentError(
            "tz", f"{tz!r} is not a time zone", allowed='"UTC", "Europe/Paris", ...'
        ) from None


def from_ns(nanoseconds: int, tz: str | None) -> pd.Timestamp:
    """Return an instant from its nanoseconds."""
    stamp = stamp_index(np.array([nanoseconds], dtype=object), tz)[0]
    assert isinstance(stamp, pd.Timestamp)
    return stamp


def stamp_index(nanoseconds: NDArray[Any], tz: str | None) -> pd.DatetimeIndex:
    """Return instants in the coarsest of microseconds and nanoseconds that holds them exactly."""
    if (nanoseconds % 1000 != 0).any():
        index = pd.DatetimeIndex(nanoseconds.astype("int64").view("datetime64[ns]"))
    else:
        index = pd.DatetimeIndex((nanoseconds // 1000).astype("int64").view("datetime64[us]"))
    return index if tz is None else index.tz_localize("UTC").tz_convert(tz)


def is_span(value: object) -> bool:
    """Return whether an object is a time span of some library (text may be one, but is not known to be)."""
    return hasattr(value, "total_seconds") or isinstance(value, (np.timedelta64, pd.offsets.BaseOffset))


def span_ns(value: object, argument: str) -> Fraction:
    """Return a time span as nanoseconds; anything `pandas.Timedelta` takes, except numbers and "MS".

    Examples:
        >>> span_ns("1h", "step")
        Fraction(3600000000000, 1)
    """
    bare = isinstance(value, (numbers.Number, np.bool_)) and not is_span(value)
    if bare or (isinstance(value, str) and _BARE.fullmatch(value)):
        raise ArgumentError(
            argument, "a bare number is not a time span", fix='write "1D", "12h", "15min", ...'
        )
    if (
        isinstance(value, str) and "MS" in value
    ):  # pandas: month starts as a frequency, a millisecond as a span
        problem = f"{value!r} may be months, which differ in length, or milliseconds"
        raise ArgumentError(
            argument, problem, fix='write "30D" or "1ms"; bins and ranges may end with months.'
        )
    try:
        span: Any = pd.Timedelta(value)  # type: ignore[arg-type]
        if span is not pd.NaT:
            return Fraction(int(span.as_unit("ns").value))
    except (ValueError, TypeError):
        raise ArgumentError(
            argument, f"{value!r} is not a time span", fix='write "1D", "12h", ..., below 292 years'
        ) from None
    raise ArgumentError(argument, "missing is not a time span")


def span_text(nanoseconds: Fraction) -> str:
    """Return a span as text that `pandas.Timedelta` reads back exactly.

    Examples:
        >>> span_text(Fraction(30 * 86_400 * 10**9)), span_text(Fraction(90 * 10**9))
        ('30D', '90s')
    """
    whole = int(nanoseconds)
    units = {"D": DAY_NS, "h": 3_600 * 10**9, "min": 60 * 10**9, **NS_PER_UNIT}
    return next(f"{whole // size}{unit}" for unit, size in units.items() if whole % size == 0)


def distance(value: Any, argument: str = "distance") -> Any:
    """Return a distance as plain data: a time span as text, a number as it was written.

    Examples:
        >>> distance(pd.Timedelta("1h")), distance(0.5), distance("12h")
        ('1h', 0.5, '12h')
    """
    if is_span(value):
        return span_text(span_ns(value, argument))
    if isinstance(value, str):
        return value
    number = exact(value, argument)
    return value if type(value) is float else canonical(number)


def _stamp(value: object) -> pd.Timestamp:
    """Return anything that names one instant as a Timestamp."""
    if isinstance(value, (numbers.Number, np.bool_)):
        raise ArgumentError(
            "datetime", "a number is not an instant", allowed="a Timestamp, datetime or ISO text"
        )
    try:
        if isinstance(value, str) and value.strip().lower() in _CLOCK:
            raise ValueError
        stamp: Any = pd.Timestamp(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise ArgumentError("datetime", f"{value!r} is not an instant") from None
    if stamp is pd.NaT:
        raise ArgumentError("datetime", "missing is not an instant")
    assert isinstance(stamp, pd.Timestamp)
    return stamp
