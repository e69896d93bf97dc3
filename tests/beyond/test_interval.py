"""The intervals against their definitions, at high precision."""

from fractions import Fraction

import mpmath
import pytest

from pandas_blowfish.beyond import interval
from pandas_blowfish.beyond.interval import hedging, histogram, single_prior

SHARES = [Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(19, 20)]
EPSILONS = [Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 2), Fraction(3), Fraction(50)]
ROWS = [0, 1, 2, 3, 17, 1000, 10**6, 10**9]


def real(number: Fraction) -> mpmath.mpf:
    """Return a fraction at the current precision."""
    return mpmath.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("q", SHARES)
def test_single_prior_is_the_largest_interval(q, epsilon):
    """Every count inside changes the odds by at most exp(epsilon), the next ones by more."""

    def allowed(k, n):
        change = Fraction(k, n - k) * (1 - q) / q
        return mpmath.exp(-real(epsilon)) <= real(change) <= mpmath.exp(real(epsilon))

    for n in ROWS:
        low, high = single_prior(q, n, epsilon)

        assert low >= 1
        assert high <= n - 1
        with mpmath.workprec(400):
            for k in (low, high):
                assert low > high or allowed(k, n)
            for k in {low - 1, high + 1} if low <= high else range(high, low + 1):
                assert not 1 <= k <= n - 1 or not allowed(k, n)


@pytest.mark.parametrize("alpha", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("q", SHARES)
def test_hedging_equals_its_formula(q, epsilon, alpha):
    """Both ends as written with logarithms, the upper one not by mirroring."""
    for n in ROWS[1:]:
        with mpmath.workprec(400):
            d, p = real(epsilon) / 2, real(q)
            t = max(mpmath.mpf(1), real((1 - alpha) / alpha) / mpmath.expm1(d))
            low = (-(n - 1) * mpmath.log(1 - p + p * mpmath.exp(-d)) + mpmath.log(t)) / d
            high = ((n - 1) * mpmath.log(1 - p + p * mpmath.exp(d)) - mpmath.log(t)) / d
            wanted = 1 + int(mpmath.ceil(low)), min(n - 1, int(mpmath.floor(high)))

        assert hedging(q, n, epsilon, alpha) == wanted


def test_hedging_as_printed_is_always_empty():
    """With its logarithm inverted and a ceiling the printed upper end is not positive."""
    for n in (10, 10**3, 10**6, 10**9):
        for q in (0.01, 0.1, 0.5, 0.9):
            for epsilon in (0.1, 1.0, 10.0):
                odds = q / (1 - q) * mpmath.exp(epsilon / 3)
                q_high = odds / (1 + odds)
                spread = mpmath.log(0.999 / 0.001 / mpmath.expm1(epsilon / 3)) / (epsilon / 3)

                high = mpmath.ceil((n - 1) * mpmath.log((1 - q_high) / (1 - q)) / (epsilon / 3) - spread)

                assert high < 1 <= hedging(Fraction(q), n, Fraction(epsilon), Fraction(1, 1000))[0]


@pytest.mark.parametrize("epsilon_r", EPSILONS)
@pytest.mark.parametrize("n", ROWS)
def test_histogram_equals_its_formula(n, epsilon_r):
    """The ends of every cell, equal cells included."""
    cells = [Fraction(1, 20), Fraction(1, 4), Fraction(1, 20), Fraction(13, 20)]

    found = histogram(cells, n, epsilon_r)

    with mpmath.workprec(400):
        a, c = mpmath.exp(-real(epsilon_r)), mpmath.mpf(1) / 19
        eta = c * (1 - a) / (1 + c * a)
        for q, (low, high) in zip(cells, found, strict=True):
            assert low == max(1, int(mpmath.ceil(n * real(q) * (1 - eta))))
            assert high == min(n - 1, int(mpmath.floor(n * real(q) * (1 + eta))))


def test_histogram_that_may_lose_nothing_tells_expected_counts_only():
    """At epsilon_r = 0 a cell is told only if its count is exactly what was expected."""
    assert histogram([Fraction(1, 4), Fraction(3, 4)], 8, Fraction(0)) == [(2, 2), (6, 6)]
    assert histogram([Fraction(1, 4), Fraction(3, 4)], 9, Fraction(0)) == [(3, 2), (7, 6)]


def test_undecided_ends_are_rounded_inwards(monkeypatch):
    """A bound nearer to a whole number than the precision goes is never rounded outwards."""
    cells = [Fraction(1, 3)] * 3  # eta is 1/2 less about exp(-10^6): the end n/2 is just not reached
    assert histogram(cells, 600, Fraction(10**6)) == [(101, 299)] * 3

    monkeypatch.setattr(interval, "exp_negative", lambda x, bits: (0, 1 << bits))
    low, high = single_prior(Fraction(1, 2), 1000, Fraction(1))

    assert (low, high) == (500, 500)


def test_certified_counts_need_many_rows():
    """At epsilon 0.5, weight 0.001 and share 0.1: none at 10^3, most at 10^4, all at 10^5."""
    given = Fraction(1, 2), Fraction(1, 1000)

    assert hedging(Fraction(1, 10), 10**3, *given) == (124, 79)
    assert hedging(Fraction(1, 10), 10**4, *given) == (929, 1087)
    assert hedging(Fraction(1, 10), 10**5, *given) == (8981, 11169)
