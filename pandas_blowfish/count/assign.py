"""Rows to the numbers of their nearest centres: this module sees rows. It draws and charges nothing.

What comes back has a number for each row, so it is as private as the rows. No message shows a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.tally import require_columns
from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.centres import nearest
from pandas_blowfish.policy.attribute import Attribute, is_missing

Reader = Callable[[int, int], Floats]
CHUNK = 1 << 17


@dataclass(frozen=True, eq=False)
class Centres:
    """Released centres, as rows are compared with them.

    Attributes:
        coordinates: The columns that have distances.
        units: What one unit of each counts in them.
        groups: The columns whose values pick a group of centres; none for one group.
        lots: For each group, by its number in C order, the numbers of its clusters and their centres.
        clip: Whether group values beyond the bounds are those of the nearest cell.
        bins: For each of the groups' columns the bin of each cell, -1 for none; None for each by itself.
    """

    coordinates: tuple[str, ...]
    units: Floats
    groups: tuple[Attribute, ...]
    lots: Mapping[int, tuple[Ints, Floats]]
    clip: bool = False
    bins: tuple[Ints | None, ...] = ()


def assign_rows(frame: Any, centres: Centres) -> pd.Series[Any]:
    """Return the number of the nearest centre for each row, missing where a coordinate or the group is.

    Args:
        frame: Any rows with the columns of the centres; coordinates are numbers of any dtype.
        centres: What rows are compared with, in the columns' own units.
    """
    names = [*centres.coordinates, *(group.name for group in centres.groups)]
    require_columns(frame, names)
    read = [_reader(frame[name]) for name in centres.coordinates]
    codes = [encoder(frame[group.name], group, clip=centres.clip) for group in centres.groups]
    origin = np.mean(np.concatenate([each for _, each in centres.lots.values()]), axis=0)
    lots = {lot: (of, (each - origin) * centres.units) for lot, (of, each) in centres.lots.items()}
    found, known = np.zeros(len(frame), dtype=np.int64), np.zeros(len(frame), dtype=bool)
    for start in range(0, len(frame), CHUNK):
        stop = min(start + CHUNK, len(frame))
        points = np.empty((stop - start, len(read)))
        with np.errstate(over="ignore", invalid="ignore"):
            for axis, each in enumerate(read):
                points[:, axis] = (each(start, stop) - origin[axis]) * centres.units[axis]
        whole = np.asarray(np.isfinite(points).all(axis=1))
        lot = _lots(centres, codes, start, stop)
        for number, rows in _parts(lot, whole):
            if number in lots:
                of, places = lots[number]
                found[start:stop][rows] = of[nearest(points[rows], places)]
                known[start:stop][rows] = True
    return pd.Series(pd.arrays.IntegerArray(found, ~known), index=frame.index, name="cluster")


def _lots(centres: Centres, codes: list[Any], start: int, stop: int) -> Ints | None:
    """Return the number of each row's group, -1 for those of none; None where all rows are in one."""
    if not centres.groups:
        return None
    lot: Ints = np.zeros(stop - start, dtype=np.int64)
    outside: NDArray[np.bool_] = np.zeros(stop - start, dtype=bool)
    bins = centres.bins or (None,) * len(centres.groups)
    for group, marks, read in zip(centres.groups, bins, codes, strict=True):
        cells = read(start, stop)
        outside |= cells < 0
        if marks is not None:
            cells = marks[np.maximum(cells, 0)]
            outside |= cells < 0
        lot = lot * (group.size if marks is None else int(marks.max()) + 1) + cells
    return np.where(outside, -1, lot)


def _parts(lot: Ints | None, whole: NDArray[np.bool_]) -> list[tuple[int, Any]]:
    """Return the rows of each group whose coordinates are all there."""
    if lot is None:
        return [(0, slice(None) if whole.all() else np.flatnonzero(whole))]
    kept = np.flatnonzero(whole)
    kept = kept[np.argsort(lot[kept], kind="stable")]
    numbers, starts = np.unique(lot[kept], return_index=True)
    return list(zip(numbers.tolist(), np.split(kept, starts[1:]), strict=True)) if len(kept) else []


def _reader(series: pd.Series[Any]) -> Reader:
    """Return a function from rows start..stop-1 of a column to its numbers, NaN for what is missing."""
    dtype: Any = series.dtype
    if isinstance(dtype, (pd.SparseDtype, pd.CategoricalDtype)):
        return _reader(pd.Series(np.asarray(series.array), name=series.name))
    array: Any = series.array
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind not in "bcm":
        return lambda start, stop: array[start:stop].to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_object_dtype(dtype):
        column = str(series.name)
        return lambda start, stop: np.array(
            [_number(each, column) for each in array[start:stop]], dtype=float
        )
    raise _refused(str(series.name))


def _number(value: Any, column: str) -> float:
    """Return one number, NaN for what is missing."""
    if is_missing(value):
        return math.nan
    if isinstance(value, (Real, Decimal)) and not isinstance(value, (bool, np.bool_)):
        try:
            return float(value)
        except (OverflowError, ValueError):
            return math.inf
    raise _refused(column)


def _refused(column: str) -> FrameError:
    return FrameError(
        f"column {column!r} does not hold numbers", columns=[column], fix="give it a dtype of numbers."
    )
