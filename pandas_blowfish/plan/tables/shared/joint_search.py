"""Searches which tables draw their noise together, and how a charge is split between such groups of tables.

Never sees rows. Noise of a group has P(z) proportional to exp(-N(z) / scale), N the largest norm of its
tables, so an edge that changes some of them loses 1 / scale, however many these are. In D dimensions such a z
is uniform in a ball whose radius r has a mean of (D + 1) (D + 2) scale^2 for its square: what each table adds
to the error is that times a constant of its own, the error of a point that is uniform in its unit ball.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import MAX_CLIQUE
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.cover import Cover, Option, Places, find_within
from pandas_blowfish.plan.tables.weights import best_weights
from pandas_blowfish.policy.graph.secret_graph import connect

Together = tuple[tuple[int, ...], ...]  # numbers of tables, group after group
MAX_WIDE = 300  # dimensions of a group's noise: beyond, larger groups gain 1% and take long to plan
MAX_CLASSES = 64  # that have noise of their own
MAX_KINDS = 400  # of tables, that are told apart by a search for groups
MAX_APART = 200  # tables up to which each may be a group of its own
FOLDED = 4 / 3  # the variance of a number that is uniform between -2 and 2


@lru_cache(maxsize=1024)
def ball_spread(cells: int) -> float:
    """Return the mean squared length of a point that is uniform in the unit ball of a clique.

    Where j cells are above 0, these and the others are uniform parts of 1 and of -1.

    Examples:
        >>> round(ball_spread(2), 6), round(12 * ball_spread(3) / 3, 6)
        (0.666667, 3.333333)
    """
    from scipy.special import gammaln

    if cells < 2:
        return 0.0
    above = np.arange(1, cells)
    below = cells - above
    logs = -gammaln(above + 1) - gammaln(below + 1) - gammaln(above) - gammaln(below)
    share = np.exp(logs - logs.max())
    outer = float((share * (2 / (above + 1) + 2 / (below + 1))).sum() / share.sum())
    return outer * (cells - 1) / (cells + 1)


@dataclass(frozen=True, eq=False)
class TableChoice:
    """Tables that may be measured together.

    Rows stay in their class, whatever edges they move along, where tables share columns: each class has noise
    of its own.

    Attributes:
        options: The columns of each table, and those of them that are folded: none, or all.
        shared: The columns that all of them share, whose groups of cells are the classes.
        dimensions: In how many dimensions the noise of each varies: tables x classes.
        own: What each adds to the error, in its unit ball, where all are equally precise: tables x classes.
        alone: The same as a group of its own, where each of its components has noise of its own.
        told: How precisely each table tells each answer that is sought, effects x tables, in its unit ball.
        worth: What the variance of each of these adds to the error.
        hits: Whether each table changes over an edge: patterns x tables.
        plain: Which tables are too large for noise that is drawn together: their cells have their own.
    """

    options: list[Option]
    shared: Places
    dimensions: Ints
    own: Floats
    alone: Floats
    told: Floats
    worth: Floats
    hits: NDArray[np.bool_]
    plain: NDArray[np.bool_]

    def square(self, group: tuple[int, ...]) -> float:
        """Return the mean square of the radius of a group's noise at scale 1, by what its classes add."""
        tables: list[int] = list(group)
        if self.plain[tables[0]]:
            return 2.0
        own = self.own[tables].sum(axis=0)
        many = self.dimensions[tables].sum(axis=0)
        cost = self.alone[tables[0]] if len(tables) == 1 else ((many + 1) * (many + 2) * own).sum()
        return float(cost / max(own.sum(), 1e-300))

    def weigh(self, together: Together) -> tuple[float, list[int]]:
        """Return the least error that groups have at epsilon 1, and a whole weight for each."""
        steps = np.array([2.0 if self.plain[each[0]] else 1.0 for each in together])
        square = np.array([self.square(each) for each in together])
        told = np.column_stack([self.told[:, list(each)].sum(axis=1) for each in together]) / square
        hits = np.column_stack([self.hits[:, list(each)].any(axis=1) for each in together]) * steps
        costs = np.array([self.own[list(each)].sum() for each in together]) * square
        start = np.log(np.maximum(costs, 1e-300) / steps) / 3
        with one_thread():
            weights, error = best_weights(told, hits, self.worth, [start - start.max()])
        return error, weights.tolist()

    def find_groups(self, tables: Sequence[int]) -> list[tuple[int, ...]]:
        """Return some tables in groups; those with noise of their own each in one."""
        alone = [(each,) for each in tables if self.plain[each]]
        rest = [each for each in tables if not self.plain[each]]
        return [*alone, *(self._split(rest) if rest else [])]

    def _split(self, tables: Sequence[int]) -> list[tuple[int, ...]]:
        """Return some tables in groups of neighbours by error, at which the sum of errors is least.

        Groups of errors C, all of which an edge may change, have (sum of C^(1/3))^3 together at the best
        split. Tables that are alike are in one group.
        """
        size, own = self.dimensions[list(tables)], self.own[list(tables)]
        logs = np.log(np.maximum((own * (size + 1) * (size + 2)).sum(axis=1), 1e-300))
        for digits in (6, 2, 1, 0):
            kinds, kind = np.unique(np.round(logs, digits), return_inverse=True)
            if len(kinds) <= MAX_KINDS:
                break
        kind = kind.reshape(-1)
        error, many = np.zeros((len(kinds) + 1, own.shape[1])), np.zeros((len(kinds) + 1, own.shape[1]))
        np.add.at(error, kind + 1, own)
        np.add.at(many, kind + 1, size)
        error, many = error.cumsum(axis=0), many.cumsum(axis=0)
        single = np.full(len(kinds), np.inf)
        once = np.bincount(kind)[kind] == 1
        single[kind[once]] = np.cbrt(self.alone[np.array(tables)[once]])
        least, first = np.zeros(len(kinds) + 1), np.zeros(len(kinds) + 1, dtype=np.int64)
        for end in range(1, len(kinds) + 1):
            wide = many[end] - many[:end]
            cost = np.cbrt(((error[end] - error[:end]) * (wide + 1) * (wide + 2)).sum(axis=1))
            cost[(wide.max(axis=1) > MAX_WIDE) & (np.arange(end) < end - 1)] = np.inf
            cost[end - 1] = min(cost[end - 1], single[end - 1])
            first[end] = int(np.argmin(least[:end] + cost))
            least[end] = least[first[end]] + cost[first[end]]
        found, end = [], len(kinds)
        while end:
            inside = np.flatnonzero((kind >= first[end]) & (kind < end))
            found.append(tuple(tables[place] for place in inside.tolist()))
            end = int(first[end])
        return _small_enough(found, self.dimensions.max(axis=1, initial=0))

    def groupings(self) -> list[Together]:
        """Return ways to group the tables: all alike, by what edges change together, each by itself."""
        every = tuple(self.find_groups(range(len(self.options))))
        if self.hits.all(axis=1).any():  # an edge changes all of them
            return [every]
        pattern, table = np.nonzero(self.hits)
        many = len(self.options)
        label = connect(np.column_stack([table, many + pattern]), many + len(self.hits))[:many]
        parts = [np.flatnonzero(label == each).tolist() for each in np.unique(label)]
        found = [every, tuple(group for part in parts for group in self.find_groups(part))]
        if many <= MAX_APART:
            found.append(tuple((place,) for place in range(many)))
        return list(dict.fromkeys(found))


def _small_enough(groups: Sequence[tuple[int, ...]], dimensions: Ints) -> list[tuple[int, ...]]:
    """Return groups, cut where their noise would have too many dimensions."""
    found = []
    for group in groups:
        sizes = np.cumsum(dimensions[list(group)])
        part = (sizes - 1) // MAX_WIDE
        found += [tuple(np.array(group)[part == each].tolist()) for each in np.unique(part)]
    return found


@dataclass(frozen=True)
class Found:
    """Tables with the weights of their groups, the groups, their classes, those with noise of their own."""

    tables: list[tuple[Places, Places, int]]
    together: Together
    shared: tuple[Places, ...]
    plain: tuple[int, ...]


def find_joint(tried: Sequence[TableChoice]) -> Found | None:
    """Return the tables and groups of the least error found.

    Args:
        tried: Sets of tables each of which answers what is asked.
    """
    best: tuple[float, TableChoice, Together, list[int]] | None = None
    for each in tried:
        for together in each.groupings():
            error, weights = each.weigh(together)
            if best is None or error < best[0]:
                best = error, each, together, weights
    if best is None:
        return None
    _, made, every, many = best
    together = tuple(group for group, own in zip(every, many, strict=True) if own)
    weights = [own for own in many if own]
    weight = {table: own for group, own in zip(together, weights, strict=True) for table in group}
    listed = [table for group in together for table in group]
    place = {table: number for number, table in enumerate(listed)}
    tables = [(*made.options[table], weight[table]) for table in listed]
    groups = tuple(tuple(place[table] for table in group) for group in together)
    shared = tuple(made.options[each[0]][0] if len(each) == 1 else made.shared for each in together)
    return Found(tables, groups, shared, tuple(n for n, each in enumerate(together) if made.plain[each[0]]))


@dataclass(frozen=True, eq=False)
class Parts:
    """The components of a table that need noise: how many cells each has, and the class it is in."""

    cells: Ints
    classes: Ints

    @property
    def plain(self) -> bool:
        """Tell whether it has too many cells, or components, for noise that is drawn together."""
        return bool(self.cells.max(initial=0) > MAX_CLIQUE or len(self.cells) > MAX_CLASSES)

    @property
    def alone(self) -> float:
        """Return what all add to the error where each has noise of its own."""
        each = (ball_spread(cells) * cells * (cells + 1) for cells in self.cells.tolist())
        return float(sum(each))

    def count(self, classes: int) -> tuple[Floats, Ints]:
        """Return for each class what its components add to the error, in the unit ball, and dimensions."""
        spread = [ball_spread(cells) for cells in self.cells.tolist()]
        many = np.rint(np.bincount(self.classes, self.cells - 1, classes)).astype(np.int64)
        return np.asarray(np.bincount(self.classes, spread, classes), dtype=np.float64), many


def choose_apart(sets: Sequence[Places], shared: Places, parts: Sequence[Parts], cover: Cover) -> TableChoice:
    """Return tables that tell nothing of each other, each asked for, whatever their components are.

    Args:
        sets: Their columns.
        shared: The columns that all have.
        parts: The components of each.
        cover: How often each is asked for, and what an edge may change.
    """
    often, classes = dict(cover.asked), max(int(each.classes.max(initial=0)) for each in parts) + 1
    times = np.array([float(often[places]) for places in sets])
    counted = [each.count(classes) for each in parts]
    plain = np.array([each.plain for each in parts])
    own = np.array([spread for spread, _ in counted]) * times[:, None]
    dimensions = np.array([many for _, many in counted])
    own[plain] = dimensions[plain] * times[plain, None]
    alone = np.array([each.alone for each in parts]) * times
    options: list[Option] = [(places, ()) for places in sets]
    told, hits = np.eye(len(sets)), _hits(cover, options)
    return TableChoice(options, shared, dimensions, own, alone, told, own.sum(axis=1), hits, plain)


def choose_overlapping(
    options: list[Option], shared: Places, parts: Sequence[Parts], cover: Cover
) -> TableChoice:
    """Return tables that tell effects together; components of a table, and its classes, are equally large.

    Args:
        options: Their columns, and those that are folded: none, or all.
        shared: The columns that all have.
        parts: The components of each; of a folded one two cells stand for it.
        cover: How tables, effects and edges hang together.
    """
    classes = max(int(each.classes.max(initial=0)) for each in parts) + 1
    folded, plain = np.array([bool(fold) for _, fold in options]), np.array([each.plain for each in parts])
    cells, many = (np.array([at(each.cells) for each in parts]) for at in (np.max, len))
    unit = np.array([ball_spread(each) / (each - 1) for each in cells.tolist()])
    tells = cover.tells(options)
    tells = np.asarray(tells if isinstance(tells, np.ndarray) else tells.toarray())
    told = 2 * tells / np.where(folded, FOLDED, np.where(plain, 1.0, unit))
    share = told / told.sum(axis=1, keepdims=True)
    each = cover.effects[1] @ np.divide(share**2, told, out=np.zeros_like(share), where=told > 0)
    own = np.repeat(each[:, None] / classes, classes, axis=1)
    dimensions = np.repeat((many * (cells - 1) // classes)[:, None], classes, axis=1)
    hits = _hits(cover, options)
    return TableChoice(
        options, shared, dimensions, own, each * cells * (cells + 1), told, cover.effects[1], hits, plain
    )


def _hits(cover: Cover, options: Sequence[Option]) -> NDArray[np.bool_]:
    """Return which tables an edge changes, where no edge leaves what is counted."""
    return cover.losses(options) > 0


def find_largest(sets: Sequence[Places], width: int) -> list[Places]:
    """Return the sets of columns that are not part of another."""
    bits = np.zeros((len(sets), width), dtype=bool)
    for row, places in enumerate(sets):
        bits[row, list(places)] = True
    rows, columns = find_within(bits, bits, np.zeros_like(bits))
    many = bits.sum(axis=1)
    inside = set(rows[many[rows] < many[columns]].tolist())
    return [each for number, each in enumerate(sets) if number not in inside]
