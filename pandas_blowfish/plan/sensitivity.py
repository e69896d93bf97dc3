"""Closed forms of sensitivity, in exact fractions. Never sees rows; the oracle is the slow twin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.workload import Binning, Tally
from pandas_blowfish.policy.graph import Ints, SecretGraph, connect
from pandas_blowfish.policy.product import RecordGraph


def tally_sensitivity(graph: RecordGraph, tally: Tally) -> Fraction:
    """Return the largest L1 change that one edge makes to counts of bins.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: Counts over bins, each cell in at most one.

    Examples:
        >>> from pandas_blowfish.policy.graph import Cliques
        >>> from pandas_blowfish.policy.product import Block
        >>> from pandas_blowfish.policy.domain import Domain, integers
        >>> from pandas_blowfish.plan.workload import tally
        >>> age = tally(Domain((integers("age", 0, 9),)), ["age"], None)
        >>> tally_sensitivity(RecordGraph((Block(("age",), Cliques.full(10)),)), age)
        Fraction(2, 1)

    Proof note:
        Requires: no facts, a public row count, neighbours move one row along one edge of `graph`.
        Ensures:  result = max over edges (x, y) of ||A(e_x - e_y)||_1, A the bins x cells matrix.
        Because:  a row's bin changes exactly if some column's bin does, and it is counted exactly if it is
                  in every column; the other columns may stay in a counted cell, so the maximum over the
                  product is the maximum over its columns.
        Checked:  tests/plan/test_sensitivity.py::test_matches_brute_force
    """
    changes = (block.graph.visible(b.labels) for block, b in zip(graph.blocks, tally.binnings, strict=True))
    return Fraction(max(changes, default=0))


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
        Requires: as `tally_sensitivity`; the row count is public.
        Ensures:  the count of every bin in `alone`, and every total, has sensitivity 0.
        Because:  bins are joined when an edge leads from one to the other, uncounted cells together as
                  one more bin. No edge leaves a connected class, so its total cannot change. In a
                  product the classes are the products of the columns' classes.
        Checked:  tests/plan/test_sensitivity.py::test_exact_parts_have_sensitivity_zero
    """
    classes = np.zeros(1, dtype=np.int64)
    single = np.ones(1, dtype=bool)
    for block, binning in zip(graph.blocks, tally.binnings, strict=True):
        each, count = _classes(block.graph, binning)
        lone = np.bincount(each[each >= 0], minlength=count)[each] == 1
        joined = classes[:, None] * count + each
        classes = np.where((classes[:, None] < 0) | (each < 0), -1, joined).ravel()
        single = (single[:, None] & lone).ravel()
    alone = single & (classes >= 0)
    shared = (classes >= 0) & ~alone
    total_of = np.full(len(classes), -1, dtype=np.int64)
    found, total_of[shared] = np.unique(classes[shared], return_inverse=True)
    return ExactParts(alone, total_of, len(found))


def _classes(graph: SecretGraph, binning: Binning) -> tuple[Ints, int]:
    """Return the connected class of each bin (-1 where it is joined to uncounted cells), and their number."""
    if binning.labels is None:
        classes = graph.components
        return classes, int(classes.max(initial=-1)) + 1
    ends = np.where(binning.labels < 0, binning.bins, binning.labels)[graph.pairs()]
    classes = connect(np.unique(ends, axis=0), binning.bins + 1)
    count = int(classes.max()) + 1
    return np.where(classes[:-1] == classes[-1], -1, classes[:-1]), count
