"""Identity: every bin is measured with the same noise, exact parts with none. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import ESTIMATE, SUM, OneTable
from pandas_blowfish.plan.query_rows import MAX_NONZEROS, columns_from, shift_rows
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.sensitivity import ExactParts, counts_loss, exact_parts, tally_sensitivity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

PROOF = (
    "Counts of bins: a neighbouring table moves one row along one edge of the policy, which changes the "
    "measured counts by at most the sensitivity {sensitivity} in L1. Discrete Laplace noise of scale "
    "{scale} on each count therefore loses at most epsilon = {epsilon}. Rows of scale 0 are sums that no "
    "edge changes: they are the same in all neighbouring tables and cost nothing."
)
PROOF_EXACT = (
    "No edge of the policy changes any of these counts: they are the same in all neighbouring tables, so "
    "they are released exactly and cost nothing."
)


@dataclass(frozen=True, eq=False)
class Identity(OneTable):
    """Counts of bins, then the exact totals of connected bins.

    Proof note:
        Requires: no facts, a public row count, neighbours move one row along one edge of the graph.
        Ensures:  privacy loss <= epsilon, with equality when some edge changes a bin.
        Because:  every noisy row has scale sensitivity / epsilon; rows of scale 0 do not change.
        Checked:  tests/privacy/test_hist_loss.py::test_loss_is_epsilon
    """

    tally: Tally
    sensitivity: Fraction
    epsilon: Fraction
    parts: ExactParts

    name = "identity"
    proof_id = "identity"
    tolerance = 1.02  # whole numbers with exact intervals: kept unless something is this much better

    @classmethod
    def build(cls, graph: RecordGraph, tally: Tally, epsilon: Fraction) -> Identity:
        """Return the strategy for a tally under a projected graph."""
        return cls(tally, tally_sensitivity(graph, tally), epsilon, exact_parts(graph, tally))

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""
        return self.tally.index

    @property
    def form(self) -> dict[str, Any]:
        """Return nothing: the bins say it all."""
        return {}

    @property
    def scale(self) -> Fraction:
        """Return the noise scale of a bin that is not exact."""
        return self.sensitivity / self.epsilon

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a measured row: bins, then exact totals."""
        codes = np.ones(self.tally.size + self.parts.totals, dtype=np.int8)
        if self.scale > 0:
            codes[: self.tally.size] = self.parts.alone
        return Scales([self.scale, Fraction(0)], codes)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(sensitivity=self.sensitivity, scale=self.scale, epsilon=self.epsilon)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each answer before shape constraints.

        Bins with an exact total share what the noise puts into it, so each is wrong by a little less.
        """
        each = self.scales[: self.tally.size].spread([variance(scale) for scale in self.scales.values])
        inside = self.parts.total_of >= 0
        if inside.any():
            many = np.bincount(self.parts.total_of[inside], minlength=self.parts.totals)
            each[inside] *= 1 - 1 / many[self.parts.total_of[inside]]
        return each

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean())

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the bins' counts."""
        shared = self.parts.total_of >= 0
        totals = np.zeros(self.parts.totals, dtype=np.int64)
        np.add.at(totals, self.parts.total_of[shared], counts[shared])
        return np.concatenate([counts, totals])

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: a bin, and the total that it belongs to."""
        bins = self.tally.bins_at(cells)
        total = np.where(bins < 0, -1, self.parts.total_of[bins])
        return columns_from([(bins, 1), (shift_rows(total, self.tally.size), 1)], len(self.scales))

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.tables.solve import solve_counts  # here: solving needs the strategies

        return solve_counts(self, values, post, known)

    @property
    def noise_terms(self) -> str:
        """Return that counts have a noise each; what exact totals correct is a weighted sum of many."""
        return ESTIMATE if self.parts.totals else SUM

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return how errors go together: they are independent but for exact totals."""
        from pandas_blowfish.plan.shape.covariance import describe_cells  # here: lines need the strategies

        return describe_cells(self)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return what is lost over a graph that holds all edges this was planned under."""
        return WorstCase.or_exact(counts_loss(self.tally, self.parts, self.scale, graph))

    def matrix(self) -> Any:
        """Return the measured rows as a sparse matrix over the cells, refused beyond 10^6 non-zeros."""
        from scipy.sparse import coo_array, vstack

        cells = self.tally.domain.size
        if cells + self.tally.size > MAX_NONZEROS:
            raise DomainTooLargeError(
                "the strategy's matrix",
                cells + self.tally.size,
                MAX_NONZEROS,
                fix="plan fewer cells to look at it.",
            )
        labels = self.tally.labels()
        parts = []
        for rows, bins in (
            (self.tally.size, np.arange(self.tally.size)),
            (self.parts.totals, self.parts.total_of),
        ):
            of_cell = np.where(labels < 0, -1, bins[np.maximum(labels, 0)])
            kept = np.flatnonzero(of_cell >= 0)
            ones = np.ones(len(kept), dtype=np.int64)
            parts.append(coo_array((ones, (of_cell[kept], kept)), shape=(rows, cells)))
        return vstack(parts, format="csr")
