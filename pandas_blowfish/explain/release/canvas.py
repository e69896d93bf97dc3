"""What all pictures share: Axes to draw on, colours of the current style, a title with a note. No rows."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentTypeError, MissingPackageError
from pandas_blowfish.explain.release.axis_labels import plain

WIDE = 72  # letters that fit in a line of a title


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


def discard(axes: Any, ax: Any) -> None:
    """Close the figure of new Axes on which nothing could be drawn."""
    if ax is None:
        from matplotlib import pyplot

        pyplot.close(axes.figure)


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


def entitle(axes: Any, title: str, note: str) -> None:
    """Write a title, in as many lines as it needs, and a note in small letters beneath it."""
    lines = textwrap.wrap(title, WIDE) or [""]
    axes.set_title(plain("\n".join(lines)), loc="left", pad=18, fontsize="medium", wrap=True)
    axes.annotate(
        plain(note),
        (0, 1),
        xytext=(0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize="small",
        alpha=0.7,
        wrap=True,
    )


def legend_of(axes: Any, title: str, many: int) -> Any:
    """Name so many series, beside the picture where they would cover it."""
    given: dict[str, Any] = {"title": plain(title), "fontsize": "small"}
    if many > 12:
        given |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "ncols": 1 + (many - 1) // 26}
    return axes.legend(**given)
