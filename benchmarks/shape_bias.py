"""How far shaping moves the sums of a histogram, and what it does to single counts, on seven datasets.

Run: python benchmarks/shape_bias.py [--data FILE] [--runs N]. Counts of 4,096 cells get noise of scale
2 / epsilon, as `hist` under `full()` with a public number of rows. Compared are the unshaped estimates, the
nearest non-negative counts with the same total (`shape`, all that was done before), and `shape_sums`, coarse
sums first.

Bias of the last 10, 25 and 50% of the cells is in standard errors of those sums, unshaped; squared errors
of single counts are in variances of the noise; "worst" is the largest error of a single count, in standard
errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.shape.coarse import shape_sums
from pandas_blowfish.plan.shape.simplex import shape

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dpbench_1d.npz"
EPSILONS = (0.01, 0.1, 1.0)
TAILS = (0.9, 0.75, 0.5)


def rules(total: float, variance: float) -> dict[str, Callable[[Floats], Floats]]:
    """Return the ways to shape counts of a known total."""

    def everywhere(noisy: Floats) -> np.ndarray:
        return np.zeros(len(noisy), dtype=np.int64)

    known = np.array([total])
    return {
        "unshaped": lambda noisy: noisy,
        "projected": lambda noisy: shape(noisy, everywhere(noisy), known).counts,
        "coarse first": lambda noisy: shape_sums(noisy, everywhere(noisy), known, variance),
    }


def measure(truth: Floats, epsilon: float, runs: int) -> dict[str, list[float]]:
    """Return for each rule the squared error of a count, the bias of each tail, and the worst error."""
    draw, size, total = np.random.default_rng(7), len(truth), float(truth.sum())
    odds = 1 - np.exp(-epsilon / 2)
    variance = 2 * (1 - odds) / odds**2
    found: dict[str, list[list[float]]] = {name: [] for name in rules(total, variance)}
    for _ in range(runs):
        noise = draw.geometric(odds, size) - draw.geometric(odds, size)
        noisy = truth + noise
        noisy = noisy - (noisy.sum() - total) / size
        for name, rule in rules(total, variance).items():
            off = rule(noisy) - truth
            places = [int(size * tail) for tail in TAILS]
            errors = [np.sqrt(variance * (size - place) * place / size) for place in places]
            bias = [off[place:].sum() / error for place, error in zip(places, errors, strict=True)]
            found[name].append([np.mean(off**2) / variance, *bias, np.abs(off).max() / np.sqrt(variance)])
    return {name: np.mean(rows, axis=0).tolist() for name, rows in found.items()}


def main() -> None:
    """Print one row per dataset and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    datasets = np.load(given.data)
    print("| dataset | epsilon | rule | squared error | bias, last 10% | last 25% | last 50% | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in datasets.files:
        for epsilon in EPSILONS:
            for rule, row in measure(datasets[name].astype(float), epsilon, given.runs).items():
                numbers = " | ".join(f"{value:.2f}" for value in row)
                print(f"| {name} | {epsilon:g} | {rule} | {numbers} |")


if __name__ == "__main__":
    main()
