"""Counts of nested runs: an edge changes two a level, a row that leaves one."""

from fractions import Fraction

import pytest

from pandas_blowfish.plan.line import hierarchical
from pandas_blowfish.plan.line.hierarchical import branchings, longest_segment
from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.runs import Nested


def _hierarchical(lined, layout, weights):
    return Nested(hierarchical.NAME, lined.asked, lined.line, layout, weights, Fraction(2, 3))


@pytest.mark.parametrize("size", [3, 8, 13, 16])
def test_two_a_level(size, line_of):
    """Sensitivity 2 a level that tells joined atoms apart; with a way out one a level and the total."""
    for theta in (0, 1, 2, size - 1):
        lined, opened = line_of(size, theta), line_of(size, theta, presence=True)
        for layout in hierarchical.layouts(lined.line):
            levels = len(layout.branching)
            weights = tuple(range(1, levels + 1))
            found = _hierarchical(lined, layout, weights)
            out = _hierarchical(opened, layout, (3, *weights))

            assert found.sensitivity <= 2 * levels
            assert theta or found.sensitivity == 2 * levels
            assert lined.loss(found) == found.epsilon
            assert out.nest.families[0] == "total"
            assert out.sensitivity == max(found.sensitivity, levels + 1)
            assert opened.loss(out) == out.epsilon


def test_layouts_have_two_levels_or_more(line_of):
    """Every layout cuts a whole segment down to atoms."""
    for size in (1, 2, 3, 7, 64, 100):
        line = line_of(size, 2).line
        for layout in hierarchical.layouts(line):
            assert layout.spacing is None
            assert len(layout.branching) > 1
            assert Nest(line, layout).levels[-1].size == size


def test_branchings_end_in_single_atoms():
    """Each number of levels at most once, and all cuts matter."""
    for width in range(1, 200):
        found = branchings(width)
        assert len({len(each) for each in found}) == len(found)
        for each in found:
            left = width
            for factor in each:
                assert factor > 1
                left = -(-left // factor)
            assert left == 1


def test_the_longest_segment(line_of):
    """Of a filtered line it is the run that rows can move along."""
    assert longest_segment(line_of(9, 2).line) == 9
    assert longest_segment(line_of(9, 1, "x >= 4").line) == 5
    assert longest_segment(line_of(9, None).line) == 1
