"""Cells on a line that stay indistinguishable up to a distance: the threshold graph.

Closed forms only: a column of a million values needs a few arrays of that length. Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from pandas_blowfish.exact.arrays import Bools, Ints, frozen
from pandas_blowfish.policy.graph.secret_graph import Relation, SecretGraph

PART = 1 << 20  # ranks that are looked at together


class Ball(SecretGraph):
    """Cells on a line, joined up to a reach: rank i to every rank i+1..upper[i].

    Args:
        upper: For each rank the largest rank joined to it, non-decreasing, at least the rank itself.
        order: The cell at each rank; None when cells are in line order already.
    """

    def __init__(
        self, upper: Ints | Callable[[], Ints], order: Ints | None = None, size: int | None = None
    ) -> None:
        super().__init__(len(upper) if size is None and not callable(upper) else size or 0)
        self._upper, self._order = upper, order

    @cached_property
    def upper(self) -> Ints:
        """Return the largest rank joined to each rank, made when it is first needed."""
        return frozen(self._upper() if callable(self._upper) else self._upper)

    @cached_property
    def order(self) -> Ints:
        """Return the cell at each rank."""
        return frozen(np.arange(self.size) if self._order is None else self._order)

    @property
    def in_order(self) -> bool:
        """Tell whether cells are in line order."""
        return self._order is None or bool((self.order == np.arange(self.size)).all())

    @cached_property
    def rank(self) -> Ints:
        """Return the rank of each cell."""
        rank = np.empty(self.size, dtype=np.int64)
        rank[self.order] = np.arange(self.size)
        return frozen(rank)

    @property
    def components(self) -> Ints:
        """Return a number that rises wherever one rank does not reach the next."""
        starts = np.zeros(self.size, dtype=np.int64)
        np.cumsum(~self._within(1), out=starts[1:])
        return starts if self._order is None else np.asarray(starts[self.rank], dtype=np.int64)

    def reaches(self, steps: int) -> bool:
        """Return whether each rank reaches the one so many steps on, where there is one."""
        return bool(self._within(steps).all())

    def _within(self, steps: int) -> Bools:
        """Return whether each rank reaches the one so many steps on; part after part saves memory."""
        found = np.empty(max(self.size - steps, 0), dtype=bool)
        for first in range(0, len(found), PART):
            ranks = np.arange(first + steps, min(first + PART, len(found)) + steps)
            found[first : first + PART] = self.upper[first : first + len(ranks)] >= ranks
        return found

    @classmethod
    def even(cls, size: int, reach: int) -> Ball:
        """Return evenly spaced cells joined up to `reach` steps apart."""
        last, far = max(size - 1, 0), min(reach, size)

        def upper() -> Ints:
            reached = np.arange(far, far + size, dtype=np.int64)
            return np.minimum(reached, last, out=reached)

        return cls(upper, size=size)

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether the higher rank lies within the lower one's reach."""
        low, high = sorted((int(self.rank[a]), int(self.rank[b])))
        return low != high and high <= int(self.upper[low])

    @property
    def edge_count(self) -> int:
        """Return the sum of the reaches."""
        return int((self.upper - np.arange(self.size)).sum())

    def pairs(self) -> Ints:
        """Return neighbouring ranks where one reaches the next."""
        low, high = np.arange(self.size)[:-1], np.arange(self.size)[1:]
        joined = self.upper[low] >= high
        return np.column_stack([self.order[low[joined]], self.order[high[joined]]])

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach: closed form on the own line, else of the window around each cell.

        A window is covered by two runs of the same length, a power of 2.
        """
        if np.array_equal(rank, self.rank):
            return self.upper[self.rank]
        first = np.searchsorted(self.upper, np.arange(self.size), "left")  # the lowest that reaches each
        level = np.frexp(self.upper - first + 1)[1] - 1
        runs, top = rank[self.order], np.empty(self.size, dtype=np.int64)
        for power in range(int(level.max(initial=-1)) + 1):
            here, length = np.flatnonzero(level == power), 1 << power
            top[here] = np.maximum(runs[first[here]], runs[self.upper[here] - length + 1])
            runs = np.maximum(runs[:-length], runs[length:])  # of runs twice as long
        return top[self.rank]

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether no neighbour of the other graph lies beyond the reach."""
        return bool((other.furthest(self.rank) <= self.upper[self.rank]).all())

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Look from each cell for the first one above of each class, and the first with another label.

        If the first cell of a class above has the own label, the first with another label is where the
        labels of that class next change.
        """
        count = int(classes.max(initial=-1)) + 1
        found = Relation.empty(count)
        if count == 1:  # where one rank reaches another, all between reach the next
            along, joined = labels if self._order is None else labels[self.order], self._within(1)
            found.move[0, 0] = joined.any()
            found.cross[0, 0] = (joined & (along[1:] != along[:-1])).any()
            return found
        kind, label = classes[self.order], labels[self.order]
        for other in range(count):
            there = np.flatnonzero(kind == other)
            changes = np.flatnonzero(label[there[1:]] != label[there[:-1]]) + 1
            # for each cell of the class, the place of the next one with another label
            next_change = np.append(changes, len(there))[
                np.searchsorted(changes, np.arange(len(there)), "right")
            ]
            first = np.searchsorted(there, np.arange(self.size), "right")
            here = np.flatnonzero(first < len(there))
            first = first[here]
            near = here[there[first] <= self.upper[here]]
            found.move[kind[near], other] = True
            alike = label[there[first]] == label[here]
            second = np.where(alike, next_change[first], first)
            some = second < len(there)
            far = here[some][there[second[some]] <= self.upper[here[some]]]
            found.cross[kind[far], other] = True
        return Relation(found.move | found.move.T, found.cross | found.cross.T)

    def distance(self, a: int, b: int) -> int | float:
        """Return how many longest jumps lead from the lower to the higher cell."""
        here, goal = sorted((int(self.rank[a]), int(self.rank[b])))
        steps = 0
        while here < goal:
            if (far := int(self.upper[here])) == here:
                return math.inf
            here, steps = far, steps + 1
        return steps

    def _list(self) -> Ints:
        reach = self.upper - np.arange(self.size)
        low = np.repeat(np.arange(self.size), reach)
        high = low + 1 + np.arange(len(low)) - np.repeat(np.cumsum(reach) - reach, reach)
        return np.column_stack([self.order[low], self.order[high]])
