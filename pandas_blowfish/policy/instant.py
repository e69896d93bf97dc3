"""Instants and spans as whole nanoseconds, so that datetime cells have exact edges.

Never sees rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError

NS_PER_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def to_ns(value: object, tz: str | None) -> int:
    """Return an instant as nanoseconds since 1970; a naive one is read in no time zone.

    Examples:
        >>> to_ns("1970-01-01 00:00:01", None)
        1000000000
    """
    if isinstance(value, (bool, int, float)):
        raise ArgumentError(
            "datetime", "a number is not an instant", allowed="a Timestamp, datetime or ISO text"
        )
    try:
        stamp = pd.Timestamp(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise ArgumentError("datetime", f"{value!r} is not an instant") from None
    if stamp is pd.NaT:
        raise ArgumentError("datetime", "missing is not an instant")
    if (stamp.tz is None) != (tz is None):
        kind = "without a time zone" if tz is None else f"in a time zone (the column's is {tz})"
        raise ArgumentError("datetime", f"{value!r} does not match the column", allowed=f"instants {kind}")
    return int(stamp.value) if stamp.unit == "ns" else int(stamp.asm8.view("int64")) * NS_PER_UNIT[stamp.unit]


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


def span_ns(value: object, argument: str) -> Fraction:
    """Return a time span as nanoseconds; anything `pandas.Timedelta` takes, numbers excepted.

    Examples:
        >>> span_ns("1h", "step")
        Fraction(3600000000000, 1)
    """
    if isinstance(value, (bool, int, float)):
        raise ArgumentError(
            argument, "a bare number is not a time span", fix='write "1D", "12h", "15min", ...'
        )
    try:
        span = pd.Timedelta(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise ArgumentError(argument, f"{value!r} is not a time span", fix='write "1D", "12h", ...') from None
    if span is pd.NaT:
        raise ArgumentError(argument, "missing is not a time span")
    return Fraction(int(span.as_unit("ns").value))


def span_text(nanoseconds: Fraction) -> str:
    """Return a span as text that `pandas.Timedelta` reads back exactly."""
    return str(pd.Timedelta(int(nanoseconds), unit="ns").isoformat())
