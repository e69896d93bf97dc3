"""How many standard errors hold sums of noises that are drawn together: any symmetric log-concave law's.

Never sees rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.number import exact

STEPS = 4_000  # ends of laws that are tried
SLACK = 1e-3
TOGETHER_WIDENING = 1.4  # how many times more than `widest` that is at most, whatever the level


def widest_together(level: Any) -> float:
    """Return how many standard errors hold a weighted sum of noises with at least this probability.

    Examples:
        >>> round(widest_together(0.95), 2), round(widest_together(0.5), 2)
        (2.17, 0.87)

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  P(|X| <= t) >= level for X of variance 1 with a symmetric log-concave density: any sum of
                  some values of noises with P(z) proportional to exp(-N(z) / scale) or of Laplace noises,
                  as if they were real numbers.
        Because:  exp(-N / scale) is log-concave, and so are laws of sums (Prekopa). Of |X| with density f
                  and P(|X| > t) = p the least second moment is that of a density c exp(-u x) on [0, a]: on
                  [0, t] the one with f's mass and f(t) crosses f once, from above; its slope at t is no
                  steeper than f's, so its tail holds p nearer to t. All of these are tried, in small steps.
        Checked:  tests/plan/joint_noise/test_log_concave.py::test_covers_whatever_the_shape
    """
    wanted = exact(level, "level")
    if not 0 < wanted < 1:
        raise ArgumentError("level", f"{level} is not between 0 and 1")
    return _widest_together(wanted)


@lru_cache(maxsize=64)
def _widest_together(wanted: Fraction) -> float:
    most = float(min(wanted, 1 - Fraction(1, 10**15)))
    ends = np.geomspace(1e-2, 60 - 4 * math.log1p(-most), STEPS)  # of exp(-x) on [0, end]
    beyond = np.exp(-ends)
    second = (2 - beyond * (2 + 2 * ends + ends**2)) / -np.expm1(-ends)
    far = -np.log1p(most * np.expm1(-ends))
    return max(float((far / np.sqrt(second)).max()), math.sqrt(3) * most) + SLACK
