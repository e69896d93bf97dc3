"""Ordered hierarchical: prefix sums at the ends of blocks, and a tree within each. Never sees rows."""

from __future__ import annotations

from fractions import Fraction

from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.hierarchical import branchings, longest_segment
from pandas_blowfish.plan.line.nest import Layout

NAME = "ordered_hierarchical"
FAR = 1 << 13  # a reach beyond which fewer spacings are tried
RATIOS = tuple(Fraction(a, b) for a, b in ((1, 4), (1, 3), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (3, 1)))


def layouts(line: Line) -> list[Layout]:
    """Return blocks from a quarter to three times the longest edge, with trees of any height.

    Proof note:
        Requires: no touched facts.
        Ensures:  with a threshold of theta atoms, blocks of g, scale 1 / e_S on prefixes and 1 / e_l on
                  level l, the loss is at most ceil(theta / g) e_S + 2 sum e_l.
        Because:  an edge of length theta passes at most ceil(theta / g) block ends, and changes at most
                  two counts of each level (SIGMOD 2014, section 7.2, with the budgets it should have).
        Checked:  tests/plan/line/test_ordered_hierarchical.py::test_loss_formula
    """
    longest = longest_segment(line)
    reach = max(int((line.between[:, 1] - line.between[:, 0]).max(initial=1)), 1)
    ratios = RATIOS if reach < FAR else (Fraction(1, 2), Fraction(1))
    spacings = sorted({round(reach * ratio) for ratio in ratios})
    found = [
        Layout(spacing, each) for spacing in spacings if 1 < spacing < longest for each in branchings(spacing)
    ]
    if line.open:
        found += [Layout(each.spacing, each.branching, mirrored=True) for each in found]
    return found
