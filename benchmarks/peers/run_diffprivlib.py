"""diffprivlib: its histogram (truncated geometric noise) and its k-means."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import peer_job

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import kmeans_peers

kmeans_peers._diffprivlib()  # imports it under scikit-learn 1.9 too
from diffprivlib.tools import histogram  # noqa: E402


def counted(values: np.ndarray, cells: int, epsilon: float) -> np.ndarray:
    """Return noisy counts, cut at 0 by diffprivlib itself."""
    return np.asarray(histogram(values, epsilon=epsilon, bins=cells, range=(0, cells))[0])


def releases(values: np.ndarray, cells: int, epsilon: float, runs: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield noisy counts."""
    for _ in range(runs):
        yield "diffprivlib", counted(values, cells, epsilon)


def prepare(column: np.ndarray, cells: int) -> peer_job.Prepared:
    """Return a release of many rows."""
    return {"diffprivlib": lambda: counted(column, cells, 1.0)}


def centres(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, k: int, epsilon: float, runs: int
) -> np.ndarray:
    """Return the centres of some runs."""
    made = (kmeans_peers.diffprivlib_kmeans(points, low, high, k, epsilon, seed) for seed in range(runs))
    return np.stack(list(made))


if __name__ == "__main__":
    peer_job.main("diffprivlib", version("diffprivlib"), releases, prepare, centres)
