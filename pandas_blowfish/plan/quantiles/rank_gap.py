"""How many rows may lie between picked places and their quantiles, data-free. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

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
                  others are picked between them, besides a share 1 / parts of the rows of one cell.
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
