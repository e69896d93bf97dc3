"""The largest privacy loss over listed edges, exactly, with a pair of cells that attains it.

Never sees rows. Nothing here uses a closed form: `edge_loss` takes the maximum of MATH's one rule over the
edges it is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints


@dataclass(frozen=True)
class Loss:
    """The largest privacy loss over some edges, and a pair of cells that attains it."""

    value: Fraction | float
    witness: tuple[int, int] | None


def edge_loss(matrix: Any, scales: Sequence[Fraction], edges: Ints) -> Loss:
    """Return max over edges (x, y) of sum_j |A[j,x] - A[j,y]| / b_j, exactly.

    Args:
        matrix: A, an integer sparse matrix, measured rows x cells.
        scales: b, one fraction per measured row; a row of scale 0 must not change over any edge.
        edges: Pairs of cells.

    Examples:
        >>> from scipy.sparse import csr_array
        >>> edge_loss(csr_array([[1, 0], [0, 1]]), [Fraction(2)] * 2, np.array([[0, 1]]))
        Loss(value=Fraction(1, 1), witness=(0, 1))
    """
    from scipy.sparse import csc_array, hstack

    if not len(edges):
        return Loss(Fraction(0), None)
    by_cell, listed = matrix.tocsc(), list(scales)
    if int(edges.max()) >= by_cell.shape[1]:  # "absent" is a column of zeros
        by_cell = hstack([by_cell, csc_array((by_cell.shape[0], 1), dtype=np.int64)], format="csc")
    distinct = sorted(set(listed))
    group = np.array([distinct.index(scale) for scale in listed])
    changes = np.zeros((len(edges), len(distinct)), dtype=np.int64)
    for first in range(0, len(edges), 200_000):
        part = edges[first : first + 200_000]
        moved = abs(by_cell[:, part[:, 0]] - by_cell[:, part[:, 1]]).tocsr()
        for number in range(len(distinct)):
            changes[first : first + len(part), number] = moved[np.flatnonzero(group == number)].sum(axis=0)
    patterns, places = np.unique(changes, axis=0, return_index=True)
    losses = [_loss(pattern.tolist(), distinct) for pattern in patterns]
    worst = max(range(len(losses)), key=losses.__getitem__)
    a, b = edges[places[worst]]
    return Loss(losses[worst], (int(a), int(b)))


def _loss(changes: Sequence[int], scales: Sequence[Fraction]) -> Fraction | float:
    total = Fraction(0)
    for change, scale in zip(changes, scales, strict=True):
        if change and not scale:
            return math.inf
        total += Fraction(change) / scale if change else 0
    return total
