"""Strips of cells shaded by their steps from one value: one for a long column, a lane a column for a policy.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.explain.policy.reach import MOST, SecretReach
from pandas_blowfish.explain.release.axis_labels import (
    Places,
    name_of,
    number_of,
    places_of,
    plain,
    write_units,
)
from pandas_blowfish.explain.release.canvas import color_of, ink
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.policy.odds import Odds

STRENGTH = (0.85, 0.5, 0.32, 0.2, 0.1)  # of the colour after 1, 2, ... steps
TOLD = 12  # lanes up to which their ends are named
TOP = 2.1  # where a picture of a strip ends, which goes from 0 to 1


def shades(axes: Any) -> list[Any]:
    """Return the colours of 0, 1, ... steps, ever fainter ones of the style's next."""
    from matplotlib.colors import to_rgba

    base = color_of(axes)
    return [to_rgba(base), *(to_rgba(base, strength) for strength in STRENGTH)]


def explain_steps(
    axes: Any, steps: Iterable[float], colors: Sequence[Any], epsilon: Fraction | None, **given: Any
) -> None:
    """Write what the shades mean, and with an epsilon how far odds between the two values can change."""
    from matplotlib.patches import Patch

    handles = []
    for step in sorted(set(steps)):
        if step == 0:
            continue
        if math.isinf(step):
            handles.append(Patch(fc="none", ec=ink(), alpha=0.4, label="not protected: no steps lead there"))
            continue
        words = f"{step:g} step{'s' if step > 1 else ''}" if step <= MOST else f"{MOST + 1} or more"
        if epsilon is not None and step <= MOST:
            text = Odds({}, {}, epsilon, int(step)).factor_text  # rounded up
            words += f": odds \N{MULTIPLICATION SIGN} {text} at most"
        handles.append(Patch(color=colors[int(step)], label=words))
    axes.legend(handles=handles, **{"fontsize": "small", "loc": "upper left", "frameon": False} | given)


def draw_strip(
    axes: Any,
    reach: SecretReach,
    colors: Sequence[Any],
    label: str,
    beside: Sequence[tuple[str, bool]],
    arc: str,
) -> None:
    """Draw a column as a strip in its own units, shaded by the steps from one value.

    Args:
        axes: The matplotlib Axes to draw on.
        reach: The steps from the value, on one column.
        colors: The shades of 0, 1, ... steps.
        label: The column.
        beside: "missing" and "absent", and whether each is joined to every value.
        arc: What to write on the arcs to the furthest values that one step reaches; none without words.
    """
    cells = reach.cells(0)
    known = len(cells) - reach.attributes[0].nullable
    places, steps = places_of(cells[:known], listed=False), reach.steps[:known]
    draw_runs(axes, places.left, places.right, steps, colors, (0.0, 1.0))
    spots = finish(axes, places, label, beside, colors[1])
    here = reach.origin[0]
    at = float(places.middle[here]) if here < known else spots[0]
    axes.plot([at, at], [0, 1], color=ink(), linewidth=2, solid_capstyle="butt", zorder=3)
    name = name_of(cells[here])
    axes.annotate(plain(name), (at, 1), (0, 3), textcoords="offset points", ha="center", fontsize="small")
    near = places.middle[steps == 1]
    if not arc or not len(near) or here >= known:
        return
    turn = np.linspace(0, np.pi, 60)
    for far in {float(near.min()), float(near.max())}:
        x, y = (at + far) / 2 + (far - at) / 2 * np.cos(turn), 1.18 + 0.2 * np.sin(turn)
        axes.plot(x, y, color=colors[1], linewidth=1.5, solid_capstyle="round")
    axes.annotate(plain(arc), (at, 1.38), (0, 2), textcoords="offset points", ha="center", fontsize="small")


def finish(
    axes: Any, places: Places, label: str, beside: Sequence[tuple[str, bool]], color: Any = "none"
) -> list[float]:
    """Write the units of a strip and draw what stands beside it; return where that is.

    The height of a strip means nothing, and there are no values beside it.
    """
    low, end = float(places.left.min()), float(places.right.max())
    width, spots = end - low, []
    write_units(axes.xaxis, places, label)
    for number, (name, joined) in enumerate(beside):
        begin = end + (0.02 + 0.07 * number) * width
        _box(axes, begin, 0.05 * width, (0.0, 1.0), color if joined else "none")
        spots.append(begin + 0.025 * width)
        words = name if joined or ":" in name else f"{name}: distinguished"
        axes.text(spots[-1], 0.5, words, rotation=90, ha="center", va="center", fontsize="small")
    axes.set_xlim(low, spots[-1] + 0.03 * width if spots else end)
    within(axes.xaxis, end)
    axes.set_ylim(0, TOP)
    axes.yaxis.set_visible(False)
    axes.spines[["left", "top", "right"]].set_visible(False)
    return spots


def within(axis: Any, end: float) -> None:
    """Leave out the ticks beyond the last value, where there are no values."""
    if axis.get_view_interval()[1] > end:
        low = axis.get_view_interval()[0]
        marks = [mark for mark in axis.get_majorticklocs() if low <= mark <= end]
        form = axis.get_major_formatter()
        axis.set_ticks(marks, form.format_ticks(marks))
        if form.get_offset():
            axis.set_label_text(f"{axis.get_label_text()} ({form.get_offset()})")


def draw_runs(
    axes: Any, left: Floats, right: Floats, steps: Floats, colors: Sequence[Any], span: tuple[float, float]
) -> None:
    """Draw cells from left to right as boxes, those of the same number of steps that touch as one."""
    order = np.argsort(left, kind="stable")
    left, right, steps = left[order], right[order], steps[order]
    gap = left[1:] > right[:-1] + 1e-6 * (right - left)[:-1]
    cuts = np.flatnonzero((steps[1:] != steps[:-1]) | gap) + 1
    starts, stops = np.append(0, cuts), np.append(cuts, len(steps)) - 1
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        wide, x = float(right[stop] - left[start]), float(left[start])
        color = "none" if math.isinf(steps[start]) else colors[int(steps[start])]
        _box(axes, x, wide, span, color)


def draw_lanes(axes: Any, lanes: Sequence[tuple[str, str, SecretReach | str]], colors: Sequence[Any]) -> None:
    """Draw columns beneath each other, each as a strip from its least to its largest value.

    Args:
        axes: The matplotlib Axes to draw on.
        lanes: For each column its name, its promise in a few words, and the steps from one of its values; or
            what its values are called where all, or none, are alike.
        colors: The shades of 0, 1, ... steps.
    """
    for lane, (_, words, shown) in enumerate(lanes):
        span = (lane - 0.22, lane + 0.22)
        if isinstance(shown, str):
            _box(axes, 0.0, 1.0, span, colors[1] if words == "every value" else "none")
            ends = ["", shown[:60], ""]
        else:
            many = len(shown.steps)
            edges = np.arange(many + 1) / many
            draw_runs(axes, edges[:-1], edges[1:], shown.steps, colors, span)
            at = (shown.origin[0] + 0.5) / many
            axes.plot([at, at], span, color=ink(), linewidth=1.5, solid_capstyle="butt", zorder=3)
            ends = _ends(shown)
        for at, name, across in zip((0.0, 0.5, 1.0), ends, ("left", "center", "right"), strict=True):
            if len(lanes) > TOLD:
                continue
            given = {"ha": across, "va": "top", "fontsize": "x-small", "alpha": 0.8}
            axes.annotate(plain(name), (at, span[1]), (0, -2), textcoords="offset points", **given)
        given = {"va": "center", "fontsize": "small"}
        axes.annotate(
            plain(words), (1.0, lane), (8, 0), textcoords="offset points", annotation_clip=False, **given
        )
    axes.set_yticks(range(len(lanes)), [plain(name) for name, _, _ in lanes])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lanes) - 0.3, -0.6)
    axes.set_xlim(0, 1)
    axes.xaxis.set_visible(False)
    axes.spines[:].set_visible(False)


def _ends(reach: SecretReach) -> list[str]:
    """Return the names of the first and the last value of a lane; dots stand for more."""
    attribute, cells = reach.attributes[0], reach.cells(0)
    first, last = (name_of(getattr(cells[place], "left", cells[place])) for place in (0, attribute.cells - 1))
    if isinstance(attribute, Grid) and attribute.kind != "datetime":
        first, last = number_of(float(attribute.low)), number_of(float(attribute.high))
    ends = [first, f"{last}, missing" if attribute.nullable else last]
    return [ends[0][:24], "", ends[1][:24]] if reach.whole else [f"... {ends[0]}", "", f"{ends[1]} ..."]


def _box(axes: Any, x: float, wide: float, span: tuple[float, float], color: Any) -> None:
    from matplotlib.patches import Rectangle

    empty = isinstance(color, str) and color == "none"
    edge: dict[str, Any] = {"ec": ink(), "linewidth": 0.5, "alpha": 0.4} if empty else {"linewidth": 0}
    axes.add_patch(Rectangle((x, span[0]), wide, span[1] - span[0], fc=color, **edge))
