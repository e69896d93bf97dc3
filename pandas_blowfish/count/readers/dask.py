"""Dask DataFrames: their partitions are pandas frames, counted by the workers that hold them. Sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

import pandas as pd

from pandas_blowfish.count.readers.batches import column_of
from pandas_blowfish.count.readers.pieces import Answer, Pieces, Plus, Work, ask_engine, has_class
from pandas_blowfish.progress import is_watched

WAYS = 8  # answers that one task merges


@dataclass(frozen=True, eq=False)
class Partitions(Pieces):
    """A Dask DataFrame, on threads or on a cluster whose workers have this package installed."""

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.native.columns)

    @property
    def dtypes(self) -> dict[str, Any]:
        """Return how pandas would keep each column; object for what it has no dtype for."""
        return dict(self.native.dtypes)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(ask_engine("dask", "counted", lambda: len(self.native)))

    def merge(self, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]) -> Answer:
        """Return what some work finds in every part, merged."""
        names = list(dict.fromkeys(columns))
        return ask_engine("dask", "counted", lambda: _compute(self.native[names], work, plus))

    def is_unique(self, name: str) -> bool:
        """Return whether every row has a value of a column that no other row has."""
        found = ask_engine("dask", "counted", lambda: self.native[name].nunique().compute())
        return int(found) == self.rows  # null is no value


def _compute(native: Any, work: Work[Answer], plus: Plus[Answer]) -> Answer:
    """Return the merged answer of all partitions; the workers merge, and one answer comes back."""
    dask: Any = import_module("dask")

    def look(part: pd.DataFrame) -> Answer:
        return work(_as_categories(part))

    def fold(answers: list[Answer]) -> Answer:
        return reduce(plus, answers)

    looks, folds = (dask.delayed(each, pure=False, traverse=False) for each in (look, fold))
    level = [looks(part) for part in native.to_delayed()]
    while len(level) > 1:
        level = [folds(level[start : start + WAYS]) for start in range(0, len(level), WAYS)]
    bar: Any = import_module("dask.diagnostics").ProgressBar(minimum=2) if is_watched() else nullcontext()
    with bar:  # of threads; a cluster has its dashboard
        (found,) = dask.compute(level[0])
    answer: Answer = found
    return answer


def _as_categories(part: pd.DataFrame) -> pd.DataFrame:
    """Return a partition whose text, where Arrow keeps it, is coded once for all of its rows."""
    import pyarrow as pa

    found: dict[Any, Any] = {}
    for name in part.columns:
        dtype = part[name].dtype
        arrow = isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow")
        arrow |= isinstance(dtype, pd.ArrowDtype) and dtype.kind == "O"
        found[name] = column_of(pa.array(part[name].array)) if arrow else part[name].array
    return pd.DataFrame(found, index=pd.RangeIndex(len(part)), copy=False)


def read_dask(frame: Any) -> Partitions | None:
    """Return a Dask DataFrame; None for what is none."""
    return Partitions(frame) if has_class(frame, "dask", "DataFrame") else None
