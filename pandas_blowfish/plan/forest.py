"""A spanning forest of a line's graph: what the tree transform measures. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.line import Line
from pandas_blowfish.policy.graph import Ints, frozen, matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on atoms, one a connected piece.

    Attributes:
        parent: The atom above each atom, itself for a root.
        order: The atoms, each before those under it, those under it following at once.
        under: How many atoms lie at or under each atom.
    """

    parent: Ints
    order: Ints
    under: Ints

    @cached_property
    def roots(self) -> Ints:
        """Return the root of each tree."""
        return np.flatnonzero(self.parent == np.arange(len(self.parent)))

    @cached_property
    def depth(self) -> Ints:
        """Return how many edges lead from each atom to its root, by doubling."""
        up, steps = self.parent.copy(), (self.parent != np.arange(len(self.parent))).astype(np.int64)
        while (up != up[up]).any():
            steps, up = steps + steps[up], up[up]
        return np.asarray(steps)

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each atom the count at or under it, lines x atoms."""
        running = np.cumsum(counts[:, self.order], axis=1)
        running = np.concatenate([np.zeros((len(counts), 1), dtype=np.int64), running], axis=1)
        return np.asarray(running[:, self._places + self.under] - running[:, self._places])

    def longest_paths(self, pairs: Ints) -> Ints:
        """Return for each atom's edge to its parent the longest path, between given pairs, that uses it."""
        climbed = list(self.climb(pairs))
        length, longest = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(self.parent), dtype=np.int64)
        for _, active, _ in climbed:
            length[active] += 1
        for atoms, active, _ in climbed:
            np.maximum.at(longest, atoms, length[active])
        return longest

    def above(self, atom: int) -> Ints:
        """Return the atoms whose sums count an atom: itself and all above it."""
        place = self._places
        return np.flatnonzero((place <= place[atom]) & (place[atom] < place + self.under))

    @cached_property
    def _places(self) -> Ints:
        """Return where each atom stands in `order`."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    def climb(self, pairs: Ints) -> Iterator[tuple[Ints, Ints, NDArray[np.bool_]]]:
        """Yield, step by step, the deeper ends that climb one edge, whose pairs they are, and if the first.

        They meet, for both ends of a pair are in one tree.
        """
        a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
        active = np.flatnonzero(a != b)
        while len(active):
            x, y = a[active], b[active]
            first = self.depth[x] >= self.depth[y]
            yield np.where(first, x, y), active, first
            a[active] = np.where(first, self.parent[x], x)
            b[active] = np.where(first, y, self.parent[y])
            active = active[a[active] != b[active]]


def forest(line: Line) -> Forest:
    """Return the forest of a line: breadth first where edges are listed, else reds and their blocks.

    Along a line whose atoms are joined up to a reach, reds lie a reach apart, each joined to the one
    before, and other atoms are joined to the red at or before them.
    """
    if line.listed is not None:
        return _breadth_first(line.listed, line.size, line.pieces)
    parent, red = np.arange(line.size), 0
    reach = line.reach
    while red < line.size:
        far = int(reach[red])
        parent[red + 1 : far + 1] = red
        red = far if far > red else red + 1
    return _ordered(parent)


def _breadth_first(pairs: Ints, size: int, pieces: Ints) -> Forest:
    from scipy.sparse.csgraph import breadth_first_order

    degree = np.bincount(pairs.ravel(), minlength=size)
    links = matrix(pairs, size)
    parent = np.arange(size)
    best = np.lexsort((-degree, pieces))
    roots = best[np.append(True, pieces[best][1:] != pieces[best][:-1])] if size else best
    for root in roots:
        if degree[root]:
            found, before = breadth_first_order(links, int(root), directed=False)
            parent[found[1:]] = before[found[1:]]
    return _ordered(parent)


def _ordered(parent: Ints) -> Forest:
    """Number the atoms of each tree depth first."""
    size = len(parent)
    child = np.flatnonzero(parent != np.arange(size))
    by_parent = child[np.argsort(parent[child], kind="stable")]
    first = np.searchsorted(parent[by_parent], np.arange(size + 1)).tolist()
    listed, above = by_parent.tolist(), parent.tolist()
    order: list[int] = []
    waiting = np.flatnonzero(parent == np.arange(size))[::-1].tolist()
    while waiting:
        atom = waiting.pop()
        order.append(atom)
        waiting += listed[first[atom] : first[atom + 1]]
    under = [1] * size
    for atom in reversed(order):
        if above[atom] != atom:
            under[above[atom]] += under[atom]
    counted = np.array(under, dtype=np.int64)
    return Forest(frozen(parent), frozen(np.array(order, dtype=np.int64)), frozen(counted))
