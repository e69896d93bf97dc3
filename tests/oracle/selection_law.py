"""The exact law of picking the largest of whole scores after one-sided geometric noise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction


def pick_law(scores: Sequence[int], a: Fraction) -> list[Fraction]:
    """Return the probability with which each candidate is picked; noise has P(r) ~ a^r, ties are fair.

    A geometric is the whole part of an exponential with the same rate, and what remains of that breaks ties:
    the exponential that passes the leader's score first ... integrates to q_i int_0^1 prod_j (1 - t q_j) dt,
    q_j = a^(lead of the best score over j's). `enumerated_law` is its slow twin.
    """
    best = max(scores)
    q = [a ** (best - score) for score in scores]
    found = []
    for own in range(len(q)):
        product = [Fraction(1)]  # coefficients in t
        for other, each in enumerate(q):
            if other != own:
                product = [x - each * y for x, y in zip([*product, 0], [0, *product], strict=True)]
        found.append(q[own] * sum(c / (power + 1) for power, c in enumerate(product)))
    return found


def enumerated_law(scores: Sequence[int], a: Fraction, most: int) -> tuple[list[Fraction], Fraction]:
    """Return the same by listing all noises up to `most`, and the probability of what was not listed."""
    found, seen = [Fraction(0)] * len(scores), Fraction(0)
    for noise in itertools.product(range(most + 1), repeat=len(scores)):
        odds = (1 - a) ** len(scores) * a ** sum(noise)
        noisy = [s + r for s, r in zip(scores, noise, strict=True)]
        tied = [n for n, each in enumerate(noisy) if each == max(noisy)]
        for each in tied:
            found[each] += odds / len(tied)
        seen += odds
    return found, 1 - seen


def sequence_law(scores: Sequence[int], a: Fraction, picks: int) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of each sequence of picks, one after another without those before."""
    found = {(): Fraction(1)}
    for _ in range(picks):
        longer = {}
        for before, odds in found.items():
            left = [n for n in range(len(scores)) if n not in before]
            own = pick_law([scores[n] for n in left], a)
            longer |= {(*before, n): odds * each for n, each in zip(left, own, strict=True)}
        found = longer
    return found
