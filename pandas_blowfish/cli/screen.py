"""What a command shows: words for a person, or one JSON document; progress on a terminal. Never sees rows."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.markup import decimal

MAX_ROWS = 200  # of a release that a terminal shows
BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"  # a share: how many rows there are may be secret


class Screen:
    """Where a command writes.

    Attributes:
        as_json: Whether standard output is one JSON document, which `finish` writes.
        progress: Whether bars may be drawn.
    """

    def __init__(self, *, as_json: bool = False, progress: bool = True) -> None:
        self.as_json = as_json
        self.progress = progress and sys.stderr is not None and sys.stderr.isatty()
        self._drawn: Any = None

    def say(self, text: object = "") -> None:
        """Write for a person, to standard output; nothing in JSON."""
        if not self.as_json:
            self._clear()
            print(text)

    def note(self, text: str) -> None:
        """Write a remark to standard error, in JSON too."""
        self._clear()
        print(text, file=sys.stderr)

    def finish(self, found: Mapping[str, Any]) -> None:
        """Write the JSON document, where one is wanted."""
        if self.as_json:
            print(json.dumps(plain(found), allow_nan=False))
        sys.stdout.flush()

    @contextmanager
    def bar(self, what: str) -> Iterator[Callable[[float], None]]:
        """Give a function to call with the share of the work that is done."""
        made = self._drawn = _tqdm(what) if self.progress else None

        def tick(share: float) -> None:
            if made is not None:
                made.update(max(share - made.n, 0))

        try:
            yield tick
        finally:
            self._drawn = None
            if made is not None:
                made.close()

    def _clear(self) -> None:
        """Take the bar away before a line is written in its place."""
        if self._drawn is not None:
            self._drawn.clear()


def _tqdm(what: str) -> Any:
    """Return a bar, or None where the package that draws them is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    width = min(shutil.get_terminal_size().columns, 100) - 1  # some terminals state no size
    return tqdm(total=1.0, desc=what, bar_format=BAR, file=sys.stderr, leave=False, ncols=width, nrows=20)


def format_table(table: pd.DataFrame) -> str:
    """Return a table as text, wide enough for its columns, shortened in the middle."""
    table = table.map(lambda each: decimal(each) if isinstance(each, Fraction) else each)
    with pd.option_context("display.width", 200, "display.max_colwidth", 160):
        return table.to_string(max_rows=MAX_ROWS)


def plain(value: Any) -> Any:
    """Return anything a command found as JSON holds it: fractions as text, what is not a number as null.

    Examples:
        >>> plain({"epsilon": Fraction(1, 10), "std": float("nan")})
        {'epsilon': '1/10', 'std': None}
    """
    if isinstance(value, pd.DataFrame):
        return _table(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, (Fraction, PurePath)):
        return str(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int, str)):
        return value
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)


def _table(table: pd.DataFrame) -> dict[str, Any]:
    """Return a frame as the names of its index and columns, its labels and its numbers."""
    labels = table.index.tolist()
    return {
        "index_names": [plain(name) for name in table.index.names],
        "columns": [plain(name) for name in table.columns],
        "index": [plain(list(label) if isinstance(label, tuple) else label) for label in labels],
        "data": [[plain(each) for each in row] for row in table.itertuples(index=False, name=None)],
    }
