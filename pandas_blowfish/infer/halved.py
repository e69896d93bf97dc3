"""Counts of boxes from those of several rounds: each round, and what it was halved into, agree.

Never sees rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.project import exact_totals, pinned
from pandas_blowfish.infer.simplex import shape
from pandas_blowfish.plan.law import variance
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.stages import rounds
from pandas_blowfish.plan.strategy.adaptive import Adaptive, Boxes
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Leaves:
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

    def shaped(self, exact: ExactParts) -> Floats:
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


def leaves(adaptive: Adaptive, values: Ints) -> Leaves:
    """Return the boxes that were not halved again, estimated by least squares over all rounds.

    From the last round up a box's own count and the sum of its halves are averaged by their variances; from
    the first down, what the halves differ from their box is dealt out to them by theirs.
    """
    steps = rounds(adaptive, values)
    known, levels = steps[0][1], [(step, noisy) for step, noisy in steps[1:] if isinstance(step, Boxes)]
    goes = [adaptive.going_on(number, noisy) for number, (_, noisy) in enumerate(levels)]
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
    total_of, totals = exact_totals(adaptive.exact.alone, adaptive.exact.total_of, known)
    of = total_of[levels[0][0].chosen // int(np.prod(levels[0][0].coarse[1:]))]
    found[0] = pinned(found[0], of, totals, spread[0])
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
    alone = np.where(adaptive.exact.alone[first], of, -1)
    every = np.concatenate(group), np.concatenate(points), np.concatenate(counts)
    return Leaves(every[0], every[1], every[2], left, parents, spread, alone)
