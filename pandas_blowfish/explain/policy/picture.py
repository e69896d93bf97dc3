"""Pictures of policies: which values of a column, or of two, stay indistinguishable. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, BlowfishError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.explain.policy.captions import both, briefly, note_of, secret_of
from pandas_blowfish.explain.policy.column import draw_column
from pandas_blowfish.explain.policy.reach import MOST, SecretReach, reach_of
from pandas_blowfish.explain.policy.strips import draw_lanes, explain_steps, shades
from pandas_blowfish.explain.release.axis_labels import places_of, write_units
from pandas_blowfish.explain.release.canvas import axes_of, entitle, ink
from pandas_blowfish.explain.release.heat import draw_mesh, edges_of, spread
from pandas_blowfish.policy.attribute import Values
from pandas_blowfish.policy.describe import shorten, values_of
from pandas_blowfish.policy.policy import Policy

LANES = 24  # columns that an overview shows


def plot_policy(
    policy: Policy, columns: Any = None, *, ax: Any = None, epsilon: Any = None, around: Any = None
) -> Any:
    """Draw which values a policy keeps indistinguishable and return the Axes.

    One column is drawn as a graph of its values: dots, arcs, boxes of groups, or where they are many a
    strip on its axis, shaded by the steps from one value. Two columns are a grid of cells, shaded in the same
    way, the last one along the bottom. More are an overview, a lane each.

    Args:
        policy: The promise.
        columns: One column, two, or more; None for all.
        ax: The matplotlib Axes to draw on; None for new ones.
        epsilon: What all releases together may lose, to write how far odds can change.
        around: The record that steps are counted from, as column -> value; the middle by default.
    """
    names = _names(policy, columns)
    loss = None if epsilon is None else epsilon_of(epsilon)
    if around is not None and (not isinstance(around, Mapping) or not set(around) <= set(names)):
        raise ArgumentTypeError("around", "not a record", allowed=f"a dict of {', '.join(names)} -> value")
    if len(names) == 1:
        return draw_column(policy, names[0], ax, loss, around)
    if len(names) == 2 and (columns is not None or len(policy.secrets) == 1):
        return _pair(policy, names, ax, loss, around)
    return _overview(policy, names, ax, loss, around or {})


def _names(policy: Policy, columns: Any) -> list[str]:
    """Return the columns to draw, all of them declared."""
    known = policy.domain.columns
    names = known if columns is None else [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError("columns", "not names of columns", allowed=", ".join(known))
    if not names or len(set(names)) < len(names):
        raise ArgumentError("columns", "none, or one twice", allowed=", ".join(known))
    return [policy.domain[name].name for name in names]


def _pair(policy: Policy, names: list[str], ax: Any, loss: Fraction | None, around: Any) -> Any:
    """Draw the cells of two columns, shaded by the steps from one of them."""
    reach = reach_of(policy, names, around)
    axes = axes_of(ax)
    from matplotlib.colors import BoundaryNorm, ListedColormap

    upright, across = (places_of(reach.cells(axis), listed=False) for axis in (0, 1))
    (y, rows), (x, columns) = edges_of(upright), edges_of(across)
    colors = shades(axes)
    steps = spread(np.where(np.isinf(reach.steps), np.nan, reach.steps), rows, columns)
    kind = ListedColormap(colors).with_extremes(bad=(0, 0, 0, 0))
    norm = BoundaryNorm(np.arange(MOST + 3) - 0.5, len(colors))
    draw_mesh(axes, x, y, steps, kind, norm=norm)
    at = across.middle[reach.origin[1]], upright.middle[reach.origin[0]]
    axes.plot(*at, "+", color=ink(), ms=9, mew=1.5, zorder=4)
    for axis, places, name in ((axes.yaxis, upright, names[0]), (axes.xaxis, across, names[1])):
        write_units(axis, places, name)
    if upright.labels is not None:
        axes.yaxis.set_inverted(True)
    found = np.unique(reach.steps).tolist()
    explain_steps(
        axes, found, colors, loss, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2 if loss else 3
    )
    entitle(axes, both(policy, names), note_of(policy, reach))
    return axes


def _overview(
    policy: Policy, names: list[str], ax: Any, loss: Fraction | None, around: Mapping[str, Any]
) -> Any:
    """Draw a lane a column, each shaded by the steps from a value of its own."""
    lanes: list[tuple[str, str, SecretReach | str]] = []
    for name in names[:LANES]:
        own, secret = secret_of(policy, name)
        others = [other for other in own if other != name]
        attribute = policy.domain[name]
        shown: SecretReach | str = (
            shorten(attribute.values) if isinstance(attribute, Values) else values_of(attribute)
        )
        if secret["secret"] not in ("full", "public"):
            try:
                shown = reach_of(policy, [name], {name: around[name]} if name in around else None)
            except BlowfishError:  # no bounds, or pairs of several columns: described in words
                if name in around:
                    raise
        lanes.append((f"{name} (with {', '.join(others)})" if others else name, briefly(policy, own), shown))
    axes = axes_of(ax)
    colors = shades(axes)
    draw_lanes(axes, lanes, colors)
    steps = {step for _, _, reach in lanes if isinstance(reach, SecretReach) for step in reach.steps.tolist()}
    steps |= {1.0 for _, words, _ in lanes if words == "every value"}
    steps |= {np.inf for _, words, _ in lanes if words == "public"}
    explain_steps(
        axes, steps, colors, loss, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2 if loss else 3
    )
    more = [f"the first {LANES} of {len(names)} columns"] if len(names) > LANES else []
    entitle(
        axes,
        "What stays indistinguishable, column by column",
        note_of(policy, None, "steps from a middle value", *more),
    )
    return axes


Policy.painter = plot_policy
