"""Drawn graphs of few values: arcs between close ones, boxes of groups, dots joined by lines. No rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.explain.policy.strips import within
from pandas_blowfish.explain.release.axis_labels import Places, plain, write_units
from pandas_blowfish.explain.release.canvas import colors_of, ink
from pandas_blowfish.policy.graph.secret_graph import connect

ROWS = 14  # groups that are drawn
LETTERS = 66  # that fit in the width of a box
ASIDE = 0.09  # width of a box for missing values, or for "absent"


def draw_boxes(
    axes: Any, groups: Sequence[tuple[str, Sequence[str]]], beside: Sequence[tuple[str, bool]]
) -> None:
    """Draw groups of values beneath each other: all values in a box are joined, none in different ones.

    Args:
        axes: The matplotlib Axes to draw on.
        groups: The name and the values of each group, "" for one without a name.
        beside: "missing" and "absent", and whether each is joined to every value.
    """
    from matplotlib.patches import FancyBboxPatch

    shown = list(groups[:ROWS])
    more = len(groups) - len(shown)
    named = any(name for name, _ in shown)
    left, right = 0.17 if named else 0.0, _aside(axes, beside, len(shown) + bool(more))
    colors = colors_of(axes, max(len(shown), 1))
    for row, ((name, values), color) in enumerate(zip(shown, colors, strict=True)):
        style = FancyBboxPatch(
            (left, row + 0.12),
            right - left,
            0.76,
            boxstyle="round,pad=0,rounding_size=0.08",
            mutation_aspect=0.6,
            fc=color,
            alpha=0.3,
            linewidth=0,
        )
        axes.add_patch(style)
        style.set_gid("group")
        lines = 3 if len(shown) <= 6 else 2 if len(shown) <= 9 else 1
        words = _words(values, int(LETTERS * (right - left)), lines)
        if len(values) == 1:
            words += "   (alone: nothing to be confused with)"
        axes.text((left + right) / 2, row + 0.5, plain(words), ha="center", va="center", fontsize="small")
        label = textwrap.shorten(name, 18, placeholder="...") or name[:18]
        axes.text(left - 0.02, row + 0.5, plain(label), ha="right", va="center", fontsize="small")
    if more:
        words = f"and {more:,} more groups"
        axes.text((left + right) / 2, len(shown) + 0.5, words, ha="center", va="center", alpha=0.7)
    apart = max(0.0, 1.5 - len(groups) / 2)  # few boxes are no higher than three
    axes.set_ylim(len(shown) + bool(more) + apart, -apart)
    _blank(axes)


def draw_dots(axes: Any, names: Sequence[str], beside: Sequence[tuple[str, bool]]) -> None:
    """Draw values that are joined to nothing, as separate dots."""
    right = _aside(axes, beside, 1)
    most = names[:ROWS]
    at = (np.arange(len(most)) + 0.5) / len(most) * right
    axes.plot(at, np.full(len(most), 0.45), "o", ms=9, mfc="none", color=ink(), linestyle="none")
    for x, name in zip(at, most, strict=True):
        short = textwrap.shorten(name, 22, placeholder="...") or name[:22]
        given = (
            {"ha": "right", "rotation": 35, "rotation_mode": "anchor"} if len(most) > 6 else {"ha": "center"}
        )
        axes.text(x, 0.52, plain(short), va="top", fontsize="small", **given)
    if len(names) > len(most):
        axes.text(right / 2, 0.85, f"and {len(names) - len(most):,} more", ha="center", alpha=0.7)
    axes.set_ylim(1, 0)
    _blank(axes)


def draw_arcs(axes: Any, places: Places, edges: Ints, label: str, beside: Sequence[tuple[str, bool]]) -> None:
    """Draw values on a line and an arc for each edge; dotted ones to "missing" and "absent" beside them."""
    from matplotlib.collections import LineCollection

    (color,) = colors_of(axes, 1)
    at, step = places.middle, float(np.median(places.right - places.left))
    turn = np.linspace(0, np.pi, 40)
    arcs = [_arc(at[a], at[b], turn) for a, b in edges.tolist()]
    axes.add_collection(LineCollection(arcs, colors=[color], linewidths=1.3, alpha=0.75), autolim=True)
    axes.plot(at, np.zeros(len(at)), "o", ms=7, color=color, zorder=3)
    spots = list(at.max() + step * 1.5 * np.arange(1, len(beside) + 1))
    dotted = [
        _arc(x, spot, turn) for spot, (_, joined) in zip(spots, beside, strict=True) if joined for x in at
    ]
    axes.add_collection(
        LineCollection(dotted, colors=[ink()], linewidths=0.7, linestyles="dotted", alpha=0.6), autolim=True
    )
    for spot, (name, _) in zip(spots, beside, strict=True):
        axes.plot([spot], [0], "s", ms=7, mfc="none", color=ink(), zorder=3)
        axes.annotate(
            name, (spot, 0), (0, -7), textcoords="offset points", ha="center", va="top", fontsize="small"
        )
    write_units(axes.xaxis, places, label)
    high = max((float(arc[:, 1].max()) for arc in [*arcs, *dotted]), default=1.0)
    axes.set_ylim(-0.16 * high if beside else -0.06 * high, 1.08 * high)
    axes.set_xlim(at.min() - 0.7 * step, max([at.max(), *spots]) + 0.7 * step)
    if spots and places.labels is None:
        within(axes.xaxis, float(at.max()))
    axes.yaxis.set_visible(False)
    axes.spines[["left", "top", "right"]].set_visible(False)


def draw_network(axes: Any, names: Sequence[str], edges: Ints, beside: Sequence[tuple[str, bool]]) -> None:
    """Draw values as dots and a line for each edge; those without an edge are hollow."""
    from matplotlib.collections import LineCollection

    right = _aside(axes, beside, 1)
    places = layout(edges, len(names)) * [right, 1]
    (color,) = colors_of(axes, 1)
    axes.add_collection(
        LineCollection([places[pair] for pair in edges], colors=[color], linewidths=1.5, alpha=0.75, zorder=1)
    )
    joined = np.isin(np.arange(len(names)), edges)
    axes.plot(*places[joined].T, "o", ms=9, color=color, zorder=3)
    axes.plot(*places[~joined].T, "o", ms=9, mfc="none", color=ink(), zorder=3)
    for (x, y), name in zip(places, names, strict=True):
        short = plain(textwrap.shorten(name, 22, placeholder="...") or name[:22])
        axes.annotate(
            short, (x, y), (0, 7), textcoords="offset points", ha="center", va="bottom", fontsize="small"
        )
    axes.set_ylim(0, 1.04)
    _blank(axes)


def layout(edges: Ints, size: int) -> Floats:
    """Return where the dots of a graph lie in a square, each part of it in a box of its own.

    networkx finds the places where it is installed; else a part is a circle.
    """
    parts = connect(edges, size)
    sizes = np.bincount(parts)
    order = np.argsort(-sizes, kind="stable")
    across = int(np.ceil(np.sqrt(len(order))))
    down = -(-len(order) // across)
    places = np.zeros((size, 2))
    for box, part in enumerate(order.tolist()):
        members = np.flatnonzero(parts == part)
        own = edges[np.isin(edges[:, 0], members)]
        spread = 0.36 * _part(members, own)
        middle = [(box % across + 0.5) / across, 1 - (box // across + 0.5) / down]
        places[members] = middle + spread * [1 / across, 1 / down]
    return places


def _part(members: Ints, edges: Ints) -> Floats:
    """Return where the dots of one connected part lie, from -1 to 1."""
    if len(members) == 1:
        return np.zeros((1, 2))
    try:
        import networkx as nx
    except ImportError:
        turn = 2 * np.pi * np.arange(len(members)) / len(members)
        return np.column_stack([np.cos(turn), np.sin(turn)])
    graph = nx.Graph()
    graph.add_nodes_from(members.tolist())
    graph.add_edges_from(edges.tolist())
    found = nx.kamada_kawai_layout(graph)
    places = np.array([found[member] for member in members.tolist()])
    spans = np.ptp(places, axis=0)
    return np.asarray((places - places.min(axis=0) - spans / 2) / max(float(spans.max()) / 2, 1e-9))


def _arc(start: float, end: float, turn: Floats) -> Floats:
    """Return half an ellipse over two places, the higher the further apart."""
    middle, half = (start + end) / 2, abs(end - start) / 2
    return np.column_stack([middle + half * np.cos(turn), half * np.sin(turn)])


def _aside(axes: Any, beside: Sequence[tuple[str, bool]], rows: int) -> float:
    """Draw a tall box for each of "missing" and "absent"; return where the room for values ends."""
    from matplotlib.patches import FancyBboxPatch

    for number, (name, joined) in enumerate(reversed(beside)):
        x = 1 - (number + 1) * ASIDE + 0.015
        style: dict[str, Any] = {
            "fc": "none",
            "ec": ink(),
            "linestyle": "--" if joined else ":",
            "alpha": 0.6,
        }
        box = FancyBboxPatch(
            (x, 0.12), ASIDE - 0.03, rows - 0.24, boxstyle="round,pad=0,rounding_size=0.01", **style
        )
        axes.add_patch(box)
        words = f"{name}: one step from every value" if joined else f"{name}: distinguished from every value"
        words = name if ":" in name else words
        given = {"rotation": 90, "ha": "center", "va": "center", "fontsize": "small"}
        axes.text(x + (ASIDE - 0.03) / 2, rows / 2, words, **given)
    return 1 - len(beside) * ASIDE


def _words(values: Sequence[str], letters: int, lines: int) -> str:
    """Return values in so many lines, and how many there are where those do not suffice."""
    found = textwrap.wrap(",  ".join(values[: lines * letters]), letters)
    if len(found) <= lines and len(values) <= lines * letters:
        return "\n".join(found)
    more = f"... {len(values):,} values in all"
    if lines == 1:
        return f"{found[0][: letters - len(more)]}{more}"
    return "\n".join([*found[: lines - 1], more])


def _blank(axes: Any) -> None:
    """Show no axes: places mean nothing here."""
    axes.set_xlim(0, 1)
    axes.xaxis.set_visible(False)
    axes.yaxis.set_visible(False)
    axes.spines[:].set_visible(False)
