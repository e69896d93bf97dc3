"""diffprivlib: means, variances and quantiles know the number of rows, as here; its histogram does not."""

from __future__ import annotations

import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from summaries_job import (
    MANY,
    MEAN,
    MEDIAN,
    NUMERIC,
    QUARTERS,
    QUARTILES,
    TOP,
    VAR,
    Answers,
    Column,
    fewer,
    largest,
    main,
    whole,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import kmeans_peers

kmeans_peers._diffprivlib()  # imports it under scikit-learn 1.9 too
from diffprivlib import tools  # noqa: E402
from diffprivlib.mechanisms import PermuteAndFlip  # noqa: E402


def picked(counts: np.ndarray, epsilon: float) -> list[int]:
    """Return values picked one after the other; a changed value changes no count by more than 1."""
    left, found = np.asarray(counts, float), []
    for _ in range(MANY):
        candidates = np.flatnonzero(left >= 0)
        mechanism = PermuteAndFlip(
            epsilon=epsilon / MANY,
            sensitivity=1,
            utility=left[candidates].tolist(),
            candidates=candidates.tolist(),
        )
        found.append(mechanism.randomise())
        left[found[-1]] = -1
    return found


def quantile(values: np.ndarray, shares: tuple[float, ...], **how: Any) -> list[float]:
    """Return quantiles; no numbers where it fails, as all its probabilities are 0 in floating point."""
    try:
        return np.ravel(tools.quantile(values, list(shares), **how)).tolist()
    except RuntimeError:
        return [math.nan] * len(shares)


def counted(column: Column, epsilon: float) -> np.ndarray:
    """Return noisy counts; its relation here is a row added or removed, so that a change costs twice."""
    made = tools.histogram(column.values, epsilon=epsilon / 2, bins=column.cells, range=(0, column.cells))
    return np.asarray(made[0])


def ask(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return the answers about a column."""
    found: dict[str, Answers] = {}
    if TOP in column.questions:
        found[TOP] = {
            "histogram": [largest(counted(column, epsilon)) for _ in range(runs)],
            "permute and flip": [picked(column.counts, epsilon) for _ in range(runs)],
        }
    if set(NUMERIC) & set(column.questions):
        how = {"epsilon": epsilon, "bounds": (0, column.high)}
        values = column.values.astype(float)
        found[MEAN] = {"Laplace": [tools.mean(values, **how) for _ in range(runs)]}
        found[VAR] = {"Laplace": [tools.var(values, **how) for _ in range(runs)]}
        found[MEDIAN] = whole([quantile(values, (0.5,), **how) for _ in range(fewer(runs))])
        found[QUARTILES] = whole([quantile(values, QUARTERS, **how) for _ in range(fewer(runs))])
    return found


if __name__ == "__main__":
    main("diffprivlib", version("diffprivlib"), ask)
