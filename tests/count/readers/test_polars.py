"""polars frames are recognised, and read in slices or in a stream, with only the columns asked for."""

import pandas as pd
import pytest

from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.polars import PolarsBatches, read_polars
from pandas_blowfish.errors import FrameError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
FRAME = pl.DataFrame({"a": [1, 2, 2, None], "b": ["x", "y", None, "x"], "u": [4, 3, 2, 1]})


def test_frames_are_recognised():
    """Eager and lazy, and classes made from them; nothing else."""

    class Frame(pl.DataFrame):
        pass

    for native in (FRAME, FRAME.lazy(), Frame({"a": [1]})):
        assert isinstance(read_polars(native), PolarsBatches)
    relation = type("DataFrame", (), {"__module__": "elsewhere"})()
    for thing in (None, 1, {"a": [1]}, pd.DataFrame({"a": [1]}), pl.Series([1]), pl.col("a"), relation):
        assert read_polars(thing) is None


@pytest.mark.parametrize("native", [FRAME, FRAME.lazy()], ids=["eager", "lazy"])
@pytest.mark.parametrize("rows", [1, 3, 1 << 20])
def test_rows_are_read_in_batches(native, rows, monkeypatch):
    """Of any size, with the columns asked for alone."""
    monkeypatch.setattr(batches, "ROWS", rows)
    table = read_polars(native)

    frames = list(table.frames(["u", "b"]))

    assert all(list(frame.columns) == ["u", "b"] for frame in frames)
    assert sorted(each for frame in frames for each in frame["u"]) == [1, 2, 3, 4]
    assert (table.rows, table.columns) == (4, ["a", "b", "u"])


@pytest.mark.parametrize("native", [FRAME, FRAME.lazy()], ids=["eager", "lazy"])
def test_units_are_found_once_each(native):
    """Repeats, nulls and NaN are seen."""
    table = read_polars(native)

    assert table.is_unique("u")
    assert not table.is_unique("a")
    assert not table.is_unique("b")
    assert not read_polars(pl.DataFrame({"t": [1.0, float("nan")]})).is_unique("t")
    assert read_polars(FRAME.head(0)).is_unique("u")


def test_only_needed_columns_are_computed():
    """A column that cannot be computed does not matter to others."""
    lazy = FRAME.lazy().with_columns(bad=pl.col("b").cast(pl.Int64))

    assert sum(len(frame) for frame in read_polars(lazy).frames(["u"])) == 4


def test_whole_numbers_of_128_bits_are_refused():
    """Arrow has none, and any other type would take some for others."""
    table = read_polars(pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128), "y": [1]}))

    assert table.columns == ["x", "y"]
    with pytest.raises(FrameError, match="'x' is stored as"):
        list(table.frames(["x"]))
    assert [len(frame) for frame in table.frames(["y"])] == [1]


def test_categories_and_enums_are_text():
    """Whatever their order is."""
    text = pl.Series("x", ["b", "a", None])
    for kind in (pl.Categorical, pl.Enum(["b", "a"]), pl.String):
        (frame,) = read_polars(pl.DataFrame({"x": text.cast(kind)})).frames(["x"])
        assert [each if isinstance(each, str) else None for each in frame["x"]] == ["b", "a", None]
