"""Which filter classes of columns an edge can join, whatever other columns do. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.moves import BlockMoves, Table, block_moves
from pandas_blowfish.policy.product import Block, RecordGraph


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


def moves_of(blocks: Sequence[Block], tally: Tally) -> BlockMoves:
    """Return what edges of some blocks do to the filter classes of a tally."""
    classes = dict(zip(tally.domain.columns, tally.sieve.classes, strict=True))
    marks = {
        column: np.maximum(each, 0) for column, each in zip(tally.domain.columns, tally.marks, strict=True)
    }
    return block_moves(blocks, classes, marks)


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
