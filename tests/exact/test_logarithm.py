"""Cells of logarithms are decided for certain, and no two numbers that near lie further apart than said."""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from pandas_blowfish.exact.logarithm import FINEST, PARTS, log_cell, log_reach, log_step

STEPS = [Fraction(1), Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**7), FINEST]


def _ln(value, digits=80):
    with localcontext() as context:
        context.prec = digits
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def _floor(value, step):
    with localcontext() as context:
        context.prec = 80
        quotient = _ln(value) * Decimal(step.denominator) / Decimal(step.numerator)
        return int(quotient.to_integral_value(rounding="ROUND_FLOOR"))


@pytest.mark.parametrize("step", STEPS)
def test_cells_match_decimals(step):
    """Numbers of any size, below and above 1, and those next to edges that eighty digits tell apart."""
    draw = random.Random(str(step))
    values = [Fraction(1), Fraction(5e-324), Fraction(1.7e308), Fraction(2), Fraction(1, 2)]
    values += [Fraction(draw.randint(1, 10**k), draw.randint(1, 10**k)) for k in range(1, 12)]
    for _ in range(20):
        cell = draw.randint(-(10**4), 10**4)
        with localcontext() as context:
            context.prec = 60
            edge = Fraction((Decimal(cell) * Decimal(step.numerator) / Decimal(step.denominator)).exp())
        values += [edge, edge * (1 + Fraction(1, 10**40)), edge * (1 - Fraction(1, 10**40))]

    found = [log_cell(value, step) for value in values]

    assert found == [0 if value == 1 else _floor(value, step) for value in values]
    assert found[0] == 0


@pytest.mark.parametrize("c", ["0.9", "0.5", "0.1", "0.999", "2/3", "1e-6"])
@pytest.mark.parametrize("step", STEPS[1:])
def test_reach_is_never_exceeded(c, step):
    """Pairs at the very ends of the factor, next to edges: attained, and not one cell more."""
    c, draw, most = Fraction(c), random.Random(f"{c} {step}"), 0
    reach = log_reach(c, step)
    with localcontext() as context:
        context.prec = 60
        for _ in range(60):
            cell = math.floor(draw.uniform(-500, 500) / step)
            edge = Fraction((Decimal(cell) * Decimal(step.numerator) / Decimal(step.denominator)).exp())
            low = edge * (1 - Fraction(draw.randint(0, 10), 10**30))
            high = low * c**-4
            most = max(most, log_cell(high, step) - log_cell(low, step))
            rounded = log_cell(Fraction(float(high)), step) - log_cell(Fraction(float(low)), step)
            assert rounded <= reach

    assert most == reach
    assert reach - 1 < 4 * math.log(1 / c) / step * (1 + 1e-9) + 1e-6


def test_steps_are_fine_and_short():
    """A millionth of the reach or less, a power of ten, and never finer than floats tell."""
    assert log_step(Fraction(9, 10)) == Fraction(1, 10**7)
    for c in (Fraction(1, 10**50), Fraction(1, 2), Fraction(999, 1000)):
        assert PARTS < log_reach(c, log_step(c)) <= 11 * PARTS
    assert log_step(1 - Fraction(1, 10**12)) == FINEST
