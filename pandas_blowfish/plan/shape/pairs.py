"""Tables of at most two columns that agree and are nearly non-negative, made non-negative at once.

Free post-processing: never sees rows. Sums of single columns are fixed first; each table then has its own
counts, whose sums they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.shape.simplex import shape

Places = tuple[int, ...]


def fit_pairs(
    counts: Floats, sizes: Sequence[int], order: Sequence[Places], groups: Sequence[Ints] | None
) -> Floats:
    """Return tables that agree, are not negative, and have the sums of single columns that they had.

    Sums that are negative are moved as little as possible.

    Args:
        counts: The cells of all tables, one after another: they agree.
        sizes: How many cells each column has.
        order: The tables, by their columns, one or two each.
        groups: For each column the group of each cell; totals of products of groups, none negative, stay.
            None where all cells are one group.

    Examples:
        >>> fit_pairs(np.array([-1.0, 5.0, 4.0, 0.0]), [2, 2], [(0, 1)], None).reshape(2, 2).tolist()
        [[0.0, 4.0], [3.0, 1.0]]

    Proof note:
        Requires: a release already paid for; tables agree, and no total of a product of groups is negative.
        Ensures:  nothing is negative; tables that share a column have the same sums over it; totals stay.
        Because:  sums of single columns are projected per group, which keeps the groups' totals. In a table
                  negative counts become zero, then totals, rows and columns that are too large are scaled
                  down, so that gaps are never negative. The gap G of a total is spread as the gaps of its
                  rows and columns are: by r c G / (R C), with R and C their sums over a group. Gaps of the
                  totals of a group of rows add up to R, so a row gets r in all, and a column likewise.
        Checked:  tests/plan/shape/test_pairs.py::test_sums_totals_and_signs_hold
    """
    cuts = np.cumsum([math.prod(sizes[place] for place in places) for places in order])[:-1]
    tables = [
        part.reshape([sizes[place] for place in places])
        for places, part in zip(order, np.split(counts, cuts), strict=True)
    ]
    groups = [np.zeros(size, dtype=np.int64) for size in sizes] if groups is None else groups
    sums: dict[int, Floats] = {}
    for places, table in zip(order, tables, strict=True):
        for axis, place in enumerate(places):
            if place not in sums:
                own = table if table.ndim == 1 else table.sum(axis=1 - axis)
                totals = np.maximum(np.bincount(groups[place], own), 0.0)
                sums[place] = own if own.min() >= 0 else shape(own, groups[place], totals).counts
    members = {place: np.eye(int(groups[place].max()) + 1)[groups[place]] for place in sums}
    found = [
        sums[places[0]]
        if len(places) == 1
        else _fit(table, [sums[place] for place in places], [members[place] for place in places])
        for places, table in zip(order, tables, strict=True)
    ]
    return np.concatenate([each.ravel() for each in found])


def _fit(table: Floats, sums: Sequence[Floats], members: Sequence[Floats]) -> Floats:
    """Return a non-negative table with the given sums of rows and columns and the totals that it has.

    Args:
        table: The counts.
        sums: Of each row, of each column.
        members: Rows x groups of rows and columns x groups of columns: 1 where one is in the other.
    """
    (rows, columns), (left, right) = sums, members
    totals = np.maximum(left.T @ table @ right, 0.0)
    found = np.maximum(table, 0.0)
    found = found * (left @ _shrink(totals, left.T @ found @ right) @ right.T)
    found = found * _shrink(rows, found.sum(axis=1))[:, None]
    found = found * _shrink(columns, found.sum(axis=0))
    gap = np.maximum(totals - left.T @ found @ right, 0.0)
    low, short = (np.maximum(rows - found.sum(axis=1), 0.0), np.maximum(columns - found.sum(axis=0), 0.0))
    product = np.outer(left.T @ low, right.T @ short)
    share = np.divide(gap, product, out=np.zeros_like(gap), where=product > 0)
    return np.asarray(found + low[:, None] * (left @ share @ right.T) * short)


def _shrink(wanted: Floats, given: Floats) -> Floats:
    """Return the factors, 1 at most, that take what is given down to what is wanted."""
    return np.minimum(1.0, np.divide(wanted, given, out=np.ones_like(given), where=given > 0))
