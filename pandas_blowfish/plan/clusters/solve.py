"""Centres and sizes of clusters from a noisy synopsis: free post-processing, never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.clusters.adaptive import Adaptive, HalvedBoxes
from pandas_blowfish.plan.clusters.centres import cluster_points, nearest
from pandas_blowfish.plan.clusters.grid import GridCounts
from pandas_blowfish.plan.clusters.smooth import (
    map_axes,
    narrow_bins,
    shares,
    sharpen,
    smooth_counts,
    split_middles,
)
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.space import Space, each_run, points_of
from pandas_blowfish.plan.clusters.whole import PartSums, Whole
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.protocol import rounds
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.shape.simplex import exact_totals, pin, project, shape
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.plan.tables.solve import solve_counts


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
    the first down, what the halves differ from their box is dealt out to them by theirs.
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


SMALL = 1e-4  # of the fullest narrow bin: what is less is no rows


@dataclass(frozen=True, eq=False)
class Clustered(Solved):
    """Sizes of clusters, largest first in each group, with their centres and standard errors.

    Attributes:
        centres: In the columns' own units, one row a cluster.
        std: Of the sizes, if the same bins were clustered together.
    """

    centres: Floats = None  # type: ignore[assignment]
    std: Floats = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class GroupClusters:
    """One group's clusters before they are put in order, in distances."""

    centres: Floats
    sizes: Floats
    variances: Floats


def _ordered(space: Space, lots: list[GroupClusters]) -> Clustered:
    """Return the groups' clusters one after another, the largest of each group first."""
    centres, sizes, spread = [], [], []
    longest = np.array([places[-1] for places in space.places])
    for lot in lots:
        order = np.argsort(-lot.sizes, kind="stable")
        inside = np.clip(lot.centres[order], 0.0, longest)  # middles of narrow bins may lie beyond all values
        centres.append(without_dust(space.original(inside), 1e-12))
        sizes.append(without_dust(lot.sizes[order]))
        spread.append(np.sqrt(np.maximum(lot.variances[order], 0.0)))
    listed = np.concatenate(sizes)
    return Clustered(listed, listed, None, np.concatenate(centres), np.concatenate(spread))


def solve_grid(measurement: GridCounts, values: Ints, post: bool | str, given: Given | None) -> Clustered:
    """Return clusters of the bins of a grid, smoothed."""
    space, own = measurement.space, measurement.queries
    plain = solve_counts(own, values, False, given).answers
    if given is not None and given.over(own.tally):
        counts = solve_counts(own, values, True, given).answers
    else:
        counts = project(plain, own.parts.total_of, ~own.parts.alone, space.lots)
    counts = counts.reshape(space.lots, *measurement.bins)
    noise, points = variance(own.scale), measurement.points()
    axes, found = space.centres(measurement.marks), []
    open_, pinned = ((each).reshape(space.lots, -1) for each in (~own.parts.alone, own.parts.total_of >= 0))
    for lot in range(space.lots):
        dealt = smooth_counts(counts[lot], space.cells)
        parts = [a // b for a, b in zip(dealt.shape, measurement.bins, strict=True)]
        narrow = [split_middles(axis, many) for axis, many in zip(axes, parts, strict=True)]
        centres, _ = cluster_points(points_of(narrow), dealt.ravel(), space.k)
        of = nearest(points, centres)
        many = _sums(of, open_[lot], space.k)
        spread = noise * many * (1 - many / max(float(many.sum()), 1.0) * pinned[lot].any())
        sizes = _sums(of, plain.reshape(space.lots, -1)[lot], space.k)
        found.append(GroupClusters(centres, _shaped(sizes, post), spread))
    return _ordered(space, found)


def solve_soft(measurement: Soft, values: Ints, post: bool | str, given: Given | None) -> Clustered:
    """Return clusters of narrow bins that soft ones were sharpened to."""
    del given  # soft bins are none whose counts a fact could tell
    space, soft, exact = measurement.space, measurement.queries, measurement.queries.known.exact
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
    points, nodes_at = points_of(axes), measurement.points()
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
        np.divide(np.stack(inside), seen, out=part, where=seen > SMALL * seen.max())  # of each node's rows
        even = (part**2).sum(axis=1) - (total_of[lot] >= 0) * part.sum(axis=1) ** 2 / many
        least = count * (1 - (total_of[lot] >= 0) * count / many)
        sizes = part @ plain.reshape(space.lots, -1)[lot]
        found.append(GroupClusters(centres, _shaped(sizes, post), noise * np.maximum(even, least)))
    return _ordered(space, found)


def solve_adaptive(measurement: Adaptive, values: Ints, post: bool | str, given: Given | None) -> Clustered:
    """Return clusters of the boxes that were not halved again."""
    del given  # boxes may be halved across what a fact tells
    space, boxes = measurement.space, find_leaves(measurement, values)
    counts = boxes.shape_counts(measurement.known.exact)
    centres, cluster = [], np.zeros(len(counts), dtype=np.int64)
    for lot in range(space.lots):
        mine = np.flatnonzero(boxes.group == lot)
        own, cluster[mine] = cluster_points(boxes.points[mine], counts[mine], space.k)
        centres.append(own)
    number = boxes.group * space.k + cluster
    sizes = _sums(number, boxes.counts, space.lots * space.k).reshape(space.lots, -1)
    spread = boxes.variances(cluster, space.lots, space.k)
    found = [GroupClusters(c, _shaped(s, post), v) for c, s, v in zip(centres, sizes, spread, strict=True)]
    return _ordered(space, found)


def solve_whole(measurement: Whole, values: Ints, post: bool | str, given: Given | None) -> Clustered:
    """Return clusters of whole pieces: sizes are exact, pieces are moved by the noisy means of their parts.

    A noisy mean is believed as far as its error is small beside how far rows may lie from a piece's middle.
    """
    del given, post  # sizes are exact
    space, points = measurement.space, measurement.points()
    (_, counts), (step, sums) = rounds(measurement, values)
    assert isinstance(step, PartSums)
    sides = space.spans / np.array([int(marks.max()) + 1 for marks in measurement.marks])
    low, high = (np.array([places[end] for places in space.places]) for end in (0, -1))
    units = np.array([float(own.unit) for own in measurement.lattices]) * space.units
    origins = np.array(
        [float(own.origin - start) for own, start in zip(measurement.lattices, space.starts, strict=True)]
    )
    origins *= space.units
    dealt = [_dealt(measurement, own) for own in counts.reshape(space.lots, -1)]
    parts = [
        own[parent] for own, (_, _, parent) in zip(step.part.reshape(space.lots, -1), dealt, strict=True)
    ]
    every, held = (np.concatenate([each[n] for each in dealt]) for n in (0, 1))
    part: Ints = np.concatenate(parts)
    rows = np.maximum(_sums(step.part, counts, step.many), 1.0)[:, None]
    middle = np.stack([_sums(part, held * axis, step.many) for axis in every.T], axis=1) / rows
    away = origins + sums.reshape(len(units), -1).T * units / rows - middle
    prior = np.maximum(sides**2 / 48, 1e-300)
    far = _believed(away, measurement.errors / rows, prior, sides)
    left, found = (away - far) * rows, []
    for own, (places, weights, _), label in zip(counts.reshape(space.lots, -1), dealt, parts, strict=True):
        moved = np.clip(places + far[label], low, high)
        centres, of = cluster_points(moved, weights, space.k)
        share = np.zeros((space.k, step.many))
        np.add.at(share, (of, label), weights)
        many = np.maximum(share.sum(axis=1), 1.0)[:, None]
        share /= rows.ravel()
        error = np.sqrt((share**2).sum(axis=1))[:, None] * measurement.errors / many
        centres = np.clip(centres + _believed(share @ left / many, error, prior, sides), low, high)
        found.append(GroupClusters(centres, _sums(nearest(points, centres), own, space.k), np.zeros(space.k)))
    return _ordered(space, found)


def _dealt(measurement: Whole, counts: Ints) -> tuple[Floats, Floats, Ints]:
    """Return points, how many rows are at each, and their pieces: halves of these, where classes are runs."""
    own = counts.reshape([int(marks.max()) + 1 for marks in measurement.marks]).astype(np.float64)
    axes = measurement.space.centres(measurement.marks)
    number = np.arange(own.size).reshape(own.shape)
    if any((np.diff(marks) < 0).any() for marks in measurement.marks):
        return points_of(axes), own.ravel(), number.ravel()
    dealt = smooth_counts(own)
    parts = [a // b for a, b in zip(dealt.shape, own.shape, strict=True)]
    for axis, many in enumerate(parts):
        number = np.repeat(number, many, axis=axis)
    narrow = [split_middles(axis, many) for axis, many in zip(axes, parts, strict=True)]
    return points_of(narrow), dealt.ravel(), number.ravel()


def _believed(away: Floats, error: Floats, prior: Floats, sides: Floats) -> Floats:
    """Return how far to move by noisy means: as far as they are surer than that pieces are even inside."""
    return np.asarray(np.clip(away, -sides / 2, sides / 2) * (prior / (prior + error**2)))


def _shaped(sizes: Floats, post: bool | str) -> Floats:
    """Return sizes as they are, or the nearest ones that are not negative and add up to as much."""
    if not post:
        return sizes
    return shape(sizes, np.zeros(len(sizes), dtype=np.int64), np.maximum([sizes.sum()], 0.0)).counts


def _sums(of: Ints, counts: NDArray[Any], k: int) -> Floats:
    """Return the sums of counts by cluster."""
    return np.asarray(np.bincount(of, counts, k), dtype=np.float64)
