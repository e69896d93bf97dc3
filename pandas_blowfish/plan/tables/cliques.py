"""Cliques: counts of bins that are joined draw noise together that sums to 0. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import clique, clique_spread
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import CLIQUES
from pandas_blowfish.plan.scales import Scales, row_variances
from pandas_blowfish.plan.sensitivity import counts_loss
from pandas_blowfish.plan.tables.identity import PROOF_EXACT, Identity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph

MOST_CELLS = 64  # of bins that are joined: with more, noise of their own is as good within 2%
MOST_CLIQUES, MOST_WORK = 512, 2**18  # parts, and the squares of their bins: a draw takes as long
PROOF = (
    "Counts of bins: a neighbouring table moves one row along one edge of the policy, which takes it from "
    "one bin to another that it is connected with. Noise z that sums to 0 over connected bins, with P(z) "
    "proportional to exp(-(sum |z|) / (2 * {scale})), therefore loses at most epsilon = {epsilon}: half the "
    "sum of changes is 1. Rows of scale 0 are sums that no edge changes: they are the same in all "
    "neighbouring tables and cost nothing."
)


@dataclass(frozen=True, eq=False)
class Cliques(Identity):
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
        return PROOF.format(scale=self.scale, epsilon=self.epsilon) if self.sensitivity else PROOF_EXACT

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

    name = Cliques.name

    def build(self, graph: RecordGraph, tally: Tally, epsilon: Fraction) -> Cliques | None:
        """Return the strategy; None where some bin is in no exact total, or too many are joined."""
        plain = Identity.build(graph, tally, epsilon)
        found = Cliques(tally, plain.sensitivity, epsilon, plain.parts)
        free = ~plain.parts.alone & (plain.parts.total_of < 0)
        if plain.sensitivity != 2 or free.any() or not plain.parts.totals:
            return None
        fits = found.many.max() <= MOST_CELLS and plain.parts.totals <= MOST_CLIQUES
        return found if fits and (found.many**2).sum() <= MOST_WORK else None


class CliqueTable:
    """The same for a single table among marginals."""

    name = Cliques.name

    def build(self, case: Any) -> Iterator[Cliques]:
        """Yield the one way there is, if there is one."""
        if case.one and case.question.plain and (found := self._find(case)) is not None:
            yield found

    def reread(self, case: Any, form: Mapping[str, Any]) -> Cliques:
        """Return the one way there is."""
        del form
        found = self._find(case)
        assert found is not None
        return found

    @staticmethod
    def _find(case: Any) -> Cliques | None:
        counted = case.counted
        return CliquesBuilder().build(
            case.policy.graph.project(counted.domain.columns), counted, case.epsilon
        )
