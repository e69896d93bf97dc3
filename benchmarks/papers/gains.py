"""What a weaker policy gains in Figure 1 of He et al. (2014), and how three variants answer a sentence.

The variants are the paper's Lloyd with centres cut to the domain, the same without that, and ours; only ours
is sound under every policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from papers.clusters import PAPER, UNCUT, Case
from papers.experiment import ERRORS, OURS, verdict
from papers.panel import Means

FULL = Case("full", "full")
TRIED = (PAPER, UNCUT, OURS)
SHORT = {PAPER: "paper", UNCUT: "not cut", OURS: "ours"}
Gain = tuple[float, float]  # and its standard error


def gains(means: Means, data: str, case: Case, method: str) -> list[float]:
    """Return by how much a policy is better than full, by epsilon."""
    pairs = zip(means.row(data, FULL, method), means.row(data, case, method), strict=True)
    return [full / weaker for full, weaker in pairs]


def gain_at(means: Means, data: str, case: Case, epsilon: str, method: str) -> Gain:
    """Return by how much a policy is better than full at one epsilon, and its standard error."""
    scores = [means(data, each, epsilon, method) for each in (FULL, case)]
    errors = [means.error(data, each, epsilon, method) for each in (FULL, case)]
    ratio = scores[0] / scores[1]
    return ratio, ratio * float(np.hypot(errors[0] / scores[0], errors[1] / scores[1]))


def above(large: Gain, small: Gain = (1.0, 0.0)) -> bool:
    """Tell whether one gain is above another (or above none) by over two standard errors."""
    return bool(large[0] - small[0] > ERRORS * np.hypot(large[1], small[1]))


def listed(values: Iterable[float]) -> str:
    """Return numbers to two digits after the point."""
    return ", ".join(f"{value:.2f}" for value in values)


def each_of(found: Mapping[str, Iterable[float]]) -> str:
    """Return the numbers of each variant."""
    return "; ".join(f"{listed(values)} ({SHORT[method]})" for method, values in found.items())


def alone(found: Mapping[str, list[Gain]]) -> dict[str, list[float]]:
    """Return gains without their standard errors."""
    return {method: [gain for gain, _ in each] for method, each in found.items()}


def decided(held: Mapping[str, bool]) -> str:
    """Return the verdict on a sentence of which every variant has its own answer: only ours is sound."""
    return verdict(held[OURS], unsound=any(held[method] for method in held if method != OURS))


def said(held: Mapping[str, bool]) -> str:
    """Return the answer of each variant."""
    return ", ".join(f"{SHORT[method]}: {'yes' if holds else 'no'}" for method, holds in held.items())
