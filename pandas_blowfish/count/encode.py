"""Rows to cell codes, by value and whatever the storage: this module sees rows.

A code is the cell's number, OUTSIDE for a value that is not declared, MISSING for a null that is not
allowed. Nothing here raises because of a row's value, and no value is ever put into a message.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.place import (
    OUTSIDE,
    bounds,
    exact_limit,
    missing_code,
    place_instants,
    place_numbers,
)
from pandas_blowfish.errors import DeclaredValueError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.number import exact
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values, is_missing


def encoder(series: pd.Series[Any], attribute: Attribute, *, clip: bool) -> Callable[[int, int], Ints]:
    """Return a function that codes the rows start..stop-1 of a column; unlisted values as the last, `other`.

    Args:
        series: The column.
        attribute: Its declared cells. A number of a column without bounds is coded as its bits.
        clip: Put numbers and instants beyond the bounds into the nearest cell.
    """
    read = _reader(series, attribute, clip=clip)
    if not (isinstance(attribute, Values) and attribute.other):
        return read
    last = attribute.cells - 1

    def read_others(start: int, stop: int) -> Ints:
        codes = read(start, stop)
        return np.where(codes == OUTSIDE, last, codes)

    return read_others


def _reader(series: pd.Series[Any], attribute: Attribute, *, clip: bool) -> Callable[[int, int], Ints]:
    """Return a function that codes rows, each value that is not declared as OUTSIDE."""
    series = pd.Series(np.asarray(series.array)) if isinstance(series.dtype, pd.SparseDtype) else series
    array: Any = series.to_numpy() if series.dtype == object else series.array
    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        distinct = _reader(pd.Series(dtype.categories), attribute, clip=clip)(0, len(dtype.categories))
        table, codes = np.append(distinct, missing_code(attribute)), array.codes
        return lambda start, stop: table.take(codes[start:stop])
    kind, number = _storage(dtype), attribute.kind in ("integer", "float") and not _huge(attribute)
    if kind == "datetime" and attribute.kind == "datetime":
        read, unit, zone = _stamps(array)
        return lambda start, stop: place_instants(read(start, stop), unit, zone, attribute, clip)
    if kind == "number" and number and isinstance(dtype, np.dtype):
        data = series.to_numpy()
        return lambda start, stop: place_numbers(data[start:stop], attribute, clip)
    if kind == "number" and number:
        return lambda start, stop: _masked(array[start:stop], attribute, clip)
    if dtype == np.dtype(bool) and attribute.kind == "bool":
        pair = np.array([_scalar(flag, attribute, clip) for flag in (False, True)], dtype=np.int64)
        flags = series.to_numpy().view(np.int8)
        return lambda start, stop: pair.take(flags[start:stop])
    memo: dict[Any, int] = {}
    return lambda start, stop: _objects(array[start:stop], attribute, clip, memo)


def _storage(dtype: Any) -> str:
    """Return what kind of values a dtype stores, for the fast paths; "" for the general one."""
    if isinstance(dtype, pd.ArrowDtype):
        return "datetime" if hasattr(dtype.pyarrow_dtype, "tz") else "number" * (dtype.kind in "iuf")
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "iuf":
        return "number"
    return "datetime" if dtype.kind == "M" else ""


def _stamps(array: Any) -> tuple[Callable[[int, int], Ints], str, bool]:
    """Return a reader of stored instants, their unit, and whether they have a time zone."""
    dtype = array.dtype
    if isinstance(dtype, pd.ArrowDtype):
        kind, zone = array.dtype.numpy_dtype, dtype.pyarrow_dtype.tz is not None
        unit = np.datetime_data(kind)[0]
        return lambda start, stop: array[start:stop].to_numpy(dtype=kind).view(np.int64), unit, zone
    return lambda start, stop: array[start:stop].asi8, array.unit, isinstance(dtype, pd.DatetimeTZDtype)


def _objects(chunk: Any, attribute: Attribute, clip: bool, memo: dict[Any, int]) -> Ints:
    """Code text and mixed objects: each distinct value once."""
    with suppress(Exception):  # some object refuses to be hashed or compared: code each by itself
        # True and 1, or a float and a narrower one, are one value to a hash table but may be two cells:
        # each distinct value may stand for its equals only where all are of one type
        kind = pd.api.types.infer_dtype(chunk, skipna=True)
        if kind in ("string", "boolean", "empty") or len(set(map(type, chunk))) == 1:
            codes, distinct = pd.factorize(chunk)
            table = [_lookup(distinct, at, attribute, clip, memo) for at in range(len(distinct))]
            return np.array([*table, missing_code(attribute)], dtype=np.int64)[codes]
    return np.array([_lookup(chunk, at, attribute, clip, memo) for at in range(len(chunk))], dtype=np.int64)


def _lookup(values: Any, at: int, attribute: Attribute, clip: bool, memo: dict[Any, int]) -> int:
    try:
        value = values[at]
        if isinstance(value, Decimal) and value.is_snan():
            return missing_code(attribute)  # a signalling NaN has no hash
        key = (type(value), value)
        if key not in memo:
            memo[key] = _scalar(value, attribute, clip)
        return memo[key]
    except Exception:  # noqa: BLE001  unhashable, or raises when looked at: no declared value does
        return OUTSIDE


def _scalar(value: Any, attribute: Attribute, clip: bool) -> int:
    """Return the code of one value; whatever it raises means OUTSIDE."""
    if is_missing(value):
        return missing_code(attribute)
    is_number = isinstance(value, (int, float, np.integer, np.floating, Decimal, Fraction))
    is_number &= not isinstance(value, (bool, np.timedelta64))  # True is not 1
    if attribute.kind == "datetime":
        if not isinstance(value, (date, np.datetime64)):
            return OUTSIDE  # text is not an instant, even where a constant in a policy may be written as one
        stamp = pd.Timestamp(value)
        stamps = np.array([stamp.asm8.view(np.int64)])
        return int(place_instants(stamps, stamp.unit, stamp.tz is not None, attribute, clip)[0])
    if attribute.kind in ("integer", "float"):
        return _number(value, attribute, clip) if is_number else OUTSIDE
    if attribute.kind == "bool" and is_number and value in (0, 1):
        value = bool(value)
    try:
        return attribute.code(value.item() if isinstance(value, np.generic) else value)
    except DeclaredValueError:
        return OUTSIDE


def _number(value: Any, attribute: Attribute, clip: bool) -> int:
    """Return the code of one number, exactly also where no array could hold it."""
    if isinstance(value, Decimal) and not value.is_finite():
        value = float(value)
    if isinstance(attribute, Unbounded):
        return _endless(value, attribute, clip)
    if isinstance(value, (float, np.floating)) and not (_huge(attribute) and math.isfinite(value)):
        return int(place_numbers(np.array([value]), attribute, clip)[0])
    try:
        return attribute.code(value)
    except DeclaredValueError:
        place, (low, high) = exact(value), bounds(attribute)
        if not clip or not attribute.ordered or low < place < high:
            return OUTSIDE
        return 0 if place <= low else attribute.cells - 1


def _endless(value: Any, attribute: Unbounded, clip: bool) -> int:
    """Return the code of one number without bounds; all types are clipped alike, as a column may mix them."""
    whole = not isinstance(value, (float, np.floating))
    value = int(value) if isinstance(value, np.integer) else value
    size: Any = abs(value) if whole else abs(float(value))
    top = exact_limit(attribute, whole=whole or clip)
    if top < size != math.inf:
        if not clip:
            return OUTSIDE
        value = float(top if value > 0 else -top)
    elif whole and attribute.kind == "integer" and value != int(value):
        return OUTSIDE
    return int(place_numbers(np.array([float(value) if whole else value]), attribute, clip)[0])


def _huge(attribute: Attribute) -> bool:
    """Return whether numbers are listed that int64 cannot hold."""
    return isinstance(attribute, Values) and any(abs(place) >= 2**63 for place in attribute.positions)


def _masked(chunk: Any, attribute: Attribute, clip: bool) -> Ints:
    """Code numbers stored with a mask (Int64, Float64, Arrow)."""
    null = np.asarray(chunk.isna(), dtype=bool)
    kind = np.dtype(f"{chunk.dtype.kind}{chunk.dtype.itemsize if chunk.dtype.kind == 'f' else 8}")
    codes = place_numbers(chunk.to_numpy(dtype=kind, na_value=0), attribute, clip)
    return np.where(null, missing_code(attribute), codes)
