"""PyArrow tables and datasets of files, read batch by batch. Sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.batches import Batches
from pandas_blowfish.count.readers.pieces import Key, has_class

AHEAD = {"batch_readahead": 4, "fragment_readahead": 2}  # read before they are asked for: less memory


@dataclass(frozen=True, eq=False)
class ArrowBatches(Batches):
    """A PyArrow table or dataset."""

    engine: ClassVar[str] = "pyarrow"
    extra: ClassVar[str] = "parquet"

    @property
    def is_files(self) -> bool:
        """Return whether rows are read from files."""
        return hasattr(self.native, "count_rows")

    def _schema(self) -> Any:
        return self.native.schema

    def _count(self) -> int:
        return int(self.native.count_rows() if self.is_files else self.native.num_rows)

    def _distinct(self, name: str) -> int:
        return int(pd.concat([part[name] for part in self.frames([name])]).nunique())

    def _read(self, names: list[str]) -> Iterator[Any]:
        if self.is_files:
            return iter(self.native.to_batches(columns=names, batch_size=batches.ROWS, **AHEAD))
        return iter(self.native.select(names).to_batches(max_chunksize=batches.ROWS))

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:  # noqa: ARG002
        import pyarrow as pa
        from pyarrow import acero

        names = [key.name for key in keys]
        kinds = [self.schema.field(name).type for name in names]
        if any(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            return None  # numbers are sooner read than grouped
        if self.is_files:
            source = acero.Declaration("scan", acero.ScanNodeOptions(self.native, columns=names, **AHEAD))
        else:
            source = acero.Declaration(
                "table_source", acero.TableSourceNodeOptions(self.native.select(names))
            )
        least = [f"least {at}" for at in range(len(keys))]
        chosen = acero.ProjectNodeOptions([pa.compute.field(name) for name in names], least)
        count = acero.AggregateNodeOptions([([], "hash_count_all", None, "rows")], keys=least)
        steps = [source, acero.Declaration("project", chosen), acero.Declaration("aggregate", count)]
        return acero.Declaration.from_sequence(steps).to_table()


def read_arrow(frame: Any) -> ArrowBatches | None:
    """Return a PyArrow table, batch or dataset; None for what is none."""
    if has_class(frame, "pyarrow", "RecordBatch"):
        import pyarrow as pa

        frame = pa.Table.from_batches([frame])
    return ArrowBatches(frame) if has_class(frame, "pyarrow", "Table", "Dataset") else None
