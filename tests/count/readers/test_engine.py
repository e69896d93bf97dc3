"""Tables of other engines are recognised by class alone, and what an engine raises shows nothing of a row."""

import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count.readers.engine import ROWS, Key, each_once, grouped, rows_of, scan_of
from pandas_blowfish.count.readers.keys import cell_key, whole_numbers
from pandas_blowfish.errors import EngineError, FrameError, MissingPackageError
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
nw = pytest.importorskip("narwhals")

ENGINES = ("polars", "lazy", "duckdb")
TABLE = pa.table({"a": [1, 2, 2, 9], "b": ["x", "y", None, "x"], "u": [4, 3, 2, 1]})


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_are_recognised(engine, scan):
    """By class, with the names and storage of their columns."""
    found = scan(engine, TABLE)

    assert found.engine == {"lazy": "polars"}.get(engine, engine)
    assert found.columns == ["a", "b", "u"]
    assert found.storage("a").kind == "integer"
    assert found.storage("b").kind == "text"
    assert found.marked({"blowfish": 1}).attrs == {"blowfish": 1}
    assert found.attrs == {}
    assert rows_of(found) == 4


def test_other_things_are_no_tables():
    """Not even those of the same libraries, or whose class has the name."""
    relation = type("DataFrame", (), {"__module__": "elsewhere"})()

    for thing in (None, 1, [1], {"a": [1]}, pd.DataFrame({"a": [1]}), pl.Series([1]), pl.col("a"), relation):
        assert scan_of(thing) is None


def test_subclasses_are_recognised():
    """A class made from an engine's own is one of its tables."""

    class Frame(pl.DataFrame):
        pass

    assert scan_of(Frame({"a": [1]})).engine == "polars"


def test_without_narwhals_the_extra_is_named(monkeypatch):
    """What to install, by engine."""
    monkeypatch.setitem(sys.modules, "narwhals", None)

    with pytest.raises(MissingPackageError, match=r"pandas-blowfish\[polars\]"):
        scan_of(pl.DataFrame({"a": [1]}))


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_and_sums(engine, scan):
    """Rows by cell, and columns added up by it."""
    table, attribute = scan(engine, TABLE), integers("a", 0, 5)

    def keys(steps):
        steps.frame = steps.frame.with_columns((nw.col("u") * 10).alias("tens"))
        return [cell_key(table, steps, attribute, clip=False)]

    read = [attribute, integers("u", 0, 9)]
    (codes,), found = grouped(table, read, keys, ("tens",), clip=False)
    rows = {c: (n, s) for c, n, s in zip(codes, found[ROWS], found["tens"], strict=True) if c >= 0}

    assert rows == {1: (1, 40), 2: (2, 50)}
    assert all(part.dtype == np.int64 for part in (codes, *found.values()))


@pytest.mark.parametrize("engine", ENGINES)
def test_units_are_found_once_each(engine, scan):
    """Repeats and nulls are told, of numbers and of text."""
    table = scan(engine, TABLE)

    assert each_once(table, "u")
    assert not each_once(table, "a")
    assert not each_once(table, "b")
    assert not each_once(scan(engine, pa.table({"t": ["p", "q", None]})), "t")
    assert each_once(scan(engine, pa.table({"t": ["p", "q", "r"]})), "t")
    assert each_once(scan(engine, TABLE.slice(0, 0)), "u")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_unit_that_is_no_number_names_nobody(engine, scan):
    """NaN is missing, as in pandas."""
    assert not each_once(scan(engine, pa.table({"t": [1.0, np.nan]})), "t")


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_of_an_engine_show_no_value(engine, scan):
    """Its class is named; neither its text nor the chain of causes is passed on."""
    table = scan(engine, pa.table({"b": ["SECRETVALUE"]}))

    with pytest.raises(EngineError) as caught:
        grouped(table, [], lambda _: [Key(nw.col("b").cast(nw.Int64), whole_numbers)], clip=False)

    assert "SECRETVALUE" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.value.engine == table.engine


def test_an_error_of_ours_is_passed_on(scan):
    """What holds no declared value is refused in our words."""
    table = scan("polars", pa.table({"x": [[1], [2]]}))

    with pytest.raises(FrameError, match="'x' is stored as"):
        grouped(table, [integers("x", 0, 5)], lambda _: [], clip=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_may_be_anything(engine, scan):
    """Quotes, blanks, dots, backticks, stars and letters of any script, of numbers, text and instants."""
    names = ['a"b', "a'b", "a b", "a.b", "a`b", "ä", "select", "1", "a;--", "{x}", "%s", "A"]
    stamps = pa.array([1577836800, None], pa.int64()).cast(pa.timestamp("s"))
    for name in names:
        table = scan(engine, pa.table({name: [3, None], "other": [1, 2]}))
        stamped = scan(engine, pa.table({name: stamps, "other": [1, 2]}))
        text = scan(engine, pa.table({name: ["x", "y"], "other": [1, 2]}))
        days = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-05", "step": "1D", "nullable": True}
        for found, attribute, want in (
            (table, integers(name, 0, 5, nullable=True), {3: 1, 6: 1}),
            (stamped, from_dict(name, days), {0: 1, 5: 1}),
            (text, from_dict(name, {"type": "category", "values": ["y", "x"]}), {0: 1, 1: 1}),
        ):
            (codes,), counts = grouped(
                found,
                [attribute],
                lambda steps, at=(found, attribute): [cell_key(at[0], steps, at[1], clip=False)],
                clip=False,
            )
            assert dict(zip(codes.tolist(), counts[ROWS].tolist(), strict=True)) == want, name


@pytest.mark.parametrize("name", ["*", "^a$", "^o.*$"])
def test_names_that_are_patterns_read_no_other_column(name, scan):
    """polars takes some names for patterns: refused, or the column itself."""
    table = scan("polars", pa.table({name: [3, 4], "other": [1, 1], "a": [1, 1]}))
    attribute = integers(name, 0, 5)
    with suppress(FrameError):
        (codes,), _ = grouped(
            table, [attribute], lambda steps: [cell_key(table, steps, attribute, clip=False)], clip=False
        )
        assert sorted(codes.tolist()) == [3, 4]
