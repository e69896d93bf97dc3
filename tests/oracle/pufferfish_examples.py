"""Small scenarios and mechanisms of the literature, to be checked exactly; never sees rows.

Each function returns a scenario and the output probabilities of a mechanism, for `Scenario.check`. Noise of
some scale is given as that of quotient exp(-1 / scale) rounded up to a fraction of about 32 bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.verdict import number_of
from pandas_blowfish.beyond.wasserstein import noisy, quotient_above
from pandas_blowfish.errors import ArgumentError, DomainTooLargeError
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.types import Epsilon

PRIORS = 10_000  # of an example

Mechanism: TypeAlias = Callable[[Any], Mapping[Any, Fraction]]
Example: TypeAlias = tuple[Scenario, Mechanism]


def ordered_exam(
    n: int, epsilon: Epsilon = 1, *, scale: Any = None, chances: Sequence[Any] = (Fraction(1, 2),)
) -> Example:
    """Return n students who take an exam in a known order, and noise on how many have taken it.

    Tables are (0, ..., 0), (1, 0, ..., 0), ..., (1, ..., 1); whether each student has taken it is secret.
    Noise of scale 1 / epsilon, which hides any one record where records are independent, fails (Example 10.5
    of the Pufferfish paper), and the more so the more students there are; scale n / epsilon passes.

    Args:
        n: How many students.
        epsilon: What one record would cost.
        scale: Of the noise; 1 / epsilon by default.
        chances: What may be believed of a student by itself, to have taken the exam: all combinations of
            these for the n students, given that the order holds, are priors (equation 25 of the paper).

    Examples:
        >>> scenario, law = ordered_exam(3, epsilon=1)
        >>> scenario.check(law, epsilon=1).holds
        False
        >>> scenario, law = ordered_exam(3, epsilon=1, scale=3)
        >>> scenario.check(law, epsilon=1).holds
        True
    """
    size = _size(n)
    quotient = _quotient(epsilon, scale)
    if (most := len(chances) ** size) > PRIORS:
        raise DomainTooLargeError("the list of priors", most, PRIORS, fix="give fewer chances.")
    tables = [(1,) * taken + (0,) * (size - taken) for taken in range(size + 1)]
    read = [number_of(chance, "chances") for chance in chances]
    priors = {
        " ".join(map(str, each)): [
            math.prod(chance if bit else 1 - chance for chance, bit in zip(each, table, strict=True))
            for table in tables
        ]
        for each in itertools.product(read, repeat=size)
    }
    secrets = {
        f"student {place + 1}": ([t for t in tables if not t[place]], [t for t in tables if t[place]])
        for place in range(size)
    }
    return Scenario(tables, priors, secrets), lambda table: noisy(sum(table), quotient, 0, size)


def no_free_lunch(n: int, epsilon: Epsilon = 1, *, scale: Any = None) -> Example:
    """Return n records of which nothing is assumed, and noise on how many of them are 1.

    A record is 0, 1 or None, not there; secret are its value and whether it is there. The priors are all
    that know the table up to two: for these, as for all priors, a mechanism keeps the promise exactly if
    no two tables at all are told apart (Theorem 3.1 of the Pufferfish paper).

    Args:
        n: How many records.
        epsilon: What one record would cost.
        scale: Of the noise; 1 / epsilon by default.

    Examples:
        >>> scenario, law = no_free_lunch(2)
        >>> scenario.check(law, epsilon=1).holds, scenario.check(law, epsilon=2).holds
        (False, True)
    """
    size, quotient = _size(n), _quotient(epsilon, scale)
    if (most := math.comb(3 ** min(size, 20), 2)) > PRIORS:
        raise DomainTooLargeError("the list of priors", most, PRIORS, fix="take fewer records.")
    tables = list(itertools.product((None, 0, 1), repeat=size))
    priors = {f"{one} or {two}": {one: 1, two: 1} for one, two in itertools.combinations(tables, 2)}
    secrets = {}
    for place in range(size):
        values: dict[Any, list[Any]] = {
            value: [t for t in tables if t[place] == value] for value in (None, 0, 1)
        }
        secrets[f"record {place}: 0 or 1"] = (values[0], values[1])
        secrets[f"record {place}: there or not"] = (values[0] + values[1], values[None])
    return Scenario(tables, priors, secrets), lambda table: noisy(table.count(1), quotient, 0, size)


def algorithm_1(q: Any, n: int, epsilon: Epsilon = 1) -> Example:
    """Return one count under the curator's own prior, released by Algorithm 1 of the Pufferfish paper.

    A table is (how many records are in the cell, how many not); each is there with probability q. The count
    is sometimes released as it is, and said to be true. This keeps epsilon.
    """
    size, quotient, shares = _size(n), _quotient(epsilon), _shares((number_of(q, "q"), 1 - number_of(q, "q")))
    ends = _single_prior(shares[0], size, quotient)
    return _curator(shares, size), lambda table: _count(table[0], size, quotient, ends)


def algorithm_2(q: Sequence[Any], n: int, epsilon: Epsilon = 1) -> Example:
    """Return a histogram under the curator's own prior, released by Algorithm 2 as it is printed.

    Each cell is released by Algorithm 1. The paper promises 2 epsilon. But where cells that are said to be
    true sum to n, all others are known to be empty, and a record in one of those is ruled out: the ratio is
    infinite.

    Args:
        q: The probability of each cell.
        n: How many records.
        epsilon: Of each cell.

    Examples:
        >>> scenario, law = algorithm_2(["9/20", "9/20", "1/10"], 4)
        >>> verdict = scenario.check(law, epsilon=2)
        >>> verdict.holds, verdict.ratio, verdict.witness.output
        (False, inf, ('true 2', 'true 2', '<= 0'))
    """
    size, quotient, shares = _size(n), _quotient(epsilon), _shares(q)
    return _histogram(shares, size, quotient, [_single_prior(share, size, quotient) for share in shares])


def algorithm_4(q: Sequence[Any], n: int, epsilon: Epsilon = 1, alpha: Any = Fraction(1, 1_000)) -> Example:
    """Return a histogram under the curator's own prior, released by Algorithm 4: hedging privacy.

    Each cell is released by Algorithm 3, whose upper end is printed with a logarithm upside down: then no
    cell is ever said to be true. Here it is mended, as a single count needs it, and the histogram fails as
    that of Algorithm 2 does, already for the one prior of the definition that is the curator's own.

    Args:
        q: The probability of each cell.
        n: How many records.
        epsilon: Of each cell.
        alpha: How far the curator's prior is mixed into that of others; below 1/2.
    """
    size, shares, mixed = _size(n), _shares(q), number_of(alpha, "alpha")
    if not 0 < mixed < Fraction(1, 2):
        raise ArgumentError("alpha", "not between 0 and 1/2")
    root = quotient_above(epsilon_of(epsilon) / 3)
    return _histogram(shares, size, root**3, [_hedged(share, size, root, mixed) for share in shares])


def _size(n: Any) -> int:
    size = exact(n, "n")
    if size.denominator != 1 or not 1 <= size <= 100:
        raise ArgumentError("n", "no number of records of an example", allowed="1 to 100")
    return int(size)


def _quotient(epsilon: Any, scale: Any = None) -> Fraction:
    """Return exp(-1 / scale), rounded up."""
    rate = epsilon_of(epsilon) if scale is None else 1 / epsilon_of(scale, "scale")
    return quotient_above(rate)


def _shares(q: Sequence[Any]) -> list[Fraction]:
    shares = [number_of(share, "q") for share in q]
    if not all(0 < share < 1 for share in shares) or sum(shares) != 1:
        raise ArgumentError("q", "not positive probabilities that sum to 1", fix='write thirds as "1/3".')
    return shares


def _single_prior(share: Fraction, n: int, quotient: Fraction) -> tuple[int, int]:
    """Return the counts that Algorithm 1 may call true, from and to, for exp(-epsilon) = quotient."""
    low = n * quotient * share / (quotient * share + 1 - share)
    high = n * share / (share + quotient * (1 - share))
    return max(1, math.ceil(low)), min(n - 1, math.floor(high))


def _hedged(share: Fraction, n: int, root: Fraction, alpha: Fraction) -> tuple[int, int]:
    """Return the counts that Algorithm 3, mended, may call true, for exp(-epsilon / 3) = root."""
    factor = max(Fraction(1), (1 - alpha) / (alpha * (1 / root - 1)))
    low = factor / (1 - share + share * root) ** (n - 1)
    high = (1 - share + share / root) ** (n - 1) / factor
    powers = [root**-power for power in range(n + 1)]
    least = next((power for power, value in enumerate(powers) if value >= low), n)
    return 1 + least, min(n - 1, sum(value <= high for value in powers) - 1)


def _count(k: int, n: int, quotient: Fraction, ends: tuple[int, int]) -> Mapping[Any, Fraction]:
    """Return the output law of Algorithm 1 for a count k: numbers are noisy, "true k" is what it says."""
    law, (low, high) = dict(noisy(k, quotient, 0, n)), ends
    if not low <= k <= high:
        return law
    middle = (1 - quotient) / (1 + quotient)
    for r in range(low, high + 1):
        way = min(abs(r - low) + abs(low - k), abs(r - high) + abs(high - k))
        law[r] = middle * quotient ** (2 + way)
    law[f"true {k}"] = (1 - quotient ** (k - low + 1)) * (1 - quotient ** (high - k + 1))
    return law


def _histogram(
    shares: Sequence[Fraction], n: int, quotient: Fraction, ends: Sequence[tuple[int, int]]
) -> Example:
    """Return all cells released one by one, under the curator's own prior."""

    def law(table: Sequence[int]) -> Mapping[Any, Fraction]:
        cells = [_count(k, n, quotient, each).items() for k, each in zip(table, ends, strict=True)]
        return {
            tuple(output for output, _ in each): math.prod((chance for _, chance in each), start=Fraction(1))
            for each in itertools.product(*cells)
        }

    return _curator(shares, n), law


def _curator(shares: Sequence[Fraction], n: int) -> Scenario:
    """Return the scenario of one prior: n draws, or one record of a known cell and n - 1 draws."""
    absent = {table: _multinomial(table, shares) for table in _tables(len(shares), n)}
    drawn = {table: _multinomial(table, shares) for table in _tables(len(shares), n - 1)}
    pairs = {}
    for cell in range(len(shares)):
        there = {
            tuple(count + (place == cell) for place, count in enumerate(table)): chance
            for table, chance in drawn.items()
        }
        pairs[f"a record of cell {cell}, or none"] = (there, absent)
    return Scenario.conditional(absent, {"the curator's own": pairs})


def _tables(cells: int, n: int) -> Iterator[tuple[int, ...]]:
    """Yield every histogram of n records."""
    for bars in itertools.combinations(range(n + cells - 1), cells - 1):
        edges = (-1, *bars, n + cells - 1)
        yield tuple(after - before - 1 for before, after in itertools.pairwise(edges))


def _multinomial(table: Sequence[int], shares: Sequence[Fraction]) -> Fraction:
    ways = math.factorial(sum(table)) // math.prod(math.factorial(count) for count in table)
    return math.prod((share**count for share, count in zip(shares, table, strict=True)), start=Fraction(ways))
