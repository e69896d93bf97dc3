"""What all pictures share: Axes to draw on, colours of the current style, a title with a note. No rows."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.release.axis_labels import LETTER, LINE, LONGEST, in_lines, plain

WIDE = 72  # letters that fit in a line of a title
FOOT = 86  # ... of a footnote
BESIDE = 8  # names of lines that stand inside the picture
AROUND = 100.0  # points above and below what is drawn
TALLEST = 14.0  # inches that a figure is stretched to
UNIT = "blowfish unit"  # by which labels of our axes are known
BOUND = "blowfish bound"  # by which marks of values at a bound are known
AT_BOUND = "triangles: noise reached a bound"


def axes_of(ax: Any) -> Any:
    """Return the Axes to draw on: those given, or for None new ones of a figure of pyplot's."""
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


def discard(figure: Any) -> None:
    """Close a new figure on which nothing could be drawn."""
    from matplotlib import pyplot

    pyplot.close(figure)


def color_of(axes: Any) -> Any:
    """Return the next colour of the current style, so that what shares Axes differs."""
    (probe,) = axes.plot([], [])
    color = probe.get_color()
    probe.remove()
    return color


def colors_of(axes: Any, many: int) -> list[Any]:
    """Return colours for so many series: the style's next ones, or where those repeat a scale of them."""
    from matplotlib import colormaps, rcParams

    if many > len(rcParams["axes.prop_cycle"]):
        return list(colormaps[rcParams["image.cmap"]](np.linspace(0.05, 0.95, many)))
    return [color_of(axes) for _ in range(many)]


def ink() -> Any:
    """Return the colour of words, right on light and on dark."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def entitle(axes: Any, title: str, note: str, footnote: str = "") -> None:
    """Write a title, in as many lines as it needs, a note in small letters beneath it, and a footnote."""
    room = 0.95 * float(axes.get_window_extent().width) * 72 / axes.figure.dpi / LETTER  # letters, about
    lines = textwrap.wrap(title, min(max(int(room), 24), WIDE)) or [""]
    small: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "alpha": 0.7}
    beneath = textwrap.wrap(note, min(max(int(1.35 * room), 28), FOOT)) or [""]
    pad = 6 + 12 * len(beneath)
    axes.set_title(plain("\n".join(lines)), loc="left", pad=pad, fontsize="medium", wrap=True)
    if footnote:
        last = axes.child_axes[-1] if axes.child_axes else axes
        text = plain(in_lines(footnote, min(max(int(1.35 * room), 28), FOOT), 3))
        where: Any = ("axes fraction", last.xaxis.label)  # wherever the label comes to stand
        foot = axes.annotate(text, (0, 0), xytext=(0, -5), xycoords=where, va="top", **small)
        foot.get_tightbbox = partial(_narrow, foot)
    above = axes.annotate(plain("\n".join(beneath)), (0, 1), xytext=(0, 5), xycoords="axes fraction", **small)
    above.set_in_layout(False)  # the title leaves room for it


def _narrow(text: Any, renderer: Any = None) -> Any:
    """Return where a text stands from top to bottom: how long it is moves nothing beside the picture."""
    from matplotlib.transforms import Bbox

    box = text.get_window_extent(renderer)
    return Bbox.from_extents(box.x0, box.y0, box.x0 + 1, box.y1)


def legend_of(axes: Any, title: str, many: int) -> Any:
    """Name so many series, long names in lines; beside the picture but for a few lines of it."""
    handles, names = axes.get_legend_handles_labels()
    text = [in_lines(name, LONGEST, 3) if name.strip() else name for name in names]
    text = [f" {name}" if name.startswith("_") else name for name in text]  # "_" hides from legends
    given: dict[str, Any] = {"title": plain(in_lines(title, LONGEST, 3)), "fontsize": "small"}
    if many > BESIDE or axes.containers or any("\n" in name for name in text):  # of bars, of error bars
        given |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "ncols": 1 + (many - 1) // 26}
    return axes.legend(handles, text, **given)


def panels_of(axes: Any, rows: int, columns: int, lines: float = 3.4) -> list[Any]:
    """Return so many panels inside Axes, row by row, for units that must not share an axis.

    The Axes themselves show nothing any more but their title; the panels are their `child_axes`. Between rows
    there is room for so many lines.
    """
    if axes.has_data() or axes.child_axes:
        raise ArgumentError("ax", "it shows something already", fix="give these panels Axes of their own.")
    axes.set_axis_off()
    box = axes.get_window_extent()
    height = max(float(box.height) * 72 / axes.figure.dpi, 1.0)
    gap, wide = min(lines * LINE / height, 0.5 / rows), 0.06
    high, broad = (1 - gap * (rows - 1)) / rows, (1 - wide * (columns - 1)) / columns
    found = []
    for row in range(rows):
        for column in range(columns):
            at = (column * (broad + wide), 1 - high - row * (high + gap), broad, high)
            panel = axes.inset_axes(at)
            panel.spines[["top", "right"]].set_visible(False)
            found.append(panel)
    return found


def claim(axis: Any, unit: str) -> None:
    """Say what an axis shows, before anything is drawn; refuse one on which a release has another unit."""
    label = axis.label
    if label.get_gid() == UNIT and label.get_text() != plain(unit):
        problem = f"it shows {label.get_text()!r} already, and this is {unit!r}"
        raise ArgumentError("ax", problem, fix="give each its own Axes.")
    label.set_gid(UNIT)
    axis.set_label_text(plain(unit))


def stretch(axes: Any, points: float) -> None:
    """Make the figure of new Axes higher where what they show needs so many points, up to a limit."""
    inches = min((points + AROUND) / 72, TALLEST)
    if inches > axes.figure.get_figheight():
        axes.figure.set_figheight(inches)


def height_of(axes: Any) -> float:
    """Return how many points Axes are high, before a layout changes that."""
    return float(axes.get_window_extent().height) * 72 / float(axes.figure.dpi)


def mark_bounds(
    axes: Any, across: Floats, upright: Floats, sides: Floats, color: Any, *, sideways: bool
) -> bool:
    """Mark values that noise moved to a bound with triangles that point beyond it; return whether any are.

    Args:
        axes: What is drawn on.
        across: Where the values lie along the bottom.
        upright: Where they lie along the side.
        sides: -1 for a value at its lower bound, 1 at its upper one, 0 at none.
        color: That of the marks.
        sideways: Whether the values lie along the bottom.
    """
    for side, mark in ((-1, "<" if sideways else "v"), (1, ">" if sideways else "^")):
        own = sides == side
        if own.any():
            axes.plot(
                *(across[own], upright[own]),
                mark, ms=6, color=color, mec=ink(), mew=0.8, clip_on=False, zorder=5, gid=BOUND,
            )  # fmt: skip
    return bool((sides != 0).any())
