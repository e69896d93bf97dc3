"""Exact numbers: a float is read once, as its shortest decimal, and is a Fraction ever after.

Never sees rows.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, EpsilonError

_EPSILON_BITS = 7_000  # sums of longer fractions could not be written into a ledger
_DIGITS = 2_000  # an exponent beyond this is a slip or an attack, not a privacy parameter
_BITS = 14_000  # the most that still prints: Python refuses integers of 4,300 digits


def exact(value: object, argument: str = "value") -> Fraction:
    """Return a number as the exact fraction its writer meant.

    Args:
        value: An int, float, str, Decimal or Fraction (numpy's scalars too). A float means its
            shortest decimal.
        argument: What the number is called in an error.

    Examples:
        >>> exact(0.1), exact("1/3"), exact(5)
        (Fraction(1, 10), Fraction(1, 3), Fraction(5, 1))
    """
    if isinstance(value, Decimal) and (not value.is_finite() or abs(value.adjusted()) > _DIGITS):
        raise ArgumentError(argument, "the number is not finite, or its exponent is out of reach")
    fraction = _fraction(value, argument)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > _BITS:
        raise ArgumentError(argument, "the number has too many digits")
    return fraction


def epsilon_of(value: object, argument: str = "epsilon") -> Fraction:
    """Return a privacy parameter as a positive fraction, or raise EpsilonError.

    Examples:
        >>> epsilon_of("0.25")
        Fraction(1, 4)
    """
    if value is None:
        raise EpsilonError(argument, "not given", allowed="what this may cost, such as epsilon=0.1")
    try:
        fraction = exact(value, argument)
    except ArgumentTypeError as error:
        raise error from None
    except ArgumentError as error:
        raise EpsilonError(argument, error.problem, allowed="a positive finite number") from None
    if fraction <= 0:
        raise EpsilonError(argument, f"{fraction} is not positive", allowed="a positive finite number")
    if max(fraction.numerator, fraction.denominator).bit_length() > _EPSILON_BITS:
        raise EpsilonError(
            argument, f"its fraction has more than {_EPSILON_BITS:,} bits", allowed="such as 0.1 or 1/3"
        )
    return fraction


def plain(value: Fraction) -> int | str:
    """Return a fraction for JSON: an int, a finite decimal or "p/q" as text.

    Examples:
        >>> plain(Fraction(3)), plain(Fraction(1, 4)), plain(Fraction(1, 3))
        (3, '0.25', '1/3')
    """
    if value.denominator == 1:
        return int(value)
    rest, digits = value.denominator, 0
    while rest % 10 == 0:
        rest, digits = rest // 10, digits + 1
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits += power
    if rest != 1 or digits > 18:
        return str(value)
    sign, scaled = ("-" if value < 0 else ""), abs(value.numerator) * 10**digits // value.denominator
    text = str(scaled).rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:].rstrip('0')}"


def number(value: Fraction) -> int | float:
    """Return a fraction as the number pandas shows: an int where it is whole."""
    return int(value) if value.denominator == 1 else float(value)


def _fraction(value: object, argument: str) -> Fraction:
    """Return a number of any accepted type as a fraction."""
    if isinstance(value, bool) or _numpy(value) in ("bool", "bool_"):
        raise ArgumentTypeError(
            argument, "a bool is not a number", allowed="int, float, str, Decimal, Fraction"
        )
    if isinstance(value, (Fraction, Decimal)):
        return Fraction(value)
    if isinstance(value, numbers.Integral) and _numpy(value) != "timedelta64":
        return Fraction(int(value))
    if isinstance(value, numbers.Real) and _numpy(value) != "timedelta64":
        if not math.isfinite(value):
            raise ArgumentError(argument, "the number is not finite")
        # str() of a numpy float32 is its own shortest decimal, float() would print 0.10000000149
        return Fraction(str(value) if _numpy(value) else repr(float(value)))
    if isinstance(value, str):
        return _read(value, argument)
    raise ArgumentTypeError(
        argument, f"a {type(value).__name__} is not a number", allowed="int, float, str, Decimal, Fraction"
    )


def _numpy(value: Any) -> str:
    """Return the name of a numpy scalar's type, "" for anything else; numpy itself need not be loaded."""
    return type(value).__name__ if type(value).__module__ == "numpy" and hasattr(value, "item") else ""


def _read(text: str, argument: str) -> Fraction:
    """Return the fraction a text spells, refusing absurd exponents before they cost memory."""
    mantissa, _, exponent = text.strip().lower().partition("e")
    try:
        if (exponent and abs(int(exponent)) > _DIGITS) or len(mantissa) > _DIGITS:
            raise ArgumentError(argument, "the number's exponent or length is out of reach")
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(argument, f"{text!r} is not a number") from None


def canonical(value: Any) -> Any:
    """Return a JSON-able copy of a nested value: fractions as text, tuples as lists, numpy unwrapped."""
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, Fraction):
        return plain(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if _numpy(value) == "datetime64":
        return str(value)  # item() of one in nanoseconds would be a bare integer
    if _numpy(value) and not isinstance(value, numbers.Real):
        return canonical(value.item())
    if isinstance(value, (numbers.Real, Decimal)):
        return plain(exact(value))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)


def canonical_value(value: Any) -> Any:
    """Return a declared value as JSON keeps it (a float stays a float, an instant is ISO text)."""
    if _numpy(value) and _numpy(value) not in ("datetime64", "timedelta64"):
        value = float(exact(value)) if "float" in _numpy(value) else value.item()
    return value if type(value) is float else canonical(value)
