"""Prefix sums along the blocks of a nest, estimated together: a tridiagonal system. Never sees rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.nest import Nest
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]


class Chain:
    """The ends of blocks of all segments, and how their best estimates vary together.

    Each segment with K blocks has K + 1 places: its start, which is 0, the ends of its blocks, and the
    last of these is its total. An end is measured as a prefix (or total) with some variance, and two
    neighbouring ones differ by a block's total, which the levels below estimate with another.

    Args:
        nest: The runs.
        prefix: The variance of a measured prefix; of a measured total where the nest has no prefixes.
        block: The variance of each block's total as its own levels estimate it; infinite for none.
    """

    def __init__(self, nest: Nest, prefix: float, block: Floats) -> None:
        self.nest, self.block = nest, block
        blocks = nest.blocks
        self.fixed = not nest.line.open  # the last place of a segment is exact
        known = np.ones(blocks.size, dtype=bool)
        if self.fixed:
            known[blocks.first[1:] - 1] = False
        self.unknown: Ints = np.flatnonzero(known)
        self.prefix = prefix
        weight = 1 / block
        follows = np.append(weight[1:], 0.0) * (blocks.parent == np.append(blocks.parent[1:], -1))
        self.diagonal: Floats = (1 / prefix + weight + follows)[self.unknown]
        gap = np.diff(self.unknown) == 1
        same = blocks.parent[self.unknown[1:]] == blocks.parent[self.unknown[:-1]]
        self.off: Floats = np.where(gap & same, -weight[self.unknown[1:]], 0.0)

    @cached_property
    def _pivots(self) -> Floats:
        return _pivots(self.diagonal, self.off)

    @cached_property
    def variance(self) -> Floats:
        """Return the variance of the estimate at each place (place of block b's end: b + segment + 1)."""
        back = _pivots(self.diagonal[::-1], self.off[::-1])[::-1]
        spread = np.zeros(self.nest.blocks.size + self.nest.segments.size)
        spread[self.places(self.unknown)] = 1 / (self._pivots + back - self.diagonal)
        return spread

    @cached_property
    def _falls(self) -> Floats:
        """Return the running sum of logs by which a covariance falls from one place to the next."""
        ratio = np.full(self.nest.blocks.size + self.nest.segments.size, 1e-300)
        ratio[self.places(self.unknown[:-1])] = np.maximum(-self.off / self._pivots[:-1], 1e-300)
        return np.append(0.0, np.cumsum(np.log(ratio))[:-1])

    def places(self, blocks: Ints) -> Ints:
        """Return the place of the end of each block."""
        return blocks + self.nest.blocks.parent[blocks] + 1

    @cached_property
    def last(self) -> Ints:
        """Return the place of the end of each segment."""
        return self.places(self.nest.blocks.first[1:] - 1)

    def covariance(self, low: Ints, high: Ints) -> Floats:
        """Return the covariance of the estimates at two places of a segment, low <= high."""
        fall = np.minimum(self._falls[high] - self._falls[low], 0.0)
        return np.asarray(self.variance[high] * np.exp(fall))

    @cached_property
    def share(self) -> Floats:
        """Return by how much each place follows when its segment's total is corrected by one."""
        segment = np.repeat(np.arange(self.nest.segments.size), np.diff(self.nest.blocks.first) + 1)
        share = np.exp(np.minimum(self._falls[self.last[segment]] - self._falls, 0.0))
        share[self.last - np.diff(self.nest.blocks.first)] = 0.0
        return np.asarray(share)

    def solve(self, right: Floats) -> Floats:
        """Return the solution of the normal equations, one column a right-hand side."""
        from scipy.linalg import solveh_banded

        if not len(self.unknown):
            return right
        if not self.off.any():
            return np.asarray(right / self.diagonal[:, None])
        bands = np.vstack([np.append(0.0, self.off), self.diagonal])
        return np.asarray(solveh_banded(bands, right))

    def ends(self, measured: Floats, blocks: Floats, totals: Floats) -> Floats:
        """Return the best estimate at every place: lines x places.

        Args:
            measured: The noisy prefixes (or totals) of the unknown places, lines x unknown.
            blocks: The block totals as their levels estimate them, lines x blocks.
            totals: The exact totals of segments, where all are exact; lines x segments.
        """
        nest, unknown = self.nest, self.unknown
        found = np.zeros((len(blocks), nest.blocks.size + nest.segments.size))
        if self.fixed:
            found[:, self.last] = totals
        if not np.isfinite(self.block).any():  # nothing but the prefixes themselves: whole numbers stay whole
            found[:, self.places(unknown)] = measured
            return found
        weight = 1 / self.block
        pull = np.where(weight > 0, blocks, 0.0) * weight
        after = np.zeros_like(pull)
        inner = np.flatnonzero(nest.blocks.parent[1:] == nest.blocks.parent[:-1])
        after[:, inner] = pull[:, inner + 1]
        right = measured / self.prefix + (pull - after)[:, unknown]
        if self.fixed:
            before = nest.blocks.first[1:] - 2  # the last unknown place pulls towards the exact total
            some = np.diff(nest.blocks.first) > 1
            at = np.searchsorted(unknown, before[some])
            right[:, at] += totals[:, some] * weight[before[some] + 1]
        found[:, self.places(unknown)] = self.solve(right.T).T
        return found


def _pivots(diagonal: Floats, off: Floats) -> Floats:
    """Return the pivots of a symmetric positive tridiagonal matrix."""
    from scipy.linalg.lapack import dpttrf

    if not off.any():
        return diagonal
    return np.asarray(dpttrf(diagonal, off)[0])
