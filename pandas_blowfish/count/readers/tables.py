"""Which tables can be counted. Touches no row."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.count.readers.arrow import read_arrow
from pandas_blowfish.count.readers.dask import read_dask
from pandas_blowfish.count.readers.duckdb import read_duckdb
from pandas_blowfish.count.readers.polars import read_polars
from pandas_blowfish.count.readers.spark import read_spark

READERS = (read_arrow, read_polars, read_duckdb, read_dask, read_spark)


def open_table(frame: Any) -> Any:
    """Return a table that another library holds so that it can be counted, and anything else as it is."""
    return next((table for read in READERS if (table := read(frame)) is not None), frame)
