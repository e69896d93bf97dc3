"""Text that a spreadsheet would run as a formula, marked so that it stays text. Sees releases, never rows.

Labels are what a schema declares, and a schema may come from anybody: `=HYPERLINK(...)` as a category must
not become a link in the sheet of whoever opens a release.
"""

from __future__ import annotations

import csv
import re
from typing import Any

import pandas as pd

FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # what spreadsheets run, or would once an apostrophe is taken off


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts no spreadsheet runs: an apostrophe before those that look like formulas."""
    table = frame.copy()
    table.columns = pd.Index([escaped(name) for name in frame.columns])
    for place in range(table.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind not in "mM":
            table.isetitem(place, [escaped(each) for each in column])
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    plain = [level if level.dtype.kind in "iufbmM" else level.map(escaped) for level in levels]
    names = [escaped(name) for name in frame.index.names]
    if len(plain) == 1:
        table.index = plain[0].rename(names[0])
    else:
        table.index = pd.MultiIndex.from_arrays(plain, names=names)
    return table


def csv_of(frame: pd.DataFrame) -> str:
    """Return a frame as CSV whose texts no spreadsheet runs, and no reader takes for the end of a line."""
    table = as_text(frame)
    text = str(table.to_csv(lineterminator="\n"))
    if "\r" not in text:
        return text
    return str(table.to_csv(lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


def escaped(value: Any) -> Any:
    """Return text that no spreadsheet runs; anything else as it is.

    Examples:
        >>> escaped("=1+1"), escaped("a=1"), escaped(-5), escaped("'=1")
        ("'=1+1", 'a=1', -5, "''=1")
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def unescaped(value: Any) -> Any:
    """Return text as it was before `escaped` marked it; anything else as it is.

    Examples:
        >>> unescaped("'=1+1"), unescaped("''=1"), unescaped("'a"), unescaped(-5)
        ('=1+1', "'=1", "'a", -5)
    """
    marked = isinstance(value, str) and value.startswith("'") and FORMULA.match(value)
    return value[1:] if marked else value
