"""Joint cells some of whose columns may be missing: each such cell is joined to every other.

Closed forms only, whatever graph joins the cells without missing values. Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Explicit, Relation, SecretGraph, flatten


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


class WithVoid(SecretGraph):
    """A graph on solid cells, and the joint cells in which some column is missing.

    Args:
        inner: The graph of the cells without missing values, in C order over `solid`.
        solid: Value cells along each axis.
        nullable: Whether each axis has a missing cell after its values.
        joined: Whether a cell with a missing value is joined to every other cell, or to none.
    """

    def __init__(
        self, inner: SecretGraph, solid: Sequence[int], nullable: Sequence[bool], *, joined: bool
    ) -> None:
        self.solid, self.nullable = tuple(solid), tuple(nullable)
        self.shape = tuple(n + extra for n, extra in zip(solid, nullable, strict=True))
        super().__init__(math.prod(self.shape))
        self.inner, self.joined = inner, joined

    def _inside(self, cell: int) -> int | None:
        """Return a cell's number among the solid ones, None where something is missing."""
        codes = [int(code) for code in np.unravel_index(cell, self.shape)]
        if any(code >= n for code, n in zip(codes, self.solid, strict=True)):
            return None
        return int(np.ravel_multi_index(codes, self.solid))

    def _outside(self, cells: Ints) -> Ints:
        """Return solid cells as numbers of the whole block."""
        codes = np.unravel_index(cells, self.solid)
        return np.asarray(np.ravel_multi_index(codes, self.shape), dtype=np.int64)

    @property
    def _void(self) -> Ints:
        return np.setdiff1d(np.arange(self.size), self._outside(np.arange(self.inner.size)))

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two cells are joined; one with a missing value is joined to all or none."""
        one, two = self._inside(a), self._inside(b)
        if one is None or two is None:
            return self.joined and a != b
        return self.inner.adjacent(one, two)

    @property
    def edge_count(self) -> int:
        """Return the inner edges, and all pairs that hold a cell with a missing value."""
        void, solid = self.size - self.inner.size, self.inner.size
        return self.inner.edge_count + (void * solid + void * (void - 1) // 2 if self.joined else 0)

    def pairs(self) -> Ints:
        """Return a skeleton: a star around one cell with a missing value, where those are joined."""
        if self.joined and self.inner.size < self.size:
            others = np.arange(self.size - 1)  # the last cell has everything missing that can be
            return np.column_stack([others, np.full(self.size - 1, self.size - 1)])
        return self._outside(self.inner.pairs().ravel()).reshape(-1, 2)

    @property
    def components(self) -> Ints:
        """Return one component where missing values are joined."""
        if self.joined and self.inner.size < self.size:
            return np.zeros(self.size, dtype=np.int64)
        return super().components

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach, by edges."""
        return Explicit(self.size, self.edges()).furthest(rank)

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether both the solid cells' edges and those of missing values are here."""
        if isinstance(other, WithVoid):
            return (self.joined or not other.joined) and self.inner.contains(other.inner)
        return all(self.adjacent(int(a), int(b)) for a, b in other.edges())

    def distance(self, a: int, b: int) -> int | float:
        """Return a shortest path, perhaps through a missing value."""
        if a == b:
            return 0
        one, two = self._inside(a), self._inside(b)
        if one is None or two is None:
            return 1 if self.joined else math.inf
        return min(
            self.inner.distance(one, two), 2 if self.joined and self.inner.size < self.size else math.inf
        )

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Go through the edges, for classes that are not given column by column."""
        return Explicit(self.size, self.edges()).relation(classes, labels)

    def axis_relation(self, classes: Sequence[Ints], labels: Sequence[Ints]) -> Relation:
        """Return the relation of classes and labels that are products of one a column.

        Proof note:
            Requires: a cell's class (label) is the tuple of its columns' classes (labels).
            Ensures:  the same tables as comparing the ends of every edge.
            Because:  a cell with a missing value leads to all other cells, so to all classes (to its own if
                      that has a second cell); the label changes unless both ends can have but one and the
                      same label on every axis. Edges of solid cells are the inner graph's.
            Checked:  tests/policy/graph/test_missing.py::test_axis_relation_matches_edges
        """
        counts = [int(each.max(initial=-1)) + 1 for each in classes]
        inner = [each[:n] for each, n in zip(classes, self.solid, strict=True)]
        marks = [each[:n] for each, n in zip(labels, self.solid, strict=True)]
        if isinstance(self.inner, (OffsetBall, Cubes)):
            found = self.inner.axis_relation(inner, marks, counts)
        else:
            found = self.inner.relation(flatten(inner, counts), flatten(marks)).grown(math.prod(counts))
        if not self.joined:
            return found
        codes = np.unravel_index(np.arange(math.prod(counts)), counts)
        sizes = [
            np.bincount(each, minlength=count)[code]
            for each, count, code in zip(classes, counts, codes, strict=True)
        ]
        spans = [
            _span(each, marks, count) for each, marks, count in zip(classes, labels, counts, strict=True)
        ]
        several = np.prod(sizes, axis=0) > 1
        for axis, may in enumerate(self.nullable):
            if not may:
                continue
            starts = codes[axis] == classes[axis][-1]  # classes that hold a cell missing on this axis
            changes = np.zeros((len(starts), len(starts)), dtype=bool)
            for other, (low, high) in enumerate(spans):
                mine = (low, high) if other != axis else (np.full(len(low), labels[axis][-1]),) * 2
                x, y = (tuple(bound[codes[other]] for bound in span) for span in (mine, (low, high)))
                alike = (x[0] == x[1])[:, None] & (y[0] == y[1])[None, :] & (x[0][:, None] == y[0][None, :])
                changes |= ~alike
            leads = starts[:, None] & (~np.eye(len(starts), dtype=bool) | several[None, :])
            for table, entries in ((found.move, leads), (found.cross, leads & changes)):
                table |= entries | entries.T
        return found

    def _list(self) -> Ints:
        solid = self._outside(self.inner.edges().ravel()).reshape(-1, 2)
        if not self.joined:
            return solid
        void = self._void
        first, second = np.meshgrid(void, np.arange(self.size), indexing="ij")
        pairs = np.column_stack([first.ravel(), second.ravel()])
        once = ~np.isin(pairs[:, 1], void) | (pairs[:, 0] < pairs[:, 1])
        return np.concatenate([solid, pairs[once & (pairs[:, 0] != pairs[:, 1])]])


def _span(classes: Ints, labels: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the least and greatest label of each class."""
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, classes, labels)
    np.maximum.at(high, classes, labels)
    return low, high
