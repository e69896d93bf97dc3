"""Instants are whole numbers of units since 1970 on every engine, and small tables are fetched whole."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count.readers.dialect import INFINITE, STAMPS, fetched, kept_as
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals")

ENGINES = ("polars", "duckdb")
MOMENTS = [dt.datetime(2020, 1, 1, 5), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(1900, 3, 1)]
FREE = from_dict("x", {"type": "datetime", "nullable": True})
NUMBER = integers("row", 0, 9, nullable=True)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("engine", ENGINES)
def test_instants_are_units_since_1970(engine, unit, zone, scan):
    """Before and after 1970, in a time zone too, in the unit that the storage says."""
    if (engine, unit, zone) == ("duckdb", "ns", "Europe/Berlin"):
        pytest.skip("DuckDB has no nanoseconds in a time zone that narwhals knows")
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    whole = [int((each - dt.datetime(1970, 1, 1)).total_seconds()) * per + (per > 1) for each in MOMENTS]
    array = pa.array(whole, pa.int64()).cast(pa.timestamp(unit, tz=zone))
    table = scan(engine, pa.table({"x": array, "row": [0, 1, 2]}))
    kept = table.storage("x")

    found = fetched(table.engine, table.steps([FREE, NUMBER], clip=False).frame.select("row", STAMPS + "x"))

    order = np.argsort(np.asarray(found["row"]))
    stamps = np.asarray(found[STAMPS + "x"]).astype(np.int64)[order]
    nanoseconds = [int(each) * NS_PER_UNIT[kept.unit] for each in stamps]
    assert nanoseconds == [each * NS_PER_UNIT[unit] for each in whole]
    assert kept.zone == (zone is not None)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_dates_are_midnights(engine, scan):
    """A date is its first instant."""
    table = scan(engine, pa.table({"x": pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31)], pa.date32())}))
    found = fetched(engine, table.steps([FREE], clip=False).frame.select(STAMPS + "x"))

    assert sorted(np.asarray(found[STAMPS + "x"]).tolist()) == [-86400 * 10**6, 86400 * 10**6]


def test_infinite_instants_of_duckdb_are_beyond_all():
    """They neither raise nor wrap."""
    duckdb = pytest.importorskip("duckdb")
    from pandas_blowfish.count.readers.tables import opened

    table = opened(duckdb.sql("select 'infinity'::timestamp as x union all select '-infinity'::timestamp"))
    found = fetched("duckdb", table.steps([FREE], clip=False).frame.select(STAMPS + "x"))

    assert all(abs(each) >= INFINITE for each in np.asarray(found[STAMPS + "x"]).tolist())


def test_units_are_those_that_engines_count_in():
    """DuckDB and Spark count microseconds but for nanoseconds; others what is stored, seconds finer."""
    assert kept_as("duckdb", "x", nw.Datetime("s")).unit == "us"
    assert kept_as("duckdb", "x", nw.Datetime("ns")).unit == "ns"
    assert kept_as("pyspark", "x", nw.Datetime("us", "UTC")).unit == "us"
    assert kept_as("polars", "x", nw.Datetime("ms")).unit == "ms"
    assert kept_as("polars", "x", nw.Int64()).unit == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_fetched_tables_have_every_value(engine, scan):
    """Numbers, text, truth and nulls, by column."""
    table = scan(engine, pa.table({"n": [1, 2], "t": ["x", None], "b": [True, None]}))
    read = [integers("n", 0, 9, nullable=True), from_dict("t", {"type": "category", "values": ["x"]})]
    frame = table.steps([*read, from_dict("b", {"type": "bool"})], clip=False).frame
    found = fetched(table.engine, frame.select("n", "t", "b"))
    rows = {int(n): (t, b) for n, t, b in zip(found["n"], found["t"], found["b"], strict=True)}

    assert rows[1] == ("x", True)
    assert all(pd.isna(each) for each in rows[2])
