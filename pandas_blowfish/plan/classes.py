"""Which filter classes of one column an edge can join, whatever the other columns do. Never sees rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.product import RecordGraph

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
    sieve, place = tally.sieve, {name: rank for rank, name in enumerate(tally.domain.columns)}
    others = [block for block in graph.blocks if place[block.columns[0]] != axis]
    axes = [place[column] for block in others for column in block.columns]
    counts = [math.prod(sieve.passes.shape[place[c]] for c in block.columns) for block in others]
    passes = np.transpose(sieve.passes, [*axes, axis]).reshape(-1, sieve.passes.shape[axis])
    codes = np.unravel_index(np.arange(len(passes)), counts) if counts else ()
    shape = (len(passes), len(passes))
    moved, possible = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=bool)
    free, extra = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for block, code in zip(others, codes, strict=True):
        ranks = [place[column] for column in block.columns]
        marks = [np.maximum(tally.marks[rank], 0) for rank in ranks]
        found = block.relation([sieve.classes[rank] for rank in ranks], marks)
        stays = code[:, None] == code[None, :]
        move, cross = found.move[np.ix_(code, code)], found.cross[np.ix_(code, code)]
        moved += ~stays
        possible &= stays | move
        free |= ~stays & cross
        extra |= stays & cross

    def joined(start: Table, link: Table, end: Table) -> Table:
        return np.asarray((start.T.astype(float) @ link.astype(float) @ end.astype(float)) > 0)

    def line_changes(spare: int) -> Table:
        return possible & ((free & (moved <= spare)) | (extra & (moved + 1 <= spare)))

    limit = graph.limit
    can_move, can_stay = possible & (moved + 1 <= limit), possible & (moved <= limit)
    return ClassMoves(
        joined(passes, can_move, passes),
        joined(passes, line_changes(limit - 1), passes),
        np.diagonal(joined(passes, line_changes(limit), passes)).copy(),
        joined(passes, can_move, ~passes),
        np.diagonal(joined(passes, can_stay, ~passes)).copy(),
    )
