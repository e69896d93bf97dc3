"""Integer enclosures of exponentials and logarithms, and the limits of the noise from them; never sees rows.

A real number x is enclosed at some `bits` by integers (lower, upper) with lower <= 2**bits * x <= upper.
Lower ends are rounded down and upper ends up, in Python integers, so no rounding can spoil an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction


def exp_negative(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose exp(-exponent) at `bits`, for any exponent >= 0.

    Examples:
        >>> exp_negative(Fraction(1), 20)  # 2**20 / e = 385749.8
        (385749, 385750)

    Proof note:
        Requires: exponent >= 0.
        Ensures:  lower <= 2**bits * exp(-exponent) <= upper.
        Because:  at exponent / 2**halvings < 2**-8 each term of the alternating series is rounded down by
                  less than 2 units, the first one left out too; each squaring rounds outwards.
        Checked:  tests/exact/test_enclosure.py::test_exponential_is_enclosed
    """
    if exponent > bits:
        return 0, 1  # exp(-x) < 2**-x
    p, q = exponent.numerator, exponent.denominator
    halvings = (p // q).bit_length() + 8
    guard = halvings + 16
    term = total = one = 1 << (bits + guard)
    terms = 1
    while term:
        term = term * p // ((q * terms) << halvings)
        total += -term if terms % 2 else term
        terms += 1
    lower, upper = max(total - 2 * terms, 0), min(total + 2 * terms, one)
    for _ in range(halvings):
        lower, upper = times(lower, lower, upper, upper, bits + guard)
    return lower >> guard, -(-upper >> guard)


def exp(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose the exponential of `exponent` at `bits`, for one of either sign.

    Examples:
        >>> exp(Fraction(1), 20)  # 2**20 * e = 2850325.4
        (2850325, 2850326)

    Proof note:
        Requires: nothing.
        Ensures:  lower <= 2**bits * exp(exponent) <= upper.
        Because:  the reciprocal of an enclosure whose lower end is positive (exp(x) < 4**x, so it has more
                  than `bits` bits), rounded outwards.
        Checked:  tests/exact/test_enclosure.py::test_exponential_of_either_sign_is_enclosed
    """
    if exponent <= 0:
        return exp_negative(-exponent, bits)
    inner = bits + 4 * -(-exponent // 1) + 8
    lower, upper = exp_negative(exponent, inner)
    return (1 << (bits + inner)) // upper, -(-(1 << (bits + inner)) // lower)


def log(value: Fraction, bits: int) -> tuple[int, int]:
    """Enclose the natural logarithm of a positive fraction at `bits`.

    Examples:
        >>> log(Fraction(2), 20)  # 2**20 * ln 2 = 726817.5
        (726817, 726818)

    Proof note:
        Requires: value > 0.
        Ensures:  lower <= 2**bits * ln(value) <= upper.
        Because:  value = 2**k m with 1 <= m < 2, ln m = 2 artanh((m - 1) / (m + 1)), ln 2 = 2 artanh(1/3);
                  the series has positive terms only, each rounded down for `lower` and up for `upper`.
        Checked:  tests/exact/test_enclosure.py::test_logarithm_is_enclosed
    """
    if value < 1:
        lower, upper = log(Fraction(value.denominator, value.numerator), bits)
        return -upper, -lower
    p, q = value.numerator, value.denominator
    powers = p.bit_length() - q.bit_length()
    powers -= p < q << powers
    guard = powers.bit_length() + bits.bit_length() + 8
    q <<= powers
    lower, upper = _artanh(p - q, p + q, bits + guard)
    if powers:
        two = _artanh(1, 3, bits + guard)
        lower, upper = lower + powers * two[0], upper + powers * two[1]
    return lower >> (guard - 1), -(-upper >> (guard - 1))


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
        Checked:  tests/exact/test_enclosure.py::test_limits_equal_high_precision_values
    """
    extra = 64
    while True:
        enclosed = list(_enclosed_limits(rate, width, count, bits + extra))
        floors = [lower >> extra for lower, _ in enclosed]
        if floors == [min(upper >> extra, (1 << bits) - 1) for _, upper in enclosed]:
            return floors
        extra *= 2


def times(lower: int, by_lower: int, upper: int, by_upper: int, bits: int) -> tuple[int, int]:
    """Multiply two enclosures of numbers >= 0, rounding outwards."""
    return lower * by_lower >> bits, -(-upper * by_upper >> bits)


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


def _artanh(p: int, q: int, bits: int) -> tuple[int, int]:
    """Enclose artanh(p / q) for 0 <= p / q <= 1/3: the sum of z**j / j over odd j."""
    lower = upper = 0
    down, up = (p << bits) // q, -((-p << bits) // q)
    down_square, up_square = down * down >> bits, -(-up * up >> bits)
    odd = 1
    while up > 1 or odd == 1:
        lower, upper = lower + down // odd, upper - (-up // odd)
        down, up = times(down, down_square, up, up_square, bits)
        odd += 2
    return lower, upper + 2 * up  # the terms left out shrink by more than 1/2 each
