"""Counts of bins from noisy ones: unbiased, or of the right shape. Never sees rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.agree import agree, settled
from pandas_blowfish.infer.simplex import shape
from pandas_blowfish.infer.solved import Solved, without_dust
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.strategy.identity import Identity
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


def solve_counts(measurement: Identity, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return counts of bins from the noisy ones, that agree with exact totals and known sums."""
    size, parts = len(measurement.index), measurement.parts
    noisy, totals = values[:size].astype(np.float64), values[size:].astype(np.float64)
    families = given.over(measurement.tally) if given else []
    if families:
        exact = Family(parts.total_of, totals)
        return _known(noisy, [*families, exact], parts.alone, positive=bool(post))
    if post:
        out = shape(noisy, parts.total_of, totals)
        out.counts[parts.alone] = noisy[parts.alone]
        return Solved(out.counts, out.shift)
    inside = parts.total_of >= 0
    if not inside.any():
        return Solved(noisy, (0.0, 0.0))
    sums = np.bincount(parts.total_of[inside], noisy[inside], parts.totals)
    gaps = (sums - totals) / np.bincount(parts.total_of[inside], minlength=parts.totals)
    shifts = np.where(inside, gaps[parts.total_of], 0.0)  # what is too much is taken from all alike
    return Solved(noisy - shifts, (float(shifts[~parts.alone].min()), float(shifts[~parts.alone].max())))


def _known(noisy: Floats, families: list[Family], alone: NDArray[np.bool_], *, positive: bool) -> Solved:
    """Return counts that agree with known sums.

    A count is its noisy answer less a shift, or 0 where that is not above it: shifts are told for the counts
    that are not settled by what is known, 0 among them.
    """
    counts = without_dust(agree(noisy, families, positive=positive, spread=(~alone).astype(np.float64)))
    moved = noisy - counts
    open_ = ~alone & np.isnan(settled(families, len(noisy)))
    low = moved[open_ & (counts > 0)] if positive else moved[open_]
    return Solved(counts, (float(low.min(initial=0.0)), float(moved[open_].max(initial=0.0))))
