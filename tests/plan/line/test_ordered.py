"""Prefix sums: one edge changes as many as it passes."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line import ordered
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _ordered(lined, mirrored=False, epsilon=Fraction(1, 3)):
    return Nested(
        ordered.NAME, lined.kind("prefixes"), lined.line, Layout(1, mirrored=mirrored), (1,), epsilon
    )


@pytest.mark.parametrize("size", [2, 5, 8, 13])
def test_sensitivity_is_the_reach(size, line_of):
    """min(theta, k - 1) prefixes change, k - 1 under full; the loss is exactly epsilon."""
    for theta in range(size + 2):
        lined = line_of(size, theta)

        found = _ordered(lined)

        assert found.sensitivity == min(theta or size - 1, size - 1)
        assert lined.loss(found) == found.epsilon
        assert ordered.layouts(lined.line) == [Layout(1)]


def test_a_row_that_can_leave_costs_from_the_far_end_only(line_of):
    """where x >= 4 of 0..7, theta 1: prefix sums change by 4, suffix sums by 1; auto takes these."""
    lined = line_of(8, 1, "x >= 4")

    plan = lined.policy.plan.where("x >= 4").cumhist("x", epsilon=1, strategy="ordered")

    assert _ordered(lined).sensitivity == 4
    assert _ordered(lined, mirrored=True).sensitivity == 1
    assert Layout(1, mirrored=True) in ordered.layouts(lined.line)
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
