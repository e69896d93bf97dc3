"""How far apart, in weight, the edges of a column's secret lead. Never sees rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.lattice import LIMIT, Lattice
from pandas_blowfish.plan.steps import straight
from pandas_blowfish.policy.attribute import Grid, Unbounded
from pandas_blowfish.policy.ball import Ball
from pandas_blowfish.policy.graph import Cliques, Explicit, Ints, SecretGraph
from pandas_blowfish.policy.joint import scale_of, theta_of
from pandas_blowfish.policy.missing import WithMissing
from pandas_blowfish.policy.offsets import OffsetBall
from pandas_blowfish.policy.void import WithVoid

Mask = NDArray[np.bool_]


def longest(graph: SecretGraph, weights: Ints) -> int:
    """Return the largest difference of weights over the edges of a graph.

    Exact for groups, listed edges and thresholds (whose order is that of the weights); else that of whole
    components, which is at least as large.

    Examples:
        >>> longest(Ball.even(5, 2), np.array([0, 10, 20, 30, 33]))
        20
    """
    graph = straight(graph)
    if isinstance(graph, Explicit):
        pair = weights[graph.listed]
        return int(abs(pair[:, 0] - pair[:, 1]).max(initial=0))
    if isinstance(graph, Ball):
        along = weights[graph.order]
        if (along[1:] >= along[:-1]).all():
            return int((along[graph.upper] - along).max(initial=0))
    part = graph.components
    count = int(part.max(initial=-1)) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, part, weights)
    np.maximum.at(high, part, weights)
    return int((high - low).max(initial=0))


def even(lattice: Lattice, secret: Mapping[str, Any]) -> int:
    """Return the longest edge between evenly cut cells, however many there are."""
    attribute = lattice.attribute
    assert isinstance(attribute, (Grid, Unbounded))
    if secret["secret"] == "public":
        return 0
    if secret["secret"] == "full":
        return lattice.span
    theta = theta_of(secret, [attribute], attribute.name) / scale_of(secret, attribute, attribute.name)
    far = lattice.each * math.ceil(theta / attribute.step)
    return far if lattice.ends is None else min(far, lattice.span)


def listed(graph: SecretGraph, lattice: Lattice) -> tuple[int, int]:
    """Return the longest edge between values, and to the missing cell, of a graph on a column's cells."""
    weights, cells = lattice.weights(), lattice.attribute.cells
    values, large = weights[:cells], lattice.largest
    if isinstance(graph, (WithMissing, WithVoid)):
        return longest(graph.inner, values), large if graph.joined else 0
    if graph.size == cells:
        return longest(graph, values), 0
    if isinstance(graph, Explicit):
        gone = (graph.listed == cells).any(axis=1)
        lost = int(abs(weights[graph.listed[gone]]).max(initial=0))
        return longest(Explicit(graph.size, graph.listed[~gone]), weights), lost
    part = graph.components
    lost = int(abs(weights[part == part[cells]]).max(initial=0))
    return longest(Cliques(part[:cells]), values), lost


def together(graph: SecretGraph, columns: Sequence[str], lattices: Sequence[Lattice]) -> Ints | None:
    """Return what edges of a joint graph change together, one row a kind of edge; None for no closed form.

    Of a ball just the longest edges are listed, and of these none that lies halfway between two others.

    Proof note:
        Requires: what is lost over an edge grows with each total's change, in proportion to it.
        Ensures:  no edge loses more than some row, whatever a change of each total loses.
        Because:  an edge of a ball is nowhere longer than one of its front. Of the rows with the largest
                  loss take the last in order of the offsets: if it lay halfway between two others that no
                  end of a column cuts, both would lose as much, and one of them would come later.
        Checked:  tests/plan/test_stretch.py::test_together_bounds_every_edge
    """
    axis = [columns.index(each.attribute.name) for each in lattices]
    if any(each.attribute.nullable for each in lattices):
        return None
    if isinstance(graph, OffsetBall):
        most = max(int(graph.reach.max()), 1)
        if any(each.each * most >= LIMIT for each in lattices):
            return None
        steps = graph.front[:, axis] * np.array([each.each for each in lattices])
        spans = np.array([each.span for each in lattices])
        halfway = _halfway(graph.front, (steps <= spans).all(axis=1))
        return _widest(np.minimum(steps, spans)[~halfway])
    if isinstance(graph, Explicit):
        shape = [lattices[axis.index(place)].attribute.size for place in range(len(columns))]
        codes = np.array(np.unravel_index(graph.listed, shape))
        pairs = [each.weights()[codes[place]] for each, place in zip(lattices, axis, strict=True)]
        return _widest(np.column_stack([abs(pair[:, 0] - pair[:, 1]) for pair in pairs]))
    return None


def _halfway(front: Ints, uncut: Mask) -> Mask:
    """Tell which offsets lie halfway between two others that no end of a column cuts."""
    found, sizes = np.zeros(len(front), dtype=bool), [most + 3 for most in front.max(axis=0).tolist()]
    if math.prod(sizes) >= 2**62:
        return found
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    codes = (front + 1) @ np.array(strides)  # with room for one less and one more on each axis
    for one, two in itertools.combinations(strides, 2):
        found |= np.isin(codes + one - two, codes[uncut]) & np.isin(codes - one + two, codes[uncut])
    return found


def _widest(changes: Ints) -> Ints:
    """Keep of changes, for each combination of all but the last, the one with the largest last."""
    if not len(changes):
        return np.zeros((1, changes.shape[1]), dtype=np.int64)
    found = np.unique(changes, axis=0)
    last = np.append((found[1:, :-1] != found[:-1, :-1]).any(axis=1), True)
    return np.asarray(found[last])
