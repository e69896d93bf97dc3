"""Pictures of released frames through matplotlib: error bars, bands. Never sees rows, only releases."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentTypeError, FrameError, MissingPackageError
from pandas_blowfish.plan.law import widest
from pandas_blowfish.release import Receipt, interval, receipt_of

Floats = NDArray[np.float64]
MANY = 60  # bars beyond which steps are drawn
THIN = 4_000  # steps beyond which runs of cells are drawn from their least to their largest


@dataclass(frozen=True, eq=False)
class Places:
    """Where cells lie along an axis: from left to right of each, in units of the axis.

    Attributes:
        left: Where each begins.
        right: Where each ends.
        labels: What to write at each; None for an axis of numbers or dates.
        dates: Whether the axis shows dates.
        missing: Where the cell of missing values lies beside an axis of numbers or dates.
    """

    left: Floats
    right: Floats
    labels: list[str] | None = None
    dates: bool = False
    missing: float | None = None

    @property
    def middle(self) -> Floats:
        """Return the middle of each cell."""
        return (self.left + self.right) / 2


@dataclass(frozen=True, eq=False)
class Series:
    """The answers of one group: which cells, the values, and the bounds where they are known."""

    name: str | None
    cells: NDArray[np.intp]
    value: Floats
    low: Floats
    high: Floats


def plot(release: pd.DataFrame, *, ax: Any = None, level: Any = 0.95) -> Any:
    """Draw a release and return the Axes.

    Groups (every level of the index but the last) are series of their own. Where the release cannot say
    how wrong an answer is, it is drawn without bars, and the note beneath the title says why.

    Args:
        release: What a verb returned, or some of its rows.
        ax: The matplotlib Axes to draw on; None for new ones.
        level: The probability that each bar, or the band at each point, holds the true answer.
    """
    receipt = receipt_of(release)
    widest(level)  # refuses what is no probability
    verb = receipt.get("verb")
    shown = "value" if verb == "quantile" else "count"
    if shown not in release.columns or not len(release):
        raise FrameError(f"there is no {shown!r} to draw any more", fix="draw the release as returned.")
    axes, own = _axes(ax)
    values, ticks, dates = _numbers(release[shown])
    low, high, note = _bounds(release, level)
    index = release.index
    codes, cells = np.arange(len(index)), index
    names: list[str | None] = [None]
    groups = np.zeros(len(index), dtype=np.intp)
    if isinstance(index, pd.MultiIndex):
        codes, cells = pd.factorize(index.get_level_values(-1), use_na_sentinel=False)
        groups, outer = pd.factorize(index.droplevel(-1), use_na_sentinel=False)
        names = [_name(each) for each in outer]
    parts = [np.flatnonzero(groups == number) for number in range(len(names))]
    series = [
        Series(name, codes[part], values[part], low[part], high[part])
        for name, part in zip(names, parts, strict=True)
    ]
    if verb == "quantile":
        _points(axes, np.asarray(cells, dtype=float), series)
        _units(axes.yaxis, Places(values, values, ticks, dates))
        axes.set(xlabel="share of the rows", ylabel=_column(receipt))
    else:
        _counts(axes, str(verb), cells, series, own=own)
    if len(series) > 1:
        title = ", ".join(str(name) for name in index.names[:-1])
        axes.legend(title=title, ncols=1 + len(series) // 12, fontsize="small")
    _words(axes, receipt, note)
    return axes


def _axes(ax: Any) -> tuple[Any, bool]:
    """Return Axes to draw on, and whether they are new."""
    try:
        from matplotlib.axes import Axes
    except ImportError:
        raise MissingPackageError("matplotlib", 'pip install "pandas-blowfish[plot]"') from None
    if ax is None:
        from matplotlib import pyplot

        new = pyplot.subplots(layout="constrained")[1]
        new.spines[["top", "right"]].set_visible(False)
        return new, True
    if not isinstance(ax, Axes):
        raise ArgumentTypeError("ax", "not something to draw on", allowed="None or a matplotlib Axes")
    return ax, False


def _bounds(release: pd.DataFrame, level: Any) -> tuple[Floats, Floats, str]:
    """Return the interval of each answer, NaN where it is exact or not known, and a note about it."""
    none = np.full(len(release), np.nan)
    try:
        bounds = interval(release, level)
    except FrameError as refused:
        return none, none, f"no error bars: {refused.problem}"
    low, high = (_numbers(bounds[end])[0] for end in ("low", "high"))
    exact = ~(high > low)
    if exact.all():
        return none, none, "exact"
    return np.where(exact, np.nan, low), np.where(exact, np.nan, high), f"{100 * float(level):g}% intervals"


def _numbers(values: Any) -> tuple[Floats, list[str] | None, bool]:
    """Return a Series or Index as numbers of an axis, the names of categories, whether they are dates."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        kind = values.cat if isinstance(values, pd.Series) else values
        codes = np.asarray(kind.codes, dtype=float)
        return np.where(codes < 0, np.nan, codes), [str(each) for each in kind.categories], False
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        from matplotlib.dates import date2num

        local = pd.DatetimeIndex(values).tz_localize(None)  # the column's own clock
        return np.asarray(date2num(local.to_numpy()), dtype=float), None, True
    return np.asarray(values, dtype=float), None, False


def _places(cells: pd.Index[Any], *, listed: bool) -> Places:
    """Return where cells lie: on an axis of numbers or dates, or listed one after the other."""
    empty = np.asarray(cells.isna())
    known = cells[~empty]
    if not listed and len(known) and (ends := _ends(known)) is not None:
        (left, right), dates = ends, _dated(known)
        if not empty.any():
            return Places(left, right, dates=dates)
        span = right.max() - left.min()
        begin, width = right.max() + 0.03 * span, max(float(np.median(right - left)), 0.015 * span)
        at = np.where(empty, begin, 0.0), np.where(empty, begin + width, 0.0)
        at[0][~empty], at[1][~empty] = left, right
        return Places(*at, dates=dates, missing=begin + width / 2)
    numbers = np.arange(len(cells), dtype=float)
    return Places(numbers - 0.5, numbers + 0.5, [_name(each) for each in cells])


def _ends(known: pd.Index[Any]) -> tuple[Floats, Floats] | None:
    """Return where cells of numbers or dates begin and end; None for values that are but a list."""
    if isinstance(known, pd.IntervalIndex):
        whole = 0.5 if pd.api.types.is_integer_dtype(known.left.dtype) or _whole(known) else 0.0
        left, right = _numbers(known.left)[0] - whole, _numbers(known.right)[0] + whole
        return (left, right) if (right > left).all() else None
    if not pd.api.types.is_numeric_dtype(known.dtype) or known.dtype == bool:
        return None
    values = np.asarray(known, dtype=float)
    steps = np.diff(np.sort(values))
    step = float(steps.min(initial=np.inf)) if len(steps) else 1.0
    if step <= 0 or not np.allclose(steps % step, 0) or steps.sum() > 4 * step * len(values):
        return None
    return values - step / 2, values + step / 2


def _whole(known: pd.IntervalIndex) -> bool:
    """Tell whether bins of whole numbers became floats beside a missing cell."""
    return known.closed == "both" and not _dated(known) and bool((known.left % 1 == 0).all())


def _dated(cells: pd.Index[Any]) -> bool:
    return pd.api.types.is_datetime64_any_dtype(getattr(cells, "left", cells).dtype)


def _counts(axes: Any, verb: str, cells: pd.Index[Any], series: list[Series], *, own: bool) -> None:
    """Draw counts: bars with error bars, sideways for ranges; steps with a band where there are many."""
    from matplotlib.ticker import MaxNLocator

    many = verb == "cumhist" or len(cells) * len(series) > MANY
    places = _places(cells, listed=verb in ("range", "count"))
    sideways = verb == "range" and not many
    for number, one in enumerate(series):
        color = _color(axes)
        if many:
            _steps(axes, places, one, color, filled=verb != "cumhist" and len(series) == 1)
        else:
            _bars(axes, places, one, color, (number, len(series)), sideways=sideways)
    along, across = (axes.yaxis, axes.xaxis) if sideways else (axes.xaxis, axes.yaxis)
    _units(along, places, many=many)
    if sideways and own:
        axes.invert_yaxis()
    if not np.isnan(least := min(float(np.nanmin([one.value, one.low])) for one in series)) and own:
        (axes.set_xlim if sideways else axes.set_ylim)(
            **{"left" if sideways else "bottom": 0} if least >= 0 else {}
        )
    if len(cells) == 1:
        (axes.set_ylim if sideways else axes.set_xlim)(-1.5, 1.5)
    across.set_major_locator(MaxNLocator(nbins=7))
    along.set_label_text("" if cells.name is None else str(cells.name))
    across.set_label_text("count")


def _color(axes: Any) -> Any:
    """Return the next colour of the current style, so that releases on one Axes differ."""
    (probe,) = axes.plot([], [])
    color = probe.get_color()
    probe.remove()
    return color


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
        begins = np.arange(0, len(value), size)
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
        axes.errorbar(at, one.value, yerr=sizes, fmt="o", capsize=3, color=_color(axes), label=one.name)
    if len(shares) <= 12:
        axes.set_xticks(np.unique(shares), [f"{share:g}" for share in np.unique(shares)])


def _units(axis: Any, places: Places, *, many: bool = False) -> None:
    """Write numbers, dates or names along an axis, and where the missing values are."""
    from matplotlib import dates, ticker

    if places.labels is not None:
        if not many:
            names = [textwrap.shorten(label, 28, placeholder="...") for label in places.labels]
            axis.set_ticks(np.arange(len(names)), names)
            if axis.axis_name == "x" and sum(map(len, names)) + 2 * len(names) > 70:
                axis.set_tick_params(rotation=90 if len(names) > 24 else 35)
        return
    locator: Any = dates.AutoDateLocator() if places.dates else ticker.MaxNLocator(8)
    if places.missing is None:
        if places.dates:
            axis.set_major_locator(locator)
            axis.set_major_formatter(dates.ConciseDateFormatter(locator))
        return
    inside = places.left < places.missing - (places.right - places.left)
    low, high = float(places.left[inside].min()), float(places.right[inside].max())
    ends = dates.num2date([low, high]) if places.dates else (low, high)
    marks = [mark for mark in locator.tick_values(*ends) if low <= mark <= high - 0.06 * (high - low)]
    form = dates.ConciseDateFormatter(locator)
    names = form.format_ticks(marks) if places.dates else [f"{mark:,.10g}" for mark in marks]
    axis.set_ticks([*marks, places.missing], [*names, "missing"])


def _name(value: Any) -> str:
    """Return a cell's or a group's name as a label shows it."""
    if isinstance(value, tuple):
        return ", ".join(map(_name, value))
    if isinstance(value, pd.Interval):
        begin, end = ("[" if value.closed_left else "("), ("]" if value.closed_right else ")")
        return f"{begin}{_name(value.left)}, {_name(value.right)}{end}"
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _column(receipt: Receipt) -> str:
    """Return the column whose quantiles a receipt is about."""
    asked = re.search(r"(?:hist|quantile)\((?:\[.*?)?(['\"])([^'\"]*)\1\]?,", str(receipt.get("query")))
    return asked[2] if asked else "value"


def _words(axes: Any, receipt: Receipt, note: str) -> None:
    """Write the question as the title, and beneath it what it cost and what the bars are."""
    query = re.sub(
        r", (strategy|epsilon)='[^']*'|\b(strategy|epsilon)='[^']*'(, )?", "", str(receipt.get("query"))
    )
    asked = f"{query}.{receipt['derived']}" if "derived" in receipt else query
    shown = asked if len(asked) <= 64 else f"{asked[:61]}..."
    axes.set_title(shown.replace("$", r"\$"), loc="left", pad=18, fontsize="medium")
    axes.annotate(
        f"epsilon {receipt.get('epsilon')}, {note}",
        (0, 1),
        xytext=(0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize="small",
        alpha=0.7,
    )
