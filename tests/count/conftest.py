"""Shared pieces of the kernel's tests: the same rows as tables of other engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from oracle.duckdb_tables import kept_table

from pandas_blowfish.count.readers import open_table

ENGINES = ("polars", "pyarrow", "dataset", "duckdb", "dask")


def pandas_column(array: Any) -> pd.Series[Any]:
    """Return an Arrow array as pandas keeps it: whole numbers that may be missing with a mask."""
    import pyarrow as pa

    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    whole = pa.types.is_integer(kind) and array.null_count
    if whole or pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind):
        return array.to_pandas(types_mapper=pd.ArrowDtype)
    return array.to_pandas()


def pandas_table(table: Any) -> pd.DataFrame:
    """Return an Arrow table as pandas keeps it."""
    return pd.DataFrame({name: pandas_column(table[name]) for name in table.column_names})


def native_table(engine: str, table: Any) -> Any:
    """Return an Arrow table as a table of an engine."""
    if engine == "pandas":
        return pandas_table(table)
    pytest.importorskip("narwhals")
    if engine == "pyarrow":
        return table
    if engine == "dataset":
        dataset = pytest.importorskip("pyarrow.dataset")
        return dataset.dataset(table)
    if engine == "duckdb":
        return kept_table(table)
    if engine == "dask":
        frames = pytest.importorskip("dask.dataframe")
        return frames.from_pandas(pandas_table(table), npartitions=2)
    polars = pytest.importorskip("polars")
    found = polars.from_arrow(table)
    return found.lazy() if engine == "lazy" else found


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Return the name of each engine that is always tested."""
    return str(request.param)


@pytest.fixture(scope="session")
def native() -> Callable[[str, Any], Any]:
    """Return the maker of an engine's tables from an Arrow table."""
    return native_table


@pytest.fixture(scope="session")
def scan() -> Callable[[str, Any], Any]:
    """Return the maker of tables that are ready to be counted, from an Arrow table."""
    return lambda engine, table: open_table(native_table(engine, table))


@pytest.fixture(scope="session")
def in_pandas() -> Callable[[Any], pd.DataFrame]:
    """Return the maker of pandas frames from an Arrow table."""
    return pandas_table
