"""Text that a spreadsheet would run as a formula, marked so that it stays text. Sees releases, never rows.

Labels are what a schema declares, and a schema may come from anybody: `=HYPERLINK(...)` as a category must
not become a link in the sheet of whoever opens a release.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.markup import cell_name

FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # what spreadsheets run, or would once an apostrophe is taken off


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts no spreadsheet runs: an apostrophe before those that look like formulas."""
    table = frame.copy()
    table.columns = pd.Index([escape(name) for name in frame.columns])
    for place in range(table.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind not in "mM":
            table.isetitem(place, [escape(each) for each in column])
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    plain = [level if level.dtype.kind in "iubmM" else _labels(level) for level in levels]
    names = [escape(name) for name in frame.index.names]
    if len(plain) == 1:
        table.index = plain[0].rename(names[0])
    else:
        table.index = pd.MultiIndex.from_arrays(plain, names=names)
    return table


def _labels(level: pd.Index[Any]) -> pd.Index[Any]:
    """Return the labels of a level as texts that no spreadsheet runs, numbers as they are."""
    shown = label_texts(level)
    plain: pd.Index[Any] = pd.Index([escape(each) for each in shown], dtype=object, name=level.name)
    return shown if shown.dtype.kind == "f" else plain


def label_texts(level: pd.Index[Any]) -> pd.Index[Any]:
    """Return labels as a table shows them: days, weeks and months as dates, whole numbers without a point.

    Missing stays missing. Floats with fractions stay numbers.

    Examples:
        >>> label_texts(pd.Index([0.0, 1.0, None])).tolist()
        [0, 1, nan]
        >>> day = pd.Interval(pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-02"), closed="left")
        >>> label_texts(pd.IntervalIndex([day])).tolist()
        ['2013-01-01']
    """
    if level.dtype.kind == "f":
        known = level[level.notna()].to_numpy(dtype=float)
        whole = (
            len(known) < len(level)
            and bool((known == np.floor(known)).all())
            and abs(known).max(initial=0) < 2**53
        )
        if not whole:
            return level
        return pd.Index(
            [int(each) if each == each else each for each in level], dtype=object, name=level.name
        )
    if isinstance(level, pd.DatetimeIndex) and bool((level == level.normalize())[level.notna()].all()):
        return pd.Index([cell_name(each) if each == each else each for each in level], dtype=object)
    if isinstance(level, pd.IntervalIndex):
        return pd.Index(
            [cell_name(each) if isinstance(each, pd.Interval) else each for each in level], dtype=object
        )
    return level


def write_csv(frame: pd.DataFrame, target: Any = None) -> Any:
    """Write CSV whose texts no spreadsheet runs, and no reader takes for the end of a line; or return it."""
    table = as_text(frame)
    plain = not any("\r" in text for text in _texts(table))
    options: dict[str, Any] = {} if plain else {"quoting": csv.QUOTE_NONNUMERIC}  # else \r stays bare
    return table.to_csv(target, **options)


def _texts(table: pd.DataFrame) -> Iterator[str]:
    """Yield the texts of a frame: names, labels and values."""
    columns: list[Any] = [table.index.get_level_values(level) for level in range(table.index.nlevels)]
    columns += [column for _, column in table.items()]
    for each in [table.columns, table.index.names, *columns]:
        if getattr(getattr(each, "dtype", None), "kind", "O") not in "iufbmM":
            yield from (text for text in each if isinstance(text, str))


def escape(value: Any) -> Any:
    """Return text that no spreadsheet runs; anything else as it is.

    Examples:
        >>> escape("=1+1"), escape("a=1"), escape(-5), escape("'=1")
        ("'=1+1", 'a=1', -5, "''=1")
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def unescape(value: Any) -> Any:
    """Return text as it was before `escape` marked it; anything else as it is.

    Examples:
        >>> unescape("'=1+1"), unescape("''=1"), unescape("'a"), unescape(-5)
        ('=1+1', "'=1", "'a", -5)
    """
    marked = isinstance(value, str) and value.startswith("'") and FORMULA.match(value)
    return value[1:] if marked else value
