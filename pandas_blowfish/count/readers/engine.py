"""Tables of other engines, counted where they lie: only counts by cell come back. This module sees rows.

polars, DuckDB and Spark are spoken to through narwhals. What an engine returns is bounded by
the declared cells, whatever its rows are, and no message of it is passed on: it might show a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pandas_blowfish.count.place import Ints
from pandas_blowfish.count.readers.dialect import STAMPS, fetched, kept_as, with_instants
from pandas_blowfish.count.readers.expressions import guard, sure
from pandas_blowfish.count.readers.storage import Expr, Steps, Storage, absent, answered
from pandas_blowfish.errors import FrameError, MissingPackageError
from pandas_blowfish.policy.attribute import Attribute, Values

ROWS, KNOWN = "blowfish rows", "blowfish known"
EXTRAS = {"polars": "polars", "duckdb": "duckdb", "pyspark": "spark"}
TABLES = {
    "polars": {"DataFrame", "LazyFrame"},
    "duckdb": {"DuckDBPyRelation"},
    "pyspark": {"DataFrame"},
}


@dataclass(frozen=True, eq=False)
class Scan:
    """A table of another engine.

    Attributes:
        native: The table, as it was given.
        engine: polars, duckdb or pyspark.
        dtypes: How it keeps each column, in narwhals' words.
        attrs: The record of its dataset, where pandas frames have theirs.
    """

    native: Any = field(repr=False)
    engine: str
    dtypes: Mapping[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.dtypes)

    def storage(self, name: str) -> Storage:
        """Return how a column is kept, refusing what holds no declared value."""
        pattern = name == "*" or (name.startswith("^") and name.endswith("$"))  # polars takes it for others
        pattern |= self.engine == "pyspark" and bool(set(name) & {".", "`"})  # Spark reads them as paths
        if pattern or name.lower().startswith("blowfish "):  # columns on the way are called so
            raise FrameError(f"a column is called {name!r}", columns=[name], fix="rename it in the engine.")
        return kept_as(self.engine, name, self.dtypes[name])

    def column(self, name: str) -> Expr:
        """Return a column's values; of instants the number of units since 1970."""
        import narwhals as nw

        kept = self.storage(name)
        if self.engine == "duckdb" and kept.kind == "text":
            return nw.col(STAMPS + name)
        if kept.kind == "integer" and not kept.wide:
            return nw.col(name).cast(nw.Int64)
        if kept.kind == "float" and kept.wide:
            return nw.col(name).cast(nw.Float64)
        return nw.col(STAMPS + name if kept.kind == "instant" else name)

    def marked(self, attrs: dict[str, Any]) -> Scan:
        """Return the same table with attrs of its own."""
        return replace(self, attrs=attrs)

    def steps(self, attributes: Sequence[Attribute], *, clip: bool) -> Steps:
        """Return the table with columns to come, without rows that no cell of a column counts."""
        names = list(dict.fromkeys(each.name for each in attributes))
        kept = {name: self.storage(name) for name in names}
        made = {STAMPS + name for name in names}
        frame = with_instants(self.engine, self.native, list(kept.values()))
        frame = frame.select(*names, *(name for name in frame.collect_schema().names() if name in made))
        for each in attributes:
            if sure(each, clip=clip) and not isinstance(each, Values):
                inside = guard(self.column(each.name), kept[each.name], each)
                frame = frame if inside is None else frame.filter(inside)
        return Steps(frame, self.engine)


@dataclass(frozen=True)
class Key:
    """What rows are grouped by.

    Attributes:
        expression: Its value for each row.
        cells: From the values that came back to cells.
        guard: What a value must satisfy to come back at all, where not every one is a cell.
    """

    expression: Expr
    cells: Callable[[Any], Ints]
    guard: Callable[[Expr], Expr] | None = None


def scan_of(frame: Any) -> Scan | None:
    """Return a table of another engine, ready to be counted; None for what is none."""
    engine = next((found for kind in type(frame).__mro__ if (found := _engine(kind))), None)
    if engine is None:
        return None
    try:
        import narwhals as nw
    except ImportError:
        fix = f'pip install "pandas-blowfish[{EXTRAS[engine]}]"'
        raise MissingPackageError("narwhals", fix) from None
    dtypes = answered(engine, "described", lambda: dict(nw.from_native(frame).collect_schema()))
    if twice := _twice(frame, engine):
        fix = "give each its own name."
        raise FrameError(f"columns occur twice: {', '.join(twice)}", columns=twice, fix=fix)
    return Scan(frame, engine, dtypes)


def _twice(frame: Any, engine: str) -> list[str]:
    """Return names that several columns have; DuckDB does not tell capitals apart."""
    if engine == "polars":
        return []
    names = [str(name).lower() if engine == "duckdb" else str(name) for name in frame.columns]
    return sorted({name for name in names if names.count(name) > 1})


def grouped(
    table: Scan,
    attributes: Sequence[Attribute],
    keys: Callable[[Steps], Sequence[Key]],
    sums: Sequence[str] = (),
    *,
    clip: bool,
) -> tuple[list[Ints], dict[str, Ints]]:
    """Return the cells of each combination of keys that rows have, and how many rows have it.

    Args:
        table: The rows.
        attributes: The columns that are read.
        keys: Makes what rows are grouped by, and before that columns to add up.
        sums: The columns to add up by group.
        clip: Put numbers beyond the bounds into the nearest cell.
    """
    import narwhals as nw

    own: list[Key] = []

    def ask() -> Mapping[str, Any]:
        steps = table.steps(attributes, clip=clip)
        own.extend(keys(steps))
        made = [key.expression.alias(name) for key, name in zip(own, _names(own), strict=True)]
        rows = steps.frame.select(*made, *sums)
        added = [nw.col(each).sum() for each in sums]
        counts = rows.group_by(*_names(own)).agg(nw.len().alias(ROWS), *added)
        told = _guarded(counts, own, (ROWS, *sums))
        whole = [nw.col(each).cast(nw.Int64) for each in (ROWS, *sums)]  # DuckDB adds up in 128 bits
        return fetched(table.engine, told.with_columns(*whole))

    values = answered(table.engine, "counted", ask)
    known = np.asarray(values[KNOWN], dtype=np.int64) == 1
    cells = [key.cells(values[name])[known] for key, name in zip(own, _names(own), strict=True)]
    return cells, {name: np.asarray(values[name], dtype=np.int64)[known] for name in (ROWS, *sums)}


def _names(keys: Sequence[Key]) -> list[str]:
    return [f"blowfish key {at}" for at in range(len(keys))]


def _guarded(counts: Any, keys: Sequence[Key], sums: Sequence[str]) -> Any:
    """Return counted groups in which all values that no cell has are one null: no more come back.

    No filter, which engines would move ahead of the counting, to every row: KNOWN is 0 in what is to go.
    """
    import narwhals as nw

    names = _names(keys)
    listed = [(key.guard, name) for key, name in zip(keys, names, strict=True) if key.guard is not None]
    if not listed:
        return counts.with_columns(nw.lit(1, nw.Int64).alias(KNOWN))
    known = [guard_of(nw.col(name)) for guard_of, name in listed]
    told = [
        nw.when(each).then(nw.col(name)).otherwise(nw.lit(None)).alias(name)
        for each, (_, name) in zip(known, listed, strict=True)
    ]
    all_known = nw.when(nw.all_horizontal(*known, ignore_nulls=False))
    flag = all_known.then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64)).alias(KNOWN)
    again = counts.with_columns(*told, flag)
    return again.group_by(*names, KNOWN).agg(*(nw.col(each).sum() for each in sums))


def rows_of(table: Scan) -> int:
    """Return the number of rows."""
    import narwhals as nw

    def ask() -> Mapping[str, Any]:
        frame = with_instants(table.engine, table.native, [])
        return fetched(table.engine, frame.select(nw.len().alias(ROWS)))

    (count,) = answered(table.engine, "counted", ask)[ROWS]
    return int(count)


def each_once(table: Scan, name: str) -> bool:
    """Tell whether every row has a value of a column that no other row has."""
    import narwhals as nw

    kept = table.storage(name)

    def ask() -> Mapping[str, Any]:
        column = with_instants(table.engine, table.native, []).select(name)
        groups = column.group_by(name).agg(nw.len().alias(ROWS))
        bad = groups.filter((nw.col(ROWS) > 1) | absent(kept))
        return fetched(table.engine, bad.select(nw.len().alias(ROWS)))

    (count,) = answered(table.engine, "counted", ask)[ROWS]
    return int(count) == 0


def _engine(kind: type) -> str:
    """Return the engine that a class of tables belongs to, "" for none; nothing is imported."""
    engine = kind.__module__.split(".")[0].lstrip("_")
    return engine if kind.__name__ in TABLES.get(engine, ()) else ""
