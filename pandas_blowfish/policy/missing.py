"""The missing cell of a nullable column, joined to the graph of its values. Never sees rows."""

from __future__ import annotations

import math

import numpy as np

from pandas_blowfish.policy.graph import Explicit, Ints, Relation, SecretGraph


class WithMissing(SecretGraph):
    """A graph and one more cell, last: missing, joined to every value, or to none when public."""

    def __init__(self, inner: SecretGraph, *, joined: bool) -> None:
        super().__init__(inner.size + 1)
        self.inner, self.joined = inner, joined

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two cells are joined; missing is joined to all or none."""
        if max(a, b) == self.inner.size:
            return self.joined and a != b
        return self.inner.adjacent(a, b)

    @property
    def edge_count(self) -> int:
        """Return the inner edges and one for each value joined to missing."""
        return self.inner.edge_count + (self.inner.size if self.joined else 0)

    def pairs(self) -> Ints:
        """Return the inner skeleton and the edges of the missing cell."""
        return np.concatenate([self.inner.pairs(), self._star()])

    def _star(self) -> Ints:
        if not self.joined:
            return np.empty((0, 2), dtype=np.int64)
        return np.column_stack([np.arange(self.inner.size), np.full(self.inner.size, self.inner.size)])

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach, the missing cell's included."""
        top = np.append(self.inner.furthest(rank[:-1]), rank[-1])
        return np.asarray(np.maximum(top, Explicit(self.size, self._star()).furthest(rank)))

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether both the values' edges and those of missing are here."""
        if not isinstance(other, WithMissing):
            return all(self.adjacent(int(a), int(b)) for a, b in other.edges())
        return (self.joined or not other.joined) and self.inner.contains(other.inner)

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Join the relation of the values and that of the missing cell's edges."""
        star = Explicit(self.size, self._star()).relation(classes, labels)
        inner = self.inner.relation(classes[:-1], labels[:-1]).grown(len(star.move))
        return Relation(inner.move | star.move, inner.cross | star.cross)

    def distance(self, a: int, b: int) -> int | float:
        """Return a shortest path, perhaps through missing."""
        if a == b:
            return 0
        if max(a, b) == self.inner.size:
            return 1 if self.joined else math.inf
        return min(self.inner.distance(a, b), 2 if self.joined else math.inf)

    def _list(self) -> Ints:
        return np.concatenate([self.inner.edges(), self._star()])
