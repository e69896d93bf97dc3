"""One row per name, all of them written: sorted bars, or points of several groups. Sees releases only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.explain.release.axis_labels import LINE, in_lines, plain
from pandas_blowfish.explain.release.canvas import (
    AROUND,
    AT_BOUND,
    claim,
    colors_of,
    ink,
    mark_bounds,
    stretch,
)
from pandas_blowfish.explain.release.series import Series, words_of, write_counts

LISTED = 25  # names beyond which each has a row
LETTERS = 32  # of a line of a name
ROW = 1.15 * LINE  # points that a row of one line is high
NAMED = 4  # groups whose counts of all other names are written
Fold = (
    Callable[[int, Ints], tuple[float, float, float]] | None
)  # of a series and some cells: value, low, high


def draw_rows(
    axes: Any,
    names: list[str],
    series: list[Series],
    label: str,
    value: str,
    *,
    ordered: bool = False,
    room: float | None = None,
    fold: Fold = None,
) -> str:
    """Draw a row per name, the largest on top, and return what the marks mean.

    Counts are bars, or points where groups share a row. Where there is no room for all, the last row states
    how many others there are, and what they count together; of values that do not add up the surest are kept.

    Args:
        axes: The matplotlib Axes to draw on.
        names: What the cells are called.
        series: The answers, group by group.
        label: What the names are.
        value: What the answers are: "count", or a verb whose values do not add up.
        ordered: Whether names stay in their order.
        room: How many points high the Axes are; None where their figure may be made higher.
        fold: Returns the count of several cells of a series, and where it lies.
    """
    if axes.has_data():
        raise ArgumentError("ax", "it shows something already", fix="give these rows Axes of their own.")
    claim(axes.xaxis, value)
    text = [in_lines(name, LETTERS, 2) for name in names]
    lines = np.array([1 + each.count("\n") for each in text])
    if room is None:
        stretch(axes, ROW * float(lines.sum()))
        room = axes.figure.get_figheight() * 72 - AROUND
    shown, rest = _chosen(series, lines, int((room + 1) // ROW), ordered=ordered, adds=value == "count")
    place = np.full(len(names), np.nan)
    place[shown] = np.cumsum(lines[shown]) - lines[shown] / 2
    marked = _draw(axes, series, place, bars=value == "count" and len(series) == 1)
    labels, ticks, last = [plain(text[cell]) for cell in shown], place[shown], float(lines[shown].sum())
    if len(rest):
        labels.append(f"other ({len(rest):,})")
        ticks, last = np.append(ticks, last + 0.5), last + 1
        _write_rest(axes, series, rest, last - 0.5, fold)
    axes.set_yticks(ticks, labels, fontsize="small")
    axes.set_ylim(last + 0.1, -0.1)
    axes.set_ylabel(plain(label))
    write_counts(axes.xaxis)
    if min(float(np.nanmin([one.value, one.low])) for one in series) >= 0:
        axes.set_xlim(left=0)
    return f"; {AT_BOUND}" if marked else ""


def _draw(axes: Any, series: list[Series], place: Floats, *, bars: bool) -> bool:
    """Draw the answers of cells that have a place; return whether noise moved one to a bound."""
    marked = False
    for number, (one, color) in enumerate(zip(series, colors_of(axes, len(series)), strict=True)):
        at = place[one.cells] + (number - (len(series) - 1) / 2) * 0.7 / len(series)
        own = np.isfinite(at)
        if bars:
            axes.barh(at[own], one.value[own], 0.78, color=color, alpha=0.75, label=one.name)
        dots: dict[str, Any] = {"fmt": "none", "ecolor": ink(), "alpha": 0.8}
        if not bars:
            dots = {"fmt": "o", "ms": 4, "color": color, "label": one.name}
        axes.errorbar(one.value[own], at[own], xerr=one.errors[:, own], elinewidth=1, capsize=2, **dots)
        marked |= mark_bounds(axes, one.value[own], at[own], one.sides[own], color, sideways=True)
    return marked


def _chosen(series: list[Series], lines: Ints, most: int, *, ordered: bool, adds: bool) -> tuple[Ints, Ints]:
    """Return the cells that have a row, from the top, and those for which so many lines are too few."""
    total, error = np.zeros(len(lines)), np.zeros(len(lines))
    for one in series:
        np.add.at(total, one.cells, np.nan_to_num(one.value))
        np.add.at(error, one.cells, np.nan_to_num(one.high - one.low))
    order = np.arange(len(lines)) if ordered else np.argsort(-total, kind="stable")
    if lines.sum() <= most:
        return order, order[:0]
    best = np.argsort(-total if adds else error, kind="stable")
    fit = max(int((np.cumsum(lines[best]) < most).sum()), 1)  # one line is for the others
    own = np.isin(order, best[:fit])
    return order[own], order[~own]


def _write_rest(axes: Any, series: list[Series], rest: Ints, place: float, fold: Fold) -> None:
    """Write in the last row what the names without a row count together."""
    if fold is None:
        text = "not shown: their errors are larger"
    elif len(series) > NAMED:
        text = ""
    else:
        parts = [(one.name, words_of(*fold(number, rest), whole=True)) for number, one in enumerate(series)]
        text = ", ".join(f"{name} {words}".strip() for name, words in parts) + " together"
    given: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(text, (0, place), (6, 0), va="center", fontsize="small", alpha=0.8, **given)
