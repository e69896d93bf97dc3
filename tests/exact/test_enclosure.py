"""The enclosures against mpmath at much higher precision."""

import ast
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from pandas_blowfish.exact import enclosure
from pandas_blowfish.exact.enclosure import cell_limits, exp, exp_negative, log

EXPONENTS = [
    Fraction(0),
    Fraction(1, 2**50),
    Fraction(1, 10**30),
    Fraction(1, 3),
    Fraction(1),
    Fraction(10**40 + 1, 10**39),
    Fraction(63),
    Fraction(500),
    Fraction(500_000),
    Fraction(10**30),
]


def real(number: Fraction) -> mpmath.mpf:
    """Return a fraction at the current precision."""
    return mpmath.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize("bits", [16, 64, 128, 700])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_exponential_is_enclosed(exponent, bits):
    """The true value lies between two integers that are at most two units apart."""
    lower, upper = exp_negative(exponent, bits)

    with mpmath.workprec(bits + 200):
        scaled = mpmath.exp(-real(exponent)) * mpmath.mpf(2) ** bits
        assert lower <= scaled <= upper
    assert upper - lower <= 2


@pytest.mark.parametrize("bits", [16, 64, 700])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("exponent", [x for x in EXPONENTS if x <= 500])
def test_exponential_of_either_sign_is_enclosed(exponent, sign, bits):
    """As above, growing exponentials too."""
    lower, upper = exp(sign * exponent, bits)

    with mpmath.workprec(bits + 2000):
        assert lower <= mpmath.exp(real(sign * exponent)) * mpmath.mpf(2) ** bits <= upper
    assert upper - lower <= 2


@pytest.mark.parametrize("bits", [1, 16, 64, 700])
@pytest.mark.parametrize(
    "value",
    [
        Fraction(1),
        Fraction(2),
        Fraction(3, 2),
        Fraction(2**60 - 1, 2**60),
        Fraction(2**60 + 1, 2**60),
        Fraction(2**61 - 1, 2**60),
        Fraction(1, 10**40),
        Fraction(10**400 + 1, 3),
        Fraction(7, 10),
        Fraction(4),
    ],
)
def test_logarithm_is_enclosed(value, bits):
    """The true value lies between two integers that are at most two units apart."""
    lower, upper = log(value, bits)

    with mpmath.workprec(bits + 2000):
        assert lower <= mpmath.log(real(value)) * mpmath.mpf(2) ** bits <= upper
    assert upper - lower <= 2


def test_logarithm_is_enclosed_everywhere():
    """A dense grid of fractions, at a precision where every rounding shows."""
    with mpmath.workprec(300):
        for p in range(1, 90):
            for q in range(1, 90):
                lower, upper = log(Fraction(p, q), 12)
                assert lower <= mpmath.log(mpmath.mpf(p) / q) * 4096 <= upper <= lower + 2


def real_limits(rate: Fraction, width: int, count: int) -> list[mpmath.mpf]:
    """Return the limits as `cell_limits` states them, at the current precision."""
    a, high = mpmath.exp(-real(rate)), mpmath.exp(-real(rate * 2**width))
    positive = [(1 - high ** (j + 1)) / (1 + a) for j in range(count)]
    return positive + [1 - a * high**m / (1 + a) for m in range(count + 1)]


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize(
    ("rate", "width", "count"),
    [
        (Fraction(2), 0, 14),
        (Fraction(1), 0, 28),
        (Fraction(1, 2), 0, 56),
        (Fraction(1, 20), 0, 560),
        (Fraction(1, 76), 0, 2128),
        (Fraction(1, 2000), 5, 1750),
        (Fraction(3, 10**6), 13, 1140),
        (Fraction(1, 2**50), 44, 1792),
        (Fraction(50), 0, 1),
    ],
)
def test_limits_equal_high_precision_values(rate, width, count, bits):
    """Every limit of a table is the floor of the formula, none off by one, in increasing order."""
    limits = cell_limits(rate, width, count, bits)

    with mpmath.workprec(600):
        slow = [int(mpmath.floor(limit * mpmath.mpf(2) ** bits)) for limit in real_limits(rate, width, count)]
    assert limits == slow == sorted(slow)
    assert len(limits) == 2 * count + 1


@pytest.mark.parametrize("epsilon", [500_000, 10**6, 10**40])
def test_limits_next_to_one(epsilon):
    """With exp(-epsilon) far below the precision every limit is just below 1."""
    assert cell_limits(Fraction(epsilon), 0, 1, 64) == [2**64 - 1] * 3
    assert cell_limits(Fraction(epsilon), 0, 1, 4096) == [2**4096 - 1] * 3


@pytest.mark.parametrize("bits", [8, 20, 64])
@pytest.mark.parametrize(
    ("rate", "width"), [(Fraction(2), 0), (Fraction(1, 20), 0), (Fraction(3, 10**6), 13)]
)
def test_every_limit_is_enclosed(rate, width, bits):
    """At any precision the true limits lie between their two ends."""
    enclosed = list(enclosure._enclosed_limits(rate, width, 100, bits))

    with mpmath.workprec(600):
        for (lower, upper), limit in zip(enclosed, real_limits(rate, width, 100), strict=True):
            assert lower <= limit * 2**bits <= upper
            assert upper - lower < 400


def test_undecided_floors_are_computed_again(monkeypatch):
    """Where the two ends of an enclosure have different floors, more precision decides."""
    wanted, genuine, asked = cell_limits(Fraction(1, 2), 0, 56, 64), enclosure._enclosed_limits, []

    def looser(rate, width, count, bits):
        asked.append(bits)
        return [(lower - 2**65, upper + 2**65) for lower, upper in genuine(rate, width, count, bits)]

    monkeypatch.setattr(enclosure, "_enclosed_limits", looser)

    assert cell_limits(Fraction(1, 2), 0, 56, 64) == wanted
    assert asked == [128, 192]


def test_limits_next_to_one_half():
    """A limit that exceeds 1/2 by only 2**-202 has the right floor."""
    limits = cell_limits(Fraction(1, 2**200), 199, 2, 64)

    with mpmath.workprec(900):
        slow = [int(mpmath.floor(x * 2**64)) for x in real_limits(Fraction(1, 2**200), 199, 2)]
    assert limits == slow
    assert limits[2] == 2**63


def test_no_float_appears():
    """Only integers: no float literal, no true division, no mathematical library."""
    tree = ast.parse(Path(enclosure.__file__).read_text())

    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "collections.abc", "fractions"}
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import | ast.Div)
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float | complex))
        assert not (isinstance(node, ast.Name) and node.id in {"float", "round", "pow"})
