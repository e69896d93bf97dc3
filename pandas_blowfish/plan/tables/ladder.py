"""One column's atoms cut into ever finer nodes, all nodes of a level equally wide. Never sees rows.

Level 0 is the whole column; where edges leave the atoms in several segments level 1 is these; the last level
is single atoms. Segments and nodes that are too short are filled up with leaves that hold nothing, so that
each level's nodes have as many leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints, frozen


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one column.

    Attributes:
        atom_of: The atom of each of the column's cells, -1 for none.
        leaf_of: The leaf of each atom.
        counts: How many nodes each level has: 1, ..., the number of leaves.
        still: The finest level whose nodes no edge leads from one to another.
    """

    atom_of: Ints
    leaf_of: Ints
    counts: tuple[int, ...]
    still: int

    @property
    def levels(self) -> int:
        """Return how many levels there are."""
        return len(self.counts)

    @property
    def leaves(self) -> int:
        """Return how many leaves there are."""
        return self.counts[-1]

    def width(self, level: int) -> int:
        """Return how many leaves a node has."""
        return self.leaves // self.counts[level]

    def marks(self, level: int) -> Ints:
        """Return the node of each cell at a level, -1 for none."""
        nodes = np.append(self.leaf_of // self.width(level), -1)
        return frozen(nodes[self.atom_of])

    @cached_property
    def _order(self) -> tuple[Ints, bool]:
        rising = bool((np.diff(self.leaf_of) > 0).all())
        return np.sort(self.leaf_of), rising

    def norms(self, starts: Ints, stops: Ints) -> Floats:
        """Return how large each effect of atoms start..stop-1 is: levels x ranges.

        The effect of a level is what of the covered shares of its nodes is no mean over the node above; its
        squared length is the difference of two sums of squared shares.
        """
        found: list[Floats] = []
        leaves, rising = self._order
        if not rising:  # single atoms alone are asked for
            starts = np.searchsorted(leaves, self.leaf_of[starts])
            stops = starts + 1
        before = np.zeros(len(starts))
        for level, count in enumerate(self.counts):
            width = self.width(level)
            held = np.bincount(leaves // width, minlength=count) / width
            squares = np.append(0.0, np.cumsum(held**2))
            first, last = leaves[starts] // width, leaves[stops - 1] // width
            begins = np.searchsorted(leaves, np.arange(count + 1) * width)
            low = (np.minimum(stops, begins[first + 1]) - starts) / width
            high = (stops - np.maximum(starts, begins[last])) / width
            whole = squares[last] - squares[np.minimum(first + 1, last)]
            square = np.where(first == last, low**2, low**2 + high**2 + whole)
            above = 0.0 if level == 0 else count // self.counts[level - 1] * before
            found.append(np.maximum(square - above, 0.0))
            before = square
        return np.array(found)


def ladder(atom_of: Ints, segments: Ints, radices: Sequence[int], *, ordered: bool) -> Ladder:
    """Return the levels of a column.

    Args:
        atom_of: The atom of each cell, -1 for none.
        segments: The connected part of each atom.
        radices: Into how many nodes each level cuts those above, within segments; the product must
            reach the longest segment.
        ordered: Whether atoms must keep their order: segments that are no runs then count as one.
    """
    part = np.unique(segments, return_inverse=True)[1].reshape(-1)
    count = max(int(part.max(initial=-1)) + 1, 1)
    if ordered and int((part[1:] != part[:-1]).sum()) + 1 > count:
        part, count = part * 0, 1
    if ordered:  # runs, numbered as they come
        part = np.append(0, np.cumsum(part[1:] != part[:-1]))[: len(part)]
    block = math.prod(radices)
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part, minlength=count)
    if int(sizes.max(initial=0)) > block:
        raise ValueError("the radices do not reach the longest segment")
    inside = np.arange(len(part)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    leaf_of = np.empty(len(part), dtype=np.int64)
    leaf_of[order] = part[order] * block + inside
    counts = [1] if count == 1 else [1, count]
    still = len(counts) - 1
    for radix in radices:
        if radix > 1:
            counts.append(counts[-1] * radix)
    return Ladder(frozen(atom_of), frozen(leaf_of), tuple(counts), still)


def count_filled(segments: Ints, *, ordered: bool) -> int:
    """Return how many leaves there are at least once all segments are filled up to the longest."""
    part = np.unique(segments, return_inverse=True)[1].reshape(-1)
    runs, count = int((part[1:] != part[:-1]).sum()) + 1, int(part.max(initial=-1)) + 1
    return len(part) if ordered and runs > count else count * longest(segments, ordered=ordered)


def longest(segments: Ints, *, ordered: bool) -> int:
    """Return how many atoms the longest segment has, all where segments are no runs and order matters."""
    part = np.unique(segments, return_inverse=True)[1].reshape(-1)
    runs = int((part[1:] != part[:-1]).sum()) + 1
    if ordered and runs > int(part.max(initial=-1)) + 1:
        return len(part)
    return int(np.bincount(part, minlength=1).max(initial=1))
