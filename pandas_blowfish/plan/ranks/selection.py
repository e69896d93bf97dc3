"""Selection: which candidates have most rows, and nothing else about them. Never sees rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import LAWS, SELECT, OneTable, Round
from pandas_blowfish.plan.ranks.candidates import CandidateRows, Candidates
from pandas_blowfish.plan.ranks.gap import selection_gap
from pandas_blowfish.plan.ranks.sensitivity import range_sensitivity
from pandas_blowfish.plan.ranks.solve import find_left, solve_picks
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

PROOF = (
    "Just the place of the largest noisy count is released, {picks} after another, each without those "
    "before it. A neighbouring table moves one row along one edge: differences of counts change by at most "
    "{sensitivity}. One-sided geometric noise of scale {scale} has no memory: a count that must exceed the "
    "others by so much more, or less, does so with odds that change by at most exp({sensitivity} / {scale}). "
    "All picks together lose at most epsilon = {epsilon}."
)
PROOF_EXACT = (
    "No edge of the policy changes any difference of these counts: the most frequent are the same in all "
    "neighbouring tables, so they are released exactly and cost nothing."
)


@dataclass(frozen=True, eq=False)
class RankRows(CandidateRows, OneTable):
    """What both strategies of this family share: a query row per candidate, at the scale of all.

    Attributes:
        sensitivity: What one edge changes at most, in the strategy's own measure.
        epsilon: What may be lost.
        instead: The strategy that was not taken, and its gap; nothing where one was asked for.
    """

    sensitivity: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(1)
    instead: tuple[str, int] | None = None

    name = ""

    @property
    def tally(self) -> Tally:
        """Return the counts of all bins."""
        return self.candidates.tally

    @property
    def index(self) -> pd.Index[Any]:
        return self.candidates.index

    @property
    @abstractmethod
    def gap(self) -> int:
        """Return how many rows fewer than the most frequent a listed value may have, at `LEVEL`."""

    @property
    def accuracy(self) -> str:
        """Return what is proved about the listed values, in a sentence."""
        each = "in each group " if self.candidates.groups else ""
        rank = "the i-th value listed" if self.candidates.k > 1 else "the value listed"
        most = "the i-th most frequent, for all i" if self.candidates.k > 1 else "the most frequent"
        if not self.sensitivity:
            return f"{each}{rank} is {most}".replace(", for all i", "")
        return f"with 95% probability {each}{rank} has at most {self.gap:,} rows fewer than {most}"

    @property
    def reason(self) -> dict[str, str]:
        """Return why this strategy was taken, where there was a choice."""
        if self.instead is None or not self.sensitivity:
            return {}
        name, gap = self.instead
        return {"chosen": f"{self.name!r} misses at most {self.gap:,} rows, {name!r} {gap:,}"}

    @property
    def form(self) -> dict[str, Any]:
        return {} if self.instead is None else {"instead": list(self.instead)}

    def figures(self) -> dict[str, float]:
        return {"mse": self.mse, "gap": float(min(self.gap, 10**300))}


@dataclass(frozen=True, eq=False)
class Selection(RankRows):
    """The most frequent candidate of each group, picked with noise; then of those left, and so on.

    Proof note:
        Requires: no touched facts, neighbours move one row along one edge of the graph.
        Ensures:  privacy loss <= epsilon, with equality for one pick where some edge changes a difference.
        Because:  a pick loses at most the range of the change over the scale (`draw_choices`), the range of
                  fewer candidates is no larger, and the losses of rounds add up (`Strategy`). Once each
                  group has one candidate left it follows without looking at rows.
        Checked:  tests/privacy/test_select_loss.py::test_no_neighbours_lose_more_than_is_charged
    """

    name = "select"
    mechanism = SELECT

    @classmethod
    def build(cls, graph: RecordGraph, candidates: Candidates, epsilon: Fraction) -> Selection:
        """Return the strategy for candidates under a projected graph."""
        change = range_sensitivity(graph, candidates)
        return cls(candidates, rounds_of(candidates) * change / epsilon, None, change, epsilon)

    @property
    def choices(self) -> Ints:
        return self.groups

    @property
    def rounds(self) -> int:
        """Return how many picks need a choice."""
        return rounds_of(self.candidates)

    @property
    def in_rounds(self) -> bool:  # type: ignore[override]
        return self.rounds > 1

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        if not values:
            return self
        if len(values) >= self.rounds:
            return None
        return Pick(self.candidates, self.scale, find_left(self.candidates, values)[1])

    @property
    def values(self) -> int | None:
        return self.rounds * len(self.candidates.sizes)

    @property
    def gap(self) -> int:
        return selection_gap(self.candidates.most, self.rounds, self.scale)

    @cached_property
    def variances(self) -> Floats:
        """Return NaN: no number is released, so none has an error; 0 where the picks are exact."""
        return np.full(len(self.index), np.nan if self.sensitivity else 0.0)

    @property
    def proof(self) -> str:
        if not self.sensitivity:
            return PROOF_EXACT
        picks = "one" if self.rounds == 1 else f"{self.rounds:,} of them, one"
        named = {"sensitivity": self.sensitivity, "scale": self.scale, "epsilon": self.epsilon}
        return PROOF.format(picks=picks, **named)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        del post, known
        return solve_picks(self.candidates, values)

    def loss_over(self, edges: Callable[[], Ints]) -> Fraction | float | None:
        """Return the largest loss of a first pick over edges, by enumeration, times the picks."""
        listed, full = edges(), self.matrix().toarray().T
        full = np.concatenate([full, np.zeros((1, full.shape[1]), dtype=full.dtype)])
        change = full[listed[:, 0]] - full[listed[:, 1]]
        worst, first = 0, np.cumsum(self.candidates.sizes) - self.candidates.sizes
        if change.size:
            ranges = np.maximum.reduceat(change, first, axis=1) - np.minimum.reduceat(change, first, axis=1)
            worst = int(ranges.sum(axis=1).max(initial=0))
        return self.rounds * worst / self.scale if self.scale else Fraction(0)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        change = range_sensitivity(graph, self.candidates)
        if change and not self.scale:
            return WorstCase.or_exact(None)
        return WorstCase(self.rounds * change / self.scale if change else Fraction(0))

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        del query, rows_public
        if not self.sensitivity:
            return {"accuracy": self.accuracy}
        return {
            "noise": f"{LAWS[SELECT]}, scale {float(self.scale):,.6g}; just the picks are released",
            "typical error": "no numbers are released",
            "accuracy": self.accuracy,
            **self.reason,
        }


@dataclass(frozen=True, eq=False)
class Pick(CandidateRows):
    """A later pick, among the candidates that are left."""

    mechanism = SELECT

    @property
    def choices(self) -> Ints:
        return self.groups


def rounds_of(candidates: Candidates) -> int:
    """Return how many picks need a choice: none where a single candidate is left."""
    return max(1, min(candidates.k, candidates.most - 1))
