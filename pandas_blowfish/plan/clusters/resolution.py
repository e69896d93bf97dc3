"""How fine a synopsis should be for clustering, and how much it is expected to add to the distances.

Never sees rows: the rules know the number of rows, epsilon, the number of columns and of clusters alone. What
they expect is the objective of the noisy centres (the sum of squared distances to the nearest) over that of
the best ones, less 1, calibrated on mixtures of normal clusters (`benchmarks/kmeans.py --calibrate`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pandas_blowfish.exact.arrays import Floats

MAX_BINS = 1 << 15  # of one group's grid: finer ones add nothing that shows
MAX_DEPTH = 21  # halvings of an adaptive synopsis, all columns together
FIRST, STEP = 6, 3  # halvings before its first round, and at most between two
USUAL = 4  # clusters that the constants are for
ROUGH, FALLS = {1: 10.0, 2: 10.0, 3: 10.0, 4: 10.0}, 1.4  # what cells of finite width add, by the columns
NOISE = {1: 1.0, 2: 0.5, 3: 0.25, 4: 0.5}  # what noise adds
SHARP = {1: 3000.0, 2: 2000.0, 3: 1500.0}  # the signal from which on soft bins show more than others
MORE = (6.0, 0.25, 400.0)  # ... of more columns
FINE = 32  # bins of a column beyond which not every number of them is tried
EXACTLY = 1e12  # rows times epsilon where nothing is noisy


def grid_excess(bins: Floats, spans: Floats, k: int, signal: float) -> float:
    """Return what a grid is expected to add, as a share of the least sum of squared distances.

    Args:
        bins: How many bins each column has.
        spans: How long each column is, in distances.
        k: The number of clusters.
        signal: The number of rows times epsilon, as if one row changed counts by 2.
    """
    columns = len(bins)
    usual = float(np.sqrt((spans**2).mean())) or 1.0
    side = float(((spans / usual / bins) ** 2).mean()) * (k / USUAL) ** (2 / columns)
    signal = min(max(signal, 1e-3), EXACTLY)
    noise = NOISE.get(columns, MORE[1]) * float(np.prod(bins)) / signal * (300 / signal) ** 0.25
    return float(ROUGH.get(columns, MORE[0]) * side**FALLS + noise * k / USUAL)


def soft_excess(nodes: Floats, spans: Floats, k: int, signal: float) -> float:
    """Return what soft bins are expected to add: as one bin more per column; sharpened, less of it."""
    bins = nodes + (nodes > 1)
    pivot = SHARP.get(len(nodes), MORE[2])
    sharper = min(max((pivot / max(signal, 1.0)) ** 0.25, 0.5), 1.0)
    return float(grid_excess(bins, spans, k, signal) * sharper)


def adaptive_excess(columns: int, k: int, signal: float) -> float:
    """Return what an adaptive synopsis is expected to add."""
    falls = 0.81 * (4 / columns) ** 0.65
    return float(0.3 * (columns / 4) ** 1.5 * (max(signal, 1e-3) * USUAL / k / 1000) ** -falls)


def whole_excess(pieces: Floats, spans: Floats, k: int, parts: float) -> float:
    """Return what exactly counted pieces are expected to add.

    Args:
        pieces: Into how many classes each column is cut.
        spans: How long each column is, in distances.
        k: The number of clusters.
        parts: How many parts of them have rows enough for their means.
    """
    usual = float(np.sqrt((spans**2).mean())) or 1.0
    side = float(((spans / usual / pieces) ** 2).mean()) * (k / USUAL) ** (2 / len(pieces))
    return float((0.4 + 1.2 * min(k / max(parts, 1e-9), 1.0)) * side**0.9)


def grid_bins(cells: Sequence[int], spans: Floats, k: int, signal: float, most: int) -> tuple[int, ...]:
    """Return how many bins each column of a grid should have: those that are expected to add least.

    Args:
        cells: How many cells each column has.
        spans: How long each column is, in distances.
        k: The number of clusters; there are at least so many bins if there are cells.
        signal: As in `grid_excess`.
        most: How many bins there may be in all.
    """
    best = min(_cuts(cells, spans, k, most), key=lambda bins: grid_excess(np.array(bins), spans, k, signal))
    return tuple(best)


def _cuts(cells: Sequence[int], spans: Floats, k: int, most: int) -> list[tuple[int, ...]]:
    """Return grids of nearly square bins, ever finer: each cuts its widest bins once more, long ones more."""
    limit = np.array(cells)
    bins = np.ones(len(cells), dtype=np.int64)
    found = []
    while True:
        if math.prod(bins.tolist()) >= min(k, math.prod(limit.tolist())):
            found.append(tuple(bins.tolist()))
        widths = np.where(bins < limit, spans / bins, -1.0)
        widest = int(np.argmax(widths))
        if widths[widest] < 0:
            return found
        finer = bins.copy()
        finer[widest] = min(finer[widest] + max(1, finer[widest] // FINE), limit[widest])
        if found and math.prod(finer.tolist()) > most:
            return found
        bins = finer


def halvings(
    cells: Sequence[int], spans: Floats, k: int, signal: float, lots: int, most: int
) -> tuple[tuple[int, ...], ...]:
    """Return how often each column is halved before each round of an adaptive synopsis.

    Args:
        cells: How many cells each column has.
        spans: How long each column is, in distances.
        k: The number of clusters; the first round has at least so many boxes if there are cells.
        signal: As in `grid_excess`.
        lots: How many groups there are.
        most: How many bins there may be in all.
    """
    room = [int(math.log2(many)) for many in cells]
    wanted = 11 + 6 * math.log10(max(signal, 1.0) / 1000) + 2 * (len(cells) >= 8)
    deepest = min(sum(room), MAX_DEPTH, int(math.log2(max(most // lots, 1))))
    first = min(max(min(sum(each > 0 for each in room), FIRST), math.ceil(math.log2(k))), deepest)
    depth = min(max(round(wanted), first), deepest)
    rounds = 1 + -(-(depth - first) // STEP)
    marks = {first + round((depth - first) * number / max(rounds - 1, 1)) for number in range(rounds)}
    done, found = [0] * len(cells), []
    for total in range(depth + 1):
        if total in marks:
            found.append(tuple(done))
        widths = [
            span / 2**often if often < free else -1.0
            for span, often, free in zip(spans.tolist(), done, room, strict=True)
        ]
        done[widths.index(max(widths))] += 1
    return tuple(found)
