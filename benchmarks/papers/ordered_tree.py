"""The ordered hierarchical mechanism of He et al. (2014), section 7.2: nodes, budgets and how much it loses.

Two budgets: as printed, which is unsound, and a sound one with the best split. It adds its noise to true
answers in floats: good enough to measure errors, never to release anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

FAN_OUT = 16  # as in the paper's experiments


@dataclass(frozen=True)
class OrderedTree:
    """S nodes count all cells up to each multiple of theta, H nodes are trees inside each such block.

    Nodes are numbered S first (`blocks` of them, the last counts everything), then H level by level below the
    blocks' roots, which are not measured. Scales are in units of 1 / epsilon, one a node.
    """

    cells: int
    theta: int
    fan_out: int = FAN_OUT

    @property
    def blocks(self) -> int:
        """How many S nodes there are."""
        return -(-self.cells // self.theta)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many cells a node of each level has, the blocks first, single cells last."""
        found = [self.theta]
        while found[-1] > 1:
            found.append(-(-found[-1] // self.fan_out))
        return tuple(found)

    @property
    def height(self) -> int:
        """How many levels of H nodes there are: h."""
        return len(self.widths) - 1

    @cached_property
    def owners(self) -> np.ndarray:
        """The H node of each level that holds each cell, levels x cells."""
        place = np.arange(self.cells)
        offset, first, found = place % self.theta, self.blocks, []
        for width in self.widths[1:]:
            offset = offset % width
            starts, owner = np.unique(place - offset, return_inverse=True)
            found.append(first + owner)
            first += len(starts)
        return np.array(found, dtype=np.int64).reshape(self.height, self.cells)

    @property
    def nodes(self) -> int:
        """How many nodes are measured."""
        return int(self.owners.max(initial=self.blocks - 1)) + 1

    @cached_property
    def prefixes(self) -> csr_array:
        """How the count of the first 0, 1, ..., all cells is put together, (cells + 1) x nodes."""
        ends = np.arange(self.cells)
        rows = [np.arange(self.theta, self.cells), [self.cells]]
        columns = [rows[0] // self.theta - 1, [self.blocks - 1]]
        offset = ends % self.theta
        for level, width in enumerate(self.widths[1:]):
            before, first = offset // width, self.owners[level, ends - offset]  # earlier nodes in its parent
            rows.append(np.repeat(ends, before))
            steps = np.arange(before.sum()) - np.repeat(np.cumsum(before) - before, before)
            columns.append(np.repeat(first, before) + steps)
            offset = offset % width
        row, column = np.concatenate(rows).astype(int), np.concatenate(columns).astype(int)
        return csr_array((np.ones(len(row)), (row, column)), shape=(self.cells + 1, self.nodes))

    def matrix(self) -> np.ndarray:
        """Return what is measured, nodes x cells; for tests, on few cells."""
        place = np.arange(self.cells)
        found = np.zeros((self.nodes, self.cells))
        for block in range(self.blocks):
            found[block, : (block + 1) * self.theta] = 1
        for level in self.owners:
            found[level, place] = 1
        return found

    def printed(self) -> np.ndarray:
        """Return the scales of section 7.2 with the split of equation (15): unsound unless theta is full.

        Inside the first block, its root s_1 included, the scale is 2h / epsilon, elsewhere 1 / epsilon_S and
        2h / epsilon_H. The loss is then up to 1.48 epsilon; for theta = 1 h is 0 and s_1 gets no noise.
        """
        first, second = self.printed_constants()
        share = first ** (1 / 3) / (first ** (1 / 3) + second ** (1 / 3))
        scales = self._scales(share)
        scales[: self.blocks] = 1 / share if share else math.inf
        scales[0] = 2 * self.height
        scales[np.unique(self.owners[:, : self.theta])] = 2 * self.height
        return scales

    def printed_constants(self) -> tuple[float, float]:
        """Return c_1 and c_2 of equation (14)."""
        levels = math.log(self.theta, self.fan_out)
        over = self.cells + 1
        first = 4 * (self.cells - self.theta) / over
        return first, 8 * (self.fan_out - 1) * levels**3 * self.cells / over

    def printed_error(self) -> float:
        """Return what equation (15) says the error of a range is at epsilon 1."""
        return sum(constant ** (1 / 3) for constant in self.printed_constants()) ** 3

    def sound(self, ranges: np.ndarray) -> np.ndarray:
        """Return scales that keep the promise, with the split that is best for some ranges (first, last)."""
        signs = self.range_map(ranges).power(2).sum(axis=0)
        ordered = signs[: self.blocks - 1].sum()
        inside = signs[self.blocks :].sum() * (2 * self.height) ** 2
        share = 1.0 if not inside else float(np.cbrt(ordered) / (np.cbrt(ordered) + np.cbrt(inside)))
        scales = self._scales(share)
        return scales * self.loss(scales)

    def _scales(self, share: float) -> np.ndarray:
        """Return scales that spend a share on S nodes, the rest equally on levels; the total is known."""
        scales = np.full(self.nodes, 2 * self.height / (1 - share) if self.height else math.inf)
        scales[: self.blocks] = 1 / share if share else math.inf
        scales[self.blocks - 1] = 0
        return scales

    def range_map(self, ranges: np.ndarray) -> csr_array:
        """Return how ranges (first and last cell) are put together, ranges x nodes."""
        return self.prefixes[ranges[:, 1] + 1] - self.prefixes[ranges[:, 0]]

    def expected(self, ranges: np.ndarray, scales: np.ndarray) -> float:
        """Return the mean squared error of ranges at epsilon 1, without any fit."""
        signs = self.range_map(ranges).power(2).sum(axis=0) / len(ranges)
        used = signs > 0
        return float(2 * (signs[used] * scales[used] ** 2).sum())

    def loss(self, scales: np.ndarray) -> float:
        """Return the exact privacy loss at epsilon 1: the largest over all pairs of cells within theta."""
        with np.errstate(divide="ignore"):
            rates = 1 / scales
        place = np.arange(self.cells)
        steps = np.append(0, np.cumsum(rates[: self.blocks - 1]))[place // self.theta]
        if not np.isfinite(steps).all():
            return math.inf
        rate, worst = rates[self.owners], 0.0
        for apart in range(1, min(self.theta, self.cells - 1) + 1):
            found = steps[apart:] - steps[:-apart]
            for owner, each in zip(self.owners, rate, strict=True):
                found = found + (owner[apart:] != owner[:-apart]) * (each[apart:] + each[:-apart])
            worst = max(worst, float(found.max()))
        return worst

    def errors(
        self,
        counts: np.ndarray,
        ranges: np.ndarray,
        scales: np.ndarray,
        epsilon: float,
        draw: np.random.Generator,
    ) -> tuple[float, float]:
        """Return the mean squared error of ranges from fresh noise: summed up, and after a monotone fit."""
        finite = np.where(np.isfinite(scales), scales, 0)  # nodes without a budget are not used
        noise = self.prefixes @ (draw.laplace(0, 1, self.nodes) * finite / epsilon)
        truth = np.append(0, np.cumsum(counts))
        total = truth[-1]
        spread = self.prefixes.power(2) @ finite**2
        inner = slice(1, self.cells)
        fitted = np.append(0, truth[1:].astype(float))
        weights = 1 / np.maximum(spread[inner], 1e-12)
        fitted[inner] = isotonic_regression((truth + noise)[inner], weights=weights).x.clip(0, total)
        found = []
        for wrong in (noise, fitted - truth):
            found.append(float(np.mean((wrong[ranges[:, 1] + 1] - wrong[ranges[:, 0]]) ** 2)))
        return found[0], found[1]
