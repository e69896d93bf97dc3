"""Cumulative counts of lines moved to known sums, each as far as its error goes along with theirs.

Free post-processing: never sees rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.dawa import CONTINUES, Dawa
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.shape.system import System
from pandas_blowfish.plan.threads import one_thread

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.dawa import Dawa
    from pandas_blowfish.plan.line.runs import Nested
    from pandas_blowfish.plan.line.tree import Tree


def from_tree(tree: Tree, values: Ints) -> Floats:
    """Return the cumulative counts, lines x (size + 1), that a tree's measured values lead to.

    Proof note:
        Requires: the values are a release already paid for.
        Ensures:  the one table of counts with the measured sums and the exact totals; where a total is
                  exact only together with those of other lines, these are moved to agree with it in
                  proportion to their variances.
        Because:  a count is the sum at its atom less the sums of the atoms just under it.
        Checked:  tests/plan/line/test_solve_forest.py::test_equals_dense_least_squares
    """
    rows = len(tree.rows) * tree.line.groups
    noisy = values[:rows].astype(np.float64).reshape(tree.line.groups, -1)
    return _counted(tree, noisy, values[rows:].astype(np.float64))


def from_buckets(dawa: Dawa, values: Ints) -> Floats:
    """Return the cumulative counts when each bucket's total is dealt out evenly among its sums."""
    tree = dawa.tree
    rows = len(tree.rows) * tree.line.groups
    flat = values[:rows]
    begins = np.flatnonzero(flat != CONTINUES)
    sizes = np.diff(np.append(begins, rows))
    noisy = np.repeat(flat[begins] / sizes, sizes) if rows else np.zeros(0)
    return _counted(tree, noisy.reshape(tree.line.groups, -1), values[rows:].astype(np.float64))


def _counted(tree: Tree, noisy: Floats, exact: Floats) -> Floats:
    line, forest, parts = tree.line, tree.forest, tree.line.piece_exact
    lines, pieces = line.groups, int(line.pieces.max(initial=-1)) + 1
    sums = np.zeros((lines, line.size))
    sums[:, tree.rows] = noisy
    root_of = np.zeros(pieces, dtype=np.int64)
    root_of[line.pieces[forest.roots]] = forest.roots
    totals = sums[:, root_of].ravel()
    many = int(parts.alone.sum())
    totals[parts.alone] = exact[:many]
    inside = parts.total_of >= 0
    if inside.any():
        own = np.zeros(line.size)
        own[tree.rows] = tree.row_variances
        weight = np.tile(np.maximum(own[root_of], 1e-300), lines)
        found = np.bincount(parts.total_of[inside], totals[inside], parts.totals)
        weights = np.bincount(parts.total_of[inside], weight[inside], parts.totals)
        gap = (exact[many:] - found) / weights
        totals[inside] += (weight * gap[parts.total_of])[inside]
    sums[:, root_of] = totals.reshape(lines, -1)
    counts = sums.T.copy()
    child = np.flatnonzero(forest.parent != np.arange(line.size))
    np.subtract.at(counts, forest.parent[child], sums.T[child])
    return np.concatenate([np.zeros((lines, 1)), np.cumsum(counts.T, axis=1)], axis=1)


MAX_PAIRS = 2_000_000  # covariances that are looked at
MAX_KNOWN = 512  # known sums
STEADY = 1e-9  # of the largest variance: what counts as none


def conditioned(
    measurement: Nested | Tree | Dawa, positions: Floats, system: System
) -> tuple[Floats, Floats] | None:
    """Return cumulative counts near the known sums, and the variances they are left with, or None.

    Args:
        measurement: What was measured along the lines.
        positions: The best unbiased cumulative counts, lines x (size + 1).
        system: Known sums of the counts of all lines' atoms.

    Returns:
        None where there are too many of them to look at how they vary together.

    Proof note:
        Requires: a release already paid for.
        Ensures:  linear in the release, so unbiased where the known sums are true; on one line, of all such
                  estimates the one of least variance.
        Because:  with the covariances C of positions and B the known sums it adds C B' (B C B')^+ times
                  the gap, the conditional mean; C follows from the variances of ranges, since that of a
                  difference is the sum of two less twice their covariance. Lines are taken for
                  independent.
        Checked:  tests/plan/line/test_solve.py::test_equals_dense_conditioning
    """
    lines, size = positions.shape[0], positions.shape[1] - 1
    of = np.concatenate([system.of.reshape(lines, size), np.full((lines, 1), -1)], axis=1)
    places = 1 + np.flatnonzero((of[:, 1:] != of[:, :-1]).any(axis=0))
    if lines * len(places) * (size + 1) > MAX_PAIRS or system.many > MAX_KNOWN:
        return None
    covariances = _covariances(measurement, places)
    matrix = np.concatenate([system.matrix.toarray(), np.zeros((system.many, 1))], axis=1)
    whole, pulls = np.zeros((system.many, system.many)), []
    for line in range(lines):
        ends = matrix[:, of[line, places - 1]] - matrix[:, of[line, places]]  # a sum by cumulative counts
        own = np.flatnonzero(ends.any(axis=1))
        pull = covariances[line] @ ends[own].T
        whole[np.ix_(own, own)] += ends[own] @ pull[places]
        pulls.append((own, pull))
    moved, left = positions.copy(), _variances(measurement, np.zeros(1, dtype=np.int64))[:, :, 0]
    inverse = steady_inverse(whole, float(left.max(initial=0.0)))
    prices = inverse @ (system.totals - system.sums(np.diff(positions, axis=1).ravel()))
    for line, (own, pull) in enumerate(pulls):
        moved[line] += pull @ prices[own]
        left[line] -= ((pull @ inverse[np.ix_(own, own)]) * pull).sum(axis=1)
    return moved, np.maximum(left, 0.0)


def steady_inverse(whole: Floats, scale: float) -> Floats:
    """Return the inverse of covariances, in the directions that vary at all beside variances of a scale."""
    with one_thread():
        values, vectors = np.linalg.eigh(whole)
    some = values > STEADY * max(float(values.max(initial=0.0)), scale)
    return np.asarray((vectors[:, some] / values[some]) @ vectors[:, some].T)


def _covariances(measurement: Nested | Tree | Dawa, places: NDArray[np.int64]) -> Floats:
    """Return how each position varies with some, lines x positions x places."""
    every = _variances(measurement, np.append(0, places))
    own = every[:, :, :1]
    return np.asarray((own + own[:, places].transpose(0, 2, 1) - every[:, :, 1:]) / 2)


def _variances(measurement: Nested | Tree | Dawa, places: NDArray[np.int64]) -> Floats:
    """Return the variances of differences of each position and some others, lines x positions x places."""
    from dataclasses import replace

    from pandas_blowfish.plan.line.dawa import Dawa
    from pandas_blowfish.plan.line.runs import Nested

    made = measurement.tree if isinstance(measurement, Dawa) else measurement
    positions = np.arange(made.line.size + 1)
    starts = np.minimum(positions[:, None], places).ravel()
    stops = np.maximum(positions[:, None], places).ravel()
    asked = made.asked.only(starts, stops)
    found = asked.variances(made.spread) if isinstance(made, Nested) else replace(made, asked=asked).variances
    return found.reshape(made.line.groups, len(positions), len(places))
