"""Which columns of a row one edge can change at once, and whether it can lead the row away.

Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.pareto import is_maximal
from pandas_blowfish.plan.sensitivity import edge_reach
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques

Mask = NDArray[np.bool_]
MAX_PATTERNS = 4_096  # beyond which just the largest are listed
MAX_LISTED_EDGES = 500_000


@dataclass(frozen=True, eq=False)
class Changes:
    """What one edge may change of a row.

    Attributes:
        patterns: Sets of columns that an edge may change together, one row each.
        exact: Whether every such set is listed; else each is part of one that is.
        leaves: Whether an edge can lead a row to where it is not counted.
    """

    patterns: Mask
    exact: bool
    leaves: bool

    def losses(self, seen: Mask, folded: Mask | None = None) -> Ints:
        """Return by how much tables change, in L1, over an edge: patterns (then leaving) x tables.

        Args:
            seen: Tables x columns: whether a change of a column leads to another cell of the table.
            folded: Tables x columns: columns of two values of which just the difference is taken.

        Proof note:
            Requires: the patterns are as `changes` says; a table counts each row in one cell or none.
            Ensures:  no edge changes the tables by more, one by one, than some row says; where patterns
                      are listed exactly, and no filter cuts, some edge does change them by as much.
            Because:  a row that changes a seen column leaves one cell for another, a change of 2; where just
                      folded columns change it stays in its cell and its sign turns with each. A row that
                      leaves takes 1 from each table.
            Checked:  tests/plan/tables/test_sensitivity.py::test_losses_match_enumeration
        """
        patterns = self.patterns.astype(np.int64)
        hit = patterns @ seen.T.astype(np.int64)
        moved = hit > 0
        if self.exact and folded is not None:
            turned = patterns @ folded.T.astype(np.int64)
            moved &= (hit > turned) | (turned % 2 == 1)
        rows = 2 * moved.astype(np.int64)
        if self.leaves:
            rows = np.vstack([rows, np.ones((1, len(seen)), dtype=np.int64)])
        return np.unique(rows, axis=0)


def changes(graph: RecordGraph, tally: Tally) -> Changes:
    """Return the changes of a graph's columns, of rows that a tally of some of them counts.

    Proof note:
        Requires: no touched facts.
        Ensures:  every edge between counted cells changes just the columns of a listed set, or, where the
                  list is not exact, part of one; some edge leads away only if `leaves`.
        Because:  at most `limit` blocks move, independently, each by one of its own patterns; those of
                  balls are all parts of what their longest offsets change, those of groups the columns
                  that vary in one.
        Checked:  tests/plan/tables/test_sensitivity.py::test_patterns_match_enumeration
    """
    place = {name: rank for rank, name in enumerate(graph.columns)}
    moving = [(block, _block_patterns(block)) for block in graph.blocks if block.graph.edge_count]
    every = [_widened(block, own, place) for block, (own, _) in moving]
    listed = all(exact for _, (_, exact) in moving)
    seen = graph.project(tally.domain.columns)
    leaves = graph.presence or (not tally.sieve.trivial and edge_reach(seen, tally).leaves)
    limit = min(graph.limit, len(every))
    many = _ways([len(each) for each in every], limit)
    if listed and many <= MAX_PATTERNS:
        return Changes(_combined(every, limit, len(place), exactly=False), True, leaves)
    largest = [_largest(each) for each in every]
    if math.prod(len(each) + 1 for each in largest) > 2**62 or _top(largest, limit) > MAX_PATTERNS:
        largest = [np.logical_or.reduce(each, axis=0)[None, :] for each in largest]
    if _top(largest, limit) > MAX_PATTERNS:  # as if all blocks could move
        limit = len(largest)
    return Changes(_combined(largest, limit, len(place), exactly=True), False, leaves)


def _block_patterns(block: Block) -> tuple[Mask, bool]:
    """Return the sets of a block's columns that one of its edges may change; False if just the largest."""
    shape, graph = block.sizes, block.graph
    if len(shape) == 1:
        return np.ones((1, 1), dtype=bool), True
    if isinstance(graph, OffsetBall):
        return _subsets(np.unique(graph.front > 0, axis=0))
    if isinstance(graph, Cubes):
        sizes = [np.unique(np.bincount(own)[np.unique(own)] > 1).tolist() for own in graph.axes]
        return _subsets(np.array(list(itertools.product(*sizes)), dtype=bool))
    if isinstance(graph, Cliques):
        return _subsets(_varying(graph.components, shape))
    if graph.edge_count <= MAX_LISTED_EDGES:
        ends = [np.column_stack(np.unravel_index(end, shape)) for end in graph.edges().T]
        return np.unique(ends[0] != ends[1], axis=0), True
    return _subsets(np.array(shape)[None, :] > 1)


def _varying(groups: Ints, shape: tuple[int, ...]) -> Mask:
    """Return, for groups that are products of one a column, which columns vary in each."""
    found = []
    for codes in np.unravel_index(np.arange(len(groups)), shape):
        low, high = np.full(len(groups), len(groups)), np.full(len(groups), -1)
        np.minimum.at(low, groups, codes)
        np.maximum.at(high, groups, codes)
        found.append((low < high)[: int(groups.max()) + 1])
    return np.unique(np.column_stack(found), axis=0)


def _subsets(masks: Mask) -> tuple[Mask, bool]:
    """Return every non-empty part of some sets; False if just the largest, where these are too many."""
    parts = masks
    for column in range(masks.shape[1]):
        without = parts.copy()
        without[:, column] = False
        parts = np.unique(np.concatenate([parts, without]), axis=0)
        if len(parts) > MAX_PATTERNS + 1:
            return _largest(masks), False
    return np.asarray(parts[parts.any(axis=1)]), True


def _widened(block: Block, own: Mask, place: dict[str, int]) -> Mask:
    wide = np.zeros((len(own), len(place)), dtype=bool)
    wide[:, [place[column] for column in block.columns]] = own
    return wide


def _largest(masks: Mask) -> Mask:
    """Drop sets that are part of another; the widest come first."""
    widest = masks[np.argsort(-masks.sum(axis=1), kind="stable")]
    return np.asarray(widest[is_maximal(widest)])


def _ways(counts: list[int], limit: int) -> int:
    """Return in how many ways at most `limit` blocks can move, each by one of its patterns."""
    ways = [1] + [0] * limit
    for count in counts:
        for moved in range(limit, 0, -1):
            ways[moved] += ways[moved - 1] * count
    return sum(ways)


def _top(largest: list[Mask], limit: int) -> int:
    """Return in how many ways exactly `limit` blocks can move."""
    counts = [len(each) for each in largest]
    return _ways(counts, limit) - (_ways(counts, limit - 1) if limit else 0)


def _combined(every: list[Mask], limit: int, width: int, *, exactly: bool) -> Mask:
    """Return the unions of one pattern each of some blocks: at most `limit`, or exactly so many."""
    found = [np.zeros((1, width), dtype=bool)] + [np.zeros((0, width), dtype=bool)] * limit
    for left, each in zip(range(len(every) - 1, -1, -1), every, strict=True):
        for moved in range(limit, 0, -1):
            union = (found[moved - 1][:, None, :] | each[None, :, :]).reshape(-1, width)
            found[moved] = np.concatenate([found[moved], union])
        if exactly:  # what can no longer reach `limit` would double with every block
            found = [some if many + left >= limit else some[:0] for many, some in enumerate(found)]
    kept = found[limit] if exactly else np.concatenate(found)
    return np.unique(kept[kept.any(axis=1)], axis=0)
