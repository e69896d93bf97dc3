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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints

BOX, CLIQUE = "box", "clique"
APART = -1  # the norm of a change that no noise makes up for
MAX_DIMENSION = 1_000  # of noise that can be drawn: its tables take time in the square of this
MAX_CLIQUE = 256  # cells of a clique: a draw takes time in the square of this
_FARTHEST = 2**62  # no reach is as large

Shape = tuple[tuple[str, int, tuple[int, ...]], ...]  # what the law of noise depends on: see `Joint.shape`


@dataclass(frozen=True, eq=False)
class NormBlock:
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
        if len(self.reaches) != (len(self.rows) if box else 0):
            raise ArgumentError("reaches", "there must be one for each row of a box")
        if not all(1 <= each < _FARTHEST for each in self.reaches):
            raise ArgumentError("reaches", "some are out of range", allowed="whole numbers from 1 to 2^62")
        if not len(self.rows):
            raise ArgumentError("rows", "a block has at least one")
        rows = np.array(self.rows, dtype=np.int64)
        rows.setflags(write=False)
        object.__setattr__(self, "rows", rows)

    @property
    def dimension(self) -> int:
        """Return in how many dimensions the noise lies: the values of a clique sum to 0."""
        return len(self.rows) - (self.kind == CLIQUE)

    @property
    def shape(self) -> tuple[str, int, tuple[int, ...]]:
        """Return what the law of its noise depends on: whatever its rows are called."""
        return self.kind, len(self.rows), self.reaches

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x rows of this block; `APART` where it has none."""
        if self.kind == CLIQUE:
            half = np.abs(changes).sum(axis=1) // 2
            return np.where(changes.sum(axis=1) == 0, half, APART)
        steps = -(-np.abs(changes) // np.array(self.reaches, dtype=changes.dtype))
        return np.asarray(steps.max(axis=1, initial=0))


class NoiseNorm(Protocol):
    """Noise that some query rows draw together, in a norm."""

    @property
    def rows(self) -> Ints:
        """Return the query rows, in the order in which noise is drawn."""

    @property
    def blocks(self) -> tuple[NormBlock, ...]:
        """Return the blocks whose largest norm this is; nothing where it is bounded by the L1 norm."""

    def renumber(self, numbers: Ints) -> NoiseNorm:
        """Return the same for query rows that got other numbers, given for each old one."""

    def is_same(self, other: Any) -> bool:
        """Return whether both are the same norm of the same query rows."""

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x all query rows; `APART` where it has none."""

    def measure_entries(self, rows: Ints, change: Ints, amounts: NDArray[Any], many: int) -> NDArray[Any]:
        """Return the norm of each of so many changes, given by their entries that are not 0."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Blocks that draw their noise together: the norm is the largest of theirs.

    Proof note:
        Requires: no query row is in two blocks; every row of the kind is in one.
        Ensures:  N(0) = 0, N(-c) = N(c), N(c + d) <= N(c) + N(d) for whole changes, so the odds of any noisy
                  values change by at most exp(N(change) / scale).
        Because:  a clique's norm is half an L1 norm; rounding up is subadditive, so a box has one; so has the
                  largest of some; P(z) / P(z - c) = exp((N(z - c) - N(z)) / scale).
        Checked:  tests/plan/joint_noise/test_norms.py::test_norms_are_norms
    """

    blocks: tuple[NormBlock, ...]

    def __post_init__(self) -> None:
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(block.rows for block in self.blocks)])
        if not len(rows) or len(np.unique(rows)) < len(rows) or rows.min() < 0:
            raise ArgumentError("blocks", "a query row is in two of them, or there are none")

    @property
    def rows(self) -> Ints:
        """Return the query rows, block after block: the order in which noise is drawn."""
        return np.concatenate([block.rows for block in self.blocks])

    @property
    def dimension(self) -> int:
        """Return in how many dimensions the noise lies."""
        return sum(block.dimension for block in self.blocks)

    @property
    def shape(self) -> Shape:
        """Return what the law of the noise depends on: whatever its rows are called."""
        return tuple(block.shape for block in self.blocks)

    def renumber(self, numbers: Ints) -> Joint:
        """Return the same for query rows that got other numbers, given for each old one."""
        return Joint(tuple(NormBlock(each.kind, numbers[each.rows], each.reaches) for each in self.blocks))

    def is_same(self, other: Any) -> bool:
        """Return whether both are the same blocks of the same query rows."""
        return (
            isinstance(other, Joint) and self.shape == other.shape and np.array_equal(self.rows, other.rows)
        )

    def measure(self, changes: NDArray[Any]) -> NDArray[Any]:
        """Return the norm of each change, changes x all query rows; `APART` where it has none."""
        if changes.dtype != object:  # of narrower numbers a reach may be none
            changes = changes.astype(np.int64, copy=False)
        each = [block.measure(changes[:, block.rows]) for block in self.blocks]
        apart = np.any([norm == APART for norm in each], axis=0)
        return np.where(apart, APART, np.max(each, axis=0))

    def measure_entries(self, rows: Ints, change: Ints, amounts: NDArray[Any], many: int) -> NDArray[Any]:
        """Return the norm of each of so many changes, given by their entries that are not 0.

        Args:
            rows: The query row of each entry; those of other noise are left out.
            change: The number of the change that it belongs to.
            amounts: By how much: one number for each row and change.
            many: How many changes there are.
        """
        block, reach = self._by_row(max(int(self.rows.max()), int(rows.max(initial=0))) + 1)
        norms, apart = np.zeros(many, dtype=amounts.dtype), np.zeros(many, dtype=bool)
        inside = np.flatnonzero(reach[rows] > 0)
        steps = -(-np.abs(amounts[inside]) // reach[rows[inside]].astype(amounts.dtype))
        np.maximum.at(norms, change[inside], steps)
        cells = np.flatnonzero((reach[rows] == 0) & (block[rows] >= 0))
        keys, own = np.unique(change[cells] * len(self.blocks) + block[rows[cells]], return_inverse=True)
        half, sums = np.zeros(len(keys), dtype=amounts.dtype), np.zeros(len(keys), dtype=amounts.dtype)
        np.add.at(half, own.reshape(-1), np.abs(amounts[cells]))
        np.add.at(sums, own.reshape(-1), amounts[cells])
        np.maximum.at(norms, keys // len(self.blocks), half // 2)
        apart[keys[sums != 0] // len(self.blocks)] = True
        norms[apart] = APART
        return norms

    def _by_row(self, size: int) -> tuple[Ints, Ints]:
        """Return for each of so many query rows its block, -1 for none, and its reach, 0 in a clique."""
        block, reach = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        for number, each in enumerate(self.blocks):
            block[each.rows] = number
            reach[each.rows] = each.reaches or 0
        return block, reach


def clique(rows: Sequence[int] | Ints) -> Joint:
    """Return the noise of counts of cells that are all joined, and that no record leaves together."""
    return Joint((NormBlock(CLIQUE, np.asarray(rows, dtype=np.int64)),))


def box(rows: Sequence[int] | Ints, reaches: Sequence[int]) -> Joint:
    """Return the noise of sums that one record may change all at once, each by at most its reach."""
    return Joint((NormBlock(BOX, np.asarray(rows, dtype=np.int64), tuple(int(each) for each in reaches)),))
