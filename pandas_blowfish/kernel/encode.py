"""Rows to cell codes, by value and whatever the storage: this module sees rows.

A code is the cell's number, OUTSIDE for a value that is not declared, MISSING for a null that is not
allowed. Nothing here raises because of a row's value, and no value is ever put into a message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import DeclaredValueError
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values
from pandas_blowfish.policy.instant import NS_PER_UNIT

Ints = NDArray[np.int64]
OUTSIDE, MISSING = -1, -2
_NAT = np.iinfo(np.int64).min


def encoder(series: pd.Series[Any], attribute: Attribute, *, clip: bool) -> Callable[[int, int], Ints]:
    """Return a function that codes the rows start..stop-1 of a column.

    Args:
        series: The column.
        attribute: Its declared cells.
        clip: Put numbers beyond the bounds into the nearest cell.
    """
    array, dtype = series.array, series.dtype
    if isinstance(attribute, Unbounded):
        return lambda start, stop: _raw(array[start:stop])
    if isinstance(dtype, pd.CategoricalDtype):
        table = np.append(_scalars(list(dtype.categories), attribute, clip), _missing(attribute))
        codes = array.codes  # type: ignore[attr-defined]
        return lambda start, stop: table[codes[start:stop]]
    kind = _storage(dtype)
    if kind == "datetime" and attribute.kind == "datetime":
        if (getattr(dtype, "tz", None) is None) != (getattr(attribute, "tz", None) is None):
            return lambda start, stop: np.full(stop - start, OUTSIDE, dtype=np.int64)
        unit = NS_PER_UNIT[dtype.unit if isinstance(dtype, pd.DatetimeTZDtype) else np.datetime_data(dtype)[0]]
        return lambda start, stop: _instants(array[start:stop].asi8, unit, attribute, clip)  # type: ignore[attr-defined]
    if kind == "number" and attribute.kind in ("integer", "float"):
        data = series.to_numpy() if isinstance(dtype, np.dtype) else None
        if data is not None:
            return lambda start, stop: _numbers(data[start:stop], attribute, clip)
        return lambda start, stop: _masked(array[start:stop], attribute, clip)
    if kind == "bool" and attribute.kind == "bool" and isinstance(dtype, np.dtype):
        pair = _scalars([False, True], attribute, clip)
        flags = series.to_numpy().view(np.int8)
        return lambda start, stop: pair[flags[start:stop]]
    memo: dict[Any, int] = {}
    return lambda start, stop: _objects(array[start:stop], attribute, clip, memo)


def _storage(dtype: Any) -> str:
    """Return what kind of values a dtype stores, for the fast paths; "" for the general one."""
    if isinstance(dtype, pd.ArrowDtype):
        return "number" if dtype.kind in "iuf" else ""
    if pd.api.types.is_bool_dtype(dtype):
        return "bool"
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "iuf":
        return "number"
    return "datetime" if dtype.kind == "M" else ""


def _missing(attribute: Attribute) -> int:
    return attribute.cells if attribute.nullable else MISSING


def _scalars(values: list[Any], attribute: Attribute, clip: bool) -> Ints:
    """Return the codes of single values, exactly, through the declared domain."""
    return np.array([_scalar(value, attribute, clip) for value in values], dtype=np.int64)


def _scalar(value: Any, attribute: Attribute, clip: bool) -> int:
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value):
        return _missing(attribute)
    if isinstance(value, (bool, np.bool_)) and attribute.kind in ("integer", "float"):
        return OUTSIDE
    if isinstance(value, (int, float, np.integer, np.floating)) and attribute.kind in ("integer", "float"):
        return int(_numbers(np.array([value]), attribute, clip)[0])
    if attribute.kind == "bool" and isinstance(value, (int, float, np.integer, np.floating)) and value in (0, 1):
        value = bool(value)
    if isinstance(value, str) and attribute.kind in ("integer", "float", "datetime"):
        return OUTSIDE  # text is not a number, even where a constant in a policy may be written as one
    try:
        return attribute.code(value.item() if isinstance(value, np.generic) else value)
    except DeclaredValueError:
        return OUTSIDE


def _objects(chunk: Any, attribute: Attribute, clip: bool, memo: dict[Any, int]) -> Ints:
    """Code text and mixed objects: each distinct value once."""
    kind = pd.api.types.infer_dtype(chunk, skipna=True)
    if kind.startswith("mixed"):  # True and 1 are one value to a hash table, but not to a schema
        found = [_lookup(value, attribute, clip, memo) for value in chunk]
        return np.array(found, dtype=np.int64).reshape(-1)
    codes, distinct = pd.factorize(chunk)
    table = [_lookup(value, attribute, clip, memo) for value in distinct]
    return np.array([*table, _missing(attribute)], dtype=np.int64)[codes]


def _lookup(value: Any, attribute: Attribute, clip: bool, memo: dict[Any, int]) -> int:
    try:
        key = (type(value), value)
        if key not in memo:
            memo[key] = _scalar(value, attribute, clip)
        return memo[key]
    except TypeError:  # unhashable: no declared value is
        return OUTSIDE


def _masked(chunk: Any, attribute: Attribute, clip: bool) -> Ints:
    """Code numbers stored with a mask (Int64, Float64, Arrow)."""
    null = np.asarray(chunk.isna(), dtype=bool)
    kind = np.dtype(np.float64) if chunk.dtype.kind == "f" else np.dtype(f"{chunk.dtype.kind}8")
    codes = _numbers(chunk.to_numpy(dtype=kind, na_value=0), attribute, clip)
    return np.where(null, _missing(attribute), codes)


def _numbers(data: NDArray[Any], attribute: Attribute, clip: bool) -> Ints:
    """Code plain numbers."""
    if data.dtype == np.uint64:  # beyond int64 nothing is declared; clipping still means the top cell
        data = np.minimum(data, np.uint64(2**63 - 1)).astype(np.int64)
    if isinstance(attribute, Values):
        return _listed(data, attribute, clip)
    assert isinstance(attribute, Grid)
    if attribute.kind == "integer" and data.dtype.kind == "i":
        return _whole(data.astype(np.int64, copy=False), attribute, clip)
    return _real(data, attribute, clip)


def _whole(data: Ints, grid: Grid, clip: bool) -> Ints:
    """Code whole numbers: shift, check the range in one unsigned comparison, divide by the step."""
    low, high, step = int(grid.low), int(grid.high), int(grid.step)
    if clip:
        data = np.clip(data, low, high)
    codes = data - low if low else data
    # differences wrap modulo 2^64, so an unsigned comparison finds everything outside [0, high - low]
    outside = codes.view(np.uint64) > np.uint64(high - low) if len(codes) else np.zeros(0, dtype=bool)
    if step > 1:
        codes = codes // step
    return np.where(outside, OUTSIDE, codes) if outside.any() else codes


def _real(data: NDArray[Any], grid: Grid, clip: bool) -> Ints:
    """Code floats: a guess by division, set right against the stored edges."""
    low, high = float(grid.low), float(grid.high)
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    null = np.isnan(data)
    below = data <= low if grid.open_low else data < data.dtype.type(low)
    above = data >= high if grid.open_high else data > data.dtype.type(high)
    inside = np.where(null | below | above, data.dtype.type(low), data)
    if grid.kind == "integer":
        codes = inside.astype(np.int64) - int(grid.low)
        fraction = inside != np.floor(inside)
        codes = np.where(fraction, OUTSIDE, codes // int(grid.step))
    elif data.dtype == np.float64:
        edges = _edges(grid)
        codes = np.clip(((inside - low) / float(grid.step)).astype(np.int64), 0, grid.cells - 1)
        codes -= inside < edges[codes]
        codes += inside >= edges[codes + 1]
    else:  # narrower floats mean the decimals they print as: round the edges as they were rounded
        codes = np.searchsorted(_edges(grid)[:-1].astype(data.dtype), inside, side="right") - 1
    codes[below] = 0 if clip else OUTSIDE
    codes[above] = grid.cells - 1 if clip else OUTSIDE
    codes[null] = _missing(grid)
    return codes.astype(np.int64, copy=False)


def _edges(grid: Grid) -> NDArray[np.float64]:
    """Return the cells' edges and a last one that no value reaches."""
    edges = grid.lows(grid.cells + 1).astype(np.float64)
    edges[-1] = np.inf
    return edges


def _listed(data: NDArray[Any], attribute: Values, clip: bool) -> Ints:
    """Code numbers that must equal a declared one."""
    whole = data.dtype.kind == "i" and all(place.denominator == 1 for place in attribute.positions)
    declared = np.array([int(p) if whole else float(p) for p in attribute.positions])
    if data.dtype.kind == "f":
        declared = declared.astype(data.dtype)
    order = np.argsort(declared, kind="stable")
    line, null = declared[order], data != data
    place = np.minimum(np.searchsorted(line, data), len(line) - 1)
    codes = np.where(line[place] == data, order[place], OUTSIDE)
    if clip and attribute.ordered:
        codes = np.where(data < line[0], 0, np.where(data > line[-1], attribute.cells - 1, codes))
    codes[null] = _missing(attribute)
    return codes.astype(np.int64, copy=False)


def _instants(stamps: Ints, unit: int, attribute: Attribute, clip: bool) -> Ints:
    """Code instants stored in any unit; a coarser unit is widened only inside the bounds."""
    null = stamps == _NAT
    if isinstance(attribute, Values):
        places = {int(p) // unit: code for code, p in enumerate(attribute.positions) if p % unit == 0}
        line = np.array(sorted(places), dtype=np.int64)
        if not len(line):
            return np.where(null, _missing(attribute), OUTSIDE)
        place = np.minimum(np.searchsorted(line, stamps), len(line) - 1)
        found = np.array([places[int(p)] for p in line])[place]
        return np.where(null, _missing(attribute), np.where(line[place] == stamps, found, OUTSIDE))
    assert isinstance(attribute, Grid)
    low, high, step = int(attribute.low), int(attribute.high), int(attribute.step)
    below = stamps < -((-low) // unit) + (attribute.open_low and low % unit == 0)
    above = stamps > high // unit - (attribute.open_high and high % unit == 0)
    base = low // unit
    offset = np.where(null | below | above, 0, stamps - base) * unit - (low - base * unit)
    codes = np.maximum(offset, 0) // step
    codes[below] = 0 if clip else OUTSIDE
    codes[above] = attribute.cells - 1 if clip else OUTSIDE
    codes[null] = _missing(attribute)
    return codes


def _raw(chunk: Any) -> Ints:
    """Return numbers without cells as their own bits, for the seal alone."""
    data = pd.Series(chunk).to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(data).view(np.int64)
