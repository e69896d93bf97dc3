"""Generalised least squares over all query rows of a nest, in linear time.

Free post-processing: never sees rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.variance import Spread


def estimate(nest: Nest, variances: Sequence[float], noisy: Floats, totals: Floats, shared: Floats) -> Floats:
    """Return the best linear unbiased estimate of the cumulative counts of each line.

    Args:
        nest: What was measured.
        variances: The variance of a query row of each family.
        noisy: The noisy query rows, lines x rows.
        totals: The exact totals of segments, lines x segments; NaN where they are not exact.
        shared: The exact totals that segments of several lines share.

    Returns:
        lines x (size + 1): position p is the number of rows in atoms before p.

    Proof note:
        Requires: independent rows with the variances given.
        Ensures:  the estimate of least variance among all linear unbiased ones, for every range.
        Because:  estimates from below and the own measurement of a node are combined with weights of
                  inverse variance, prefixes by the normal equations of the chain, exact totals by
                  conditioning; each correction is distributed to the parts in proportion to variance.
        Checked:  tests/plan/line/test_least_squares.py::test_equals_dense_least_squares
    """
    spread = Spread(nest, variances)
    lines = len(noisy)
    cuts = np.cumsum([0, *nest.sizes])
    pieces = dict(zip(nest.families, (noisy[:, a:b] for a, b in pairwise(cuts)), strict=True))
    guesses, sums = _upwards(nest, spread, variances, pieces, lines)
    blocks = sums[0] if sums else np.zeros((lines, nest.blocks.size))
    head = pieces.get("prefix", pieces.get("total", np.zeros((lines, len(spread.chain.unknown)))))
    ends = spread.chain.ends(head, blocks, totals)
    if nest.line.open:
        _correct(nest, spread, ends, totals, shared)
    held = np.diff(ends, axis=1)
    keep = np.ones(held.shape[1], dtype=bool)
    keep[spread.chain.last[:-1]] = False  # from one segment's end to the next one's start
    held = held[:, keep]
    for level, up, below, guess, total in zip(
        nest.levels, spread.up, spread.below, guesses, sums, strict=True
    ):
        held = guess + (up / below[level.parent]) * (held - total)[:, level.parent]
    if nest.layout.mirrored:
        held = held[:, ::-1]
    return np.concatenate([np.zeros((lines, 1)), np.cumsum(held, axis=1)], axis=1)


def _upwards(
    nest: Nest, spread: Spread, variances: Sequence[float], pieces: dict[str, Floats], lines: int
) -> tuple[list[Floats], list[Floats]]:
    """Return each level's nodes as estimated from within, and the sums of these over the level above."""
    own = dict(zip(nest.families, variances, strict=True))
    guesses: list[Floats] = []
    sums: list[Floats] = []
    for number in reversed(range(len(nest.levels))):
        level, name = nest.levels[number], f"level {number + 1}"
        if nest.layout.wavelet:
            guess = np.zeros((lines, level.size))
            left = level.first[nest.halves[number].parent]
            guess[:, left], guess[:, left + 1] = pieces[name] / 2, -pieces[name] / 2
        elif not sums:
            guess = pieces[name]
        else:
            weight = spread.up[number] / own[name]
            guess = weight * pieces[name] + (1 - weight) * sums[0]
        guesses.insert(0, guess)
        sums.insert(0, np.add.reduceat(guess, level.first[:-1], axis=1))
    return guesses, sums


def find_corrections(found: Floats, variance: Floats, total_of: Ints, totals: Floats) -> Floats:
    """Return by how much to move sums, in proportion to their variances, so that they add up to totals.

    Args:
        found: The sums.
        variance: Their variances.
        total_of: The number of the total that each belongs to, -1 for none.
        totals: At least one.
    """
    inside = total_of >= 0
    sums, weights = (np.bincount(total_of[inside], each[inside], len(totals)) for each in (found, variance))
    return np.where(inside, variance * ((totals - sums) / weights)[total_of], 0.0)


def _correct(nest: Nest, spread: Spread, ends: Floats, totals: Floats, shared: Floats) -> None:
    """Move open totals to what is exact: alone, or in sum with those of other lines."""
    chain, exact = spread.chain, nest.line.exact
    found = ends[:, chain.last]
    change = np.where(np.isnan(totals), 0.0, totals - found)
    if len(shared):
        total_of = exact.total_of.reshape(found.shape)
        if nest.layout.mirrored:
            total_of = total_of[:, ::-1]
        variance = np.broadcast_to(chain.variance[chain.last], found.shape)
        change += find_corrections(found, variance, total_of, shared)
    segment = np.searchsorted(chain.last, np.arange(ends.shape[1]))
    ends += change[:, segment] * chain.share
