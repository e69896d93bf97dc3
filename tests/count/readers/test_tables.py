"""What a table says of itself, whichever library holds it."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.readers.arrow import ArrowBatches
from pandas_blowfish.count.readers.dask import Partitions
from pandas_blowfish.count.readers.duckdb import DuckdbBatches
from pandas_blowfish.count.readers.polars import PolarsBatches

pa = pytest.importorskip("pyarrow")

TABLE = pa.table(
    {
        "n": [1],
        "f": [1.5],
        "b": [True],
        "t": ["x"],
        "d": pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("us", tz="UTC")),
        "l": [[1]],
    }
)


def test_tables_are_opened_and_others_left_alone(native):
    """A pandas frame, or anything else, comes back as it is."""
    frame = pd.DataFrame({"a": [1]})

    assert open_table(frame) is frame
    assert open_table("text") == "text"
    assert isinstance(open_table(TABLE), ArrowBatches)
    assert isinstance(open_table(native("dask", TABLE.drop_columns(["l"]))), Partitions)
    for engine, kind in (("polars", PolarsBatches), ("lazy", PolarsBatches), ("duckdb", DuckdbBatches)):
        assert isinstance(open_table(native(engine, TABLE.drop_columns(["l"]))), kind)


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb", "pyarrow"])
def test_dtypes_are_those_of_pandas(engine, scan):
    """So that schema code can be drafted from them; what pandas has no dtype for is an object."""
    found = scan(engine, TABLE).dtypes

    assert [found[name].kind for name in "nfb"] == ["i", "f", "b"]
    assert pd.api.types.is_string_dtype(found["t"])
    assert found["d"].kind == "M"
    assert found["l"] == np.dtype(object)
