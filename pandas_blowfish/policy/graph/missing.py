"""Cells some of whose columns may be missing: joined to every other, to those around one value, or to none.

One graph for a column and for a joint block. Closed forms only, whatever graph joins the cells without
missing values. Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Relation, SecretGraph, flatten


class WithMissing(SecretGraph):
    """A graph on the cells without missing values, and the cells in which some column is missing.

    Args:
        inner: The graph of the cells without missing values, in C order over `solid`.
        solid: Value cells along each axis; by default the one axis of a column that may be missing.
        nullable: Whether each axis has a missing cell after its values.
        joined: Whether a cell with a missing value is joined to every other cell.
        like: Of one column, the cell that its missing one is as if it were.

    Proof note:
        Requires: with `like` one axis, and `joined` false.
        Ensures:  the missing cell is joined to that cell and to all cells that it is joined to, no others.
        Because:  `furthest` of a rank that is 1 on `like` alone is 1 on it and its neighbours; distances to
                  others are those of `like`, and no way between values is shorter through a twin of one.
        Checked:  tests/policy/graph/test_missing.py::test_a_stand_in_is_a_twin_of_its_value
    """

    def __init__(
        self,
        inner: SecretGraph,
        solid: Sequence[int] | None = None,
        nullable: Sequence[bool] = (True,),
        *,
        joined: bool,
        like: int | None = None,
    ) -> None:
        self.solid, self.nullable = tuple([inner.size] if solid is None else solid), tuple(nullable)
        self.shape = tuple(n + extra for n, extra in zip(self.solid, self.nullable, strict=True))
        super().__init__(math.prod(self.shape))
        self.inner, self.joined, self.like = inner, joined and inner.size < self.size, like

    @cached_property
    def partners(self) -> Ints:
        """Return the cells that the missing one is joined to, where it is like one of them."""
        if self.like is None:
            return np.empty(0, dtype=np.int64)
        one = np.zeros(self.inner.size, dtype=np.int64)
        one[self.like] = 1
        return np.flatnonzero(self.inner.furthest(one))

    def _inside(self, cell: int) -> int | None:
        """Return a cell's number among the solid ones, None where something is missing."""
        if len(self.solid) == 1:
            return cell if cell < self.inner.size else None
        codes = [int(code) for code in np.unravel_index(cell, self.shape)]
        if any(code >= n for code, n in zip(codes, self.solid, strict=True)):
            return None
        return int(np.ravel_multi_index(codes, self.solid))

    def _outside(self, cells: Ints) -> Ints:
        """Return solid cells as numbers of the whole block."""
        if len(self.solid) == 1:
            return cells
        codes = np.unravel_index(cells, self.solid)
        return np.asarray(np.ravel_multi_index(codes, self.shape), dtype=np.int64)

    def _parts(self) -> tuple[Ints, Ints]:
        """Return the cells without, and those with, a missing value."""
        own = self._outside(np.arange(self.inner.size))
        if len(self.solid) == 1:
            return own, np.arange(self.inner.size, self.size)
        return own, np.setdiff1d(np.arange(self.size), own)

    def adjacent(self, a: int, b: int) -> bool:
        """Return whether two cells are joined; one with a missing value is joined to all or none."""
        one, two = self._inside(a), self._inside(b)
        if one is None or two is None:
            if self.like is None or a == b:
                return self.joined and a != b
            other = two if one is None else one
            return other == self.like or self.inner.adjacent(int(other or 0), self.like)
        return self.inner.adjacent(one, two)

    @property
    def edge_count(self) -> int:
        """Return the inner edges, and all pairs that hold a cell with a missing value."""
        void, solid = self.size - self.inner.size, self.inner.size
        if self.like is not None:
            return self.inner.edge_count + len(self.partners)
        return self.inner.edge_count + (void * solid + void * (void - 1) // 2 if self.joined else 0)

    def pairs(self) -> Ints:
        """Return a skeleton: where missing values are joined, a star around the cell with most of them."""
        others = np.arange(self.size - 1)
        star = np.column_stack([others, np.full(len(others), self.size - 1)])
        if self.joined and len(self.solid) > 1:
            return star
        inner = self._outside(self.inner.pairs().ravel()).reshape(-1, 2)
        if self.like is not None:
            return np.concatenate([inner, [[self.like, self.size - 1]]])
        return np.concatenate([inner, star]) if self.joined else inner

    @property
    def components(self) -> Ints:
        """Return one component where missing values are joined."""
        return np.zeros(self.size, dtype=np.int64) if self.joined else super().components

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank in reach, those of cells with a missing value included."""
        own, void = self._parts()
        top = rank.copy()
        top[own] = self.inner.furthest(rank[own])
        if self.like is not None:
            near = self.partners
            top[near] = np.maximum(top[near], rank[-1])
            top[-1] = max(rank[-1], rank[near].max())
        if self.joined:
            top[own] = np.maximum(top[own], rank[void].max())
            top[void] = rank.max()
        return top

    def contains(self, other: SecretGraph) -> bool:
        """Return whether both the solid cells' edges and those of missing values are here."""
        if isinstance(other, WithMissing):
            if not self.inner.contains(other.inner):
                return False
            if self.joined or not (other.joined or other.like is not None):
                return True
            asked = np.arange(other.inner.size) if other.joined else other.partners
            return bool(np.isin(asked, self.partners).all())
        return all(self.adjacent(int(a), int(b)) for a, b in other.edges())

    def distance(self, a: int, b: int) -> int | float:
        """Return a shortest path, perhaps through a missing value."""
        if a == b:
            return 0
        one, two = self._inside(a), self._inside(b)
        if one is None or two is None:
            if self.like is None:
                return 1 if self.joined else math.inf
            other = two if one is None else one
            return max(self.inner.distance(int(other or 0), self.like), 1)
        return min(self.inner.distance(one, two), 2 if self.joined else math.inf)

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Join the relation of the solid cells, and that of each missing value with all other cells.

        Proof note:
            Requires: a class and a label for each cell.
            Ensures:  the same tables as comparing the ends of every edge.
            Because:  a cell with a missing value leads to every class that has another cell; the label
                      changes unless its class has one label there, and the other class the same one.
            Checked:  tests/policy/graph/test_missing.py::test_relation_and_furthest_match_edges
        """
        count = int(classes.max(initial=-1)) + 1
        own, void = self._parts()
        found = self.inner.relation(classes[own], labels[own]).grown(count)
        if self.like is not None:
            near, gone = self.partners, np.full(len(self.partners), self.size - 1)
            found.add(classes[near], classes[gone], labels[near] != labels[gone])
        if not self.joined:
            return found
        (low, high), (least, most) = (
            _span(classes[cells], labels[cells], count) for cells in (void, slice(None))
        )
        several = np.bincount(classes, minlength=count) > 1
        leads = (low <= high)[:, None] & (least <= most)[None, :]
        leads &= ~np.eye(count, dtype=bool) | several[None, :]
        alike = (low == high)[:, None] & (least == most)[None, :] & (low[:, None] == least[None, :])
        for table, entries in ((found.move, leads), (found.cross, leads & ~alike)):
            table |= entries | entries.T
        return found

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
        if self.like is not None:
            return self.relation(classes[0], labels[0])
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

    def missing_edges(self) -> Ints:
        """Return every edge of a cell with a missing value, that cell last."""
        if self.like is not None:
            return np.column_stack([self.partners, np.full(len(self.partners), self.size - 1)])
        if not self.joined:
            return np.empty((0, 2), dtype=np.int64)
        void = self._parts()[1]
        first, second = np.meshgrid(void, np.arange(self.size), indexing="ij")
        pairs = np.column_stack([second.ravel(), first.ravel()])
        return pairs[~np.isin(pairs[:, 0], void) | (pairs[:, 1] < pairs[:, 0])]

    def _list(self) -> Ints:
        solid = self._outside(self.inner.edges().ravel()).reshape(-1, 2)
        return np.concatenate([solid, self.missing_edges()])


def _span(classes: Ints, labels: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the least and greatest label of each class."""
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, classes, labels)
    np.maximum.at(high, classes, labels)
    return low, high
