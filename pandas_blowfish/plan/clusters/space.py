"""The space that rows are clustered in: columns, their units, groups and a filter. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.lattice import representative
from pandas_blowfish.plan.linear.line_sums import number_answers
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.attribute import Attribute, Values
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Space:
    """Columns whose rows are clustered, group by group.

    Attributes:
        whole: One bin per column: groups outermost, then the columns, then those of the filter alone.
        attributes: The columns, by rising value.
        groups: How many columns answers are grouped by.
        k: How many clusters each group is asked for.
        units: What one unit of each column counts in distances.
    """

    whole: Tally
    attributes: tuple[Attribute, ...]
    groups: int
    k: int
    units: tuple[float, ...]

    @property
    def domain(self) -> Domain:
        """Return the columns that are looked at, and their cells."""
        return self.whole.domain

    @property
    def lots(self) -> int:
        """Return the number of groups."""
        return math.prod(self.whole.shape[: self.groups])

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups outermost, then the number of the cluster."""
        return number_answers(self.whole.binnings[: self.groups], self.k, "cluster")

    @cached_property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Return for each column the first and the last cell that the filter leaves rows in."""
        found = []
        for axis, attribute in enumerate(self.attributes, self.groups):
            cells = np.flatnonzero(self.whole.find_passing(axis)[: attribute.cells])
            found.append((int(cells[0]), int(cells[-1])) if len(cells) else (0, 0))
        return tuple(found)

    @property
    def cells(self) -> tuple[int, ...]:
        """Return how many cells of each column lie between these."""
        return tuple(last - first + 1 for first, last in self.ends)

    @cached_property
    def spans(self) -> Floats:
        """Return how long each column is between these, in distances, whole cells at both ends."""
        ends = [float(each[-1] - each[0]) for each in self.places]
        return np.array(
            [far * len(each) / max(len(each) - 1, 1) for far, each in zip(ends, self.places, strict=True)]
        )

    @property
    def starts(self) -> tuple[Fraction, ...]:
        """Return where each column begins, in its own units: distances are counted from there."""
        return tuple(
            representative(attribute, first)
            for attribute, (first, _) in zip(self.attributes, self.ends, strict=True)
        )

    @cached_property
    def places(self) -> tuple[Floats, ...]:
        """Return where the cells of each column lie, in distances from the first."""
        found = []
        for attribute, (first, last), unit in zip(self.attributes, self.ends, self.units, strict=True):
            start = representative(attribute, first)
            if isinstance(attribute, Values):
                each = [float(representative(attribute, cell) - start) for cell in range(first, last + 1)]
                found.append(np.array(each) * unit)
                continue
            near, high = (
                float(representative(attribute, cell) - start) for cell in (min(first + 1, last), last)
            )
            along = near * np.arange(last - first + 1)
            along[-1] = high
            found.append(np.asarray(unit * along))
        return tuple(found)

    def cut(self, bins: Sequence[int]) -> Tally:
        """Return counts of a grid: each column's cells cut into so many runs of equal length."""
        return self.tally_bins([each_run(cells, many) for cells, many in zip(self.cells, bins, strict=True)])

    def tally_bins(self, labels: Sequence[Ints]) -> Tally:
        """Return counts of bins: for each column those of its cells from the first to the last that pass."""
        own = []
        for attribute, (first, last), marks in zip(self.attributes, self.ends, labels, strict=True):
            every = np.full(attribute.size, -1, dtype=np.int64)  # missing values are in no bin
            every[first : last + 1] = marks
            own.append(Binning(attribute, frozen(every), pd.RangeIndex(int(marks.max()) + 1)))
        rest = self.whole.binnings[self.groups + len(own) :]
        return Tally(
            (*self.whole.binnings[: self.groups], *own, *rest), self.groups + len(own), self.whole.condition
        )

    def centres(self, labels: Sequence[Ints]) -> tuple[Floats, ...]:
        """Return the middle of each bin of each column, in distances."""
        return tuple(
            np.bincount(marks, places) / np.bincount(marks)
            for marks, places in zip(labels, self.places, strict=True)
        )

    def original(self, points: Floats) -> Floats:
        """Return points given in distances in the columns' own units."""
        return np.asarray(points / np.array(self.units) + np.array([float(each) for each in self.starts]))


def each_run(cells: int, many: int) -> Ints:
    """Return the run of each cell, if they are cut into so many of equal length, nearly.

    Examples:
        >>> each_run(5, 2).tolist()
        [0, 0, 1, 1, 1]
    """
    starts = np.array([cells * number // many for number in range(many)])
    return np.searchsorted(starts, np.arange(cells), side="right") - 1


def points_of(axes: Sequence[Floats]) -> Floats:
    """Return the points of a grid in C order, from the places along each axis."""
    return np.column_stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")])


def find_pieces(policy: Policy, space: Space) -> list[Ints]:
    """Return for each column the class of each cell that the filter passes: edges stay in theirs."""
    found = []
    for attribute, (first, last) in zip(space.attributes, space.ends, strict=True):
        graph = policy.graph.project([attribute.name]).blocks[0].graph
        classes = graph.components[first : last + 1]
        _, start, number = np.unique(classes, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(start, kind="stable"), kind="stable")
        found.append(rank[number.reshape(-1)])
    return found
