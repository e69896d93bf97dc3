"""Connected parts of a policy: components of blocks of columns, which no edge leaves. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import Block, RecordGraph

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """The components of one block of columns that are looked at.

    Attributes:
        key: The names of its columns.
        block: The block.
        components: Of which component each of its cells is.
        seen: Of each component, whether it is looked at.
    """

    key: str
    block: Block
    components: Ints
    seen: Mask

    def components_at(self, cells: Cells) -> Ints:
        """Return of which component some cells are; what is said of "absent" means nothing."""
        codes = [np.where(cells.absent, 0, cells.codes[column]) for column in self.block.columns]
        return self.components[np.ravel_multi_index(codes, self.block.sizes)]


@dataclass(frozen=True, eq=False)
class Part:
    """What a release looks at: some components of a few blocks of columns, and all of the others."""

    sides: tuple[Side, ...] = ()

    @property
    def form(self) -> dict[str, list[int]]:
        """Return the components of each block by their first cells, as plain data; empty: everything."""
        first = {side.key: np.unique(side.components, return_index=True)[1] for side in self.sides}
        return {side.key: sorted(first[side.key][side.seen].tolist()) for side in self.sides}

    def holds(self, start: Cells, end: Cells) -> Mask:
        """Return which moves, from some cells to others or to and from "absent", are of records inside."""
        inside = np.ones(len(start), dtype=bool)
        for side in self.sides:
            at = np.where(start.absent, side.components_at(end), side.components_at(start))
            inside &= side.seen[at]
        return inside

    def find_crossing(self, start: Cells, end: Cells) -> Mask:
        """Return which moves lead from one component to another; none may."""
        there = ~start.absent & ~end.absent
        found = np.zeros(len(start), dtype=bool)
        for side in self.sides:
            found |= there & (side.components_at(start) != side.components_at(end))
        return found

    def is_left(self, start: Cells, end: Cells, changed: Mask) -> bool:
        """Return whether moves that change something are of records outside, or lead from part to part.

        A part of columns that the moves do not state holds nobody for certain.
        """
        if not all(column in start.codes for side in self.sides for column in side.block.columns):
            return True
        return bool((changed & ~self.holds(start, end) | self.find_crossing(start, end)).any())


EVERYONE = Part()


def split_blocks(graph: RecordGraph, columns: Sequence[str]) -> Iterator[tuple[str, Block, Ints]]:
    """Yield each block among some columns that falls into components: its key, it, and its components."""
    blocks = {", ".join(block.columns): block for block in graph.blocks}
    if len(blocks) < len(graph.blocks):  # names that hold commas can look alike
        return
    for key, block in blocks.items():
        components = block.graph.components if set(block.columns) <= set(columns) else np.zeros(0)
        if components.max(initial=0):
            yield key, block, components.astype(np.int64)
