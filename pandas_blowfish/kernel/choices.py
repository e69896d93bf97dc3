"""Which candidate of each choice has most, after noise: sees counts, releases places alone."""

from __future__ import annotations

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.kernel.noise import uniform_below


def draw_choices(choices: Ints, scores: Ints, noise: Ints, *, noisy: bool) -> Ints:
    """Return for each choice the number of the query row whose score is largest, after one-sided noise.

    Args:
        choices: For each query row the number of the choice that it is a candidate of, from 0.
        scores: The exact value of each query row.
        noise: Independent discrete Laplace noises.
        noisy: Whether noise was drawn at all; else the first of the largest is returned.

    Proof note:
        Requires: each noise has P(z) ~ exp(-|z| / b), b its candidate's scale, or is 0 where b is 0.
        Ensures:  the odds of all picks together change by at most exp(sum over choices of R / b), R the
                  largest change of a candidate's score less the smallest, b the least scale. Where R is 0
                  nothing changes, with noise or without.
        Because:  z or -1 - z, whichever is not negative, is r with P(r) ~ exp(-r / b) (`noise.py`). Fix all
                  noises but that of candidate i, and an order for ties, uniform and drawn without looking
                  at scores: i is picked where r_i >= T = max_j (s_j + r_j + [j before i]) - s_i, which
                  is P(r_i >= max(T, 0)) = exp(-max(T, 0) / b). T moves by at most R, and so by
                  exp(R / b) at most the probability. Of candidates that tie, the first in a uniform
                  order is each of them alike. Choices have noises of their own: their odds multiply.
        Checked:  tests/kernel/test_choices.py::test_picks_have_the_exact_law,
                  tests/privacy/test_select_loss.py::test_no_neighbours_lose_more_than_is_charged
    """
    after = scores + (noise ^ (noise >> 63))
    most = np.full(int(choices.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(most, choices, after)
    tied = np.flatnonzero(after == most[choices])
    tied = tied[np.argsort(choices[tied], kind="stable")]
    many = np.bincount(choices[tied])
    return np.asarray(tied[np.cumsum(many) - many + (uniform_below(many) if noisy else 0)])
