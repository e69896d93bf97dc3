"""Cells: every atom of a line by itself, ranges as sums of atoms. Never sees rows."""

from __future__ import annotations

from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.hierarchical import longest_segment
from pandas_blowfish.plan.line.nest import Layout

NAME = "identity"


def layouts(line: Line) -> list[Layout]:
    """Return the single atoms: an edge changes two counts, or one where the row leaves.

    Proof note:
        Requires: no touched facts.
        Ensures:  the sensitivity is 2 where an edge joins two atoms, 1 where rows can only leave.
        Because:  each row of the table is counted in at most one atom.
        Checked:  tests/plan/line/test_cells.py::test_sensitivity_is_two
    """
    longest = longest_segment(line)
    return [Layout(None, (longest,) if longest > 1 else ())]
