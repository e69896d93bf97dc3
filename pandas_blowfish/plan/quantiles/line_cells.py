"""The cells of each line among which quantiles are picked, and a round of such picks. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import PLACES, OwnNoise, Targets
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells


@dataclass(frozen=True, eq=False)
class LineCells:
    """The bins of a tally that can hold a row, line after line; lines that can hold none are not listed.

    Attributes:
        tally: Counts by group, then along the axis.
    """

    tally: Tally

    @cached_property
    def bins(self) -> Ints:
        """Return the number of each candidate's bin in the tally."""
        return np.flatnonzero(self.tally.occupied)

    @property
    def atoms(self) -> int:
        """Return how many bins each line of the tally has."""
        return self.tally.shape[self.tally.levels - 1]

    @property
    def many(self) -> int:
        """Return how many lines the tally has, with candidates or without."""
        return self.tally.size // self.atoms

    @cached_property
    def live(self) -> Ints:
        """Return the lines that have candidates."""
        return np.unique(self.bins // self.atoms)

    @cached_property
    def sizes(self) -> Ints:
        """Return how many candidates each of these has."""
        return np.bincount(np.searchsorted(self.live, self.bins // self.atoms), minlength=len(self.live))

    @cached_property
    def first(self) -> Ints:
        """Return the first candidate of each of these lines."""
        return np.cumsum(self.sizes) - self.sizes


@dataclass(frozen=True, eq=False)
class PlaceRows(OwnNoise):
    """A round with a query row for each cell of some runs of cells, each run a choice.

    Attributes:
        lines: All candidates.
        rows: Which of them each query row counts, choice after choice.
        weights: With which weight.
        runs: The choice of each query row.
        wanted: The shares that are wanted.
        scale: The noise scale, in parts of a row as `wanted` has.
    """

    lines: LineCells
    rows: Ints
    weights: Ints
    runs: Ints
    wanted: Targets
    scale: Fraction

    mechanism = PLACES

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return (self.lines.tally,)

    @property
    def choices(self) -> Ints:
        return self.runs

    @property
    def targets(self) -> Targets:
        return self.wanted

    @cached_property
    def scales(self) -> Scales:
        return Scales([self.scale], np.zeros(len(self.rows), dtype=np.int8))

    def apply(self, counts: Ints) -> Ints:
        return np.asarray(counts[self.lines.bins[self.rows]] * self.weights)

    @cached_property
    def _by_bin(self) -> tuple[Ints, Ints]:
        """Return the query rows in the order of their bins, and these bins."""
        order = np.argsort(self.rows, kind="stable")
        return order, self.lines.bins[self.rows[order]]

    def columns(self, cells: Cells) -> Any:
        from scipy.sparse import csc_array

        order, bins = self._by_bin
        found = self.lines.tally.bins_at(cells)
        low, high = np.searchsorted(bins, found, "left"), np.searchsorted(bins, found, "right")
        many = np.where(found >= 0, high - low, 0)
        begins = np.append(0, np.cumsum(many))
        at = order[np.arange(begins[-1]) - np.repeat(begins[:-1] - low, many)]
        return csc_array((self.weights[at], at, begins), shape=(len(order), len(cells)))
