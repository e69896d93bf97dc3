"""Instants and spans are whole nanoseconds, whatever they were written in."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.instant import (
    check_zone,
    distance,
    from_ns,
    is_span,
    span_ns,
    span_text,
    stamp_index,
    to_ns,
    zone_of,
)


@pytest.mark.parametrize(
    "value",
    [
        "1970-01-01 00:00:01",
        pd.Timestamp("1970-01-01 00:00:01"),
        pd.Timestamp("1970-01-01 00:00:01").as_unit("s"),
        pd.Timestamp("1970-01-01 00:00:01").as_unit("ns"),
        dt.datetime(1970, 1, 1, 0, 0, 1),
        np.datetime64("1970-01-01T00:00:01", "ms"),
    ],
)
def test_one_second_is_a_billion_nanoseconds(value):
    """Every way of writing an instant gives the same integer."""
    assert to_ns(value, None) == 10**9


def test_instants_with_a_zone_are_instants():
    """The same moment in two zones is one number, and a date is its midnight."""
    paris = to_ns("2020-07-01 02:00+02:00", "Europe/Paris")

    assert paris == to_ns(pd.Timestamp("2020-07-01", tz="UTC"), "UTC")
    assert to_ns(dt.date(1970, 1, 2), None) == 86_400 * 10**9


@pytest.mark.parametrize(
    "value",
    [True, 5, 5.0, np.int64(5), np.bool_(1), Decimal(5), "soon", "now", " Today ", None, pd.NaT, [], ""],
)
def test_what_is_not_an_instant_is_refused(value):
    """Numbers, nonsense and the clock are no declared instants."""
    with pytest.raises(ArgumentError):
        to_ns(value, None)


@pytest.mark.parametrize(("value", "tz"), [("2020-01-01", "UTC"), ("2020-01-01T00:00Z", None)])
def test_naive_and_aware_do_not_mix(value, tz):
    """An instant must have a zone exactly when its column has one."""
    with pytest.raises(ArgumentError, match="does not match the column"):
        to_ns(value, tz)


@pytest.mark.parametrize("ns", [0, 1, -1, 999, 1_577_836_800_000_000_000, -(2**62) + 1])
@pytest.mark.parametrize("tz", [None, "Europe/Paris", "UTC+05:30"])
def test_from_ns_round_trips(ns, tz):
    """Nanoseconds become the instant that has them."""
    stamp = from_ns(ns, tz)

    assert to_ns(stamp, tz) == ns
    assert (None if stamp.tz is None else str(stamp.tz)) == tz


def test_stamp_index_is_as_coarse_as_it_can_be():
    """Microseconds where they hold the instants, nanoseconds elsewhere."""
    assert stamp_index(np.array([0, 1000]), None).unit == "us"
    assert stamp_index(np.array([0, 1001]), None).unit == "ns"


def test_zones():
    """A zone is read from an instant, and one that does not exist is refused."""
    check_zone("Europe/Paris")
    check_zone(None)

    assert zone_of("2026-01-01") is None
    assert zone_of(pd.Timestamp("2026-01-01", tz="Europe/Paris")) == "Europe/Paris"
    with pytest.raises(ArgumentError):
        check_zone("Mars/Phobos")


@pytest.mark.parametrize(
    "value",
    [
        "1h",
        "60min",
        pd.Timedelta("1h"),
        dt.timedelta(hours=1),
        np.timedelta64(60, "m"),
        pd.offsets.Hour(1),
        "PT1H",
    ],
)
def test_spans_of_every_library(value):
    """Anything pandas.Timedelta takes is an exact number of nanoseconds."""
    assert span_ns(value, "step") == Fraction(3600 * 10**9)


@pytest.mark.parametrize("value", [5, 5.0, True, np.int64(5), Fraction(1), "x", None, pd.NaT, "200000D", []])
def test_what_is_not_a_span_is_refused(value):
    """Bare numbers, nonsense and spans beyond 64 bits are typed errors."""
    with pytest.raises(ArgumentError):
        span_ns(value, "step")


@pytest.mark.parametrize("value", ["7", " 7.5", "1MS", "3 MS"])
def test_text_that_pandas_would_read_as_a_tiny_span_is_refused(value):
    """A theta of "7" would be 7 nanoseconds, one of "1MS" (month starts elsewhere) a millisecond."""
    with pytest.raises(ArgumentError, match=r"bare number|months"):
        span_ns(value, "theta")


@pytest.mark.parametrize("ns", [1, 999, 10**9, 3600 * 10**9, 86_400 * 10**9 * 400, 123_456_789_012_345])
def test_span_text_reads_back(ns):
    """A span written as text is the same span."""
    assert span_ns(span_text(Fraction(ns)), "step") == ns


def test_distance_is_plain_data():
    """A span is ISO text, a number stays as written, text stays text."""
    spans = [pd.Timedelta("1h"), dt.timedelta(hours=1), np.timedelta64(1, "h"), pd.offsets.Hour(1)]

    assert {distance(span) for span in spans} == {"1h"}
    assert [distance(v) for v in (5, 0.5, "5", Fraction(1, 3), Decimal("0.5"))] == [5, 0.5, "5", "1/3", "0.5"]
    assert all(is_span(span) for span in spans)
    with pytest.raises(ArgumentError):
        distance(float("nan"))
