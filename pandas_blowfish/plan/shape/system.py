"""Known sums of counts as equations, and their solution. Free post-processing, never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.linear.atoms import indicator
from pandas_blowfish.plan.shape.one_thread import one_thread

CLOSE = 1e-11  # of the rows, or of 1: what is left of a gap
DENSE = 256  # known sums up to which their equations are solved by dense algebra
TURNS = 2_000  # of conjugate gradients beyond that
RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class System:
    """Known sums as equations about groups of counts that none of them separates.

    Attributes:
        of: The group of each count, -1 for none.
        matrix: Known sums x groups, scipy sparse.
        totals: The known sums.
    """

    of: Ints
    matrix: Any
    totals: Floats

    @classmethod
    def build(cls, families: Sequence[Family], size: int) -> System:
        """Return the equations of all families about so many counts."""
        from scipy.sparse import csr_array, vstack

        key = np.zeros(size, dtype=np.int64)
        for family in families:
            key = _numbered(key * (int(family.labels.max(initial=-1)) + 2) + family.labels + 1)
        summed = np.zeros(size, dtype=bool)
        for family in families:
            summed |= family.labels >= 0
        of = np.full(size, -1, dtype=np.int64)
        of[summed] = _numbered(key[summed])
        chosen = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.int64)
        chosen[of[summed]] = np.flatnonzero(summed)
        parts = [csr_array((0, len(chosen)))]
        for family in families:
            many = len(family.totals) if family.rows is None else family.rows.shape[1]
            own = indicator(family.labels[chosen], many).astype(np.float64)
            parts.append(csr_array(own if family.rows is None else csr_array(family.rows) @ own))
        totals = [np.zeros(0), *(family.totals.astype(np.float64) for family in families)]
        matrix = csr_array(vstack(parts, format="csr"))
        some = np.diff(matrix.indptr) > 0
        return cls(of, matrix[np.flatnonzero(some)], np.concatenate(totals)[some])

    @property
    def many(self) -> int:
        """Return how many sums are known."""
        return len(self.totals)

    @cached_property
    def turned(self) -> Any:
        """Return groups x known sums, scipy sparse."""
        return self.matrix.T.tocsr()

    def sums(self, counts: Floats) -> Floats:
        """Return the sums that counts have."""
        inside = self.of >= 0
        by_group = np.bincount(self.of[inside], counts[inside], self.matrix.shape[1])
        return np.asarray(self.matrix @ by_group)

    def lift(self, prices: Floats) -> Floats:
        """Return for each count what the sums it is in add up to, at a price a sum."""
        return np.append(self.turned @ prices, 0.0)[self.of]

    def gram(self, spread: Floats) -> Any:
        """Return how known sums overlap, each count as important as given."""
        from scipy.sparse import diags_array

        inside = self.of >= 0
        weight = np.bincount(self.of[inside], spread[inside], self.matrix.shape[1])
        return self.matrix @ diags_array(weight) @ self.turned

    def enough(self, counts: Floats) -> float:
        """Return what counts as no gap, beside counts of this size."""
        return CLOSE * max(1.0, float(np.abs(self.totals).max(initial=0.0)), float(np.abs(counts).sum()))


def _numbered(key: Ints) -> Ints:
    """Return keys as numbers from 0, in their order."""
    many = int(key.max(initial=-1)) + 1
    if many > 8 * len(key):
        return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    there = np.zeros(many, dtype=bool)
    there[key] = True
    return (np.cumsum(there) - 1)[key]


def solve_equations(gram: Any, gap: Floats, damping: Floats | None = None) -> Floats:
    """Return a solution of symmetric equations, of which some may follow from others.

    Args:
        gram: Equations, scipy sparse or dense, no direction of negative length.
        gap: The right-hand side.
        damping: What is added to the diagonal, so that an equation without numbers can be solved.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.sparse import csr_array, issparse
    from scipy.sparse.linalg import LinearOperator, cg

    size = np.asarray(gram.diagonal(), dtype=np.float64) + (0.0 if damping is None else damping)
    scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    some = np.flatnonzero(size > 0)
    found = np.zeros(len(gap))
    if not len(some):
        return found
    if issparse(gram) and gram.nnz == np.count_nonzero(gram.diagonal()):  # no sum overlaps another
        found[some] = gap[some] / size[some]
        return found
    if len(gap) > DENSE and issparse(gram):
        matrix = csr_array(gram)
        more = np.zeros(len(gap)) if damping is None else damping
        scaled = LinearOperator(matrix.shape, lambda v: scale * (matrix @ (scale * v) + more * scale * v))
        return np.asarray(scale * cg(scaled, scale * gap, rtol=1e-13, maxiter=TURNS)[0])
    dense = np.asarray(gram.toarray() if issparse(gram) else gram)
    dense = (dense if damping is None else dense + np.diag(damping))[np.ix_(some, some)]
    dense = dense * scale[some] * scale[some][:, None]
    for ridge in (1e-13, 1e-11, 1e-8):
        try:
            with one_thread():
                factor = cho_factor(dense + ridge * np.eye(len(some)))
        except LinAlgError:
            continue
        found[some] = scale[some] * cho_solve(factor, (scale * gap)[some])
        return found
    return found
