"""DuckDB relations are recognised, and read in a stream, with only the columns asked for."""

import datetime as dt

import pandas as pd
import pytest

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import OUTSIDE
from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.duckdb import DuckdbBatches, read_duckdb
from pandas_blowfish.errors import FrameError
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
ROWS = "SELECT * FROM (VALUES (1, 'x', 4), (2, 'y', 3), (2, NULL, 2), (NULL, 'x', 1)) t(a, b, u)"


def test_relations_are_recognised():
    """By class; nothing else."""
    assert isinstance(read_duckdb(duckdb.sql(ROWS)), DuckdbBatches)
    for thing in (None, duckdb.connect(), pd.DataFrame({"a": [1]}), duckdb.ColumnExpression("a")):
        assert read_duckdb(thing) is None


@pytest.mark.parametrize("rows", [1, 3, 1 << 20])
def test_rows_are_read_in_batches(rows, monkeypatch):
    """Of any size, with the columns asked for alone."""
    monkeypatch.setattr(batches, "ROWS", rows)
    table = read_duckdb(duckdb.sql(ROWS))

    frames = list(table.frames(["u", "b"]))

    assert all(list(frame.columns) == ["u", "b"] for frame in frames)
    assert sorted(each for frame in frames for each in frame["u"]) == [1, 2, 3, 4]
    assert (table.rows, table.columns) == (4, ["a", "b", "u"])


def test_units_are_found_once_each():
    """Repeats, nulls and NaN are seen."""
    table = read_duckdb(duckdb.sql(ROWS))

    assert table.is_unique("u")
    assert not table.is_unique("a")
    assert not table.is_unique("b")
    assert not read_duckdb(duckdb.sql("SELECT unnest([1.0, 'nan'::DOUBLE]) AS t")).is_unique("t")
    assert read_duckdb(duckdb.sql(f"{ROWS} LIMIT 0")).is_unique("u")


def test_names_are_one_without_their_capitals():
    """As DuckDB takes them."""
    with pytest.raises(FrameError, match="twice"):
        read_duckdb(duckdb.sql('SELECT 1 AS a, 2 AS "A"'))


def test_infinite_instants_are_beyond_all():
    """They neither raise nor wrap, as dates either."""
    spec = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-05", "step": "1D"}
    for kind in ("TIMESTAMP", "DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        sql = f"SELECT unnest(['infinity'::{kind}, '-infinity'::{kind}, '2020-01-02'::{kind}]) AS x"
        (frame,) = read_duckdb(duckdb.sql(sql)).frames(["x"])
        assert encoder(frame["x"], from_dict("x", spec), clip=False)(0, 3).tolist() == [OUTSIDE, OUTSIDE, 1]
        assert encoder(frame["x"], from_dict("x", spec), clip=True)(0, 3).tolist() == [4, 0, 1]


def test_large_whole_numbers_are_themselves():
    """128 bits with a sign are, without one they are refused: Arrow would make the largest negative."""
    sql = f"SELECT unnest([{2**127 - 1}::HUGEINT, 3::HUGEINT, -1::HUGEINT]) AS x"
    (frame,) = read_duckdb(duckdb.sql(sql)).frames(["x"])

    assert encoder(frame["x"], integers("x", -1, 5), clip=False)(0, 3).tolist() == [OUTSIDE, 4, 0]
    with pytest.raises(FrameError, match="'x' is stored as"):
        list(read_duckdb(duckdb.sql(f"SELECT {2**128 - 1}::UHUGEINT AS x")).frames(["x"]))


def test_enums_and_zones():
    """Text by its words; instants in a zone as instants."""
    table = duckdb.sql("SELECT 'b'::ENUM('b', 'a') AS e, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS t")
    (frame,) = read_duckdb(table).frames(["e", "t"])

    assert frame["e"].tolist() == ["b"]
    assert frame["t"].tolist() == [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]
