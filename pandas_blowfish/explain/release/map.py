"""Pictures of released clusters: where the centres lie, and how many rows each has. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, FrameError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import name_of, number_of, plain
from pandas_blowfish.explain.release.canvas import color_of
from pandas_blowfish.release import Facts

MANY, GROUPS = 16, 4  # centres, and groups, beyond which only the numbers of clusters are written
SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0))  # of a marker, where its words are, group by group
ACROSS = {-1: "right", 0: "center", 1: "left"}
UPRIGHT = {-1: "top", 0: "center", 1: "bottom"}
LARGEST, LEAST = 1_400.0, 30.0  # areas of markers, in square points
DIGITS = 5.5  # points that a digit is wide, about


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is drawn of a release.

    Attributes:
        names: The coordinates drawn, one or two.
        places: Where the centres lie: a row a centre, a column a coordinate.
        sizes: How many rows each has.
        words: What is written at each.
        groups: The number of its group.
        titles: The groups.
    """

    names: list[str]
    places: Floats
    sizes: Floats
    words: list[str]
    groups: NDArray[np.intp]
    titles: list[str]


def draw_clusters(
    axes: Any, release: pd.DataFrame, facts: Facts, bounds: tuple[Floats, Floats], columns: Any
) -> None:
    """Draw a released k-means: stems along one coordinate, or markers over two with areas by size.

    Args:
        axes: The matplotlib Axes to draw on.
        release: The centres, or some of them.
        facts: Those of their receipt.
        bounds: The interval of each size, NaN where it is exact or not known.
        columns: The coordinates to draw, one or two; None for the first two.
    """
    names = _names(facts, columns)
    if absent := [name for name in names if name not in release.columns]:
        raise FrameError(f"the centres have no {absent[0]!r} any more", fix="draw the release as returned.")
    try:
        every = release[[*names, "size"]].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        every = np.full((1, 1), np.nan)
    places, sizes = every[:, :-1], every[:, -1]
    if not np.isfinite(every).all():
        raise FrameError("a centre or a size is missing, or no number", fix="draw the release as returned.")
    index, groups, titles = release.index, np.zeros(len(release), dtype=np.intp), [""]
    if isinstance(index, pd.MultiIndex):
        level = "cluster" if list(index.names).count("cluster") == 1 else -1
        groups, outer = pd.factorize(index.droplevel(level), use_na_sentinel=False)
        titles = [plain(name_of(each)) for each in outer]
        titles = [f" {title}" if title.startswith("_") else title for title in titles]
        index = index.get_level_values(level)
    words = [plain(name_of(each)) for each in index]
    if len(release) <= MANY and len(titles) <= GROUPS:
        text = zip(words, sizes, *bounds, strict=True)
        words = [f"{word}: {_about(size, low, high)}" for word, size, low, high in text]
    found = Clusters(names, places, sizes, words, groups, titles)
    (_stems if len(names) == 1 else _markers)(axes, found, bounds)
    if len(titles) > 1:
        named = [str(name) for name in facts.get("groupby", ()) if name in release.index.names]
        _legend(axes, plain(", ".join(named)), len(titles))


def _names(facts: Facts, columns: Any) -> list[str]:
    """Return the coordinates to draw."""
    known = [str(name) for name in facts["coordinates"]]
    if columns is None:
        return known[:2]
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError("columns", "not names of coordinates", allowed=", ".join(known))
    if not 1 <= len(set(names)) == len(names) <= 2 or not set(names) <= set(known):
        raise ArgumentError("columns", "not one or two of the coordinates", allowed=", ".join(known))
    return list(names)


def _about(size: float, low: float, high: float) -> str:
    """Return a size, give or take its interval."""
    error = max(high - size, size - low)
    return f"{size:,.0f}" if np.isnan(error) else f"{size:,.0f} \N{PLUS-MINUS SIGN} {error:,.0f}"


def _stems(axes: Any, found: Clusters, bounds: tuple[Floats, Floats]) -> None:
    """Draw a stem a centre, as high as its size, with an error bar."""
    from matplotlib import rcParams

    first, at, colors = not axes.has_data(), found.places[:, 0], []
    errors = np.maximum([found.sizes - bounds[0], bounds[1] - found.sizes], 0.0)  # NaN draws nothing
    for number, title in enumerate(found.titles):
        own = found.groups == number
        (line,) = axes.plot(at[own], found.sizes[own], "o", markersize=7, label=title)
        colors.append(line.get_color())
        axes.vlines(at[own], 0, found.sizes[own], color=colors[-1], linewidth=2, alpha=0.6)
    given = {"fmt": "none", "ecolor": rcParams["text.color"], "elinewidth": 1, "capsize": 3, "alpha": 0.8}
    axes.errorbar(at, found.sizes, yerr=errors, **given)
    tops = np.where(np.isnan(bounds[1]), found.sizes, bounds[1])
    for x, top, word, group in zip(at, tops, found.words, found.groups.tolist(), strict=True):
        side = 0 if len(colors) == 1 else (-1, 1)[group % 2]
        _write(axes, word, (x, top), (5 * side, 6), ACROSS[side], "bottom", colors[group], len(colors))
    axes.set_xlabel(plain(found.names[0]))
    axes.set_ylabel("size")
    _units(axes.xaxis)
    axes.yaxis.set_major_formatter("{x:,.10g}")
    axes.margins(x=0.16 if len(colors) == 1 else 0.24, y=0.14)
    if first and min(float(found.sizes.min()), float(np.nanmin([*bounds[0], 0.0]))) >= 0:
        axes.set_ylim(bottom=0)


def _markers(axes: Any, found: Clusters, bounds: tuple[Floats, Floats]) -> None:
    """Draw a marker a centre: its area is the size, and a ring about it how much larger it may be."""
    most = np.where(np.isnan(bounds[1]), found.sizes, bounds[1])
    unit = LARGEST / max(float(most.max()), 1e-9)
    areas, rings = (np.maximum(each * unit, LEAST) for each in (found.sizes, most))
    order = np.argsort(-areas, kind="stable")  # small ones above large ones
    colors = [color_of(axes) for _ in found.titles]
    for number, (title, color) in enumerate(zip(found.titles, colors, strict=True)):
        own = order[found.groups[order] == number]
        x, y = found.places[own].T
        axes.scatter(x, y, areas[own], color=color, alpha=0.55, linewidths=0, label=title)
        axes.scatter(x, y, rings[own], facecolors="none", edgecolors=[color], linewidths=0.8, alpha=0.8)
    for place, area, word, group in zip(found.places, rings, found.words, found.groups.tolist(), strict=True):
        radius = float(np.sqrt(area / np.pi))
        across, up = (0, 0) if len(word) * DIGITS < 2 * radius else SIDES[group % len(SIDES)]
        by = (across * (radius + 2), up * (radius + 2))
        _write(axes, word, place, by, ACROSS[across], UPRIGHT[up], colors[group], len(colors))
    axes.set_xlabel(plain(found.names[0]))
    axes.set_ylabel(plain(found.names[1]))
    axes.margins(0.22)
    for axis in (axes.xaxis, axes.yaxis):
        _units(axis)


def _write(axes: Any, word: str, at: Any, by: Any, across: str, up: str, color: Any, groups: int) -> None:
    """Write a word beside a place, so many points away, in the colour of its group."""
    given = {"horizontalalignment": across, "verticalalignment": up, "fontsize": "small"}
    given |= {"color": color} if groups > 1 else {}
    axes.annotate(word, tuple(at), xytext=by, textcoords="offset points", **given)


def _units(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: number_of(value)))


def _legend(axes: Any, title: str, many: int) -> None:
    """Name the groups, by markers of one size."""
    legend = axes.legend(title=title, ncols=1 + many // 12, fontsize="small")
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([36.0])
