"""Searches which tables draw their noise together, and how a charge is split between such groups of tables.

Never sees rows. Noise of a group has P(z) proportional to exp(-N(z) / scale), N the largest norm of its
tables, so an edge that changes some of them loses 1 / scale, however many these are. In D dimensions such a z
is uniform in a ball whose radius r has a mean of (D + 1) (D + 2) scale^2 for its square: what each table adds
to the error is that times a constant of its own, the error of a point that is uniform in its unit ball.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import MAX_CLIQUE, MAX_DIMENSION
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.cover import Cover, Option, Places, find_within
from pandas_blowfish.plan.tables.weights import best_weights
from pandas_blowfish.policy.graph.secret_graph import connect

Together = tuple[tuple[int, ...], ...]  # numbers of tables, group after group
MAX_KINDS = 400  # of tables, that are told apart by a search for groups
MAX_APART = 200  # tables up to which each may be a group of its own
FOLDED = 4 / 3  # the variance of a number that is uniform between -2 and 2


@lru_cache(maxsize=1024)
def clique_spread(cells: int) -> float:
    """Return the mean squared length of a point that is uniform in the unit ball of a clique.

    Where j cells are above 0, these and the others are uniform parts of 1 and of -1.

    Examples:
        >>> round(clique_spread(2), 6), round(12 * clique_spread(3) / 3, 6)
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
class Measured:
    """Tables that may be measured together.

    Attributes:
        options: Their columns, and those of them that are folded: none, or all.
        dimensions: In how many dimensions the noise of each varies.
        told: How precisely each table tells each answer that is sought, effects x tables, with noise that is
            uniform in its unit ball.
        worth: What the variance of each of these adds to the error.
        hits: Whether each table changes over an edge: patterns x tables.
        plain: Which tables are too large for noise that is drawn together: their cells have their own.
    """

    options: list[Option]
    dimensions: Ints
    told: Floats
    worth: Floats
    hits: NDArray[np.bool_]
    plain: NDArray[np.bool_]

    @cached_property
    def own(self) -> Floats:
        """Return what each table adds to the error, in its unit ball, where all are equally precise."""
        share = self.told / self.told.sum(axis=1, keepdims=True)
        each = np.divide(share**2, self.told, out=np.zeros_like(share), where=self.told > 0)
        return np.asarray(self.worth @ each)

    def weigh(self, together: Together) -> tuple[float, list[int]]:
        """Return the least error that groups have at epsilon 1, and a whole weight for each."""
        plain = np.array([bool(self.plain[each[0]]) for each in together])
        many = np.array([self.dimensions[list(each)].sum() for each in together])
        square = np.where(plain, 2, (many + 1) * (many + 2))
        told = np.column_stack([self.told[:, list(each)].sum(axis=1) for each in together]) / square
        hits = np.column_stack([self.hits[:, list(each)].any(axis=1) for each in together])
        hits = hits * np.where(plain, 2.0, 1.0)
        costs = np.array([self.own[list(each)].sum() for each in together]) * square
        start = np.log(np.maximum(costs, 1e-300) / np.where(plain, 2, 1)) / 3
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
        logs = np.log(np.maximum(own * (size + 1) * (size + 2), 1e-300))
        for digits in (6, 2, 1, 0):
            kinds, kind = np.unique(np.round(logs, digits), return_inverse=True)
            if len(kinds) <= MAX_KINDS:
                break
        kind = kind.reshape(-1)
        error = np.append(0.0, np.cumsum(np.bincount(kind, own, len(kinds))))
        many = np.append(0.0, np.cumsum(np.bincount(kind, size, len(kinds))))
        least, first = np.zeros(len(kinds) + 1), np.zeros(len(kinds) + 1, dtype=np.int64)
        for end in range(1, len(kinds) + 1):
            wide = many[end] - many[:end]
            cost = np.cbrt((error[end] - error[:end]) * (wide + 1) * (wide + 2))
            cost = np.where((wide > MAX_DIMENSION) & (np.arange(end) < end - 1), np.inf, cost)
            first[end] = int(np.argmin(least[:end] + cost))
            least[end] = least[first[end]] + cost[first[end]]
        found, end = [], len(kinds)
        while end:
            inside = np.flatnonzero((kind >= first[end]) & (kind < end))
            found.append(tuple(int(tables[place]) for place in inside))
            end = int(first[end])
        return _small_enough(found, self.dimensions)

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
        part = (sizes - 1) // MAX_DIMENSION
        found += [tuple(np.array(group)[part == each].tolist()) for each in np.unique(part)]
    return found


@dataclass(frozen=True)
class Found:
    """Tables with the weights of their groups, the groups, and which groups have noise of their own."""

    tables: list[tuple[Places, Places, int]]
    together: Together
    plain: tuple[int, ...]


def find_joint(tried: Sequence[Measured]) -> Found | None:
    """Return the tables and groups of the least error found.

    Args:
        tried: Sets of tables each of which answers what is asked.
    """
    best: tuple[float, Measured, Together, list[int]] | None = None
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
    return Found(tables, groups, tuple(n for n, group in enumerate(together) if made.plain[group[0]]))


def apart(sets: Sequence[Places], components: Sequence[Ints], cover: Cover) -> Measured:
    """Return tables that tell nothing of each other, each asked for, whatever their components are.

    Args:
        sets: Their columns.
        components: For each table how many cells each of its components has.
        cover: How often each is asked for, and what an edge may change.
    """
    often = dict(cover.asked)
    dimensions = np.array([int((each - 1).sum()) for each in components], dtype=np.int64)
    plain = np.array([bool(each.max() > MAX_CLIQUE) for each in components]) | (dimensions > MAX_DIMENSION)
    own = [sum(map(clique_spread, each.tolist())) for each in components]
    own = np.where(plain, dimensions, own)
    worth = [often[places] * each for places, each in zip(sets, own.tolist(), strict=True)]
    options: list[Option] = [(places, ()) for places in sets]
    return Measured(options, dimensions, np.eye(len(sets)), np.array(worth), _hits(cover, options), plain)


def overlapping(options: list[Option], components: Sequence[tuple[int, int]], cover: Cover) -> Measured:
    """Return tables that tell effects together; components of one table are equally large.

    Args:
        options: Their columns, and those that are folded: none, or all.
        components: For each table how many components it has, and how many cells each has.
        cover: How tables, effects and edges hang together.
    """
    unit, dimensions, plain = [], [], []
    for (_, folded), (many, cells) in zip(options, components, strict=True):
        dimensions.append(1 if folded else many * (cells - 1))
        plain.append(not folded and (cells > MAX_CLIQUE or dimensions[-1] > MAX_DIMENSION))
        clique = 1.0 if plain[-1] else clique_spread(cells) / (cells - 1)
        unit.append(FOLDED if folded else clique)
    tells = cover.tells(options)
    tells = np.asarray(tells if isinstance(tells, np.ndarray) else tells.toarray())
    told = 2 * tells / np.array(unit)
    own, many_hit = np.array(dimensions), _hits(cover, options)
    return Measured(options, own, told, cover.effects[1], many_hit, np.array(plain))


def _hits(cover: Cover, options: Sequence[Option]) -> NDArray[np.bool_]:
    """Return which tables an edge changes, where no edge leaves what is counted."""
    return cover.losses(options) > 0


def largest(sets: Sequence[Places], width: int) -> list[Places]:
    """Return the sets of columns that are not part of another."""
    bits = np.zeros((len(sets), width), dtype=bool)
    for row, places in enumerate(sets):
        bits[row, list(places)] = True
    rows, columns = find_within(bits, bits, np.zeros_like(bits))
    many = bits.sum(axis=1)
    inside = set(rows[many[rows] < many[columns]].tolist())
    return [each for number, each in enumerate(sets) if number not in inside]
