"""The values that occur in public columns, as their keys: this module sees rows.

What comes back is known to everyone by the policy. No message shows a value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.readers.pieces import merge
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.number import exact
from pandas_blowfish.policy.attribute import Attribute, is_missing

MOST_KEYS = 50_000


@dataclass(frozen=True)
class Keys:
    """The values that occur in a column.

    Attributes:
        values: Them, no more than one beyond those that may be.
        plain: Whether each is of the column's type.
    """

    values: frozenset[Any] = frozenset()
    plain: bool = True

    def plus(self, other: Keys) -> Keys:
        """Return the values that occur in either part."""
        both = self.values | other.values
        return Keys(_few(both), self.plain and other.plain)


def find_keys(frame: Frame, columns: Sequence[Attribute]) -> dict[str, list[Hashable]]:
    """Return the values that occur in some columns of all rows, in order.

    Args:
        frame: The rows, none of them left out yet.
        columns: Public columns of text or whole numbers, whose values nobody listed.
    """
    names = [each.name for each in columns]

    def work(part: pd.DataFrame) -> list[Keys]:
        return [_keys(part[each.name], whole=each.kind == "integer") for each in columns]

    def plus(one: list[Keys], more: list[Keys]) -> list[Keys]:
        return [first.plus(second) for first, second in zip(one, more, strict=True)]

    found = merge(frame, names, work, plus)
    for each, keys in zip(columns, found, strict=True):
        _require_keys(each, keys)
    return {name: sorted(keys.values) for name, keys in zip(names, found, strict=True)}


def _require_keys(column: Attribute, keys: Keys) -> None:
    """Refuse a column without keys, with too many, or with values of another type."""
    name, problem, fix = column.name, "", "list its values, or leave it out of the schema."
    if not keys.plain:
        kind = "whole numbers" if column.kind == "integer" else "text"
        problem, fix = f"holds values that are not {kind}", f"convert it to {kind}, or fix the rows."
    elif len(keys.values) > MOST_KEYS:
        problem = f"holds more than {MOST_KEYS:,} keys"
    elif not keys.values:
        problem = "holds no keys"
    if problem:
        raise FrameError(f'column {name!r}, of keys="rows", {problem}', columns=[name], fix=fix)


def _keys(series: pd.Series[Any], *, whole: bool) -> Keys:
    """Return the values of a part of a column; what refuses to be looked at is of no type."""
    read = _number if whole else _text
    try:
        found = [read(value) for value in _distinct(series) if not is_missing(value)]
    except Exception:  # noqa: BLE001  whatever an object raises when it is compared or hashed
        return Keys(plain=False)
    return Keys(_few(frozenset(each for each in found if each is not None)), None not in found)


def _distinct(series: pd.Series[Any]) -> list[Any]:
    """Return each stored value once; of categories those that rows have."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = np.unique(series.array.codes)
        return list(series.dtype.categories[codes[codes >= 0]])
    dense = pd.Series(np.asarray(series.array)) if isinstance(series.dtype, pd.SparseDtype) else series
    return list(dense.unique())


def _text(value: Any) -> str | None:
    """Return a text as it is, None for what is none or cannot be written."""
    if not isinstance(value, str) or value.encode("utf-8", "ignore").decode() != value:
        return None
    return str.__str__(value)


def _number(value: Any) -> int | None:
    """Return a whole number, None for what is none."""
    if isinstance(value, (bool, np.bool_, str)):
        return None
    place = exact(value.item() if isinstance(value, np.generic) else value)
    return int(place) if place.denominator == 1 else None


def _few(values: frozenset[Any]) -> frozenset[Any]:
    """Return no more values than show that there are too many."""
    return values if len(values) <= MOST_KEYS else frozenset(sorted(values)[: MOST_KEYS + 1])
