"""The bins among which the most frequent are asked for, by group. Never sees rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import OwnNoise
from pandas_blowfish.plan.query_rows import columns_from
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells


@dataclass(frozen=True, eq=False)
class Candidates:
    """Bins of a tally that can hold a row; the k with most rows of each group are asked for.

    Groups whose every bin is left out by the filter have no candidates and are not listed.

    Attributes:
        tally: Counts by group, then by the columns asked for, then of columns of the filter alone.
        groups: How many columns are grouped by.
        k: How many are asked for.
    """

    tally: Tally
    groups: int
    k: int

    @cached_property
    def bins(self) -> Ints:
        """Return the number of each candidate's bin in the tally."""
        return np.flatnonzero(self.tally.occupied)

    @cached_property
    def lots(self) -> tuple[Ints, Ints]:
        """Return which groups have candidates, and for each candidate the place of its group among these."""
        found, own = np.unique(self.bins // self._per_group, return_inverse=True)
        return found, own.reshape(-1).astype(np.int64)

    @property
    def group_of(self) -> Ints:
        """Return for each candidate the number of its group, of those that have any."""
        return self.lots[1]

    @cached_property
    def sizes(self) -> Ints:
        """Return how many candidates each group has."""
        return np.bincount(self.group_of)

    @property
    def most(self) -> int:
        """Return how many candidates the largest group has."""
        return int(self.sizes.max(initial=0))

    @property
    def _per_group(self) -> int:
        return math.prod(self.tally.shape[self.groups :])

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups outermost, then ranks from 1."""
        ranks = np.arange(1, self.k + 1)
        if not self.groups:
            return pd.Index(ranks, name="rank")
        places = np.repeat(self.lots[0], self.k)
        outer = self._labels(places, slice(self.groups))
        levels: list[Any] = [*outer.values(), np.tile(ranks, len(self.lots[0]))]
        return pd.MultiIndex.from_arrays(levels, names=[*outer, "rank"])

    def values(self, picks: Ints) -> dict[str, pd.Index[Any]]:
        """Return the declared values of some candidates, by column asked for."""
        return self._labels(self.bins[picks] % self._per_group, slice(self.groups, self.tally.levels))

    def _labels(self, flat: Ints, columns: slice) -> dict[str, pd.Index[Any]]:
        """Return the labels of bins, numbered along some columns and those of one bin."""
        own = self.tally.binnings[columns]
        shape = [binning.bins for binning in own]
        codes = np.unravel_index(flat, shape) if shape else ()
        return {
            each.attribute.name: each.index.take(code.astype(np.intp))
            for each, code in zip(own, codes, strict=True)
        }


@dataclass(frozen=True, eq=False)
class CandidateRows(OwnNoise):
    """A round with a query row for each of some candidates: its count, all with noise of one scale.

    Attributes:
        candidates: All candidates.
        scale: The noise scale.
        kept: Which of them, by their place among all; None for all.
    """

    candidates: Candidates
    scale: Fraction
    kept: Ints | None = None

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return (self.candidates.tally,)

    @cached_property
    def bins(self) -> Ints:
        """Return the bin of each query row."""
        bins = self.candidates.bins
        return bins if self.kept is None else bins[self.kept]

    @cached_property
    def groups(self) -> Ints:
        """Return the group of each query row."""
        groups = self.candidates.group_of
        return groups if self.kept is None else groups[self.kept]

    @cached_property
    def scales(self) -> Scales:
        return Scales([self.scale], np.zeros(len(self.bins), dtype=np.int8))

    def apply(self, counts: Ints) -> Ints:
        return counts[self.bins]

    def columns(self, cells: Cells) -> Any:
        found = self.candidates.tally.bins_at(cells)
        place = np.searchsorted(self.bins, found)
        listed = (found >= 0) & (place < len(self.bins))
        listed[listed] = self.bins[place[listed]] == found[listed]
        return columns_from([(np.where(listed, place, -1), 1)], len(self.bins))
