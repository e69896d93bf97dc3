"""Soft bins: a row counts in the two nearest nodes of each column, in whole parts. Never sees rows.

A column with M nodes and L parts between two of them has (M - 1) L + 1 stops; a cell stands at the nearest
stop, and a row at stop i L + f counts L - f in node i and f in node i + 1. In several columns the numbers
multiply, so that each row counts L^d in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.sensitivity import EdgeReach
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.graph.secret_graph import SecretGraph
from pandas_blowfish.policy.policy import Policy

MAX_TOTAL = 1 << 20  # what one row may count in all nodes together
MAX_EDGES = 200_000  # of a block whose ends are compared one by one


def stops(places: NDArray[np.float64], nodes: int, parts: int) -> Ints:
    """Return the stop that each cell of a column stands at.

    Examples:
        >>> stops(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 2, 2).tolist()
        [0, 0, 1, 2, 2]
    """
    length = float(places[-1] - places[0])
    if nodes == 1 or length == 0:
        return np.zeros(len(places), dtype=np.int64)
    along = (places - places[0]) / length * ((nodes - 1) * parts)
    return np.asarray(np.rint(along).astype(np.int64))


def hats(nodes: int, parts: int) -> Ints:
    """Return what a row at each stop counts in each node, nodes x stops.

    Examples:
        >>> hats(2, 2).tolist()
        [[2, 1, 0], [0, 1, 2]]
    """
    if nodes == 1:
        return np.ones((1, 1), dtype=np.int64)
    along = np.arange((nodes - 1) * parts + 1)
    away = abs(along[None, :] - parts * np.arange(nodes)[:, None])
    return np.asarray(np.maximum(parts - away, 0))


def count_moved(one: Ints, two: Ints, parts: int) -> Ints:
    """Return how many of the parts of a row change their node when it goes from one stop to another.

    Examples:
        >>> count_moved(np.array([1, 1, 1]), np.array([2, 3, 5]), 2).tolist()
        [1, 1, 2]
    """
    low, high = np.minimum(one, two), np.maximum(one, two)
    node, over = np.divmod(low, parts)
    stays = np.maximum(parts - abs(high - node * parts), 0)  # in the lower node: the upper end has less
    upper = np.minimum(over, np.maximum(parts - abs(high - (node + 1) * parts), 0))
    return np.asarray(parts - np.minimum(stays, parts - over) - upper)


def soft_change(
    policy: Policy, space: Space, reach: EdgeReach, marks: Sequence[Ints], parts: Sequence[int]
) -> int:
    """Return the largest L1 change that one edge makes to the counts of soft bins.

    Args:
        policy: The promise.
        space: What is clustered.
        reach: What edges do to the groups of the space.
        marks: For each column the stop of each cell from the first to the last that the filter passes.
        parts: Of each column: what a row counts in all its nodes together; 1 where there is one node.

    Proof note:
        Requires: no touched facts; stops never fall along a column.
        Ensures:  the result is at least the L1 change of every edge. It is attained where columns are cut
                  evenly and in no filter, each node is the stop of a cell, and blocks are balls or groups.
        Because:  rows count the same total P = prod L_a. An edge that leads to another group changes 2 P, one
                  that leaves P. Else the change is 2 (P - sum_c min(u_c, v_c)), u and v the products of what
                  both ends count along each column, and a sum of minima of products is at least the product
                  of the columns' sums of minima L_a - t_a. Along one column t is largest for the furthest
                  neighbour, as `count_moved` never falls when its ends move apart; blocks move by themselves,
                  the `limit` blocks that keep the least at once. From a node, where u is a single product,
                  the two are equal.
        Checked:  tests/plan/clusters/test_sensitivity.py::test_bounds_enumeration,
                  tests/plan/clusters/test_sensitivity.py::test_attained_on_even_columns
    """
    total = math.prod(parts)
    absent = policy.presence and bool(space.whole.sieve.passes.any())
    most = 2 * total if reach.crosses else total if reach.leaves or absent else 0
    names = [attribute.name for attribute in space.attributes]
    graph = policy.graph.project(names)
    every = {name: (_widened(space, place, marks[place]), parts[place]) for place, name in enumerate(names)}
    kept = [
        (_kept(block, every), math.prod(every[name][1] for name in block.columns)) for block in graph.blocks
    ]
    kept.sort(key=lambda pair: pair[0] / pair[1])
    stays = 1
    for number, (least, own) in enumerate(kept):
        stays *= least if number < graph.limit else own
    return max(most, 2 * (total - stays))


def _widened(space: Space, place: int, marks: Ints) -> Ints:
    """Return the stop of every cell of a column, -1 for what is not counted."""
    found = np.full(space.attributes[place].size, -1, dtype=np.int64)
    first, last = space.ends[place]
    found[first : last + 1] = marks
    return found


def _kept(block: Block, every: dict[str, tuple[Ints, int]]) -> int:
    """Return the least product of parts that stay in their node when the block moves along one edge."""
    columns = [every[name] for name in block.columns]
    graph = block.graph.inner if isinstance(block.graph, WithMissing) else block.graph
    if isinstance(graph, OffsetBall):
        tables = [
            _by_distance(stop[: graph.shape[axis]], parts) for axis, (stop, parts) in enumerate(columns)
        ]
        stays = np.ones(len(graph.front), dtype=object)
        for axis, ((_, parts), table) in enumerate(zip(columns, tables, strict=True)):
            stays *= parts - table[np.minimum(graph.front[:, axis], len(table) - 1)]
        return int(stays.min(initial=math.prod(parts for _, parts in columns)))
    if isinstance(graph, Cubes):
        own = [
            parts - _along(graph.along(n), stop[: len(graph.axes[n])], parts)
            for n, (stop, parts) in enumerate(columns)
        ]
        return math.prod(own)
    if len(columns) == 1:
        stop, parts = columns[0]
        return parts - _along(graph, stop[: graph.size], parts)  # cells with a missing value are not counted
    if block.graph.edge_count <= MAX_EDGES:
        ends = [np.unravel_index(end, block.sizes) for end in block.graph.edges().T]
        stays = np.ones(len(ends[0][0]), dtype=object)
        for axis, (stop, parts) in enumerate(columns):
            one, two = stop[ends[0][axis]], stop[ends[1][axis]]
            counted = (one >= 0) & (two >= 0)
            stays *= np.where(
                counted, parts - count_moved(np.maximum(one, 0), np.maximum(two, 0), parts), parts
            )
        return int(stays.min(initial=math.prod(parts for _, parts in columns)))
    return math.prod(
        every[name][1] - _along(block.project([name]).graph, *every[name]) for name in block.columns
    )


def _along(graph: SecretGraph, stop: Ints, parts: int) -> int:
    """Return the most parts that change their node when one column moves along an edge."""
    furthest = graph.furthest(stop)
    counted = stop >= 0
    return int(count_moved(stop[counted], furthest[counted], parts).max(initial=0))


def _by_distance(stop: Ints, parts: int) -> Ints:
    """Return the most parts that change their node when a column moves by up to so many cells."""
    found = np.zeros(len(stop), dtype=np.int64)
    for far in range(1, len(stop)):
        low, high = stop[:-far], stop[far:]
        counted = (low >= 0) & (high >= 0)
        found[far] = count_moved(low[counted], high[counted], parts).max(initial=0)
        if found[far] == parts:
            found[far:] = parts
            break
    return np.maximum.accumulate(found)
