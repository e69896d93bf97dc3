"""Whatever engine hands out the rows, every value has the code that pandas gives it."""

import datetime as dt
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from count.storages import SPECS, STORAGES
from oracle.duckdb_tables import as_held

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import MISSING
from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.batches import column_of, frame_of, next_frame
from pandas_blowfish.errors import EngineError, FrameError
from pandas_blowfish.policy.domain import from_dict

pa = pytest.importorskip("pyarrow")
ENGINES = ("polars", "lazy", "duckdb", "pyarrow", "dataset")


def _codes(table, attribute, clip):
    """Return the codes of a column in the order of another that numbers the rows."""
    parts = list(table.frames(["row", "x"]))
    order = np.concatenate([part["row"].to_numpy() for part in parts])
    codes = [encoder(part["x"], attribute, clip=clip)(0, len(part)) for part in parts]
    return np.concatenate(codes)[np.argsort(order)]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("engine", ENGINES)
def test_codes_are_those_of_pandas(engine, storage, scan, in_pandas):
    """Every storage x declaration x clip, row by row: a mismatch of kinds is outside on both sides."""
    array = STORAGES[storage]
    table = as_held(engine, pa.table({"row": np.arange(len(array)), "x": array}))
    series, read = in_pandas(table)["x"], scan(engine, table)
    for at, spec in enumerate(SPECS):
        attribute = from_dict("x", {**spec, "nullable": at % 2 == 0})
        for clip in (False, True):
            want = encoder(series, attribute, clip=clip)(0, len(series))
            wrong = np.flatnonzero(_codes(read, attribute, clip) != want)
            assert not len(wrong), (spec, clip, [str(table["x"][int(each)]) for each in wrong[:5]])


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_floats_of_random_grids_are_those_of_pandas(engine, scan, in_pandas):
    """Random bounds and steps; random floats, and every edge with its two neighbours."""
    for seed in range(25):
        draw = random.Random(seed)
        step = Fraction(draw.choice(["0.01", "0.1", "0.05", "0.3", "1.7", "0.001", "2.5", "7", "0.007"]))
        low = Fraction(draw.randint(-5000, 5000), draw.choice([1, 10, 100, 8]))
        high = low + step * draw.randint(1, 3000) + draw.choice([0, step / 2, step / 4])
        bounds = {"exclusive_min": draw.random() < 0.3, "exclusive_max": draw.random() < 0.3}
        spec = {"type": "float", "min": str(Decimal(int(low * 1000)) / 1000), "max": float(high), **bounds}
        grid = from_dict("x", {**spec, "step": str(Decimal(int(step * 1000)) / 1000)})
        edges = np.array([float(grid.low + at * grid.step) for at in range(min(grid.cells, 400))])
        values = [draw.uniform(float(low) - 1, float(high) + 1) for _ in range(400)]
        values = np.concatenate([values, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        for kind in (np.float64, np.float32):
            table = pa.table({"row": np.arange(len(values)), "x": values.astype(kind)})
            want = encoder(in_pandas(table)["x"], grid, clip=False)(0, len(values))
            assert (_codes(scan(engine, table), grid, False) == want).all(), (seed, kind)


@pytest.mark.parametrize("engine", ENGINES)
def test_cells_of_any_size_are_counted(engine, scan, in_pandas):
    """Bounds that floats do not hold, narrow floats without bounds, and logarithms: as in pandas."""
    fine = {"type": "float", "min": "0.12345678901234567", "max": "0.13", "step": "0.0001"}
    for spec, kind in ((fine, np.float64), ({"type": "float"}, np.float32)):
        values = np.array([0.1239, 0.12345678901234567, 0.129, 5.0]).astype(kind)
        table = pa.table({"row": np.arange(4), "x": values})
        attribute = from_dict("x", spec)
        want = encoder(in_pandas(table)["x"], attribute, clip=False)(0, 4)
        assert _codes(scan(engine, table), attribute, False).tolist() == want.tolist()


def test_missing_is_not_outside(scan):
    """A null that is not allowed has a code of its own, and so has a decimal that is no number."""
    table = scan("polars", pa.table({"row": [0, 1, 2], "x": [1.0, None, np.nan]}))
    column = from_dict("x", {"type": "integer", "min": 0, "max": 3})

    assert _codes(table, column, True).tolist() == [1, MISSING, MISSING]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "array", [pa.array([[1]]), pa.array([dt.time(1)]), pa.array([b"x"]), pa.array([{"a": 1}])], ids=str
)
def test_what_holds_no_declared_value_is_refused(engine, array, scan):
    """The column is named, and what to do; nothing of a row is."""
    table = scan(engine, pa.table({"x": array, "y": [1]}))

    for ask in (lambda: next(table.frames(["x"])), lambda: table.is_unique("x") if engine != "x" else None):
        with pytest.raises(FrameError, match=r"'x' is stored as[\s\S]*cast it in the engine"):
            ask()
    assert [len(part) for part in table.frames(["y"])] == [1]


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_may_be_anything(engine, scan):
    """Quotes, blanks, dots, backticks, stars, patterns and letters of any script."""
    names = ['a"b', "a'b", "a b", "a.b", "a`b", "ä", "select", "1", "a;--", "{x}", "%s", "A", "^o.*$", "*"]
    for name in [*names, "rows", "least 0", "key 0", "greatest 0"]:
        table = scan(engine, pa.table({name: [3, None], "other": [1, 2]}))

        (frame,) = table.frames([name])

        assert list(frame.columns) == [name]
        assert sorted(frame[name].dropna().astype(int)) == [3]
        assert not table.is_unique(name)
        assert table.is_unique("other")


def test_empty_batches_among_others():
    """A table or batch without rows is one frame without rows, or adds none."""
    schema = pa.schema({"x": pa.int64()})
    none = pa.RecordBatch.from_pylist([], schema)
    some = pa.RecordBatch.from_pylist([{"x": 4}], schema)

    found = next_frame(iter([none, schema.empty_table(), some, none]))

    assert found["x"].tolist() == [4]
    assert next_frame(iter([])) is None
    assert len(next_frame(iter([schema.empty_table()]))) == 0


def test_many_small_batches_are_one_frame(monkeypatch):
    """So that a worker is not handed a few rows at a time; never more than are wanted."""
    monkeypatch.setattr(batches, "ROWS", 8)
    each = pa.RecordBatch.from_pylist([{"x": 4}])

    rows = iter([each] * 10)

    assert [len(next_frame(rows)), len(next_frame(rows)), len(next_frame(rows))] == [4, 4, 2]


def test_dictionaries_may_repeat_a_value_or_hold_null():
    """Text is what it says, whatever its number is."""
    codes, values = pa.array([0, 1, 2, 3, None], pa.int8()), pa.array(["a", "b", "a", None])
    column = column_of(pa.DictionaryArray.from_arrays(codes, values))

    assert [each if isinstance(each, str) else None for each in column] == ["a", "b", "a", None, None]


def test_frames_keep_every_column():
    """Also one without rows, and one of a type that pandas has none for."""
    frame = frame_of(pa.table({"n": pa.array([], pa.int64()), "d": pa.array([], pa.decimal128(5, 2))}))

    assert frame.shape == (0, 2)


@pytest.mark.parametrize("engine", ["lazy", "duckdb"])
def test_an_error_of_an_engine_shows_no_value(engine):
    """Its class is named; neither its text nor the chain of causes is passed on."""
    from pandas_blowfish.count.readers import open_table

    if engine == "lazy":
        polars = pytest.importorskip("polars")
        native = polars.LazyFrame({"x": ["SECRETVALUE"]}).select(polars.col("x").cast(polars.Int64))
    else:
        duckdb = pytest.importorskip("duckdb")
        native = duckdb.sql("SELECT CAST(x AS BIGINT) AS x FROM (VALUES ('SECRETVALUE')) t(x)")
    with pytest.raises(EngineError) as caught:
        list(open_table(native).frames(["x"]))

    assert "SECRETVALUE" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
