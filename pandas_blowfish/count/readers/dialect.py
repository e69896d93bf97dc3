"""What narwhals has no word for, in each engine's own: instants as whole numbers, and fetching a small table.

Sees rows only through expressions and, once they are counted, as counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pandas_blowfish.count.readers.storage import Storage, storage_of

STAMPS = "blowfish instants of "
INFINITE = 2**62  # an instant beyond all others


def kept_as(engine: str, name: str, dtype: Any) -> Storage:
    """Return how an engine keeps a column, with the unit in which `with_instants` counts its instants."""
    kept = storage_of(name, dtype)
    if kept.kind != "instant":
        return kept
    if engine in ("duckdb", "pyspark") and kept.unit != "ns":
        return replace(kept, unit="us")
    return replace(kept, unit="ms") if kept.unit == "s" else kept


def with_instants(engine: str, native: Any, kept: Sequence[Storage]) -> Any:
    """Return a native table in narwhals' words, with instants as whole numbers beside their columns."""
    import narwhals as nw

    stamps = {each.name: each for each in kept if each.kind == "instant"}
    if engine == "duckdb":
        import duckdb

        made = [_duckdb_column(each) for each in kept if each.kind in ("instant", "text")]
        return nw.from_native(native.select(duckdb.StarExpression(), *made) if made else native)
    if engine == "pyspark" and stamps:
        from pyspark.sql import functions

        types = dict(native.dtypes)
        micros = {STAMPS + name: functions.expr(_spark_instant(name, types[name])) for name in stamps}
        return nw.from_native(native.withColumns(micros))
    table = nw.from_native(native)
    table = table.lazy() if engine == "polars" else table
    units: dict[str, Any] = {name: each.unit for name, each in stamps.items()}
    numbers = [nw.col(name).dt.timestamp(unit).alias(STAMPS + name) for name, unit in units.items()]
    return table.with_columns(*numbers) if numbers else table


def _duckdb_column(kept: Storage) -> Any:
    """Return an instant, perhaps an infinite one, as units since 1970; text to be compared by bytes."""
    import duckdb

    quoted = '"' + kept.name.replace('"', '""') + '"'
    epoch = "epoch_ns" if kept.unit == "ns" else "epoch_us"
    text = f"CASE WHEN isinf({quoted}) THEN {INFINITE} ELSE {epoch}({quoted}) END"
    if kept.kind == "text":
        text = f"CAST({quoted} AS VARCHAR) COLLATE C"
    return duckdb.SQLExpression(text).alias(STAMPS + kept.name)


def _spark_instant(name: str, kind: str) -> str:
    """Return an instant as microseconds since 1970, in Spark's SQL."""
    quoted = "`" + name.replace("`", "``") + "`"
    if kind == "date":
        return f"CAST(unix_date({quoted}) AS BIGINT) * 86400000000"
    if kind == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {quoted})"
    return f"unix_micros({quoted})"


def fetched(engine: str, table: Any) -> Mapping[str, Any]:
    """Return the columns of a small counted table, as arrays or lists."""
    native = table.to_native()
    if engine == "polars":
        found = native.collect(engine="streaming")
        return {each.name: each.to_numpy() if _plain(each) else each.to_list() for each in found}
    if engine == "duckdb":
        frame = native.df()
    else:
        rows = native.collect()
        return {name: [row[at] for row in rows] for at, name in enumerate(native.columns)}
    return {name: frame[name] for name in frame.columns}


def _plain(series: Any) -> bool:
    return bool(series.dtype.is_numeric()) and not series.null_count()
