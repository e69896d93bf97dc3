"""Pictures of the peers' errors, times and clusters; it sees figures, no rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "ours": "#d62728",
    "ours, unbiased": "#ff9896",
    "ours, cells": "#ffbb78",
    "ours, theta 16": "#8c564b",
    "ours, theta 1": "#e377c2",
    "ours, theta 64": "#8c564b",
    "ours, theta 32": "#e377c2",
    "OpenDP, Laplace": "#1f77b4",
    "OpenDP, tree": "#17becf",
    "diffprivlib": "#2ca02c",
    "Tumult": "#9467bd",
    "SmartNoise SQL": "#7f7f7f",
    "SmartNoise MWEM, ranges only": "#bcbd22",
    "private Lloyd": "#ff9896",
}


HOLLOW = {"markerfacecolor": "white"}  # a weaker promise


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def errors(
    found: pd.DataFrame, what: dict[str, str], epsilons: tuple[str, ...], marks: dict[str, str], path: Path
) -> None:
    """Draw a panel a question and epsilon: a group a data set, a colour a mechanism, a mark a promise."""
    figure = _figure(12.5, 3.4 * len(epsilons))
    panels = figure.subplots(len(epsilons), len(what), squeeze=False)
    names, data = list(dict.fromkeys(found["mechanism"])), list(dict.fromkeys(found["data"]))
    names = [name for name in names if not name.startswith("ours, theta")] + [
        name for name in names if name.startswith("ours, theta")
    ]
    for row, epsilon in enumerate(epsilons):
        for column, (key, title) in enumerate(what.items()):
            panel: Axes = panels[row][column]
            part = found[(found["what"] == key) & (found["epsilon"] == epsilon)]
            for (mechanism, promise), each in part.groupby(["mechanism", "promise"], sort=False):
                offset = (names.index(mechanism) - (len(names) - 1) / 2) * 0.8 / len(names)
                x = np.array([data.index(name) for name in each["data"]]) + offset
                style = {
                    "color": COLOURS.get(mechanism, "black"),
                    "linestyle": "none",
                    "marker": marks[promise],
                    **(HOLLOW if marks[promise] == "v" else {}),
                }
                panel.errorbar(x, each["error"], yerr=each["se"].fillna(0), markersize=6, **style)
            panel.set_yscale("log")
            panel.set_xticks(range(len(data)), data)
            panel.set_title(f"{title}\nepsilon {epsilon}", fontsize=9)
            panel.grid(axis="y", alpha=0.3)
            for edge in range(len(data) - 1):
                panel.axvline(edge + 0.5, color="black", alpha=0.15)
    _legend(figure, names, marks)
    figure.savefig(path, dpi=80)


def _legend(figure: Figure, names: list[str], marks: dict[str, str]) -> None:
    """Name colours and marks below the panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=COLOURS.get(name, "black"), lw=4, label=name) for name in names]
    lines += [
        Line2D([], [], color="black", marker=mark, linestyle="none", label=promise)
        for promise, mark in marks.items()
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def speed(found: pd.DataFrame, path: Path) -> None:
    """Draw times over numpy.bincount and memory above before, a bar a method and number of cells."""
    figure = _figure(10, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    methods, sizes = list(dict.fromkeys(found["method"])), sorted(set(found["cells"]))
    for number, cells in enumerate(sizes):
        part = found[found["cells"] == cells].set_index("method")
        place = np.array([methods.index(name) for name in part.index]) + (number - 0.5) * 0.38
        shade = {"height": 0.36, "color": ("#6baed6", "#08519c")[number % 2], "label": f"{cells:,} cells"}
        left.barh(place, part["ratio"], **shade)
        right.barh(place, part["extra"].clip(lower=0.01), **shade)
        for spot, ratio in zip(place, part["ratio"], strict=True):
            left.text(ratio, spot, f" {ratio:.3g}", va="center", fontsize=7)
        for spot, extra in zip(place, part["extra"], strict=True):
            right.text(
                max(extra, 0.01),
                spot,
                f" {extra:.2g}" if extra > 0.01 else " below 0.01",
                va="center",
                fontsize=7,
            )
    left.set_yticks(range(len(methods)), methods)
    left.invert_yaxis()
    left.set_title(f"time over numpy.bincount, {found['rows'].iloc[0]:,} rows", fontsize=9)
    right.set_title("extra memory, in columns (8 bytes a row)", fontsize=9)
    for panel in (left, right):
        panel.set_xscale("log")
        panel.grid(axis="x", alpha=0.3)
        panel.margins(x=0.15)
    left.axvline(1, color="black", lw=0.8)
    right.legend(fontsize=8)
    figure.savefig(path, dpi=90)


def scores(found: pd.DataFrame, marks: dict[str, str], path: Path) -> None:
    """Draw k-means scores by epsilon."""
    figure = _figure(9.5, 3.6)
    names = list(dict.fromkeys(zip(found["mechanism"], found["promise"], strict=True)))
    panels = figure.subplots(1, found["epsilon"].nunique(), squeeze=False, sharey=True)[0]
    for panel, (epsilon, part) in zip(panels, found.groupby("epsilon"), strict=True):
        for each in part.itertuples():
            mark = marks[each.promise]
            colour = COLOURS.get(each.mechanism, "black")
            style = {"color": colour, "marker": mark, "capsize": 3, **(HOLLOW if mark == "v" else {})}
            panel.errorbar(each.error, names.index((each.mechanism, each.promise)), xerr=2 * each.se, **style)
        panel.set_yticks(range(len(names)), [f"{name}, {promise}" for name, promise in names], fontsize=7)
        panel.set_xlim(left=0.95)
        panel.set_title(f"k-means of skin 1%, epsilon {epsilon}", fontsize=9)
        panel.grid(axis="x", alpha=0.3)
    panels[0].invert_yaxis()
    figure.supxlabel("objective / best non-private (bars: 2 standard errors)", fontsize=8)
    figure.savefig(path, dpi=90)
