"""The exact cell limits of the noise, from integer enclosures of its exponentials; never sees rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pandas_blowfish.exact.enclosure import exp_negative, times


def cell_limits(rate: Fraction, width: int, count: int, bits: int) -> list[int]:
    """Return floor(2**bits * T) for every limit T between the cells of (sign, high digit), in order.

    With a = exp(-rate), A = exp(-rate * 2**width) and r = 1 / (1 + a), the limits are r - r A**(j + 1) for
    0 <= j < count (not negative, high digit j below), then 1 - (1 - r) A**m for 0 <= m <= count (negative,
    high digit m above). So cell c, between limits c - 1 and c, is high digit c for c <= count, and negative
    with high digit c - count - 1 for c > count; high digit `count` stands for itself and everything larger.

    Proof note:
        Requires: rate > 0, count >= 1.
        Ensures:  each integer is exactly floor(2**bits * T).
        Because:  both ends of an enclosure of T have this floor; each T is irrational and strictly below 1,
                  so the top may be capped at 2**bits - 1 and enough precision always decides.
        Checked:  tests/kernel/test_cell_limits.py::test_limits_equal_high_precision_values
    """
    extra = 64
    while True:
        enclosed = list(_enclosed_limits(rate, width, count, bits + extra))
        floors = [lower >> extra for lower, _ in enclosed]
        if floors == [min(upper >> extra, (1 << bits) - 1) for _, upper in enclosed]:
            return floors
        extra *= 2


def _enclosed_limits(rate: Fraction, width: int, count: int, bits: int) -> Iterator[tuple[int, int]]:
    """Enclose every limit of `cell_limits`, in order."""
    one = 1 << bits
    a_lower, a_upper = exp_negative(rate, bits)
    ratio = exp_negative(rate * (1 << width), bits)
    lower, upper = r_lower, r_upper = (one << bits) // (one + a_upper), -(-(one << bits) // (one + a_lower))
    for _ in range(count):
        lower, upper = times(lower, ratio[0], upper, ratio[1], bits)
        yield r_lower - upper, r_upper - lower
    lower, upper = one - r_upper, one - r_lower
    for _ in range(count + 1):
        yield one - upper, one - lower
        lower, upper = times(lower, ratio[0], upper, ratio[1], bits)
