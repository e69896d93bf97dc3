"""Natural logarithms cut into cells, decided for certain: [i step, (i + 1) step). Never sees rows.

Every decision is made on enclosures of the logarithm whose precision grows until both ends agree. That ends:
the logarithm of a fraction other than 1 is irrational, so it is no edge.
"""

from __future__ import annotations

from fractions import Fraction

from pandas_blowfish.exact.enclosure import log

FINEST = Fraction(1, 10**9)  # a float's logarithm is no finer
PARTS = 10**6  # of a relative error's reach that a cell has by default, at least
BITS = 96
ROUNDED = 1 + Fraction(1, 2**51)  # what rounding to floats may do to a quotient of two numbers


def log_cell(value: Fraction, step: Fraction) -> int:
    """Return the cell of a positive number's logarithm: floor(ln(value) / step), exactly.

    Examples:
        >>> log_cell(Fraction(10), Fraction(1, 100)), log_cell(Fraction(1, 10), Fraction(1, 100))
        (230, -231)

    Proof note:
        Requires: value > 0, step > 0.
        Ensures:  i step <= ln(value) < (i + 1) step.
        Because:  both ends of an enclosure lie in this cell; of 1 the logarithm is 0, the edge of cell 0.
        Checked:  tests/exact/test_logarithm.py::test_cells_match_decimals
    """
    if value == 1:
        return 0
    bits = BITS
    while True:
        low, high = (_floor(end, bits, step) for end in log(value, bits))
        if low == high:
            return low
        bits *= 2


def log_reach(c: Fraction, step: Fraction) -> int:
    """Return how many cells apart the logarithms of numbers within a factor c^-4 of each other can lie.

    Examples:
        >>> log_reach(Fraction(9, 10), Fraction(1, 100))  # 4 ln(10 / 9) = 0.42144
        43

    Proof note:
        Requires: 0 < c < 1, step > 0, cells as in `log_cell`.
        Ensures:  |log_cell(x) - log_cell(y)| <= the result whenever c^4 <= x / y <= c^-4, also if x and y
                  were rounded to floats since.
        Because:  |floor(a) - floor(b)| <= ceil(|a - b|) with a and b the logarithms over the step, which
                  differ by that of c^-4 over the step at most, and rounding moves a quotient of numbers by
                  less than a factor 1 + 2^-51. That is no whole number, so its ceiling is one more than the
                  cell of the product.
        Checked:  tests/exact/test_logarithm.py::test_reach_is_never_exceeded
    """
    return log_cell(c**-4 * ROUNDED, step) + 1


def log_step(c: Fraction) -> Fraction:
    """Return the width of a cell where none is stated: a power of 10, a millionth of the reach or less.

    Cells finer than that make no answer better, and none coarser is needed: noise does not depend on them.

    Examples:
        >>> log_step(Fraction(9, 10))
        Fraction(1, 10000000)
    """
    step = Fraction(1)
    while log_reach(c, step) <= PARTS and step > FINEST:
        step /= 10
    return step


def _floor(end: int, bits: int, step: Fraction) -> int:
    return end * step.denominator // (step.numerator << bits)
