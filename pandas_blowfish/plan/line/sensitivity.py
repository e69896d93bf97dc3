"""Where the edges of one column's graph lead among the atoms of a line. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.sensitivity import ClassMoves
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph

Mask = NDArray[np.bool_]
MAX_WORK = 500_000_000


@dataclass(frozen=True, eq=False)
class LineSteps:
    """Pairs of atoms of one line, pairs of atoms of two lines, and atoms that can be left."""

    between: Ints
    across: Ints
    away: Ints


def steps(graph: SecretGraph, marks: Ints, classes: Ints, moves: ClassMoves) -> LineSteps | None:
    """Return the steps along a line, or None where this graph has no closed form for them.

    Args:
        graph: The graph on the column's cells.
        marks: The atom of each cell, -1 for none.
        classes: The filter class of each cell.
        moves: Which classes edges may join.
    """
    inner = straight(graph.inner if isinstance(graph, WithMissing) else graph)
    find_ends = _end_finder(inner)
    kept = marks[: inner.size][marks[: inner.size] >= 0]
    if find_ends is None or (kept[1:] < kept[:-1]).any():
        return None
    tables = (moves.between, moves.across, moves.leave)
    if graph.size * sum(len(np.unique(table, axis=0)) for table in tables) > MAX_WORK:
        return None
    star = graph.missing_edges() if isinstance(graph, WithMissing) else np.empty((0, 2), dtype=np.int64)
    inside = classes[: inner.size]
    between = np.concatenate(
        [*_pairs(find_ends, inside, moves.between), _allowed(star, classes, moves.between)]
    )
    across = np.concatenate([*_pairs(find_ends, inside, moves.across), _allowed(star, classes, moves.across)])
    still = np.flatnonzero(moves.across_still[classes])
    across = np.concatenate([across, np.column_stack([still, still])])
    leaves = moves.leave_still[classes]
    for start, allowed in _rows(moves.leave):
        here = np.flatnonzero(np.isin(inside, start))
        leaves[here[find_ends(here, np.flatnonzero(allowed[inside]))[2]]] = True
    for one, two in ((star[:, 0], star[:, 1]), (star[:, 1], star[:, 0])):
        leaves[one[moves.leave[classes[one], classes[two]]]] = True
    return LineSteps(_atoms(between, marks), _atoms(across, marks), np.unique(marks[leaves & (marks >= 0)]))


def straight(graph: SecretGraph) -> SecretGraph:
    """Return a ball of offsets along one axis as the ball on a line that it is."""
    if isinstance(graph, OffsetBall) and len(graph.shape) == 1:
        return Ball.even(graph.size, int(graph.reach[0]))
    return graph


EndFinder = Callable[[Ints, Ints], tuple[Ints, Ints, Mask]]


def _end_finder(graph: SecretGraph) -> EndFinder | None:
    """Return a function from cells and targets to the first and last target joined to each cell.

    A cell that no target is joined to is its own first and last; the mask marks the others.
    """
    if isinstance(graph, Cliques):
        return _in_group(graph)
    if isinstance(graph, Ball) and graph.in_order:
        return _in_ball(graph)
    if isinstance(graph, Explicit):
        return _in_list(graph)
    return None


def _in_ball(graph: Ball) -> EndFinder:
    lower = np.searchsorted(graph.upper, np.arange(graph.size))  # the lowest cell that reaches each

    def find_ends(cells: Ints, targets: Ints) -> tuple[Ints, Ints, Mask]:
        if not len(targets):
            return cells, cells, np.zeros(len(cells), dtype=bool)
        low = np.searchsorted(targets, lower[cells])
        high = np.searchsorted(targets, graph.upper[cells], "right") - 1
        low = low + (targets[np.minimum(low, len(targets) - 1)] == cells)
        high = high - (targets[np.maximum(high, 0)] == cells)
        some = low <= high
        first, last = np.minimum(low, len(targets) - 1), np.maximum(high, 0)
        return np.where(some, targets[first], cells), np.where(some, targets[last], cells), some

    return find_ends


def _in_group(graph: Cliques) -> EndFinder:
    group = graph.components
    count = int(group.max(initial=-1)) + 1

    def find_ends(cells: Ints, targets: Ints) -> tuple[Ints, Ints, Mask]:
        first, last = np.full(count, graph.size), np.full(count, -1)
        np.minimum.at(first, group[targets], targets)
        np.maximum.at(last, group[targets], targets)
        many = np.bincount(group[targets], minlength=count)
        own = np.zeros(graph.size, dtype=np.int64)
        own[targets] = 1
        some = many[group[cells]] - own[cells] > 0
        low, high = first[group[cells]], last[group[cells]]
        return np.where(some, low, cells), np.where(some, high, cells), some

    return find_ends


def _in_list(graph: Explicit) -> EndFinder:
    def find_ends(cells: Ints, targets: Ints) -> tuple[Ints, Ints, Mask]:
        wanted = np.zeros(graph.size, dtype=bool)
        wanted[targets] = True
        first, last = np.full(graph.size, graph.size), np.full(graph.size, -1)
        for here, there in ((0, 1), (1, 0)):
            one, two = graph.listed[:, here], graph.listed[:, there]
            one, two = one[wanted[two]], two[wanted[two]]
            np.minimum.at(first, one, two)
            np.maximum.at(last, one, two)
        some = last[cells] >= 0
        return np.where(some, first[cells], cells), np.where(some, last[cells], cells), some

    return find_ends


def _rows(table: Mask) -> Iterator[tuple[Ints, Mask]]:
    """Yield the classes that may go to the same classes, together."""
    if not table.size:
        return
    rows, where = np.unique(table, axis=0, return_inverse=True)
    for number, row in enumerate(rows):
        if row.any():
            yield np.flatnonzero(where.reshape(-1) == number), row


def _pairs(find_ends: EndFinder, classes: Ints, table: Mask) -> Iterator[Ints]:
    """Yield, for cells of each class, the first and the last cell they may go to."""
    yield np.empty((0, 2), dtype=np.int64)
    for start, allowed in _rows(table):
        here = np.flatnonzero(np.isin(classes, start))
        first, last, some = find_ends(here, np.flatnonzero(allowed[classes]))
        yield np.column_stack([here, first])[some]
        yield np.column_stack([here, last])[some]


def _allowed(pairs: Ints, classes: Ints, table: Mask) -> Ints:
    return pairs[table[classes[pairs[:, 0]], classes[pairs[:, 1]]]]


def _atoms(pairs: Ints, marks: Ints) -> Ints:
    """Return pairs of atoms for pairs of cells, those with an uncounted end dropped."""
    found = marks[pairs]
    return np.asarray(found[(found >= 0).all(axis=1)])
