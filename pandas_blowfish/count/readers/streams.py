"""Tables of any library that hands out Arrow streams, and functions that open one: sees rows.

Rows are read again at each release, so a stream that can be read once is refused: a function that opens a new
one each time is taken instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isclass, signature
from typing import Any, ClassVar

import pandas as pd

from pandas_blowfish.count.readers.batches import Batches
from pandas_blowfish.count.readers.pieces import ask_engine, has_class
from pandas_blowfish.errors import FrameError

ONCE = ("__next__", "read_next_batch", "read_next")  # what a stream that is read once has
COLUMNS = ("Series", "ChunkedArray", "Array")  # of one column, which no table is
_READER = "such as bf.protect(lambda: dataset.scanner().to_reader(), ...)."


@dataclass(frozen=True, eq=False)
class StreamBatches(Batches):
    """A table as a function that opens a new stream of its batches."""

    engine: ClassVar[str] = "Arrow stream"
    extra: ClassVar[str] = "parquet"

    def _schema(self) -> Any:
        return _open(self.native)[0]

    def _count(self) -> int:
        return sum(int(each.num_rows) for each in _open(self.native)[1])

    def _distinct(self, name: str) -> int:
        return int(pd.concat([part[name] for part in self.frames([name])]).nunique())

    def _read(self, names: list[str]) -> Iterator[Any]:
        return (each.select(names) for each in _open(self.native)[1])


def _open(source: Callable[[], Any]) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the batches of a new stream."""
    import pyarrow as pa

    opened = source()
    if not hasattr(opened, "__arrow_c_stream__") and hasattr(opened, "__iter__"):
        batches = iter(opened)
        first = next(batches, None)
        if first is None:
            fix = "give a pyarrow.RecordBatchReader, which has a schema also without rows."
            raise FrameError("the function gives no batches, so that nobody knows its columns", fix=fix)
        first = _batch(first)
        return first.schema, itertools.chain([first], map(_batch, batches))
    reader = pa.RecordBatchReader.from_stream(opened)
    return reader.schema, iter(reader)


def _batch(given: Any) -> Any:
    """Return a record batch of any library as one of PyArrow."""
    import pyarrow as pa

    return pa.record_batch(given) if hasattr(given, "__arrow_c_array__") else given


def read_stream(frame: Any) -> StreamBatches | None:
    """Return a table of the Arrow PyCapsule protocol, or a function that opens a stream; None for neither."""
    if isinstance(frame, pd.DataFrame) or isclass(frame):
        return None
    if hasattr(frame, "__arrow_c_stream__"):
        if type(frame).__name__ in COLUMNS:
            return None
        _require_again(frame)
        return StreamBatches(lambda: frame)
    if not callable(frame) or not _takes_nothing(frame):
        return None
    first, second = (ask_engine(StreamBatches.engine, "opened", frame) for _ in range(2))
    if first is second and _is_once(first):
        fix = f"open a new one in the function, {_READER}"
        raise FrameError("the function gives one stream twice, which can be read once", fix=fix)
    if not (hasattr(first, "__arrow_c_stream__") or hasattr(first, "__iter__")):
        fix = f"return a pyarrow.RecordBatchReader or an iterable of record batches, {_READER}"
        raise FrameError(f"the function gives a {type(first).__name__}, which is no stream", fix=fix)
    return StreamBatches(frame)


def _takes_nothing(function: Any) -> bool:
    """Return whether a function may be called without arguments."""
    try:
        signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _is_once(stream: Any) -> bool:
    """Return whether rows of a stream can be read once only."""
    return any(hasattr(stream, name) for name in ONCE)


def _require_again(frame: Any) -> None:
    """Refuse streams that are gone once they are read."""
    if _is_once(frame):
        fix = f"give a function that opens it, {_READER}"
        raise FrameError(
            f"a {type(frame).__name__} can be read once, and each release reads the rows", fix=fix
        )


def refuse_others(frame: Any) -> None:
    """Refuse frames of libraries that no reader is for, with what to give instead."""
    ways = {"modin": "frame.modin.to_pandas()", "cudf": "frame.to_arrow()"}
    for package, way in ways.items():
        if has_class(frame, package, "DataFrame"):
            raise FrameError(f"a {package} frame is no table that can be counted", fix=f"give {way}.")
