"""Cells of a grid that stay indistinguishable up to an offset: the ball of a joint threshold.

Closed forms only: a million cells and thousands of offsets need no edge list. Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.graph import Explicit, Ints, Relation, SecretGraph, connect

_Table = NDArray[np.bool_]


class OffsetBall(SecretGraph):
    """Grid cells joined when their difference is one of some offsets.

    Args:
        shape: Cells along each axis; a cell's number is its C-order position.
        offsets: Non-zero differences, symmetric in each axis, and with every offset all shorter ones.
    """

    def __init__(self, shape: Sequence[int], offsets: Ints) -> None:
        super().__init__(math.prod(shape))
        self.shape = tuple(shape)
        self.offsets = offsets.reshape(-1, len(self.shape))

    def _differences(self, a: int, b: int) -> list[int]:
        one, two = (np.unravel_index(cell, self.shape) for cell in (a, b))
        return [abs(int(x) - int(y)) for x, y in zip(one, two, strict=True)]

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether the difference is one of the offsets."""
        return bool((self.offsets == self._differences(a, b)).all(axis=1).any())

    @property
    def edge_count(self) -> int:
        """Return the sum over offsets of the places they fit in, each edge once."""
        room = np.maximum(np.array(self.shape) - abs(self.offsets), 0)
        return int(room.prod(axis=1, dtype=object).sum()) // 2 if len(room) else 0

    def pairs(self) -> Ints:
        """Return steps along the axes, which connect the whole grid."""
        single = self.offsets[(abs(self.offsets).sum(axis=1) == 1) & (self.offsets.sum(axis=1) == 1)]
        return self._along(single)

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach, by edges."""
        return Explicit(self.size, self.edges()).furthest(rank)

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether the other ball's offsets, or the other graph's edges, are all here."""
        if isinstance(other, OffsetBall):
            mine = {tuple(offset) for offset in self.offsets.tolist()}
            return all(tuple(offset) in mine for offset in other.offsets.tolist())
        if other.edge_count > self.edge_count:
            return False
        return all(self.adjacent(int(a), int(b)) for a, b in other.edges())

    @property
    def components(self) -> Ints:
        """Return the component of each cell: the whole grid, where every axis has a step."""
        steps = (
            (abs(self.offsets).sum(axis=1) == 1) @ abs(self.offsets)
            if len(self.offsets)
            else np.zeros(len(self.shape))
        )
        if all(count > 0 or size == 1 for count, size in zip(steps, self.shape, strict=True)):
            return np.zeros(self.size, dtype=np.int64)
        return connect(self.pairs(), self.size)

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Go through the edges, for classes that are not given column by column (see `axis_relation`)."""
        return Explicit(self.size, self.edges()).relation(classes, labels)

    def axis_relation(
        self, classes: Sequence[Ints], labels: Sequence[Ints], counts: Sequence[int] | None = None
    ) -> Relation:
        """Return the relation of classes and labels that are products of one a column.

        `counts` says how many classes each column has, where some occur on no cell here.

        Proof note:
            Requires: a cell's class (label) is the tuple of its columns' classes (labels).
            Ensures:  the same tables as comparing the ends of every edge.
            Because:  an edge is an offset and a place on each axis, chosen independently: which classes an
                      axis' part of the offset leads between is a table for that axis, tables of one
                      offset combine by the Kronecker product, and the label changes if one axis' does.
            Checked:  tests/policy/test_offsets.py::test_axis_relation_matches_edges
        """
        tables, kinds = [], []
        counts = counts or [int(each.max(initial=-1)) + 1 for each in classes]
        for axis, (each, marks) in enumerate(zip(classes, labels, strict=True)):
            moved = {
                d: _shifted(each, marks, d, counts[axis]) for d in np.unique(self.offsets[:, axis]).tolist()
            }
            distinct = {(m.tobytes(), c.tobytes()): (m, c) for m, c in moved.values()}
            order = {key: number for number, key in enumerate(distinct)}
            tables.append(list(distinct.values()))
            kinds.append({d: order[m.tobytes(), c.tobytes()] for d, (m, c) in moved.items()})
        found = Relation.empty(math.prod(counts))
        columns = [
            [kinds[axis][d] for d in self.offsets[:, axis].tolist()] for axis in range(len(self.shape))
        ]
        for combination in set(zip(*columns, strict=True)):
            parts = [tables[axis][number] for axis, number in enumerate(combination)]
            move, cross = np.ones((1, 1), dtype=bool), np.zeros((1, 1), dtype=bool)
            for step, change in parts:
                move, cross = np.kron(move, step), np.kron(cross, step) | np.kron(move, change)
            found.move[:] |= move
            found.cross[:] |= cross
        return Relation(found.move | found.move.T, found.cross | found.cross.T)

    def distance(self, a: int, b: int) -> int | float:
        """Return the fewest offsets that add up to the difference of two cells.

        Offsets come with all shorter ones, so steps towards the goal on every axis suffice: the cells
        that k steps reach are those below a profile, and profiles add.
        """
        goal = self._differences(a, b)
        if not any(goal):
            return 0
        longest = (
            abs(self.offsets).max(axis=0, initial=0) if len(self.offsets) else np.zeros(len(goal), dtype=int)
        )
        if any(way and not most for way, most in zip(goal, longest.tolist(), strict=True)):
            return math.inf
        if len(goal) == 1:
            return -(-goal[0] // int(longest[0]))
        rest = goal[1:]
        if math.prod(way + 1 for way in rest) * (goal[0] + 1) > 10**7:
            raise DomainTooLargeError(
                "the way between the cells", math.prod(goal), 10**7, fix="compare nearer values."
            )
        reached = np.full([way + 1 for way in rest], -1, dtype=np.int64)
        reached[(0,) * len(rest)] = 0
        for steps in itertools.count(1):
            reached = _added(reached, self.offsets)
            if reached[tuple(rest)] >= goal[0]:
                return steps
        raise AssertionError  # pragma: no cover - the loop above returns

    def _along(self, offsets: Ints) -> Ints:
        """Return the edges of some offsets, each once."""
        numbers = np.arange(self.size).reshape(self.shape)
        parts = [np.empty((0, 2), dtype=np.int64)]
        for offset in offsets.tolist():
            here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip(offset, self.shape, strict=True))
            there = tuple(slice(max(0, d), n - max(0, -d)) for d, n in zip(offset, self.shape, strict=True))
            parts.append(np.column_stack([numbers[here].ravel(), numbers[there].ravel()]))
        return np.concatenate(parts)

    def _list(self) -> Ints:
        positive = [offset for offset in self.offsets.tolist() if offset > [0] * len(self.shape)]
        return self._along(np.array(positive, dtype=np.int64).reshape(-1, len(self.shape)))


def _shifted(classes: Ints, labels: Ints, distance: int, count: int) -> tuple[_Table, _Table]:
    """Return between which classes of one axis a shift leads, and where it also changes the label."""
    found = Relation.empty(count)
    start = slice(max(0, -distance), len(classes) - max(0, distance))
    end = slice(max(0, distance), len(classes) - max(0, -distance))
    changes = labels[start] != labels[end]
    found.move[classes[start], classes[end]] = True
    found.cross[classes[start][changes], classes[end][changes]] = True
    return found.move, found.cross


def _added(reached: Ints, offsets: Ints) -> Ints:
    """Return the profile one step later: for each rest of the way the most the first axis can have come."""
    best = reached.copy()
    most: dict[tuple[int, ...], int] = {}
    for first, *others in offsets.tolist():
        if first >= 0 and min(others, default=0) >= 0:
            most[tuple(others)] = max(most.get(tuple(others), 0), first)
    for others, first in most.items():
        if any(d >= n for d, n in zip(others, reached.shape, strict=True)):
            continue
        source = reached[tuple(slice(0, n - d) for d, n in zip(others, reached.shape, strict=True))]
        target = best[tuple(slice(d, n) for d, n in zip(others, reached.shape, strict=True))]
        np.maximum(target, np.where(source < 0, -1, source + first), out=target)
    return best
