"""The picture of one column of a policy: dots, boxes and arcs of few values, a strip of many. No rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.explain.policy.captions import describe_promise, note_of, secret_of, theta_of
from pandas_blowfish.explain.policy.network import draw_arcs, draw_boxes, draw_dots, draw_network
from pandas_blowfish.explain.policy.reach import SecretReach, reach_of
from pandas_blowfish.explain.policy.strips import draw_runs, draw_strip, explain_steps, finish, shades
from pandas_blowfish.explain.release.axis_labels import name_of, places_of
from pandas_blowfish.explain.release.canvas import axes_of, entitle, ink
from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.secret_graph import Cliques, SecretGraph
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import has_stand_in, joins_all

FEW = 24  # values up to which each is drawn with its edges
DRAWN = 40  # values up to which listed pairs are


def draw_column(
    policy: Policy, name: str, ax: Any, epsilon: Fraction | None, around: Mapping[str, Any] | None
) -> Any:
    """Draw which values of one column stay indistinguishable and return the Axes.

    With an epsilon, or a value to look from, it is always a strip shaded by steps.
    """
    attribute = policy.domain.select([name]).attributes[0]
    own, secret = secret_of(policy, name)
    kind, title = str(secret["secret"]), f"{name}: {describe_promise(policy, own)}"
    gone = f"missing: as {secret['missing']}" if has_stand_in(secret) else "missing"
    beside = [(gone, joins_all(secret))] * attribute.nullable
    beside += [("absent", True)] * policy.presence
    if around is None and epsilon is None and len(own) == 1:
        axes = _graph(policy, attribute, kind, secret.get("groups"), beside, ax)
        if axes is not None:
            entitle(axes, title, note_of(policy))
            return axes
    reach = reach_of(policy, [name], around)
    axes = axes_of(ax)
    if around is None and epsilon is None and kind == "partition" and len(own) == 1:
        _groups(axes, policy, attribute, secret["groups"], reach, beside)
        part = [] if reach.whole else ["a part of the domain"]
        entitle(axes, title, note_of(policy, None, *part))
        return axes
    colors = shades(axes)
    arc = f"up to {theta_of(secret)}" if kind == "threshold" and len(own) == 1 else ""
    draw_strip(axes, reach, colors, name, beside, arc)
    steps = [*reach.steps.tolist(), *([1.0] if policy.presence else [])]
    explain_steps(axes, steps, colors, epsilon)
    entitle(axes, title, note_of(policy, reach))
    return axes


def _graph(
    policy: Policy,
    attribute: Attribute,
    kind: str,
    groups: Any,
    beside: Sequence[tuple[str, bool]],
    ax: Any,
) -> Any:
    """Draw few values with their edges; None where there are too many, or they lie on an axis."""
    axis = isinstance(attribute, Grid)
    few = attribute.cells <= FEW or not axis
    names = [name_of(value) for value in attribute.labels()] if few else []
    if kind in ("full", "public"):
        axes = axes_of(ax)
        if isinstance(attribute, Grid) and attribute.cells > FEW:
            _alike(axes, attribute, beside, joined=kind == "full")
        elif kind == "full":
            draw_boxes(axes, [("", names)], beside)
        else:
            draw_dots(axes, names, beside)
        return axes
    if kind == "partition" and not axis:
        graph = _values(policy, attribute)
        assert isinstance(graph, Cliques)
        axes = axes_of(ax)
        draw_boxes(axes, _named(groups, graph, names), beside)
        return axes
    if kind == "edges" and attribute.cells <= DRAWN:
        axes = axes_of(ax)
        names = [name_of(value) for value in attribute.labels()]
        draw_network(axes, names, _values(policy, attribute).edges(), beside)
        return axes
    if kind == "threshold" and attribute.cells <= FEW:
        axes = axes_of(ax)
        places = places_of(attribute.labels(), listed=False)
        draw_arcs(axes, places, _values(policy, attribute).edges(), attribute.name, beside)
        return axes
    return None


def _alike(axes: Any, attribute: Grid, beside: Sequence[tuple[str, bool]], *, joined: bool) -> None:
    """Draw an axis all of whose values are joined, or none."""
    coarse = replace(attribute, step=attribute.step * -(-attribute.cells // DRAWN), nullable=False)
    places = places_of(coarse.labels(), listed=False)
    colors = shades(axes)
    steps = np.full(coarse.cells, 1.0 if joined else np.inf)
    draw_runs(axes, places.left, places.right, steps, colors, (0.0, 1.0))
    middle = (float(places.left.min()) + float(places.right.max())) / 2
    words = (
        "every value, one step from every other" if joined else "every value, distinguished from every other"
    )
    axes.text(middle, 1.08, words, ha="center", va="bottom")
    finish(axes, places, attribute.name, beside, colors[1])


def _values(policy: Policy, attribute: Attribute) -> SecretGraph:
    """Return the graph of a column's values, without the missing cell."""
    graph = next(block.graph for block in policy.graph.blocks if block.columns == (attribute.name,))
    return graph.inner if isinstance(graph, WithMissing) else graph


def _named(groups: Any, graph: Cliques, names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the groups of a partition: what each is called, and its values."""
    numbers = np.unique(graph.groups)
    titles = [str(title) for title in groups] if isinstance(groups, Mapping) else []
    return [
        (
            titles[number] if number < len(titles) else "",
            [names[cell] for cell in np.flatnonzero(graph.groups == number).tolist()],
        )
        for number in numbers.tolist()
    ]


def _groups(
    axes: Any,
    policy: Policy,
    attribute: Attribute,
    groups: Any,
    reach: SecretReach,
    beside: Sequence[tuple[str, bool]],
) -> None:
    """Draw the groups of a column with an axis: boxes along it, neighbouring ones in different colours."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    graph = _values(policy, attribute)
    assert isinstance(graph, Cliques)
    known = len(reach.steps) - attribute.nullable
    cells = reach.cells(0)[:known]
    places = places_of(cells, listed=False)
    first = attribute.code(getattr(cells[0], "left", cells[0]))
    own = graph.groups[first : first + known]
    numbers, codes = np.unique(own, return_inverse=True)
    cycle = [to_rgba(each.get("color", ink()), 0.5) for each in rcParams["axes.prop_cycle"]]
    colors = [to_rgba(ink(), 0), *cycle]
    draw_runs(
        axes,
        places.left,
        places.right,
        (1 + codes.reshape(-1) % len(cycle)).astype(np.float64),
        colors,
        (0.0, 1.0),
    )
    titles = [str(title) for title in groups] if isinstance(groups, Mapping) and "width" not in groups else []
    for number in numbers.tolist() if len(numbers) <= FEW and titles else []:
        middle = float(np.median(places.middle[own == number]))
        given = {
            "ha": "center",
            "va": "center",
            "fontsize": "small",
            "rotation": 90 if len(numbers) > 5 else 0,
        }
        axes.text(middle, 0.5, titles[number][:24].replace("$", r"\$"), **given)
    finish(axes, places, attribute.name, beside)
