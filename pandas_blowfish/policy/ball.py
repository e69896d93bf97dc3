"""Cells on a line that stay indistinguishable up to a distance: the threshold graph.

Closed forms only: a column of a million values needs a few arrays of that length. Never sees rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.policy.graph import Explicit, Ints, SecretGraph


class Ball(SecretGraph):
    """Cells on a line, joined up to a reach: rank i to every rank i+1..upper[i].

    Args:
        upper: For each rank the largest rank joined to it, non-decreasing, at least the rank itself.
        order: The cell at each rank; None when cells are in line order already.
    """

    def __init__(self, upper: Ints, order: Ints | None = None) -> None:
        super().__init__(len(upper))
        self.upper = upper
        self.order = np.arange(self.size) if order is None else order
        self.rank = np.empty(self.size, dtype=np.int64)
        self.rank[self.order] = np.arange(self.size)

    @classmethod
    def even(cls, size: int, reach: int) -> Ball:
        """Return evenly spaced cells joined up to `reach` steps apart."""
        return cls(np.minimum(np.arange(size, dtype=np.int64) + min(reach, size), max(size - 1, 0)))

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether the higher rank lies within the lower one's reach."""
        low, high = sorted((int(self.rank[a]), int(self.rank[b])))
        return low != high and high <= int(self.upper[low])

    @property
    def edge_count(self) -> int:
        """Return the sum of the reaches."""
        return int((self.upper - np.arange(self.size)).sum())

    def pairs(self, keep: NDArray[np.bool_] | None = None) -> Ints:
        """Return neighbouring kept ranks where one reaches the next."""
        ranks = np.arange(self.size) if keep is None else np.flatnonzero(keep[self.order])
        low, high = ranks[:-1], ranks[1:]
        joined = self.upper[low] >= high
        return np.column_stack([self.order[low[joined]], self.order[high[joined]]])

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach: closed form on the own line, else by edges."""
        if np.array_equal(rank, self.rank):
            return self.upper[self.rank]
        return Explicit(self.size, self.edges()).furthest(rank)

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether no neighbour of the other graph lies beyond the reach."""
        return bool((other.furthest(self.rank) <= self.upper[self.rank]).all())

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
