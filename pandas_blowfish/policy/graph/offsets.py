"""Cells of a grid that stay indistinguishable up to an offset: the ball of a joint threshold.

Closed forms only, from the longest offsets: many millions of cells and of offsets need no list of either.
Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.exact.pareto import below, maximal, profile
from pandas_blowfish.policy.graph.secret_graph import MAX_EDGES, Explicit, Relation, SecretGraph

MAX_WORK = 10**10  # sums that the search for a shortest way may take
_NOWHERE = -(2**60)


class OffsetBall(SecretGraph):
    """Grid cells joined when their difference is on no axis longer than one of some offsets.

    Args:
        shape: Cells along each axis; a cell's number is its C-order position.
        offsets: Differences, in any direction: with each of them all shorter ones join as well.

    Attributes:
        front: The longest differences that join cells, one a row, without signs; none of them
            reaches another everywhere. One row of zeros where no cells are joined.
        reach: How far each axis goes: the largest of its entries in `front`, and so also what it can
            do alone.
    """

    front: Ints
    reach: Ints

    def __init__(self, shape: Sequence[int], offsets: Ints) -> None:
        super().__init__(math.prod(shape))
        self.shape = tuple(shape)
        longest = np.asarray(offsets, dtype=np.int64).reshape(-1, len(self.shape))
        fitting = np.minimum(abs(longest), np.maximum(np.array(self.shape, dtype=np.int64) - 1, 0))
        still = np.zeros((1, len(self.shape)), dtype=np.int64)
        self.front = frozen(maximal(np.concatenate([still, fitting])))
        self.reach = frozen(self.front.max(axis=0))

    def along(self, axis: int) -> OffsetBall:
        """Return the ball as one axis alone sees it."""
        return OffsetBall(self.shape[axis : axis + 1], self.reach[axis : axis + 1])

    @cached_property
    def _profile(self) -> tuple[int, Ints]:
        """Return the axis that goes furthest, and how far for each way of the others; -1 for no such way."""
        axis = int(np.argmax(self.reach))
        return axis, profile(self.front, axis)

    def _inside(self, differences: Ints) -> NDArray[np.bool_]:
        """Tell which differences, without signs, are nowhere longer than one of the front."""
        axis, most = self._profile
        fits = np.asarray((differences <= self.reach).all(axis=1))
        place = np.minimum(differences, self.reach)
        place[:, axis] = 0
        return np.asarray(fits & (differences[:, axis] <= most[tuple(place.T)]))

    def _differences(self, a: int, b: int) -> Ints:
        one, two = (np.array(np.unravel_index(cell, self.shape), dtype=np.int64) for cell in (a, b))
        return np.asarray(abs(one - two))

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two different cells differ nowhere by more than one of the front."""
        return a != b and bool((self._differences(a, b) <= self.front).all(axis=1).any())

    @cached_property
    def edge_count(self) -> int:
        """Return the sum over offsets of the places they fit in, each edge once.

        An offset fits in as many places as the product of the rooms it has on the axes, so that sums of
        rooms are taken axis after axis: up to the most that one axis can do, then along the others.
        """
        kind = np.int64 if self.size**2 < 2**62 else object
        rooms = []
        for size, reach in zip(self.shape, self.reach.tolist(), strict=True):
            room = np.array([2 * size], dtype=kind) - 2 * np.arange(reach + 1).astype(kind)
            room[0] = size  # both directions, but for standing still
            rooms.append(room)
        axis, most = self._profile
        fits = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(rooms[axis])])[most + 1]
        for other in range(len(self.shape)):
            if other != axis:
                sides = [-1 if place == other else 1 for place in range(len(self.shape))]
                fits = (fits * rooms[other].reshape(sides)).sum(axis=other, keepdims=True)
        return (int(fits.sum()) - self.size) // 2

    def pairs(self) -> Ints:
        """Return steps along the axes, a tree for each part that they connect."""
        numbers = np.arange(self.size).reshape(self.shape)
        parts = [np.empty((0, 2), dtype=np.int64)]
        for axis in range(len(self.shape) - 1, -1, -1):
            if self.reach[axis]:
                lines = np.moveaxis(numbers, axis, 0)
                parts.append(np.column_stack([lines[:-1].ravel(), lines[1:].ravel()]))
                numbers = numbers.take([0], axis=axis)
        return np.concatenate(parts)

    @property
    def components(self) -> Ints:
        """Return the component of each cell: its place on the axes that never move."""
        numbers = np.zeros((1,) * len(self.shape), dtype=np.int64)
        for axis, (size, reach) in enumerate(zip(self.shape, self.reach.tolist(), strict=True)):
            if not reach:
                sides = [-1 if place == axis else 1 for place in range(len(self.shape))]
                numbers = numbers * size + np.arange(size).reshape(sides)
        return np.broadcast_to(numbers, self.shape).flatten()

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach: the largest of boxes around each cell, an axis at a time."""
        if len(self.front) * self.size > 10 * MAX_EDGES:
            work = len(self.front) * self.size
            raise DomainTooLargeError("ranks in reach", work, 10 * MAX_EDGES, fix="declare wider steps.")
        grid = rank.reshape(self.shape)
        top = grid.copy()
        for box in self.front.tolist():
            wide = grid
            for axis, reach in enumerate(box):
                wide = _widened(wide, axis, reach)
            np.maximum(top, wide, out=top)
        return top.ravel()

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether the other ball's front, or the other graph's edges, are all here."""
        if isinstance(other, OffsetBall) and other.shape == self.shape:
            return bool(self._inside(other.front).all())
        if other.edge_count > self.edge_count:
            return False
        one, two = (np.column_stack(np.unravel_index(end, self.shape)) for end in other.edges().T)
        return bool(self._inside(abs(one - two)).all())

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Go through the edges, for classes that are not given column by column (see `axis_relation`)."""
        return Explicit(self.size, self.edges()).relation(classes, labels)

    def axis_relation(
        self, classes: Sequence[Ints], labels: Sequence[Ints], counts: Sequence[int] | None = None
    ) -> Relation:
        """Return the relation of classes and labels that are products of one a column.

        `counts` states how many classes each column has, where some occur on no cell here.

        Proof note:
            Requires: a cell's class (label) is the tuple of its columns' classes (labels).
            Ensures:  the same tables as comparing the ends of every edge.
            Because:  two cells are joined, or the same, exactly if they lie within one row of the front on
                      every axis, so places on the axes are chosen independently: between which classes
                      an axis leads within a distance is a table for that axis, tables of one row
                      combine by the Kronecker product, and the label changes if one axis' does. Tables
                      grow with the distance, so the largest combinations suffice. From a class to
                      itself a cell must move: then it also can along one axis alone, within its class.
            Checked:  tests/policy/graph/test_offsets.py::test_axis_relation_matches_edges
        """
        counts = counts or [int(each.max(initial=-1)) + 1 for each in classes]
        near = [_nearest(*each) for each in zip(classes, labels, counts, strict=True)]
        kinds, cuts = np.empty_like(self.front), []
        for axis, (joined, changed, _) in enumerate(near):
            cuts.append(np.unique(np.concatenate([[0], joined.ravel(), changed.ravel()])))
            kinds[:, axis] = np.searchsorted(cuts[axis], self.front[:, axis], "right") - 1
        found = Relation.empty(math.prod(counts))
        for combination in maximal(kinds).tolist():
            move, cross = np.ones((1, 1), dtype=bool), np.zeros((1, 1), dtype=bool)
            for (joined, changed, _), cut, kind in zip(near, cuts, combination, strict=True):
                step, change = joined <= cut[kind], changed <= cut[kind]
                move, cross = np.kron(move, step), np.kron(cross, step) | np.kron(move, change)
            found.move[:] |= move
            found.cross[:] |= cross
        some, moves = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
        for (joined, _, own), reach in zip(near, self.reach.tolist(), strict=True):
            has = np.diagonal(joined) == 0
            some, moves = np.kron(some, has), np.kron(moves, has) | np.kron(some, own <= reach)
        np.fill_diagonal(found.move, moves)
        return found

    def distance(self, a: int, b: int) -> int | float:
        """Return the fewest offsets that add up to the difference of two cells.

        Offsets come with all shorter ones, so steps towards the goal on every axis suffice: the cells
        that k steps reach are those below a profile, and profiles add. Two of them meet at the goal
        where what they reach adds up to it, so just half of the steps are made.
        """
        goal = self._differences(a, b)
        if (self.reach[goal > 0] == 0).any():
            return math.inf
        singly = -(-goal // np.maximum(self.reach, 1))  # along one axis after another
        axis, steps, most = int(np.argmax(goal)), int(singly.sum()), int(goal.max())
        if steps == singly.max():
            return steps
        front = maximal(np.minimum(self.front, goal))
        work = len(front) * ((steps - 1) // 2) * math.prod((np.delete(goal, axis) + 1).tolist())
        reached = profile(front, axis, goal.tolist())
        reached[reached < 0] = _NOWHERE
        before = np.full_like(reached, _NOWHERE)
        before[(0,) * reached.ndim] = 0
        for half in itertools.count(1):
            for earlier, taken in ((before, 2 * half - 1), (reached, 2 * half)):
                if (reached + np.flip(earlier)).max() >= most:
                    return taken
            if work > MAX_WORK:
                fix = "compare nearer values."
                raise DomainTooLargeError("the way between the cells", work, MAX_WORK, fix=fix)
            before, reached = reached, _added(reached, front, axis)
        raise AssertionError  # pragma: no cover - the loop above returns

    def _list(self) -> Ints:
        axis, most = self._profile
        ways = np.argwhere(most >= 0)
        many = most[tuple(ways.T)] + 1
        offsets = np.repeat(ways, many, axis=0)
        offsets[:, axis] = np.arange(len(offsets)) - np.repeat(np.cumsum(many) - many, many)
        offsets = offsets[offsets.any(axis=1)]
        for axis in range(1, len(self.shape)):  # either way, but for the first axis that moves
            turned = offsets[(offsets[:, axis] > 0) & offsets[:, :axis].any(axis=1)]
            turned[:, axis] *= -1
            offsets = np.concatenate([offsets, turned])
        numbers = np.arange(self.size).reshape(self.shape)
        parts = [np.empty((0, 2), dtype=np.int64)]
        for offset in offsets.tolist():
            here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip(offset, self.shape, strict=True))
            there = tuple(slice(max(0, d), n - max(0, -d)) for d, n in zip(offset, self.shape, strict=True))
            parts.append(np.column_stack([numbers[here].ravel(), numbers[there].ravel()]))
        return np.concatenate(parts)


def _widened(values: Ints, axis: int, reach: int) -> Ints:
    """Return the largest value within reach along an axis, by shifts as long as leave no gap."""
    covered = 0
    while covered < reach:
        step = min(2 * covered + 1, reach - covered)
        places, last = np.arange(values.shape[axis]), values.shape[axis] - 1
        low, high = np.maximum(places - step, 0), np.minimum(places + step, last)
        values = np.maximum(values, np.maximum(values.take(low, axis), values.take(high, axis)))
        covered += step
    return values


def _nearest(classes: Ints, labels: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Return how close cells of every two classes of one axis come, which no reach allows where none do.

    Returns:
        Tables of any two cells, and of two with different labels; and for each class of two different cells.
    """
    size = len(classes)
    joined, changed = np.full((count, count), 2 * size), np.full((count, count), 2 * size)
    for end in np.unique(classes).tolist():
        cells = np.flatnonzero(classes == end)
        after = np.searchsorted(cells, np.arange(size), "right")  # the next of them from each cell
        runs = np.append(np.flatnonzero(np.diff(labels[cells])) + 1, len(cells))  # where labels change
        alike = (after < len(cells)) & (labels[cells[np.minimum(after, len(cells) - 1)]] == labels)
        other = np.where(alike, runs[np.searchsorted(runs[:-1], after, "right")], after)
        cells = np.append(cells, 3 * size)
        np.minimum.at(joined[:, end], classes, cells[after] - np.arange(size))
        np.minimum.at(changed[:, end], classes, cells[other] - np.arange(size))
    own = np.diagonal(joined).copy()
    np.fill_diagonal(joined, np.where(np.bincount(classes, minlength=count) > 0, 0, 2 * size))
    return np.minimum(joined, joined.T), np.minimum(changed, changed.T), own


def _added(reached: Ints, front: Ints, axis: int) -> Ints:
    """Return the profile one step later: for each rest of the way the most that one axis can have come."""
    best = reached.copy()
    moved = np.delete(front, axis, axis=1)
    for step, others in zip(front[:, axis].tolist(), np.insert(moved, axis, 0, axis=1).tolist(), strict=True):
        source = reached[tuple(slice(0, n - d) for d, n in zip(others, reached.shape, strict=True))]
        target = best[tuple(slice(d, n) for d, n in zip(others, reached.shape, strict=True))]
        np.maximum(target, source + step, out=target)
    return below(best)
