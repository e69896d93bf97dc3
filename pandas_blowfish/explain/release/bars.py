"""Pictures of released counts along one axis: bars with error bars, steps with a band. Never sees rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import LETTER, Places, number_of, places_of, write_units
from pandas_blowfish.explain.release.canvas import (
    AROUND,
    AT_BOUND,
    TALLEST,
    claim,
    colors_of,
    height_of,
    ink,
    mark_bounds,
)
from pandas_blowfish.explain.release.rows import LISTED, ROW, Fold, draw_rows
from pandas_blowfish.explain.release.series import Series, words_of, write_counts

MANY = 60  # bars beyond which steps are drawn
UNEQUAL = 1.25  # times that one cell is as wide as another before areas, not heights, are counts
TOLD = 6  # bars up to which counts are also written
THIN = 4_000  # steps beyond which runs of cells are drawn from their least to their largest


def draw_counts(
    axes: Any,
    verb: str,
    cells: pd.Index[Any],
    series: list[Series],
    *,
    what: str = "count",
    new: bool = False,
    fold: Fold = None,
) -> str:
    """Draw counts with error bars and return what the marks mean.

    Bars, sideways for ranges; steps with a band where there are many. Bars of unequal width are as wide as
    their cells, and their area is the count. Many names are rows of their own.

    Args:
        axes: The matplotlib Axes to draw on.
        verb: What was released; ranges lie on their side, cumulative counts are always steps.
        cells: The cells, named by their column.
        series: The answers, group by group.
        what: What the answers are: "count", or "proportion".
        new: Whether the figure is ours, and may be made higher.
        fold: Returns the count of several cells of a series, and where it lies; None where nobody knows.
    """
    places = places_of(cells, listed=verb in ("range", "count", "workload"))
    label = "" if cells.name is None else str(cells.name)
    if verb == "count" and not label:
        places = replace(places, labels=["rows"])
    if places.labels is not None and len(cells) > LISTED and verb not in ("range", "workload", "cumhist"):
        room = None if new else height_of(axes)
        ordered = is_ordered(cells)
        if not ordered or len(cells) * ROW < (72 * TALLEST - AROUND if room is None else room):
            asked: Any = {"ordered": ordered, "room": room, "fold": fold}
            return draw_rows(axes, places.labels, series, label, what, **asked)
    many = verb == "cumhist" or len(cells) * len(series) > MANY
    if verb == "workload":
        label = "query"
    if verb == "range" and many:
        label = f"ranges of {label}, in the order asked"
    by, unit = _densities(places) if verb in ("hist", "marginal") else (None, "")
    drawn = series if by is None else [one.times(by) for one in series]
    first, sideways = not axes.has_data(), verb == "range" and not many
    along, across = (axes.yaxis, axes.xaxis) if sideways else (axes.xaxis, axes.yaxis)
    claim(across, f"{what} per {unit} of {label}" if unit else what)
    note = _draw(axes, places, drawn, verb, many=many)
    share = 0.8 if len(series) > 1 else 1.0
    write_units(along, places, label, many=verb == "range" and many, share=share)
    write_counts(across)
    if first:
        if not many and len(series) == 1 and len(cells) <= (TOLD if by is None else 2 * TOLD):
            _tell(axes, places, drawn[0], series[0], sideways=sideways, whole=what == "count")
        _limit(axes, places, drawn, sideways=sideways)
    return note


def _limit(axes: Any, places: Places, series: list[Series], *, sideways: bool) -> None:
    """Let counts begin at 0 where none is below, a single bar be no wall, and ranges be read from the top."""
    if len(places.left) == 1 and places.labels is not None:
        (axes.set_ylim if sideways else axes.set_xlim)(-1.5, 1.5)
    if min(float(np.nanmin([one.value, one.low])) for one in series) >= 0:
        _ = axes.set_xlim(left=0) if sideways else axes.set_ylim(bottom=0)
    if sideways:
        axes.invert_yaxis()


def _draw(axes: Any, places: Places, series: list[Series], verb: str, *, many: bool) -> str:
    """Draw bars or steps and return what the marks mean."""
    marked = False
    for number, (one, color) in enumerate(zip(series, colors_of(axes, len(series)), strict=True)):
        if many:
            _steps(axes, places, one, color, filled=verb != "cumhist" and len(series) == 1)
        else:
            marked |= _bars(axes, places, one, color, (number, len(series)), sideways=verb == "range")
    held = sum(int((one.sides < 0).sum()) for one in series) if many and verb != "cumhist" else 0
    if held:
        return f"; {held:,} of {sum(len(one.value) for one in series):,} held at a bound by noise"
    return f"; {AT_BOUND}" if marked else ""


def is_ordered(cells: pd.Index[Any]) -> bool:
    """Return whether cells have an order of their own: numbers, dates, bins, ordered categories."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return bool(cells.dtype.ordered)
    return not (pd.api.types.is_object_dtype(cells.dtype) or pd.api.types.is_string_dtype(cells.dtype))


def _densities(places: Places) -> tuple[Floats | None, str]:
    """Return what counts of unequal cells are multiplied by so that areas are to scale, and per what.

    The narrowest cells keep their counts. Widths that differ a little, as those of months, are equal.
    """
    if places.labels is not None:
        return None, ""
    wide = places.right - places.left
    known = wide if places.missing is None else wide[places.middle != places.missing]
    least = float(known.min())
    if known.max() <= UNEQUAL * least:
        return None, ""
    if not places.dates:
        return least / wide, number_of(float(f"{least:.6g}"))
    size, name = (least, "day") if least >= 1 else (least * 24, "hour")
    return least / wide, f"{number_of(float(f'{size:.4g}'))} {name}{'s' * (size != 1)}"


def _bars(
    axes: Any, places: Places, one: Series, color: Any, turn: tuple[int, int], *, sideways: bool
) -> bool:
    number, groups = turn
    wide = places.right - places.left
    room = (wide - 0.14 * wide.min())[one.cells] / groups
    at = places.middle[one.cells] + (number - (groups - 1) / 2) * room
    draw = axes.barh if sideways else axes.bar
    draw(at, one.value, room, color=color, alpha=0.75, label=one.name)
    given: Any = {"x": one.value, "y": at, "xerr": one.errors}
    if not sideways:
        given = {"x": at, "y": one.value, "yerr": one.errors}
    cap = min(3.0, 90 / (groups * len(places.left)))
    axes.errorbar(**given, fmt="none", ecolor=ink(), elinewidth=1, capsize=cap, alpha=0.8)
    x, y = (one.value, at) if sideways else (at, one.value)
    return mark_bounds(axes, x, y, one.sides, color, sideways=sideways)


def _tell(
    axes: Any, places: Places, drawn: Series, one: Series, *, sideways: bool, whole: bool = True
) -> None:
    """Write each count at the end of its bar, with its error, so that short error bars are seen too."""
    value, low, high = drawn.value, drawn.low, drawn.high
    ends = np.where(value < 0, *(np.where(np.isnan(x), value, x) for x in (low, high)))
    text = [words_of(*each, whole=whole) for each in zip(one.value, one.low, one.high, strict=True)]
    if not sideways and _crowded(axes, places, one, text):
        text = [each.replace(" \N{PLUS-MINUS SIGN}", "\n\N{PLUS-MINUS SIGN}") for each in text]
    turned = not sideways and _crowded(axes, places, one, text)
    if turned:
        text = [each.replace("\n", " ") for each in text]
    for at, end, words, count in zip(places.middle[one.cells], ends, text, value, strict=True):
        side = -1 if count < 0 else 1
        place, by = ((end, at), (5 * side, 0)) if sideways else ((at, end), (0, 3 * side))
        given: dict[str, Any] = {"ha": "center", "va": "bottom" if side > 0 else "top"}
        if sideways:
            given = {"ha": "left" if side > 0 else "right", "va": "center"}
        given |= {"rotation": 90} if turned else {}
        axes.annotate(words, place, by, textcoords="offset points", fontsize="small", alpha=0.8, **given)
    axes.margins(x=0.2) if sideways else axes.margins(y=0.3 if turned else 0.14)


def _crowded(axes: Any, places: Places, one: Series, text: list[str]) -> bool:
    """Return whether words over bars would run into each other."""
    room = float(axes.get_window_extent().width) * 72 / axes.figure.dpi
    span = float(places.right.max() - places.left.min())
    at = places.middle[one.cells]
    order = np.argsort(at)
    width = np.array([max(map(len, each.split("\n"))) for each in text])[order] * 0.85 * LETTER
    return bool((np.diff(at[order]) / span * room < (width[1:] + width[:-1]) / 2).any())


def _steps(axes: Any, places: Places, one: Series, color: Any, *, filled: bool) -> None:
    order = np.argsort(places.left[one.cells], kind="stable")
    left, right = places.left[one.cells][order], places.right[one.cells][order]
    value, low, high = one.value[order], one.low[order], one.high[order]
    first, last = value, value
    if (size := -(-len(value) // THIN)) > 1:
        begins = np.unique(np.append(np.arange(0, len(value), size), len(value) - 1))
        left, right = left[begins], right[np.append(begins[1:] - 1, len(right) - 1)]
        first, last = (end.reduceat(value, begins) for end in (np.minimum, np.maximum))
        low, high = np.fmin.reduceat(low, begins), np.fmax.reduceat(high, begins)
    x = np.column_stack([left, right]).ravel()
    apart = 2 * np.flatnonzero(left[1:] > right[:-1] + 1e-6 * (right - left)[:-1]) + 2
    y, lower, upper = (
        np.insert(np.column_stack(pair).ravel(), apart, np.nan)
        for pair in ((first, last), (low, low), (high, high))
    )
    x = np.insert(x, apart, x[apart])
    if np.isfinite(lower).any():
        axes.fill_between(x, lower, upper, color=color, alpha=0.25, linewidth=0)
    if filled:
        axes.fill_between(x, 0, y, color=color, alpha=0.15, linewidth=0)
    axes.plot(x, y, color=color, linewidth=1.2, label=one.name)
