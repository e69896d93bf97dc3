"""Secret graphs of one block of cells: which values must stay indistinguishable.

Graphs answer from closed forms (components, distance, inclusion, a spanning skeleton) in time and
memory linear in the number of cells; only `edges` enumerates, for the oracle. Never sees rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen

MAX_EDGES = 20_000_000


@dataclass(frozen=True, eq=False)
class Relation:
    """What edges do to classes of cells, as symmetric tables of bools.

    Attributes:
        move: Whether some edge leads from one class to another (or stays within it).
        cross: Whether some such edge also changes the label.
    """

    move: NDArray[np.bool_]
    cross: NDArray[np.bool_]

    @classmethod
    def empty(cls, size: int) -> Relation:
        """Return the relation of no edges between `size` classes."""
        return cls(np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool))

    def grown(self, size: int) -> Relation:
        """Return the same relation among at least `size` classes."""
        wider = Relation.empty(max(size, len(self.move)))
        wider.move[: len(self.move), : len(self.move)] = self.move
        wider.cross[: len(self.move), : len(self.move)] = self.cross
        return wider

    def add(self, start: Ints, end: Ints, changes: NDArray[np.bool_]) -> None:
        """Enter edges between cells of classes `start` and `end`, both ways."""
        for a, b in ((start, end), (end, start)):
            self.move[a, b] = True
            self.cross[a[changes], b[changes]] = True


class SecretGraph(ABC):
    """An undirected graph on cells 0..size-1, without loops."""

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two cells are joined by an edge."""

    @property
    @abstractmethod
    def edge_count(self) -> int:
        """Return the number of edges, without listing them."""

    @abstractmethod
    def pairs(self) -> Ints:
        """Return edges, at most a few per cell, that connect what the graph connects."""

    @abstractmethod
    def furthest(self, rank: Ints) -> Ints:
        """Return for each cell the largest rank among itself and its neighbours."""

    @abstractmethod
    def contains(self, other: SecretGraph) -> bool:
        """Tell whether every edge of another graph on the same cells is an edge here."""

    @abstractmethod
    def distance(self, a: int, b: int) -> int | float:
        """Return the length of a shortest path, or infinity."""

    @abstractmethod
    def _list(self) -> Ints:
        """Return every edge once, as rows (a, b)."""

    def edges(self) -> Ints:
        """Return every edge once, as rows (a, b); refused beyond `MAX_EDGES`."""
        if self.edge_count > MAX_EDGES:
            raise DomainTooLargeError(
                "the edge list", self.edge_count, MAX_EDGES, fix="use the closed forms."
            )
        return self._list()

    @property
    def components(self) -> Ints:
        """Return a component number for each cell."""
        return connect(self.pairs(), self.size)

    @abstractmethod
    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Return between which classes of cells an edge leads, and where it also changes the label."""

    def visible(self, labels: Ints | None) -> int:
        """Return the largest L1 change that one edge makes to the counts of labelled cells.

        Args:
            labels: The bin each cell is counted in, -1 for none; None counts each cell by itself.

        Proof note:
            Requires: each cell is counted in at most one bin.
            Ensures:  result = max over edges (x, y) of ||A(e_x - e_y)||_1, A the bins x cells matrix.
            Because:  an edge changes the counts by 2 if its ends are counted in two bins, by 1 if just one
                      end is counted, else by 0.
            Checked:  tests/policy/graph/test_secret_graph.py::test_visible_matches_enumeration
        """
        if labels is None:
            return 2 if self.edge_count else 0
        counted = (labels >= 0).astype(np.int64)
        found = self.relation(counted, labels).grown(2)
        return 2 if found.cross[1, 1] else int(found.move[0, 1])


class Cliques(SecretGraph):
    """Every two cells of a group are joined: full (one group), partition, public (groups of one)."""

    def __init__(self, groups: Ints | Callable[[], Ints], size: int | None = None) -> None:
        super().__init__(len(groups) if size is None and not callable(groups) else size or 0)
        self._groups = groups

    @cached_property
    def groups(self) -> Ints:
        """Return the group of each cell, made when it is first needed."""
        return frozen(self._groups() if callable(self._groups) else self._groups)

    @classmethod
    def full(cls, size: int) -> Cliques:
        """Return the complete graph."""
        return cls(lambda: np.zeros(size, dtype=np.int64), size)

    @classmethod
    def none(cls, size: int) -> Cliques:
        """Return the graph without edges."""
        return cls(lambda: np.arange(size, dtype=np.int64), size)

    @property
    def components(self) -> Ints:
        """Return the groups, numbered from 0."""
        if not self.groups.any():  # a single one, of however many cells
            return np.zeros(self.size, dtype=np.int64)
        return np.unique(self.groups, return_inverse=True)[1].astype(np.int64).reshape(-1)

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two different cells share a group."""
        return a != b and bool(self.groups[a] == self.groups[b])

    @property
    def edge_count(self) -> int:
        """Return the sum of n (n - 1) / 2 over the groups."""
        sizes = np.unique(self.groups, return_counts=True)[1]
        return sum(int(n) * (int(n) - 1) // 2 for n in sizes)

    def pairs(self) -> Ints:
        """Return a path through each group."""
        cells = np.argsort(self.groups, kind="stable")
        same = self.groups[cells[1:]] == self.groups[cells[:-1]]
        return np.column_stack([cells[:-1][same], cells[1:][same]])

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank of each cell's group."""
        _, group = np.unique(self.groups, return_inverse=True)
        top = np.full(self.size, np.iinfo(np.int64).min, dtype=np.int64)
        np.maximum.at(top, group, rank)
        return top[group]

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether the other graph's components refine the groups."""
        pairs = other.pairs()
        return bool((self.groups[pairs[:, 0]] == self.groups[pairs[:, 1]]).all())

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Compare, group by group, the cells of every two classes."""
        found = Relation.empty(_count(classes))
        if self.size > 1 and not (self.groups.any() or classes.any()):  # any two cells, of one class
            found.move[0, 0], found.cross[0, 0] = True, (labels != labels[0]).any()
            return found
        _, group, sizes = np.unique(self.groups, return_inverse=True, return_counts=True)
        cells = np.flatnonzero(sizes[group] > 1)  # a group of one has no edge
        if not len(cells):
            return found
        mixed, place = np.unique(group[cells] * len(found.move) + classes[cells], return_inverse=True)
        keys = np.column_stack(np.divmod(mixed, len(found.move)))
        low, high = np.full(len(keys), np.iinfo(np.int64).max), np.full(len(keys), np.iinfo(np.int64).min)
        np.minimum.at(low, place, labels[cells])
        np.maximum.at(high, place, labels[cells])
        several = np.bincount(place) > 1
        found.move[keys[several, 1], keys[several, 1]] = True
        found.cross[keys[low < high, 1], keys[low < high, 1]] = True
        for gap in range(1, len(found.move)):  # keys are sorted by group: partners lie close
            one, two = np.arange(len(keys) - gap), np.arange(gap, len(keys))
            same = keys[one, 0] == keys[two, 0]
            one, two = one[same], two[same]
            alike = (low[one] == high[one]) & (low[two] == high[two]) & (low[one] == low[two])
            found.add(keys[one, 1], keys[two, 1], ~alike)
        return found

    def distance(self, a: int, b: int) -> int | float:
        """Return 0, 1 or infinity."""
        return 0 if a == b else 1 if self.adjacent(a, b) else math.inf

    def _list(self) -> Ints:
        group, sizes = np.unique(self.groups, return_inverse=True, return_counts=True)[1:]
        order = np.argsort(group, kind="stable")
        order = order[sizes[group[order]] > 1]
        cuts = np.flatnonzero(np.diff(self.groups[order])) + 1
        parts = [part[np.column_stack(np.triu_indices(len(part), 1))] for part in np.split(order, cuts)]
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *parts])


class Explicit(SecretGraph):
    """Just the edges that were listed."""

    def __init__(self, size: int, listed: Ints) -> None:
        super().__init__(size)
        listed = np.sort(np.asarray(listed, dtype=np.int64).reshape(-1, 2), axis=1)
        self.listed = frozen(np.unique(listed[listed[:, 0] != listed[:, 1]], axis=0))

    @cached_property
    def _set(self) -> frozenset[tuple[int, int]]:
        return frozenset((int(a), int(b)) for a, b in self.listed)

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether the pair was listed."""
        return (min(a, b), max(a, b)) in self._set

    @property
    def edge_count(self) -> int:
        """Return how many pairs were listed."""
        return len(self.listed)

    def pairs(self) -> Ints:
        """Return the listed edges."""
        return self.listed

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank among each cell and its neighbours."""
        top = rank.copy()
        for here, there in ((0, 1), (1, 0)):
            np.maximum.at(top, self.listed[:, here], rank[self.listed[:, there]])
        return top

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether every edge of the other graph was listed here."""
        if other.edge_count > self.edge_count:
            return False
        return all(self.adjacent(int(a), int(b)) for a, b in other.edges())

    def relation(self, classes: Ints, labels: Ints) -> Relation:
        """Go through the listed edges."""
        found = Relation.empty(_count(classes))
        start, end = self.listed[:, 0], self.listed[:, 1]
        found.add(classes[start], classes[end], labels[start] != labels[end])
        return found

    def distance(self, a: int, b: int) -> int | float:
        """Return the length of a shortest path, by breadth-first search."""
        from scipy.sparse.csgraph import dijkstra

        length = dijkstra(matrix(self.listed, self.size), directed=False, indices=a, unweighted=True)[b]
        return math.inf if math.isinf(length) else int(length)

    def _list(self) -> Ints:
        return self.listed


def flatten(parts: Sequence[Ints], counts: Sequence[int] | None = None) -> Ints:
    """Return one number per joint cell from one number per cell of each column, by Horner's rule.

    `counts` states how many numbers each column has, where some occur on no cell here.
    """
    flat = np.zeros(1, dtype=np.int64)
    for axis, part in enumerate(parts):
        many = int(part.max(initial=0)) + 1 if counts is None else counts[axis]
        flat = (flat[:, None] * many + part).ravel()
    return flat


def _count(classes: Ints) -> int:
    return int(classes.max(initial=-1)) + 1


def matrix(pairs: Ints, size: int) -> object:
    """Return pairs as a sparse adjacency matrix, whose indices searches of older scipy read too."""
    from scipy.sparse import coo_array

    ones, ends = np.ones(len(pairs), dtype=np.int8), pairs.astype(np.int32 if size < 2**31 else np.int64)
    return coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(size, size)).tocsr()


def connect(pairs: Ints, size: int) -> Ints:
    """Return a component number for each of `size` vertices joined by pairs."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(matrix(pairs, size), directed=False)[1], dtype=np.int64)
