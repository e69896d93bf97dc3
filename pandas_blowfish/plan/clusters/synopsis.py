"""What all synopses that rows are clustered by have in common. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.centres import find_clusterer
from pandas_blowfish.plan.clusters.resolution import EXACTLY, MAX_BINS, grid_bins
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import OneRound, Round
from pandas_blowfish.plan.query_rows import every_column
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.sensitivity import EdgeReach, ExactParts, edge_reach, exact_parts, tally_sensitivity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

MAX_TABLE = 1 << 22  # bins that rows are counted in
IF = "if rows fill the declared ranges"
ROWS = "not known here: 10,000 for this plan; say rows="


@dataclass(frozen=True, eq=False)
class Setting:
    """What a synopsis is made for.

    Attributes:
        policy: The promise.
        space: What is clustered.
        epsilon: What may be lost.
        rows: How many rows there are, or are thought to be.
        clusterer: Which k-means clusters it, where that decides what is measured.
    """

    policy: Policy
    space: Space
    epsilon: Fraction
    rows: int = 1
    clusterer: str = field(default_factory=find_clusterer)

    @cached_property
    def graph(self) -> RecordGraph:
        """Return the secret graph of the space's columns."""
        return self.policy.graph.project(self.space.domain.columns)

    @cached_property
    def known(self) -> tuple[EdgeReach, ExactParts]:
        """Return what edges do to the groups, and which numbers of their rows are exact."""
        return edge_reach(self.graph, self.space.whole), exact_parts(self.graph, self.space.whole)

    @property
    def most(self) -> int:
        """Return how many bins a group may have."""
        return max(min(MAX_BINS, MAX_TABLE // self.space.lots), 1)

    @property
    def group_rows(self) -> float:
        """Return how many rows a group has, if all have as many."""
        return max(self.rows / self.space.lots, 1.0)

    @cached_property
    def change(self) -> Fraction:
        """Return by how much an edge changes the counts of the finest grid."""
        space = self.space
        finest = grid_bins(space.cells, space.spans, space.k, EXACTLY, self.most)
        return tally_sensitivity(self.graph, space.cut(finest))

    @property
    def signal(self) -> float:
        """Return the rows of a group times epsilon, as if one row changed counts by 2."""
        return self.weigh(1 / self.change) if self.change else EXACTLY

    def weigh(self, rate: Fraction) -> float:
        """Return the rows of a group times 2 epsilon, and times a rate.

        As a float, which how fine to measure is chosen by; what is drawn and charged is exact.
        """
        return self.group_rows * 2 * float(min(self.epsilon, Fraction(10**100))) * float(rate)


class SynopsisBuilder(Protocol):
    """How a synopsis of the family's list is made: its class."""

    name: str
    why_not: str

    def propose(self, setting: Setting, *, alone: bool) -> Iterator[Synopsis]:
        """Yield the synopsis that suits a setting, if there is any; `alone` where no other is considered."""

    def reread(self, setting: Setting, form: Mapping[str, Any]) -> Synopsis:
        """Return what an earlier release measured, from its `form`."""


class Synopsis(OneRound, ABC):
    """Noisy counts of a space from which centres are made.

    Attributes:
        name: The strategy's name.
        why_not: What it needs, where it cannot be had.
        space: What is clustered.
        queries: The query rows that are measured; of a synopsis in rounds, all that may be.
        distortion: What is expected to be added to the least sum of squared distances, as a share of it.
    """

    name: ClassVar[str]
    why_not: ClassVar[str] = "cannot answer this"
    space: Space
    queries: Any
    distortion: float

    @property
    def tallies(self) -> tuple[Tally | Total, ...]:
        return self.queries.tallies  # type: ignore[no-any-return]

    @property
    def scales(self) -> Scales:
        return self.queries.scales  # type: ignore[no-any-return]

    @property
    def sensitivity(self) -> Fraction:
        return self.queries.sensitivity  # type: ignore[no-any-return]

    @property
    def proof(self) -> str:
        return self.queries.proof  # type: ignore[no-any-return]

    def apply(self, counts: Ints) -> Ints:
        return self.queries.apply(counts)  # type: ignore[no-any-return]

    def columns(self, cells: Cells) -> Any:
        return self.queries.columns(cells)

    def matrix(self) -> Any:
        return self.queries.matrix()

    @property
    def domain(self) -> Domain:
        return self.space.domain

    @property
    def index(self) -> pd.Index[Any]:
        return self.space.index

    @property
    @abstractmethod
    def grid(self) -> str:
        """Return what is counted, in words."""

    @property
    @abstractmethod
    def size_variance(self) -> float:
        """Return the variance of a cluster's size, if all are of one size."""

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each cluster's size, about."""
        return np.full(len(self.index), self.size_variance)

    @property
    def mse(self) -> float:
        return self.size_variance

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        return WorstCase.or_exact(self.bound_loss(graph))

    def figures(self) -> dict[str, float]:
        """Return the error of sizes, and what is expected to be added to squared distances."""
        return {"mse": self.mse, "distortion": self.distortion}

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return what is counted, and what that is expected to add to squared distances."""
        del rows_public
        added = f"about {max(self.distortion, 0.001):.1%} more than the best centres have, {IF}"
        rows = {} if query["known"] or "rows" in query else {"rows": ROWS}
        return {"synopsis": self.grid, "squared distances": added, **rows}

    @abstractmethod
    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the clusters of every group."""

    @abstractmethod
    def most_clusters(self, values: Ints) -> int:
        """Return how many clusters of a group can be made of what was measured."""

    def settle(self, values: Ints) -> tuple[Synopsis, Ints]:
        """Return the synopsis that was measured, and its values, where earlier ones determine it."""
        return self, values

    def with_clusters(self, k: int) -> Self:
        """Return the same synopsis, as it was measured, to be read as k clusters.

        Proof note:
            Requires: values that were measured by this synopsis.
            Ensures:  what `solve` makes of them costs nothing, whatever k is.
            Because:  it is a function of the noisy values; which query rows these are of does not change.
            Checked:  tests/queries/frames/test_free_clusters.py::test_other_numbers_of_clusters_are_free
        """
        found: Any = self
        return replace(found, space=replace(self.space, k=k))  # type: ignore[no-any-return]

    @abstractmethod
    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        """Return what is lost at most over a graph that holds all edges this was planned under.

        None where an exact query row may change.
        """


@dataclass(frozen=True, eq=False)
class Stack:
    """Several rounds as one, the query rows of each below those of the one before.

    Attributes:
        domain: The columns that are looked at, and their cells.
        steps: The rounds.
    """

    domain: Domain
    steps: tuple[Round, ...]

    @cached_property
    def tallies(self) -> tuple[Tally | Total, ...]:
        return tuple(table for step in self.steps for table in step.tallies)

    @cached_property
    def scales(self) -> Scales:
        return Scales.stack([step.scales for step in self.steps])

    def apply(self, counts: Ints) -> Ints:
        found, begin = [], 0
        for step in self.steps:
            tables = [each.tally if isinstance(each, Total) else each for each in step.tallies]
            end = begin + sum(table.size for table in tables)
            found.append(step.apply(counts[begin:end]))
            begin = end
        return np.concatenate(found)

    def columns(self, cells: Cells) -> Any:
        from scipy.sparse import vstack

        return vstack([step.columns(cells) for step in self.steps], format="csc")

    def matrix(self) -> Any:
        return every_column(self, self.domain, len(self.scales.values) * self.domain.size)


def share_variance(variance: float, bins: int, k: int) -> float:
    """Return the variance of one of k equal parts of some bins whose total is known."""
    return variance * bins / k * (1 - 1 / k)
