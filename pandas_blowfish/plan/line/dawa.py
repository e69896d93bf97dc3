"""Dawa: neighbouring sums of a tree merged into buckets that the data suggest. Never sees rows.

Which sums to merge is itself released with noise, and charged: a quarter of epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import BUCKETS
from pandas_blowfish.plan.scales import ESTIMATE, Scales
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

PARTITION_SHARE = Fraction(1, 4)  # of epsilon, for choosing the buckets
ADAPTIVE = "what it measures depends on the rows"
CONTINUES = -(2**62)  # where a bucket goes on; no noisy total is that low

PROOF = (
    "The sums under the edges of a spanning forest change, between neighbouring tables, by at most "
    "{stretch} in L1. The cost of a bucket (the L1 distance of its sums from their median) changes by no "
    "more than they do, and the costs of one partition's buckets together by no more than that. With noise "
    "of scale {partition} on each bucket's cost, the cheapest partition loses at most {first}; with noise of "
    "scale {bucket} on the total of each of its buckets the totals lose at most {second}. Together epsilon = "
    "{epsilon}."
)


@dataclass(frozen=True, eq=False)
class Dawa(Tree):
    """The sums of a tree, gathered into buckets chosen with noise.

    The measured values are, for every sum of the tree on every line, the noisy total of the bucket that
    begins there, or `CONTINUES` where a bucket goes on; then the exact totals.

    Proof note:
        Requires: no touched facts; an edge changes the tree's rows by at most the stretch D in L1.
        Ensures:  privacy loss <= epsilon: a share of it for the partition, the rest for the totals.
        Because:  let B be the cheapest partition of one table with noise Z, and m_b the L1 change of the
                  rows in bucket b: its cost changes by at most m_b, and any partition's m_b add up to
                  at most D. Lower, in the neighbour, the noise of each b in B by 2 m_b: against any
                  other partition, which shares some buckets and covers the same rows by its others,
                  B's cost still is the least, and ties are broken by one fixed order. The shifts are 2 D
                  in sum, so the odds of B change by at most exp(2 D / scale). Given B the totals change
                  by at most D, and the epsilons of the two steps add.
        Checked:  tests/kernel/test_buckets.py::test_partition_loss_by_enumeration
    """

    name = "dawa"
    mechanism = BUCKETS

    @classmethod
    def build(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Tree]:
        """Yield the one forest that follows from the line, unless rows can leave the line or change it."""
        if not (len(axis.away) or len(axis.across)):
            yield from super().build(asked, axis, epsilon, alone=alone)

    @property
    def partition_scale(self) -> Fraction:
        """Return the noise scale of a bucket's cost."""
        return 2 * self.sensitivity / (self.epsilon * PARTITION_SHARE)

    @property
    def bucket_scale(self) -> Fraction:
        """Return the noise scale of a bucket's total."""
        return self.sensitivity / (self.epsilon * (1 - PARTITION_SHARE))

    @property
    def line_scales(self) -> Scales:
        return Scales([self.bucket_scale], np.zeros(len(self.rows), dtype=np.int8))

    @property
    def proof(self) -> str:
        return PROOF.format(
            stretch=self.sensitivity,
            partition=self.partition_scale,
            bucket=self.bucket_scale,
            first=self.epsilon * PARTITION_SHARE,
            second=self.epsilon * (1 - PARTITION_SHARE),
            epsilon=self.epsilon,
        )

    @property
    def loss(self) -> Fraction:
        """Return what is lost at most: the partition's share and the rest."""
        return self.epsilon if self.sensitivity else Fraction(0)

    @cached_property
    def variances(self) -> Floats:
        """Return NaN: how wrong the answers are depends on the rows and is not known; 0 if all is exact."""
        unknown = np.nan if self.sensitivity else 0.0
        return np.full(self.asked.per_line * self.line.groups, unknown)

    @cached_property
    def mse(self) -> float:
        return float("nan") if self.sensitivity else 0.0

    @property
    def loss_scales(self) -> Scales:
        """Return how large a change of a query row loses 1: twice for the partition, once for the totals."""
        if not self.sensitivity:
            return self.scales
        both = 1 / (2 / self.partition_scale + 1 / self.bucket_scale)
        return Scales([both, Fraction(0)], self.scales.codes)

    @property
    def noise_terms(self) -> str:
        return ESTIMATE

    @property
    def covariance(self) -> None:
        """Return None: how wrong sums are depends on the rows."""

    def estimate(self, noisy: NDArray[Any], exact: Floats) -> Floats:
        """Return the cumulative counts when each bucket's total is distributed evenly among its sums."""
        flat = noisy.ravel()
        begins = np.flatnonzero(flat != CONTINUES)
        sizes = np.diff(np.append(begins, len(flat)))
        even = np.repeat(flat[begins] / sizes, sizes) if len(flat) else np.zeros(0)
        return super().estimate(even.reshape(noisy.shape), exact)

    def loss_over(self, edges: Callable[[], Ints]) -> None:
        """Return None: which sums are merged depends on noisy values."""
        del edges

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return nothing known: which sums are merged depends on the rows."""
        del graph
        return WorstCase(None, ADAPTIVE)

    def matrix(self) -> NoReturn:
        """Refuse: which query rows are measured depends on the rows of the table."""
        raise ArgumentError("strategy", "dawa measures what the rows suggest: no matrix before the release")


def median_distances(sums: Ints, width: int) -> Ints:
    """Return for each run of `width` sums the L1 distance from its median; the last may be shorter."""
    whole = len(sums) // width
    runs = np.sort(sums[: whole * width].reshape(whole, width), axis=1)
    found = runs[:, width - width // 2 :].sum(axis=1) - runs[:, : width // 2].sum(axis=1)
    rest = np.sort(sums[whole * width :])
    if not len(rest):
        return np.asarray(found)
    half = len(rest) // 2
    return np.append(found, rest[len(rest) - half :].sum() - rest[:half].sum())
