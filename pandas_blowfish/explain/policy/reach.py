"""How many steps of a policy lead from one record to others, on one or two columns. Never sees rows.

Only a window of the cells is drawn, by closed forms: columns of millions of cells need no edge list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.policy.attribute import Attribute, Grid, with_missing
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.joint import build_joint
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph, matrix
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import has_stand_in, joins_all, stand_in

MOST = 4  # steps that are distinguished
WHOLE = 60  # cells of a column that are always all drawn
FAR = 60  # times the reach of one step, beyond which a column is drawn in part
MANY = 2_000  # cells of a column all of which are alike, beyond which some are drawn
FINE = 1_000  # cells of each column that are drawn where those of both are too many
LARGEST = 4_000_000  # cells of a window


@dataclass(frozen=True, eq=False)
class SecretReach:
    """Steps from one record.

    Attributes:
        attributes: The one or two columns, cut to the window that is drawn.
        origin: The cell of the record in the window; the one after the last is the missing one.
        steps: The number of steps to each cell of the window, `MOST` + 1 for more, infinite where none
            lead; a missing cell comes last along its column.
        whole: Whether the window is all there is.
    """

    attributes: tuple[Attribute, ...]
    origin: tuple[int, ...]
    steps: Floats
    whole: bool

    def cells(self, axis: int) -> pd.Index[Any]:
        """Return the names of the cells along an axis of `steps`."""
        attribute = self.attributes[axis]
        return with_missing(attribute.labels()) if attribute.nullable else attribute.labels()


def reach_of(policy: Policy, columns: Sequence[str], around: Mapping[str, Any] | None = None) -> SecretReach:
    """Return how many steps lead from a record to others that differ from it in these columns alone.

    Args:
        policy: The promise.
        columns: One or two of its columns.
        around: The record to begin at, as column -> value; for columns left out the middle of the domain.

    Steps are `policy.distance` between the two records, up to `MOST`, and one more for all beyond. Blocks
    combine as there. In a block the columns that are not drawn stay as they are: for balls and groups that is
    the shortest way, but where one of them may be missing two steps lead through that. Shortest ways of balls
    stay between their ends, so that a window has them all.
    """
    seen = policy.domain.select(columns).attributes
    blocks = [
        (secret, own, [a for a in seen if a.name in own])
        for own, secret in policy.reduced.secrets.items()
        if set(own) & set(columns)
    ]
    graphs = [_graph(policy, *block) for block in blocks]
    start: dict[str, int] = {}
    windows: dict[str, tuple[int, int]] = {}
    for graph, (secret, _, drawn) in zip(graphs, blocks, strict=True):
        start |= _begin(graph, drawn, around or {})
        windows |= _windows(graph, str(secret["secret"]), drawn, _solid(secret, drawn, start))
    if (size := math.prod(high - low for low, high in windows.values())) > LARGEST and len(blocks) < 2:
        raise DomainTooLargeError("the picture", size, LARGEST, fix="draw one of the columns.")
    every = {
        name: max(-(-(high - low) // FINE), 1) if size > LARGEST else 1
        for name, (low, high) in windows.items()
    }
    found = []
    for graph, (secret, own, drawn) in zip(graphs, blocks, strict=True):
        steps = _steps(graph, secret, drawn, _solid(secret, drawn, start), windows)
        if has_stand_in(secret):
            _add_missing(policy, drawn[0], start, windows, steps)
        if joins_all(secret) and any(policy.domain[name].nullable for name in own):
            steps = np.minimum(steps, 2)  # through a missing cell
        if len(blocks) > 1:
            steps = steps[_some(drawn[0], every, start, windows)]
        sizes = {a.name: size for a, size in zip(drawn, steps.shape, strict=True)}
        found.append(steps.reshape([sizes.get(a.name, 1) for a in seen]))
    return SecretReach(
        tuple(_cut(a, *windows[a.name], every[a.name], start[a.name]) for a in seen),
        tuple(_inside(a, start, windows) // every[a.name] for a in seen),
        _combine(policy, found),
        all(windows[a.name] == (0, a.cells) for a in seen),
    )


def _combine(policy: Policy, found: Sequence[Floats]) -> Floats:
    """Return the steps in one or two blocks together."""
    together: Floats = np.asarray(np.maximum(found[0], found[-1]), dtype=np.float64)
    if len(found) > 1 and policy.graph.moves == 1:  # one block per step
        together = found[0] + found[1]
    together = np.where(np.isfinite(together), np.minimum(together, MOST + 1), np.inf)
    return np.minimum(together, 2) if policy.presence else together  # through "absent"


def _solid(secret: Mapping[str, Any], drawn: list[Attribute], start: Mapping[str, int]) -> dict[str, int]:
    """Return the cells to begin at, the stand-in for a missing one."""
    likes = {a.name: stand_in(secret, a) for a in drawn if start[a.name] == a.cells}
    return {**start, **{name: like for name, like in likes.items() if like is not None}}


def _add_missing(
    policy: Policy,
    attribute: Attribute,
    start: Mapping[str, int],
    windows: Mapping[str, tuple[int, int]],
    steps: Floats,
) -> None:
    """Enter the steps from or to a missing value that is like another: its own, and one between the two."""
    graph = policy.graph.project([attribute.name]).blocks[0].graph
    low, high = windows[attribute.name]
    like = stand_in(policy.secrets[attribute.name,], attribute)
    if start[attribute.name] == attribute.cells:
        if like is not None and low <= like < high:
            steps[like - low] = 1
        steps[-1] = 0
    else:
        far = graph.distance(start[attribute.name], attribute.cells)
        steps[-1] = far if math.isinf(far) else min(far, MOST + 1)


def _graph(
    policy: Policy, secret: Mapping[str, Any], own: tuple[str, ...], drawn: list[Attribute]
) -> SecretGraph:
    """Return the graph of the cells that are drawn, the other columns of the block staying as they are."""
    kind = secret["secret"]
    if kind == "edges" and len(drawn) < len(own):
        fix = f"draw {' and '.join(own)}." if len(own) == 2 else "leave it out; pictures show two columns."
        raise ArgumentError("columns", "they are part of a joint secret's edges", fix=fix)
    if kind == "edges" or (len(own) == 1 and not (kind == "threshold" and isinstance(drawn[0], Grid))):
        named = [a.name for a in drawn]
        graph = next(b for b in policy.graph.project(named).blocks if set(b.columns) == set(own)).graph
        return graph.inner if isinstance(graph, WithMissing) else graph
    solid = {name: replace(policy.domain[name], nullable=False) for name in own}
    return build_joint(secret, list(solid.values()), [solid[a.name] for a in drawn])


def _begin(graph: SecretGraph, drawn: list[Attribute], around: Mapping[str, Any]) -> dict[str, int]:
    """Return the cells to begin at: those asked for, else the middle, or the end of most listed edges."""
    middle = [a.cells // 2 for a in drawn]
    if isinstance(graph, Explicit) and len(graph.listed):
        ends, many = np.unique(graph.listed, return_counts=True)
        middle = [int(code) for code in np.unravel_index(ends[np.argmax(many)], _shape(graph, drawn))]
    return {
        a.name: a.cell(around[a.name]) if a.name in around else code
        for a, code in zip(drawn, middle, strict=True)
    }


def _windows(
    graph: SecretGraph, kind: str, drawn: list[Attribute], start: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Return which cells of each column are drawn: some around the start where a step is short."""
    begin = [min(start[a.name], a.cells - 1) for a in drawn]
    reach = [0] * len(drawn)
    if kind in ("full", "public"):
        reach = [1 if a.cells > MANY else 0 for a in drawn]
    elif isinstance(graph, OffsetBall):
        reach = graph.reach.tolist()
    elif isinstance(graph, Cubes):
        reach = [int((own == own[code]).sum()) for own, code in zip(graph.axes, begin, strict=True)]
    elif isinstance(graph, Cliques):
        reach = [int((graph.groups == graph.groups[begin[0]]).sum())]
    found = {}
    for attribute, far, code in zip(drawn, reach, begin, strict=True):
        low, high = 0, attribute.cells
        if isinstance(attribute, Grid) and high > WHOLE and far >= 1 and high > FAR * far:
            half = max((MOST + 3) * far, WHOLE // 2)
            low, high = max(0, code - half), min(high, code + half + 1)
        found[attribute.name] = (low, high)
    return found


def _steps(
    graph: SecretGraph,
    secret: Mapping[str, Any],
    drawn: list[Attribute],
    start: Mapping[str, int],
    windows: Mapping[str, tuple[int, int]],
) -> Floats:
    """Return the steps to each cell of a block's window, a missing cell last."""
    sizes = [windows[a.name][1] - windows[a.name][0] for a in drawn]
    origin = tuple(_inside(a, start, windows) for a in drawn)
    steps = np.full([n + a.nullable for n, a in zip(sizes, drawn, strict=True)], np.inf)
    solid = all(code < n for code, n in zip(origin, sizes, strict=True))
    values = tuple(slice(0, n) for n in sizes)
    if joins_all(secret):
        steps[:] = 1  # from or to a missing cell
    if isinstance(graph, Explicit):
        if solid or _shape(graph, drawn) == [a.size for a in drawn]:
            steps[values] = np.inf
            _along(graph, drawn, [start[a.name] for a in drawn], windows, steps)
    elif solid:
        steps[values] = _closed(graph, str(secret["secret"]), drawn, origin, start, windows)
    steps[origin] = 0
    return steps


def _closed(
    graph: SecretGraph,
    kind: str,
    drawn: list[Attribute],
    origin: tuple[int, ...],
    start: Mapping[str, int],
    windows: Mapping[str, tuple[int, int]],
) -> Floats:
    """Return the steps between cells that hold values, by the closed form of their graph."""
    spans = [slice(*windows[a.name]) for a in drawn]
    sizes = [span.stop - span.start for span in spans]
    if kind in ("full", "public"):
        return np.full(sizes, 1.0 if kind == "full" else np.inf)
    if isinstance(graph, Cliques):
        axes = graph.axes if isinstance(graph, Cubes) else [graph.groups]
        same = np.ones([1] * len(sizes), dtype=bool)
        for axis, (own, span, a) in enumerate(zip(axes, spans, drawn, strict=True)):
            sides = [-1 if place == axis else 1 for place in range(len(sizes))]
            same = same & (own[span] == own[start[a.name]]).reshape(sides)
        return np.where(same, 1.0, np.inf)
    near = OffsetBall(sizes, graph.front) if isinstance(graph, OffsetBall) else graph
    reached = np.zeros(near.size, dtype=np.int64)
    here = int(np.ravel_multi_index(origin, sizes))
    reached[here] = 1
    parts = near.components
    steps = np.where(parts == parts[here], MOST + 1.0, np.inf)
    for step in range(1, MOST + 1):
        wider = near.furthest(reached)
        steps[(wider > 0) & (reached == 0)] = step
        reached = wider
    return steps.reshape(sizes)


def _along(
    graph: Explicit,
    drawn: list[Attribute],
    start: Sequence[int],
    windows: Mapping[str, tuple[int, int]],
    steps: Floats,
) -> None:
    """Enter the steps along listed edges, of which there may be few among very many cells."""
    from scipy.sparse.csgraph import dijkstra

    shape = _shape(graph, drawn)
    here = int(np.ravel_multi_index(start, shape))
    ends, number = np.unique(np.append(graph.listed.ravel(), here), return_inverse=True)
    pairs = number[:-1].reshape(-1, 2)
    found = dijkstra(matrix(pairs, len(ends)), directed=False, indices=number[-1], unweighted=True)
    places = []
    for codes, a in zip(np.unravel_index(ends, shape), drawn, strict=True):
        low, high = windows[a.name]
        places.append(np.where(codes == a.cells, high - low, codes - low))
    steps[tuple(places)] = np.minimum(found, np.where(np.isinf(found), np.inf, MOST + 1))


def _shape(graph: Explicit, drawn: list[Attribute]) -> list[int]:
    """Return the cells along the axes of listed edges, which may name missing ones."""
    sizes = [a.size for a in drawn]
    return sizes if math.prod(sizes) == graph.size else [a.cells for a in drawn]


def _inside(attribute: Attribute, start: Mapping[str, int], windows: Mapping[str, tuple[int, int]]) -> int:
    """Return where the start is in its window, after the last cell if it is missing."""
    low, high = windows[attribute.name]
    return high - low if start[attribute.name] == attribute.cells else start[attribute.name] - low


def _some(
    attribute: Attribute,
    every: Mapping[str, int],
    start: Mapping[str, int],
    windows: Mapping[str, tuple[int, int]],
) -> NDArray[np.int64]:
    """Return which cells of a window are drawn where those are too many: the start, and others evenly."""
    low, high = windows[attribute.name]
    step = every[attribute.name]
    cells = np.arange(_inside(attribute, start, windows) % step, high - low, step)
    return np.append(cells, high - low) if attribute.nullable else cells


def _cut(attribute: Attribute, low: int, high: int, every: int, start: int) -> Attribute:
    """Return a column as if just the cells that are drawn had been declared."""
    if not isinstance(attribute, Grid) or (low, high, every) == (0, attribute.cells, 1):
        return attribute
    low += ((high if start == attribute.cells else start) - low) % every
    many, wide = -(-(high - low) // every), attribute.step * every
    first = attribute.low + low * attribute.step
    if attribute.kind == "integer":
        return replace(attribute, low=first, high=first + many * wide - 1, step=wide)
    return replace(attribute, low=first, high=first + many * wide, step=wide, open_low=False, open_high=True)
