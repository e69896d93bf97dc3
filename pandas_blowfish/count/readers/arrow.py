"""PyArrow tables and datasets of files, as pandas frames of a batch of rows each. Sees rows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pandas as pd

from pandas_blowfish.count.progress import told
from pandas_blowfish.count.readers.pieces import Answer, Pieces, told_apart
from pandas_blowfish.count.readers.storage import answered

ROWS = 1 << 20  # of a batch
AHEAD = {"batch_readahead": 4, "fragment_readahead": 2}  # read before they are asked for: less memory
COUNT = "blowfish rows"


@dataclass(frozen=True, eq=False)
class Batches(Pieces):
    """A PyArrow table or dataset."""

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.native.schema.names)

    @property
    def dtypes(self) -> dict[str, Any]:
        """Return how pandas would keep each column."""
        import pyarrow as pa

        found: dict[str, Any] = {}
        for each in self.native.schema:
            found[each.name] = pd.ArrowDtype(each.type)
            if pa.types.is_dictionary(each.type):
                found[each.name] = pd.CategoricalDtype()
            elif pa.types.is_timestamp(each.type):
                zone = f", {each.type.tz}" if each.type.tz else ""
                found[each.name] = pd.api.types.pandas_dtype(f"datetime64[{each.type.unit}{zone}]")
        return found

    @property
    def is_files(self) -> bool:
        """Tell whether rows are read from files."""
        return hasattr(self.native, "count_rows")

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        if not self.is_files:
            return int(self.native.num_rows)
        return int(answered("pyarrow", "counted", self.native.count_rows))

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield some columns of the rows, at least once, so that an empty table is one empty frame."""
        names = list(dict.fromkeys(columns))
        batches = answered("pyarrow", "read", lambda: self._batches(names))
        none = True
        while (frame := answered("pyarrow", "read", lambda: _next(batches))) is not None:
            none = False
            yield frame
        if none:
            empty = self.native.schema.empty_table().select(names)
            yield pd.DataFrame({name: by_category(empty[name]) for name in names})

    def merged(
        self,
        columns: Sequence[str],
        work: Callable[[pd.DataFrame], Answer],
        merge: Callable[[Answer, Answer], Answer],
    ) -> Answer:
        """Return what some work finds in every batch, merged."""
        return reduce(merge, told(self.pieces(columns, work), "counting"))

    def each_once(self, name: str) -> bool:
        """Tell whether every row has a value of a column that no other row has."""
        return told_apart(pd.concat([part[name] for part in self.frames([name])]))

    def pieces(self, columns: Sequence[str], work: Callable[[pd.DataFrame], Answer]) -> Iterator[Answer]:
        """Yield what some work gives of each batch, as many at a time as there are processors."""
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Answer]] = deque()
            for frame in self.frames(columns):
                waiting.append(pool.submit(work, frame))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def grouped(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return which values of some columns occur together and, in the last column, how often."""
        import pyarrow as pa
        from pyarrow import acero

        names = list(dict.fromkeys(columns))
        if self.is_files:
            source = acero.Declaration("scan", acero.ScanNodeOptions(self.native, columns=names, **AHEAD))
        else:
            source = acero.Declaration(
                "table_source", acero.TableSourceNodeOptions(self.native.select(names))
            )
        kept = acero.ProjectNodeOptions([pa.compute.field(name) for name in names], names)
        count = acero.AggregateNodeOptions([([], "hash_count_all", None, COUNT)], keys=names)
        steps = [source, acero.Declaration("project", kept), acero.Declaration("aggregate", count)]
        table = answered("pyarrow", "counted", lambda: acero.Declaration.from_sequence(steps).to_table())
        return pd.DataFrame({name: by_category(table[name]) for name in (*names, COUNT)}, copy=False)

    def _batches(self, names: list[str]) -> Iterator[Any]:
        if self.is_files:
            return iter(self.native.to_batches(columns=names, batch_size=ROWS, **AHEAD))
        return iter(self.native.select(names).to_batches(max_chunksize=ROWS))


def _next(batches: Iterator[Any]) -> pd.DataFrame | None:
    """Return the next batch of rows; None after the last."""
    import pyarrow as pa

    gathered: list[Any] = []
    while sum(each.num_rows for each in gathered) < ROWS // 2 and (batch := next(batches, None)) is not None:
        gathered.append(batch)
    if not gathered:
        return None
    part = gathered[0] if len(gathered) == 1 else pa.Table.from_batches(gathered)
    columns = {name: by_category(part[name]) for name in part.schema.names}
    return pd.DataFrame(columns, index=pd.RangeIndex(part.num_rows), copy=False)


def by_category(values: Any) -> Any:
    """Return an Arrow column as pandas counts it fastest: numbers as they lie, text as categories."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):  # which may hold a value twice, or null
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.dictionary_encode().to_pandas()
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not values.null_count:
        return (
            values.to_numpy()
            if isinstance(values, pa.ChunkedArray)
            else values.to_numpy(zero_copy_only=False)
        )
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


def batches_of(frame: Any) -> Batches | None:
    """Return a PyArrow table or dataset; None for what is neither."""
    kinds = {f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(frame).__mro__}
    return Batches(frame) if kinds & {"pyarrow.Table", "pyarrow.Dataset"} else None
