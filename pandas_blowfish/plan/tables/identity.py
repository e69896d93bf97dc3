"""Every bin is measured: with noise of its own, or that sums to 0 over connected bins. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import clique, clique_spread
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import OneTable
from pandas_blowfish.plan.query_rows import MAX_NONZEROS, columns_from, shift_rows
from pandas_blowfish.plan.scales import CLIQUES, ESTIMATE, SUM, Scales, row_variances, variance
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
MOST_CELLS = 64  # of bins that are joined: with more, noise of their own is as good within 2%
MOST_CLIQUES, MOST_WORK = 512, 2**18  # parts, and the squares of their bins: a draw takes as long
PROOF_CLIQUES = (
    "Counts of bins: a neighbouring table moves one row along one edge of the policy, which takes it from "
    "one bin to another that it is connected with. Noise z that sums to 0 over connected bins, with P(z) "
    "proportional to exp(-(sum |z|) / (2 * {scale})), therefore loses at most epsilon = {epsilon}: half the "
    "sum of changes is 1. Rows of scale 0 are sums that no edge changes: they are the same in all "
    "neighbouring tables and cost nothing."
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
    def noise_variance(self) -> float:
        """Return the variance of the noise of a count that is not exact."""
        return variance(self.scale)

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        if not self.scale or not self.tally.size:
            return 0.0
        noisy = self.tally.size - int(self.parts.alone.sum()) - self.parts.totals  # one less for each total
        return variance(self.scale) * noisy / self.tally.size

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


@dataclass(frozen=True, eq=False)
class CliqueCounts(Identity):
    """Counts of bins, whose noise sums to 0 over each set of connected bins, then their exact totals.

    Proof note:
        Requires: as `Identity`; every bin that is not exact is in an exact total.
        Ensures:  privacy loss <= epsilon, with equality when some edge changes a bin.
        Because:  an edge stays in one component, and changes its counts by 1 and -1: their norm is 1
                  (`Joint`), whether the two bins are joined or just connected; each component has noise of
                  its own, of scale 1 / epsilon. Rows of scale 0 do not change.
        Checked:  tests/privacy/test_cliques_loss.py::test_loss_is_epsilon
    """

    name = "cliques"
    proof_id = "cliques"
    tolerance = 1.0

    @property
    def scale(self) -> Fraction:
        """Return the scale of the norm: an edge changes counts by 1 in it."""
        return self.sensitivity / 2 / self.epsilon

    @cached_property
    def many(self) -> Ints:
        """Return how many bins each total is of."""
        inside = self.parts.total_of >= 0
        return np.bincount(self.parts.total_of[inside], minlength=self.parts.totals)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale per query row: a kind of noise for each set of connected bins, 0 for totals."""
        parts = self.parts
        codes = np.append(parts.total_of, np.full(parts.totals, parts.totals))
        codes[codes < 0] = parts.totals
        joint = {code: clique(np.flatnonzero(codes == code)) for code in range(parts.totals)}
        return Scales([*[self.scale] * parts.totals, Fraction(0)], codes, joint)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        return (
            PROOF_CLIQUES.format(scale=self.scale, epsilon=self.epsilon) if self.sensitivity else PROOF_EXACT
        )

    @cached_property
    def spreads(self) -> Floats:
        """Return c of each total: errors of two of its k bins have the covariance c ([i = j] - 1 / k)."""
        return np.array([clique_spread(int(many), self.scale) for many in self.many])

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints."""
        inside, each = self.parts.total_of >= 0, self.spreads * (1 - 1 / np.maximum(self.many, 1))
        return np.where(inside, np.append(each, 0.0)[self.parts.total_of], 0.0)

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean()) if self.tally.size else 0.0

    @property
    def noise_variance(self) -> float:
        """Return a variance that is usual for a count."""
        return float(self.spreads.mean()) if self.parts.totals else row_variances([Fraction(0)])[0]

    @property
    def noise_terms(self) -> str:
        """Return that each count is off by one of some noises that sum to 0."""
        return CLIQUES

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return how errors go together: those of one total sum to 0."""
        from pandas_blowfish.plan.shape.covariance import describe_cliques  # here: lines need the strategies

        return describe_cliques(self)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return what is lost over a graph that holds all edges this was planned under.

        While totals stay exact an edge takes a row from one bin of a total to another: its norm is 1.
        """
        return WorstCase.or_exact(counts_loss(self.tally, self.parts, 2 * self.scale, graph))


class CliquesBuilder:
    """How connected bins are given noise that sums to 0."""

    name = CliqueCounts.name

    def build(self, graph: RecordGraph, tally: Tally, epsilon: Fraction) -> CliqueCounts | None:
        """Return the strategy; None where some bin is in no exact total, or too many are joined."""
        if tally.size > MOST_WORK:
            return None
        plain = Identity.build(graph, tally, epsilon)
        found = CliqueCounts(tally, plain.sensitivity, epsilon, plain.parts)
        free = ~plain.parts.alone & (plain.parts.total_of < 0)
        if plain.sensitivity != 2 or free.any() or not plain.parts.totals:
            return None
        fits = found.many.max() <= MOST_CELLS and plain.parts.totals <= MOST_CLIQUES
        return found if fits and (found.many**2).sum() <= MOST_WORK else None


class CliqueTable:
    """The same for a single table among marginals."""

    name = CliqueCounts.name

    def build(self, case: Any) -> Iterator[CliqueCounts]:
        """Yield the one way there is, if there is one."""
        if case.one and case.question.plain and (found := self._find(case)) is not None:
            yield found

    def reread(self, case: Any, form: Mapping[str, Any]) -> CliqueCounts:
        """Return the one way there is."""
        del form
        found = self._find(case)
        assert found is not None
        return found

    @staticmethod
    def _find(case: Any) -> CliqueCounts | None:
        counted = case.counted
        return CliquesBuilder().build(
            case.policy.graph.project(counted.domain.columns), counted, case.epsilon
        )
