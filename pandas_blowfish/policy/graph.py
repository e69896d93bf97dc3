"""Secret graphs of one block of cells: which values must stay indistinguishable.

Graphs answer from closed forms (components, distance, inclusion, a spanning skeleton) in time and
memory linear in the number of cells; only `edges` enumerates, for the oracle. Never sees rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError

Ints = NDArray[np.int64]
MAX_EDGES = 20_000_000


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
    def pairs(self, keep: NDArray[np.bool_] | None = None) -> Ints:
        """Return edges, at most a few per cell, that connect what the graph on `keep` connects."""

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

    def visible(self, labels: Ints | None) -> int:
        """Return the largest L1 change that one edge makes to the counts of labelled cells.

        Args:
            labels: The bin each cell is counted in, -1 for none; None counts each cell apart.

        Proof note:
            Requires: each cell is counted in at most one bin.
            Ensures:  result = max over edges (x, y) of ||A(e_x - e_y)||_1, A the bins x cells matrix.
            Because:  an edge changes the counts by 2 if its ends lie in two bins, by 1 if just one end
                      is counted, else by 0. Where a kept edge joins two bins, a path of skeleton pairs
                      of the kept cells does, so one of its pairs changes bin; likewise for leaving.
            Checked:  tests/policy/test_graph.py::test_visible_matches_enumeration
        """
        if labels is None:
            return 2 if len(self.pairs()) else 0
        for keep, change in ((labels >= 0, 2), (None, 1)):
            pairs = self.pairs(keep)
            if (labels[pairs[:, 0]] != labels[pairs[:, 1]]).any():
                return change
        return 0


class Cliques(SecretGraph):
    """Every two cells of a group are joined: full (one group), partition, public (groups of one)."""

    def __init__(self, groups: Ints) -> None:
        super().__init__(len(groups))
        self.groups = groups

    @classmethod
    def full(cls, size: int) -> Cliques:
        """Return the complete graph."""
        return cls(np.zeros(size, dtype=np.int64))

    @classmethod
    def none(cls, size: int) -> Cliques:
        """Return the graph without edges."""
        return cls(np.arange(size, dtype=np.int64))

    def adjacent(self, a: int, b: int) -> bool:
        """Tell whether two different cells share a group."""
        return a != b and bool(self.groups[a] == self.groups[b])

    @property
    def edge_count(self) -> int:
        """Return the sum of n (n - 1) / 2 over the groups."""
        sizes = np.unique(self.groups, return_counts=True)[1]
        return sum(int(n) * (int(n) - 1) // 2 for n in sizes)

    def pairs(self, keep: NDArray[np.bool_] | None = None) -> Ints:
        """Return a path through each group."""
        cells = np.arange(self.size) if keep is None else np.flatnonzero(keep)
        cells = cells[np.argsort(self.groups[cells], kind="stable")]
        same = self.groups[cells[1:]] == self.groups[cells[:-1]]
        return np.column_stack([cells[:-1][same], cells[1:][same]])

    def furthest(self, rank: Ints) -> Ints:
        """Return the largest rank of each cell's group."""
        _, group = np.unique(self.groups, return_inverse=True)
        top = np.zeros(self.size, dtype=np.int64)
        np.maximum.at(top, group, rank)
        return top[group]

    def contains(self, other: SecretGraph) -> bool:
        """Tell whether the other graph's components refine the groups."""
        pairs = other.pairs()
        return bool((self.groups[pairs[:, 0]] == self.groups[pairs[:, 1]]).all())

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
        self.listed = np.unique(listed[listed[:, 0] != listed[:, 1]], axis=0)

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

    def pairs(self, keep: NDArray[np.bool_] | None = None) -> Ints:
        """Return the listed edges between kept cells."""
        return self.listed if keep is None else self.listed[keep[self.listed].all(axis=1)]

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

    def distance(self, a: int, b: int) -> int | float:
        """Return the length of a shortest path, by breadth-first search."""
        from scipy.sparse.csgraph import dijkstra

        length = dijkstra(matrix(self.listed, self.size), directed=False, indices=a, unweighted=True)[b]
        return math.inf if math.isinf(length) else int(length)

    def _list(self) -> Ints:
        return self.listed


def matrix(pairs: Ints, size: int) -> object:
    """Return pairs as a sparse adjacency matrix."""
    from scipy.sparse import coo_array

    ones = np.ones(len(pairs), dtype=np.int8)
    return coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(size, size)).tocsr()


def connect(pairs: Ints, size: int) -> Ints:
    """Return a component number for each of `size` vertices joined by pairs."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(matrix(pairs, size), directed=False)[1], dtype=np.int64)
