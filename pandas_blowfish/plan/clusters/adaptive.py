"""Adaptive: boxes are halved where noisy counts are large, round by round. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.centres import cluster_points
from pandas_blowfish.plan.clusters.known import Known
from pandas_blowfish.plan.clusters.resolution import adaptive_excess, halvings
from pandas_blowfish.plan.clusters.solve import (
    Clustered,
    GroupClusters,
    order_clusters,
    shape_sizes,
    sum_clusters,
)
from pandas_blowfish.plan.clusters.space import Space, each_run
from pandas_blowfish.plan.clusters.synopsis import MAX_TABLE, Setting, Stack, Synopsis, share_variance
from pandas_blowfish.plan.protocol import InRounds, OwnNoise, rounds
from pandas_blowfish.plan.query_rows import columns_from
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.sensitivity import ExactParts, exact_parts, still_exact, tally_sensitivity
from pandas_blowfish.plan.shape.simplex import exact_totals, pin, shape
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given

MAX_GRIDDED = 3  # columns up to which a grid is always better
GOES_ON = 2  # noise scales above which a box is halved again
MAX_BOXES = 1 << 18  # that one round counts
PROOF = (
    "Counts of boxes in {rounds} rounds. In each, a neighbouring table moves one row along one edge of the "
    "policy, which changes the counts of all boxes of that size by at most {changes} in L1; with discrete "
    "Laplace noise of scale {scales} the rounds together lose at most epsilon = {epsilon}, even if every box "
    "were counted. Which boxes are, depends on the noisy counts of earlier rounds alone."
)


@dataclass(frozen=True, eq=False)
class HalvedBoxes(OwnNoise):
    """The counts of some boxes of one size.

    Attributes:
        tallies: The finest bins, which rows are counted in once for all rounds.
        fine: How often groups and columns are cut there.
        coarse: How often they are cut here.
        chosen: Which boxes are counted, numbered in C order.
        scale: The noise of each.
    """

    tallies: tuple[Tally]
    fine: tuple[int, ...]
    coarse: tuple[int, ...]
    chosen: Ints
    scale: Fraction

    @property
    def scales(self) -> Scales:
        return Scales([self.scale], np.zeros(len(self.chosen), dtype=np.int8))

    def apply(self, counts: Ints) -> Ints:
        shape = [part for a, b in zip(self.fine, self.coarse, strict=True) for part in (b, a // b)]
        boxes = counts.reshape(shape).sum(axis=tuple(range(1, len(shape), 2)))
        return np.asarray(boxes.ravel()[self.chosen])

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: the box they are in, if it is counted."""
        bins = self.tallies[0].bins_at(cells)
        codes = np.unravel_index(np.maximum(bins, 0), self.fine)
        coarse = [code // (a // b) for code, a, b in zip(codes, self.fine, self.coarse, strict=True)]
        box = np.ravel_multi_index(tuple(coarse), self.coarse)
        order = np.argsort(self.chosen)
        at = np.minimum(np.searchsorted(self.chosen[order], box), len(order) - 1)
        row = np.where((bins >= 0) & (self.chosen[order[at]] == box), order[at], -1)
        return columns_from([(row, 1)], len(self.chosen))


@dataclass(frozen=True, eq=False)
class Adaptive(InRounds, Synopsis):
    """Boxes, halved where rows are.

    Attributes:
        halved: How often each column is halved before each round.
        round_changes: The largest L1 change of all counts of each round's boxes.
        known: The exact numbers of rows of groups.
        epsilon: What may be lost.

    Proof note:
        Requires: as `tally_sensitivity`, for the boxes of every round; `Strategy` as its note says.
        Ensures:  privacy loss <= epsilon.
        Because:  all noisy rounds have the same share of epsilon, and the scale of each is its change over
                  that share. Counting all boxes of all rounds loses their sum, epsilon; what is handed out
                  is the part of these counts that `next_round` chooses by earlier noisy ones. Rounds that no
                  edge changes have scale 0.
        Checked:  tests/privacy/test_kmeans_loss.py::test_rounds_lose_epsilon_whatever_was_measured,
                  tests/plan/clusters/test_adaptive.py::test_rounds_are_rows_of_the_matrix
    """

    space: Space
    halved: tuple[tuple[int, ...], ...]
    round_changes: tuple[Fraction, ...]
    known: Known
    epsilon: Fraction
    distortion: float

    name = "adaptive"
    why_not = "needs columns with more cells, or fewer clusters or groups"

    @classmethod
    def propose(cls, setting: Setting, *, alone: bool) -> Iterator[Adaptive]:
        """Yield boxes of several columns, if there are as many as clusters."""
        space, columns = setting.space, len(setting.space.attributes)
        if not alone and columns <= MAX_GRIDDED:
            return
        halved = halvings(space.cells, space.spans, space.k, setting.signal, space.lots, MAX_TABLE)
        if 2 ** sum(halved[0]) >= space.k:
            expected = adaptive_excess(columns, space.k, setting.signal)
            yield cls.build(setting.graph, space, halved, setting.epsilon, expected)

    @classmethod
    def reread(cls, setting: Setting, form: Mapping[str, Any]) -> Adaptive:
        halved = tuple(tuple(often) for often in form["halved"])
        return cls.build(setting.graph, setting.space, halved, setting.epsilon, math.nan)

    @classmethod
    def build(
        cls,
        graph: RecordGraph,
        space: Space,
        halved: tuple[tuple[int, ...], ...],
        epsilon: Fraction,
        distortion: float,
    ) -> Adaptive:
        """Return the rounds under a graph projected on the space's columns."""
        changes = tuple(tally_sensitivity(graph, space.cut([2**n for n in often])) for often in halved)
        known = Known((space.whole,), exact_parts(graph, space.whole))
        return cls(space, halved, changes, known, epsilon, distortion)

    @cached_property
    def tally(self) -> Tally:
        """Return counts of the finest boxes."""
        return self.space.cut([2**often for often in self.halved[-1]])

    @property
    def sensitivity(self) -> Fraction:
        return sum(self.round_changes, Fraction(0))

    @cached_property
    def round_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each round."""
        noisy = sum(change > 0 for change in self.round_changes)
        return tuple(change * noisy / self.epsilon for change in self.round_changes)

    @property
    def largest(self) -> int:
        """Return a bound on the scales of all rounds."""
        return math.ceil(max(self.round_scales))

    @cached_property
    def queries(self) -> Stack:
        """Return all boxes of all rounds, then exact numbers of rows."""
        every = [self._boxes(n, np.arange(math.prod(self.cuts(n)))) for n in range(len(self.halved))]
        return Stack(self.domain, (*every, self.known))

    def _boxes(self, number: int, chosen: Ints) -> HalvedBoxes:
        """Return some boxes of a round."""
        cuts = self.cuts(-1), self.cuts(number)
        return HalvedBoxes((self.tally,), *cuts, chosen, self.round_scales[number])

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        said = {
            "changes": ", ".join(map(str, self.round_changes)),
            "scales": ", ".join(map(str, self.round_scales)),
        }
        return PROOF.format(rounds=len(self.halved), epsilon=self.epsilon, **said)

    @property
    def form(self) -> dict[str, Any]:
        return {"halved": [list(often) for often in self.halved]}

    @property
    def grid(self) -> str:
        sizes = [" x ".join(str(2**n) for n in often) for often in (self.halved[0], self.halved[-1])]
        if len(self.halved) == 1:
            return f"{sizes[0]} boxes"
        return f"{sizes[0]} boxes, halved where rows are, in {len(self.halved)} rounds, to {sizes[1]}"

    @property
    def size_variance(self) -> float:
        """Return the variance of a cluster's size, if all are of one size and the first boxes are right."""
        return share_variance(variance(self.round_scales[0]), 2 ** sum(self.halved[0]), self.space.k)

    def most_clusters(self, values: Ints) -> int:
        return int(np.bincount(find_leaves(self, values).group, minlength=self.space.lots).min())

    def cuts(self, number: int) -> tuple[int, ...]:
        """Return into how many parts groups (one number for all) and columns are cut in a round."""
        return (self.space.lots, *(2**often for often in self.halved[number]))

    def next_round(self, values: Sequence[Ints]) -> HalvedBoxes | Known | None:
        """Return the exact numbers of rows, then the boxes of each round while some go on."""
        if not values:
            return self.known
        chosen = np.arange(math.prod(self.cuts(0)))
        for number, noisy in enumerate(values[1:]):
            chosen = self.children(number, chosen[self.boxes_to_halve(number, noisy)])
        number = len(values) - 1
        if number == len(self.halved) or not len(chosen):
            return None
        return self._boxes(number, chosen)

    def boxes_to_halve(self, number: int, noisy: Ints) -> Ints:
        """Return which boxes of a round are halved again, by their noisy counts."""
        if number + 1 == len(self.halved):
            return np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(noisy > float(GOES_ON * self.round_scales[number]))
        most = MAX_BOXES >> (sum(self.halved[number + 1]) - sum(self.halved[number]))
        if len(found) > most:  # the fullest ones
            found = np.sort(found[np.argsort(-noisy[found], kind="stable")[:most]])
        return found

    def children(self, number: int, boxes: Ints) -> Ints:
        """Return the boxes of the next round that some of one round are halved into, box after box."""
        if number + 1 == len(self.halved):
            return boxes[:0]
        coarse, fine = self.cuts(number), self.cuts(number + 1)
        times = [b // a for a, b in zip(coarse, fine, strict=True)]
        corner = np.column_stack(np.unravel_index(boxes, coarse)) * times
        inside = np.column_stack(np.unravel_index(np.arange(math.prod(times)), times))
        every = (corner[:, None, :] + inside[None, :, :]).reshape(-1, len(times))
        return np.asarray(np.ravel_multi_index(tuple(every.T), fine), dtype=np.int64)

    def points(self, number: int, boxes: Ints) -> Floats:
        """Return the middle of some boxes of a round, in distances."""
        cuts = self.cuts(number)
        runs = [each_run(cells, many) for cells, many in zip(self.space.cells, cuts[1:], strict=True)]
        codes = np.unravel_index(boxes, cuts)[1:]
        return np.column_stack(
            [axis[code] for axis, code in zip(self.space.centres(runs), codes, strict=True)]
        )

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Clustered:
        """Return clusters of the boxes that were not halved again."""
        del known  # boxes may be halved across what a fact counts
        space, boxes = self.space, find_leaves(self, values)
        counts = boxes.shape_counts(self.known.exact)
        centres, cluster = [], np.zeros(len(counts), dtype=np.int64)
        for lot in range(space.lots):
            mine = np.flatnonzero(boxes.group == lot)
            own, cluster[mine] = cluster_points(boxes.points[mine], counts[mine], space.k)
            centres.append(own)
        number = boxes.group * space.k + cluster
        sizes = sum_clusters(number, boxes.counts, space.lots * space.k).reshape(space.lots, -1)
        spread = boxes.variances(cluster, space.lots, space.k)
        found = [
            GroupClusters(c, shape_sizes(s, post), v) for c, s, v in zip(centres, sizes, spread, strict=True)
        ]
        return order_clusters(space, found)

    def bound_loss(self, graph: RecordGraph) -> Fraction | None:
        if not still_exact(self.space.whole, self.known.exact, graph):
            return None
        lost = Fraction(0)
        for often, scale in zip(self.halved, self.round_scales, strict=True):
            change = tally_sensitivity(graph, self.space.cut([2**n for n in often]))
            if change and not scale:
                return None
            lost += change / scale if change else 0
        return lost


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """Boxes that were not halved again, of all groups.

    Attributes:
        group: The group of each.
        points: Its middle, in distances.
        counts: How many rows it holds, as estimated; may be negative.
        places: For each round the boxes that these are, in their order.
        parents: For each round but the last the box that each box of the next is part of.
        spread: For each round the variance of each box's own estimate, from itself and its halves.
        known: For each box of the first round its group if the number of rows of that is exact, else -1.
    """

    group: Ints
    points: Floats
    counts: Floats
    places: list[Ints]
    parents: list[Ints]
    spread: list[Floats]
    known: Ints

    def shape_counts(self, exact: ExactParts) -> Floats:
        """Return non-negative counts that add up to the numbers of rows of groups, as estimated or exact."""
        labels, _ = exact_totals(exact.alone, exact.total_of, np.zeros(0, dtype=np.int64))
        of = np.where(labels < 0, labels.max(initial=-1) + 1 + np.arange(len(labels)), labels)[self.group]
        totals = np.bincount(of, self.counts)
        return shape(self.counts, of, np.maximum(totals, 0.0)).counts

    def variances(self, cluster: Ints, lots: int, k: int) -> Floats:
        """Return the variances of the sums of boxes of each cluster, groups x clusters.

        A sum over the halves of a box is a share of the box and a rest that does not vary with it; so from
        the last round up the rests' variances add up, and the first round's boxes vary by themselves.
        """
        found = np.zeros((lots, k))
        ends = np.cumsum([0, *map(len, self.places)])
        for number in range(k):
            weight = [np.zeros(len(each)) for each in self.spread]
            rest = [np.zeros(len(each)) for each in self.spread]
            for place, own, first in zip(self.places, weight, ends, strict=False):
                own[place] = cluster[first : first + len(place)] == number
            for level in range(len(self.parents) - 1, -1, -1):
                parent, spread = self.parents[level], self.spread[level + 1]
                many = len(weight[level])
                wide = np.maximum(np.bincount(parent, spread, many), 1e-300)
                mean = np.bincount(parent, spread * weight[level + 1], many) / wide
                left = rest[level + 1] + spread * (weight[level + 1] - mean[parent]) ** 2
                rest[level] += np.bincount(parent, left, many)
                weight[level][np.unique(parent)] = mean[np.unique(parent)]
            group = np.repeat(np.arange(lots), len(weight[0]) // lots)
            exact, spread = self.known >= 0, self.spread[0]
            wide = np.maximum(np.bincount(group, spread * exact, lots), 1e-300)
            mean = np.bincount(group, spread * exact * weight[0], lots) / wide
            own = rest[0] + spread * (weight[0] - exact * mean[group]) ** 2
            found[:, number] = np.bincount(group, own, lots)
        return found


def find_leaves(adaptive: Adaptive, values: Ints) -> LeafBoxes:
    """Return the boxes that were not halved again, estimated by least squares over all rounds.

    From the last round up a box's own count and the sum of its halves are averaged by their variances; from
    the first down, what the halves differ from their box is distributed to them by theirs.
    """
    steps, exact = rounds(adaptive, values), adaptive.known.exact
    known, levels = steps[0][1], [(step, noisy) for step, noisy in steps[1:] if isinstance(step, HalvedBoxes)]
    goes = [adaptive.boxes_to_halve(number, noisy) for number, (_, noisy) in enumerate(levels)]
    parents = [
        np.repeat(each, len(levels[n + 1][1]) // max(len(each), 1)) for n, each in enumerate(goes[:-1])
    ]
    found = [noisy.astype(np.float64) for _, noisy in levels]
    spread = [np.full(len(noisy), variance(step.scale)) for step, noisy in levels]
    for number in range(len(levels) - 2, -1, -1):
        sums, wide = (
            np.bincount(parents[number], each, len(found[number]))
            for each in (found[number + 1], spread[number + 1])
        )
        own, halved = spread[number], goes[number]
        share = own[halved] / np.maximum(own[halved] + wide[halved], 1e-300)
        found[number][halved] += share * (sums - found[number])[halved]
        spread[number][halved] *= 1 - share
    total_of, totals = exact_totals(exact.alone, exact.total_of, known)
    of = total_of[levels[0][0].chosen // int(np.prod(levels[0][0].coarse[1:]))]
    found[0] = pin(found[0], of, totals, spread[0])
    for number, parent in enumerate(parents):
        sums, wide = (
            np.bincount(parent, each, len(found[number])) for each in (found[number + 1], spread[number + 1])
        )
        share = spread[number + 1] / np.maximum(wide[parent], 1e-300)
        found[number + 1] += (found[number] - sums)[parent] * share
    left = [np.setdiff1d(np.arange(len(step.chosen)), goes[n]) for n, (step, _) in enumerate(levels)]
    chosen = [step.chosen[own] for (step, _), own in zip(levels, left, strict=True)]
    group = [own // int(np.prod(step.coarse[1:])) for (step, _), own in zip(levels, chosen, strict=True)]
    points = [adaptive.points(number, own) for number, own in enumerate(chosen)]
    counts = [each[own] for each, own in zip(found, left, strict=True)]
    first = levels[0][0].chosen // int(np.prod(levels[0][0].coarse[1:]))
    alone = np.where(exact.alone[first], of, -1)
    every = np.concatenate(group), np.concatenate(points), np.concatenate(counts)
    return LeafBoxes(every[0], every[1], every[2], left, parents, spread, alone)
