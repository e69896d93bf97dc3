"""Noise along lines between cells: nodes of a few levels, and the flow they add up to at each place.

Never sees rows, and draws nothing: the kernel draws the nodes' noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.ladder import Ladder
from pandas_blowfish.plan.law import variance
from pandas_blowfish.plan.weights import best_weights
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
PARTS = 64  # shares of levels in an effect are multiples of 1 / PARTS


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines across one column: nodes along the other one, and how their noise is combined.

    Attributes:
        along: The levels along the line.
        weights: One whole number a level, 0 for a level without noise: scales are their inverses.
        shares: How much of each effect comes from each level, in parts of PARTS: levels x effects.
    """

    along: Ladder
    weights: tuple[int, ...]
    shares: Ints

    @cached_property
    def measured(self) -> list[int]:
        """Return the levels that have noise."""
        return [level for level, weight in enumerate(self.weights) if weight]

    @cached_property
    def sizes(self) -> list[int]:
        """Return how many nodes each level with noise has."""
        return [self.along.counts[level] for level in self.measured]

    def effect_variances(self, scales: tuple[Fraction, ...]) -> Floats:
        """Return the variance of each effect from the scale of each level with noise.

        What a level tells of its effects is orthogonal, so their variances are sums over levels.
        """
        total = np.zeros(self.along.levels)
        counts = np.array(self.along.counts, dtype=float)
        for level, scale in zip(self.measured, scales, strict=True):
            total += (self.shares[level] / PARTS) ** 2 * (counts[level] / counts) * variance(scale)
        return total

    def flows(self, nodes: Ints) -> Ints:
        """Return PARTS * leaves times the flow across each place of the lines, in whole numbers.

        Args:
            nodes: The noise, ... x nodes, level after level of those with noise.

        Proof note:
            Requires: the shares of each effect add up to PARTS, those of levels coarser than it are 0.
            Ensures:  one more in the nodes over a place, one a level with noise, is PARTS * leaves more
                      there and nothing elsewhere.
            Because:  each effect is told by its node over the place, PARTS more, times its number of
                      nodes, less the mean over the node above, which is what the effect before added
                      there; only the last level's, on the place itself, is left.
            Checked:  tests/plan/test_lines.py::test_a_shift_moves_one_place
        """
        counts, at = self.along.counts, np.cumsum([0, *self.sizes])
        outer = nodes.shape[:-1]
        out = np.zeros((*outer, self.along.leaves), dtype=np.int64)
        for effect, count in enumerate(counts):
            told = np.zeros((*outer, count), dtype=np.int64)
            for number, level in enumerate(self.measured):
                if self.shares[level, effect]:
                    own = nodes[..., at[number] : at[number + 1]]
                    parts = own.reshape(*outer, count, own.shape[-1] // count)
                    told += self.shares[level, effect] * parts.sum(axis=-1)
            out += np.repeat(told * count, self.along.leaves // count, axis=-1)
            if effect:
                above = counts[effect - 1]
                mean = told.reshape(*outer, above, count // above).sum(axis=-1)
                out -= np.repeat(mean * above, self.along.leaves // above, axis=-1)
        return out[..., : len(self.along.leaf_of)]

    def scaled(self, factor: float) -> Lines:
        """Return the same lines with other weights in nearly the same proportions."""
        weights = tuple(max(1, round(factor * weight)) if weight else 0 for weight in self.weights)
        return Lines(self.along, weights, self.shares)


def lines_along(along: Ladder, worth: Floats) -> tuple[Lines, float]:
    """Return the best weights of levels along a line, and their error at a loss of 1.

    Args:
        along: The levels along the line.
        worth: What the variance of each effect adds to the error.
    """
    counts = np.array(along.counts, dtype=float)
    ratios = counts[None, :] / counts[:, None]  # effects x levels
    tells = np.where(ratios >= 1, 0.5 / ratios, 0.0)
    worth = np.maximum(worth, 1e-9 * max(float(worth.max(initial=0.0)), 1e-300))
    starts: list[Floats] = [np.zeros(along.levels), np.linspace(0.0, -along.levels, along.levels)]
    weights, error = best_weights(tells, np.ones((1, along.levels)), worth, starts)
    precise = (tells * weights.astype(float) ** 2).T
    shares = np.floor(PARTS * precise / precise.sum(axis=0)).astype(np.int64)
    for effect in range(along.levels):  # what rounding left goes to the level that tells most
        shares[int(np.argmax(precise[:, effect])), effect] += PARTS - int(shares[:, effect].sum())
    return Lines(along, tuple(int(each) for each in weights), shares), error
