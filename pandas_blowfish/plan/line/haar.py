"""Haar: left half less right half of every run of a binary tree (Privelet). Never sees rows."""

from __future__ import annotations

from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.hierarchical import longest_segment
from pandas_blowfish.plan.line.nest import Layout

NAME = "haar"


def layouts(line: Line) -> list[Layout]:
    """Return the binary tree of the longest segment, measured in differences.

    Proof note:
        Requires: no touched facts.
        Ensures:  an edge between two atoms of a segment changes the rows of each level by at most 2.
        Because:  two atoms in the two halves of one node change its row by 2; in two nodes of a level
                  they change two rows by 1; in one half of one node nothing.
        Checked:  tests/plan/line/test_haar.py::test_loss_matches_enumeration
    """
    longest = longest_segment(line)
    return [Layout(None, (2,) * (longest - 1).bit_length(), wavelet=True)] if longest > 1 else []
