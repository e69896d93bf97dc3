"""Tables of files and engines as pandas frames, a part at a time.

Sees rows, and hands out no more of them than counts. A reader places no value in a cell: it yields frames to
`count.encode`, or groups with their least and greatest values. What an engine raises is never shown.

Read `pieces` (what every reader can do) and `batches` (those of
Arrow types), then one file per engine: `arrow`, `polars`, `duckdb`, `dask`, `spark`; `streams` takes Arrow
streams of any other library. `files` and `fields` read CSV, Parquet and Feather files.
"""

from __future__ import annotations

from typing import Any

from pandas_blowfish.count.readers.arrow import read_arrow
from pandas_blowfish.count.readers.dask import read_dask
from pandas_blowfish.count.readers.duckdb import read_duckdb
from pandas_blowfish.count.readers.pieces import Pieces, has_class
from pandas_blowfish.count.readers.polars import read_polars
from pandas_blowfish.count.readers.spark import read_spark
from pandas_blowfish.count.readers.streams import read_stream, refuse_others

READERS = (read_arrow, read_polars, read_duckdb, read_dask, read_spark, read_stream)

TAKEN = (
    "a frame of pandas or polars (narwhals too), a PyArrow table or dataset, a DuckDB relation, a Dask or "
    "Spark DataFrame, a table that exports Arrow streams, or a function that opens one"
)


def open_table(frame: Any) -> Any:
    """Return a table that another library holds so that it can be counted, and anything else as it is."""
    if isinstance(frame, Pieces):
        return frame
    if has_class(frame, "narwhals", "DataFrame", "LazyFrame"):
        return open_table(frame.to_native())
    refuse_others(frame)
    return next((table for read in READERS if (table := read(frame)) is not None), frame)
