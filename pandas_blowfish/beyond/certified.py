"""Counts that are sometimes released exactly, and marked so: when one is, and the plan of several.

An answer is "noisy r" or "true k"; the second is only ever the true count. Never sees rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from pandas_blowfish.beyond.interval import hedging, histogram, single_prior
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.plan.scales import variance

Kind = Literal["single_prior", "hedging"]

_MOST_ROWS = 1 << 60
SHOWN = 4  # cells of which is shown when they are released exactly
_SAMPLED = 100  # cells looked at when a split is chosen
_BLOCKS = 64  # parts into which the sum over a long interval is cut
_SHARES = tuple(Fraction(i, 64) for i in (0, 1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56))


def exponent(r: int, k: int, low: int, high: int) -> int | None:
    """Return e such that a drawn r is kept with probability exp(-e * rate); None if it always is.

    The answer is "noisy r" for a kept r = k + discrete Laplace noise, and "true k" for one not kept.

    Examples:
        >>> exponent(7, 5, 3, 8), exponent(9, 5, 3, 8)
        (4, None)

    Proof note:
        Requires: k is the true count; (low, high) does not depend on it.
        Ensures:  e >= 2, the probabilities of the answers add up to 1, that of "true k" is
                  (1 - a^(k - low + 1)) (1 - a^(high - k + 1)), a = exp(-rate), and those of each noisy r
                  change by at most exp(rate) when k changes by one.
        Because:  inside, "noisy r" gets a^(2 + m), m = min(|r - low| + |low - k|, |r - high| + |high - k|):
                  at least |r - k| + 2 by the triangle inequality, and changing by at most 1 with k. At
                  k = high it is a^(2 + high - r), and k = high + 1 draws a^(1 + high - r); same below.
        Checked:  tests/beyond/test_certified.py::test_drawing_and_keeping_gives_the_law,
                  tests/beyond/test_certified.py::test_law_adds_up_to_one
    """
    if not (low <= k <= high and low <= r <= high):
        return None
    return 2 + min(r - low + k - low, high - r + high - k) - abs(r - k)


def chance_of_exact(k: Any, low: Any, high: Any, rate: Fraction) -> Any:
    """Return the probability, as a float, that a count k is released exactly; arrays give arrays.

    Examples:
        >>> round(float(chance_of_exact(5, 3, 8, Fraction(1, 2))), 4)
        0.6717
    """
    left, right = (np.maximum(np.asarray(d, dtype=float) + 1, 0) for d in (k - low, high - k))
    return np.expm1(-float(rate) * left) * np.expm1(-float(rate) * right)


def expected_error(shares: Floats, n: int, low: Ints, high: Ints, rate: Fraction) -> Floats:
    """Return each cell's expected squared error when its count is binomial(n, share), in floats.

    It chooses and informs, and decides nothing about privacy. Sums over up to 64 counts are exact, longer
    ones are cut into blocks, finer at both ends.

    Examples:
        >>> some = np.array([40]), np.array([60])
        >>> expected_error(np.array([0.5]), 100, *some, Fraction(1, 2)).round(2)  # 7.84 if never exact
        array([2.18])
    """
    plain = variance(1 / rate)
    cells, where = np.unique(np.stack([shares, low, high]), axis=1, return_inverse=True)
    errors = np.full(cells.shape[1], plain)
    some, steps = np.flatnonzero(cells[1] <= cells[2]), 2.0 ** np.arange(40)
    for part in np.array_split(some, 1 + len(some) // 4096):
        share, lows, highs = cells[0, part, None], cells[1, part, None], cells[2, part, None]
        reach = 9 * np.sqrt(n * share * (1 - share)) + 30  # what lies further has no weight
        first = np.maximum(lows, np.floor(n * share - reach))
        end = np.maximum(np.minimum(highs, np.ceil(n * share + reach)) + 1, first)
        even = first + np.floor((end - first) * np.arange(_BLOCKS + 1) / _BLOCKS)
        edges = np.concatenate([even, np.minimum(first + steps, end), np.maximum(end - steps, first)], axis=1)
        edges.sort(axis=1)
        weights = np.diff(_below(edges, n, share), axis=1)
        middles = np.clip(np.floor((edges[:, :-1] + edges[:, 1:] - 1) / 2), lows, highs)
        saved = plain - _exact_error(middles - lows, highs - middles, float(rate))
        errors[part] -= np.sum(weights * np.clip(saved, 0, plain), axis=1)
    return np.asarray(np.maximum(errors, 0)[where.reshape(-1)])


def _below(edges: Floats, n: int, share: Floats) -> Floats:
    """Return the probability that a binomial count is below each edge; large ones are nearly normal."""
    from scipy.special import bdtr, ndtr  # here: it takes long to import, and few releases need it

    spread = np.sqrt(n * share * (1 - share))
    below = ndtr((edges - 0.5 - n * share) / np.maximum(spread, 1e-9))
    few = spread[:, 0] < 100
    last = edges[few] - 1
    below[few] = np.where(last < 0, 0.0, bdtr(np.maximum(last, 0), n, share[few]))
    return np.asarray(below)


def _exact_error(left: Floats, right: Floats, rate: float) -> Floats:
    """Return the expected squared error of a count that lies so far inside both ends of its interval."""
    a, b = np.exp(-rate), -np.expm1(-rate)

    def squares(d: Floats) -> Floats:
        """Return the sum of (d + i)^2 a^i over i >= 0."""
        return np.asarray(d * d / b + 2 * d * a / b**2 + a * (1 + a) / b**3)

    reach, back = a ** (left + 1), a ** (right + 1)
    beyond = reach * squares(left + 1) + back * squares(right + 1)
    up = squares(-left) - back * squares(right + 1 - left)
    down = squares(-right) - a**left * squares(left - right)
    inside = a * (reach * up + back * down)
    return np.asarray(b / (1 + a) * (beyond + inside))


@dataclass(frozen=True)
class Split:
    """How a histogram's epsilon is shared out: 2 * cell + exact = epsilon.

    Attributes:
        cell: What the noisy answers of one cell may lose.
        exact: What counts released exactly may lose.
    """

    cell: Fraction
    exact: Fraction


def best_split(prior: Sequence[Fraction], n: int, epsilon: Fraction) -> Split:
    """Return the split of least expected squared error under the prior, of twelve; looks at no data.

    Of splits about as good the one with the least noise is taken, should the prior be wrong.

    Examples:
        >>> [str(best_split([Fraction(1, 3)] * 3, n, Fraction(1)).exact) for n in (10**2, 10**4, 10**6)]
        ['0', '3/16', '1/32']
    """
    cells = sorted(prior)
    if len(cells) > _SAMPLED:
        cells = [cells[i * (len(cells) - 1) // (_SAMPLED - 1)] for i in range(_SAMPLED)]
    shares = np.array([float(q) for q in cells])
    splits = [Split((epsilon - epsilon * share) / 2, epsilon * share) for share in _SHARES]
    totals = [
        float(expected_error(shares, n, *_arrays(histogram(cells, n, split.exact)), split.cell).sum())
        for split in splits
    ]
    enough = min(totals) + totals[0] * 1e-4
    return next(split for split, total in zip(splits, totals, strict=True) if total <= enough)


@dataclass(frozen=True)
class Certified:
    """A histogram some of whose counts may be released exactly, planned from public numbers only.

    Attributes:
        kind: "single_prior" or "hedging".
        prior: The share of rows expected in each cell; positive, adding up to 1.
        n: The public number of rows.
        epsilon: What all answers together may lose.
        alpha: Under hedging, the least weight an attacker gives to the prior; else None.
        rate: The rate of the noise: P(z) is proportional to exp(-rate |z|).
        intervals: The least and the largest count of each measured cell that may be released exactly.
        variances: Expected squared error of each cell under the prior.
    """

    kind: Kind
    prior: tuple[Fraction, ...]
    n: int
    epsilon: Fraction
    alpha: Fraction | None
    rate: Fraction
    intervals: tuple[Ints, Ints] = field(compare=False, repr=False)
    variances: Floats = field(compare=False, repr=False)
    proof_id: ClassVar[str] = "certified"
    proviso: ClassVar[str] = ", if the prior is right"  # of the expected error

    @property
    def measured(self) -> int:
        """Return how many cells are measured: of two the first alone, as the other is n less it."""
        return len(self.intervals[0])

    @property
    def scale(self) -> Fraction:
        """Return the scale of the noise."""
        return 1 / self.rate

    @property
    def distance(self) -> Fraction:
        """Return what the noise is sized by: one row changes a count by one."""
        return Fraction(1)

    @property
    def mse(self) -> float:
        """Return the expected squared error under the prior, mean over the cells."""
        return float(self.variances.mean())

    def notes(self, index: pd.Index[Any]) -> dict[str, str]:
        """Return which counts are released exactly, and how likely that is for those that are expected."""
        low, high = self.intervals
        some = np.flatnonzero(low <= high)
        if not len(some):
            why = "no count, ever: the policy's own release is as accurate, and promises more"
            return {"released exactly": why}
        shares = np.array([float(self.prior[at]) for at in some])
        chance = chance_of_exact(np.rint(shares * self.n), low[some], high[some], self.rate).mean()
        bands = [f"{index[at]} from {low[at]:,} to {high[at]:,}" for at in some[:SHOWN]]
        more = f" and {len(some) - SHOWN:,} more" if len(some) > SHOWN else ""
        often = f"mostly (in the middle with a probability of {chance:.3f})"
        return {"released exactly": f"{'; '.join(bands)}{more}: {often}"}

    @property
    def guarantee(self) -> tuple[str, str]:
        """Return what is promised, and what is not, in one sentence each."""
        odds = f"The answers change the odds between any two values of a row by at most exp({self.epsilon})"
        believer = "anyone who believes exactly the stated shares and that rows are independent"
        beyond = "against anyone who believes other shares or knows some of the rows"
        if self.kind == "hedging":
            believer = (
                "anyone who takes the other rows, whatever this one is, for independent draws from the "
                f"stated shares with a probability of {self.alpha} or more, and else from any shares at all"
            )
            beyond = (
                "against anyone for whom this row's own value makes other shares likelier, who trusts the "
                "stated ones less, or who knows some of the rows"
            )
        return (
            f"{odds}, for {believer}.",
            f"This is weaker than a Blowfish policy: nothing is promised {beyond}.",
        )


def certify(kind: Kind, prior: Sequence[Any], n: int, epsilon: Any, alpha: Any = None) -> Certified:
    """Plan a histogram whose counts may be released exactly.

    Args:
        kind: "single_prior" protects against those who believe the prior; "hedging" against those who
            believe anything of the other rows but give the prior some weight, whatever this row is.
        prior: The share of each cell: positive numbers that add up to exactly 1.
        n: The public number of rows.
        epsilon: What the answers may lose.
        alpha: Under hedging, the weight everybody gives to the prior at least, such as "0.001".

    Examples:
        >>> plan = certify("single_prior", ["0.1", "0.9"], 1000, "0.5")
        >>> plan.measured, [int(end[0]) for end in plan.intervals], plan.variances.round(2).tolist()
        (1, [64, 154], [0.01, 0.01])

    Proof note:
        Requires: n is public; answers are drawn by `exponent`, each measured cell by itself.
        Ensures:  the loss between any two values of a row is at most epsilon, for the beliefs of `kind`.
        Because:  two cells: the other is n less the first, and its answers lose at most epsilon, noisy by
                  `exponent`, true by the interval. More: 2 cell + exact by `histogram`; under hedging none is
                  exact, and a row moves two cells by one, at half of epsilon each.
        Checked:  tests/beyond/test_certified.py::test_plans_lose_at_most_epsilon
    """
    cells = tuple(exact(share, "prior") for share in prior)
    if kind not in ("single_prior", "hedging"):
        raise ArgumentError("kind", f"{kind!r} is unknown", allowed="single_prior, hedging")
    if len(cells) < 2 or min(cells) <= 0 or sum(cells) != 1:
        raise ArgumentError(
            "prior",
            "the shares are not two or more positive numbers that add up to exactly 1",
            fix='write them as text or fractions, such as ["1/3", "2/3"]',
        )
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or not 0 <= n < _MOST_ROWS:
        raise ArgumentError("n", "the number of rows is not a whole number from 0 to 2**60")
    size, total = int(n), epsilon_of(epsilon)
    weight = _weight(kind, alpha)
    rate, intervals = total, [(1, 0)] * len(cells)
    if len(cells) == 2:
        only = (
            single_prior(cells[0], size, total) if weight is None else hedging(cells[0], size, total, weight)
        )
        intervals = [only]
    elif weight is None:
        split = best_split(cells, size, total)
        rate, intervals = split.cell, histogram(cells, size, split.exact)
    else:
        rate = total / 2
    low, high = _arrays(intervals)
    shares = np.array([float(q) for q in cells[: len(low)]])
    errors = expected_error(shares, size, low, high, rate)
    return Certified(kind, cells, size, total, weight, rate, (low, high), np.resize(errors, len(cells)))


def _weight(kind: str, alpha: Any) -> Fraction | None:
    """Return the weight of the prior under hedging, checked; None under a single prior."""
    if kind == "single_prior":
        if alpha is not None:
            raise ArgumentError("alpha", "a single prior takes no weight", fix="leave alpha out")
        return None
    if alpha is None or not 0 < exact(alpha, "alpha") < 1:
        raise ArgumentError("alpha", "hedging needs a weight between 0 and 1", fix='give alpha="0.001"')
    return exact(alpha, "alpha")


def _arrays(intervals: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Return the ends of intervals as arrays; empty ones as (1, 0)."""
    kept = [pair if pair[0] <= pair[1] else (1, 0) for pair in intervals]
    low, high = np.array(kept, dtype=np.int64).reshape(-1, 2).T
    for end in (low, high):
        end.flags.writeable = False
    return low, high
