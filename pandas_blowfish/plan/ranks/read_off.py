"""ReadOff: the count of every candidate with noise; the largest are read off. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.ranks.candidates import Candidates
from pandas_blowfish.plan.ranks.gap import read_off_gap
from pandas_blowfish.plan.ranks.selection import RankRows
from pandas_blowfish.plan.ranks.solve import solve_largest
from pandas_blowfish.plan.scales import ONE, variance
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.tables.identity import PROOF, PROOF_EXACT
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved


@dataclass(frozen=True, eq=False)
class ReadOff(RankRows):
    """The count of every candidate, each with a noise of its own; the k largest of each group are listed.

    Proof note:
        Requires: no touched facts, neighbours move one row along one edge of the graph.
        Ensures:  privacy loss <= epsilon, with equality when some edge changes a count.
        Because:  every query row has scale sensitivity / epsilon; the largest follow from noisy values.
        Checked:  tests/privacy/test_select_loss.py::test_counts_lose_epsilon
    """

    name = "counts"
    proof_id = "identity"
    noise_terms = ONE

    @classmethod
    def build(cls, graph: RecordGraph, candidates: Candidates, epsilon: Fraction) -> ReadOff:
        """Return the strategy for candidates under a projected graph."""
        change = tally_sensitivity(graph, candidates.tally)
        return cls(candidates, change / epsilon, None, change, epsilon)

    @property
    def gap(self) -> int:
        return read_off_gap(self.candidates.most, self.candidates.k, self.scale)

    @cached_property
    def variances(self) -> Floats:
        return np.full(len(self.index), variance(self.scale))

    @property
    def proof(self) -> str:
        if not self.sensitivity:
            return PROOF_EXACT
        return PROOF.format(sensitivity=self.sensitivity, scale=self.scale, epsilon=self.epsilon)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        del known
        return solve_largest(self.candidates, values, post=post)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        change = tally_sensitivity(graph, self.candidates.tally)
        if change and not self.scale:
            return WorstCase.or_exact(None)
        return WorstCase(change / self.scale if change else Fraction(0))

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        del query, rows_public
        return {"accuracy": self.accuracy, **self.reason}
