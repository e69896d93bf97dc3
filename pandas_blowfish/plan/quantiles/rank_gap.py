"""How many rows may lie between picked places and their quantiles, data-free. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.quantiles.halving import Level
from pandas_blowfish.plan.ranks.gap import LEVEL, selection_gap


def rank_gap(
    levels: Sequence[Level], candidates: int, parts: int, scale: Fraction, level: float = LEVEL
) -> int:
    """Return how many rows lie between any place and its quantile at most, with a probability.

    Args:
        levels: What is picked in each round.
        candidates: How many cells the longest line has.
        parts: How many parts cells are cut into.
        scale: The noise scale of distances, in rows.
        level: The probability.

    Examples:
        >>> from pandas_blowfish.plan.quantiles.halving import pick_apart
        >>> rank_gap(pick_apart([Fraction(1, 2)]), 100, 1, Fraction(20))
        138

    Proof note:
        Requires: `draw_choices`; nothing of the counts.
        Ensures:  P(at most so many rows lie between every place of one line and its quantile) >= level; where
                  others are picked between them, besides a share 1 / parts of the rows of one cell; where
                  shares were rounded, besides the share `rounding` of all rows.
        Because:  some place holds the wanted rank of its run, at distance 0, so the one picked is no further
                  off than `selection_gap` at that level; the doubt is shared among the picks. A wanted rank
                  lies between two that are off themselves, and is off by the same shares of these; where a
                  cell is cut, its part is.
        Checked:  tests/plan/quantiles/test_rank_gap.py::test_places_are_as_near_as_stated
    """
    if not scale:
        return 0
    steps = [step for found in levels for step in found]
    sure = 1 - (1 - level) / len(steps)
    fine = 64  # distances are compared in such parts of a row: no table's are finer than this is coarse
    one = Fraction(selection_gap(candidates * parts, 1, scale * fine, sure) + 1, fine)
    off = {-1: Fraction(0)}
    for step in steps:
        off[step.at] = one + (1 - step.share) * off[step.low] + step.share * off[step.high]
    return math.ceil(max(off.values()))


def bound_cells(
    cells: Ints, shares: Sequence[Fraction], gaps: Sequence[Fraction], rows: int, ends: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Return between which cells each quantile lies, by what was picked for others; answers x gaps.

    Args:
        cells: The cell picked for each share, on one line.
        shares: The shares.
        gaps: How many rows may lie between places and their quantiles, at each of some levels.
        rows: How many rows the line has, which is public.
        ends: The first and the last cell that can hold a row.

    Examples:
        >>> quarters = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
        >>> bound_cells(np.array([20, 31, 55]), quarters, [Fraction(9)], 100, (0, 99))[0].ravel().tolist()
        [0, 20, 31]

    Proof note:
        Requires: `rank_gap`, at the level of each gap; of a higher share no cell is lower.
        Ensures:  all quantiles lie between their cells, the ends included, with a gap's probability.
        Because:  with that probability at most a rows + gap rows lie below a cell picked for the share a, and
                  at least a rows - gap up to its end. Where the first is below q rows, the q-th quantile lies
                  in that cell or above; where the second is at least q rows, in that cell or below.
        Checked:  tests/plan/quantiles/test_rank_gap.py::test_quantiles_lie_between_their_cells
    """
    first, last = (np.full((len(shares), len(gaps)), end, dtype=np.int64) for end in ends)
    for at, share in enumerate(shares):
        for level, gap in enumerate(gaps):
            below = [cell for cell, a in zip(cells, shares, strict=True) if a * rows + gap < share * rows]
            above = [cell for cell, a in zip(cells, shares, strict=True) if a * rows - gap >= share * rows]
            first[at, level] = max(below, default=ends[0])
            last[at, level] = min(above, default=ends[1])
    return first, last
