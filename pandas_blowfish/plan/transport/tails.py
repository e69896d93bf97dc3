"""How far noise may go of which the variance and the kind of law are known. Never sees rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.number import exact

DUST = 1 + 1e-9  # floats of standard errors are as exact as that


def concave_line(level: Any) -> tuple[float, float]:
    """Return by how much `concave_reach` rises with the standard error at most, and what it adds at most."""
    beyond = _beyond(level)
    log = -math.log(beyond)
    return DUST / math.sqrt(2 * (1 - beyond * (1 + log)) / log**2), log / 2


def concave_reach(std: Floats, level: Any) -> Floats:
    """Return for each standard error a t with P(|X| <= t) >= level, X whole, symmetric and log-concave.

    Examples:
        >>> concave_reach(np.array([0.0, 0.1, 2.0, 100.0]), 0.95).tolist()
        [0.0, 0.0, 6.0, 238.0]

    Proof note:
        Requires: 0 < level < 1; standard errors that are exact or upper bounds.
        Ensures:  the stated coverage.
        Because:  h(m) = P(|X| >= m) falls from h(0) = 1 and is log-concave, as sums of tails of such laws
                  are. Let h(M) > b = 1 - level. Then h(m) > b**(m / M) up to M, and the variance, which is
                  sum (2 m - 1) h(m), exceeds sum_{m <= M} (2 m - 1) b**(m / M). With L = -ln b that is at
                  least M**2 c exp(-L / M), c = 2 (1 - b (1 + L)) / L**2, the integral of 2 x b**(x / M)
                  times b**(1 / M). So M < s exp(L / 2 M), s = std / sqrt(c), whence M < s + L / 2. By
                  Chebyshev also M < std / sqrt(b).
        Checked:  tests/plan/transport/test_tails.py::test_reach_covers_log_concave_laws
    """
    slope, more = concave_line(level)
    least = np.minimum(std * slope + more, std * DUST * any_reach(level))
    return np.asarray(np.maximum(np.ceil(least) - 1, 0.0))


def any_reach(level: Any) -> float:
    """Return how many standard errors hold any error whose mean is 0 with at least this probability.

    Examples:
        >>> any_reach(0.75)
        2.0

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  the stated coverage, whatever the law.
        Because:  Chebyshev's inequality.
        Checked:  tests/plan/transport/test_tails.py::test_any_law_is_covered
    """
    return 1 / math.sqrt(_beyond(level))


def _beyond(level: Any) -> float:
    wanted = exact(level, "level")
    if not 0 < wanted < 1:
        raise ArgumentError("level", f"{level} is not between 0 and 1")
    return float(1 - wanted)
