"""How much further than standard errors say the noise of a release goes, from what its receipt states.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pandas_blowfish.plan.joint_noise.joint_law import clique_widening
from pandas_blowfish.plan.joint_noise.log_concave import TOGETHER_WIDENING, widest_together
from pandas_blowfish.plan.scales import variance, widest


def rounding_of(facts: Mapping[str, Any]) -> float:
    """Return how much wider the law of whole noises, or of some drawn together, is than its error says."""
    return widening_of(facts) * _whole_rounding(facts)


def _whole_rounding(facts: Mapping[str, Any]) -> float:
    """Return how much wider the law of whole noises is than its error says."""
    finest = Fraction(facts["smallest_scale"])
    return math.sqrt(float(2 * finest**2) / variance(finest)) if variance(finest) > 0 else 1.0


def widening_of(facts: Mapping[str, Any]) -> float:
    """Return how many times further than their error says sums may go of noises that are drawn together."""
    if facts.get("drawn_together"):
        return TOGETHER_WIDENING
    return clique_widening(facts.get("clique_sizes", ()), Fraction(facts["smallest_scale"]))


def find_far(facts: Mapping[str, Any], level: Any) -> float:
    """Return how many standard errors hold an answer with at least this probability."""
    if facts.get("drawn_together"):
        return widest_together(level) * _whole_rounding(facts)
    return float(widest(level)) * rounding_of(facts)
