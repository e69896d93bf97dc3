"""Closed forms of sensitivity, in exact fractions. Never sees rows; the oracle is the slow twin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.classes import moves_of
from pandas_blowfish.plan.workload import Binning, Tally
from pandas_blowfish.policy.cubes import Cubes
from pandas_blowfish.policy.graph import Ints, connect
from pandas_blowfish.policy.offsets import OffsetBall
from pandas_blowfish.policy.product import Block, RecordGraph


def tally_sensitivity(graph: RecordGraph, tally: Tally) -> Fraction:
    """Return the largest L1 change that one edge makes to counts of bins.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: Counts over bins of the cells that pass its filter, each cell in at most one.

    Examples:
        >>> from pandas_blowfish.policy.graph import Cliques
        >>> from pandas_blowfish.policy.product import Block
        >>> from pandas_blowfish.policy.domain import Domain, integers
        >>> from pandas_blowfish.plan.workload import tally
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
    occupied = tally.sieve.occupied(tally.marks, tally.shape)
    nothing = ExactParts(~occupied, np.full(len(occupied), -1, dtype=np.int64), 0)
    if graph.presence or (tally.condition is not None and edge_reach(graph, tally).leaves):
        return nothing
    place = {name: rank for rank, name in enumerate(tally.domain.columns)}
    classes, single = np.zeros(tally.shape, dtype=np.int64), np.ones(tally.shape, dtype=bool)
    for block in [part for whole in graph.blocks for part in _axes(whole)]:
        ranks = [place[column] for column in block.columns]
        each, count = _classes(block, [tally.binnings[rank] for rank in ranks])
        lone = np.bincount(each[each >= 0], minlength=count)[each] == 1
        view = [tally.shape[rank] if rank in ranks else 1 for rank in range(len(tally.shape))]
        each, lone = each.reshape(view), lone.reshape(view)
        classes = np.where((classes < 0) | (each < 0), -1, classes * count + each)
        single = single & lone
    classes, single = classes.ravel(), single.ravel()
    alone = (single & (classes >= 0)) | ~occupied
    shared = (classes >= 0) & ~alone
    total_of = np.full(len(classes), -1, dtype=np.int64)
    found, total_of[shared] = np.unique(classes[shared], return_inverse=True)
    return ExactParts(alone, total_of, len(found))


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
