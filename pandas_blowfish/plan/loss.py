"""The largest privacy loss over listed edges, exactly, with a pair of cells that attains it.

Never sees rows. Nothing here uses a closed form: `edge_loss` adds up, for each edge it is given, the changes
of all query rows over their scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.joint_noise import APART, BOX, CLIQUE
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.policy.graph.records import RecordGraph


@dataclass(frozen=True)
class Loss:
    """The largest privacy loss over some edges, and a pair of cells that attains it."""

    value: Fraction | float
    witness: tuple[int, int] | None


def edge_loss(matrix: Any, scales: Sequence[Fraction], edges: Ints) -> Loss:
    """Return max over edges (x, y) of sum_j |A[j,x] - A[j,y]| / b_j, exactly.

    Of query rows that draw their noise together it is the norm of their changes over its scale.

    Args:
        matrix: A, an integer sparse matrix, query rows x cells.
        scales: b, one fraction per query row; one of scale 0 must not change over any edge.
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
    joint = scales.joint if isinstance(scales, Scales) else {}
    group, distinct = _kinds(scales, listed)
    changes = np.zeros((len(edges), len(distinct)), dtype=np.int64)
    for first in range(0, len(edges), 200_000):
        part = edges[first : first + 200_000]
        moved = (by_cell[:, part[:, 0]] - by_cell[:, part[:, 1]]).tocsr()
        for number in range(len(distinct)):
            own = abs(moved[np.flatnonzero(group == number)]).sum(axis=0)
            changes[first : first + len(part), number] = own
        if isinstance(scales, Scales) and joint:
            entries, first_joint = moved.tocoo(), len(distinct) - len(joint)
            found = scales.joint_norms(entries.row, entries.col, entries.data, len(part))
            for number, (_, norms) in enumerate(found, start=first_joint):
                changes[first : first + len(part), number] = norms
    patterns, places = np.unique(changes, axis=0, return_index=True)
    losses = [_loss(pattern.tolist(), distinct) for pattern in patterns]
    worst = max(range(len(losses)), key=losses.__getitem__)
    a, b = edges[places[worst]]
    return Loss(losses[worst], (int(a), int(b)))


def _kinds(scales: Sequence[Fraction], listed: list[Fraction]) -> tuple[Ints, list[Fraction]]:
    """Return the number of each row's kind of noise, and the scale of each kind: those in norms come last."""
    joint = scales.joint if isinstance(scales, Scales) else {}
    together = np.zeros(len(listed), dtype=bool)
    for each in joint.values():
        together[each.rows] = True
    alone = sorted({scale for scale, own in zip(listed, together.tolist(), strict=True) if not own})
    group = np.array([-1 if own else alone.index(scale) for scale, own in zip(listed, together, strict=True)])
    return group, alone + [scales.values[code] for code in joint]  # type: ignore[attr-defined]


def _loss(changes: Sequence[int], scales: Sequence[Fraction]) -> Fraction | float:
    total = Fraction(0)
    for change, scale in zip(changes, scales, strict=True):
        if change == APART or (change and not scale):
            return math.inf
        total += Fraction(change) / scale if change else 0
    return total


FEW = 10**6  # cells times non-zeros up to which all pairs are tried
EXACT = "it tells exactly what a public fact may change"
MANY = "it looks at too many cells"


@dataclass(frozen=True)
class WorstCase:
    """The largest loss over the pairs of a larger graph; None where it is unknown or unbounded, and why."""

    loss: Fraction | None
    why: str = ""

    @classmethod
    def or_exact(cls, loss: Fraction | None) -> WorstCase:
        """Return a loss; None: an exact query row may change."""
        return cls(loss, EXACT if loss is None else "")


def worst_pair(matrix: Callable[[], Any], scales: Scales, graph: RecordGraph) -> WorstCase:
    """Return the largest loss over the pairs of a graph of cliques, tried if they are few, else bounded.

    Args:
        matrix: Makes the query rows x cells, scipy sparse, or refuses where there are too many cells.
        scales: One noise scale per query row.
        graph: Joins all cells that agree on some columns, each a block of its own.
    """
    try:
        rows = _Rows(matrix().tocsc(), scales, _parts(graph), graph.presence)
    except DomainTooLargeError:
        return WorstCase(None, MANY)
    return rows.try_pairs() if rows.few else rows.bound_pairs()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Measured rows over cells, by column, and the number of each cell's public values."""

    by_cell: Any
    scales: Scales
    public: Ints
    presence: bool

    @property
    def few(self) -> bool:
        """Return whether all pairs can be tried."""
        return len(self.public) * int(self.by_cell.nnz) <= FEW

    def try_pairs(self) -> WorstCase:
        """Return the exact loss over all pairs."""
        low, high = np.triu_indices(len(self.public), 1)
        pairs = np.column_stack([low, high])[self.public[low] == self.public[high]]
        if self.presence:
            cells = np.arange(len(self.public))
            pairs = np.concatenate([pairs, np.column_stack([cells, np.full(len(cells), len(cells))])])
        loss = edge_loss(self.by_cell, self.scales, pairs).value
        return WorstCase(None, EXACT) if isinstance(loss, float) else WorstCase(loss)

    def bound_pairs(self) -> WorstCase:
        """Return a bound on the loss over all pairs: two cells are no further apart than from any centre."""
        weights = np.array([float(1 / scale) if scale else 0.0 for scale in self.scales.values])
        weights = weights[self.scales.codes]
        if self._changes_exactly(np.flatnonzero(weights == 0)):
            return WorstCase(None, EXACT)
        for each in self.scales.joint.values():
            for block in each.blocks:
                weights[block.rows] *= 0.5 if block.kind == CLIQUE else 0.0  # boxes are bounded by themselves
        centres = [np.zeros(len(weights)), self._middle()]
        return WorstCase(min(self._around(centre, weights) for centre in centres) + self._boxes())

    def _boxes(self) -> Fraction:
        """Return a bound on what boxes lose: each row changes by its range at most, over all cells."""
        rows = self.by_cell.tocsr()
        high, low = (
            np.maximum(found.toarray().ravel(), 0) for found in (rows.max(axis=1), -rows.min(axis=1))
        )
        total = Fraction(0)
        for code, each in self.scales.joint.items():
            steps = [
                -(-(int(high[row]) + int(low[row])) // reach)
                for block in each.blocks
                if block.kind == BOX
                for row, reach in zip(block.rows.tolist(), block.reaches, strict=True)
            ]
            total += (
                Fraction(max(steps, default=0)) / self.scales.values[code] if max(steps, default=0) else 0
            )
        return total

    def _changes_exactly(self, rows: Ints) -> bool:
        """Return whether an exact query row differs between two cells that a record may move between."""
        from scipy.sparse import csr_array, vstack

        exact = vstack([self.by_cell.tocsr()[rows], self._sums()]).tocoo()
        if self.presence:
            return bool(exact.data.any())
        many = np.bincount(self.public)
        ones = csr_array(
            (np.ones(len(self.public), dtype=np.int64), (np.arange(len(self.public)), self.public))
        )
        sums = (exact.tocsr() @ ones).tocoo()
        whole = csr_array((sums.data, (sums.row, sums.col)), shape=(exact.shape[0], len(many)))
        of_public = self.public[exact.col]
        return bool((whole[exact.row, of_public] != exact.data * many[of_public]).any())

    def _sums(self) -> Any:
        """Return the sums of query rows whose noise sums to 0: they are as good as exact."""
        from scipy.sparse import csr_array

        blocks = [
            block for each in self.scales.joint.values() for block in each.blocks if block.kind == CLIQUE
        ]
        entries = [np.zeros(0, dtype=np.int64), *(block.rows for block in blocks)]
        rows, many = np.concatenate(entries), [len(block.rows) for block in blocks]
        places = (np.repeat(np.arange(len(blocks)), many), rows)
        shape = (len(blocks), self.by_cell.shape[0])
        return csr_array((np.ones(len(rows), dtype=np.int64), places), shape=shape) @ self.by_cell

    def _middle(self) -> NDArray[np.float64]:
        """Return for each row its most usual value, if most cells have it; else 0."""
        rows = self.by_cell.tocsr()
        most = np.diff(rows.indptr) * 2 > len(self.public)
        middle = np.zeros(rows.shape[0])
        for row in np.flatnonzero(most):
            middle[row] = np.median(rows.data[rows.indptr[row] : rows.indptr[row + 1]])
        return middle

    def _around(self, centre: NDArray[np.float64], weights: NDArray[np.float64]) -> Fraction:
        """Return at most how far two cells with the same public values are apart, by way of a centre."""
        rows, values = self.by_cell.indices, self.by_cell.data.astype(np.float64)
        away = float(weights @ np.abs(centre))  # how far absent is, or a cell that no row counts
        added = weights[rows] * (np.abs(values - centre[rows]) - np.abs(centre[rows]))
        cell_of = np.repeat(np.arange(len(self.public)), np.diff(self.by_cell.indptr))
        far = away + np.bincount(cell_of, added, minlength=len(self.public))
        order = np.lexsort((-far, self.public))
        first = np.flatnonzero(np.diff(self.public[order], prepend=-1))
        second = first + 1 < np.append(first[1:], len(order))
        pairs = far[order[first]][second] + far[order[first[second] + 1]]
        worst = max(pairs.max(initial=0.0), far.max() + away if self.presence else 0.0)
        slack = 1e-9 * (worst + away + float(far.max()))  # far more than what floats may be off
        return Fraction(float(worst + slack))


def _parts(graph: RecordGraph) -> Ints:
    """Return for each cell the number of the part that its edges stay in, all numbers from 0 in use."""
    codes = np.zeros(1, dtype=np.int64)
    for block in graph.blocks:
        own = block.graph.components
        codes = (codes[:, None] * (int(own.max(initial=0)) + 1) + own).ravel()
    return codes
