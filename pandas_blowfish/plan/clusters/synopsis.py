"""What every synopsis that rows are clustered by tells about itself. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import OneRound
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

IF = "if rows fill the declared ranges"
ROWS = "not known here: 10,000 for this plan; say rows="


class Synopsis(OneRound, ABC):
    """Noisy counts of a space from which centres are made.

    Attributes:
        space: What is clustered.
        distortion: What is expected to be added to the least sum of squared distances, as a share of it.
    """

    space: Space
    distortion: float

    @property
    def domain(self) -> Domain:
        """Return the columns that are looked at, and their cells."""
        return self.space.domain

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups outermost, then the number of the cluster."""
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
        """Return the mean variance of the sizes."""
        return self.size_variance

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return what is lost over a graph that holds all edges this was planned under."""
        return WorstCase.or_exact(self.closed(graph))

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
    def closed(self, graph: RecordGraph) -> Fraction | None:
        """Return what is lost at most over a graph that holds all edges this was planned under.

        None where an exact row may change.
        """


def shared(variance: float, bins: int, k: int) -> float:
    """Return the variance of one of k equal parts of some bins whose total is known."""
    return variance * bins / k * (1 - 1 / k)
