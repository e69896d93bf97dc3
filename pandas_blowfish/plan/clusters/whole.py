"""Whole: groups of cells that no edge leaves are clustered as they are, by exact counts. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.centres import SKLEARN, cluster_points, clusterer_form, nearest
from pandas_blowfish.plan.clusters.known import Known
from pandas_blowfish.plan.clusters.resolution import whole_excess
from pandas_blowfish.plan.clusters.smooth import smooth_counts, split_middles
from pandas_blowfish.plan.clusters.solve import Clustered, GroupClusters, order_clusters, sum_clusters
from pandas_blowfish.plan.clusters.space import Space, find_pieces, points_of
from pandas_blowfish.plan.clusters.synopsis import Setting, Stack, Synopsis
from pandas_blowfish.plan.lattice import Lattice, Total, extremes, lattice
from pandas_blowfish.plan.protocol import InRounds, OwnNoise, rounds
from pandas_blowfish.plan.query_rows import columns_from, shift_rows
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.sensitivity import ExactParts, exact_parts
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.sensitivity import Shifts, shifts
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given

MAX_PIECES = 1 << 17  # groups of cells that are counted
MAX_PARTS = 256  # of several pieces
NEARER = 6  # times that a part's mean should be nearer than a piece is wide
PROOF = (
    "No edge of the policy leaves a piece (a group of cells): the pieces' counts are the same in all "
    "neighbouring tables, exact and free, and so is which pieces are taken together as parts. A neighbouring "
    "table moves one row inside its piece, which changes the sums of its part alone, in units by at most "
    "{sensitivity} in L1; with the scales {scales} that loses at most epsilon = {epsilon}."
)


@dataclass(frozen=True, eq=False)
class PartSums(OwnNoise):
    """The sums of columns over parts, which are pieces taken together.

    Attributes:
        tallies: The sums of each column over each piece.
        part: The part of each piece, groups outermost, numbered through all groups.
        column_scales: The noise of each column's sums.
    """

    tallies: tuple[Total, ...]
    part: Ints
    column_scales: tuple[Fraction, ...]

    @property
    def many(self) -> int:
        """Return the number of parts."""
        return int(self.part.max(initial=-1)) + 1

    @property
    def scales(self) -> Scales:
        """Return one scale per sum, column after column."""
        return Scales(self.column_scales, np.repeat(np.arange(len(self.column_scales)), self.many))

    def apply(self, counts: Ints) -> Ints:
        sums = np.zeros((len(self.column_scales), self.many), dtype=np.int64)
        for row, pieces in zip(sums, counts.reshape(len(sums), -1), strict=True):
            np.add.at(row, self.part, pieces)
        return sums.ravel()

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: a weight per column, in the part of their piece."""
        entries: list[tuple[Ints, Ints | int]] = []
        for number, total in enumerate(self.tallies):
            piece, weight = total.entries(cells)
            part = np.where(piece < 0, -1, self.part[piece])
            entries.append((shift_rows(part, number * self.many), weight))
        return columns_from(entries, len(self.scales))


@dataclass(frozen=True, eq=False)
class Whole(InRounds, Synopsis):
    """Exact counts of pieces, then noisy sums over the parts that these counts lead to.

    Attributes:
        marks: For each column the class of each cell; a piece is a combination of classes.
        lattices: What rows weigh in the sums.
        moved: What one edge can do to one row's weights.
        exact: That all pieces' counts are exact.
        epsilon: What may be lost.
        clusterer: Which k-means takes pieces together, as that decides what is measured.
        planned: How many clusters parts were made for, where it is read as another number of them.

    Proof note:
        Requires: `exact_parts` and `shifts` as their notes say; all pieces' counts are exact.
        Ensures:  privacy loss <= epsilon.
        Because:  neighbours have the same counts of pieces, so the same parts (`parts` is a function of
                  them). An edge stays in its piece, so in its part, and changes the sums as it changes
                  the sums of all rows, with scales for which `Shifts.loss` is epsilon. As many rows, one per
                  piece and column, with the same scales lose the same: that is `matrix`.
        Checked:  tests/privacy/test_kmeans_loss.py::test_loss_of_random_policies,
                  tests/plan/clusters/test_whole.py::test_sums_are_rows_of_the_matrix
    """

    space: Space
    marks: tuple[Ints, ...]
    lattices: tuple[Lattice, ...]
    moved: Shifts
    exact: ExactParts
    epsilon: Fraction
    distortion: float
    clusterer: str = SKLEARN
    planned: int | None = None

    name = "whole"
    why_not = "needs pieces (partition groups, say) that no edge leaves, as many as clusters or more"

    @classmethod
    def propose(cls, setting: Setting, *, alone: bool) -> Iterator[Whole]:
        """Yield the pieces that no edge leaves, if there are any."""
        del alone
        space = setting.space
        whole = None if setting.policy.presence else cls.build(setting, 0.0)
        if whole is not None:
            parts = setting.group_rows / max(whole.enough, 1.0)
            expected = whole_excess(np.array(whole.pieces), space.spans, space.k, parts)
            yield replace(whole, distortion=expected)

    @classmethod
    def reread(cls, setting: Setting, form: Mapping[str, Any]) -> Synopsis:
        del form
        found = cls.build(setting, math.nan)
        assert found is not None
        return found

    @property
    def form(self) -> dict[str, Any]:
        return clusterer_form(self.clusterer)

    @classmethod
    def build(cls, setting: Setting, distortion: float) -> Whole | None:
        """Return the pieces that no edge of the policy leaves; None where there are none, or too many."""
        policy, space = setting.policy, setting.space
        marks = tuple(find_pieces(policy, space))
        tally = space.tally_bins(marks)
        if tally.size > MAX_PIECES or tally.size // space.lots < space.k:
            return None
        exact = exact_parts(policy.graph.project(space.domain.columns), tally)
        if not exact.alone.all():
            return None
        lattices = tuple(lattice(each, extremes(each)) for each in space.attributes)
        nothing = Tally((), 0)
        moved = shifts(policy, nothing, [Total(nothing, each) for each in lattices])
        return cls(space, marks, lattices, moved, exact, setting.epsilon, distortion, setting.clusterer)

    @property
    def pieces(self) -> tuple[int, ...]:
        """Return into how many classes each column is cut."""
        return tuple(int(marks.max()) + 1 for marks in self.marks)

    @cached_property
    def tally(self) -> Tally:
        """Return counts of the pieces."""
        return self.space.tally_bins(self.marks)

    @cached_property
    def known(self) -> Known:
        """Return the exact counts of the pieces."""
        return Known((self.tally,), self.exact)

    @cached_property
    def queries(self) -> Stack:
        """Return the pieces' counts, then a sum per column and piece."""
        return Stack(self.domain, (self.known, self._sums(np.arange(self.tally.size))))

    def _sums(self, part: Ints) -> PartSums:
        """Return the sums over the parts that pieces are taken together in."""
        totals = tuple(Total(self.tally, each) for each in self.lattices)
        return PartSums(totals, part, self.column_scales)

    @cached_property
    def column_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each column's sums: in proportion to what an edge changes them."""
        peaks = [Fraction(peak) for peak in self.moved.peaks]
        loss = self.moved.loss([1 / peak if peak else Fraction(0) for peak in peaks])
        return tuple(peak * loss / self.epsilon for peak in peaks)

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the sums between neighbours, in units."""
        return self.moved.loss([Fraction(1)] * len(self.lattices))

    @property
    def largest(self) -> int:
        """Return a bound on the scales."""
        return math.ceil(max(self.column_scales))

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        scales = ", ".join(map(str, self.column_scales))
        return PROOF.format(sensitivity=self.sensitivity, scales=scales, epsilon=self.epsilon)

    @property
    def grid(self) -> str:
        return " x ".join(map(str, self.pieces)) + " pieces, counted exactly"

    @property
    def size_variance(self) -> float:
        """Return 0: sizes are exact."""
        return 0.0

    @property
    def errors(self) -> Floats:
        """Return the standard error of each column's sum over a part, in distances."""
        pairs = zip(self.column_scales, self.lattices, self.space.units, strict=True)
        return np.array([math.sqrt(variance(scale)) * float(own.unit) * unit for scale, own, unit in pairs])

    def most_clusters(self, values: Ints) -> int:
        del values  # as many whatever was measured
        return math.prod(self.pieces)

    def with_clusters(self, k: int) -> Whole:
        return replace(super().with_clusters(k), planned=self.planned or self.space.k)

    def points(self) -> Floats:
        """Return the middle of each piece of one group, in distances."""
        return points_of(self.space.centres(self.marks))

    @property
    def enough(self) -> float:
        """Return how many rows a part needs for its noisy mean to be much nearer than a piece is wide."""
        sides = self.space.spans / np.array(self.pieces)
        return float(np.divide(NEARER * self.errors, sides, out=np.zeros(len(sides)), where=sides > 0).max())

    def parts(self, counts: Ints) -> Ints:
        """Return the part of each piece, numbered through all groups, by the pieces' exact counts.

        As many parts as have enough rows each; every piece by itself where there are rows for that.
        """
        points, found, first = self.points(), [], 0
        for own in counts.reshape(self.space.lots, -1):
            held = np.flatnonzero(own > 0)
            wanted = max(int(own.sum() / max(self.enough, 1.0)), self.planned or self.space.k)
            if wanted >= len(held):
                label = np.zeros(len(own), dtype=np.int64)
                label[held] = np.arange(len(held))
            else:
                many = min(wanted, MAX_PARTS)
                label = cluster_points(points, own.astype(np.float64), many, self.clusterer)[1]
            found.append(label + first)
            first += int(label.max()) + 1
        return np.concatenate(found)

    def next_round(self, values: Sequence[Ints]) -> Known | PartSums | None:
        """Return the pieces' counts, then the sums of parts of them."""
        if not values:
            return self.known
        return self._sums(self.parts(values[0])) if len(values) == 1 else None

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Clustered:
        """Return clusters of whole pieces: sizes are exact, noisy means of parts move their pieces.

        A noisy mean counts as far as its error is small beside how far rows may lie from a piece's middle.
        """
        del known, post  # sizes are exact
        space, points = self.space, self.points()
        (_, counts), (step, sums) = rounds(self, values)
        assert isinstance(step, PartSums)
        sides = space.spans / np.array(self.pieces)
        low, high = (np.array([places[end] for places in space.places]) for end in (0, -1))
        units = np.array([float(own.unit) for own in self.lattices]) * space.units
        starts = zip(self.lattices, space.starts, strict=True)
        origins = np.array([float(own.origin - start) for own, start in starts]) * space.units
        by_group, part_of = counts.reshape(space.lots, -1), step.part.reshape(space.lots, -1)
        halves = [self._halve(own) for own in by_group]
        parts = [own[parent] for own, (_, _, parent) in zip(part_of, halves, strict=True)]
        every, held = (np.concatenate([each[n] for each in halves]) for n in (0, 1))
        part: Ints = np.concatenate(parts)
        rows = np.maximum(sum_clusters(step.part, counts, step.many), 1.0)[:, None]
        middle = np.stack([sum_clusters(part, held * axis, step.many) for axis in every.T], axis=1) / rows
        away = origins + sums.reshape(len(units), -1).T * units / rows - middle
        prior = np.maximum(sides**2 / 48, 1e-300)
        far = _believed(away, self.errors / rows, prior, sides)
        left, found = (away - far) * rows, []
        for own, (places, weights, _), label in zip(by_group, halves, parts, strict=True):
            moved = np.clip(places + far[label], low, high)
            centres, of = cluster_points(moved, weights, space.k, self.clusterer)
            share = np.zeros((space.k, step.many))
            np.add.at(share, (of, label), weights)
            many = np.maximum(share.sum(axis=1), 1.0)[:, None]
            share /= rows.ravel()
            error = np.sqrt((share**2).sum(axis=1))[:, None] * self.errors / many
            centres = np.clip(centres + _believed(share @ left / many, error, prior, sides), low, high)
            sizes = sum_clusters(nearest(points, centres), own, space.k)
            found.append(GroupClusters(centres, sizes, np.zeros(space.k)))
        return order_clusters(space, found)

    def _halve(self, counts: Ints) -> tuple[Floats, Floats, Ints]:
        """Return points, how many rows are at each, and their pieces: halves of these if classes are runs."""
        own = counts.reshape(self.pieces).astype(np.float64)
        axes = self.space.centres(self.marks)
        number = np.arange(own.size).reshape(own.shape)
        if any((np.diff(marks) < 0).any() for marks in self.marks):
            return points_of(axes), own.ravel(), number.ravel()
        fine = smooth_counts(own)
        parts = [a // b for a, b in zip(fine.shape, own.shape, strict=True)]
        for axis, many in enumerate(parts):
            number = np.repeat(number, many, axis=axis)
        narrow = [split_middles(axis, many) for axis, many in zip(axes, parts, strict=True)]
        return points_of(narrow), fine.ravel(), number.ravel()

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        """Return None: over more edges the pieces' counts change."""
        del graph
        return None


def _believed(away: Floats, error: Floats, prior: Floats, sides: Floats) -> Floats:
    """Return how far to move by noisy means: as far as they are surer than that pieces are even inside."""
    return np.asarray(np.clip(away, -sides / 2, sides / 2) * (prior / (prior + error**2)))
