"""Closed forms of sensitivity, in exact fractions. Never sees rows; the oracle is the slow twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Bools, Ints
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.records import Block, BlockMoves, RecordGraph, block_moves
from pandas_blowfish.policy.graph.secret_graph import connect


def counts_loss(tally: Tally, own: ExactParts, scale: Fraction, graph: RecordGraph) -> Fraction | None:
    """Return what counts of bins lose over a graph that holds every edge they were planned under.

    None where an exact count, or total, may change.

    Args:
        tally: The bins.
        own: What is exact under the edges planned for.
        scale: The noise of all other counts.
        graph: More edges.

    Proof note:
        Requires: `graph` holds every edge that `own` and `scale` were planned under.
        Ensures:  the result is at least the loss of every edge of `graph`.
        Because:  noisy counts change by `tally_sensitivity` at most; exact ones, and totals, do not where
                  they are exact under `graph`, too.
        Checked:  tests/plan/test_worst_case.py::test_at_least_every_pair
    """
    known = own.totals or own.alone.any()
    rows = own.totals == 1 and not own.total_of.any() and counts_all(graph, tally)
    if known and not rows and not stays_exact(own, exact_parts(graph, tally)):
        return None
    change = tally_sensitivity(graph, tally)
    if change and not scale:
        return None
    return change / scale if change else Fraction(0)


def still_exact(tally: Tally, own: ExactParts, graph: RecordGraph) -> bool:
    """Return whether the counts, and totals, of bins that are exact stay so over a graph of more edges."""
    return not (own.totals or own.alone.any()) or counts_loss(tally, own, Fraction(1), graph) is not None


def counts_all(graph: RecordGraph, tally: Tally) -> bool:
    """Return whether every row is in some bin, and how many rows there are is public."""
    kept = tally.condition is None and not graph.presence
    return kept and all(int(marks.min()) >= 0 for marks in tally.marks)


def stays_exact(own: ExactParts, wider: ExactParts) -> bool:
    """Return whether what is exact under some edges is exact, too, under those of a graph that holds them."""
    inside = own.total_of >= 0
    joined = wider.total_of[inside]
    if (own.alone & ~wider.alone).any() or (joined < 0).any():
        return False
    mine, theirs = np.bincount(own.total_of[inside]), np.bincount(wider.total_of[wider.total_of >= 0])
    return bool((mine[own.total_of[inside]] == theirs[joined]).all())  # as many bins are joined


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

    between: Bools
    across: Bools
    across_still: Bools
    leave: Bools
    leave_still: Bools


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
        Checked:  tests/plan/line/test_axis.py::test_losses_match_enumeration
    """
    name = tally.domain.columns[axis]
    others = moves_of([block for block in graph.blocks if name not in block.columns], tally)
    place = {column: rank for rank, column in enumerate(tally.domain.columns)}
    passes = np.transpose(tally.sieve.passes, [*(place[column] for column in others.columns), axis])
    passes = passes.reshape(-1, tally.sieve.passes.shape[axis])

    def joined(start: Bools, link: Bools, end: Bools) -> Bools:
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


def tally_sensitivity(graph: RecordGraph, tally: Tally) -> Fraction:
    """Return the largest L1 change that one edge makes to counts of bins.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: Counts over bins of the cells that pass its filter, each cell in at most one.

    Examples:
        >>> from pandas_blowfish.policy.graph.secret_graph import Cliques
        >>> from pandas_blowfish.policy.graph.records import Block
        >>> from pandas_blowfish.policy.domain import Domain, integers
        >>> from pandas_blowfish.plan.tally import tally
        >>> age = tally(Domain((integers("age", 0, 9),)), ["age"], None)
        >>> tally_sensitivity(RecordGraph((Block(("age",), Cliques.full(10)),)), age)
        Fraction(2, 1)

    Proof note:
        Requires: no touched facts; neighbours move one row along one edge of `graph`.
        Ensures:  result = max over edges (x, y) of ||A(e_x - e_y)||_1, A the bins x cells matrix.
        Because:  an edge changes the counts by 2 if its ends are counted in two bins, by 1 if just one end
                  is counted, else by 0. Blocks move independently, so which combinations of filter
                  classes an edge joins, and whether it changes a bin, follows from each block's own
                  table (`Relation`) and the number of blocks that must move.
        Checked:  tests/plan/test_sensitivity.py::test_matches_brute_force
    """
    change = edge_reach(graph, tally)
    absent = int(graph.presence and bool(tally.sieve.passes.any()))
    return Fraction(max(2 if change.crosses else 0, int(change.leaves), absent))


@dataclass(frozen=True)
class EdgeReach:
    """What one edge can do: take a row from one counted bin to another, or out of the filter."""

    crosses: bool
    leaves: bool


def edge_reach(graph: RecordGraph, tally: Tally) -> EdgeReach:
    """Return what edges can do, by going through all pairs of combinations of filter classes."""
    moves = moves_of(graph.blocks, tally)
    place = {name: rank for rank, name in enumerate(tally.domain.columns)}
    passes = np.transpose(tally.sieve.passes, [place[column] for column in moves.columns]).ravel()
    both, one = passes[:, None] & passes[None, :], passes[:, None] ^ passes[None, :]
    crosses, leaves = both & moves.changing(graph.limit), one & moves.within(graph.limit)
    return EdgeReach(bool(crosses.any()), bool(leaves.any()))


@dataclass(frozen=True, eq=False)
class ExactParts:
    """What the policy leaves exact of a tally: bins no edge leaves, and totals of connected bins.

    Attributes:
        alone: Bins whose own count is the same in all neighbouring tables.
        total_of: For each bin the number of the exact total it belongs to, -1 for none.
        totals: How many such totals there are.
    """

    alone: NDArray[np.bool_]
    total_of: Ints
    totals: int


def exact_parts(graph: RecordGraph, tally: Tally) -> ExactParts:
    """Return the finest sums of bins that no edge of the policy changes.

    Proof note:
        Requires: as `tally_sensitivity`.
        Ensures:  the count of every bin in `alone`, and every total, has sensitivity 0.
        Because:  bins without a counted cell are always 0. Where presence is public and no edge leaves
                  the filter, bins are joined when an edge leads from one to the other, cells without a
                  bin together as one more; no edge leaves a connected class, so its total cannot
                  change, and the classes of a product are the products of the blocks' classes; those of
                  a ball, or cubes, which steps along the axes connect, of the axes' classes.
        Checked:  tests/plan/test_sensitivity.py::test_exact_parts_have_sensitivity_zero
    """
    occupied = tally.occupied
    nothing = ExactParts(~occupied, np.full(len(occupied), -1, dtype=np.int64), 0)
    if graph.presence or (tally.condition is not None and edge_reach(graph, tally).leaves):
        return nothing
    place = {name: rank for rank, name in enumerate(tally.domain.columns)}
    classes, single = np.zeros(tally.shape, dtype=np.int64), np.ones(tally.shape, dtype=bool)
    for block in [part for whole in graph.blocks for part in _axes(whole)]:
        ranks = [place[column] for column in block.columns]
        each, count = _classes(block, [tally.binnings[rank] for rank in ranks])
        lone = np.bincount(each if each.min(initial=0) >= 0 else each[each >= 0], minlength=count)[each] == 1
        view = [tally.shape[rank] if rank in ranks else 1 for rank in range(len(tally.shape))]
        each, lone = each.reshape(view), lone.reshape(view)
        joined = classes * count
        joined += each
        joined[(classes < 0) | (each < 0)] = -1
        classes, single = joined, single & lone
    classes, single = classes.ravel(), single.ravel()
    alone = (single & (classes >= 0)) | ~occupied
    return ExactParts(alone, *number_classes(classes, (classes >= 0) & ~alone))


def number_classes(classes: Ints, kept: Bools) -> tuple[Ints, int]:
    """Return classes as numbers 0, 1, ... in their order, -1 where they are not kept, and how many there are.

    Examples:
        >>> numbers, many = number_classes(np.array([7, 2, 7, 5]), np.array([True, True, True, False]))
        >>> numbers.tolist(), many
        ([1, 0, 1, -1], 2)
    """
    most = int(classes.max(initial=-1)) + 1
    if most > 2 * len(classes):  # classes of a product: fewer than there may be
        numbers = np.full(len(classes), -1, dtype=np.int64)
        found, numbers[kept] = np.unique(classes[kept], return_inverse=True)
        return numbers, len(found)
    seen = np.zeros(most + 1, dtype=bool)  # the last is of those that have no class
    seen[classes[kept]] = True
    seen[most] = False
    rank = np.where(seen, np.cumsum(seen) - 1, -1)
    numbers = rank[classes]
    numbers[~kept] = -1
    return numbers, int(seen.sum())


def _axes(block: Block) -> list[Block]:
    """Return a ball, or cubes, as the blocks of its axes, which connect the same cells; else the block."""
    if not isinstance(block.graph, (OffsetBall, Cubes)):
        return [block]
    return [Block((column,), block.graph.along(axis)) for axis, column in enumerate(block.columns)]


def _classes(block: Block, binnings: list[Binning]) -> tuple[Ints, int]:
    """Return the connected class of each bin of a block (-1 where it is joined to uncounted cells)."""
    if all(binning.labels is None for binning in binnings):
        classes = block.graph.components
        return classes, int(classes.max(initial=-1)) + 1
    labels, bins = np.zeros(1, dtype=np.int64), 1
    for binning in binnings:
        each = np.arange(binning.attribute.size) if binning.labels is None else binning.labels
        joined = labels[:, None] * binning.bins + each
        labels = np.where((labels[:, None] < 0) | (each < 0), -1, joined).ravel()
        bins *= binning.bins
    pairs = block.graph.pairs()
    ends = np.where(labels < 0, bins, labels)[pairs]
    keys = np.unique(ends[:, 0] * (bins + 1) + ends[:, 1])
    classes = connect(np.column_stack(np.divmod(keys, bins + 1)), bins + 1)
    count = int(classes.max()) + 1
    return np.where(classes[:-1] == classes[-1], -1, classes[:-1]), count
