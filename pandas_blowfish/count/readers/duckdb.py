"""DuckDB relations, read batch by batch. Sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.batches import NEAR, Batches
from pandas_blowfish.count.readers.pieces import Key, has_class, require_once


@dataclass(frozen=True, eq=False)
class DuckdbBatches(Batches):
    """A DuckDB relation."""

    engine: ClassVar[str] = "duckdb"
    extra: ClassVar[str] = "duckdb"

    def _schema(self) -> Any:
        import pyarrow as pa

        schema = self.native.limit(0).to_arrow_table().schema
        for at, kind in enumerate(self.native.types):
            if str(kind) == "UHUGEINT":  # which Arrow takes for a signed number
                schema = schema.set(at, pa.field(schema.names[at], pa.binary(16)))
        return schema

    def _count(self) -> int:
        return int(self.native.aggregate("count(*)").fetchall()[0][0])

    def _distinct(self, name: str) -> int:
        import pyarrow as pa

        column = _quote(name)
        known = f"NOT isnan({column})" if pa.types.is_floating(self.schema.field(name).type) else "true"
        counted = f"count(DISTINCT {column}) FILTER ({known})"
        return int(self.native.aggregate(counted).fetchall()[0][0])

    def _read(self, names: list[str]) -> Iterator[Any]:
        rows = self.native.project(", ".join(map(_quote, names)))
        read = getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader  # of older versions
        return iter(read(batches.ROWS))

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:
        by, shown = [], []
        for at, key in enumerate(keys):
            column = _quote(key.name)
            if not key.step:
                kind = str(self.native.types[self.columns.index(key.name)])
                # a collation would take two values for one
                by.append(f"CAST({column} AS VARCHAR) COLLATE C" if kind == "VARCHAR" else column)
                shown.append(f'{by[-1]} AS "least {at}"')
                continue
            by.append(f"floor(({column} - {key.low!r}::DOUBLE) / {key.step!r}::DOUBLE + {NEAR!r}::DOUBLE)")
            shown.append(f'min({column}) AS "least {at}", max({column}) AS "greatest {at}"')
        groups = self.native.aggregate(", ".join([*shown, 'count(*) AS "rows"']), ", ".join(by))
        return groups.limit(most + 1).to_arrow_table()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read_duckdb(frame: Any) -> DuckdbBatches | None:
    """Return a DuckDB relation; None for what is none."""
    if not has_class(frame, "duckdb", "DuckDBPyRelation"):
        return None
    require_once([str(name).lower() for name in frame.columns])  # DuckDB does not distinguish capitals
    return DuckdbBatches(frame)
