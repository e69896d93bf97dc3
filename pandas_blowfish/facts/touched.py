"""What edges do to classes of cells, and whether one changes a known count. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.fact import Fact
from pandas_blowfish.policy.expression import signatures, truth
from pandas_blowfish.policy.graph.records import Block, RecordGraph

Table = NDArray[np.bool_]
MAX_CLASSES = 3_000  # combinations of classes whose pairs are gone through


@dataclass(frozen=True, eq=False)
class BlockMoves:
    """What edges of some blocks do to combinations of their filter classes, as square tables.

    Attributes:
        columns: The blocks' columns, in the order of the combinations.
        moved: How many blocks must move.
        possible: Whether they can.
        free: Whether a block that must move can change its label.
        extra: Whether a block that need not move can change its label.
    """

    columns: tuple[str, ...]
    moved: Ints
    possible: Table
    free: Table
    extra: Table

    def within(self, most: int) -> Table:
        """Tell which combinations an edge that moves at most so many blocks joins (or leaves alone)."""
        return np.asarray(self.possible & (self.moved <= most))

    def changing(self, most: int) -> Table:
        """Tell which it joins while it changes a label."""
        enough = (self.free & (self.moved <= most)) | (self.extra & (self.moved + 1 <= most))
        return np.asarray(self.possible & enough)


def block_moves(
    blocks: Sequence[Block], classes: Mapping[str, Ints], marks: Mapping[str, Ints]
) -> BlockMoves:
    """Return what edges of some blocks do, from each block's own table.

    Args:
        blocks: What moves together.
        classes: For each column the class of each cell.
        marks: For each column the label of each cell.
    """
    many = {column: int(each.max(initial=-1)) + 1 for column, each in classes.items()}
    counts = [math.prod(many[column] for column in block.columns) for block in blocks]
    size = math.prod(counts)
    codes = np.unravel_index(np.arange(size), counts) if counts else ()
    moved, possible = np.zeros((size, size), dtype=np.int64), np.ones((size, size), dtype=bool)
    free, extra = np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool)
    for block, code in zip(blocks, codes, strict=True):
        found = block.relation([classes[c] for c in block.columns], [marks[c] for c in block.columns])
        stays = code[:, None] == code[None, :]
        move, cross = found.move[np.ix_(code, code)], found.cross[np.ix_(code, code)]
        moved += ~stays
        possible &= stays | move
        free |= ~stays & cross
        extra |= stays & cross
    columns = tuple(column for block in blocks for column in block.columns)
    return BlockMoves(columns, moved, possible, free, extra)


def touches(graph: RecordGraph, fact: Fact) -> bool:
    """Tell whether some edge lifts or lowers a known count.

    Args:
        graph: The secret graph of whole records.
        fact: The fact.

    Proof note:
        Requires: nothing.
        Ensures:  False only if the fact's counts are the same in all tables that differ by one edge.
        Because:  with presence a row that is counted may be absent. Else a marginal changes with any edge
                  of the graph projected on its columns, and a count with an edge between cells of which
                  one is counted: cells that no comparison distinguishes are one class, and which classes an
                  edge joins follows from each block's own table.
        Checked:  tests/facts/test_touched.py::test_touches_matches_enumeration
    """
    seen = graph.project(fact.columns)
    if fact.condition is None:
        return graph.presence or any(block.graph.edge_count > 0 for block in seen.blocks)
    columns = [column for block in seen.blocks for column in block.columns]
    sizes = dict(zip(seen.columns, seen.shape, strict=True))
    classes = {column: signatures(fact.condition, column, sizes[column]) for column in columns}
    counted = truth(fact.condition, columns, [classes[column] for column in columns]).ravel()
    if not counted.any():
        return False
    if graph.presence or len(counted) > MAX_CLASSES:
        return True
    marks = {column: np.zeros(sizes[column], dtype=np.int64) for column in columns}
    joined = block_moves(seen.blocks, classes, marks).within(seen.limit)
    return bool((joined & (counted[:, None] ^ counted[None, :])).any())
