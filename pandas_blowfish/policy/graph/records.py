"""The secret graph of whole records: blocks of columns that may each move along their own graph.

Never sees rows. A query on some columns sees only the projection of this graph on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pandas_blowfish.errors import DomainTooLargeError, SecretError
from pandas_blowfish.exact.arrays import Bools, Ints
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.joint import build_joint
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import MAX_EDGES, Relation, SecretGraph, flatten


@dataclass(frozen=True, eq=False)
class Block:
    """Columns whose values move together, and the graph on their joint cells (C order)."""

    columns: tuple[str, ...]
    graph: SecretGraph
    shape: tuple[int, ...] = ()
    secret: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[Attribute, ...] = ()  # of the whole block, where it is a joint one

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of cells of each column."""
        return self.shape or (self.graph.size,)

    def project(self, columns: Sequence[str]) -> Block:
        """Return the block as seen on some of its columns, in the order given."""
        if tuple(columns) == self.columns:
            return self
        seen = [next(a for a in self.attributes if a.name == column) for column in columns]
        graph = build_joint(self.secret, self.attributes, seen)
        return Block(tuple(columns), graph, tuple(a.size for a in seen), self.secret, self.attributes)

    def relation(self, classes: Sequence[Ints], labels: Sequence[Ints]) -> Relation:
        """Return what edges do to classes and labels given column by column."""
        if isinstance(self.graph, (OffsetBall, WithMissing, Cubes)):
            return self.graph.axis_relation(classes, labels)
        count = math.prod(int(each.max(initial=-1)) + 1 for each in classes)
        return self.graph.relation(flatten(classes), flatten(labels)).grown(count)


@dataclass(frozen=True, eq=False)
class RecordGraph:
    """Blocks that move independently: all of them at once, or at most `moves`; perhaps to "absent".

    Attributes:
        blocks: What moves together.
        moves: How many blocks one neighbour may change; None for all.
        presence: Whether every record is also joined to "absent", the cell after the last.
        order: The columns in the order cells are numbered in; None for block after block.
    """

    blocks: tuple[Block, ...]
    moves: int | None = None
    presence: bool = False
    order: tuple[str, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns in the order cells are numbered in."""
        return self.order or tuple(column for block in self.blocks for column in block.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of cells of each column, in order."""
        sizes = {c: n for block in self.blocks for c, n in zip(block.columns, block.sizes, strict=True)}
        return tuple(sizes[column] for column in self.columns)

    @property
    def limit(self) -> int:
        """Return how many of the blocks one neighbour may change."""
        return len(self.blocks) if self.moves is None else min(self.moves, len(self.blocks))

    def project(self, columns: Sequence[str]) -> RecordGraph:
        """Return the graph that a query on some columns sees.

        Proof note:
            Requires: nothing.
            Ensures:  two projected cells are joined exactly when some edge of the whole graph has them
                      as its two projections, unless they are equal.
            Because:  a block that no seen column is in may stay where it is, so it uses up no move, and
                      each seen block projects by itself.
            Checked:  tests/oracle/test_definition.py::test_projection_matches_definition
        """
        counted = {column for block in self.blocks for column in block.columns}
        if lost := [column for column in columns if column not in counted]:
            fix = "give bounds (and a wider step) to every column of its secret."
            raise SecretError(lost[0], "it shares a secret with a column that has no cells", fix=fix)
        kept = []
        for block in self.blocks:
            seen = [column for column in columns if column in block.columns]
            if seen:
                kept.append(block.project(seen))
        place = {column: rank for rank, column in enumerate(columns)}
        kept.sort(key=lambda block: place[block.columns[0]])
        return RecordGraph(tuple(kept), self.moves, self.presence, tuple(columns))

    @property
    def edge_count(self) -> int:
        """Return the number of edges, without listing them."""
        ways = [1] + [0] * self.limit  # ways[m]: ordered pairs of records that differ in m blocks
        for block in self.blocks:
            moved = 2 * block.graph.edge_count
            ways = [
                many * block.graph.size + (ways[m - 1] * moved if m else 0) for m, many in enumerate(ways)
            ]
        absent = math.prod(self.shape) if self.presence else 0
        return sum(ways[1:]) // 2 + absent

    def edges(self, limit: int = MAX_EDGES) -> Ints:
        """Return every edge once as rows of C-order cells; refused beyond `limit`."""
        if self.edge_count > limit:
            raise DomainTooLargeError("the edge list", self.edge_count, limit, fix="use the closed forms.")
        start, end, moved = (np.zeros(1, dtype=np.int64) for _ in range(3))
        for block in self.blocks:
            pairs, stay = block.graph.edges(), np.arange(block.graph.size)
            a = self._place(block, np.concatenate([stay, pairs[:, 0], pairs[:, 1]]))
            b = self._place(block, np.concatenate([stay, pairs[:, 1], pairs[:, 0]]))
            moved = (moved[:, None] + (np.arange(len(a)) >= len(stay))).ravel()
            start, end = (start[:, None] + a).ravel(), (end[:, None] + b).ravel()
            kept = moved <= self.limit
            start, end, moved = start[kept], end[kept], moved[kept]
        once = start < end
        listed = np.column_stack([start[once], end[once]])
        if not self.presence:
            return listed
        cells = np.arange(math.prod(self.shape))
        return np.concatenate([listed, np.column_stack([cells, np.full(len(cells), len(cells))])])

    def distance(
        self, start: Sequence[int], end: Sequence[int], beside: Sequence[int | float] = ()
    ) -> int | float:
        """Return the fewest steps from one record to another, infinite when none lead there.

        Args:
            start: The cell of each column to begin with.
            end: The cell of each column to reach.
            beside: The steps of blocks that are not among these, having no cells.

        Proof note:
            Requires: nothing.
            Ensures:  result = the graph distance when one step moves at most `moves` blocks by an edge,
                      or to or from "absent" where presence is secret.
            Because:  block i needs d_i steps, a step gives at most one to each block and `moves` in
                      all, so max(d_i) and ceil(sum d_i / moves) are needed; dealing the d_i out in
                      turn (McNaughton's rule) uses no more. "Absent" is one step from everything.
            Checked:  tests/policy/graph/test_records.py::test_distance_matches_search
        """
        codes = dict(zip(self.columns, zip(start, end, strict=True), strict=True))
        steps = [*beside]
        for block in self.blocks:
            ends = [[codes[column][side] for column in block.columns] for side in (0, 1)]
            flat = [int(np.ravel_multi_index(cells, block.sizes)) for cells in ends]
            steps.append(block.graph.distance(flat[0], flat[1]))
        longest = max(steps, default=0)
        if not math.isinf(longest) and steps:
            longest = max(longest, -(-sum(steps) // min(self.moves or len(steps), len(steps))))
        return min(longest, 2) if self.presence else longest

    def contains(self, other: RecordGraph) -> bool:
        """Tell whether every edge of another graph on the same columns is an edge here.

        Blocks are compared one by one where they are the same columns, otherwise edge by edge; where
        that would be too many edges the answer is False.
        """
        if other.presence and not self.presence:
            return False
        mine = {frozenset(block.columns): block for block in self.blocks}
        if set(mine) == {frozenset(block.columns) for block in other.blocks}:
            moving = sum(block.graph.edge_count > 0 for block in other.blocks)
            if min(self.limit, moving) < min(other.limit, moving):
                return False
            try:
                return all(
                    mine[frozenset(block.columns)].project(block.columns).graph.contains(block.graph)
                    for block in other.blocks
                )
            except DomainTooLargeError:
                return False
        if max(self.edge_count, other.edge_count) > MAX_EDGES // 10:
            return False
        here = {tuple(edge) for edge in self.edges().tolist()}
        return all(tuple(edge) in here for edge in other.project(self.columns).edges().tolist())

    def _place(self, block: Block, cells: Ints) -> Ints:
        """Return what a block's cells add to the C-order number of a record."""
        strides = {c: math.prod(self.shape[rank + 1 :]) for rank, c in enumerate(self.columns)}
        codes = np.unravel_index(cells, block.sizes)
        total = np.zeros(len(cells), dtype=np.int64)
        for column, code in zip(block.columns, codes, strict=True):
            total += code * strides[column]
        return total


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
    possible: Bools
    free: Bools
    extra: Bools

    def within(self, most: int) -> Bools:
        """Return which combinations an edge that moves at most so many blocks joins (or leaves alone)."""
        return np.asarray(self.possible & (self.moved <= most))

    def changing(self, most: int) -> Bools:
        """Return which it joins while it changes a label."""
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
