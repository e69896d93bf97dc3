"""How much further than standard errors say the noise of a release goes, from what its receipt states.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.joint_noise.joint_law import clique_ends, clique_widening
from pandas_blowfish.plan.joint_noise.log_concave import TOGETHER_WIDENING, widest_together
from pandas_blowfish.plan.scales import (
    ANY,
    CLIQUES,
    CONCAVE,
    ESTIMATE,
    ONE,
    SUM,
    reach,
    reach_of_sum,
    variance,
    widest,
)
from pandas_blowfish.plan.transport.tails import any_reach, concave_reach

MOST_SUMMED = 64  # noises in one answer whose law is computed exactly


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


def find_terms(facts: Mapping[str, Any]) -> str:
    """Return what an answer is off by, as the receipt states it; of earlier versions, as their proofs do."""
    if "noise_terms" in facts:
        return str(facts["noise_terms"])
    if facts["proof"] in ("identity", "certified", "wasserstein"):
        return ONE if facts["verb"] in ("hist", "count") and "derived" not in facts else ESTIMATE
    whole = facts["proof"] in ("ordered", "tree") and "derived" not in facts
    return SUM if whole and facts["verb"] != "workload" else ESTIMATE


def find_spread(facts: Mapping[str, Any], std: Floats, level: Any) -> Floats:
    """Return how far the noise of each answer goes: exactly for sums of whole noises, else at most.

    Counts have a noise each; prefix sums, and the sums of a tree, one scale: an answer is a sum of some.
    """
    scale, finest = Fraction(facts["scale"]), Fraction(facts["smallest_scale"])
    terms, one = find_terms(facts), variance(scale)
    if terms == ONE:
        return np.full(len(std), float(reach(scale, level)))
    if terms in (CONCAVE, ANY):
        return concave_reach(std, level) if terms == CONCAVE else any_reach(level) * std
    spread = find_far(facts, level) * std + 1
    if terms == CLIQUES:
        return clique_ends(std, facts["clique_sizes"], scale, level, spread)
    if facts["verb"] == "workload":  # weights of any size: a noise counts in steps of its weight
        return spread + std / math.sqrt(variance(finest)) if variance(finest) > 0 else spread
    if terms != SUM or scale != finest or one <= 0:
        return spread
    many = std**2 / one
    for each in np.unique(np.rint(many[(many > 0.5) & (many < MOST_SUMMED)])).astype(int).tolist():
        exactly = reach_of_sum(scale, each, level)
        if exactly is not None:
            spread = np.where(np.isclose(many, each, rtol=1e-9, atol=0), exactly, spread)
    return spread
