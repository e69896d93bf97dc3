"""How many weighted edges of a forest a range of atoms cuts. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Crossing:
    """Edges between atoms, each with the variance that a range pays when just one end is inside.

    Attributes:
        one: One end of each edge.
        two: The other.
        weight: Its variance.
        size: How many atoms there are.
    """

    one: Ints
    two: Ints
    weight: Floats
    size: int

    def variances(self, starts: Ints, stops: Ints) -> Floats:
        """Return the sum of weights of edges with one end in start..stop-1, range by range."""
        ends = np.zeros(self.size + 1)
        for end in (self.one, self.two):
            ends[1:] += np.bincount(end, self.weight, self.size)
        ends = np.cumsum(ends)
        return np.asarray(ends[stops] - ends[starts] - 2 * self._inside(starts, stops))

    def all_ranges(self) -> float:
        """Return the sum over every range.

        Of ranges on 0..k-1, (i + 1)(k - i) hold atom i and (i + 1)(k - j) hold both i < j.
        """
        low, high, k = np.minimum(self.one, self.two), np.maximum(self.one, self.two), self.size
        cut = (low + 1.0) * (k - low) + (high + 1.0) * (k - high) - 2 * (low + 1.0) * (k - high)
        return float((self.weight * cut).sum())

    def _inside(self, starts: Ints, stops: Ints) -> Floats:
        """Return the sum of weights of edges with both ends in each range.

        Edges are sorted by their low end; those from some place on are cut into runs of 1, 2, 4, ...
        edges, and within each run sorted by their high end, so that one search a size counts them.
        """
        low, high = np.minimum(self.one, self.two), np.maximum(self.one, self.two)
        order = np.argsort(low, kind="stable")
        padded = 1 << max(len(low) - 1, 0).bit_length()
        place = np.searchsorted(low[order], starts)
        weight, ends = np.zeros(padded), np.full(padded, self.size)  # the padding is in no range
        weight[: len(low)], ends[: len(low)] = self.weight[order], high[order]
        found, width = np.zeros(len(starts)), 1
        while width <= padded:
            taken = np.flatnonzero((place & width) > 0 if width < padded else place == 0)
            keys = np.arange(padded) // width * (self.size + 1) + ends
            by_key = np.argsort(keys, kind="stable")
            sums, keys = np.append(0.0, np.cumsum(weight[by_key])), keys[by_key]
            run = place[taken] // width * (self.size + 1)
            found[taken] += sums[np.searchsorted(keys, run + stops[taken])] - sums[np.searchsorted(keys, run)]
            place[taken] += width
            width *= 2
        return found
