"""What is found in parts is merged, and a frame is its own part."""

import operator

import pytest

from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.readers.pieces import ask_engine, merge
from pandas_blowfish.errors import EngineError, FrameError

pa = pytest.importorskip("pyarrow")
TABLE = pa.table({"a": [1, 2, 3, 4, 5], "b": ["x", "y", "x", "y", "z"]})


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "dataset", "dask", "polars", "lazy", "duckdb"])
def test_work_is_merged(engine, native):
    """One answer for a frame, a table, a dataset and partitions; other columns are not there."""
    table = open_table(native(engine, TABLE))

    found = merge(table, ["a"], lambda part: int(part["a"].sum()), operator.add)
    names = merge(table, ["b", "b"], lambda part: {tuple(part.columns)}, operator.or_)

    assert found == 15
    assert names == ({("b",)} if engine != "pandas" else {("a", "b")})


@pytest.mark.parametrize("engine", ["pyarrow", "dataset", "dask", "polars", "lazy", "duckdb"])
def test_a_table_is_marked_without_being_changed(engine, native):
    """The same rows under attrs of their own."""
    table = open_table(native(engine, TABLE))

    other = table.mark({"x": 1})

    assert (other.attrs, table.attrs) == ({"x": 1}, {})
    assert type(other) is type(table)
    assert other.native is table.native
    assert (other.rows, other.columns) == (5, ["a", "b"])


@pytest.mark.parametrize("engine", ["pyarrow", "dataset", "dask", "polars", "lazy", "duckdb"])
def test_units_are_unique(engine, native):
    """Each value once, none missing; across parts too."""
    table = open_table(native(engine, TABLE))
    gap = open_table(native(engine, pa.table({"a": pa.array([1, None, 3], pa.int64())})))

    assert table.is_unique("a")
    assert not table.is_unique("b")
    assert not gap.is_unique("a")


def _raiser(error):
    def ask():
        raise error

    return ask


def test_answers_hide_everything_but_a_class():
    """Errors of ours pass; those of an engine lose their text, and are neither cause nor context."""
    for error in (ValueError("SECRETVALUE"), BaseException("SECRETVALUE")):
        with pytest.raises(EngineError) as caught:
            ask_engine("polars", "counted", _raiser(error))
        assert "SECRETVALUE" not in str(caught.value)
        assert caught.value.kind == type(error).__name__
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert ask_engine("polars", "counted", lambda: 5) == 5
    for error in (FrameError("own words", fix="none."), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            ask_engine("polars", "counted", _raiser(error))
