"""What one block of columns can do when a record moves, by the definition of its secret. Never sees rows.

The other half of `edges.py`, for `kernel/check.py`: independent of the graphs that plans are made with.

Codes of a block are arrays of cells x columns. A move leads from a cell to another that must stay
indistinguishable from it: all of them can be listed, or some drawn, whatever the number of cells.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Draws, Ints
from pandas_blowfish.policy.cells import NO_VALUE

Random = Draws
Mask = NDArray[np.bool_]
TRIES = 12  # offsets drawn before a move along one axis is taken instead
FAR = 2**40  # numbers of a column without bounds are drawn within


class Moves(ABC):
    """The moves of one block, seen on some of its columns.

    Attributes:
        sizes: How many cells each of the columns has; None for a column without bounds.
    """

    sizes: tuple[int | None, ...]

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Return how many unordered pairs of cells are joined; None where they are not counted."""

    @abstractmethod
    def every(self) -> tuple[Ints, Ints]:
        """Return both ends of every joined pair, each once."""

    @abstractmethod
    def draw(self, random: Random, start: Ints) -> Ints:
        """Return for each cell one that it is joined to; itself where there is none, or by chance."""

    @property
    def cells(self) -> int | None:
        """Return how many cells the columns have together; None without bounds."""
        return None if None in self.sizes else math.prod(each for each in self.sizes if each is not None)

    def near(self, cell: int) -> Ints:
        """Return the cells of one column that one of them is joined to."""
        start, end = self.every()
        return np.concatenate([end[start[:, 0] == cell, 0], start[end[:, 0] == cell, 0]])

    def list_cells(self) -> Ints:
        """Return all cells, in C order."""
        shape = [each for each in self.sizes if each is not None]
        return np.column_stack(np.unravel_index(np.arange(math.prod(shape)), shape)).astype(np.int64)


class Nothing(Moves):
    """No cell is joined to another: what is public."""

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self.sizes = tuple(sizes)

    @property
    def count(self) -> int:
        """Return 0."""
        return 0

    def every(self) -> tuple[Ints, Ints]:
        """Return no pairs."""
        none = np.empty((0, len(self.sizes)), dtype=np.int64)
        return none, none

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return the cells themselves."""
        del random
        return start


class Groups(Moves):
    """Cells are joined whose columns are all in the same groups.

    Args:
        labels: For each column the group of each of its cells; how many cells each group is long, where
            groups are runs; None for one group of all.
        sizes: How many cells each column has.
    """

    def __init__(self, labels: Sequence[Ints | int | None], sizes: Sequence[int | None]) -> None:
        self.sizes, self.labels = tuple(sizes), tuple(labels)

    @cached_property
    def _sorted(self) -> list[tuple[Ints, Ints, Ints] | None]:
        """Return for each column with listed groups its cells by group, and where the group of each is."""
        found: list[tuple[Ints, Ints, Ints] | None] = []
        for labels in self.labels:
            if not isinstance(labels, np.ndarray):
                found.append(None)
                continue
            order = np.argsort(labels, kind="stable")
            ranked = labels[order]
            found.append((order, np.searchsorted(ranked, labels), np.searchsorted(ranked, labels, "right")))
        return found

    @property
    def count(self) -> int | None:
        """Return half the ordered pairs of one group that are not the same cell."""
        if None in self.sizes:
            return None
        pairs = 1
        for labels, size in zip(self.labels, self.sizes, strict=True):
            assert size is not None
            if labels is None:
                pairs *= size * size
            elif isinstance(labels, np.ndarray):
                pairs *= sum(int(many) ** 2 for many in np.unique(labels, return_counts=True)[1])
            else:
                pairs *= (size // labels) * labels**2 + (size % labels) ** 2
        return (pairs - math.prod(each for each in self.sizes if each is not None)) // 2

    def every(self) -> tuple[Ints, Ints]:
        """Return the pairs, column by column."""
        start, end = (np.zeros((1, 0), dtype=np.int64) for _ in range(2))
        for column, size in enumerate(self.sizes):
            assert size is not None
            cells = np.arange(size, dtype=np.int64)
            low, high = self._run(column, cells)
            many = high - low
            one = np.repeat(cells, many)
            at = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many) + np.repeat(low, many)
            two = self._member(column, at)
            start = np.column_stack([np.repeat(start, len(one), axis=0), np.tile(one, len(start))])
            end = np.column_stack([np.repeat(end, len(two), axis=0), np.tile(two, len(end))])
        return _once(start, end)

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return a cell of the same groups, an end of theirs half of the times."""
        end = start.copy()
        for column, size in enumerate(self.sizes):
            if size is None:
                end[:, column] = random.integers(-FAR, FAR, len(start))
                continue
            low, high = self._run(column, start[:, column])
            at = random.integers(low, high)
            side = random.integers(0, 4, len(start))
            at = np.where(side == 0, low, np.where(side == 1, high - 1, at))
            end[:, column] = self._member(column, at)
        return end

    def near(self, cell: int) -> Ints:
        """Return the other cells of its group."""
        low, high = self._run(0, np.array([cell]))
        found = self._member(0, np.arange(low[0], high[0]))
        return np.asarray(found[found != cell])

    def _run(self, column: int, cells: Ints) -> tuple[Ints, Ints]:
        """Return where the group of each cell begins and ends, among its column's cells by group."""
        labels, size, kept = self.labels[column], self.sizes[column], self._sorted[column]
        if kept is not None:
            return kept[1][cells], kept[2][cells]
        assert size is not None
        if labels is None:
            return np.zeros_like(cells), np.full_like(cells, size)
        assert isinstance(labels, int)
        low = cells // labels * labels
        return low, np.minimum(low + labels, size)

    def _member(self, column: int, at: Ints) -> Ints:
        kept = self._sorted[column]
        return at if kept is None else kept[0][at]


class Window(Moves):
    """Cells of one column are joined within a window around each.

    Args:
        size: How many cells there are; None without bounds.
        window: The first and the last cell that each of some cells is joined to, or is itself, by rank.
        order: The cells by rank; None where a cell's code is its rank.
        width: How many cells to either side it always is, where it is the same for all.
    """

    def __init__(
        self,
        size: int | None,
        window: Callable[[Ints], tuple[Ints, Ints]],
        order: Ints | None = None,
        width: int | None = None,
    ) -> None:
        self.sizes, self.window, self.order, self.width = (size,), window, order, width

    @property
    def count(self) -> int | None:
        """Return the pairs, added up over all cells where windows differ and are not too many."""
        size = self.sizes[0]
        if size is None:
            return None
        if self.width is not None:
            far = min(self.width, size - 1)
            return far * size - far * (far + 1) // 2
        if size > 10_000:  # windows are found cell by cell
            return None
        ranks = np.arange(size, dtype=np.int64)
        return int((self.window(ranks)[1] - ranks).sum())

    def every(self) -> tuple[Ints, Ints]:
        """Return each cell with those after it in its window."""
        assert self.sizes[0] is not None
        ranks = np.arange(self.sizes[0], dtype=np.int64)
        many = self.window(ranks)[1] - ranks
        one = np.repeat(ranks, many)
        two = one + 1 + np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        return self._cell(one)[:, None], self._cell(two)[:, None]

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return a cell of the window, one of its ends half of the times."""
        rank = start[:, 0] if self.order is None else np.argsort(self.order)[start[:, 0]]
        low, high = self.window(rank)
        at, side = random.integers(low, high + 1), random.integers(0, 4, len(rank))
        return self._cell(np.where(side == 0, low, np.where(side == 1, high, at)))[:, None]

    def near(self, cell: int) -> Ints:
        """Return the other cells of its window."""
        rank = cell if self.order is None else int(np.flatnonzero(self.order == cell)[0])
        low, high = self.window(np.array([rank]))
        found = self._cell(np.arange(low[0], high[0] + 1))
        return np.asarray(found[found != cell])

    def _cell(self, rank: Ints) -> Ints:
        return rank if self.order is None else self.order[rank]


class Offsets(Moves):
    """Cells of evenly cut columns are joined whose difference, without signs, is allowed.

    Args:
        sizes: How many cells each column has.
        reach: How far each column moves by itself at most.
        allowed: Which of some differences join cells.
    """

    def __init__(self, sizes: Sequence[int], reach: Sequence[int], allowed: Callable[[Ints], Mask]) -> None:
        self.sizes, self.allowed, self.shape = tuple(sizes), allowed, np.array(sizes)
        self.reach = np.array([min(far, size - 1) for far, size in zip(reach, sizes, strict=True)])

    @cached_property
    def _offsets(self) -> Ints | None:
        """Return every difference that joins cells, one of each two opposite ones; None if there are many."""
        if math.prod((2 * self.reach + 1).tolist()) > 10**6:
            return None
        shape = (2 * self.reach + 1).tolist()
        every = np.column_stack(np.unravel_index(np.arange(math.prod(shape)), shape)) - self.reach
        every = every[len(every) // 2 + 1 :]  # after 0, so that the first number that is not 0 is positive
        return np.asarray(every[self.allowed(np.abs(every))], dtype=np.int64)

    @property
    def count(self) -> int | None:
        """Return how often each difference fits."""
        if self._offsets is None:
            return None
        room = np.array(self.sizes, dtype=object) - np.abs(self._offsets)
        return int(room.prod(axis=1).sum()) if len(room) else 0

    def every(self) -> tuple[Ints, Ints]:
        """Return the cells that each difference leads from and to."""
        assert self._offsets is not None
        none = np.empty((0, len(self.sizes)), dtype=np.int64)
        cells, starts, ends = self.list_cells(), [none], [none]
        for offset in self._offsets:
            there = cells + offset
            inside = ((there >= 0) & (there < self.shape)).all(axis=1)
            starts.append(cells[inside])
            ends.append(there[inside])
        return np.concatenate(starts), np.concatenate(ends)

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return a cell at an allowed difference, a long one more often than not."""
        end, left = start.copy(), np.arange(len(start))
        for _ in range(TRIES):
            far = random.integers(0, self.reach + 1, (len(left), len(self.sizes)))
            far = np.where(random.random(far.shape) < 0.3, self.reach, far)
            there = start[left] + far * random.choice([-1, 1], far.shape)
            good = ((there >= 0) & (there < self.shape)).all(axis=1) & self.allowed(far)
            end[left[good]] = there[good]
            left = left[~good]
        axis = random.integers(0, len(self.sizes), len(left))
        alone = end[left]
        alone[np.arange(len(left)), axis] += self.reach[axis]
        good = (alone < self.shape).all(axis=1)
        end[left[good]] = alone[good]
        return end


class Listed(Moves):
    """Pairs of cells, one by one, as C-order numbers of the columns' cells."""

    def __init__(self, sizes: Sequence[int], pairs: Ints) -> None:
        self.sizes = tuple(sizes)
        ordered = np.sort(pairs.reshape(-1, 2), axis=1)
        self.pairs = np.unique(ordered[ordered[:, 0] != ordered[:, 1]], axis=0)

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self.pairs)

    def every(self) -> tuple[Ints, Ints]:
        """Return the pairs."""
        return self._codes(self.pairs[:, 0]), self._codes(self.pairs[:, 1])

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return a partner of each cell that has one."""
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        shape = tuple(each for each in self.sizes if each is not None)
        flat = np.ravel_multi_index(tuple(start.T), shape)
        low, high = (np.searchsorted(both[:, 0], flat, side) for side in ("left", "right"))
        some = high > low
        end = flat.copy()
        end[some] = both[random.integers(low[some], high[some]), 1]
        return self._codes(end)

    def _codes(self, flat: Ints) -> Ints:
        shape = tuple(each for each in self.sizes if each is not None)
        return np.column_stack(np.unravel_index(flat, shape)).astype(np.int64)


class Missing(Moves):
    """A block in which cells with a missing value are joined to all others, to some, or to none.

    Args:
        inner: The moves of cells in which nothing is missing.
        nullable: Which columns have a missing cell, which is their last.
        secret: Whether it could be any other.
        like: Of one column, the cell it is as if it were: joined to what that is joined to, and to that.
    """

    def __init__(self, inner: Moves, nullable: Sequence[bool], secret: bool, like: int | None = None) -> None:
        self.inner, self.nullable, self.secret = inner, np.array(nullable), secret
        self.partners = np.empty(0, dtype=np.int64)
        if like is not None:
            self.partners = np.append(inner.near(like), like).astype(np.int64)
        pairs = zip(inner.sizes, nullable, strict=True)
        self.sizes = tuple(None if size is None else size + extra for size, extra in pairs)
        self._last = np.array([size if size is not None else NO_VALUE for size in inner.sizes])

    @property
    def count(self) -> int | None:
        """Return the pairs without, with one and with two missing ends."""
        if self.cells is None or self.inner.cells is None or self.inner.count is None:
            return None
        if len(self.partners):
            return self.inner.count + len(self.partners)
        gone = self.cells - self.inner.cells
        return self.inner.count + (gone * self.inner.cells + gone * (gone - 1) // 2 if self.secret else 0)

    def every(self) -> tuple[Ints, Ints]:
        """Return the pairs of the block, then those with a missing end."""
        start, end = self.inner.every()
        if len(self.partners):
            one = self.partners[:, None]
            return np.concatenate([start, one]), np.concatenate([end, np.full_like(one, self._last[0])])
        if not self.secret:
            return start, end
        cells = self.list_cells()
        gone = cells[self._gone(cells)]
        one, two = np.repeat(gone, len(cells), axis=0), np.tile(cells, (len(gone), 1))
        kept = ~self._gone(two) | _before(one, two)
        kept &= (one != two).any(axis=1)
        return np.concatenate([start, one[kept]]), np.concatenate([end, two[kept]])

    def draw(self, random: Random, start: Ints) -> Ints:
        """Return a cell of the block, or one with or without a missing value from or to a missing one."""
        gone = self._gone(start)
        end = start.copy()
        end[~gone] = self.inner.draw(random, start[~gone])
        if len(self.partners):
            side = random.integers(0, 3, len(start))
            some = random.integers(0, len(self.partners), len(start))
            ends = np.where(side == 0, self.partners.min(), self.partners.max())
            end[gone, 0] = np.where(side == 2, self.partners[some], ends)[gone]
            leaves = np.isin(start[:, 0], self.partners) & (random.random(len(start)) < 0.3)
            end[leaves, 0] = self._last[0]
            return end
        if not self.secret:
            return end
        leaves = gone | (random.random(len(start)) < 0.1)
        for column, size in enumerate(self.inner.sizes):
            low, high = (-FAR, FAR) if size is None else (0, size)
            end[leaves, column] = random.integers(low, high, int(leaves.sum()))
        lost = leaves & (~gone | (random.random(len(start)) < 0.2))
        gap = random.choice(np.flatnonzero(self.nullable), len(start))
        end[lost, gap[lost]] = self._last[gap[lost]]
        return end

    def _gone(self, cells: Ints) -> Mask:
        return np.asarray(((cells == self._last) & self.nullable).any(axis=1))


def _once(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return pairs whose first end comes before the second."""
    kept = _before(start, end)
    return start[kept], end[kept]


def _before(start: Ints, end: Ints) -> Mask:
    """Tell which cells come before others, column by column."""
    found, same = np.zeros(len(start), dtype=bool), np.ones(len(start), dtype=bool)
    for one, two in zip(start.T, end.T, strict=True):
        found |= same & (one < two)
        same &= one == two
    return found
