"""What rows of another engine are grouped by: cells of a column, or what a question tells apart of them.

Sees rows only through expressions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.place import OUTSIDE, Ints, missing_code
from pandas_blowfish.count.readers.engine import Key, Scan
from pandas_blowfish.count.readers.expressions import cell, quotient, sure
from pandas_blowfish.count.readers.storage import Expr, Steps, Storage, absent
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.attribute import Attribute, Values

FEW = 16  # stretches of cells, or lists of values, that one expression tells apart
MANY = 100_000  # listed values beyond which DuckDB, which compares with each, is not asked to look them up
_NAT = -(2**63)  # a missing instant


def cell_key(table: Scan, steps: Steps, attribute: Attribute, *, clip: bool) -> Key:
    """Return the cells of a column, each apart: codes of an axis, listed values as they are stored."""
    kept = table.storage(attribute.name)
    column = table.column(attribute.name)
    if not isinstance(attribute, Values):
        return Key(cell(steps, column, kept, attribute, clip=clip), whole_numbers)
    allowed, column = stored(attribute, kept, column, clip=clip)
    missing = missing_code(attribute)

    def cells(values: Any) -> Ints:
        found = [missing if _is_null(each) else allowed.get(each, OUTSIDE) for each in _listed(values)]
        return np.array(found, dtype=np.int64)

    def guard(each: Expr) -> Expr:
        null = each.is_null() | each.is_nan() if kept.kind == "float" else each.is_null()
        listed = [*allowed, *([_NAT] if kept.kind == "instant" else [])]
        return null | each.is_in(listed) if listed else null

    many = table.engine == "duckdb" and len(allowed) > MANY
    return Key(column, cells, None if kept.kind == "bool" or many else guard)


def lot_key(table: Scan, steps: Steps, attribute: Attribute, lots: Ints, *, clip: bool) -> Key:
    """Return one cell of each lot of cells that are not told apart; each cell itself where that is simpler.

    Args:
        table: The rows.
        steps: Where columns on the way are added.
        attribute: The column.
        lots: The number of each cell's lot.
        clip: Put numbers beyond the bounds into the nearest cell.
    """
    import narwhals as nw

    found, first, place = np.unique(lots, return_index=True, return_inverse=True)
    if len(found) == len(lots) or (isinstance(attribute, Values) and len(found) > FEW):
        return cell_key(table, steps, attribute, clip=clip)
    if isinstance(attribute, Values):
        numbers = first[place.reshape(-1)]
        return Key(
            by_lists(table, attribute, numbers, missing_code(attribute), OUTSIDE, clip=clip), whole_numbers
        )
    key = cell_key(table, steps, attribute, clip=clip)
    lot = stretches(key.expression, lots)
    if lot is None:
        return key
    there = steps.let(lot)  # a plain number would be one row
    if not sure(attribute, clip=clip):
        there = nw.when(key.expression < 0).then(key.expression).otherwise(there)

    def cells(values: Any) -> Ints:
        numbers = whole_numbers(values)
        return np.where(numbers < 0, numbers, first[np.searchsorted(found, np.maximum(numbers, 0))])

    return Key(there, cells)


def stored(attribute: Values, kept: Storage, column: Expr, *, clip: bool) -> tuple[dict[Any, int], Expr]:
    """Return the cell of each declared value as it is stored, and the column in these terms.

    With `clip`, numbers and instants beyond the listed ones are one value on either side.
    """
    import narwhals as nw

    if kept.kind == "text":
        own = {value: code for code, value in enumerate(attribute.values) if isinstance(value, str)}
        return own if attribute.kind in ("category", "string") else {}, column.cast(nw.String)
    if kept.kind == "bool":
        flags = [(v, code) for code, v in enumerate(attribute.values) if isinstance(v, (bool, np.bool_))]
        return {bool(value): code for value, code in flags}, column
    if not attribute.numeric and kept.kind != "instant":
        plain = {v: c for c, v in enumerate(attribute.values) if isinstance(v, (int, float, np.number))}
        read = float if kept.kind == "float" else int
        whole = {read(v): c for v, c in plain.items() if attribute.kind == "bool" or not isinstance(v, bool)}
        whole = {v: c for v, c in whole.items() if v in plain}
        return whole, column.cast(nw.Float64) if kept.kind == "float" else column
    return _axis(attribute, kept, column, clip=clip)


def _axis(attribute: Values, kept: Storage, column: Expr, *, clip: bool) -> tuple[dict[Any, int], Expr]:
    """Return the cells of listed numbers or instants."""
    import narwhals as nw

    instant = kept.kind == "instant"
    if instant:
        column = nw.when(absent(kept)).then(nw.lit(_NAT, nw.Int64)).otherwise(column)
    if instant != (attribute.kind == "datetime") or (instant and kept.zone != (attribute.tz is not None)):
        return {}, column
    units = [place / (NS_PER_UNIT[kept.unit] if instant else 1) for place in attribute.positions]
    allowed: dict[Any, int] = {}
    if kept.kind == "float":
        with np.errstate(over="ignore"):  # a narrow float takes a value that it cannot hold for infinite
            line = [float(np.float32(float(unit))) if kept.narrow else float(unit) for unit in units]
        for code, value in enumerate(line):
            if math.isfinite(value):
                allowed.setdefault(value, code)
        column = column.cast(nw.Float64)
        ends: Any = (line[0], line[-1], line[0], line[-1]) if line else None
    else:
        for code, unit in enumerate(units):
            if unit.denominator == 1 and abs(unit) < 2**63 and not (kept.unsigned and unit < 0):
                allowed.setdefault(int(unit), code)
        low, high = (math.ceil(units[0]), math.floor(units[-1])) if units else (0, 0)
        ends = (low, high, low - 1, high + 1) if units else None
    if not clip or not attribute.ordered or ends is None:
        return allowed, column
    least, most, below, above = ends
    kind: Any = nw.UInt64 if kept.unsigned else nw.Float64 if kept.kind == "float" else nw.Int64
    near = (0 if kept.unsigned else -(2**63) + 1, 2**63 - 1)  # beyond, no number stored is
    if math.isfinite(below) if kept.kind == "float" else near[0] <= below:
        allowed[below] = 0
        lower = ~absent(kept) & (column < least)
        column = nw.when(lower).then(nw.lit(below, kind)).otherwise(column)
    if math.isfinite(above) if kept.kind == "float" else near[0] <= above <= near[1]:
        allowed[above] = attribute.cells - 1
        higher = ~absent(kept) & (column > most)
        column = nw.when(higher).then(nw.lit(above, kind)).otherwise(column)
    return allowed, column


def by_lists(
    table: Scan, attribute: Values, numbers: Ints, missing: int, outside: int, *, clip: bool
) -> Expr:
    """Return the number of each listed value's cell, told by lists of the values that share one.

    Args:
        table: The rows.
        attribute: The column.
        numbers: The number of each cell.
        missing: That of a missing value.
        outside: That of one which is not listed.
        clip: Put numbers beyond the listed ones into the nearest cell.
    """
    import narwhals as nw

    kept = table.storage(attribute.name)
    allowed, column = stored(attribute, kept, table.column(attribute.name), clip=clip)
    found: Expr = nw.lit(outside, nw.Int64)
    for number in sorted(set(numbers.tolist()) - {outside}):
        own = [value for value, code in allowed.items() if numbers[code] == number]
        if own:
            found = nw.when(column.is_in(own)).then(nw.lit(number, nw.Int64)).otherwise(found)
    return nw.when(absent(kept)).then(nw.lit(missing, nw.Int64)).otherwise(found)


def stretches(code: Expr, lots: Ints) -> Expr | None:
    """Return the lot of each code, by few comparisons and quotients; None where they do not tell it.

    Examples:
        >>> stretches(None, np.arange(100) % 7 ** 2 % 5) is None
        True
    """
    import narwhals as nw

    steps = np.diff(lots)
    breaks = np.flatnonzero((steps < 0) | (steps > 1)) + 1
    bounds = [0, *breaks.tolist(), len(lots)]
    if len(bounds) - 1 > FEW:
        return None
    found: Expr = None
    for begin, end in reversed(list(pairwise(bounds))):
        own = _evenly(code, lots[begin:end], begin)
        if own is None:
            return None
        found = own if found is None else nw.when(code < end).then(own).otherwise(found)
    return found


def _evenly(code: Expr, lots: Ints, begin: int) -> Expr | None:
    """Return lots that rise by one at a time, from a quotient or a few comparisons."""
    import narwhals as nw

    cells, many = len(lots), int(lots[-1] - lots[0]) + 1
    places = np.arange(cells)
    if many == 1:
        return nw.lit(int(lots[0]), nw.Int64)
    if cells * many < 2**53 and (lots - lots[0] == ((places + 1) * many - 1) // cells).all():
        return quotient((code - begin + 1) * many - 1, cells, cells * many) + int(lots[0])
    width = int(np.argmax(lots > lots[0]))
    if (lots - lots[0] == places // width).all():
        return quotient(code - begin, width, cells) + int(lots[0])
    if many > FEW:
        return None
    found: Expr = nw.lit(int(lots[0]), nw.Int64)
    for start in (np.flatnonzero(np.diff(lots)) + 1).tolist():
        found = nw.when(code >= begin + start).then(nw.lit(int(lots[start]), nw.Int64)).otherwise(found)
    return found


def whole_numbers(values: Any) -> Ints:
    """Return fetched whole numbers."""
    return np.asarray(values, dtype=np.int64)


def _listed(values: Any) -> Iterable[Any]:
    found: Iterable[Any] = values.tolist() if hasattr(values, "tolist") else values
    return found


def _is_null(value: Any) -> bool:
    return value is None or value is pd.NA or value != value or value == _NAT
