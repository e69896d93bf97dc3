"""Hierarchical: counts of nested runs, a scale a level, all used together (Hb). Never sees rows."""

from __future__ import annotations

from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.nest import Layout

NAME = "hierarchical"
MAX_LEVELS = 6


def layouts(line: Line) -> list[Layout]:
    """Return trees of two and more levels over whole segments.

    Proof note:
        Requires: no touched facts.
        Ensures:  an edge between two atoms of a segment changes at most two counts of each level; a row
                  that leaves changes one.
        Because:  the nodes of a level are disjoint.
        Checked:  tests/plan/line/test_hierarchical.py::test_two_a_level
    """
    longest = longest_segment(line)
    return [Layout(None, each) for each in branchings(longest) if len(each) > 1]


def longest_segment(line: Line) -> int:
    """Return how many atoms the longest segment has."""
    ends = [*line.starts[1:].tolist(), line.size]
    return max((end - start for start, end in zip(line.starts.tolist(), ends, strict=True)), default=1)


def branchings(width: int) -> list[tuple[int, ...]]:
    """Return ways to cut a run of atoms down to single ones: each number of levels, nearly even.

    Examples:
        >>> branchings(16)
        [(16,), (4, 4), (3, 2, 3), (2, 2, 2, 2)]
    """
    found: list[tuple[int, ...]] = []
    for levels in range(1, MAX_LEVELS + 1):
        left, cut = width, []
        for number in range(levels):
            factor = left if number == levels - 1 else max(2, round(left ** (1 / (levels - number))))
            if left > 1:
                cut.append(min(factor, left))
                left = -(-left // cut[-1])
        if left == 1 and len(cut) == levels and cut[-1] > 1:
            found.append(tuple(cut))
    return found or [()]
