"""Several tables of one release: a dict that finds a table by its columns in any order. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd

from pandas_blowfish import markup
from pandas_blowfish.books.receipt import number_text
from pandas_blowfish.errors import UnknownTableError

LISTED = 12  # tables that a view lists
FIRST = 10  # counts of a table that a notebook shows
HEADER = ("columns", "counts", "standard error")


class Tables(dict[tuple[str, ...], pd.DataFrame]):
    """The tables of a `marginal`: a dict by tuples of columns, in the order asked.

    A table is found by its columns in any order, `tables["disease", "sex"]`, and one of a single column by
    its name, `tables["sex"]`. Its levels are then in the order named. `bf.save(tables, path)` writes all.

    Examples:
        >>> import pandas_blowfish as bf
        >>> df = bf.datasets.patients(1_000).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
        >>> pairs = df.blowfish.marginal([["sex", "region"], ["sex"]], epsilon="0.5")
        >>> list(pairs["region", "sex"].index.names), pairs["sex"].shape
        (['region', 'sex'], (2, 3))
    """

    def __getitem__(self, columns: Any) -> pd.DataFrame:
        """Return the table of these columns, its levels in the order named."""
        key = _key(columns)
        if key in self.keys():
            return super().__getitem__(key)
        stored = next((each for each in self if sorted(each) == sorted(key)), None)
        if stored is None:
            raise UnknownTableError(columns, list(self))
        return _turned(super().__getitem__(stored), stored, key)

    def __contains__(self, columns: object) -> bool:
        """Return whether there is a table of these columns, in any order."""
        return any(sorted(each) == sorted(_key(columns)) for each in self)

    def get(self, columns: Any, default: Any = None) -> Any:
        """Return the table of these columns, or a default."""
        found = columns in self
        return self[columns] if found else default

    def copy(self) -> Self:
        """Return a copy that finds tables as this one does."""
        return type(self)(self)

    def plot(self, *, level: Any = 0.95, tables: Iterable[Any] | None = None) -> Any:
        """Draw the tables side by side, as `release.blowfish.plot()` draws each, in a figure of their own.

        Args:
            level: The probability that the bars hold the true answer.
            tables: Which to draw, each by its columns; None for all, or for the first 12 of more.

        Returns:
            The Axes, as an array, one per table.
        """
        from pandas_blowfish.explain.release.multiples import draw_tables

        keys = list(self) if tables is None else [_key(each) for each in tables]
        return draw_tables([(key, self[key]) for key in keys], level, shorten=tables is None)

    def __repr__(self) -> str:
        rows = self._listed()
        wide = max((len(name) for name, *_ in rows), default=0)
        lines = [f"  {name.ljust(wide)}  {many} counts, {error}" for name, many, error in rows[:LISTED]]
        more = [f"  and {len(rows) - LISTED:,} more"] if len(rows) > LISTED else []
        return "\n".join([self._title(), *lines, *more])

    def _repr_html_(self) -> str:
        rows = self._listed()
        more = f"and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
        parts = [markup.data_table(HEADER, rows[:LISTED], more=more)]
        for (name, *_), frame in list(zip(rows, self.values(), strict=True))[:LISTED]:
            shown = frame.to_html(max_rows=FIRST, notebook=True)
            parts.append(markup.fold(name, markup.Html(shown)))
        parts.append(markup.note("tables.plot() draws them, bf.save(tables, path) writes them."))
        return markup.card(self._title(), *parts)

    def _title(self) -> str:
        """Return how many tables there are, and of which release."""
        many = f"{len(self):,} table{'s' * (len(self) != 1)}"
        receipt: Any = next(
            (frame.attrs["blowfish"] for frame in self.values() if "blowfish" in frame.attrs), {}
        )
        asked = receipt.get("name") or receipt.get("query")
        cost = f", epsilon {number_text(receipt['epsilon'])}" if "epsilon" in receipt else ""
        return f"{many} of {markup.one_line(asked, 60)}{cost}" if asked else many

    def _listed(self) -> list[tuple[str, str, str]]:
        """Return for each table its columns, how many counts it has, and their standard error."""
        return [(", ".join(key), f"{len(frame):,}", _error(frame)) for key, frame in self.items()]


def _key(columns: Any) -> tuple[str, ...]:
    """Return columns as the key of a table: one name alone, or several."""
    if isinstance(columns, (list, tuple, set, frozenset, pd.Index)):
        return tuple(map(str, columns))
    return (str(columns),)


def _turned(frame: pd.DataFrame, stored: tuple[str, ...], key: tuple[str, ...]) -> pd.DataFrame:
    """Return a table with the levels of its columns in another order, and its rows in the order of these."""
    outer = frame.index.nlevels - len(stored)
    order = [*range(outer), *(outer + stored.index(name) for name in key)]
    codes = [pd.factorize(frame.index.get_level_values(level), use_na_sentinel=False)[0] for level in order]
    return frame.reorder_levels(order).iloc[np.lexsort(codes[::-1])]


def _error(frame: pd.DataFrame) -> str:
    """Return the standard errors of a table in words."""
    std = frame["std"] if "std" in frame else pd.Series(dtype=float)
    if not len(std) or std.isna().all():
        return "error not known"
    low, high = (f"{each:,.3g}" for each in (std.min(), std.max()))
    if high == "0":
        return "exact"
    return f"\N{PLUS-MINUS SIGN} {high}" if low == high else f"\N{PLUS-MINUS SIGN} {low} to {high}"
