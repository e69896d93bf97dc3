"""Ordered: prefix sums of each segment, from the end that fewer rows can leave by. Never sees rows."""

from __future__ import annotations

from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.nest import Layout

NAME = "ordered"


def layouts(line: Line) -> list[Layout]:
    """Return prefix sums, and where rows can leave the line suffix sums too.

    Proof note:
        Requires: no touched facts.
        Ensures:  with a threshold that reaches theta atoms, and no way to leave, one edge changes
                  min(theta, k - 1) of the sums, by one each; a filter that rows leave at one end only
                  costs no more when sums start at the other.
        Because:  moving a row from x to y changes just the prefixes that end between them; a row that
                  leaves from x changes those that end after x (SIGMOD 2014, Theorem 7.1, for theta = 1).
        Checked:  tests/plan/line/test_ordered.py::test_sensitivity_is_the_reach
    """
    return [Layout(1), Layout(1, mirrored=True)] if line.open else [Layout(1)]
