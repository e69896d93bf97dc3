"""Grid: counts of the bins of a grid, from which rows are clustered. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.space import Space, each_run, points_of
from pandas_blowfish.plan.clusters.synopsis import Synopsis, share_variance
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved


@dataclass(frozen=True, eq=False)
class GridCounts(Synopsis):
    """Counts of a grid's bins; centres are made of the noisy counts alone.

    Attributes:
        space: What is clustered.
        marks: For each column the bin of each cell from the first to the last that the filter passes.
        queries: The histogram.
        form: How the bins are cut, as plain data.
        distortion: What is expected to be added.

    Proof note:
        Requires: as `Identity`.
        Ensures:  privacy loss <= epsilon.
        Because:  nothing but a histogram is measured; bins are cut by the domain, the number of rows and
                  epsilon; clustering its noisy counts, with any number of restarts, is post-processing.
        Checked:  tests/privacy/test_kmeans_loss.py::test_loss_of_random_policies
    """

    space: Space
    marks: tuple[Ints, ...]
    queries: Identity
    form: dict[str, Any]
    distortion: float

    name = "grid"
    proof_id = "grid"

    @classmethod
    def build(
        cls,
        graph: RecordGraph,
        space: Space,
        bins: tuple[int, ...],
        epsilon: Fraction,
        distortion: float,
        classes: Sequence[Ints] | None = None,
    ) -> GridCounts:
        """Return the counts of a grid under a graph projected on the space's columns.

        Args:
            graph: The secret graph of the space's columns.
            space: What is clustered.
            bins: How many bins each column has, or each of its classes.
            epsilon: What may be lost.
            distortion: What is expected to be added.
            classes: Runs of each column's cells that edges do not leave; bins are then cut inside them, so
                that their totals are exact.
        """
        if classes is None:
            marks = [each_run(cells, many) for cells, many in zip(space.cells, bins, strict=True)]
        else:
            marks = [cut_inside(own, many) for own, many in zip(classes, bins, strict=True)]
        form = {"bins": list(bins), "inside": classes is not None}
        counts = Identity.build(graph, space.tally_bins(marks), epsilon)
        return cls(space, tuple(marks), counts, form, distortion)

    @property
    def bins(self) -> tuple[int, ...]:
        """Return how many bins each column has."""
        return tuple(int(marks.max()) + 1 for marks in self.marks)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        return f"{self.queries.proof} Centres are made of the noisy counts alone."

    @property
    def grid(self) -> str:
        """Return the bins in words."""
        return " x ".join(map(str, self.bins)) + " bins"

    @property
    def size_variance(self) -> float:
        """Return the variance of a cluster's size, if all are of one size."""
        return share_variance(variance(self.queries.scale), int(np.prod(self.bins)), self.space.k)

    def points(self) -> Floats:
        """Return the middle of each bin of one group, in distances."""
        return points_of(self.space.centres(self.marks))

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.clusters.solve import solve_grid  # here: solving needs the strategies

        return solve_grid(self, values, post, known)

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        """Return what the histogram loses at most over a wider graph."""
        return self.queries.worst_case(graph).loss


def cut_inside(classes: Ints, many: int) -> Ints:
    """Return the bins of cells whose classes, runs of them, are cut into so many bins each.

    Examples:
        >>> cut_inside(np.array([0, 0, 0, 1]), 2).tolist()
        [0, 1, 1, 2]
    """
    found, first = [], 0
    for cells in np.bincount(classes).tolist():
        found.append(first + each_run(cells, min(many, cells)))
        first += min(many, cells)
    return np.concatenate(found)
