"""How many rows fewer than the most frequent a listed value may have, data-free. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.scales import FARTHEST

LEVEL = 0.95  # the probability of what is stated
BLOCKS, FAR = 50, 45  # blocks of noises per scale, and scales of noise that are looked at


@lru_cache(maxsize=256)
def selection_gap(candidates: int, picks: int, scale: Fraction, level: float = LEVEL) -> int:
    """Return g such that the i-th pick has at most g rows fewer than the i-th most frequent, for all i.

    Args:
        candidates: How many there are.
        picks: How many are picked one after another.
        scale: The scale of the one-sided noise of each pick.
        level: The probability with which it holds.

    Examples:
        >>> selection_gap(100, 1, Fraction(20))
        137

    Proof note:
        Requires: `draw_choices`.
        Ensures:  P(every pick has at most g rows fewer than the most frequent candidate that was left) >=
                  level, for any counts; so the i-th has at most g fewer than the i-th most frequent.
        Because:  whole scores with geometric noise, ties in a uniform order, are picked as with exponential
                  noise, whose whole part is geometric and whose rest breaks ties. One of n candidates
                  leads; others matter most if all are d = g + 1 behind: it is picked with probability
                  (1 - (1 - p)^n) / (n p), p = exp(-d / scale). What was picked before does not matter.
        Checked:  tests/plan/ranks/test_gap.py::test_selection_gap_is_least_for_one_pick,
                  tests/plan/ranks/test_gap.py::test_no_counts_do_worse
    """
    if not scale or candidates < 2:
        return 0
    if scale > FARTHEST:  # no noise has that: in proportion
        return math.ceil(selection_gap(candidates, picks, FARTHEST, level) * scale / FARTHEST)
    rate = float(min(1 / scale, Fraction(10**300)))
    left = np.arange(candidates, max(candidates - picks, 1), -1, dtype=np.float64)

    def succeeds(distance: int) -> float:
        behind = min(np.exp(-min(distance * rate, 700.0)), 1 - 2.0**-53)
        return float(np.prod(-np.expm1(left * np.log1p(-behind)) / (left * behind)))

    return _least(succeeds, level) - 1


@lru_cache(maxsize=256)
def read_off_gap(candidates: int, k: int, scale: Fraction, level: float = LEVEL) -> int:
    """Return the same for the k largest of counts with discrete Laplace noise.

    Examples:
        >>> read_off_gap(100, 1, Fraction(20))
        155

    Proof note:
        Requires: independent noises of one scale.
        Ensures:  as `selection_gap`; the least g for k = 1 and scales up to 50, else at most a little larger.
        Because:  if the i-th listed, v, has d = g + 1 rows fewer than the i-th most frequent, one of the i
                  most frequent, u, is not listed before it: v's noise is at least d above u's. With
                  none of the k most frequent that far below any noise that cannot be. Their least noise
                  is summed over; of a block of noises the least favourable end is taken.
        Checked:  tests/plan/ranks/test_gap.py::test_read_off_gap_is_least_for_one_pick,
                  tests/plan/ranks/test_gap.py::test_no_counts_do_worse
    """
    if not scale or candidates < 2:
        return 0
    if scale > FARTHEST:
        return math.ceil(read_off_gap(candidates, k, FARTHEST, level) * scale / FARTHEST)
    rate = float(min(1 / scale, Fraction(10**300)))
    width = max(1.0, float(scale // BLOCKS))
    ends: Floats = np.arange(-FAR * BLOCKS - 2, FAR * BLOCKS + 3, dtype=np.float64) * width
    begin: Any = ends[:-1]
    end: Any = ends[1:]

    def below(z: Any) -> Any:
        tail = np.exp(-np.minimum(np.where(z >= 0, z + 1, -z) * rate, 700.0)) / (1 + np.exp(-rate))
        return np.where(z >= 0, 1 - tail, tail)

    def succeeds(distance: int) -> float:
        top = below(begin + distance - 1)
        least = (top - below(begin - 1)) ** k - np.maximum(top - below(end - 1), 0.0) ** k
        return float((top ** (candidates - k) * least).sum())

    return _least(succeeds, level) - 1


def _least(succeeds: Callable[[int], float], level: float) -> int:
    """Return the least whole distance from 1 at which something succeeds with a probability."""
    low, high = 0, 1
    while succeeds(high) < level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if succeeds(middle) < level else (low, middle)
    return high
