"""Quantiles and clips picked among cells, and what is made of them.

A cell's distance is how many rows lie between it and the quantile: 0 where the quantile is in the cell. A row
that moves changes distances by at most 1, up or down: the exponential mechanism has P(c) proportional to
exp(-epsilon d(c) / 2); permute-and-flip (McKenna and Sheldon 2020) adds one-sided noise of that rate and is
never worse. Floats: good enough to compare with, not to release.
"""

from __future__ import annotations

import numpy as np


def distances(counts: np.ndarray, share: float) -> np.ndarray:
    """Return how many rows lie between each cell and a quantile."""
    upper = np.cumsum(counts)
    wanted = share * upper[-1]
    return np.maximum(np.maximum(upper - counts - wanted, wanted - upper), 0.0)


def pick(random: np.random.Generator, scores: np.ndarray, rate: float, runs: int) -> np.ndarray:
    """Return which cell permute-and-flip picks, each of some runs: least distance less exponential noise."""
    best = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        best[run] = np.argmax(random.standard_exponential(len(scores)) / rate - scores)
    return best


def rank_error(
    random: np.random.Generator, counts: np.ndarray, shares: list[float], epsilon: float, runs: int
) -> float:
    """Return the mean distance of quantiles that share one epsilon evenly."""
    found = []
    for share in shares:
        away = distances(counts, share)
        found.append(away[pick(random, away, epsilon / len(shares) / 2, runs)].mean())
    return float(np.mean(found))


def quartile_error(random: np.random.Generator, counts: np.ndarray, epsilon: float, runs: int) -> float:
    """Return the mean distance of quartiles: the median at half of epsilon, then those of both halves.

    A row that moves within a half changes distances there by up to 1, up or down; one that moves across
    changes the rows below the median by 1, and so distances in each half by up to 1/2: both halves share the
    other half of epsilon without splitting it (Kaplan, Schnapp and Stemmer 2022, for neighbours that replace
    a row).
    """
    upper, rate = np.cumsum(counts), epsilon / 4
    rows, away = upper[-1], [distances(counts, share) for share in (0.25, 0.5, 0.75)]
    found = []
    for middle in pick(random, away[1], rate, runs):
        halves = [(0, middle + 1, upper[middle] / 2), (middle, len(counts), (upper[middle] + rows) / 2)]
        errors = [away[1][middle]]
        for own, (low, high, wanted) in zip((away[0], away[2]), halves, strict=True):
            inside = upper[low:high]
            scores = np.maximum(np.maximum(inside - counts[low:high] - wanted, wanted - inside), 0.0)
            errors.append(own[low + pick(random, scores, rate, 1)[0]])
        found.append(np.mean(errors))
    return float(np.mean(found))


def clipped_mean_error(
    random: np.random.Generator, values: np.ndarray, high: int, epsilon: float, runs: int
) -> float:
    """Return the root mean squared error of a mean of whole numbers from 0 to `high`, clipped first.

    A fifth of epsilon picks the value that some rows are above, among powers of 2^(1/4): as many rows as
    keep values far above all rows from being picked. The rest is for the sum of the clipped values.
    """
    rows, truth, rate = len(values), values.mean(), epsilon / 10
    steps = np.unique(np.rint(2.0 ** np.arange(0, np.log2(high) + 0.01, 0.25)).astype(np.int64))
    below = np.searchsorted(np.sort(values), steps, side="right")
    wanted = rows - 6 / rate
    away = np.maximum(np.maximum(np.append(0, below[:-1]) - wanted, wanted - below), 0.0)
    clips = steps[pick(random, away, rate, runs)]
    sums = {clip: int(np.minimum(values, clip).sum()) for clip in set(clips.tolist())}
    noisy = np.array([sums[clip] for clip in clips.tolist()]) + random.laplace(0, clips / (0.8 * epsilon))
    return float(np.sqrt(np.mean((noisy / rows - truth) ** 2)))


def check() -> None:
    """Compare the law of what is picked with permute-and-flip by its definition, in a small case."""
    random, scores, rate, runs = np.random.default_rng(5), np.array([0.0, 1.0, 3.0]), 0.7, 40_000
    drawn = np.bincount(pick(random, scores, rate, runs), minlength=3) / runs
    flips = np.zeros(3)
    for _ in range(runs):
        for place in random.permutation(3):
            if random.random() < np.exp(-rate * (scores[place] - scores.min())):
                flips[place] += 1 / runs
                break
    assert np.abs(drawn - flips).max() < 0.012, (drawn, flips)
