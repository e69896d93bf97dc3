"""How the rows of a release are laid out: long in schema order, sorted by count, or wide as a table.

Every reader of a release first makes it long here. Never sees rows, only releases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.arrays import Ints

SORTED, WIDE = "sorted", "wide"  # what a receipt states as `layout`


def line_size(index: pd.Index[Any]) -> int:
    """Return how many labels the last level has in each combination of the others, which follow each other.

    Examples:
        >>> line_size(pd.MultiIndex.from_product([["F", "M"], [1, 2, 3]]))
        3
    """
    if not isinstance(index, pd.MultiIndex) or not len(index):
        return len(index)
    codes = pd.factorize(index.droplevel(-1), use_na_sentinel=False)[0]
    return int((codes == codes[0]).sum())


def widen(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a long frame with the labels of its last level as columns, below the names of its columns.

    Examples:
        >>> cells = pd.MultiIndex.from_product([["F", "M"], [1, 2]], names=["sex", "n"])
        >>> widen(pd.DataFrame({"count": [3.0, 4.0, 5.0, 6.0]}, index=cells))["count"].loc["M"].tolist()
        [5.0, 6.0]
    """
    if not isinstance(frame.index, pd.MultiIndex):
        return frame
    size = line_size(frame.index)
    cells = frame.index.get_level_values(-1)[:size]
    parts: list[Any] = [frame[name].array[place::size] for name in frame.columns for place in range(size)]
    table = pd.DataFrame(dict(enumerate(parts)), index=frame.index.droplevel(-1)[::size])
    table.columns = pd.MultiIndex.from_product([frame.columns, cells], names=[None, cells.name])
    table.attrs = dict(frame.attrs)
    return table


def lengthen(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what `widen` laid out as it was before; any other frame as it is."""
    if frame.columns.nlevels < 2:
        return frame
    names, labels = (frame.columns.get_level_values(level) for level in (0, -1))
    shown = list(dict.fromkeys(names))
    many, size = len(frame), frame.shape[1] // max(len(shown), 1)
    cells = labels[:size]
    whole = len(names) == size * len(shown) and not cells.has_duplicates
    if not whole or not all(cells.equals(labels[at * size : (at + 1) * size]) for at in range(len(shown))):
        raise FrameError("columns are not as they were released", fix="ask the release itself.")
    order = (np.arange(size) * many + np.arange(many)[:, None]).ravel()
    place, own = np.tile(np.arange(size), many), np.repeat(np.arange(many), size)
    levels = [frame.index.get_level_values(level)[own] for level in range(frame.index.nlevels)]
    index = pd.MultiIndex.from_arrays([*levels, cells[place]], names=[*frame.index.names, cells.name])
    found = {
        name: pd.concat([frame.iloc[:, at * size + cell] for cell in range(size)]).array[order]
        for at, name in enumerate(shown)
    }
    table = pd.DataFrame(found, index=index)
    table.attrs = dict(frame.attrs)
    return table


def schema_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its labels as a schema lists them: categories as declared, numbers as they rise.

    Examples:
        >>> schema_order(pd.DataFrame({"count": [9.0, 2.0, 5.0]}, index=[7, 1, 4])).index.tolist()
        [1, 4, 7]
    """
    ranks = [_rank(frame.index.get_level_values(level)) for level in range(frame.index.nlevels)]
    return frame.iloc[np.lexsort(ranks[::-1])]


def _rank(labels: pd.Index[Any]) -> Ints:
    """Return the place of each label among all, a missing one last."""
    if isinstance(labels, pd.CategoricalIndex):
        codes = np.asarray(labels.codes, dtype=np.int64)
    else:
        found, known = pd.factorize(labels)
        codes = np.append(np.argsort(pd.Index(known).argsort()), -1)[found]
    return np.where(codes < 0, len(labels), codes)
