"""Figure 8 of Haney et al. (VLDB 2015) on a line: histograms and ranges, thresholds 1 and 4; sees counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from ranges import FULL, policy_of
from scipy.optimize import isotonic_regression

from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.shape.simplex import shape
from papers.experiment import OURS, Experiment, Found, Progress, Size
from papers.vldb2015_dawa import PublicCode, dawa
from papers.vldb2015_line_claims import claims_of_hist, claims_of_range, claims_of_theta4
from papers.vldb2015_panels import (
    ADDED,
    BLOWFISH,
    DP,
    PAPER,
    RUNS,
    UNSOUND,
    Errors,
    Mechanism,
    drawn,
    epsilons,
    line_data,
    lower,
    measured,
    planned,
    table,
)
from papers.vldb2015_transforms import Spanner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
RANGES = 10_000  # also when quick: they cost no more than a few
SIZES = (4096, 2048, 1024, 512)  # of dataset D, under threshold 4


class Line:
    """One dataset on a line: its cells, the ranges asked of it, and what does not change with epsilon."""

    def __init__(self, counts: Ints, theta: int, ranges: int) -> None:
        self.counts, self.rows, self.theta = counts, int(counts.sum()), theta
        drawn_ends = np.random.default_rng(len(counts)).integers(0, len(counts), (ranges, 2))
        self.ends = np.sort(drawn_ends, axis=1)
        self.bounds = [tuple(pair) for pair in self.ends.tolist()]
        self.spanner = Spanner(len(counts), theta)
        self.sums = self.spanner.sums(counts)
        self.cells, self.edges = PublicCode.of(counts), PublicCode.of(self.sums)
        self.truth = self.from_prefixes(np.append(0, np.cumsum(counts)))

    def from_prefixes(self, prefixes: Floats) -> Floats:
        """Return the ranges' counts from cumulative ones."""
        return prefixes[self.ends[:, 1] + 1] - prefixes[self.ends[:, 0]]

    def from_cells(self, cells: Floats) -> Floats:
        """Return the ranges' counts from those of cells."""
        return self.from_prefixes(np.append(0.0, np.cumsum(cells)))

    def shaped(self, cells: Floats) -> Floats:
        """Return the nearest counts that are not negative and add up to the row count."""
        return shape(cells, np.zeros(len(cells), dtype=np.int64), np.array([float(self.rows)])).counts

    def transformed(self, epsilon: Fraction, *, ordered: bool) -> dict[str, tuple[str, Callable[[], Floats]]]:
        """Return the paper's estimates of the edges' sums, by name, perhaps made never to fall."""
        change = self.spanner.stretch
        ways: dict[str, tuple[str, Callable[[], Floats]]] = {
            "Transformed + Laplace": (BLOWFISH, lambda: self.sums + self._noise(change / epsilon)),
            "Transformed + DAWA": (BLOWFISH, lambda: dawa(self.sums, change, epsilon)),
            "Transformed + DAWA (public code)": (UNSOUND, lambda: self.edges.estimates(change, epsilon)),
        }
        if not ordered:
            return ways
        kind, plain = ways["Transformed + Laplace"]
        made = {
            "Transformed + Laplace": (kind, plain),
            "Transformed + ConsistentEst": (kind, _ordered(plain)),
        }
        for name in ("Transformed + DAWA", "Transformed + DAWA (public code)"):
            kind, way = ways[name]
            made[f"{name} + Cons"] = (kind, _ordered(way))
        return made

    def _noise(self, scale: Fraction) -> Ints:
        return discrete_laplace(scale, len(self.sums))


def _ordered(way: Callable[[], Floats]) -> Callable[[], Floats]:
    """Return estimates made never to fall: the nearest such in least squares."""
    return lambda: isotonic_regression(way()).x


def hist_mechanisms(line: Line, epsilon: Fraction) -> Iterator[Mechanism]:
    """Yield what answers histograms under threshold 1."""
    plain, fish = policy_of(len(line.counts), FULL).plan, policy_of(len(line.counts), line.theta).plan
    laplace = plain.hist("x", epsilon=epsilon, strategy="identity")
    yield planned("Laplace", DP, laplace, line.counts, post=False)
    yield Mechanism("DAWA", DP, lambda: dawa(line.counts, 2, epsilon))
    yield Mechanism("DAWA (public code)", UNSOUND, lambda: line.cells.estimates(2, epsilon))
    yield planned("Laplace, shaped", ADDED, laplace, line.counts, post=True)
    yield Mechanism("DAWA, shaped", ADDED, lambda: line.shaped(dawa(line.counts, 2, epsilon)))
    for name, (kind, way) in line.transformed(epsilon, ordered=True).items():
        yield Mechanism(name, kind, _cells(line, way))
    yield planned(OURS, OURS, fish.hist("x", epsilon=epsilon), line.counts, post=True)
    for strategy in ("tree", "dawa", "identity"):
        plan = fish.hist("x", epsilon=epsilon, strategy=strategy)
        yield planned(f"ours: {strategy}", OURS, plan, line.counts, post=True)


def range_mechanisms(line: Line, epsilon: Fraction) -> Iterator[Mechanism]:
    """Yield what answers ranges, under threshold 1 with the edges' sums in order, else as they are."""
    plain, fish = policy_of(len(line.counts), FULL).plan, policy_of(len(line.counts), line.theta).plan
    laplace, privelet, tree = (
        plain.range("x", line.bounds, epsilon=epsilon, strategy=name)
        for name in ("identity", "haar", "hierarchical")
    )
    yield planned("Laplace", DP, laplace, line.counts, post=False)
    yield planned("Privelet", DP, privelet, line.counts, post=False)
    yield Mechanism("DAWA", DP, lambda: line.from_cells(dawa(line.counts, 2, epsilon, nested=True)))
    cells = line.cells
    yield Mechanism(
        "DAWA (public code)", UNSOUND, lambda: line.from_cells(cells.estimates(2, epsilon, nested=True))
    )
    yield planned("Hb", ADDED, tree, line.counts, post=False)
    yield planned("Hb, shaped", ADDED, tree, line.counts, post=True)
    for name, (kind, way) in line.transformed(epsilon, ordered=line.theta == 1).items():
        yield Mechanism(name, kind, _ranges(line, way))
    yield planned(OURS, OURS, fish.range("x", line.bounds, epsilon=epsilon), line.counts, post=True)
    for strategy in ("ordered", "tree", "dawa"):
        plan = fish.range("x", line.bounds, epsilon=epsilon, strategy=strategy)
        yield planned(f"ours: {strategy}", OURS, plan, line.counts, post=True)


def _ranges(line: Line, way: Callable[[], Floats]) -> Callable[[], Floats]:
    return lambda: line.from_prefixes(line.spanner.prefixes(way(), line.rows))


def _cells(line: Line, way: Callable[[], Floats]) -> Callable[[], Floats]:
    return lambda: np.diff(line.spanner.prefixes(way(), line.rows))


def _measured(
    lines: dict[object, Line], across: str, size: Size, progress: Progress, what: str, *, hist: bool = False
) -> pd.DataFrame:
    """Measure every mechanism on every dataset at every epsilon."""
    steps = [(epsilon, place) for epsilon in epsilons(size) for place in lines]
    made, found = hist_mechanisms if hist else range_mechanisms, []
    for epsilon, place in progress(steps, what):
        line = lines[place]
        setting = {"epsilon": f"{float(epsilon):g}", across: place}
        truth = line.counts if hist else line.truth
        found += measured(setting, made(line, epsilon), truth, size.repeats(RUNS))
    return pd.DataFrame(found)


def run_hist(size: Size, progress: Progress) -> Found:
    """HIST under threshold 1 on the seven datasets."""
    lines = {letter: Line(counts, 1, 1) for letter, counts in line_data().items()}
    found = _measured(lines, "data", size, progress, "histograms", hist=True)
    why = f"{SAME} Shape alone goes far where almost all cells are empty."
    return Found(
        table(found, "data"),
        drawn(found, "data", "Figure 8: histograms of 4,096 cells, threshold 1"),
        claims_of_hist(Errors(found, "data")),
        (*NOTES, *lower(found, "data", why)),
        (11, 4.6),
        size.repeats(RUNS),
    )


@lru_cache(maxsize=1)
def under_one(size: Size, progress: Progress) -> pd.DataFrame:
    """Return the errors of ranges under threshold 1 on the seven datasets, measured once."""
    lines = {letter: Line(counts, 1, RANGES) for letter, counts in line_data().items()}
    return _measured(lines, "data", size, progress, "ranges, threshold 1")


def run_range(size: Size, progress: Progress) -> Found:
    """1D-RANGE under threshold 1 on the seven datasets."""
    found = under_one(size, progress)
    why = (
        f"{SAME} A plan for few ranges measures prefix sums at their ends alone; all others would be free "
        "and steady the monotone fit. Buckets of prefix sums help where nearly all cells are empty."
    )
    return Found(
        table(found, "data"),
        drawn(found, "data", f"Figure 8: {RANGES:,} random ranges of 4,096 cells, threshold 1"),
        claims_of_range(Errors(found, "data")),
        (*NOTES, *lower(found, "data", why)),
        (11, 4.6),
        size.repeats(RUNS),
    )


def run_theta4(size: Size, progress: Progress) -> Found:
    """1D-RANGE under threshold 4 on dataset D, summed to fewer cells."""
    counts = line_data()["D"]
    lines = {cells: Line(counts.reshape(cells, -1).sum(axis=1), 4, RANGES) for cells in SIZES}
    found = _measured(lines, "cells", size, progress, "ranges, threshold 4")
    held, planner = lines[SIZES[0]], policy_of(SIZES[0], 4).plan
    auto, prefix = (
        planner.range("x", held.bounds, epsilon=Fraction(1, 100), strategy=name).mse
        for name in ("auto", "ordered")
    )
    named = (
        "`auto` is chosen before any row is read, by the error without shape: at epsilon 0.01 and "
        f"{SIZES[0]:,} cells that is {auto:.3g} for it and {prefix:.3g} for `ordered`. What the monotone fit "
        "gains depends on the rows, and at small epsilon it gains more on prefix sums alone."
    )
    return Found(
        table(found, "cells"),
        drawn(found, "cells", f"Figure 8: {RANGES:,} random ranges of dataset D, threshold 4"),
        claims_of_theta4(Errors(found, "cells"), Errors(under_one(size, progress), "data")),
        (*NOTES, *lower(found, "cells", "", named)),
        (11, 4.6),
        size.repeats(RUNS),
    )


NOTES = (
    "Mean squared error a query. Neighbours are bounded; plain differential privacy is `full` at the same "
    "epsilon, which is what the paper's epsilon / 2 with unbounded neighbours comes to. An added peer is one "
    "that the paper does not have (Hb: a hierarchy of the best fan-out); shaped: counts made not negative "
    "and to add up to the row count; `ours: NAME` is ours with that strategy in place of `auto` "
    "(ordered: prefix sums; tree: sums on the edges of a tree; identity: cells).",
    "DAWA: the sound one is the library's variant, with noise on the cost of every bucket, single cells too, "
    "of buckets that begin at multiples of their width, and with distances from the median as costs: the "
    "published one, made sound, may be better. Its public code spares single cells and cuts costs at 0: the "
    "partition of 3 cells then loses 0.43 epsilon where 0.25 is allotted, and of many cells any multiple. It "
    "is shown, marked unsound. For ranges both have a hierarchy of buckets with optimised scales as second "
    "step.",
)
SAME = (
    "ConsistentEst is our own strategy under threshold 1 but for the cuts at 0 and at the row count, as is "
    "`ours: ordered` for ranges: what is between them is chance."
)
EXPERIMENTS = (
    Experiment("fig8_hist", PAPER, "Figure 8, HIST under threshold 1", run_hist),
    Experiment("fig8_range", PAPER, "Figure 8, 1D-RANGE under threshold 1", run_range),
    Experiment("fig8_theta4", PAPER, "Figure 8, 1D-RANGE under threshold 4", run_theta4),
)
