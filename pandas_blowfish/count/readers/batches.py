"""Tables that an engine hands out as Arrow batches, each a pandas frame here: sees rows."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_blowfish.count.readers.pieces import Answer, Key, Pieces, Plus, Work, ask_engine
from pandas_blowfish.errors import FrameError, MissingPackageError
from pandas_blowfish.progress import show_progress

ROWS = 1 << 20  # of a batch
NEAR = 2.0**-34  # of a step: values on an edge, which division may put below it, are in the stretch above


@dataclass(frozen=True, eq=False)
class ArrowTable(Pieces):
    """A table whose columns have Arrow types."""

    engine: ClassVar[str]
    extra: ClassVar[str]

    @abstractmethod
    def _schema(self) -> Any:
        """Return the Arrow schema; touches no row."""

    @abstractmethod
    def _count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _distinct(self, name: str) -> int:
        """Return how many values of a column differ; missing ones do not count."""

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:  # noqa: ARG002
        """Return a table of groups as `group` does, with at most one more than may come back."""
        return None

    @cached_property
    def schema(self) -> Any:
        """Return the Arrow schema."""
        return self._ask("described", self._schema)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.schema.names)

    @property
    def dtypes(self) -> dict[str, Any]:
        """Return how pandas would keep each column; object for what it has no dtype for."""
        return {each.name: _dtype(each.type) for each in self.schema}

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self._ask("counted", self._count))

    def is_unique(self, name: str) -> bool:
        """Return whether every row has a value of a column that no other row has."""
        self.require_values([name])
        return int(self._ask("counted", lambda: self._distinct(name))) == self.rows

    def group(self, keys: Sequence[Key], most: int) -> pd.DataFrame | None:
        """Return groups of rows, counted by the engine; None where there are none, or too many."""
        self.require_values([key.name for key in keys])
        table = self._ask("counted", lambda: self._groups(keys, most))
        return None if table is None or table.num_rows > most else frame_of(table)

    def require_values(self, names: Sequence[str]) -> None:
        """Refuse columns whose storage holds no declared value (lists, structs, times of day, bytes, ...)."""
        for name in names:
            if not _holds_values(kind := self.schema.field(name).type):
                raise FrameError(
                    f"column {name!r} is stored as {kind}, which holds no declared value",
                    columns=[name],
                    fix="cast it in the engine to numbers, text, booleans, dates or timestamps.",
                )

    def _empty(self, names: Sequence[str]) -> pd.DataFrame:
        return frame_of(self.schema.empty_table().select(list(names)))

    def _ask(self, what: str, ask: Callable[[], Answer]) -> Answer:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingPackageError("pyarrow", f'pip install "pandas-blowfish[{self.extra}]"') from None
        return ask_engine(self.engine, what, ask)


@dataclass(frozen=True, eq=False)
class Batches(ArrowTable):
    """A table that is read batch by batch, and counted in this process."""

    @abstractmethod
    def _read(self, names: list[str]) -> Iterator[Any]:
        """Yield record batches, or tables, of some columns."""

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield some columns of the rows, at least once, so that an empty table is one empty frame."""
        names = list(dict.fromkeys(columns))
        self.require_values(names)
        batches = self._ask("read", lambda: iter(self._read(names)))
        none = True
        while (frame := self._ask("read", lambda: next_frame(batches))) is not None:
            none = False
            yield frame
        if none:
            yield self._empty(names)

    def merge(self, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]) -> Answer:
        """Return what some work finds in every part, merged."""
        return reduce(plus, show_progress(self._answers(columns, work), "counting"))

    def _answers(self, columns: Sequence[str], work: Work[Answer]) -> Iterator[Answer]:
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


def next_frame(batches: Iterator[Any]) -> pd.DataFrame | None:
    """Return the next batches as one frame of many rows; None after the last."""
    import pyarrow as pa

    read: list[Any] = []
    while (
        sum(each.num_rows for each in read) < max(ROWS // 2, 1) and (batch := next(batches, None)) is not None
    ):
        read += batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        if not read:  # a table without rows has no batches
            read = batch.schema.empty_table().to_batches() or [pa.RecordBatch.from_pylist([], batch.schema)]
    if not read:
        return None
    return frame_of(read[0] if len(read) == 1 else pa.Table.from_batches(read))


def frame_of(table: Any) -> pd.DataFrame:
    """Return an Arrow table, or a batch of one, as a pandas frame; its columns are those of `column_of`."""
    columns = {name: column_of(table.column(at)) for at, name in enumerate(table.schema.names)}
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)


def column_of(values: Any) -> Any:
    """Return an Arrow column as pandas counts it fastest: numbers as they lie, text as categories."""
    import pyarrow as pa
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):  # which may hold a value twice, or null
        values, kind = values.cast(kind.value_type), kind.value_type
    if _is_text(kind):
        return values.dictionary_encode().to_pandas()
    if types.is_date(kind):
        values = values.cast(pa.timestamp("s" if types.is_date32(kind) else "ms"))
    if (types.is_integer(kind) or types.is_floating(kind)) and not values.null_count:
        chunks = isinstance(values, pa.ChunkedArray)
        return values.to_numpy() if chunks else values.to_numpy(zero_copy_only=False)
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


def _dtype(kind: Any) -> Any:
    """Return the dtype by which schema code is drafted."""
    from pyarrow import types

    if types.is_timestamp(kind):
        return pd.api.types.pandas_dtype(f"datetime64[{kind.unit}{f', {kind.tz}' if kind.tz else ''}]")
    if types.is_dictionary(kind):
        return pd.CategoricalDtype()
    names = {
        "int64": types.is_integer,
        "float64": lambda each: types.is_floating(each) or types.is_decimal(each),
        "bool": types.is_boolean,
        "datetime64[s]": types.is_date,
        "str": _is_text,
    }
    found = next((name for name, test in names.items() if test(kind)), None)
    return np.dtype(object) if found is None else pd.api.types.pandas_dtype(found)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _holds_values(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return _dtype(kind) != np.dtype(object) or bool(types.is_null(kind))
