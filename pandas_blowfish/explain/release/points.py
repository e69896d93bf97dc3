"""Pictures of released values: quantiles, sums and means as points with error bars. Never sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import Places, in_lines, name_of, plain, write_units
from pandas_blowfish.explain.release.canvas import (
    AT_BOUND,
    claim,
    color_of,
    colors_of,
    height_of,
    mark_bounds,
    panels_of,
    stretch,
)
from pandas_blowfish.explain.release.rows import LISTED, ROW, draw_rows
from pandas_blowfish.explain.release.series import Series, words_of

TOLD = 8  # values up to which numbers are written too
ABREAST = 4  # panels of groups that stand side by side
STRIP = 62.0  # points that a panel of one value is high, its axis included


def draw_quantiles(axes: Any, shares: Floats, series: list[Series], column: str) -> str:
    """Draw quantiles of a column as points, those of groups side by side; return what marks mean."""
    claim(axes.yaxis, column)
    gap = float(np.diff(np.unique(shares)).min(initial=0.2))
    marked = _points(axes, shares, series, gap)
    if len(shares) <= 12:
        axes.set_xticks(np.unique(shares), [f"{share:g}" for share in np.unique(shares)])
    axes.set_xlabel("share of the rows")
    return f"; {AT_BOUND}" if marked else ""


def draw_totals(
    axes: Any,
    cells: pd.Index[Any],
    series: list[Series],
    verb: str,
    *,
    column: str = "",
    dates: bool = False,
    new: bool = False,
) -> str:
    """Draw sums and means as points with error bars, and return what marks mean.

    Several columns have a panel each, as their units differ; many groups a row each.

    Args:
        axes: The matplotlib Axes to draw on.
        cells: The columns, or the groups of the only one.
        series: The answers, group by group.
        verb: What was released.
        column: Of which column, where it is one.
        dates: Whether the values are dates.
        new: Whether the figure is ours, and may be made higher.
    """
    names = [name_of(each) for each in cells]
    if cells.name == "column" and len(cells) > 1:
        return _panels(axes, names, series, verb, dates=dates, new=new)
    what = f"{verb} of {column}" if column else verb
    if len(cells) > LISTED and not dates:
        room = None if new else height_of(axes)
        return draw_rows(axes, names, series, str(cells.name), what, room=room)
    claim(axes.yaxis, what)
    first, at = not axes.has_data(), np.arange(len(cells), dtype=float)
    marked = _points(axes, at, series, 1.0)
    write_units(axes.xaxis, Places(at - 0.5, at + 0.5, names), str(cells.name))
    axes.set_xlim(-0.6, len(cells) - 0.4)
    if first and not dates and len(series) * len(cells) <= TOLD:
        _tell(axes, series)
    _write_values(axes.yaxis, series, what, dates=dates)
    return f"; {AT_BOUND}" if marked else ""


def _panels(axes: Any, names: list[str], series: list[Series], verb: str, *, dates: bool, new: bool) -> str:
    """Draw a panel per column: strips for one value each, else side by side with a row per group."""
    strips = len(series) == 1
    columns = 1 if strips else min(len(names), ABREAST)
    rows = -(-len(names) // columns)
    if new:
        stretch(axes, rows * (STRIP if strips else ROW * len(series) + STRIP / 2))
    panels, color, marked = panels_of(axes, rows, columns), color_of(axes), False
    for number, (panel, name) in enumerate(zip(panels, names, strict=False)):
        one, lead = _of_column(series, number), plain(in_lines(name, 16, 3))
        marked |= _strip(panel, one, color, told=not dates and len(names) * len(series) <= TOLD)
        labels = [lead] if strips else [each.name for each in series]
        at = np.arange(len(labels), dtype=np.float64)
        write_units(panel.yaxis, Places(at - 0.5, at + 0.5, labels), "")
        panel.set_ylim(len(labels) - 0.4, -0.6)
        if not strips and number % columns:
            panel.set_yticklabels([])
        _write_values(panel.xaxis, [one], f"{verb} of {lead}", dates=dates, ticks=8 if strips else 4)
        if strips:  # each is named at its side
            panel.set_xlabel(verb if number == len(names) - 1 else "")
    for spare in panels[len(names) :]:
        spare.remove()
    return f"; {AT_BOUND}" if marked else ""


def _of_column(series: list[Series], number: int) -> Series:
    """Return the answers of one column as a series of their own, whose cells are the groups."""
    own = [(group, one, np.flatnonzero(one.cells == number)) for group, one in enumerate(series)]
    groups = np.concatenate([np.full(len(part), group, dtype=np.intp) for group, _, part in own])
    value, low, high = (
        np.concatenate([getattr(one, end)[part] for _, one, part in own]) for end in ("value", "low", "high")
    )
    if any(one.bounds is None for one in series):
        return Series("", groups, value, low, high)
    least, most = (np.concatenate([(one.bounds or ())[end][part] for _, one, part in own]) for end in (0, 1))
    return Series("", groups, value, low, high, (least, most))


def _strip(axes: Any, one: Series, color: Any, *, told: bool) -> bool:
    """Draw points along the bottom, each in its row; return whether noise moved one to a bound."""
    at = one.cells.astype(float)
    axes.errorbar(one.value, at, xerr=one.errors, fmt="o", capsize=3, color=color)
    for value, low, high, side, row in zip(one.value, one.low, one.high, one.sides, at, strict=True):
        if told:
            words, given = words_of(value, low, high, held=side != 0), {"ha": "center", "fontsize": "small"}
            axes.annotate(words, (value, row), (0, 6), textcoords="offset points", **given)
    axes.margins(x=0.3 if told else 0.08)
    return mark_bounds(axes, one.value, at, one.sides, color, sideways=True)


def _write_values(axis: Any, series: list[Series], label: str, *, dates: bool, ticks: int = 8) -> None:
    """Write numbers or dates along an axis of values."""
    value = np.concatenate([one.value for one in series])
    write_units(axis, Places(value, value, dates=dates), label, ticks=ticks)


def _points(axes: Any, places: Floats, series: list[Series], gap: float) -> bool:
    """Draw a point per answer with its error bar, the groups side by side; return whether one is marked."""
    marked = False
    for number, (one, color) in enumerate(zip(series, colors_of(axes, len(series)), strict=True)):
        at = places[one.cells] + (number - (len(series) - 1) / 2) * 0.4 * gap / len(series)
        axes.errorbar(at, one.value, yerr=one.errors, fmt="o", capsize=3, color=color, label=one.name)
        marked |= mark_bounds(axes, at, one.value, one.sides, color, sideways=False)
    return marked


def _tell(axes: Any, series: list[Series]) -> None:
    """Write each value beside its point, with its error."""
    for number, one in enumerate(series):
        by = (number - (len(series) - 1) / 2) * 0.4 / len(series)
        side = -1 if len(series) > 1 and number < len(series) / 2 else 1
        answers = zip(one.cells, one.value, one.low, one.high, one.sides, strict=True)
        for cell, value, low, high, held in answers:
            given = {"ha": "right" if side < 0 else "left", "va": "center", "fontsize": "small"}
            at, words = (cell + by, value), words_of(value, low, high, held=held != 0)
            axes.annotate(words, at, (7 * side, 0), textcoords="offset points", **given)
