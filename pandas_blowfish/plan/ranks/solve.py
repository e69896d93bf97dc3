"""From picks, or noisy counts, to the most frequent values. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.ranks.candidates import Candidates
from pandas_blowfish.plan.shape.solved import Solved

WRONG = "these are not the values of this measurement"


@dataclass(frozen=True, eq=False)
class Ranked(Solved):
    """The most frequent values of each group.

    Attributes:
        picks: Which candidates, by their place among all: group after group, the most frequent first.
        counted: Whether `answers` are their counts; else there are none.
    """

    picks: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    counted: bool = False


def find_left(candidates: Candidates, values: Sequence[Ints]) -> tuple[list[Ints], Ints]:
    """Return which candidates were picked in each round, one per group, and which are left.

    Args:
        candidates: What was chosen from.
        values: Of each round the query row that was picked in each group.
    """
    left, picked = np.arange(len(candidates.bins)), []
    for each in values:
        groups = np.arange(len(candidates.sizes))
        inside = len(each) == len(groups) and len(each) and each.min() >= 0 and each.max() < len(left)
        if not inside or not np.array_equal(candidates.group_of[left[each]], groups):
            raise ArgumentError("values", WRONG)
        picked.append(left[each])
        left = np.delete(left, each)
    return picked, left


def solve_picks(candidates: Candidates, values: Ints) -> Ranked:
    """Return the values that were picked; where one was left for the last rank it needed no choice."""
    rounds = values.reshape(-1, max(len(candidates.sizes), 1))
    picked, left = find_left(candidates, list(rounds))
    if len(picked) == candidates.k - 1 and np.array_equal(
        candidates.group_of[left], np.arange(len(candidates.sizes))
    ):
        picked.append(left)
    if len(picked) != candidates.k:
        raise ArgumentError("values", WRONG)
    picks = np.stack(picked, axis=1).reshape(-1)
    return Ranked(picks.astype(np.float64), picks.astype(np.float64), picks=picks)


def solve_largest(candidates: Candidates, values: Ints, *, post: bool | str) -> Ranked:
    """Return the k largest noisy counts of each group; of equal ones those that the schema lists first."""
    order = np.lexsort((-values, candidates.group_of))
    first = np.cumsum(candidates.sizes) - candidates.sizes
    picks = order[(first[:, None] + np.arange(candidates.k)).reshape(-1)]
    unshaped = values[picks].astype(np.float64)
    answers: Floats = np.maximum(unshaped, 0.0) if post else unshaped
    return Ranked(answers, unshaped, picks=picks, counted=True)
