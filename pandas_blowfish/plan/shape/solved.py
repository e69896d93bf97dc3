"""The answers of a release, and by how much shaping moved them. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pandas_blowfish.exact.arrays import Floats


@dataclass(frozen=True, eq=False)
class Solved:
    """The answers, and by how much shaping moved them: each unshaped answer less the shaped one.

    Attributes:
        answers: One per question.
        shift: The least and the largest of the moves.
        most: What no answer exceeds: the number of rows, where that is exact; else None.
        unshaped: The answers before they were shaped, where that changed them.
    """

    answers: Floats
    shift: tuple[float, float]
    most: float | None = None
    unshaped: Floats | None = field(default=None, kw_only=True)


def moved_from(before: Floats, answers: Floats, most: float | None = None) -> Solved:
    """Return answers, and by how much they were moved from what they were before."""
    moved = before - answers
    return Solved(
        answers, (float(moved.min(initial=0.0)), float(moved.max(initial=0.0))), most, unshaped=before
    )


def without_dust(answers: Floats, dust: float = 1e-9) -> Floats:
    """Return answers with what sums of floats leave beside whole numbers taken away; 0 without a sign.

    Examples:
        >>> without_dust(np.array([3.0000000001, -4e-15, 2.5])).tolist()
        [3.0, 0.0, 2.5]
    """
    whole = np.rint(answers) + 0.0
    return np.where(np.abs(answers - whole) < dust * np.maximum(1.0, np.abs(whole)) ** 0.5, whole, answers)
