"""Pictures of released counts along one axis: bars with error bars, steps with a band. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import STEPS, Places, places_of, write_units
from pandas_blowfish.explain.release.canvas import colors_of, ink

MANY = 60  # bars beyond which steps are drawn
TOLD = 6  # bars up to which counts are also written
THIN = 4_000  # steps beyond which runs of cells are drawn from their least to their largest


@dataclass(frozen=True, eq=False)
class Series:
    """The answers of one group: which cells, the values, and the bounds where they are known."""

    name: str
    cells: NDArray[np.intp]
    value: Floats
    low: Floats
    high: Floats

    @property
    def errors(self) -> Floats:
        """Return how far each bar reaches down and up; NaN draws nothing."""
        return np.maximum([self.value - self.low, self.high - self.value], 0.0)


def draw_counts(axes: Any, verb: str, cells: pd.Index[Any], series: list[Series]) -> None:
    """Draw counts: bars with error bars, sideways for ranges; steps with a band where there are many.

    Args:
        axes: The matplotlib Axes to draw on.
        verb: What was released; ranges lie on their side, cumulative counts are always steps.
        cells: The cells, named by their column.
        series: The answers, group by group.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    first = not axes.has_data()
    many = verb == "cumhist" or len(cells) * len(series) > MANY
    places = places_of(cells, listed=verb in ("range", "count", "workload"))
    label = "" if cells.name is None else str(cells.name)
    if verb == "count" and not label:
        places = replace(places, labels=["rows"])
    if verb == "workload":
        label = "query"
    if verb == "range" and many:
        label = f"ranges of {label}, in the order asked"
    sideways = verb == "range" and not many
    for number, (one, color) in enumerate(zip(series, colors_of(axes, len(series)), strict=True)):
        if many:
            _steps(axes, places, one, color, filled=verb != "cumhist" and len(series) == 1)
        else:
            _bars(axes, places, one, color, (number, len(series)), sideways=sideways)
    along, across = (axes.yaxis, axes.xaxis) if sideways else (axes.xaxis, axes.yaxis)
    write_units(along, places, label, many=verb == "range" and many)
    across.set_major_locator(MaxNLocator(nbins=7, steps=STEPS))
    across.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    across.set_label_text("count")
    if not first:
        return
    if not many and len(series) == 1 and len(cells) <= TOLD:
        _tell(axes, places, series[0], sideways=sideways)
    if len(cells) == 1 and places.labels is not None:
        (axes.set_ylim if sideways else axes.set_xlim)(-1.5, 1.5)
    if min(float(np.nanmin([one.value, one.low])) for one in series) >= 0:
        _ = axes.set_xlim(left=0) if sideways else axes.set_ylim(bottom=0)
    if sideways:
        axes.invert_yaxis()


def _bars(
    axes: Any, places: Places, one: Series, color: Any, turn: tuple[int, int], *, sideways: bool
) -> None:
    number, groups = turn
    room = 0.86 * (places.right - places.left)[one.cells] / groups
    at = places.middle[one.cells] + (number - (groups - 1) / 2) * room
    draw = axes.barh if sideways else axes.bar
    draw(at, one.value, room, color=color, alpha=0.75, label=one.name)
    given: Any = {"x": one.value, "y": at, "xerr": one.errors}
    if not sideways:
        given = {"x": at, "y": one.value, "yerr": one.errors}
    cap = min(3.0, 90 / (groups * len(places.left)))
    axes.errorbar(**given, fmt="none", ecolor=ink(), elinewidth=1, capsize=cap, alpha=0.8)


def _tell(axes: Any, places: Places, one: Series, *, sideways: bool) -> None:
    """Write each count at the end of its bar, give or take, so that short error bars are seen too."""
    ends = np.where(one.value < 0, *(np.where(np.isnan(x), one.value, x) for x in (one.low, one.high)))
    for at, end, value, error in zip(
        places.middle[one.cells], ends, one.value, one.errors.max(axis=0), strict=True
    ):
        side = -1 if value < 0 else 1
        place, by = ((end, at), (5 * side, 0)) if sideways else ((at, end), (0, 3 * side))
        given = {"ha": "center", "va": "bottom" if side > 0 else "top"}
        if sideways:
            given = {"ha": "left" if side > 0 else "right", "va": "center"}
        axes.annotate(
            about(value, error), place, by, textcoords="offset points", fontsize="small", alpha=0.8, **given
        )
    axes.margins(x=0.2) if sideways else axes.margins(y=0.1)


def about(value: float, error: float) -> str:
    """Return a number, give or take an error that is rounded up, with the digits that make sense."""
    if np.isnan(error) or error <= 0:
        return f"{value:,.10g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    most = np.ceil(round(error * 10.0**digits, 6)) / 10.0**digits
    return f"{value:,.{digits}f} \N{PLUS-MINUS SIGN} {most:,.{digits}f}"


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
