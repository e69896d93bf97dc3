"""Single atoms: two change along an edge, one where rows can only leave."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line import cells
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.policy.domain import Domain, integers


def _cells(lined):
    (layout,) = cells.layouts(lined.line)
    weights = (1,) * len(Nest(lined.line, layout).families)
    return Nested(cells.NAME, lined.asked, lined.line, layout, weights, Fraction(1, 5))


@pytest.mark.parametrize("size", [2, 5, 9])
def test_sensitivity_is_two(size, line_of):
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


def test_a_public_column_is_exact(line_of):
    """Nothing is measured with noise."""
    found = _cells(line_of(6, None))

    assert found.sensitivity == 0
    assert found.mse == 0
