"""What is found in parts is merged, and a frame is its own part."""

import operator

import pandas as pd
import pytest

from pandas_blowfish.count.readers.pieces import merged, told_apart
from pandas_blowfish.count.readers.tables import opened

pa = pytest.importorskip("pyarrow")
TABLE = pa.table({"a": [1, 2, 3, 4, 5], "b": ["x", "y", "x", "y", "z"]})


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "dataset", "dask"])
def test_work_is_merged(engine, native):
    """One answer for a frame, a table, a dataset and partitions; other columns are not there."""
    table = opened(native(engine, TABLE))

    found = merged(table, ["a"], lambda part: int(part["a"].sum()), operator.add)
    names = merged(table, ["b", "b"], lambda part: {tuple(part.columns)}, operator.or_)

    assert found == 15
    assert names == ({("b",)} if engine != "pandas" else {("a", "b")})


@pytest.mark.parametrize("engine", ["pyarrow", "dataset", "dask"])
def test_a_table_is_marked_without_being_changed(engine, native):
    """The same rows under attrs of their own."""
    table = opened(native(engine, TABLE))

    other = table.marked({"x": 1})

    assert (other.attrs, table.attrs) == ({"x": 1}, {})
    assert type(other) is type(table)
    assert other.native is table.native
    assert (other.rows, other.columns) == (5, ["a", "b"])


@pytest.mark.parametrize("engine", ["pyarrow", "dataset", "dask"])
def test_units_are_told_apart(engine, native):
    """Each value once, none missing; across parts too."""
    table = opened(native(engine, TABLE))
    gap = opened(native(engine, pa.table({"a": pa.array([1, None, 3], pa.int64())})))

    assert table.each_once("a")
    assert not table.each_once("b")
    assert not gap.each_once("a")


def test_what_names_nobody_is_not_told_apart():
    """Lists cannot be compared."""
    assert told_apart(pd.Series(["a", "b"]))
    assert not told_apart(pd.Series([[1], [2]]))
    assert not told_apart(pd.Series([1.0, None]))
