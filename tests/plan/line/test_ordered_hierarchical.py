"""Prefix sums at block ends with trees within: sound budgets, and tight ones."""

from fractions import Fraction

import pytest

from pandas_blowfish.plan.line import ordered_hierarchical
from pandas_blowfish.plan.line.hierarchical import branchings
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.runs import Nested


@pytest.mark.parametrize("size", [7, 12, 17])
def test_loss_formula(size, line_of):
    """The loss is at most ceil(theta / g) e_S + 2 sum e_l, and the scales make it exactly epsilon."""
    for theta in range(1, size + 1):
        lined = line_of(size, theta)
        for spacing in range(1, size):
            for branching in branchings(spacing):
                weights = tuple(range(3, 4 + len(branching)))
                layout = Layout(spacing, branching)
                found = Nested("x", lined.asked, lined.line, layout, weights, Fraction(1, 2))
                head, *levels = (1 / scale for scale in found.family_scales)

                bound = -(-min(theta, size - 1) // spacing) * head + 2 * sum(levels)

                assert found.epsilon <= bound
                assert lined.loss(found) == found.epsilon


def test_theta_one_and_deep_blocks_are_never_noiseless(line_of):
    """The papers' scale of s_1 is 0 at theta = 1; here every row of a family has the same, above 0."""
    lined = line_of(16, 1)
    found = Nested("x", lined.asked, lined.line, Layout(4, (2, 2)), (1, 1, 1), Fraction(1))

    assert all(scale > 0 for scale in found.family_scales)
    assert lined.loss(found) == 1


def test_layouts_lie_around_the_reach(line_of):
    """Blocks from a quarter to three times the threshold, shorter than the line; mirrored ones if open."""
    closed = ordered_hierarchical.layouts(line_of(100, 8).line)
    opened = ordered_hierarchical.layouts(line_of(100, 8, "x > 3").line)

    assert {layout.spacing for layout in closed} == {2, 3, 4, 5, 8, 12, 16, 24}
    assert not any(layout.mirrored for layout in closed)
    assert sum(layout.mirrored for layout in opened) * 2 == len(opened)
    assert ordered_hierarchical.layouts(line_of(2, 1).line) == []
