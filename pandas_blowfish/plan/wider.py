"""What is exact under some edges, and what counts lose, over a graph that holds more of them.

Never sees rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pandas_blowfish.plan.sensitivity import ExactParts, exact_parts, tally_sensitivity
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.product import RecordGraph


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
        Checked:  tests/plan/test_closure.py::test_at_least_every_pair
    """
    known = own.totals or own.alone.any()
    rows = own.totals == 1 and not own.total_of.any() and counts_all(graph, tally)
    if known and not rows and not stay(own, exact_parts(graph, tally)):
        return None
    change = tally_sensitivity(graph, tally)
    if change and not scale:
        return None
    return change / scale if change else Fraction(0)


def still_exact(tally: Tally, own: ExactParts, graph: RecordGraph) -> bool:
    """Tell whether the counts, and totals, of bins that are exact stay so over a graph of more edges."""
    return not (own.totals or own.alone.any()) or counts_loss(tally, own, Fraction(1), graph) is not None


def counts_all(graph: RecordGraph, tally: Tally) -> bool:
    """Tell whether every row is in some bin, and how many rows there are is public."""
    kept = tally.condition is None and not graph.presence
    return kept and all(int(marks.min()) >= 0 for marks in tally.marks)


def stay(own: ExactParts, wider: ExactParts) -> bool:
    """Tell whether what is exact under some edges is exact, too, under those of a graph that holds them."""
    inside = own.total_of >= 0
    joined = wider.total_of[inside]
    if (own.alone & ~wider.alone).any() or (joined < 0).any():
        return False
    mine, theirs = np.bincount(own.total_of[inside]), np.bincount(wider.total_of[wider.total_of >= 0])
    return bool((mine[own.total_of[inside]] == theirs[joined]).all())  # as many bins are joined
