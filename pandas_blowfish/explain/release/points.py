"""Pictures of released values: quantiles, sums and means as points with error bars. Never sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import Places, name_of, number_of, write_units
from pandas_blowfish.explain.release.bars import Series, about
from pandas_blowfish.explain.release.canvas import colors_of

TOLD = 8  # values up to which numbers are written too
APART = 20.0  # how many times larger one column is than another before the axis is logarithmic


def draw_quantiles(axes: Any, shares: Floats, series: list[Series]) -> None:
    """Draw quantiles as points with error bars, those of groups side by side."""
    gap = float(np.diff(np.unique(shares)).min(initial=0.2))
    _points(axes, shares, series, gap)
    if len(shares) <= 12:
        axes.set_xticks(np.unique(shares), [f"{share:g}" for share in np.unique(shares)])
    axes.set_xlabel("share of the rows")


def draw_totals(axes: Any, cells: pd.Index[Any], series: list[Series], verb: str) -> None:
    """Draw sums and means as points with error bars, one place a column or group.

    Columns of very different size share a logarithmic axis, where all that is drawn is above 0.
    """
    from matplotlib.ticker import FuncFormatter

    first, at = not axes.has_data(), np.arange(len(cells), dtype=float)
    _points(axes, at, series, 1.0)
    write_units(axes.xaxis, Places(at - 0.5, at + 0.5, [name_of(each) for each in cells]), str(cells.name))
    axes.set_xlim(-0.6, len(cells) - 0.4)
    axes.set_ylabel(verb)
    if first and len(series) * len(cells) <= TOLD:
        _tell(axes, series)
    drawn = np.concatenate([np.fmin(one.value, one.low) for one in series])
    values = [
        np.abs(np.concatenate([one.value[one.cells == cell] for one in series])) for cell in range(len(cells))
    ]
    sizes = np.array([each.max(initial=0.0) for each in values])
    if first and cells.name == "column" and (drawn > 0).all() and sizes.max() > APART * sizes.min():
        axes.set_yscale("log")
        axes.set_ylabel(f"{verb} (logarithmic)")
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda _value, _: ""))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_of(value)))


def _points(axes: Any, places: Floats, series: list[Series], gap: float) -> None:
    """Draw one point per answer, with its error bar, the groups side by side."""
    for number, (one, color) in enumerate(zip(series, colors_of(axes, len(series)), strict=True)):
        at = places[one.cells] + (number - (len(series) - 1) / 2) * 0.4 * gap / len(series)
        axes.errorbar(at, one.value, yerr=one.errors, fmt="o", capsize=3, color=color, label=one.name)


def _tell(axes: Any, series: list[Series]) -> None:
    """Write each value beside its point, give or take."""
    for number, one in enumerate(series):
        by = (number - (len(series) - 1) / 2) * 0.4 / len(series)
        side = -1 if len(series) > 1 and number < len(series) / 2 else 1
        for cell, value, error in zip(one.cells, one.value, one.errors.max(axis=0), strict=True):
            given = {"ha": "right" if side < 0 else "left", "va": "center", "fontsize": "small"}
            axes.annotate(
                about(value, error), (cell + by, value), (7 * side, 0), textcoords="offset points", **given
            )
