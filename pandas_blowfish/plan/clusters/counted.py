"""Counted: how many rows there are is measured first and determines what follows. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.centres import clusterer_form
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.clusters.synopsis import Stack, Synopsis
from pandas_blowfish.plan.protocol import InRounds, Round
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

SHARE = Fraction(1, 20)  # of epsilon, for the count
PROOF = "The number of rows, at {share} of epsilon, or exactly where no edge changes it: {count} Then: {then}"


@dataclass(frozen=True, eq=False)
class Counted(InRounds, Synopsis):
    """The number of rows, then the synopsis that suits it.

    Attributes:
        count: The number of rows, all groups together.
        suited: The synopsis for a number of rows, at what the count leaves of epsilon.
        usual: A number of rows to show what would follow.
        largest: A bound on the scales of all that may follow, whatever the count is.
        change: By how much an edge changes the finest counts: 0 only where all that may follow is exact.
        strategy: "auto", or the one that must follow.
        distortion: What is expected to be added, if there are as many rows as usual.
        clusterer: Which k-means clusters what follows, where that decides what is measured.

    Proof note:
        Requires: every synopsis that `suited` returns loses at most what the count leaves of epsilon.
        Ensures:  privacy loss <= epsilon.
        Because:  the count's loss and the rest add up to epsilon; which synopsis follows depends on the
                  noisy count alone (`Strategy`).
        Checked:  tests/privacy/test_kmeans_loss.py::test_rounds_lose_epsilon_whatever_was_measured
    """

    space: Space
    count: Identity
    suited: Callable[[int], Synopsis] = field(repr=False)
    usual: int
    largest: int
    change: Fraction
    strategy: str
    distortion: float
    clusterer: str

    name = "counted"

    @cached_property
    def then(self) -> Any:
        """Return what would follow if there were as many rows as usual."""
        return self.suited(self.usual)

    def rows(self, noisy: Ints) -> int:
        """Return the number of rows as the count has it, at least 1."""
        return max(int(noisy[0]), 1)

    def choose_synopsis(self, noisy: Ints) -> Synopsis:
        """Return the synopsis that follows a noisy count."""
        return self.suited(self.rows(noisy))

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        """Return the count, then what suits it, in one round or several."""
        if not values:
            return self.count
        return self.choose_synopsis(values[0]).next_round(values[1:])

    @property
    def proof(self) -> str:
        share = SHARE if self.count.sensitivity else 0
        return PROOF.format(share=share, count=self.count.proof, then=self.then.proof)

    @cached_property
    def queries(self) -> Stack:
        """Return the count, then what would follow; what is checked is each round as it comes."""
        return Stack(self.domain, (self.count, self.then))

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy query rows between neighbours; 0 only if all is exact.

        Which synopsis follows is not known before the count is: where some of them need noise the release
        is charged, whatever the one for the usual number of rows needs.
        """
        return self.count.sensitivity + max(Fraction(self.then.sensitivity), self.change)

    @property
    def form(self) -> dict[str, Any]:
        """Return how it was planned: the count determines the rest."""
        return {"usual": self.usual, "strategy": self.strategy, **clusterer_form(self.clusterer)}

    @property
    def grid(self) -> str:
        return f"{self.then.grid}, if the count says {self.usual:,} rows"

    @property
    def size_variance(self) -> float:
        """Return the variance of a cluster's size, if there are as many rows as usual."""
        return float(self.then.size_variance)

    def matrix(self) -> Any:
        from scipy.sparse import vstack

        return vstack([self.count.matrix(), self.then.matrix()]).tocsr()

    def loss_over(self, edges: Callable[[], Ints]) -> None:
        """Return None: what follows depends on the noisy count."""
        del edges

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        """Return None: what is measured depends on the count."""
        del graph
        return None

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the clusters that the synopsis gives which followed the count."""
        then, rest = self.settle(values)
        return then.solve(rest, post=post, known=known)

    def most_clusters(self, values: Ints) -> int:
        then, rest = self.settle(values)
        return then.most_clusters(rest)

    def settle(self, values: Ints) -> tuple[Synopsis, Ints]:
        first = len(self.count.scales)
        return self.choose_synopsis(values[:first]).settle(values[first:])
