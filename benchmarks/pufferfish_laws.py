"""What errors are expected to be, and whether those that are measured are so; not run by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

RUNS = 20_000  # draws of a row of a table
BEYOND = 40  # noise further than so many scales has no weight
MANY = 1 << 22  # numbers held at a time
LIMIT = 4  # standard errors


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    runs: int = RUNS
    quick: bool = False

    def some(self, full: Sequence[Any], quick: Sequence[Any]) -> Sequence[Any]:
        """Return the settings to go through."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Moments:
    """The exact law of an error: how often there is none for sure, and its second and fourth moments."""

    told: float
    second: float
    fourth: float


@dataclass(frozen=True)
class Found:
    """Squared errors that were measured, beside what they are expected to be."""

    mean: float
    error: float  # standard error of the mean
    expected: float

    @classmethod
    def of(cls, errors: Any, exact: Moments, cells: int = 1) -> Found:
        """Return what errors show: the larger of their own standard error and that of the exact law.

        Rare errors may not occur in a sample, whose own standard error is then 0; that of few draws is often
        too small. Half the noise that is expected is seen from 150 draws on. Several cells of a release are
        taken as independent in the exact one, which they nearly are.
        """
        squares = np.asarray(errors, dtype=float).reshape(-1, cells) ** 2
        each, runs = squares.mean(axis=1), len(squares)
        own = float(each.std(ddof=1)) if runs > 1 else 0.0
        law = math.sqrt(max(exact.fourth - exact.second**2, 0.0) / cells)
        return cls(float(each.mean()), max(own, law) / math.sqrt(runs), exact.second)

    @property
    def agrees(self) -> bool:
        """Tell whether measured and expected are within the limit of each other."""
        return abs(self.mean - self.expected) <= LIMIT * self.error

    @property
    def rmse(self) -> float:
        """Return the root of the mean squared error."""
        return math.sqrt(self.mean)

    def __str__(self) -> str:
        return f"{number(self.rmse)} ({self.error / (2 * self.rmse):.2g})" if self.mean else "0 (none is off)"


def number(value: float) -> str:
    """Return a number with three digits."""
    if 0 < value < 1e-6:
        return "< 1e-6"
    return f"{value:,.3g}" if value < 1_000 else f"{value:,.0f}"


def root(value: float) -> str:
    return number(math.sqrt(value))


def percent(value: float) -> str:
    return f"{number(100 * value)}%"


def line(claim: str, checks: Iterable[bool]) -> str:
    """Return the line that says whether all checks of a claim passed; none passes where there is none."""
    passed = list(checks)
    answer = "yes" if passed and all(passed) else "no"
    return f"{claim}: {answer} ({sum(passed)} of {len(passed)})."


def verdict(found: Iterable[Found]) -> str:
    """Return the line that says whether what was measured is what was expected."""
    return line(f"Measured within {LIMIT} standard errors of exact", [each.agrees for each in found])


def same(pairs: Iterable[tuple[Any, Any]]) -> str:
    """Return the line that says whether releases through the accessor are the draws that were measured."""
    return line("Releases through the accessor are these draws", [np.array_equal(*pair) for pair in pairs])


def geometric(scale: Fraction) -> Moments:
    """Return the moments of noise with P(z) proportional to exp(-|z| / scale)."""
    a, b = math.exp(-1 / float(scale)), -math.expm1(-1 / float(scale))
    return Moments(0.0, 2 * a / b**2, 2 * a * (1 + 10 * a + a * a) / b**4)


def moments(share: Fraction, n: int, low: int, high: int, rate: Fraction) -> Moments:
    """Return those of a count that is binomial and may be told exactly from low to high, by plain sums.

    A count k inside that draws k + z inside keeps it with probability exp(-rate e), e = 2 + the way from k
    to k + z by the nearer end, less |z|, and is told exactly otherwise.
    """
    plain, step, q = geometric(1 / rate), float(rate), float(share)
    reach, wide = math.ceil(BEYOND / step), 9 * math.sqrt(n * q * (1 - q)) + 30
    k = np.arange(max(0, math.floor(n * q - wide)), min(n, math.ceil(n * q + wide)) + 1)
    weight = binom.pmf(k, n, q)
    inside = (low <= k) & (k <= high)
    left, right = np.maximum(k - low + 1, 0), np.maximum(high - k + 1, 0)
    told = np.expm1(-step * left) * np.expm1(-step * right)
    near = np.flatnonzero(inside & (np.minimum(left, right) <= reach))
    z = np.arange(-reach, reach + 1)
    chance = np.tanh(step / 2) * np.exp(-step * np.abs(z))
    second, fourth = np.where(inside, 0.0, plain.second), np.where(inside, 0.0, plain.fourth)
    for part in np.array_split(near, 1 + len(near) * len(z) // MANY):
        own = k[part, None]
        way = np.minimum(2 * (own - low) + z, 2 * (high - own) - z)
        stays = (own + z >= low) & (own + z <= high)
        kept = chance * np.where(stays, np.exp(-step * np.maximum(2 + way - np.abs(z), 0)), 1.0)
        second[part], fourth[part] = kept @ z.astype(float) ** 2, kept @ z.astype(float) ** 4
    return Moments(*(float(weight @ each) for each in (told, second, fourth)))


def odds_times(share: Fraction, factor: Fraction) -> Fraction:
    """Return the share whose odds are those of another times a factor."""
    return factor * share / (1 - share + factor * share)
