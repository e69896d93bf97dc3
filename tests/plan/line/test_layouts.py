"""Layouts of nested runs: what one edge changes of cells, prefixes, blocks, trees and wavelets."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line.layouts import (
    CELLS,
    HAAR,
    HIERARCHICAL,
    ORDERED,
    branchings,
    lay_cells,
    lay_haar,
    lay_hierarchical,
    lay_ordered,
    lay_ordered_hierarchical,
    longest_segment,
)
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _cells(lined):
    (layout,) = lay_cells(lined.line)
    weights = (1,) * len(Nest(lined.line, layout).families)
    return Nested(CELLS, lined.asked, lined.line, layout, weights, Fraction(1, 5))


@pytest.mark.parametrize("size", [2, 5, 9])
def test_sensitivity_of_cells_is_two(size, line_of):
    """Whatever the threshold; the loss is exactly epsilon."""
    for theta in range(size):
        lined = line_of(size, theta)

        found = _cells(lined)

        assert found.sensitivity == 2
        assert found.mse > 0
        assert lined.loss(found) == found.epsilon


def test_rows_that_can_only_leave_change_one(on_line):
    """A public column with presence: each atom and its segment's total by itself, once."""
    policy = bf.Policy(Domain((integers("x", 0, 4),)), secrets={"x": bf.public()}, presence=True)
    lined = on_line(policy, "x")

    found = _cells(lined)

    assert found.layout == Layout(None, ())
    assert found.sensitivity == 1
    assert lined.loss(found) == found.epsilon


def test_cells_of_a_public_column_are_exact(line_of):
    """Nothing is measured with noise."""
    found = _cells(line_of(6, None))

    assert found.sensitivity == 0
    assert found.mse == 0


def _ordered(lined, mirrored=False, epsilon=Fraction(1, 3)):
    return Nested(ORDERED, lined.kind("prefixes"), lined.line, Layout(1, mirrored=mirrored), (1,), epsilon)


@pytest.mark.parametrize("size", [2, 5, 8, 13])
def test_sensitivity_of_prefixes_is_the_reach(size, line_of):
    """min(theta, k - 1) prefixes change, k - 1 under full; the loss is exactly epsilon."""
    for theta in range(size + 2):
        lined = line_of(size, theta)

        found = _ordered(lined)

        assert found.sensitivity == min(theta or size - 1, size - 1)
        assert lined.loss(found) == found.epsilon
        assert lay_ordered(lined.line) == [Layout(1)]


def test_a_row_that_can_leave_costs_from_the_far_end_only(line_of):
    """where x >= 4 of 0..7, theta 1: prefix sums change by 4, suffix sums by 1; auto takes these."""
    lined = line_of(8, 1, "x >= 4")

    plan = lined.policy.plan.where("x >= 4").cumhist("x", epsilon=1, strategy="ordered")

    assert _ordered(lined).sensitivity == 4
    assert _ordered(lined, mirrored=True).sensitivity == 1
    assert Layout(1, mirrored=True) in lay_ordered(lined.line)
    assert plan.sensitivity == 1
    assert plan.measurement.layout.mirrored
    assert plan.privacy_loss() == 1
    for theta in (1, 2, 3, 4, 6):
        wide = line_of(8, theta, "x >= 4")
        assert _ordered(wide, mirrored=True).sensitivity == min(theta, 4)


def test_a_partition_costs_its_widest_group(on_line):
    """The largest last less first index inside a group, whatever its size."""
    groups = {"a": [0, 1], "b": [2, 3, 4, 5], "c": [6, 7, 8]}
    policy = bf.Policy(Domain((integers("x", 0, 8),)), secrets={"x": bf.partition(groups)})
    scattered = bf.partition({"a": [0, 6], "b": [1, 2, 3, 4, 5, 7, 8]})
    other = bf.Policy(Domain((integers("x", 0, 8),)), secrets={"x": scattered})

    assert _ordered(on_line(policy, "x")).sensitivity == 3
    assert _ordered(on_line(other, "x")).sensitivity == 7


def test_gaps_shorten_the_reach(on_line):
    """Listed values 0, 2, 4, 6 with theta 3 move one place; 0, 1, 5 cut the line."""
    for values, theta, wanted in (([0, 2, 4, 6], 3, 1), ([0, 1, 5], 2, 1), ([0, 1, 5, 6, 7], 2, 2)):
        domain = Domain((from_dict("x", {"type": "integer", "values": values}),))
        lined = on_line(bf.Policy(domain, secrets={"x": bf.threshold(theta)}), "x")

        found = _ordered(lined)

        assert found.sensitivity == wanted
        assert lined.loss(found) == found.epsilon


def test_two_groups_of_lines_pay_for_both(on_line):
    """Prefix sums of 5 ages, the last the total, in each of 2 sexes: a change of sex changes all 10."""
    domain = Domain((integers("sex", 0, 1), integers("age", 0, 4)))
    policy = bf.Policy(domain, secrets={"sex": bf.full(), "age": bf.threshold(1)})

    plan = policy.plan.groupby("sex").cumhist("age", epsilon=1, strategy="ordered")

    assert _ordered(on_line(policy, "age")).sensitivity == 1
    assert plan.sensitivity == 10
    assert plan.privacy_loss() == 1


@pytest.mark.parametrize("size", [7, 12, 17])
def test_loss_formula_of_blocks_with_trees(size, line_of):
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


def test_blocks_lie_around_the_reach(line_of):
    """Blocks from a quarter to three times the threshold, shorter than the line; mirrored ones if open."""
    closed = lay_ordered_hierarchical(line_of(100, 8).line)
    opened = lay_ordered_hierarchical(line_of(100, 8, "x > 3").line)

    assert {layout.spacing for layout in closed} == {2, 3, 4, 5, 8, 12, 16, 24}
    assert not any(layout.mirrored for layout in closed)
    assert sum(layout.mirrored for layout in opened) * 2 == len(opened)
    assert lay_ordered_hierarchical(line_of(2, 1).line) == []


def _hierarchical(lined, layout, weights):
    return Nested(HIERARCHICAL, lined.asked, lined.line, layout, weights, Fraction(2, 3))


@pytest.mark.parametrize("size", [3, 8, 13, 16])
def test_trees_change_by_two_per_level(size, line_of):
    """Sensitivity 2 a level that tells joined atoms apart; with a way out one a level and the total."""
    for theta in (0, 1, 2, size - 1):
        lined, opened = line_of(size, theta), line_of(size, theta, presence=True)
        for layout in lay_hierarchical(lined.line):
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


def test_trees_have_two_levels_or_more(line_of):
    """Every layout cuts a whole segment down to atoms."""
    for size in (1, 2, 3, 7, 64, 100):
        line = line_of(size, 2).line
        for layout in lay_hierarchical(line):
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


@pytest.mark.parametrize("size", [2, 3, 7, 8, 11, 16])
def test_loss_of_wavelets_matches_enumeration(size, line_of):
    """Never above epsilon, and exactly that for whole binary trees under full."""
    for theta in range(size):
        for lined in (line_of(size, theta), line_of(size, theta, presence=True)):
            (layout,) = lay_haar(lined.line)
            families = Nest(lined.line, layout).families
            weights = tuple(range(1, 1 + len(families)))
            found = Nested(HAAR, lined.asked, lined.line, layout, weights, Fraction(5, 7))

            loss = lined.loss(found)

            assert loss <= found.epsilon
            assert found.sensitivity <= 2 * len(families)
            if theta == 0 and size in (2, 8, 16):
                assert loss == found.epsilon


def test_one_atom_has_no_halves(line_of):
    """A line of single atoms has nothing to compare."""
    assert lay_haar(line_of(5, None).line) == []
    assert [each.branching for each in lay_haar(line_of(5, 1).line)] == [(2, 2, 2)]
