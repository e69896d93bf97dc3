"""Cumulative counts from the sums of a spanning forest, or from buckets of them. Never sees rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.strategy.dawa import CONTINUES, Dawa
from pandas_blowfish.plan.strategy.tree import Tree
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


def from_tree(tree: Tree, values: Ints) -> Floats:
    """Return the cumulative counts, lines x (size + 1), that a tree's measured values lead to.

    Proof note:
        Requires: the values are a release already paid for.
        Ensures:  the one table of counts with the measured sums and the exact totals; where a total is
                  exact only together with those of other lines, these are moved to agree with it in
                  proportion to their variances.
        Because:  a count is the sum at its atom less the sums of the atoms just under it.
        Checked:  tests/infer/test_forest.py::test_equals_dense_least_squares
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
