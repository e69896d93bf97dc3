"""The five strategies of nested runs: cells, ordered, ordered hierarchical, hierarchical, haar.

Never sees rows. Each function proposes layouts for a line; `search` picks the best of them and its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.nest import Layout

CELLS, ORDERED, ORDERED_HIERARCHICAL = "identity", "ordered", "ordered_hierarchical"
HIERARCHICAL, HAAR = "hierarchical", "haar"
MAX_LEVELS = 6
FAR = 1 << 13  # a reach beyond which fewer spacings are tried
RATIOS = tuple(Fraction(a, b) for a, b in ((1, 4), (1, 3), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (3, 1)))


def lay_cells(line: LineGraph) -> list[Layout]:
    """Return the single atoms, ranges being sums of atoms: an edge changes two, or one where a row leaves.

    Proof note:
        Requires: no touched facts.
        Ensures:  the sensitivity is 2 where an edge joins two atoms, 1 where rows can only leave.
        Because:  each row of the table is counted in at most one atom.
        Checked:  tests/plan/line/test_layouts.py::test_sensitivity_of_cells_is_two
    """
    longest = longest_segment(line)
    return [Layout(None, (longest,) if longest > 1 else ())]


def lay_ordered(line: LineGraph) -> list[Layout]:
    """Return prefix sums of each segment, and where rows can leave the line suffix sums too.

    Proof note:
        Requires: no touched facts.
        Ensures:  with a threshold that reaches theta atoms, and no way to leave, one edge changes
                  min(theta, k - 1) of the sums, by one each; a filter that rows leave at one end only
                  costs no more when sums start at the other.
        Because:  moving a row from x to y changes just the prefixes that end between them; a row that
                  leaves from x changes those that end after x (SIGMOD 2014, Theorem 7.1, for theta = 1).
        Checked:  tests/plan/line/test_layouts.py::test_sensitivity_of_prefixes_is_the_reach
    """
    return [Layout(1), Layout(1, mirrored=True)] if line.open else [Layout(1)]


def lay_ordered_hierarchical(line: LineGraph) -> list[Layout]:
    """Return prefix sums at the ends of blocks, and a tree of any height within each.

    Blocks are from a quarter to three times as long as the longest edge.

    Proof note:
        Requires: no touched facts.
        Ensures:  with a threshold of theta atoms, blocks of g, scale 1 / e_S on prefixes and 1 / e_l on
                  level l, the loss is at most ceil(theta / g) e_S + 2 sum e_l.
        Because:  an edge of length theta passes at most ceil(theta / g) block ends, and changes at most
                  two counts of each level (SIGMOD 2014, section 7.2, with the budgets it should have).
        Checked:  tests/plan/line/test_layouts.py::test_loss_formula_of_blocks_with_trees
    """
    longest = longest_segment(line)
    reach = max(int((line.between[:, 1] - line.between[:, 0]).max(initial=1)), 1)
    ratios = RATIOS if reach < FAR else (Fraction(1, 2), Fraction(1))
    spacings = [each for each in sorted({round(reach * ratio) for ratio in ratios}) if 1 < each < longest]
    layouts = [Layout(spacing, cuts) for spacing in spacings for cuts in branchings(spacing)]
    if line.open:
        layouts += [Layout(each.spacing, each.branching, mirrored=True) for each in layouts]
    return layouts


def lay_hierarchical(line: LineGraph) -> list[Layout]:
    """Return trees of two and more levels over whole segments, one scale per level, all used together (Hb).

    Proof note:
        Requires: no touched facts.
        Ensures:  an edge between two atoms of a segment changes at most two counts of each level; a row
                  that leaves changes one.
        Because:  the nodes of a level are disjoint.
        Checked:  tests/plan/line/test_layouts.py::test_trees_change_by_two_per_level
    """
    return [Layout(None, cuts) for cuts in branchings(longest_segment(line)) if len(cuts) > 1]


def lay_haar(line: LineGraph) -> list[Layout]:
    """Return left half less right half of every run of a binary tree of the longest segment (Privelet).

    Proof note:
        Requires: no touched facts.
        Ensures:  an edge between two atoms of a segment changes the rows of each level by at most 2.
        Because:  two atoms in the two halves of one node change its row by 2; in two nodes of a level
                  they change two rows by 1; in one half of one node nothing.
        Checked:  tests/plan/line/test_layouts.py::test_loss_of_wavelets_matches_enumeration
    """
    longest = longest_segment(line)
    return [Layout(None, (2,) * (longest - 1).bit_length(), wavelet=True)] if longest > 1 else []


# what nested runs can be, by the name of the strategy, in the order they are tried
LAYOUTS: dict[str, Callable[[LineGraph], list[Layout]]] = {
    CELLS: lay_cells,
    ORDERED: lay_ordered,
    ORDERED_HIERARCHICAL: lay_ordered_hierarchical,
    HIERARCHICAL: lay_hierarchical,
    HAAR: lay_haar,
}


def longest_segment(line: LineGraph) -> int:
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
