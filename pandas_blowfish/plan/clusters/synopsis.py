"""What every synopsis that rows are clustered by tells about itself. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph


class Synopsis(ABC):
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

    @abstractmethod
    def closed(self, graph: RecordGraph) -> Fraction | None:
        """Return what is lost at most over a graph that holds all edges this was planned under.

        None where an exact row may change.
        """


def shared(variance: float, bins: int, k: int) -> float:
    """Return the variance of one of k equal parts of some bins whose total is known."""
    return variance * bins / k * (1 - 1 / k)
