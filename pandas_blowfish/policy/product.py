"""The secret graph of whole records: blocks of columns that may each move along their own graph.

Never sees rows. A query on some columns sees only the projection of this graph on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.graph import MAX_EDGES, Ints, SecretGraph


@dataclass(frozen=True, eq=False)
class Block:
    """Columns whose values move together, and the graph on their cells."""

    columns: tuple[str, ...]
    graph: SecretGraph


@dataclass(frozen=True, eq=False)
class RecordGraph:
    """The strong product of the blocks: every block may move at once (neighbors="record")."""

    blocks: tuple[Block, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of cells of each block."""
        return tuple(block.graph.size for block in self.blocks)

    def project(self, columns: Sequence[str]) -> RecordGraph:
        """Return the graph that a query on some columns sees, blocks in the order asked.

        Proof note:
            Requires: every block is one column.
            Ensures:  two projected cells are joined exactly when some edge of the whole graph has them
                      as its two projections, unless they are equal.
            Because:  in a strong product the other blocks may stay where they are.
            Checked:  tests/plan/test_oracle.py::test_projection_matches_definition
        """
        by_column = {block.columns[0]: block for block in self.blocks}
        return RecordGraph(tuple(by_column[column] for column in columns))

    @property
    def edge_count(self) -> int:
        """Return the number of edges, without listing them."""
        moves = math.prod(block.graph.size + 2 * block.graph.edge_count for block in self.blocks)
        return (moves - math.prod(self.shape)) // 2

    def edges(self, limit: int = MAX_EDGES) -> Ints:
        """Return every edge once as rows of C-order cells; refused beyond `limit`."""
        if self.edge_count > limit:
            raise DomainTooLargeError("the edge list", self.edge_count, limit, fix="use the closed forms.")
        start, end = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for block in self.blocks:
            pairs, stay = block.graph.edges(), np.arange(block.graph.size)
            a = np.concatenate([stay, pairs[:, 0], pairs[:, 1]])
            b = np.concatenate([stay, pairs[:, 1], pairs[:, 0]])
            start = (start[:, None] * block.graph.size + a).ravel()
            end = (end[:, None] * block.graph.size + b).ravel()
        once = start < end
        return np.column_stack([start[once], end[once]])

    def distance(self, start: Sequence[int], end: Sequence[int], moves: int | None = None) -> int | float:
        """Return the fewest steps from one record to another, infinite when none lead there.

        Args:
            start: The cell of each block to begin with.
            end: The cell of each block to reach.
            moves: How many blocks may move in one step; None for all of them.

        Proof note:
            Requires: moves is None or at least 1.
            Ensures:  result = the graph distance when one step moves at most `moves` blocks by an edge.
            Because:  block i needs d_i steps, a step gives at most one to each block and `moves` in
                      all, so max(d_i) and ceil(sum d_i / moves) are needed; dealing the d_i out in
                      turn (McNaughton's rule) uses no more.
            Checked:  tests/policy/test_product.py::test_distance_matches_search
        """
        steps = [block.graph.distance(a, b) for block, a, b in zip(self.blocks, start, end, strict=True)]
        longest = max(steps, default=0)
        if moves is None or math.isinf(longest):
            return longest
        return max(longest, -(-sum(steps) // moves))

    def contains(self, other: RecordGraph) -> bool:
        """Tell whether every edge of another product over the same blocks is an edge here."""
        return all(
            mine.graph.contains(theirs.graph) for mine, theirs in zip(self.blocks, other.blocks, strict=True)
        )
