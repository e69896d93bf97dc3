"""Soft: counts of soft bins, which a short move of a row changes by little. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.centres import cluster_points, nearest
from pandas_blowfish.plan.clusters.known import Known
from pandas_blowfish.plan.clusters.resolution import EXACTLY, soft_excess
from pandas_blowfish.plan.clusters.sensitivity import MAX_TOTAL, hats, soft_change, stops
from pandas_blowfish.plan.clusters.smooth import map_axes, narrow_bins, shares, sharpen
from pandas_blowfish.plan.clusters.solve import Clustered, GroupClusters, order_clusters, shape_sizes
from pandas_blowfish.plan.clusters.space import Space, each_run, points_of
from pandas_blowfish.plan.clusters.synopsis import MAX_TABLE, Setting, Synopsis, share_variance
from pandas_blowfish.plan.protocol import OneTable
from pandas_blowfish.plan.query_rows import every_column, sparse_from
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.sensitivity import EdgeReach, ExactParts, still_exact, tally_sensitivity
from pandas_blowfish.plan.shape.simplex import exact_totals, pin, project
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given

MAX_NODES = 16  # soft ones of a column
MAX_SOFT, MAX_STOPS = 4, 10**5  # columns, and cells of one, for which soft bins are considered
SMALL = 1e-4  # of the fullest narrow bin: what is less is no rows
PROOF = (
    "Counts of soft bins in whole parts: each row counts {total} parts in all, shared by the two nearest "
    "nodes of each column. A neighbouring table moves one row along one edge of the policy, which changes "
    "the counts by at most the sensitivity {sensitivity} in L1, in whole numbers. Discrete Laplace noise of "
    "scale {scale} on each therefore loses at most epsilon = {epsilon}. Rows of scale 0 are numbers of rows "
    "that no edge changes. Taking the softness out again, and centres, are made of the noisy counts alone."
)


@dataclass(frozen=True, eq=False)
class SoftBins(OneTable):
    """Counts of soft bins with one scale, then the exact numbers of rows of groups.

    Attributes:
        space: What is clustered.
        nodes: How many nodes each column has.
        parts: What a row counts in two neighbouring nodes of a column together.
        sensitivity: The largest L1 change of the noisy query rows between neighbours.
        epsilon: What may be lost.
        known: The exact numbers of rows of groups.
    """

    space: Space
    nodes: tuple[int, ...]
    parts: int
    sensitivity: Fraction
    epsilon: Fraction
    known: Known

    @cached_property
    def tally(self) -> Tally:
        """Return counts of rows by the stops they stand at."""
        pairs = zip(self.space.places, self.nodes, strict=True)
        return self.space.tally_bins([stops(places, many, self.parts) for places, many in pairs])

    @property
    def total(self) -> int:
        """Return what a row counts in all nodes together."""
        return int(self.parts ** sum(many > 1 for many in self.nodes))

    @property
    def scale(self) -> Fraction:
        """Return the noise scale of every count, in parts."""
        return self.sensitivity / self.epsilon

    @cached_property
    def scales(self) -> Scales:
        noisy = self.space.lots * math.prod(self.nodes)
        codes = np.ones(noisy + len(self.known.scales), dtype=np.int8)
        if self.scale > 0:
            codes[:noisy] = np.repeat(~self.empty, math.prod(self.nodes)) ^ 1
        return Scales([self.scale, Fraction(0)], codes)

    @cached_property
    def empty(self) -> Any:
        """Return which groups the filter leaves no rows in."""
        return ~self.space.whole.occupied

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(
            total=self.total, sensitivity=self.sensitivity, scale=self.scale, epsilon=self.epsilon
        )

    def apply(self, counts: Ints) -> Ints:
        lots = self.space.lots
        table = counts.reshape(lots, *self.tally.shape[self.space.groups : self.tally.shown])
        by_group = table.reshape(lots, -1).sum(axis=1)
        for many in self.nodes:  # the first column left is summed, its nodes come last
            table = np.tensordot(table, hats(many, self.parts), axes=(1, 1))
        return np.concatenate([table.ravel(), self.known.apply(by_group)])

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: parts of the nodes around, and exact numbers."""
        bins = self.tally.bins_at(cells)
        shape = (self.space.lots, *self.tally.shape[self.space.groups : self.tally.shown])
        group, *at = np.unravel_index(np.maximum(bins, 0), shape)
        entries = [(group.astype(np.int64), np.ones(len(bins), dtype=np.int64))]
        for many, stop in zip(self.nodes, at, strict=True):
            low, part = np.divmod(stop, self.parts if many > 1 else 1)
            pairs = [(low, self.parts - part), (np.minimum(low + 1, many - 1), part)]
            entries = [
                (rows * many + node, value * (share if many > 1 else 1))
                for rows, value in entries
                for node, share in (pairs if many > 1 else [(low * 0, 1)])
            ]
        rows = [(np.where(bins < 0, -1, row), value) for row, value in entries]
        first = self.space.lots * math.prod(self.nodes)
        exact = self.known.rows_at(np.where(bins < 0, -1, group), first)
        columns = np.arange(len(bins))
        parts = [(columns, row, value) for row, value in [*rows, (exact, np.ones_like(exact))]]
        return sparse_from(parts, (len(self.scales), len(bins)))

    def matrix(self) -> Any:
        most = self.domain.size * (2 ** sum(many > 1 for many in self.nodes) + 1)
        return every_column(self, self.domain, most)


@dataclass(frozen=True, eq=False)
class Soft(Synopsis):
    """Counts of soft bins; centres are made of the noisy counts alone, the softness taken out again.

    Proof note:
        Requires: `soft_change` as its note says.
        Ensures:  privacy loss <= epsilon.
        Because:  every noisy query row has scale sensitivity / epsilon; those of scale 0 do not change.
        Checked:  tests/privacy/test_kmeans_loss.py::test_loss_of_random_policies
    """

    space: Space
    queries: SoftBins
    distortion: float

    name = "soft"
    why_not = "needs columns with more cells, or fewer clusters or groups"

    @classmethod
    def propose(cls, setting: Setting, *, alone: bool) -> Iterator[Soft]:
        """Yield the soft bins that are expected to add least."""
        space = setting.space
        if not alone and (len(space.attributes) > MAX_SOFT or max(space.cells) > MAX_STOPS):
            return
        best: Soft | None = None
        for many in range(2, MAX_NODES + 1):
            nodes = tuple(min(many, cells) for cells in space.cells)
            if math.prod(nodes) > setting.most:
                break
            if math.prod(nodes) < space.k or (parts := count_parts(space, nodes)) < 2:
                continue
            found = cls.build(setting.policy, space, setting.known, nodes, parts, setting.epsilon)
            change = found.sensitivity
            signal = setting.weigh(found.queries.total / change) if change else EXACTLY
            expected = soft_excess(np.array(nodes), space.spans, space.k, signal)
            if best is None or expected < best.distortion:
                best = replace(found, distortion=expected)
        if best is not None:
            yield best

    @classmethod
    def reread(cls, setting: Setting, form: Mapping[str, Any]) -> Soft:
        nodes, parts = tuple(form["nodes"]), int(form["parts"])
        return cls.build(setting.policy, setting.space, setting.known, nodes, parts, setting.epsilon)

    @classmethod
    def build(
        cls,
        policy: Policy,
        space: Space,
        known: tuple[EdgeReach, ExactParts],
        nodes: tuple[int, ...],
        parts: int,
        epsilon: Fraction,
    ) -> Soft:
        """Return the counts of soft bins under a policy; `known` is what edges do to the space's groups."""
        marks = [stops(places, many, parts) for places, many in zip(space.places, nodes, strict=True)]
        each = [parts if many > 1 else 1 for many in nodes]
        change = soft_change(policy, space, known[0], marks, each)
        exact = Known((space.whole,), known[1])
        return cls(space, SoftBins(space, nodes, parts, Fraction(change), epsilon, exact), math.nan)

    @property
    def form(self) -> dict[str, Any]:
        return {"nodes": list(self.queries.nodes), "parts": self.queries.parts}

    @property
    def grid(self) -> str:
        return " x ".join(map(str, self.queries.nodes)) + f" soft bins, {self.queries.total:,} parts to a row"

    @property
    def size_variance(self) -> float:
        return share_variance(
            variance(self.queries.scale) / self.queries.total**2, math.prod(self.queries.nodes), self.space.k
        )

    def most_clusters(self, values: Ints) -> int:
        del values  # as many whatever was measured
        return math.prod(self.queries.nodes)

    def points(self) -> Floats:
        """Return the nodes of one group, in distances."""
        pairs = zip(self.space.places, self.queries.nodes, strict=True)
        return points_of(
            [
                np.linspace(places[0], places[-1], many) if many > 1 else places.mean(keepdims=True)
                for places, many in pairs
            ]
        )

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Clustered:
        """Return clusters of narrow bins that soft ones were sharpened to."""
        del known  # no fact counts soft bins
        space, soft, exact = self.space, self.queries, self.queries.known.exact
        nodes = soft.nodes
        many = int(np.prod(nodes))
        noisy = values[: many * space.lots] / soft.total
        total_of, totals = exact_totals(exact.alone, exact.total_of, values[len(noisy) :])
        plain = pin(noisy, np.repeat(total_of, many), totals)
        occupied = np.repeat(~soft.empty, many)
        counts = project(plain, np.repeat(total_of, many), occupied, space.lots).reshape(space.lots, *nodes)
        bins = narrow_bins(nodes, space.cells)
        runs = [each_run(cells, own) for cells, own in zip(space.cells, bins, strict=True)]
        axes = space.centres(runs)
        maps = [
            shares(axis, float(places[0]), float(places[-1]), own)
            for axis, places, own in zip(axes, space.places, nodes, strict=True)
        ]
        points, nodes_at = points_of(axes), self.points()
        noise = variance(soft.scale) / soft.total**2
        found = []
        for lot in range(space.lots):
            narrow = sharpen(counts[lot], maps)
            kept = np.where(narrow > SMALL * narrow.max(), narrow, 0.0).ravel()
            centres, of = cluster_points(points, kept, space.k)
            near = nearest(nodes_at, centres)
            part = (near == np.arange(space.k)[:, None]).astype(np.float64)
            count = part.sum(axis=1)
            seen = map_axes(narrow, maps).ravel()
            inside = [
                map_axes(np.where((of == j).reshape(bins), narrow, 0.0), maps).ravel() for j in range(space.k)
            ]
            np.divide(
                np.stack(inside), seen, out=part, where=seen > SMALL * seen.max()
            )  # of each node's rows
            even = (part**2).sum(axis=1) - (total_of[lot] >= 0) * part.sum(axis=1) ** 2 / many
            least = count * (1 - (total_of[lot] >= 0) * count / many)
            sizes = part @ plain.reshape(space.lots, -1)[lot]
            found.append(GroupClusters(centres, shape_sizes(sizes, post), noise * np.maximum(even, least)))
        return order_clusters(space, found)

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        """Return what is lost at most over a wider graph: as if every move changed all parts."""
        whole = self.space.whole
        if not still_exact(whole, self.queries.known.exact, graph):
            return None
        change = 2 * self.queries.total if any(block.graph.edge_count for block in graph.blocks) else 0
        if not change and graph.presence:
            change = self.queries.total * int(tally_sensitivity(graph, whole))
        return change / self.queries.scale if self.queries.scale else None


def count_parts(space: Space, nodes: tuple[int, ...]) -> int:
    """Return into how many parts the way between two nodes is cut: as many as fit, up to 64."""
    cut = [(many - 1, cells) for many, cells in zip(nodes, space.cells, strict=True) if many > 1]
    parts = 64
    while parts > 1 and (
        space.lots * math.prod(ways * parts + 1 for ways, _ in cut) > MAX_TABLE
        or parts ** len(cut) > MAX_TOTAL
        or any(ways * parts + 1 > cells for ways, cells in cut)
    ):
        parts //= 2
    return parts
