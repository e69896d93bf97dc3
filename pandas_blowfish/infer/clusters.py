"""Centres and sizes of clusters from a noisy synopsis: free post-processing, never sees rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.counts import solve_counts
from pandas_blowfish.infer.halved import leaves
from pandas_blowfish.infer.project import exact_totals, pinned, projected
from pandas_blowfish.infer.sharpen import narrow_bins, shares, sharpened, through
from pandas_blowfish.infer.simplex import shape
from pandas_blowfish.infer.solved import Solved, without_dust
from pandas_blowfish.plan.clusters import clustered, nearest
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.law import variance
from pandas_blowfish.plan.smooth import narrowed, smoothed
from pandas_blowfish.plan.space import Space, each_run, points_of
from pandas_blowfish.plan.stages import rounds
from pandas_blowfish.plan.strategy.adaptive import Adaptive
from pandas_blowfish.plan.strategy.counted import Counted
from pandas_blowfish.plan.strategy.grid import Grid
from pandas_blowfish.plan.strategy.soft import Soft
from pandas_blowfish.plan.strategy.whole import PartSums, Whole
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
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
class Lot:
    """One group's clusters before they are put in order, in distances."""

    centres: Floats
    sizes: Floats
    variances: Floats


def solve_clusters(measurement: Any, values: Ints, post: bool | str, given: Given | None) -> Clustered:
    """Return the clusters of every group."""
    if isinstance(measurement, Counted):
        first = len(measurement.count.scales)
        then = measurement.chosen(values[:first])
        return solve_clusters(then, values[first:], post, given)
    return _ordered(measurement.space, _WAYS[type(measurement)](measurement, values, bool(post), given))


def _ordered(space: Space, lots: list[Lot]) -> Clustered:
    """Return the groups' clusters one after another, the largest of each group first."""
    centres, sizes, spread = [], [], []
    longest = np.array([places[-1] for places in space.places])
    for lot in lots:
        order = np.argsort(-lot.sizes, kind="stable")
        inside = np.clip(lot.centres[order], 0.0, longest)  # middles of narrow bins may lie beyond all values
        centres.append(without_dust(space.original(inside), 1e-12))
        sizes.append(without_dust(lot.sizes[order]))
        spread.append(np.sqrt(np.maximum(lot.variances[order], 0.0)))
    return Clustered(np.concatenate(sizes), (0.0, 0.0), None, np.concatenate(centres), np.concatenate(spread))


def _grid(measurement: Grid, values: Ints, post: bool, given: Given | None) -> list[Lot]:
    space, own = measurement.space, measurement.counts
    plain = solve_counts(own, values, False, given).answers
    if given is not None and given.over(own.tally):
        counts = solve_counts(own, values, True, given).answers
    else:
        counts = projected(plain, own.parts.total_of, ~own.parts.alone, space.lots)
    counts = counts.reshape(space.lots, *measurement.bins)
    noise, points = variance(own.scale), measurement.points()
    axes, found = space.centres(measurement.marks), []
    open_, pinned = ((each).reshape(space.lots, -1) for each in (~own.parts.alone, own.parts.total_of >= 0))
    for lot in range(space.lots):
        dealt = smoothed(counts[lot], space.cells)
        parts = [a // b for a, b in zip(dealt.shape, measurement.bins, strict=True)]
        narrow = [narrowed(axis, many) for axis, many in zip(axes, parts, strict=True)]
        centres, _ = clustered(points_of(narrow), dealt.ravel(), space.k)
        of = nearest(points, centres)
        many = _sums(of, open_[lot], space.k)
        spread = noise * many * (1 - many / max(float(many.sum()), 1.0) * pinned[lot].any())
        sizes = _sums(of, plain.reshape(space.lots, -1)[lot], space.k)
        found.append(Lot(centres, _shaped(sizes, post), spread))
    return found


def _soft(measurement: Soft, values: Ints, post: bool, given: Given | None) -> list[Lot]:
    del given  # soft bins are none whose counts a fact could tell
    space, nodes = measurement.space, measurement.nodes
    many = int(np.prod(nodes))
    noisy = values[: many * space.lots] / measurement.total
    total_of, totals = exact_totals(measurement.exact.alone, measurement.exact.total_of, values[len(noisy) :])
    plain = pinned(noisy, np.repeat(total_of, many), totals)
    occupied = np.repeat(~measurement.empty, many)
    counts = projected(plain, np.repeat(total_of, many), occupied, space.lots).reshape(space.lots, *nodes)
    bins = narrow_bins(nodes, space.cells)
    runs = [each_run(cells, own) for cells, own in zip(space.cells, bins, strict=True)]
    axes = space.centres(runs)
    maps = [
        shares(axis, float(places[0]), float(places[-1]), own)
        for axis, places, own in zip(axes, space.places, nodes, strict=True)
    ]
    points, nodes_at = points_of(axes), measurement.points()
    noise = variance(measurement.scale) / measurement.total**2
    found = []
    for lot in range(space.lots):
        narrow = sharpened(counts[lot], maps)
        kept = np.where(narrow > SMALL * narrow.max(), narrow, 0.0).ravel()
        centres, of = clustered(points, kept, space.k)
        near = nearest(nodes_at, centres)
        part = (near == np.arange(space.k)[:, None]).astype(np.float64)
        count = part.sum(axis=1)
        seen = through(narrow, maps).ravel()
        inside = [
            through(np.where((of == j).reshape(bins), narrow, 0.0), maps).ravel() for j in range(space.k)
        ]
        np.divide(np.stack(inside), seen, out=part, where=seen > SMALL * seen.max())  # of each node's rows
        even = (part**2).sum(axis=1) - (total_of[lot] >= 0) * part.sum(axis=1) ** 2 / many
        least = count * (1 - (total_of[lot] >= 0) * count / many)
        sizes = part @ plain.reshape(space.lots, -1)[lot]
        found.append(Lot(centres, _shaped(sizes, post), noise * np.maximum(even, least)))
    return found


def _adaptive(measurement: Adaptive, values: Ints, post: bool, given: Given | None) -> list[Lot]:
    del given  # boxes may be halved across what a fact tells
    space, boxes = measurement.space, leaves(measurement, values)
    counts = boxes.shaped(measurement.exact)
    centres, cluster = [], np.zeros(len(counts), dtype=np.int64)
    for lot in range(space.lots):
        mine = np.flatnonzero(boxes.group == lot)
        own, cluster[mine] = clustered(boxes.points[mine], counts[mine], space.k)
        centres.append(own)
    number = boxes.group * space.k + cluster
    sizes = _sums(number, boxes.counts, space.lots * space.k).reshape(space.lots, -1)
    spread = boxes.variances(cluster, space.lots, space.k)
    return [Lot(c, _shaped(s, post), v) for c, s, v in zip(centres, sizes, spread, strict=True)]


def _whole(measurement: Whole, values: Ints, post: bool, given: Given | None) -> list[Lot]:
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
        centres, of = clustered(moved, weights, space.k)
        share = np.zeros((space.k, step.many))
        np.add.at(share, (of, label), weights)
        many = np.maximum(share.sum(axis=1), 1.0)[:, None]
        share /= rows.ravel()
        error = np.sqrt((share**2).sum(axis=1))[:, None] * measurement.errors / many
        centres = np.clip(centres + _believed(share @ left / many, error, prior, sides), low, high)
        found.append(Lot(centres, _sums(nearest(points, centres), own, space.k), np.zeros(space.k)))
    return found


def _dealt(measurement: Whole, counts: Ints) -> tuple[Floats, Floats, Ints]:
    """Return points, how many rows are at each, and their pieces: halves of these, where classes are runs."""
    own = counts.reshape([int(marks.max()) + 1 for marks in measurement.marks]).astype(np.float64)
    axes = measurement.space.centres(measurement.marks)
    number = np.arange(own.size).reshape(own.shape)
    if any((np.diff(marks) < 0).any() for marks in measurement.marks):
        return points_of(axes), own.ravel(), number.ravel()
    dealt = smoothed(own)
    parts = [a // b for a, b in zip(dealt.shape, own.shape, strict=True)]
    for axis, many in enumerate(parts):
        number = np.repeat(number, many, axis=axis)
    narrow = [narrowed(axis, many) for axis, many in zip(axes, parts, strict=True)]
    return points_of(narrow), dealt.ravel(), number.ravel()


def _believed(away: Floats, error: Floats, prior: Floats, sides: Floats) -> Floats:
    """Return how far to move by noisy means: as far as they are surer than that pieces are even inside."""
    return np.asarray(np.clip(away, -sides / 2, sides / 2) * (prior / (prior + error**2)))


def _shaped(sizes: Floats, post: bool) -> Floats:
    """Return sizes as they are, or the nearest ones that are not negative and add up to as much."""
    if not post:
        return sizes
    return shape(sizes, np.zeros(len(sizes), dtype=np.int64), np.maximum([sizes.sum()], 0.0)).counts


def _sums(of: Ints, counts: NDArray[Any], k: int) -> Floats:
    """Return the sums of counts by cluster."""
    return np.asarray(np.bincount(of, counts, k), dtype=np.float64)


_WAYS: dict[type, Callable[[Any, Ints, bool, Given | None], list[Lot]]] = {
    Grid: _grid,
    Soft: _soft,
    Adaptive: _adaptive,
    Whole: _whole,
}
