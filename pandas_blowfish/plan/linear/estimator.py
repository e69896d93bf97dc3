"""Estimates of least variance from measured rows and exact ones, by dense algebra. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats


@dataclass(frozen=True, eq=False)
class Estimator:
    """Counts of cells as linear maps of what was measured.

    Attributes:
        fit: Cells x noisy rows.
        held: Cells x exact rows.
        spread: `fit`, each row times its standard deviation; for what the rows do not tell, the shortest.
    """

    fit: Floats
    held: Floats
    spread: Floats

    @property
    def covariance(self) -> Floats:
        """Return the covariance of the cells' estimates."""
        return np.asarray(self.spread @ self.spread.T)

    def counts(self, noisy: Any, exact: Any) -> Floats:
        """Return the estimated counts from measured values."""
        return np.asarray(self.fit @ np.asarray(noisy, float) + self.held @ np.asarray(exact, float))

    def variances(self, queries: Any) -> Floats:
        """Return the variance of weighted sums of cells, queries x cells, dense or scipy sparse."""
        return np.asarray((np.asarray(queries @ self.spread) ** 2).sum(axis=1), dtype=np.float64)


def estimator(matrix: Any, variances: Any, exact: Any) -> Estimator:
    """Return the best linear unbiased estimator of the cells' counts.

    Args:
        matrix: Noisy rows x cells.
        variances: The variance of each noisy row, above 0.
        exact: Exact rows x cells; they hold without error.

    Examples:
        >>> made = estimator(np.eye(2), [1.0, 1.0], [[1, 1]])
        >>> made.counts([3, 4], [5]).round(9).tolist(), made.variances(np.eye(2)).round(9).tolist()
        ([2.0, 3.0], [0.5, 0.5])

    Proof note:
        Requires: independent rows; what is asked is a combination of the noisy and the exact rows.
        Ensures:  the estimate of least variance among all linear unbiased ones.
        Because:  the exact rows are solved first, the rest in their null space by least squares weighted by
                  inverse variances (Gauss and Markov), in the space of the rows, found at equal lengths.
        Checked:  tests/plan/linear/test_estimator.py::test_matches_the_normal_equations
    """
    rows, fixed = np.asarray(matrix, dtype=np.float64), np.asarray(exact, dtype=np.float64)
    cells = rows.shape[1]
    held: Floats = np.zeros((cells, len(fixed)))
    basis: Floats = np.eye(cells)
    if fixed.size:
        held = np.asarray(np.linalg.pinv(fixed), dtype=np.float64)
        values, right = np.linalg.svd(fixed)[1:]
        basis = right[int((values > 1e-9 * values.max(initial=0.0)).sum()) :].T
    weight = 1 / np.sqrt(np.asarray(variances, dtype=np.float64))
    left = rows @ basis
    left[np.linalg.norm(left, axis=1) <= 1e-12 * np.linalg.norm(rows, axis=1)] = 0.0  # dust of exact rows
    spread = basis @ _inverse(left * weight[:, None])
    fit = spread * weight
    return Estimator(fit, held - fit @ (rows @ held), spread)


def _inverse(told: Floats) -> Floats:
    """Return the pseudo-inverse of a matrix whose rows may be of very different lengths.

    What the rows tell is found at equal lengths, so that a short row counts as much as a long one; in these
    directions the largest rows are eliminated first.
    """
    from scipy.linalg import qr, solve_triangular

    lengths = np.linalg.norm(told, axis=1)
    kept = np.argsort(-lengths, kind="stable")[: int((lengths > 0).sum())]
    found = np.zeros(told.T.shape)
    if not len(kept):
        return found
    values, right = np.linalg.svd(told[kept] / lengths[kept, None], full_matrices=False)[1:]
    space = right[values > 1e-9 * values.max()].T
    turned, upper, order = qr(told[kept] @ space, mode="economic", pivoting=True)
    solved = np.empty((space.shape[1], len(kept)))
    solved[order] = solve_triangular(upper, turned.T)
    found[:, kept] = space @ solved
    return found
