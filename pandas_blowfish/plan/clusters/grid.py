"""Grid: counts of the bins of a grid, from which rows are clustered. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.centres import cluster_points, nearest
from pandas_blowfish.plan.clusters.resolution import grid_bins, grid_excess
from pandas_blowfish.plan.clusters.smooth import smooth_counts, split_middles
from pandas_blowfish.plan.clusters.solve import (
    Clustered,
    GroupClusters,
    order_clusters,
    shape_sizes,
    sum_clusters,
)
from pandas_blowfish.plan.clusters.space import Space, each_run, find_pieces, points_of
from pandas_blowfish.plan.clusters.synopsis import Setting, Synopsis, share_variance
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.shape.simplex import project
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given

FINER = 1.4  # times that bins may be narrower where the totals of classes are exact
FEWER = 4  # times the usual number of bins that these may be


@dataclass(frozen=True, eq=False)
class GridCounts(Synopsis):
    """Counts of a grid's bins; centres are made of the noisy counts alone.

    Attributes:
        marks: For each column the bin of each cell from the first to the last that the filter passes.
        queries: The histogram.
        cuts: Into how many bins each column is cut, or each of its classes.
        inside: Whether classes that edges do not leave are cut.

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
    cuts: tuple[int, ...]
    inside: bool
    distortion: float

    name = "grid"

    @classmethod
    def propose(cls, setting: Setting, *, alone: bool) -> Iterator[GridCounts]:
        """Yield a grid, cut inside the classes that edges do not leave where there are fewer of these."""
        del alone
        space, signal = setting.space, setting.signal
        bins = grid_bins(space.cells, space.spans, space.k, signal, setting.most)
        expected = grid_excess(np.array(bins), space.spans, space.k, signal)
        classes = find_runs(setting)
        inside = [1] * len(bins) if classes is None else [int(own.max()) + 1 for own in classes]
        if max(inside) > 1 and all(own <= many for own, many in zip(inside, bins, strict=True)):
            each = tuple(math.ceil(FINER * many / own) for many, own in zip(bins, inside, strict=True))
            if math.prod(map(mul, each, inside)) <= FEWER * setting.most:
                yield cls.build(setting.graph, space, each, setting.epsilon, expected, classes)
                return
        yield cls.build(setting.graph, space, bins, setting.epsilon, expected)

    @classmethod
    def reread(cls, setting: Setting, form: Mapping[str, Any]) -> GridCounts:
        classes = find_runs(setting) if form["inside"] else None
        bins = tuple(form["bins"])
        return cls.build(setting.graph, setting.space, bins, setting.epsilon, math.nan, classes)

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
        counts = Identity.build(graph, space.tally_bins(marks), epsilon)
        return cls(space, tuple(marks), counts, bins, classes is not None, distortion)

    @property
    def form(self) -> dict[str, Any]:
        return {"bins": list(self.cuts), "inside": self.inside}

    @property
    def bins(self) -> tuple[int, ...]:
        """Return how many bins each column has."""
        return tuple(int(marks.max()) + 1 for marks in self.marks)

    @property
    def proof(self) -> str:
        return f"{self.queries.proof} Centres are made of the noisy counts alone."

    @property
    def grid(self) -> str:
        return " x ".join(map(str, self.bins)) + " bins"

    @property
    def size_variance(self) -> float:
        return share_variance(variance(self.queries.scale), int(np.prod(self.bins)), self.space.k)

    def most_clusters(self, values: Ints) -> int:
        del values  # as many whatever was measured
        return math.prod(self.bins)

    def points(self) -> Floats:
        """Return the middle of each bin of one group, in distances."""
        return points_of(self.space.centres(self.marks))

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Clustered:
        """Return clusters of the bins of a grid, smoothed."""
        space, own = self.space, self.queries
        plain = own.solve(values, post=False, known=known).answers
        if known is not None and known.over(own.tally):
            counts = own.solve(values, post=True, known=known).answers
        else:
            counts = project(plain, own.parts.total_of, ~own.parts.alone, space.lots)
        counts = counts.reshape(space.lots, *self.bins)
        noise, points = variance(own.scale), self.points()
        axes, found = space.centres(self.marks), []
        open_, pinned = (
            (each).reshape(space.lots, -1) for each in (~own.parts.alone, own.parts.total_of >= 0)
        )
        for lot in range(space.lots):
            fine = smooth_counts(counts[lot], space.cells)
            parts = [a // b for a, b in zip(fine.shape, self.bins, strict=True)]
            narrow = [split_middles(axis, many) for axis, many in zip(axes, parts, strict=True)]
            centres, _ = cluster_points(points_of(narrow), fine.ravel(), space.k)
            of = nearest(points, centres)
            many = sum_clusters(of, open_[lot], space.k)
            spread = noise * many * (1 - many / max(float(many.sum()), 1.0) * pinned[lot].any())
            sizes = sum_clusters(of, plain.reshape(space.lots, -1)[lot], space.k)
            found.append(GroupClusters(centres, shape_sizes(sizes, post), spread))
        return order_clusters(space, found)

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        return self.queries.worst_case(graph).loss


def find_runs(setting: Setting) -> list[Ints] | None:
    """Return for each column the classes of cells that edges do not leave; None where one is no run."""
    found = find_pieces(setting.policy, setting.space)
    return None if any((np.diff(own) < 0).any() for own in found) else found


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
