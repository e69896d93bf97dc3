"""Counts that may be released exactly: intervals rounded inwards, by exact enclosures; never sees rows.

An interval (low, high) with low > high is empty: no count is ever released exactly. All functions here need
0 < q < 1 for a share q and n >= 0 rows. Every end is the exact ceiling or floor of its formula; where that is
closer to a whole number than 2**-16384 it may be rounded inwards by one, which is sound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from pandas_blowfish.exact.enclosure import exp_negative, log

Interval = tuple[int, int]
_BITS = 96  # to begin with, besides those of n
_MOST = 1 << 14  # where an end is still undecided at this precision it is rounded inwards


def single_prior(q: Fraction, n: int, epsilon: Fraction) -> Interval:
    """Return the counts k for which the odds of any row, given k, are within exp(epsilon) of its prior odds.

    Examples:
        >>> single_prior(Fraction(1, 2), 100, Fraction(1, 2))
        (38, 62)

    Proof note:
        Requires: n rows, each independently in the cell with probability q.
        Ensures:  for low <= k <= high "the count is k" has probabilities within exp(epsilon) of each other,
                  whether some row is in the cell, is not, or is drawn afresh; 1 <= low and high <= n - 1.
        Because:  P(k | row in) / P(k | row out) = k (1 - q) / ((n - k) q), which lies in [a, 1 / a] for
                  n a q / (a q + 1 - q) <= k <= n - n a (1 - q) / (a (1 - q) + q), a = exp(-epsilon); a row
                  drawn afresh mixes the two. The bounds are irrational, so enough precision always decides.
        Checked:  tests/beyond/test_interval.py::test_single_prior_is_the_largest_interval
    """

    def low(share: Fraction, bits: int) -> list[int]:
        p, rest = share.numerator, (share.denominator - share.numerator) << bits
        return [max(1, -(-n * a * p // (a * p + rest))) for a in exp_negative(epsilon, bits)]

    bits = _BITS + n.bit_length()
    return _settled(low, q, bits), n - _settled(low, 1 - q, bits)


def hedging(q: Fraction, n: int, epsilon: Fraction, alpha: Fraction) -> Interval:
    """Return the counts that may be released exactly to anyone who gives the prior some weight.

    Examples:
        >>> hedging(Fraction(1, 2), 1000, Fraction(1), Fraction(1, 100))
        (449, 551)

    Proof note:
        Requires: n rows drawn from the mixture: all from q with weight alpha, all from any share f with
                  weight 1 - alpha; 0 < alpha < 1.
        Ensures:  for low <= k <= high "the count is k" has probabilities within exp(epsilon) of each other,
                  whether some row is in the cell, is not, or is drawn too; 1 <= low and high <= n - 1.
        Because:  let d = epsilon / 2, let B1, B0 be the probabilities of k when the row is in, is not, and
                  the n - 1 others come from q; A1, A0 when they come from f. Write f- and f+ for the shares
                  with odds exp(-d) and exp(d) times those of q. k - 1 >= the bound of `low` means that
                  q^j (1-q)^(n-1-j) >= t f^j (1-f)^(n-1-j) at f = f- for j = k - 1 and so for j = k; the
                  count from which it holds grows with f, so it holds for every f <= f-; mirrored for f >= f+.
                  Here t = max(1, (1-alpha) / (alpha (exp(d) - 1))). As t >= 1, (k-1) / (n-1) >= f- and
                  k / (n-1) <= f+, so k / (n-k) is within exp(d) of the odds of q: B0 / B1 is.
                  f between f- and f+: A0 / A1 is the odds of f over k / (n-k), within exp(2 d), and a ratio
                  of mixtures lies between those of the parts. Other f: A1 <= B1 / t and A0 <= B0 / t, so
                  each mixture lies between alpha B and exp(d) alpha B, and their ratio within exp(d) exp(d).
                  Row drawn: B becomes q B1 + (1-q) B0, A likewise; between, f + (1-f) A0 / A1 is within
                  exp(2 d); else the mixture lies between alpha min(B0, B1) and alpha exp(d) max(B0, B1).
        Checked:  tests/beyond/test_certified.py::test_hedging_holds_for_every_other_mind
    """

    def low(share: Fraction, bits: int) -> list[int]:
        return [1 - (-end // 1) for end in _bound(share, n, epsilon / 2, alpha, bits)]

    bits = _BITS + n.bit_length() + int(1 / epsilon).bit_length()
    return _settled(low, q, bits), n - _settled(low, 1 - q, bits)


def histogram(q: Sequence[Fraction], n: int, epsilon_r: Fraction) -> list[Interval]:
    """Return for each cell the counts that may be released exactly, whichever other cells are too.

    Examples:
        >>> histogram([Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], 1000, Fraction(1, 2))
        [(223, 277), (223, 277), (446, 554)]

    Proof note:
        Requires: n rows, each independently in cell j with probability q_j; sum q = 1; noisy answers of a
                  cell change by at most exp(epsilon) when its count changes by one.
        Ensures:  all cells' answers together, noisy or exact, change by at most exp(2 epsilon + epsilon_r)
                  between any two values of a row, and so when the row is drawn afresh.
        Because:  let c = q_min / (1 - q_min), a = exp(-epsilon_r), eta = c (1-a) / (1 + c a), rho = eta / c.
                  Let T be the exact cells, R the rest (if T is all, all counts are exact, only the first case
                  below occurs), Q = sum over R of q, n' = n - sum over T of k. A row known to be in j of T
                  multiplies the probability of the exact counts by k_j / (n q_j), within 1 +- eta. One in R
                  by n' / (n Q), which is within 1 +- eta (1-Q) / Q, so within 1 +- rho as Q >= q_min;
                  given the exact counts it then changes two noisy cells by one each, against one drawn
                  afresh or another of R. As eta <= rho, the largest quotient is (1 + eta) / (1 - rho) = 1 / a
                  or (1 + rho) / (1 - eta) <= 1 / a.
        Checked:  tests/beyond/test_certified.py::test_histograms_hold_for_the_prior
    """
    least = min(q)
    c = least / (1 - least)
    found: dict[Fraction, Interval] = {}
    bits = _BITS + n.bit_length()
    todo = set(q)
    while todo:
        low, high = (0, 0) if epsilon_r == 0 else _eta(c, epsilon_r, bits)
        for share in todo:
            p, d = n * share.numerator, share.denominator << bits
            wide = max(1, -(-p * ((1 << bits) - high) // d)), min(n - 1, p * ((1 << bits) + high) // d)
            narrow = max(1, -(-p * ((1 << bits) - low) // d)), min(n - 1, p * ((1 << bits) + low) // d)
            if wide == narrow or bits > _MOST:
                found[share] = narrow
        todo -= found.keys()
        bits *= 2
    return [found[share] for share in q]


def _settled(low: Callable[[Fraction, int], list[int]], share: Fraction, bits: int) -> int:
    """Return the whole number both ends of an enclosure agree on, or the upper at the last precision."""
    while True:
        lower, upper = low(share, bits)
        if lower == upper or bits > _MOST:
            return upper
        bits *= 2


def _eta(c: Fraction, epsilon_r: Fraction, bits: int) -> tuple[int, int]:
    """Enclose c (1 - a) / (1 + c a) at `bits`, a = exp(-epsilon_r); it falls as a grows."""
    s, t, one = c.numerator, c.denominator, 1 << bits
    a_lower, a_upper = exp_negative(epsilon_r, bits)
    return (s * (one - a_upper) << bits) // (t * one + s * a_upper), -(
        -(s * (one - a_lower) << bits) // (t * one + s * a_lower)
    )


def _bound(q: Fraction, n: int, d: Fraction, alpha: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Enclose (-(n - 1) ln(1 - q + q exp(-d)) + ln t) / d, t = max(1, (1-alpha) / (alpha (exp(d) - 1)))."""
    one = 1 << bits
    a = exp_negative(d, bits)
    share = [log(1 - q + q * Fraction(end, one), bits) for end in a]
    odds = log((1 - alpha) / alpha, bits)
    grown = [log(Fraction(one - end, one), bits) for end in a]  # ln(exp(d) - 1) = d + ln(1 - exp(-d))
    shift = d * one
    least = max(Fraction(0), odds[0] - shift - grown[0][1])
    most = max(Fraction(0), odds[1] - shift - grown[1][0])
    return (least - max(n - 1, 0) * share[1][1]) / shift, (most - max(n - 1, 0) * share[0][0]) / shift
