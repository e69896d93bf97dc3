"""Fields of text as what their column declares: this module sees rows.

How a field is read depends on the declared column and on the field alone, so that
what one row holds does not change how another is read. What a column's kind cannot hold stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, DeclaredValueError
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.domain import Domain

MARKS = (
    """#N/A N/A|#N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null"""
)
OFFSET = r"\d{4}.*\d[T ]\d.*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"  # an instant in a time zone; "now" is none
LONGEST = (
    64  # characters of an instant; the patterns take time that grows with the square of a field's length
)
NO_OFFSET = rf"(?!{OFFSET})\d{{4}}"


def declared_kind(attribute: Attribute | None) -> str:
    """Return what a column is declared to hold: number, bool, instant, text, or whole numbers of any size.

    Those are read one by one: "5.0" in one row would make floats of all, which large ones do not survive.
    """
    if attribute is not None and attribute.kind == "integer":
        small = isinstance(attribute, Grid) and max(abs(attribute.low), abs(attribute.high)) <= 2**53
        return "number" if small else "whole"
    if isinstance(attribute, Values) and attribute.kind == "category":
        listed = attribute.listed
        kinds = {"bool" if isinstance(each, bool) else type(each).__name__ for each in listed}
        whole = kinds == {"int"} and any(abs(int(str(each))) > 2**53 for each in listed)
        if whole:
            return "whole"
        return "number" if kinds <= {"int", "float"} else "bool" if kinds == {"bool"} else "text"
    others = {"float": "number", "bool": "bool", "datetime": "instant"}
    return "text" if attribute is None else others.get(attribute.kind, "text")


def marks(attribute: Attribute | None) -> list[str]:
    """Return what stands for a missing value in a column: the usual marks, less what it declares."""
    declared = attribute.values if isinstance(attribute, Values) else ()
    return [mark for mark in ["", *MARKS.split("|")] if mark not in declared]


def require_marks(na: Sequence[str], domain: Domain) -> None:
    """Refuse a mark of a missing value that is a declared value too: which of both it is would be unknown."""
    if isinstance(na, str) or not all(isinstance(mark, str) for mark in na):
        raise ArgumentError("na", "not a list of texts", allowed='texts, such as "?" and "unknown"')
    for mark in na:
        for attribute in domain:
            value = convert(pd.Series([mark], dtype="str"), attribute).iloc[0]
            if not attribute.bounded:
                declared = not isinstance(value, str)
            else:
                try:
                    attribute.code(value)
                    declared = True
                except DeclaredValueError:
                    declared = False
            if declared:
                what = f"{mark!r} is a declared value of column {attribute.name!r}"
                raise ArgumentError("na", what, fix="fix those cells in the file, or declare other values.")


def remove_marks(column: pd.Series[Any], na: Sequence[str], *, text: bool) -> pd.Series[Any]:
    """Return a column that was stored with its type: of text, marks of a missing value are missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_categories([each for each in column.cat.categories if each in na])
    return column.mask(column.isin(list(na))) if text else column


def convert(column: pd.Series[Any], attribute: Attribute | None) -> pd.Series[Any]:
    """Return a column that was read as text as its declared kind; what is not of it stays text."""
    if attribute is None or not pd.api.types.is_string_dtype(column.dtype):
        return column
    kind = declared_kind(attribute)
    if kind == "text":
        return column.astype("category")
    if kind == "instant":
        zoned = getattr(attribute, "tz", None) is not None
        brief = column.where(column.str.len() <= LONGEST)
        fits = brief.str.match(OFFSET if zoned else NO_OFFSET, na=False).astype(bool)
        read: Any = pd.to_datetime(column.where(fits), format="ISO8601", errors="coerce", utc=zoned)
    elif kind == "number":
        read = _nearest(column, pd.to_numeric(column, errors="coerce"))
    elif kind == "whole":
        digits = column.str.extract(r"^\s*([+-]?\d{1,40})(?:\.0*)?\s*$", expand=False)
        whole = [int(each) if isinstance(each, str) else None for each in digits]
        read = pd.Series(whole, index=column.index, dtype=object)
    else:
        read = column.str.lower().map({"true": True, "false": False})
    strange = (read.isna() & column.notna()).astype(bool)
    found: pd.Series[Any] = read
    return found.astype(object).where(~strange, column.astype(object)) if strange.any() else found


def _nearest(column: pd.Series[Any], read: pd.Series[Any]) -> pd.Series[Any]:
    """Return decimals as the floats nearest to their texts: `to_numeric` rounds so only since pandas 3.1."""
    if read.dtype.kind != "f":
        return read
    known = read.notna().to_numpy(dtype=bool)
    nearest = np.full(len(read), np.nan)
    nearest[known] = column.to_numpy(dtype=object)[known].astype(np.float64)  # as Python's float reads them
    return pd.Series(nearest, index=read.index, dtype=read.dtype)
