"""Noise that several query rows draw together: which rows, and in which norm. Never sees rows.

Independent noise pays for every query row that an edge changes. Noise z of some rows together, with

    P(z) proportional to exp(-N(z) / scale),    z whole numbers,

loses N(change) / scale, N a norm. A norm in which all edges are about equally long wastes nothing: a
record that changes twenty sums at once moves all of them by at most their reaches, which is one step in the
norm of a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints

BOX, CLIQUE = "box", "clique"
APART = -1  # the norm of a change that no noise makes up for


@dataclass(frozen=True, eq=False)
class Block:
    """Some query rows, and the norm of what changes them.

    Attributes:
        kind: `BOX`: the largest change over its reach, rounded up. `CLIQUE`: half the sum of changes, which
            must add up to 0, as the noise does.
        rows: The query rows, by number.
        reaches: Of a box, for each row how large a change is 1; of a clique nothing.
    """

    kind: str
    rows: Ints
    reaches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in (BOX, CLIQUE):
            raise ArgumentError("kind", f"{self.kind!r} is no norm", allowed=f"{BOX!r} or {CLIQUE!r}")
        box = self.kind == BOX
        if len(self.reaches) != (len(self.rows) if box else 0) or any(each < 1 for each in self.reaches):
            raise ArgumentError("reaches", "there must be one of at least 1 for each row of a box")

    @property
    def dimension(self) -> int:
        """Return in how many dimensions the noise lies: the values of a clique sum to 0."""
        return len(self.rows) - (self.kind == CLIQUE)

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x rows of this block; `APART` where it has none."""
        if self.kind == CLIQUE:
            half = np.abs(changes).sum(axis=1) // 2
            return np.where(changes.sum(axis=1) == 0, half, APART)
        steps = -(-np.abs(changes) // np.array(self.reaches, dtype=changes.dtype))
        return np.asarray(steps.max(axis=1, initial=0))


@dataclass(frozen=True, eq=False)
class Joint:
    """Blocks that draw their noise together: the norm is the largest of theirs.

    Proof note:
        Requires: no query row is in two blocks; every row of the kind is in one.
        Ensures:  N(0) = 0, N(-c) = N(c), N(c + d) <= N(c) + N(d) for whole changes, so the odds of any noisy
                  values change by at most exp(N(change) / scale).
        Because:  a clique's norm is half an L1 norm; rounding up is subadditive, so a box has one; so has the
                  largest of some; P(z) / P(z - c) = exp((N(z - c) - N(z)) / scale).
        Checked:  tests/plan/test_joint_noise.py::test_norms_are_norms
    """

    blocks: tuple[Block, ...]

    @property
    def rows(self) -> Ints:
        """Return the query rows, block after block: the order in which noise is drawn."""
        return np.concatenate([block.rows for block in self.blocks])

    @property
    def dimension(self) -> int:
        """Return in how many dimensions the noise lies."""
        return sum(block.dimension for block in self.blocks)

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x all query rows; `APART` where it has none."""
        each = [block.measure(changes[:, block.rows]) for block in self.blocks]
        apart = np.any([norm == APART for norm in each], axis=0)
        return np.where(apart, APART, np.max(each, axis=0))


def clique(rows: Sequence[int] | Ints) -> Joint:
    """Return the noise of counts of cells that are all joined, and that no record leaves together."""
    return Joint((Block(CLIQUE, np.asarray(rows, dtype=np.int64)),))


def box(rows: Sequence[int] | Ints, reaches: Sequence[int]) -> Joint:
    """Return the noise of sums that one record may change all at once, each by at most its reach."""
    return Joint((Block(BOX, np.asarray(rows, dtype=np.int64), tuple(int(each) for each in reaches)),))
