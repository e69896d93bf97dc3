"""Heat maps: counts of two columns, or of many groups, in colours, how wrong they are. Never sees rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import LETTER, LINE, Places, places_of, write_units
from pandas_blowfish.explain.release.canvas import ink
from pandas_blowfish.explain.release.series import words_of

GID = "blowfish heat map"  # by which Axes that have one are known
TOLD = 60  # cells up to which counts are written
DOTTED = 1_600  # cells up to which those that may be empty have a dot
FINE = 800  # cells along an axis beyond which blocks of them are drawn
VECTOR = 40_000  # cells up to which each is drawn by itself, also in PDF and SVG


@dataclass(frozen=True, eq=False)
class Table:
    """Answers by two axes, NaN where there is none: one row per cell of the upright one.

    Attributes:
        across: The cells along the bottom, named by their column.
        upright: The cells along the side.
        value: The answers.
        low: Where their intervals begin, NaN where answers are exact or their errors not known.
        high: Where those end.
    """

    across: pd.Index[Any]
    upright: pd.Index[Any]
    value: Floats
    low: Floats
    high: Floats


def table_of(upright: pd.Index[Any], across: pd.Index[Any], *answers: Floats) -> Table:
    """Return answers, given one after the other with their two cells, as a table."""
    rows, outer = pd.factorize(upright, use_na_sentinel=False)
    places, inner = pd.factorize(across, use_na_sentinel=False)
    shape = (len(outer), len(inner))
    found = []
    for each in answers:
        table = np.full(shape, np.nan)
        table[rows, places] = each
        found.append(table)
    return Table(pd.Index(inner, name=across.name), pd.Index(outer, name=upright.name), *found)


def draw_heat(axes: Any, table: Table, note: str, *, what: str = "count") -> str:
    """Draw a table in colours with a bar that explains them; return the note, with what dots mean.

    Numbers and dates lie on the axes where they are, the least at the bottom; names are listed, the first on
    top. Few counts are written out; where many are drawn, a dot marks each whose interval holds 0.
    """
    if any(each.get_gid() == GID for each in (*axes.collections, *axes.images)):
        raise ArgumentError("ax", "it has a heat map already", fix="give each heat map Axes of its own.")
    cells = int(np.isfinite(table.value).sum())
    across, upright = (_places(each, few=cells <= TOLD) for each in (table.across, table.upright))
    (x, rows_x), (y, rows_y) = (edges_of(each) for each in (across, upright))
    value, block = _blocks(spread(table.value, rows_y, rows_x), x, y)
    least = min(float(np.nanmin(value)), 0.0)
    most = max(float(np.nanmax(value)), least + (1 if what == "count" else 1e-9))
    drawn = draw_mesh(axes, *block[:2], value, None, vmin=least, vmax=most)
    drawn.set_gid(GID)
    bar = axes.figure.colorbar(drawn, ax=axes, format=lambda count, _: f"{count:,.10g}")
    bar.outline.set_visible(False)
    bar.set_label(what if block[2] == 1 else f"{what}, mean of {block[2]:,} cells")
    _write(axes, across, upright, table)
    holds = (table.low <= 0) & (table.high >= 0)
    if cells <= TOLD and _tell(axes, drawn, (across, upright), table, whole=what == "count"):
        return note
    if holds.any() and cells <= DOTTED:
        down, right = np.nonzero(holds)
        mark = min(3.0, 60 / max(table.value.shape))
        axes.plot(across.middle[right], upright.middle[down], ".", ms=mark, color=_on(drawn), alpha=0.7)
        held = int(((table.value <= table.low) & (table.low == 0)).sum())
        note += "; dotted: may be 0" + (f", {held:,} held there by noise" if held else "")
    return note


def edges_of(places: Places) -> tuple[Floats, NDArray[np.intp]]:
    """Return the edges of a mesh along an axis, and which cell is between each two: -1 in a gap."""
    order = np.argsort(places.left, kind="stable")
    left, right = places.left[order], places.right[order]
    gaps = np.flatnonzero(left[1:] > right[:-1] + 1e-6 * (right - left)[:-1]) + 1
    edges = np.insert(np.append(left, right[-1]), gaps, right[gaps - 1])
    return edges, np.insert(order, gaps, -1)


def spread(value: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return a table in the order of a mesh, NaN in its gaps."""
    wide = np.pad(value, ((0, 1), (0, 1)), constant_values=np.nan)  # -1 is the row, the column, of nothing
    return wide[np.ix_(rows, columns)]


def draw_mesh(axes: Any, x: Floats, y: Floats, value: Floats, kind: Any, **given: Any) -> Any:
    """Draw a table as coloured cells between edges and return what was drawn."""
    shown = np.ma.masked_invalid(value)
    draw = axes.pcolormesh if value.size <= VECTOR else axes.pcolorfast
    drawn = draw(x, y, shown, cmap=kind, **given)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    return drawn


def _blocks(value: Floats, x: Floats, y: Floats) -> tuple[Floats, tuple[Floats, Floats, int]]:
    """Return a table no finer than a screen: means of blocks of cells, and their edges and size."""
    sizes = [-(-len(edges) // FINE) for edges in (y, x)]
    if max(sizes) == 1:
        return value, (x, y, 1)
    starts = [np.arange(0, len(edges) - 1, size) for edges, size in zip((y, x), sizes, strict=True)]
    known, total = np.isfinite(value).astype(float), np.nan_to_num(value)
    for axis, each in enumerate(starts):
        known, total = (np.add.reduceat(part, each, axis=axis) for part in (known, total))
    mean = np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)
    ends = [np.append(edges[each], edges[-1]) for edges, each in zip((y, x), starts, strict=True)]
    return mean, (ends[1], ends[0], sizes[0] * sizes[1])


def _write(axes: Any, across: Places, upright: Places, table: Table) -> None:
    """Write the units of both axes; names are read from top to bottom."""
    for axis, places, cells in ((axes.xaxis, across, table.across), (axes.yaxis, upright, table.upright)):
        write_units(axis, places, "" if cells.name is None else str(cells.name))
    if upright.labels is not None:
        axes.yaxis.set_inverted(True)
    for side in axes.spines.values():
        side.set_visible(False)


def _tell(axes: Any, drawn: Any, places: tuple[Places, Places], table: Table, *, whole: bool = True) -> bool:
    """Write each count in its cell, and how wrong it is, if there is room, and return whether there was."""
    (across, upright), answers = places, (table.value, table.low, table.high)
    box, dots = axes.get_window_extent(), axes.figure.dpi / 72
    room = [
        float((each.right - each.left).min() / (each.right.max() - each.left.min())) * size / dots
        for each, size in ((across, box.width), (upright, box.height))
    ]
    where = np.argwhere(np.isfinite(table.value)).tolist()
    text = [words_of(*(each[row, column] for each in answers), whole=whole) for row, column in where]
    if max(map(len, text)) * LETTER > room[0]:
        text = [re.sub(r" (?=\N{PLUS-MINUS SIGN}|to )", "\n", each) for each in text]
    longest = max(len(line) for each in text for line in each.split("\n"))
    if longest * 0.85 * LETTER > room[0] or room[1] < 2 * LINE:
        return False
    size = "small" if longest * LETTER < room[0] else "x-small"
    for (row, column), words in zip(where, text, strict=True):
        color = _readable(drawn.cmap(drawn.norm(table.value[row, column])))
        at = (across.middle[column], upright.middle[row])
        axes.text(*at, words, color=color, ha="center", va="center", fontsize=size)
    return True


def _places(cells: pd.Index[Any], *, few: bool) -> Places:
    """Return where cells lie: on their axis, or one after the other where few are very uneven."""
    places = places_of(cells, listed=False)
    wide = (places.right - places.left)[~np.asarray(cells.isna())]
    return places_of(cells, listed=True) if few and len(wide) and wide.max() > 3 * wide.min() else places


def _readable(color: Any) -> str:
    """Return black or white, whichever stands out on a colour."""
    red, green, blue = color[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def _on(drawn: Any) -> Any:
    """Return what stands out on the colour of the least counts."""
    least = drawn.cmap(0.0)
    return ink() if least[3] < 0.5 else _readable(least)
