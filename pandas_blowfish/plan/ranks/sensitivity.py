"""How one edge changes which candidate has most. Never sees rows."""

from __future__ import annotations

from fractions import Fraction

from pandas_blowfish.plan.ranks.candidates import Candidates
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.policy.graph.records import RecordGraph


def range_sensitivity(graph: RecordGraph, candidates: Candidates) -> Fraction:
    """Return by how much one edge changes differences of candidates, at most, all groups together.

    Args:
        graph: The secret graph projected on the tally's columns.
        candidates: What is chosen from.

    Proof note:
        Requires: no touched facts; neighbours move one row along one edge of `graph`.
        Ensures:  at least the sum over groups of the largest change of a candidate's count less the
                  smallest, over any edge; equal where every group has two candidates or more.
        Because:  counts of one group change by +1, by -1, or by both: the range is their L1 change where some
                  other candidate stays or both change, and less where a group has just one candidate, of
                  which no difference is left.
        Checked:  tests/plan/ranks/test_sensitivity.py::test_matches_enumeration
    """
    return tally_sensitivity(graph, candidates.tally) if candidates.most > 1 else Fraction(0)
