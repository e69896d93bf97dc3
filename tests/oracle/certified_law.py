"""The output law of one count that is sometimes released exactly, in fractions."""

from __future__ import annotations

from fractions import Fraction

from pandas_blowfish.beyond.certified import exponent
from pandas_blowfish.errors import ArgumentError

Output = tuple[str, int]  # ("noisy", r), ("true", k), ("below", low), ("above", high)


def law(k: int, low: int, high: int, a: Fraction, first: int, last: int) -> dict[Output, Fraction]:
    """Return the probability of every answer about a count k, for noise proportional to a^|z|.

    Args:
        k: The true count.
        low: The least count that may be released exactly.
        high: The largest.
        a: Stands for exp(-rate); any fraction between 0 and 1.
        first: Noisy answers below this are added up as ("below", first).
        last: Noisy answers above this are added up as ("above", last).

    The probabilities add up to 1, and that of ("true", k) is (1 - a^(k - low + 1)) (1 - a^(high - k + 1)) for
    low <= k <= high, else 0: inside, noisy answers have a^2 (a^L + a^R - a^(L+R+1) - a^(L+R)) / (1 + a) and
    outside (a^(L+1) + a^(R+1)) / (1 + a), with L = k - low, R = high - k.
    """
    if first > min(k, low) or last < max(k, high):
        raise ArgumentError("first, last", "the tails must lie beyond the interval and the count")
    answers: dict[Output, Fraction] = {}
    for r in range(first, last + 1):
        answers["noisy", r] = (1 - a) / (1 + a) * a ** (abs(r - k) + (exponent(r, k, low, high) or 0))
    answers["below", first] = a ** (k - first + 1) / (1 + a)
    answers["above", last] = a ** (last - k + 1) / (1 + a)
    if low <= k <= high:
        answers["true", k] = (1 - a ** (k - low + 1)) * (1 - a ** (high - k + 1))
    return answers
