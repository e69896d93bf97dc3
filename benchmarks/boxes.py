"""Measures how wrong random boxes on grids of tweets are, beside bounded differential privacy.

Run: python benchmarks/boxes.py [--quick]. Grids: T25, T50, T100 of the western USA (skipped where the shared
data is absent). Policies: thresholds of 1 and 4 cells (L1) on both coordinates together, and full. Peers,
both under full at the same epsilon: Privelet (Haar wavelets of both axes) and Hb-2D (nested squares, one
scale, least squares, the branching with the least expected error).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.kernel.measure import add_noise
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.line.layouts import branchings
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.domain import Domain, integers

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "twitter_western_usa.npz"
GRIDS = (25, 50, 100)
THETAS: tuple[int | None, ...] = (1, 4, None)
BOXES, REPEATS = 10_000, {25: 500, 50: 200, 100: 60}


def policy_of(cells: int, theta: int | None) -> bf.Policy:
    """Return a policy on two columns of whole numbers with one joint secret."""
    domain = Domain((integers("lat", 0, cells - 1), integers("lon", 0, cells - 1)))
    return bf.Policy(domain, secrets={("lat", "lon"): bf.threshold(theta) if theta else bf.full()})


def random_boxes(cells: int, many: int) -> np.ndarray:
    """Return boxes with independent uniform ends: boxes x columns x (low, high), inclusive."""
    ends = np.random.default_rng(cells).integers(0, cells, (many, 2, 2))
    return np.sort(ends, axis=2)


def sums(grid: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the sum of each box."""
    whole = np.pad(grid, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    (low, high), (left, right) = boxes[:, 0].T, boxes[:, 1].T
    return whole[high + 1, right + 1] - whole[low, right + 1] - whole[high + 1, left] + whole[low, left]


def errors(noisy: np.ndarray, truth: np.ndarray, rows: float) -> tuple[float, float]:
    """Return the mean squared error of answers as they are, and cut to what counts can be."""
    shaped = np.clip(noisy, 0, rows)
    return float(((noisy - truth) ** 2).mean()), float(((shaped - truth) ** 2).mean())


def answers(plan: Plan, grid: np.ndarray) -> np.ndarray:
    """Return noisy answers of a plan."""
    counts = np.concatenate([gathered(tally, grid) for tally in plan.measurement.tallies])
    values = add_noise(plan.measurement, plan.measurement.apply(counts), plan.cost)
    return plan.measurement.solve(values, post=False).answers


def gathered(tally: object, grid: np.ndarray) -> np.ndarray:
    """Return a table of counts from the grid's cells, as the kernel would from rows."""
    names = [binning.attribute.name for binning in tally.binnings]
    cells = grid if names == ["lat", "lon"] else grid.sum(axis=1) if names == ["lat"] else grid.sum(axis=0)
    cells = cells if names else grid.sum()
    labels = tally.labels()
    return np.bincount(labels, np.ravel(cells), tally.size).astype(np.int64)


class Privelet:
    """Haar wavelets of both axes, weighted as published; twice the sensitivity for bounded neighbours."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self.cells, size = cells, 1 << (cells - 1).bit_length()
        self.basis, self.weights = haar(size)
        self.scale = 2 * (1 + np.log2(size)) ** 2 / float(epsilon) / np.outer(self.weights, self.weights)

    def expected(self, boxes: np.ndarray) -> float:
        """Return the expected squared error of a box: the variances of both axes' coefficients multiply."""
        cells, total = np.arange(self.basis.shape[1]), np.ones(len(boxes))
        for low, high in (boxes[:, 0].T, boxes[:, 1].T):
            inside = (low[:, None] <= cells) & (cells <= high[:, None])
            total *= ((inside @ self.basis.T / self.weights) ** 2).sum(axis=1)
        return float((2 * self.scale[0, 0] ** 2 * self.weights[0] ** 4 * total).mean())

    def answers(self, grid: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """Return noisy answers."""
        noise = np.zeros(self.scale.shape)
        for each in np.unique(self.scale):  # coefficients are means: fine noise
            at = self.scale == each
            noise[at] = discrete_laplace(Fraction(round(each * 10**6)), int(at.sum())) / 10**6
        cells = (self.basis.T @ noise @ self.basis)[: self.cells, : self.cells]
        return sums(grid + cells, boxes)


def haar(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what each Haar coefficient adds to each cell, and Privelet's weights (leaves under it)."""
    rows, weights = [np.ones(size)], [size]
    width = size
    while width > 1:
        for start in range(0, size, width):
            row = np.zeros(size)
            row[start : start + width // 2], row[start + width // 2 : start + width] = 1, -1
            rows.append(row)
            weights.append(width)
        width //= 2
    return np.array(rows), np.array(weights, dtype=float)


def nested_squares(cells: int, boxes: np.ndarray, epsilon: Fraction) -> Plan:
    """Return Hb-2D: counts of nested squares with one scale and least squares, at its best branching."""
    policy = policy_of(cells, None)
    plan = policy.plan.range(["lat", "lon"], boxes, epsilon=epsilon, strategy="identity")
    made = []
    for radices in branchings(cells):
        levels = [[level, level] for level in range(1, len(radices) + 1)]
        form = {"radices": [list(radices)] * 2, "tables": [[each, 1] for each in levels]}
        made.append(plan.asked[0].reread(policy, epsilon, "hierarchical", form))
    best = min(made, key=lambda each: each.mse)
    return replace(plan, measurement=best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one grid, fewer boxes and repetitions")
    quick = parser.parse_args().quick
    if not DATA.is_file():
        print("skipping: ../shared/data/twitter_western_usa.npz is absent")
        return
    many = 1_000 if quick else BOXES
    arrays = np.load(DATA)
    rows, seconds = [], []
    epsilons = [Fraction(1)] if quick else [Fraction(1, 100), Fraction(1, 10), Fraction(1)]
    cases = [(size, epsilon) for size in (GRIDS[:1] if quick else GRIDS) for epsilon in epsilons]
    for size, epsilon in progress(cases, "grid"):
        grid = arrays[f"T{size}_cellcentre_DERIVED"].astype(np.int64)
        boxes = random_boxes(size, many)
        wavelets, squares = Privelet(size, epsilon), nested_squares(size, boxes, epsilon)
        truth, repeats = sums(grid, boxes), 2 if quick else REPEATS[size]
        peers = [wavelets.expected(boxes), squares.mse]
        cut = [
            np.mean([errors(noisy(), truth, grid.sum()) for _ in range(repeats)], axis=0)[1]
            for noisy in (partial(wavelets.answers, grid, boxes), partial(answers, squares, grid))
        ]
        for theta in THETAS:
            start = time.perf_counter()
            plan = policy_of(size, theta).plan.range(["lat", "lon"], boxes, epsilon=epsilon)
            seconds.append(time.perf_counter() - start)
            mine = np.mean([errors(answers(plan, grid), truth, grid.sum()) for _ in range(repeats)], axis=0)
            expected = [f"{each:.4g}" for each in (plan.mse, *peers)] + [f"{min(peers) / plan.mse:.3g}"]
            measured = [f"{each:.4g}" for each in (*mine, *cut)] + [f"{min(cut) / mine[1]:.3g}"]
            rows.append((f"T{size}", f"{theta or 'full'}", str(epsilon), plan.strategy, *expected, *measured))
    print(f"\n{many:,} random boxes, mean squared error a box; measured: fresh noise 60 times (T25 500,")
    print("T50 200); `cut`: answers cut to 0..n.\n")
    heads = ("grid", "threshold", "epsilon", "ours", "expected", "Privelet", "Hb-2D", "best peer / ours")
    table((*heads, "measured", "cut", "Privelet, cut", "Hb-2D, cut", "best peer / ours, cut"), rows)
    print(f"planning took {max(seconds):.2f} s at most")


if __name__ == "__main__":
    main()
