"""Which filter classes of columns an edge can join, whatever other columns do. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.graph import Ints
from pandas_blowfish.policy.product import Block, RecordGraph

Table = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassMoves:
    """What an edge may do to a row, by the classes of its cells on one axis.

    Attributes:
        between: Classes joined when the row moves along the axis and keeps its line.
        across: The same when it also changes its line.
        across_still: Classes whose rows can change the line without moving along the axis.
        leave: From a counted class to one where it is not counted, moving along the axis.
        leave_still: Classes whose rows can stop being counted without moving along the axis.
    """

    between: Table
    across: Table
    across_still: Table
    leave: Table
    leave_still: Table


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


def moves_of(blocks: Sequence[Block], tally: Tally) -> BlockMoves:
    """Return what edges of some blocks do, from each block's own table."""
    sieve, place = tally.sieve, {name: rank for rank, name in enumerate(tally.domain.columns)}
    counts = [math.prod(sieve.passes.shape[place[c]] for c in block.columns) for block in blocks]
    size = math.prod(counts)
    codes = np.unravel_index(np.arange(size), counts) if counts else ()
    moved, possible = np.zeros((size, size), dtype=np.int64), np.ones((size, size), dtype=bool)
    free, extra = np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool)
    for block, code in zip(blocks, codes, strict=True):
        ranks = [place[column] for column in block.columns]
        marks = [np.maximum(tally.marks[rank], 0) for rank in ranks]
        found = block.relation([sieve.classes[rank] for rank in ranks], marks)
        stays = code[:, None] == code[None, :]
        move, cross = found.move[np.ix_(code, code)], found.cross[np.ix_(code, code)]
        moved += ~stays
        possible &= stays | move
        free |= ~stays & cross
        extra |= stays & cross
    columns = tuple(column for block in blocks for column in block.columns)
    return BlockMoves(columns, moved, possible, free, extra)


def class_moves(graph: RecordGraph, tally: Tally, axis: int) -> ClassMoves:
    """Return what edges can do to a row, for an axis that is a block of its own.

    Proof note:
        Requires: the axis' column alone is a block of the graph.
        Ensures:  each table is true exactly where some choice of the other columns allows the move,
                  but `between` may also hold where the row must change its line, which loses more.
        Because:  blocks move independently, at most `limit` of them: the moves the other blocks are
                  forced to, one more to change the line if none of those does, and one for the axis.
        Checked:  tests/plan/test_line.py::test_losses_match_enumeration
    """
    name = tally.domain.columns[axis]
    others = moves_of([block for block in graph.blocks if name not in block.columns], tally)
    place = {column: rank for rank, column in enumerate(tally.domain.columns)}
    passes = np.transpose(tally.sieve.passes, [*(place[column] for column in others.columns), axis])
    passes = passes.reshape(-1, tally.sieve.passes.shape[axis])

    def joined(start: Table, link: Table, end: Table) -> Table:
        return np.asarray((start.T.astype(float) @ link.astype(float) @ end.astype(float)) > 0)

    limit = graph.limit
    can_move, can_stay = others.within(limit - 1), others.within(limit)
    return ClassMoves(
        joined(passes, can_move, passes),
        joined(passes, others.changing(limit - 1), passes),
        np.diagonal(joined(passes, others.changing(limit), passes)).copy(),
        joined(passes, can_move, ~passes),
        np.diagonal(joined(passes, can_stay, ~passes)).copy(),
    )
