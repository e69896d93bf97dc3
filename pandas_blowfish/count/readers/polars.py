"""polars frames, eager and lazy, read batch by batch. Sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.batches import NEAR, Batches
from pandas_blowfish.count.readers.pieces import Key, has_class


@dataclass(frozen=True, eq=False)
class PolarsBatches(Batches):
    """A polars DataFrame or LazyFrame."""

    engine: ClassVar[str] = "polars"
    extra: ClassVar[str] = "polars"

    def _schema(self) -> Any:
        import polars as pl
        import pyarrow as pa

        kinds = dict(self.native.collect_schema())
        large = {name for name, kind in kinds.items() if kind in (pl.Int128, pl.UInt128)}  # Arrow has none
        shown = {name: pl.Null if name in large else kind for name, kind in kinds.items()}
        schema = pl.DataFrame(schema=shown).to_arrow().schema
        for at, name in enumerate(schema.names):
            if name in large:
                schema = schema.set(at, pa.field(name, pa.binary(16)))
        return schema

    def _count(self) -> int:
        import polars as pl

        return int(self.native.lazy().select(pl.len()).collect(engine="streaming").item())

    def _distinct(self, name: str) -> int:
        import polars as pl

        values = self._select([name]).fill_nan(None).drop_nulls()
        return int(values.select(pl.all().n_unique()).collect(engine="streaming").item())

    def _select(self, names: Sequence[str]) -> Any:
        import polars.selectors as cs

        return self.native.lazy().select(cs.by_name(*names))  # a name such as "^a$" is no pattern here

    def _read(self, names: list[str]) -> Iterator[Any]:
        import polars.selectors as cs

        if hasattr(self.native, "iter_slices"):
            slices = self.native.select(cs.by_name(*names)).iter_slices(batches.ROWS)
        else:
            slices = self._select(names).collect_batches(
                chunk_size=batches.ROWS, maintain_order=False, engine="streaming"
            )
        return (each.to_arrow() for each in slices)

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:
        import polars as pl

        names = [f"least {at}" for at in range(len(keys))]
        rows = self._select([key.name for key in keys])
        rows = rows.rename(dict(zip([key.name for key in keys], names, strict=True)))
        by, ends = [], []
        for at, key in enumerate(keys):
            column = pl.col(names[at])
            if not key.step:
                by.append(column)
                continue
            place = ((column - key.low) / key.step + NEAR).floor()
            by.append(place.alias(f"key {at}"))
            ends += [column.min(), column.nan_max().alias(f"greatest {at}")]
        counts = rows.group_by(by).agg(*ends, pl.len().alias("rows"))
        return counts.head(most + 1).collect(engine="streaming").to_arrow()


def read_polars(frame: Any) -> PolarsBatches | None:
    """Return a polars frame; None for what is none."""
    return PolarsBatches(frame) if has_class(frame, "polars", "DataFrame", "LazyFrame") else None
