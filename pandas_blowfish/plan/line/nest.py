"""Runs of atoms within runs: what a structured strategy measures on a line. Never sees rows.

Each segment of a line is cut into blocks of `spacing` atoms, each block into nodes, these into smaller
nodes, down to single atoms. Measured are, in families of one scale each: the totals of segments (where
they are not exact and no prefix ends there), prefix sums at the ends of blocks, and the nodes of each
level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.pareto import is_maximal
from pandas_blowfish.plan.line.axis import LineGraph


@dataclass(frozen=True)
class Layout:
    """The shape of a nest, as plain data.

    Attributes:
        spacing: Atoms of a block, with a prefix sum at each block's end; None: a segment is one block.
        branching: Into how many nodes each level cuts the one above; the last level is single atoms.
        mirrored: Whether sums start from the far end of a segment.
        wavelet: Whether a level measures left half less right half of each node above (branching 2).
    """

    spacing: int | None
    branching: tuple[int, ...] = ()
    mirrored: bool = False
    wavelet: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain data."""
        return {
            "spacing": self.spacing,
            "branching": list(self.branching),
            "mirrored": self.mirrored,
            "wavelet": self.wavelet,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Layout:
        """Return the layout that `to_dict` described."""
        return cls(form["spacing"], tuple(form["branching"]), form["mirrored"], form["wavelet"])


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one level, first to last.

    Attributes:
        begin: The first atom of each node.
        end: One past its last.
        parent: The node of the level above that holds it.
        first: For each node of the level above, its first node here, and one past the last.
    """

    begin: Ints
    end: Ints
    parent: Ints
    first: Ints

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.begin)

    def node_of(self, atoms: Ints) -> Ints:
        """Return the node that holds each atom."""
        return np.searchsorted(self.begin, atoms, "right") - 1


def refine(begin: Ints, end: Ints, width: int) -> Level:
    """Cut runs begin..end-1 into runs of `width` atoms each, the last perhaps shorter."""
    many = -(-(end - begin) // width)
    first = np.append(0, np.cumsum(many))
    parent = np.repeat(np.arange(len(begin)), many)
    start = np.arange(first[-1]) * width
    start += np.repeat(begin - first[:-1] * width, many)
    return Level(start, np.minimum(start + width, np.repeat(end, many)), parent, first)


class Nest:
    """The runs of a layout on a line; with a mirrored layout atoms count from the far end."""

    def __init__(self, line: LineGraph, layout: Layout) -> None:
        self.line, self.layout, self.size = line, layout, line.size
        starts = line.starts
        if layout.mirrored:
            starts = np.sort(self.size - np.append(starts[1:], self.size))
        self.segments = Level(
            starts, np.append(starts[1:], self.size), starts * 0, np.array([0, len(starts)])
        )
        longest = int((self.segments.end - self.segments.begin).max(initial=1))
        self.width = min(layout.spacing or longest, longest)
        self.blocks = refine(self.segments.begin, self.segments.end, self.width)
        self.levels: list[Level] = []
        width, above = self.width, self.blocks
        for factor in layout.branching:
            width = -(-width // factor)
            above = refine(above.begin, above.end, width)
            self.levels.append(above)
        if above.size != self.size:
            raise ValueError("the last level of a layout is single atoms")

    @property
    def head(self) -> str | None:
        """Return what is measured above the levels: prefixes, else totals of segments that are not exact."""
        if self.layout.spacing is not None:
            return "prefix"
        return "total" if self.line.open else None

    @property
    def families(self) -> list[str]:
        """Return the names of the families, each measured with one scale."""
        levels = [f"level {number + 1}" for number in range(len(self.levels))]
        return [self.head, *levels] if self.head else levels

    @cached_property
    def boundaries(self) -> Ints:
        """Return where a prefix is measured: the ends of blocks, but not of segments with exact totals."""
        if self.layout.spacing is None:
            return np.empty(0, dtype=np.int64)
        if self.line.open:
            return np.arange(self.blocks.size)
        last = self.blocks.first[1:] - 1
        return np.setdiff1d(np.arange(self.blocks.size), last, assume_unique=True)

    def parts(self) -> list[tuple[Ints, Ints]]:
        """Return begin and end of every measured run, family by family; wavelets begin at the middle."""
        found = [(level.begin, level.end) for level in (self.halves if self.layout.wavelet else self.levels)]
        if self.head == "prefix":
            inside = self.blocks.parent[self.boundaries]
            return [(self.segments.begin[inside], self.blocks.end[self.boundaries]), *found]
        return [(self.segments.begin, self.segments.end), *found] if self.head else found

    @cached_property
    def halves(self) -> list[Level]:
        """Return, level by level, the left halves of nodes that have two (a wavelet's rows)."""
        found = []
        for level in self.levels:
            pairs = np.flatnonzero(np.diff(level.first) == 2)
            left = level.first[pairs]
            found.append(Level(level.begin[left], level.end[left], pairs, level.first))
        return found

    @cached_property
    def sizes(self) -> list[int]:
        """Return how many rows each family has on one line."""
        return [len(begin) for begin, _ in self.parts()]

    def rows(self, positions: Ints) -> Ints:
        """Return the exact value of every query row from cumulative counts (lines x size + 1)."""
        found = [np.empty((len(positions), 0), dtype=np.int64)]
        for (begin, end), stop in zip(self.parts(), self._stops(), strict=True):
            value = positions[:, end] - positions[:, begin]
            found.append(value if stop is None else value - (positions[:, stop] - positions[:, end]))
        return np.concatenate(found, axis=1)

    def _stops(self) -> list[Ints | None]:
        """Return for each family where the right halves end that a wavelet subtracts; None for none."""
        if not self.layout.wavelet:
            return [None] * len(self.families)
        pairs = zip(self.levels, self.halves, strict=True)
        stops = [level.end[level.first[half.parent] + 1] for level, half in pairs]
        return [None, *stops] if self.head else [*stops]

    def entries(self, atoms: Ints) -> list[tuple[Ints, Ints]]:
        """Return the row that counts each atom (-1 for none) and how: of each family but prefixes."""
        found: list[tuple[Ints, Ints]] = []
        first = 0
        for number, ((begin, end), stop) in enumerate(zip(self.parts(), self._stops(), strict=True)):
            if len(begin) and (number or self.head != "prefix"):
                row = np.maximum(np.searchsorted(begin, atoms, "right") - 1, 0)
                inside, value = (begin[row] <= atoms) & (atoms < end[row]), np.ones(len(atoms), np.int64)
                if stop is not None:
                    right = (end[row] <= atoms) & (atoms < stop[row])
                    inside, value = inside | right, np.where(right, -1, 1)
                found.append((np.where(inside, first + row, -1), value))
            first += len(begin)
        return found

    def prefixes(self, atoms: Ints) -> tuple[Ints, Ints]:
        """Return the rows of the prefixes that count each atom: from the first to before the last."""
        if not len(self.boundaries):
            return np.zeros_like(atoms), np.zeros_like(atoms)
        block = self.blocks.node_of(atoms)
        ends = self.blocks.first[self.blocks.parent[block] + 1]
        return np.searchsorted(self.boundaries, block), np.searchsorted(self.boundaries, ends)

    def place(self, atoms: Ints) -> Ints:
        """Return atoms as they count here, from the near or the far end."""
        return self.size - 1 - atoms if self.layout.mirrored else atoms

    def patterns(self) -> Ints:
        """Return, for edges that may lose most, how many rows of each family change (with size).

        Proof note:
            Requires: the line's `between`, `across` and `away` hold the edges that may lose most.
            Ensures:  the loss of the strategy is the largest of patterns @ (1 / scales), exactly; of a
                      wavelet, whose short nodes have no second half, it is at most that.
            Because:  of two atoms of one segment, a prefix that ends between them counts one of them, and
                      a level whose nodes separate them counts each once (in a wavelet twice in one row,
                      or once in two); by itself an atom is in every prefix that ends after it and in one
                      row of each level.
            Checked:  tests/plan/line/test_nest.py::test_patterns_match_the_matrix
        """
        found = [self._apart(self.place(self._deciding()))]
        across, away = (self.place(ends) for ends in self.line.ends)
        found.append(self._norm(across[:, 0]) + self._norm(across[:, 1]))
        found.append(self._norm(away))
        return _largest(np.concatenate(found))

    def _deciding(self) -> Ints:
        """Return the pairs of one line that show every pattern: all, or a period's of a line that repeats."""
        between = self.line.between
        length = between[:1, 1] - between[:1, 0]
        part = 2 * (self.width + int(length[0])) if len(between) else 0
        if self.segments.size > 1 or self.layout.spacing is None or len(between) < 4 * part:
            return between
        longer = (between[:, 1] - between[:, 0] != length) & (between[:, 1] < self.size - 1)
        if longer.any() or (np.diff(between[:, 0]) != 1).any():
            return between
        return np.concatenate([between[:part], between[-part:]])

    def _apart(self, pairs: Ints) -> Ints:
        """Return how many rows of each family change when a record moves between two atoms of a line."""
        low, high = pairs.min(axis=1, initial=self.size), pairs.max(axis=1, initial=-1)
        found = np.zeros((len(pairs), len(self.families)), dtype=np.int64)
        if self.head == "prefix":
            found[:, 0] = self.blocks.node_of(high) - self.blocks.node_of(low)
        for column, level in enumerate(self.levels, len(self.families) - len(self.levels)):
            found[:, column] = 2 * (level.node_of(low) != level.node_of(high))
        return found

    def _norm(self, atoms: Ints) -> Ints:
        """Return how many rows of each family count an atom."""
        found = np.ones((len(atoms), len(self.families)), dtype=np.int64)
        if self.head == "prefix":
            block = self.blocks.node_of(atoms)
            last = self.blocks.first[self.blocks.parent[block] + 1] - (1 if self.line.open else 2)
            found[:, 0] = np.maximum(last - block + 1, 0)
        return found


def _largest(patterns: Ints) -> Ints:
    """Drop patterns that another is at least as large as everywhere."""
    if not patterns.size:
        return patterns[:0]
    radix = np.cumprod(np.append(1, patterns.max(axis=0)[:-1] + 1))
    patterns = patterns[np.unique(patterns @ radix, return_index=True)[1]]
    return patterns if len(patterns) > 400 else patterns[is_maximal(patterns)]
