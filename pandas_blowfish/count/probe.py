"""Made-up records: one in each of some cells, as a frame. Never sees rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.instant import from_ns
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values, integer_dtype
from pandas_blowfish.policy.cells import NO_VALUE, Cells
from pandas_blowfish.policy.domain import Domain


def probe(domain: Domain, cells: Cells) -> pd.DataFrame:
    """Return a frame whose rows lie in the given cells, one each.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> own = Domain((integers("age", 0, 99, 10),))
        >>> probe(own, Cells.present({"age": np.array([0, 9])}, 2))["age"].tolist()
        [0, 90]
    """
    made = {}
    for attribute in domain:
        codes, place = np.unique(cells.codes[attribute.name], return_inverse=True)
        values = [value_in(attribute, code) for code in codes.tolist()]
        made[attribute.name] = _column(attribute, [values[at] for at in place.tolist()])
    return pd.DataFrame(made, index=pd.RangeIndex(len(cells)))


def value_in(attribute: Attribute, code: int) -> Any:
    """Return a value of a cell: the first of whole numbers, else one inside; None where it is missing."""
    if isinstance(attribute, Values):
        return attribute.values[code] if code < attribute.cells else None
    if isinstance(attribute, Unbounded):
        if code == NO_VALUE:
            return None
        place = (code + Fraction(1, 2)) * attribute.step
        if attribute.log:
            return math.exp(float(place))
        return int(code * attribute.step) if attribute.kind == "integer" else _plain(attribute, place)
    assert isinstance(attribute, Grid)
    if code >= attribute.cells:
        return None
    low = attribute.low + code * attribute.step
    if attribute.kind == "integer":
        return int(low)
    return _plain(attribute, (low + min(low + attribute.step, attribute.high)) / 2)


def _plain(attribute: Attribute, place: Fraction) -> Any:
    if attribute.kind == "datetime":
        return from_ns(int(place), getattr(attribute, "tz", None))
    return float(place)


def _column(attribute: Attribute, values: list[Any]) -> Any:
    """Return values as a column of a dtype that holds them, missing ones too."""
    if attribute.kind == "datetime":
        return pd.DatetimeIndex(values) if values else pd.DatetimeIndex([])
    if attribute.kind == "float":
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if attribute.kind == "integer":
        dtype = integer_dtype([value for value in values if value is not None])
        if None in values:
            return pd.array(values, dtype="UInt64" if dtype == "uint64" else "Int64")
        return np.array(values, dtype=dtype or "float64")
    return pd.Series(values, dtype=object)
