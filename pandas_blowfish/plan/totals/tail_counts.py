"""Where a column's values could be cut off, and the noisy counts that decide it. Never sees rows.

Cells are gathered into bins whose widths double with the distance from the value nearest 0, so that few noisy
counts show how far from there rows still lie, whatever the declared bounds are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.plan.lattice import Lattice
from pandas_blowfish.plan.protocol import OwnNoise
from pandas_blowfish.plan.query_rows import columns_from, shift_rows
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.cells import Cells

MAX_BINNED = 10**7  # cells of a column that are gathered into bins
SURE, SURER = (
    30,
    3,
)  # tenths of a noise scale above which a bin holds rows: of the first, and more of each next
WIDE = 10  # cut points on one side beyond which bounds are far apart: a thousand steps
Clip = tuple[Fraction, Fraction]  # what lower and higher values count as


@dataclass(frozen=True, eq=False)
class TailCounts(OwnNoise):
    """How many rows lie in each bin of some columns, column after column.

    Attributes:
        tallies: The bins of each column.
        each_scale: The noise of each column's counts.
    """

    tallies: tuple[Tally, ...]
    each_scale: tuple[Fraction, ...]

    @cached_property
    def scales(self) -> Scales:
        sizes = [each.size for each in self.tallies]
        return Scales(self.each_scale, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))

    def apply(self, counts: Ints) -> Ints:
        return counts

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: the bin they are in, of each column."""
        entries, first = [], 0
        for each in self.tallies:
            entries.append((shift_rows(each.bins_at(cells), first), 1))
            first += each.size
        return columns_from(entries, first)

    def split_values(self, values: Ints) -> list[Ints]:
        """Return the noisy counts of each column."""
        return np.split(values, np.cumsum([each.size for each in self.tallies])[:-1])


@dataclass(frozen=True, eq=False)
class CutPoints:
    """The bounds that a column's values may be clipped to, as weights of its lattice.

    Attributes:
        lattice: The column's own weights.
        lower: Lower bounds that may be taken, the narrowest first, the declared one last.
        upper: Upper bounds that may be taken, likewise.
    """

    lattice: Lattice
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @classmethod
    def of(cls, found: Lattice, bounds: Clip, longest: int | None) -> CutPoints:
        """Return cut points of a bounded column, twice as far from the value nearest 0 each time.

        Args:
            found: The column's weights.
            bounds: The least and the greatest number that can be counted.
            longest: Where noise does not grow with the bounds beyond some distance, that distance.
        """
        low, high, zero = (_whole((each - found.origin) / found.unit) for each in (*bounds, Fraction(0)))
        start, far = min(max(zero, low), high), high - low if longest is None else longest
        first = max(_finest(found), 1)
        sides = []
        for room in (start - low, high - start):
            steps, each = [], first
            while each < min(room, far):
                steps.append(each)
                each *= 2
            sides.append([*steps, room])
        lower, upper = (start - step for step in sides[0]), (start + step for step in sides[1])
        return cls(found, tuple(lower), tuple(upper))

    @property
    def wide(self) -> bool:
        """Return whether bounds lie so far apart that most values may be far from them."""
        return max(len(self.lower), len(self.upper)) > WIDE

    @property
    def ways(self) -> list[tuple[int, int]]:
        """Return all pairs of a lower and an upper bound, by their places."""
        return [(below, above) for below in range(len(self.lower)) for above in range(len(self.upper))]

    @property
    def many(self) -> bool:
        """Return whether there is any choice."""
        return len(self.lower) * len(self.upper) > 1

    def tally(self, asked: Tally) -> Tally:
        """Return the counts of rows by these bins, of those that some groups and a filter leave in."""
        attribute = self.lattice.attribute
        if attribute.size > MAX_BINNED:
            what, fix = f"column {attribute.name!r}", "give clip=(low, high), or declare a wider step."
            raise DomainTooLargeError(what, attribute.size, MAX_BINNED, fix=fix)
        weights = self.lattice.weights()[: attribute.cells]
        labels = np.full(attribute.size, -1, dtype=np.int64)
        above = np.searchsorted(np.array(self.upper), weights, "left")
        below = np.searchsorted(-np.array(self.lower), -weights, "left")
        labels[: attribute.cells] = len(self.lower) - 1 + above - below
        others = []
        for binning, marks in zip(asked.binnings, asked.marks, strict=True):
            if binning.attribute.name != attribute.name:
                others.append(binning.join())
                continue
            labels = np.where(marks < 0, -1, labels)
        bins = len(self.lower) + len(self.upper) - 1
        labels[labels >= bins] = -1  # beyond what can be counted at all
        own = Binning(attribute, frozen(labels), pd.RangeIndex(bins))
        return Tally((own, *others), 1, asked.condition)

    def choose(self, noisy: Sequence[int], scale: Fraction, noise: Noise) -> tuple[int, int]:
        """Return which lower and upper bound should give the least error: exactly, on every machine.

        A bin counts as empty unless it surely is not: the farther it is from the first the more its rows
        would weigh, and the surer that has to be.

        Args:
            noisy: The noisy count of each bin.
            scale: The scale of their noise.
            noise: The noise of the clipped sum.
        """
        middle = len(self.lower) - 1
        sides = []
        for points, counts in ((self.lower, noisy[:middle][::-1]), (self.upper, noisy[middle + 1 :])):
            kept = [
                many if 10 * many > scale * (SURE + SURER * rank) else 0
                for rank, many in enumerate(counts, 1)
            ]
            sides.append([_lost(points, kept, place) for place in range(len(points))])
        return min(
            self.ways,
            key=lambda at: (
                (sides[0][at[0]] + sides[1][at[1]]) ** 2 + 4 * noise.variance(self._values(*at)),
                at,
            ),
        )

    def clip_at(self, below: int, above: int) -> Clip:
        """Return two bounds in the column's own units; of the widest ones those of all its values."""
        low, high = self._values(below, above)
        ends = self.lattice.ends
        assert ends is not None
        least, greatest = (self.lattice.origin + self.lattice.unit * each for each in ends)
        return (
            least if below == len(self.lower) - 1 else low,
            greatest if above == len(self.upper) - 1 else high,
        )

    def _values(self, below: int, above: int) -> Clip:
        """Return what two cut points stand for."""
        ends = self.lower[below], self.upper[above]
        low, high = (self.lattice.origin + self.lattice.unit * each for each in ends)
        return low, high

    def count_outside(self, noisy: Sequence[int], below: int, above: int) -> tuple[int, int]:
        """Return the noisy count of rows beyond two bounds, and of how many bins that is."""
        middle = len(self.lower) - 1
        parts = [*noisy[: middle - below], *noisy[middle + above + 1 :]]
        return sum(parts), len(parts)


@dataclass(frozen=True)
class Noise:
    """The noise of a clipped sum, in steps of a column's lattice, as it follows from the bounds.

    Attributes:
        kind: "width" where it grows with how far the bounds lie apart, "reach" with the larger one.
        times: How much a row changes the sum, in these.
        longest: What it changes it by at most, whatever the bounds are.
        rate: The scale of the noise over that change.
        unit: What a weight of 1 is worth.
        groups: How many groups have such a sum.
    """

    kind: str
    times: Fraction
    longest: Fraction
    rate: Fraction
    unit: Fraction
    groups: int

    def variance(self, clip: Clip) -> Fraction:
        """Return the squared error that noise adds to all groups' sums, if bias is shared by all evenly."""
        far = clip[1] - clip[0] if self.kind == "width" else max(abs(clip[0]), abs(clip[1]))
        changed = min(self.times * far / self.unit, self.longest)
        return 2 * (self.rate * changed * self.groups) ** 2


def _lost(points: Sequence[int], counts: Sequence[int], place: int) -> int:
    """Return twice what the rows beyond a cut point weigh more than it, each in the middle of its bin."""
    ends = zip(points[place:], points[place + 1 :], counts[place:], strict=False)
    return sum(many * abs(near + far - 2 * points[place]) for near, far, many in ends if many)


def _finest(found: Lattice) -> int:
    """Return the least distance of two weights."""
    if found.table is None:
        return abs(found.each)
    return int(np.diff(np.unique(found.table)).min(initial=2**62)) if len(found.table) > 1 else 1


def _whole(number: Fraction) -> int:
    return (number + Fraction(1, 2)).__floor__()
