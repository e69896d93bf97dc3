"""Differences of halves: at most two a level."""

from fractions import Fraction

import pytest

from pandas_blowfish.plan.line import haar
from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.runs import Nested


@pytest.mark.parametrize("size", [2, 3, 7, 8, 11, 16])
def test_loss_matches_enumeration(size, line_of):
    """Never above epsilon, and exactly that for whole binary trees under full."""
    for theta in range(size):
        for lined in (line_of(size, theta), line_of(size, theta, presence=True)):
            (layout,) = haar.layouts(lined.line)
            families = Nest(lined.line, layout).families
            weights = tuple(range(1, 1 + len(families)))
            found = Nested(haar.NAME, lined.asked, lined.line, layout, weights, Fraction(5, 7))

            loss = lined.loss(found)

            assert loss <= found.epsilon
            assert found.sensitivity <= 2 * len(families)
            if theta == 0 and size in (2, 8, 16):
                assert loss == found.epsilon


def test_one_atom_has_no_halves(line_of):
    """A line of single atoms has nothing to compare."""
    assert haar.layouts(line_of(5, None).line) == []
    assert [each.branching for each in haar.layouts(line_of(5, 1).line)] == [(2, 2, 2)]
