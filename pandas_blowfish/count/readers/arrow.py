"""PyArrow tables and datasets of files, read batch by batch. Sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.batches import Batches
from pandas_blowfish.count.readers.pieces import Key, is_unique

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

    def is_unique(self, name: str) -> bool:
        """Return whether every row has a value of a column that no other row has."""
        return is_unique(pd.concat([part[name] for part in self.frames([name])]))

    def _distinct(self, name: str) -> int:
        raise NotImplementedError  # a column is read whole

    def _read(self, names: list[str]) -> Iterator[Any]:
        if self.is_files:
            return iter(self.native.to_batches(columns=names, batch_size=batches.ROWS, **AHEAD))
        return iter(self.native.select(names).to_batches(max_chunksize=batches.ROWS))

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:  # noqa: ARG002
        import pyarrow as pa
        from pyarrow import acero

        if any(key.step for key in keys):  # it reads numbers sooner than it groups them
            return None
        names = [key.name for key in keys]
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
    """Return a PyArrow table or dataset; None for what is neither."""
    kinds = {f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(frame).__mro__}
    return ArrowBatches(frame) if kinds & {"pyarrow.Table", "pyarrow.Dataset"} else None
