"""The enclosures against mpmath at much higher precision."""

import ast
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from pandas_blowfish.exact import enclosure
from pandas_blowfish.exact.enclosure import exp, exp_negative, log

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


def test_no_float_appears():
    """Only integers: no float literal, no true division, no mathematical library."""
    tree = ast.parse(Path(enclosure.__file__).read_text())

    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "fractions"}
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import | ast.Div)
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float | complex))
        assert not (isinstance(node, ast.Name) and node.id in {"float", "round", "pow"})
