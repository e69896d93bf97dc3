"""Pictures of released frames through matplotlib: error bars, bands. Never sees rows, only releases."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, FrameError, MissingPackageError
from pandas_blowfish.explain.clusters import color_of, draw_clusters
from pandas_blowfish.explain.places import Places, name_of, numbers_of, places_of, plain, write_units
from pandas_blowfish.plan.law import widest
from pandas_blowfish.release import Receipt, interval, receipt_of, value_of

Floats = NDArray[np.float64]
MANY = 60  # bars beyond which steps are drawn
THIN = 4_000  # steps beyond which runs of cells are drawn from their least to their largest


@dataclass(frozen=True, eq=False)
class Series:
    """The answers of one group: which cells, the values, and the bounds where they are known."""

    name: str
    cells: NDArray[np.intp]
    value: Floats
    low: Floats
    high: Floats


def plot(release: pd.DataFrame, *, ax: Any = None, level: Any = 0.95, columns: Any = None) -> Any:
    """Draw a release and return the Axes.

    Groups (every level of the index but the last) are series of their own. Where the release cannot say
    how wrong an answer is, it is drawn without bars, and the note beneath the title says why.

    Args:
        release: What a verb returned, or some of its rows.
        ax: The matplotlib Axes to draw on; None for new ones.
        level: The probability that each bar, or the band at each point, holds the true answer.
        columns: Of a `kmeans`: the one or two coordinates to draw; None for the first two.
    """
    receipt = receipt_of(release)
    widest(level)  # refuses what is no probability
    verb = receipt.get("verb")
    shown = value_of(verb)
    if shown not in release.columns or not len(release):
        raise FrameError(f"there is no {shown!r} to draw any more", fix="draw the release as returned.")
    if columns is not None and verb != "kmeans":
        raise ArgumentError("columns", "only a kmeans has coordinates to choose from", allowed="None")
    axes = _axes(ax)
    first = not axes.has_data()
    low, high, note = _bounds(release, level)
    if verb == "kmeans":
        draw_clusters(axes, release, receipt, (low, high), columns)
        _words(axes, receipt, note)
        return axes
    values, ticks, dates = numbers_of(release[shown])
    index = _boxes_named(release.index, receipt) if verb == "range" else release.index
    codes, cells = np.arange(len(index)), index
    names: list[str] = [""]
    groups = np.zeros(len(index), dtype=np.intp)
    if isinstance(index, pd.MultiIndex):
        codes, cells = pd.factorize(index.get_level_values(-1), use_na_sentinel=False)
        groups, outer = pd.factorize(index.droplevel(-1), use_na_sentinel=False)
        names = [plain(name_of(each)) for each in outer]
        names = [f" {name}" if name.startswith("_") else name for name in names]  # "_" hides from legends
    parts = [np.flatnonzero(groups == number) for number in range(len(names))]
    series = [
        Series(name, codes[part], values[part], low[part], high[part])
        for name, part in zip(names, parts, strict=True)
    ]
    if verb == "quantile":
        _points(axes, np.asarray(cells, dtype=float), series)
        write_units(axes.yaxis, Places(values, values, ticks, dates), _column(receipt))
        axes.set_xlabel("share of the rows")
    elif shown == "value":
        _totals(axes, cells, series)
        write_units(axes.yaxis, Places(values, values, ticks, dates), str(verb))
        axes.set_xlabel(plain(str(index.names[-1])))
    else:
        name = index.names[-1]
        _counts(axes, str(verb), cells.rename(name), series, first=first)
    if len(series) > 1:
        title = ", ".join(str(name) for name in index.names[:-1])
        axes.legend(title=plain(title), ncols=1 + len(series) // 12, fontsize="small")
    _words(axes, receipt, note)
    return axes


def _boxes_named(index: pd.Index[Any], receipt: Receipt) -> pd.Index[Any]:
    """Return the index of ranges with a box of several columns as one name."""
    groups = len(receipt.get("groupby", ()))
    if index.nlevels - groups < 2 or list(index.names[:groups]) != list(receipt.get("groupby", ())):
        return index
    inner = index.droplevel([*range(groups)]) if groups else index
    names = pd.Index([", ".join(plain(name_of(each)) for each in box) for box in inner])
    title = ", ".join(str(name) for name in inner.names)
    if not groups:
        return names.rename(title)
    outer = [index.get_level_values(level) for level in range(groups)]
    return pd.MultiIndex.from_arrays([*outer, names], names=[*index.names[:groups], title])


def _axes(ax: Any) -> Any:
    """Return Axes to draw on, new ones for None."""
    try:
        from matplotlib.axes import Axes
    except ImportError:
        raise MissingPackageError("matplotlib", 'pip install "pandas-blowfish[plot]"') from None
    if ax is None:
        from matplotlib import pyplot

        new = pyplot.subplots(layout="constrained")[1]
        new.spines[["top", "right"]].set_visible(False)
        return new
    if not isinstance(ax, Axes):
        raise ArgumentTypeError("ax", "not something to draw on", allowed="None or a matplotlib Axes")
    return ax


def _bounds(release: pd.DataFrame, level: Any) -> tuple[Floats, Floats, str]:
    """Return the interval of each answer, NaN where it is exact or not known, and a note about it."""
    none = np.full(len(release), np.nan)
    try:
        bounds = interval(release, level)
    except FrameError as refused:
        return none, none, f"no error bars: {refused.problem}"
    low, high = (numbers_of(bounds[end])[0] for end in ("low", "high"))
    exact, note = ~(high > low), f"{100 * float(level):g}% intervals"
    if exact.all():
        return none, none, "exact" if receipt_of(release)["epsilon"] == "0" else note
    return np.where(exact, np.nan, low), np.where(exact, np.nan, high), note


def _counts(axes: Any, verb: str, cells: pd.Index[Any], series: list[Series], *, first: bool) -> None:
    """Draw counts: bars with error bars, sideways for ranges; steps with a band where there are many."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

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
    for number, one in enumerate(series):
        color = color_of(axes)
        if many:
            _steps(axes, places, one, color, filled=verb != "cumhist" and len(series) == 1)
        else:
            _bars(axes, places, one, color, (number, len(series)), sideways=sideways)
    along, across = (axes.yaxis, axes.xaxis) if sideways else (axes.xaxis, axes.yaxis)
    write_units(along, places, label, many=many and len(cells) > MANY)
    across.set_major_locator(MaxNLocator(nbins=7))
    across.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    across.set_label_text("count")
    if not first:
        return
    if len(cells) == 1 and places.labels is not None:
        (axes.set_ylim if sideways else axes.set_xlim)(-1.5, 1.5)
    if min(float(np.nanmin([one.value, one.low])) for one in series) >= 0:
        _ = axes.set_xlim(left=0) if sideways else axes.set_ylim(bottom=0)
    if sideways:
        axes.invert_yaxis()


def _bars(
    axes: Any, places: Places, one: Series, color: Any, turn: tuple[int, int], *, sideways: bool
) -> None:
    from matplotlib import rcParams

    number, groups = turn
    room = 0.86 * (places.right - places.left)[one.cells] / groups
    at = places.middle[one.cells] + (number - (groups - 1) / 2) * room
    draw = axes.barh if sideways else axes.bar
    draw(at, one.value, room, color=color, alpha=0.75, label=one.name)
    sizes = np.maximum([one.value - one.low, one.high - one.value], 0.0)  # NaN draws nothing
    given: Any = (
        {"x": one.value, "y": at, "xerr": sizes} if sideways else {"x": at, "y": one.value, "yerr": sizes}
    )
    cap = min(3.0, 90 / (groups * len(places.left)))
    axes.errorbar(**given, fmt="none", ecolor=rcParams["text.color"], elinewidth=1, capsize=cap, alpha=0.8)


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


def _points(axes: Any, shares: Floats, series: list[Series]) -> None:
    """Draw quantiles as points with error bars, those of groups a little apart."""
    gap = float(np.diff(np.unique(shares)).min(initial=0.2))
    for number, one in enumerate(series):
        at = shares[one.cells] + (number - (len(series) - 1) / 2) * 0.4 * gap / len(series)
        sizes = np.maximum([one.value - one.low, one.high - one.value], 0.0)
        axes.errorbar(at, one.value, yerr=sizes, fmt="o", capsize=3, color=color_of(axes), label=one.name)
    if len(shares) <= 12:
        axes.set_xticks(np.unique(shares), [f"{share:g}" for share in np.unique(shares)])


def _totals(axes: Any, cells: pd.Index[Any], series: list[Series]) -> None:
    """Draw sums and means as points with error bars, one place a column or group."""
    for number, one in enumerate(series):
        at = one.cells + (number - (len(series) - 1) / 2) * 0.4 / len(series)
        sizes = np.maximum([one.value - one.low, one.high - one.value], 0.0)
        axes.errorbar(at, one.value, yerr=sizes, fmt="o", capsize=3, color=color_of(axes), label=one.name)
    if len(cells) <= MANY:
        axes.set_xticks(np.arange(len(cells)), [plain(name_of(each)) for each in cells])
        axes.set_xlim(-0.6, len(cells) - 0.4)


def _column(receipt: Receipt) -> str:
    """Return the column whose quantiles a receipt is about."""
    call = str(receipt.get("query"))
    asked = re.search(r"(?:hist|quantile)\((?:\[[^\]]*, |\[)?('[^']*'|\"[^\"]*\")\]?, ", call)
    return asked[1][1:-1] if asked else "value"


def _words(axes: Any, receipt: Receipt, note: str) -> None:
    """Write the question as the title, and beneath it what it cost and what the bars are."""
    query = re.sub(
        r", (strategy|epsilon)='[^']*'|\b(strategy|epsilon)='[^']*'(, )?", "", str(receipt.get("query"))
    )
    asked = f"{query}.{receipt['derived']}" if "derived" in receipt else query
    shown = asked if len(asked) <= 64 else f"{asked[:61]}..."
    axes.set_title(plain(shown), loc="left", pad=18, fontsize="medium")
    axes.annotate(
        f"epsilon {receipt.get('epsilon')}, {note}",
        (0, 1),
        xytext=(0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize="small",
        alpha=0.7,
    )
