"""Pictures of released frames: which kind for which answers. Never sees rows, only releases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.arrangement import SORTED, lengthen, schema_order
from pandas_blowfish.books.receipt import RANKS, TOTALS, number_text, reading
from pandas_blowfish.errors import ArgumentError, BlowfishError, FrameError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.explain.release.axis_labels import (
    Places,
    name_of,
    number_of,
    numbers_of,
    plain,
    write_units,
)
from pandas_blowfish.explain.release.bars import MANY, TOLD, draw_counts, is_ordered
from pandas_blowfish.explain.release.canvas import WIDE, axes_of, discard, entitle, legend_of, stretch
from pandas_blowfish.explain.release.heat import draw_heat, table_of
from pandas_blowfish.explain.release.map import draw_clusters
from pandas_blowfish.explain.release.points import draw_quantiles, draw_totals
from pandas_blowfish.explain.release.rows import ROW
from pandas_blowfish.explain.release.series import Series
from pandas_blowfish.plan.joint_noise.widening import find_far
from pandas_blowfish.plan.scales import widest
from pandas_blowfish.release import UNSHAPED, Facts, facts_of, interval, value_of

GROUPS = 8  # series beyond which many counts are a heat map


def plot(release: pd.DataFrame, *, ax: Any = None, level: Any = 0.95, columns: Any = None) -> Any:
    """Draw a release and return the Axes.

    Counts of two columns are a heat map, the last column along the bottom. Otherwise groups (every level of
    the index but the last) are series of their own, or, where those are many, the rows of a heat map. Where
    the error of an answer is not known, it is drawn without bars, and the note beneath the title states
    why.

    Args:
        release: What a verb returned, or some of its rows.
        ax: The matplotlib Axes to draw on; None for new ones.
        level: The probability that each bar, or the band at each point, holds the true answer.
        columns: What to draw of it. Of a `kmeans`: the one or two coordinates, the first two by default. Of
            counts of two columns: both, the one along the bottom first. Of a `sum` or `mean`: some columns.
    """
    axes = axes_of(ax)
    try:
        note = draw_release(release, axes, level, columns, new=ax is None)
    except BlowfishError:
        if ax is None:
            discard(axes.figure)
        raise
    title, cost, footnote = title_of(release)
    entitle(axes, title, f"{cost}, {note}", footnote)
    return axes


def title_of(release: pd.DataFrame) -> tuple[str, str, str]:
    """Return the title of a release, which is its name, what it cost, and the call where that is no title."""
    facts = facts_of(release)
    dropped = r", (strategy|epsilon)='[^']*'|\b(strategy|epsilon)='[^']*'(, )?"
    query = re.sub(dropped, "", str(facts.get("query")))
    asked = f"{query}.{facts['derived']}" if "derived" in facts else query
    name, cost = facts.get("name"), f"epsilon {number_text(facts.get('epsilon'))}"
    if name:
        return str(name), cost, asked
    return asked if len(asked) <= WIDE else f"{asked[: WIDE - 3]}...", cost, ""


def draw_release(
    release: pd.DataFrame, axes: Any, level: Any, columns: Any = None, *, new: bool = False
) -> str:
    """Draw a release without its title and return a note on its errors and marks; see `plot`.

    Args:
        release: What a verb returned, or some of its rows.
        axes: The matplotlib Axes to draw on.
        level: The probability that each bar holds the true answer.
        columns: What to draw of it.
        new: Whether the figure is ours, and may be made higher.
    """
    facts = facts_of(release)
    widest(level)  # refuses what is no probability
    with reading():
        release = lengthen(release)
        if facts.get("layout") == SORTED and is_ordered(release.index.get_level_values(-1)):
            release = schema_order(release)  # along an axis of their own
        return _drawn(release, facts, axes, level, columns, new=new)


def _drawn(release: pd.DataFrame, facts: Facts, axes: Any, level: Any, columns: Any, *, new: bool) -> str:
    """Draw a release by the facts of its receipt and return the note."""
    verb = str(facts.get("verb"))
    shown = value_of(verb, facts.get("values_are"))
    if verb in RANKS:
        release = _by_value(release)
    if shown not in release.columns or not len(release) or release.columns.has_duplicates:
        raise FrameError(f"there is no {shown!r} to draw any more", fix="draw the release as returned.")
    counted = (
        np.asarray(release.index.get_level_values("statistic") == "count") if verb == "describe" else None
    )
    if counted is not None and not counted.all():  # rows beside values would hide these
        release = release[~counted]
    crossed = _crossed(release, facts, verb)
    if columns is not None and verb != "kmeans":
        release = _choose(release, verb, columns, crossed=crossed)
    low, high, note = _bounds(release, level)
    note += ", counts not drawn" if counted is not None and counted.any() and not counted.all() else ""
    if verb == "kmeans":
        draw_clusters(axes, release, facts, (low, high), columns)
        return note
    values, ticks, dates = numbers_of(release[shown])
    if shown == "count" and len(release) > TOLD and np.isfinite(low).any():
        typical = float(np.nanmedian(np.fmax(high - values, values - low)))
        note += f", typically \N{PLUS-MINUS SIGN} {number_of(float(f'{typical:.3g}'))}"
    index = _boxes_named(release.index, facts) if verb == "range" else release.index
    codes, cells, groups, names = _split(index)
    crowded = len(names) > GROUPS and len(names) * len(cells) > MANY and verb in ("hist", "marginal", "count")
    if isinstance(index, pd.MultiIndex) and (crossed or crowded):
        rows = index.droplevel(-1)
        if isinstance(rows, pd.MultiIndex):
            rows = pd.Index([name_of(each) for each in rows], name=", ".join(map(str, rows.names)))
        table = table_of(rows, index.get_level_values(-1), values, low, high)
        if new:
            stretch(axes, ROW * len(table.upright))
        return draw_heat(axes, table, note, what=shown)
    parts = [np.flatnonzero(groups == number) for number in range(len(names))]
    ends = None if shown != "value" else _declared(release, facts, verb, dates=dates)
    series = [
        Series(
            *(name, codes[part], values[part], low[part], high[part]),
            bounds=None if ends is None else (ends[0][part], ends[1][part]),
        )
        for name, part in zip(names, parts, strict=True)
    ]

    def fold(number: int, cells: Ints) -> tuple[float, float, float]:
        own = parts[number]
        return _together(release.iloc[own[np.isin(codes[own], cells)]], facts, level)

    if verb == "quantile" and index.names[-1] == "q":
        note += draw_quantiles(axes, np.asarray(cells, dtype=float), series, _column(facts))
        write_units(axes.yaxis, Places(values, values, ticks, dates), _column(facts))
    elif shown == "value":
        own = list(cells if cells.name == "column" else facts.get("total_columns") or [])
        column = str(own[0]) if len(own) == 1 else _column(facts) if verb == "quantile" else ""
        asked = "median" if verb == "quantile" else verb
        cells = pd.Index(["all rows"], name="") if cells.name is None else cells
        note += draw_totals(axes, cells, series, asked, column=column, dates=dates, new=new)
    else:
        note += draw_counts(axes, verb, cells, series, what=shown, new=new, fold=fold)
    if len(series) > 1 and not axes.child_axes:
        legend_of(axes, ", ".join(str(name) for name in index.names[:-1]), len(series))
    return note


def _declared(release: pd.DataFrame, facts: Facts, verb: str, *, dates: bool) -> tuple[Floats, Floats]:
    """Return the least and the largest that each quantile or mean can be, NaN where none is held there."""
    found = np.full((2, len(release)), np.nan)
    if verb not in ("quantile", "median", "mean") or dates or not facts["post"]:
        return found[0], found[1]
    last = release.index.get_level_values(-1)
    for end, key, inside in ((0, "smallest_value", 1), (1, "largest_value", -1)):
        if "cell_bounds" in facts or verb == "quantile":
            stated = facts.get(key)
            found[end] = stated if isinstance(stated, (int, float)) else np.nan
            continue
        columns, edges, rounding = facts["total_columns"], facts[key], facts["column_rounding"]
        for column, edge, half in zip(columns, edges, rounding, strict=True):
            own = np.asarray(last == column) if last.name == "column" else np.ones(len(release), dtype=bool)
            if edge is not None:  # values are added up as the middles of their cells
                found[end][own] = float(Fraction(edge) + inside * Fraction(half))
    return found[0], found[1]


def _together(release: pd.DataFrame, facts: Facts, level: Any) -> tuple[float, float, float]:
    """Return the count of several cells together, and an interval that holds it at this level.

    Of estimates with a noise each the errors add up as those do, of noises that sum to 0 to less; else each
    cell's interval is so wide that all hold at once.
    """
    count, many = release["count"], len(release)
    free = release["unshaped"] if "unshaped" in release else None if facts["post"] else count
    if free is not None and facts["proof"] in ("identity", "cliques"):
        value = float(free.sum())
        error = find_far(facts, level) * float(np.sqrt((release["std"] ** 2).sum()))
        return value, max(value - error, 0.0) if facts["post"] else value - error, value + error
    value = float(count.sum())
    try:
        bounds = interval(release, 1 - (1 - float(level)) / many)
    except FrameError:
        return value, np.nan, np.nan
    return value, float(bounds["low"].sum()), float(bounds["high"].sum())


def _choose(release: pd.DataFrame, verb: str, columns: Any, *, crossed: bool) -> pd.DataFrame:
    """Return what some columns of a release are, or raise where there are none to choose from."""
    if verb in TOTALS:
        return _only(release, columns)
    if crossed:
        return _turned(release, columns)
    problem, fix = _refused(release, verb)
    raise ArgumentError("columns", problem, allowed="None", fix=fix)


def _split(index: pd.Index[Any]) -> tuple[Any, pd.Index[Any], Any, list[str]]:
    """Return the number of each answer's cell, the cells, the number of its group, and the groups' names."""
    if not isinstance(index, pd.MultiIndex):
        return np.arange(len(index)), index, np.zeros(len(index), dtype=np.intp), [""]
    codes, cells = pd.factorize(index.get_level_values(-1), use_na_sentinel=False)
    groups, outer = pd.factorize(index.droplevel(-1), use_na_sentinel=False)
    names = [plain(name_of(each)) for each in outer]
    names = [f" {name}" if name.startswith("_") else name for name in names]  # "_" hides from legends
    return codes, cells.rename(index.names[-1]), groups, names


def _by_value(release: pd.DataFrame) -> pd.DataFrame:
    """Return listed values with their counts, by value in place of rank, or raise where there are none."""
    if "count" not in release.columns:
        fix = 'draw top(..., strategy="counts"), or a hist.'
        raise FrameError("values were released, and no counts to draw", fix=fix)
    own = [name for name in release.columns if name not in ("count", "std", UNSHAPED)]
    rows = zip(*(release[name] for name in own), strict=True)
    names = [", ".join(plain(name_of(each)) for each in row) for row in rows]
    labels = pd.CategoricalIndex(names, categories=list(dict.fromkeys(names)), name=", ".join(map(str, own)))
    outer = [release.index.get_level_values(level) for level in range(release.index.nlevels - 1)]
    return release.set_axis(pd.MultiIndex.from_arrays([*outer, labels]) if outer else labels)


def _crossed(release: pd.DataFrame, facts: Facts, verb: str) -> bool:
    """Return whether these are counts of two columns, neither of which was grouped by."""
    names = list(release.index.names)
    grouped = set(names) & set(facts.get("groupby", ()))
    return verb in ("hist", "marginal") and len(names) == 2 and not grouped


def _turned(release: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Return counts of two columns with the first of those asked for as the last level, along the bottom."""
    known = [str(name) for name in release.index.names]
    if (
        isinstance(columns, str)
        or not isinstance(columns, Sequence)
        or sorted(map(str, columns)) != sorted(known)
    ):
        raise ArgumentError("columns", "not both columns of the table", allowed=", ".join(known))
    return release if list(columns) == known[::-1] else release.swaplevel()


def _only(release: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Return the sums or means of some columns."""
    names = [columns] if isinstance(columns, str) else columns
    last = release.index.get_level_values(-1)
    known = [str(each) for each in last.unique()] if last.name == "column" else []
    if not isinstance(names, Sequence) or not names or not set(map(str, names)) <= set(known):
        raise ArgumentError("columns", "not columns of this release", allowed=", ".join(known) or "None")
    return release[np.asarray(last.isin(list(names)))]


def _refused(release: pd.DataFrame, verb: str) -> tuple[str, str]:
    """Return why a release has no columns to choose from, and what to do."""
    if verb in ("hist", "marginal") and release.index.nlevels > 2:
        return (
            "it has more than two",
            "release marginal([...]) of two columns, or draw a part: release.loc[...].",
        )
    return "this release has none to choose from", "leave it out."


def _boxes_named(index: pd.Index[Any], facts: Facts) -> pd.Index[Any]:
    """Return the index of ranges with a box of several columns as one name."""
    groups = len(facts.get("groupby", ()))
    if index.nlevels - groups < 2 or list(index.names[:groups]) != list(facts.get("groupby", ())):
        return index
    inner = index.droplevel([*range(groups)]) if groups else index
    names = pd.Index([", ".join(plain(name_of(each)) for each in box) for box in inner])
    title = ", ".join(str(name) for name in inner.names)
    if not groups:
        return names.rename(title)
    outer = [index.get_level_values(level) for level in range(groups)]
    return pd.MultiIndex.from_arrays([*outer, names], names=[*index.names[:groups], title])


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
        return none, none, "exact" if facts_of(release)["epsilon"] == "0" else note
    return np.where(exact, np.nan, low), np.where(exact, np.nan, high), note


def _column(facts: Facts) -> str:
    """Return the column whose quantiles a receipt is about."""
    call = str(facts.get("query"))
    asked = re.search(
        r"(?:hist|quantile|median|value_counts)\((?:\[[^\]]*, |\[)?('[^']*'|\"[^\"]*\")\]?, ", call
    )
    return asked[1][1:-1] if asked else "value"
