"""The answers of a release, shaped and as they were before. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandas_blowfish.exact.arrays import Floats


@dataclass(frozen=True, eq=False)
class Solved:
    """The answers as they are shown, and the estimates that they were shaped from.

    Attributes:
        answers: One per question.
        unshaped: Estimates that are unbiased, whose errors are at most what the plan states: later questions
            and intervals are computed from these.
        most: What no answer exceeds: the number of rows, where that is exact; else None.
    """

    answers: Floats
    unshaped: Floats
    most: float | None = None


def without_dust(answers: Floats, dust: float = 1e-9) -> Floats:
    """Return answers with what sums of floats leave beside whole numbers taken away; 0 without a sign.

    Examples:
        >>> without_dust(np.array([3.0000000001, -4e-15, 2.5])).tolist()
        [3.0, 0.0, 2.5]
    """
    whole = np.rint(answers) + 0.0
    return np.where(np.abs(answers - whole) < dust * np.maximum(1.0, np.abs(whole)) ** 0.5, whole, answers)
