"""The law of the noise, for error bars: variance and quantiles of the discrete Laplace.

Post-processing only: floats are fine here, no sample is decided. Never sees rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.exact import exact


def variance(scale: Fraction) -> float:
    """Return the variance of P(z) proportional to exp(-|z| / scale); 0 for scale 0.

    Examples:
        >>> round(variance(Fraction(20)), 3)
        799.833
    """
    if scale < Fraction(1, 700):
        return 0.0  # below 10^-300
    if scale > 10**6:  # 1 / (2 sinh^2(1 / 2 scale)) = 2 scale^2 - 1/6 + ...
        return float(2 * scale**2) if scale < 10**150 else math.inf
    return 0.5 / math.sinh(float(1 / scale) / 2) ** 2


def reach(scale: Fraction, level: object) -> int:
    """Return the least t with P(|z| <= t) >= level.

    Args:
        scale: The noise scale.
        level: A number in (0, 1).

    Examples:
        >>> reach(Fraction(20), 0.95)
        60

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  an answer +- t covers the true count with at least this probability, and t - 1 does not.
        Because:  P(|z| > t) = 2 a^(t+1) / (1 + a) with a = exp(-1 / scale), which falls as t grows; the
                  first guess from logarithms is stepped to the exact place.
        Checked:  tests/plan/test_law.py::test_reach_is_least
    """
    wanted = exact(level, "level")
    if not 0 < wanted < 1:
        raise ArgumentError("level", f"{level} is not between 0 and 1")
    if scale == 0:
        return 0
    beyond = math.log((1 - wanted).numerator) - math.log((1 - wanted).denominator)
    rate = float(min(1 / scale, Fraction(10**300)))

    def outside(t: int) -> float:
        return math.log(2) - rate * (t + 1) - math.log1p(math.exp(-rate))

    t = max(0, math.ceil((outside(-1) - beyond) / rate) - 1)
    while outside(t) > beyond:
        t += 1
    while t > 0 and outside(t - 1) <= beyond:
        t -= 1
    return t
