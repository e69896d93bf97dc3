"""Rows as tables of DuckDB, whose connections stay open: before 1.5 a table does not keep its own."""

from __future__ import annotations

from typing import Any

import pytest

_open: list[Any] = []


def open_connection() -> Any:
    """Return a new connection that is held until the tests end."""
    _open.append(pytest.importorskip("duckdb").connect())
    return _open[-1]


def kept_table(rows: Any) -> Any:
    """Return a table of DuckDB with the rows of an Arrow table."""
    connection = open_connection()
    connection.register("given", rows)
    connection.execute("create table kept as select * from given")
    return connection.table("kept")


def as_held(engine: str, rows: Any) -> Any:
    """Return Arrow rows as an engine holds them: DuckDB before 2.0 has no zoned nanoseconds."""
    import pyarrow as pa

    if engine != "duckdb" or int(pytest.importorskip("duckdb").__version__.split(".")[0]) >= 2:
        return rows
    for at, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz and field.type.unit == "ns":
            held = rows.column(at).cast(pa.timestamp("us", field.type.tz), safe=False)
            rows = rows.set_column(at, field.name, held)
    return rows
