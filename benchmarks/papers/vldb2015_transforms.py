"""The transforms of Haney et al. (VLDB 2015): a tree on a line, wavelets on a grid's edges; sees counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from boxes import haar
from numpy.typing import NDArray

from pandas_blowfish.kernel.noise import discrete_laplace

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spanner:
    """The paper's tree on a line: red cells a theta apart in a path, each other cell joined to the next red.

    With theta 1 it is the line itself and its edges hold prefix sums. Theta must divide the number of cells
    (else the tree as printed is in two pieces).
    """

    cells: int
    theta: int

    @cached_property
    def stretch(self) -> int:
        """Return by how much a move along an edge of the policy changes the edges' sums in L1, enumerated."""
        few = Spanner(min(self.cells, 6 * self.theta), self.theta)
        sums = [few.sums(row) for row in np.eye(few.cells, dtype=np.int64)]
        pairs = [(a, b) for a in range(few.cells) for b in range(a + 1, min(a + self.theta + 1, few.cells))]
        return max(int(np.abs(sums[a] - sums[b]).sum()) for a, b in pairs)

    def sums(self, counts: Ints) -> Ints:
        """Return what hangs on each edge, edges in the order of their left ends."""
        blocks = counts.reshape(-1, self.theta).copy()
        blocks[:, -1] = blocks.sum(axis=1).cumsum()  # up to and with the red cell
        return blocks.ravel()[:-1]  # the last would be the row count

    def prefixes(self, edges: Floats, rows: int) -> Floats:
        """Return the cumulative counts 0, ..., rows that sums on the edges stand for."""
        blocks = np.append(edges, rows).reshape(-1, self.theta)
        before = np.append(0.0, blocks[:-1, -1])
        inner = np.cumsum(blocks[:, :-1], axis=1) + before[:, None]
        return np.append(0.0, np.column_stack([inner, blocks[:, -1]]).ravel())


class EdgePrivelet:
    """Ranges of edges by Haar wavelets, line by line: the paper's way through a grid under threshold 1.

    Only counts with noise are released, never noisy edges: moving a row across an edge is the same as moving
    one entry of that edge's line by one, which is what the wavelets' noise is made for.
    """

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self.cells, size = cells, 1 << (cells - 1).bit_length()
        self.basis, self.weights = haar(size)
        self.scale = (1 + np.log2(size)) / float(epsilon) / self.weights

    def expected(self, boxes: Ints) -> float:
        """Return the expected squared error of a box: of the flows across its sides inside the grid."""
        total = np.zeros(len(boxes))
        for across, along in ((0, 1), (1, 0)):
            sides = (boxes[:, across, 0] > 0).astype(float) + (boxes[:, across, 1] < self.cells - 1)
            total += sides * range_variances(self.basis, self.scale, boxes[:, along])
        return float(total.mean())

    def noise(self) -> Floats:
        """Return what is added to the cells."""
        cells = np.zeros((self.cells, self.cells))
        for view in (cells, cells.T):
            drawn = np.empty((self.cells - 1, len(self.scale)))
            for each in np.unique(self.scale):
                at = self.scale == each
                size = (self.cells - 1, int(at.sum()))
                drawn[:, at] = (
                    discrete_laplace(Fraction(round(each * 10**6)), size[0] * size[1]).reshape(size) / 10**6
                )
            flow = (drawn @ self.basis)[:, : self.cells]
            view[:-1] += flow
            view[1:] -= flow
        return cells


def range_variances(basis: Floats, scale: Floats, ranges: Ints) -> Floats:
    """Return the variance of ranges [low, high] from independent noises of these scales on a basis."""
    running = np.column_stack([np.zeros(len(basis)), np.cumsum(basis, axis=1)])
    found = np.empty(len(ranges))
    for start in range(0, len(ranges), 2_000):
        part = ranges[start : start + 2_000]
        weights = running[:, part[:, 1] + 1] - running[:, part[:, 0]]
        found[start : start + 2_000] = 2 * scale**2 @ weights**2
    return found


def grouped_privelet(cells: int, theta: int, many: int) -> float:
    """Return the expected error of random ranges by Privelet in groups of theta edges, at epsilon 1.

    Theorem 5.5: with epsilon / 3, for the stretch of 3. A group is the edge that comes in from the red cell
    before, then the edges of the other cells; a range is the difference of two groups' first parts, or lies
    inside one group. Theta is a power of two.
    """
    basis, weights = haar(theta)
    scale = Spanner(cells, theta).stretch * (1 + np.log2(theta)) / weights
    ends = np.sort(np.random.default_rng(cells).integers(0, cells, (many, 2)), axis=1)
    places = ends + np.array(
        [0, 1]
    )  # a range: the cells before the second place, less those before the first
    group, last = places // theta, places % theta
    first = (group == 0).astype(np.int64)  # no edge comes into the first group
    parts = [
        np.where((last[:, side] >= first[:, side]) & (places[:, side] < cells), found, 0.0)
        for side in (0, 1)
        for found in [range_variances(basis, scale, np.column_stack([first[:, side], last[:, side]]))]
    ]
    inner = group[:, 0] == group[:, 1]
    within = range_variances(basis, scale, last[inner] + np.array([1, 0]))
    total = parts[0] + parts[1]
    total[inner] = within
    return float(total.mean())
