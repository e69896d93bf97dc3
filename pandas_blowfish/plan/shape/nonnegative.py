"""Tables that agree, moved as little as possible until no count is negative: they still agree exactly.

Free post-processing: never sees rows. Tables only move along effects, parts that vary with all of some
columns, which all tables with these columns share: so what agreed before agrees after every step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.linear.atoms import indicator
from pandas_blowfish.plan.shape.pairs import fit_pairs

Places = tuple[int, ...]
Mask = NDArray[np.bool_]
EASE = 0.5  # how far an effect moves, against one of a column more: sums of many counts move less
FLOORS = (0.01, 0.1, 1.0)  # of even tables: what counts are to reach, the higher the longer it takes
ROUNDS, FEW, WORK = 1_000, 100, 4e9  # steps, and products of numbers in all of them, roughly
QUICK, ENOUGH, RARE = 3.5e8, 30, 0.01  # of tables fitted in the end: products, least steps, negative share
MAX_SUMS = 30_000_000  # products of one step beyond which tables stay as they are
DUST = 1e-11  # of the rows: what rounding leaves
CLOSE, TURNS = 1e-13, 500  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class Agreement:
    """The directions in which tables can move and still agree with each other and with exact totals.

    Attributes:
        sizes: How many cells each column has.
        order: The tables, by their columns.
        groups: For each column the group of each cell that no edge leaves; None where nothing is exact.
        ease: How far an effect moves, against one of a column more.
        still: Sets of columns whose tables are known: their effects do not move. The empty set is the
            number of rows.
    """

    sizes: Sequence[int]
    order: tuple[Places, ...]
    groups: tuple[Ints, ...] | None
    ease: float = 1.0
    still: tuple[Places, ...] = ()

    @cached_property
    def effects(self) -> list[Places]:
        """Return all effects of the tables, those of one shape one after another."""
        found = {part for table in self.order for part in parts_of(table)}
        return sorted(found, key=lambda each: (self._shape(each), each))

    def _shape(self, places: Places) -> tuple[int, ...]:
        return tuple(self.sizes[place] for place in places)

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum([0, *(math.prod(self._shape(each)) for each in self.effects)])

    @cached_property
    def sums(self) -> Any:
        """Return means over the columns that an effect has not: effects' cells x tables' cells, sparse."""
        from scipy.sparse import csc_array

        first = dict(zip(self.effects, self._starts.tolist(), strict=False))
        rows, data, many = [], [], []
        for table in self.order:
            shape = self._shape(table)
            own = list(parts_of(table))
            codes = np.indices(shape, dtype=np.int32).reshape(len(shape), math.prod(shape))
            each = np.empty((math.prod(shape), len(own)), dtype=np.int32)
            for number, part in enumerate(own):
                places = [codes[table.index(place)] for place in part]
                flat = np.ravel_multi_index(places, self._shape(part)) if part else 0
                each[:, number] = first[part] + flat
            rows.append(each.ravel())
            rest = [math.prod(self._shape(part)) / math.prod(shape) for part in own]
            data.append(np.tile(rest, len(each)))
            many.append(np.full(len(each), len(own)))
        ends = np.append(0, np.cumsum(np.concatenate(many))).astype(np.int32)
        return csc_array(
            (np.concatenate(data), np.concatenate(rows), ends), shape=(int(self._starts[-1]), len(ends) - 1)
        )

    @cached_property
    def _pulls(self) -> Floats:
        """Return how far each effect moves when all tables ask it to."""
        weight, widest = dict.fromkeys(self.effects, 0.0), dict.fromkeys(self.effects, 0)
        for table in self.order:
            for part in parts_of(table):
                weight[part] += math.prod(self._shape(part)) / math.prod(self._shape(table))
                widest[part] = max(widest[part], len(table))
        free = [not any(set(part) <= set(known) for known in self.still) for part in self.effects]
        eased = [self.ease ** (widest[part] - len(part)) / weight[part] for part in self.effects]
        return np.array(eased) * free

    @cached_property
    def _blocks(self) -> list[tuple[slice, tuple[int, ...], Floats]]:
        """Return runs of effects of one shape: their cells, the shape and how far each moves."""
        found, first = [], 0
        pulls = dict(zip(self.effects, self._pulls.tolist(), strict=True))
        for shape, block in itertools.groupby(self.effects, self._shape):
            many = list(block)
            last = first + len(many) * math.prod(shape)
            each = np.array([pulls[effect] for effect in many]).reshape(-1, *[1] * len(shape))
            found.append((slice(first, last), shape, each))
            first = last
        return found

    @cached_property
    def _totals(self) -> tuple[Ints, Floats] | None:
        """Return the product of groups that each cell of an effect is in, and how many cells each has.

        Number 0 is of effects of a column in one group, whose totals are those of fewer columns.
        """
        if self.groups is None:
            return None
        parts, many = [], 1
        for effect in self.effects:
            own = [self.groups[place] for place in effect]
            label = number_products(own) + many
            split = all(each.any() for each in own)
            parts.append(label if split else label * 0)
            many = int(label.max(initial=0)) + 1 if split else many
        labels = np.concatenate(parts)
        sizes = np.bincount(labels, minlength=many).astype(np.float64)
        sizes[0] = np.inf
        return labels, sizes

    @property
    def has_pairs_only(self) -> bool:
        """Tell whether tables are of one or two columns, none of them known."""
        return not any(self.still) and all(len(table) in (1, 2) for table in self.order)

    def count_rows(self, counts: Floats) -> float:
        """Return about how many rows tables are of, at least 1."""
        return max(1.0, float(np.abs(counts).sum()) / max(len(self.order), 1))

    def move(self, wish: Floats) -> Floats:
        """Return how all cells move together when each wishes to move by so much.

        With an ease of 1 it is the nearest move that keeps tables agreeing, and exact totals.
        """
        told = self.sums @ wish
        for cells, shape, pulls in self._blocks:
            each = told[cells].reshape(-1, *shape) * pulls
            for axis in range(1, each.ndim):
                each -= np.add.reduce(each, axis=axis, keepdims=True) / each.shape[axis]
            told[cells] = each.ravel()
        if self._totals is not None:
            labels, sizes = self._totals
            told -= (np.bincount(labels, told, len(sizes)) / sizes)[labels]
        return np.asarray(self.sums.T @ told)


def number_products(groups: Sequence[Ints]) -> Ints:
    """Return the product of groups that each cell of a table is in, from the groups of its columns' cells."""
    label = np.zeros(1, dtype=np.int64)
    for own in groups:
        label = (label[:, None] * (int(own.max(initial=-1)) + 1) + own).ravel()
    return label


def parts_of(places: Places) -> Any:
    """Yield every set of some columns, the empty one first."""
    return itertools.chain.from_iterable(
        itertools.combinations(places, many) for many in range(len(places) + 1)
    )


@dataclass(frozen=True, eq=False)
class TableLimits:
    """What counts of tables must be.

    Attributes:
        even: A share of the rows for each count that it may well have; 0 where nothing can be.
        known: Known sums x cells, scipy sparse, rows of length 1 at most together; None for none.
    """

    even: Floats
    known: Any = None

    @property
    def rows(self) -> int:
        """Return how many sums are known."""
        return 0 if self.known is None else int(self.known.shape[0])

    @property
    def empty(self) -> Mask:
        """Tell where nothing can be."""
        return np.asarray(self.even <= 0)

    def spread(self, prices: Floats) -> Floats:
        """Return what prices of cells, then of known sums, ask each cell for."""
        if self.known is None:
            return prices
        return np.asarray(prices[: len(self.even)] + self.known.T @ prices[len(self.even) :])

    def gaps(self, counts: Floats, start: Floats) -> Floats:
        """Return by how much known sums differ from those at the start."""
        return np.zeros(0) if self.known is None else np.asarray(self.known @ (counts - start))


def known_limits(even: Floats, families: Sequence[Family], agreement: Agreement) -> TableLimits:
    """Return limits with known sums: no count has a larger share of one than the others in it.

    Sums that no move changes are left out.
    """
    from scipy.sparse import csr_array, diags_array, vstack

    if not families:
        return TableLimits(even)
    parts = []
    for family in families:
        many = len(family.totals) if family.rows is None else family.rows.shape[1]
        own = indicator(family.labels, many).astype(np.float64)
        parts.append(csr_array(own if family.rows is None else csr_array(family.rows) @ own))
    known = csr_array(vstack(parts, format="csr"))
    totals = np.concatenate([np.asarray(family.totals, dtype=np.float64) for family in families])
    plain = np.flatnonzero(np.asarray(known.min(axis=1).todense()).ravel() >= 0)  # else it is no sum
    share = totals[plain] / np.maximum(known[plain].sum(axis=1), 1.0)
    for row, each in zip(plain, np.maximum(share, 0.0), strict=True):
        cells = known.indices[known.indptr[row] : known.indptr[row + 1]]
        even[cells] = np.minimum(even[cells], each)
    known = csr_array(diags_array(1 / np.sqrt(np.maximum(known.power(2).sum(axis=1), 1.0))) @ known)
    length = np.cos(np.arange(len(even)) ** 2.0)  # any vector without a pattern
    known = known[np.flatnonzero(np.abs(known @ agreement.move(length)) > CLOSE)]
    if not known.shape[0]:
        return TableLimits(even)
    for _ in range(20):  # towards the largest length of what it makes of a vector
        length = known.T @ (known @ length)
        length /= max(float(np.linalg.norm(length)), 1e-300)
    return TableLimits(even, csr_array(known / max(1.02 * float(np.linalg.norm(known @ length)), 1e-300)))


def lift(start: Floats, agreement: Agreement, limits: TableLimits) -> Floats | None:
    """Return counts that agree, have the known sums and are not negative, near those given; None if it fails.

    Args:
        start: Counts that agree and have the known sums.
        agreement: How they may move.
        limits: What they must be.

    Proof note:
        Requires: a release already paid for.
        Ensures:  the result agrees as the start does, to rounding, and is not negative.
        Because:  each step adds a move that agrees. The prices of the cells, not negative but where nothing
                  can be, follow the gradient of the dual of the least move, with momentum that starts
                  anew when it leads upwards. Counts are to reach a floor above 0, so that they are not
                  negative after finitely many steps. Tables of at most two columns are fitted once few
                  counts are negative, or after as many steps as are quick: see `fit_pairs`.
        Checked:  tests/plan/shape/test_nonnegative.py::test_lifted_tables_agree_and_are_not_negative
    """
    cells, empty = len(start), limits.empty
    dust = DUST * agreement.count_rows(start)
    bound = np.append(np.where(empty, -np.inf, 0.0), np.full(limits.rows, -np.inf))
    step = 1.0 if limits.known is None else 0.5
    fits = limits.known is None and not empty.any() and agreement.has_pairs_only
    rounds = int(np.clip((QUICK if fits else WORK) / max(agreement.sums.nnz, 1), FEW, ROUNDS))
    prices = ahead = np.zeros(cells + limits.rows)
    pace, counts = 1.0, start
    for number in range(rounds):
        counts = start + agreement.move(limits.spread(ahead))
        if number % 5 == 0 and counts[~empty].min(initial=0.0) >= -dust:
            exact = settle(counts, start, agreement, limits)
            if exact[~empty].min(initial=0.0) >= -dust:
                return np.where(empty, 0.0, np.maximum(exact, 0.0))
        if fits and number % 5 == 0 and number >= ENOUGH:
            rare = -np.minimum(counts, 0.0).sum() <= RARE * counts.sum()
            if rare or number >= 0.8 * rounds - 5:  # before floors are those of even tables
                return fit_pairs(counts, agreement.sizes, agreement.order, agreement.groups)
        floor = limits.even * FLOORS[max(0, 5 * number // rounds - 2)]
        slope = np.append(counts - floor, limits.gaps(counts, start))
        new = np.maximum(ahead - step * slope, bound)
        if float((ahead - new) @ (new - prices)) > 0:
            pace = 1.0
        further = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead = new + (pace - 1) / further * (new - prices)
        prices, pace = new, further
    return None


def settle(counts: Floats, start: Floats, agreement: Agreement, limits: TableLimits) -> Floats:
    """Return the nearest counts that are 0 where nothing can be, with the known sums of the start."""
    empty, cells = limits.empty, len(counts)
    if not empty.any() and limits.known is None:
        return counts
    chosen = np.append(empty, np.ones(limits.rows, dtype=bool)).astype(np.float64)

    def gap(each: Floats, base: Floats) -> Floats:
        return chosen * np.append(each, limits.gaps(each, base))

    left = -gap(counts, start)
    enough = CLOSE * agreement.count_rows(start)
    way, found, nothing = left, np.zeros(len(left)), np.zeros(cells)
    size = float(left @ left)
    for _ in range(TURNS):
        if float(np.abs(left).max(initial=0.0)) <= enough:
            break
        moved = gap(agreement.move(limits.spread(way)), nothing)
        along = float(way @ moved)
        if along <= 0:
            break
        found = found + size / along * way
        left = left - size / along * moved
        now = float(left @ left)
        way, size = left + now / size * way, now
    return counts + agreement.move(limits.spread(found))
