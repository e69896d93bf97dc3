"""Searches which tables to measure, and how precisely, so that asked marginals come out best.

Never sees rows. A table over columns S tells every effect T within S: the part of a table over T that
varies with all its columns. With noise of variance v in each cell it tells T, summed over the other
columns, with variance v * cells(S - T). The estimates of one effect from several tables are independent, so
their inverse variances add, and the error of all answers is a sum over effects.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.tables.sensitivity import Changes
from pandas_blowfish.plan.tables.weights import best_weights

Places = tuple[int, ...]
Option = tuple[Places, Places]  # the columns of a table, and those of them that are folded
Mask = NDArray[np.bool_]
MAX_EFFECTS = 20_000
MAX_OPTIONS = 1_500
MAX_TABLE = 10**6  # cells of a table that is not asked for
LARGE = 400_000  # effects times tables, beyond which searches are kept apart
STEP = 256  # tables that are compared with all effects at once
FAINT = 3.0  # logarithm by which what a search does not start from is lighter


@dataclass(frozen=True, eq=False)
class Cover:
    """Asked sets of columns, and what decides about measuring them.

    Attributes:
        sizes: The number of cells of each column.
        asked: The sets of columns, and how often each is asked for.
        parts: How many groups of cells each column has that no edge leaves; None where nothing is exact.
        changes: Which columns one edge may change at once.
        secret: Whether an edge may change a column at all.
    """

    sizes: tuple[int, ...]
    asked: tuple[tuple[Places, int], ...]
    parts: Sequence[int] | None
    changes: Changes
    secret: tuple[bool, ...]

    @cached_property
    def effects(self) -> tuple[list[Places], Floats]:
        """Return the effects that need noise, and what each one's variance adds to the answers' in sum."""
        found: dict[Places, float] = {}
        if sum(2 ** len(each) for each, _ in self.asked) > 8 * MAX_EFFECTS:
            many = sum(2 ** len(each) for each, _ in self.asked)
            raise DomainTooLargeError("the effects of these tables", many, 8 * MAX_EFFECTS, fix=_FIX)
        for table, times in self.asked:
            for many in range(len(table) + 1):
                for effect in itertools.combinations(table, many):
                    rest = self.cells(table) / self.cells(effect)
                    found[effect] = found.get(effect, 0.0) + times * self.noisy(effect) / rest
        kept = {effect: weight for effect, weight in found.items() if weight > 0}
        if len(kept) > MAX_EFFECTS:
            raise DomainTooLargeError("the effects of these tables", len(kept), MAX_EFFECTS, fix=_FIX)
        return list(kept), np.array(list(kept.values()))

    def cells(self, places: Iterable[int]) -> int:
        """Return the number of cells of a table."""
        return math.prod(self.sizes[place] for place in places)

    def noisy(self, effect: Places) -> int:
        """Return in how many dimensions an effect varies that is not exact."""
        exact = 0 if self.parts is None else math.prod(self.parts[place] - 1 for place in effect)
        return math.prod(self.sizes[place] - 1 for place in effect) - exact

    def foldable(self, places: Places) -> Places:
        """Return the columns of two values that may change: of these the difference can be measured."""
        two = (p for p in places if self.sizes[p] == 2 and self.secret[p])
        return tuple(p for p in two if self.parts is None or self.parts[p] == 1)

    def bits(self, sets: Sequence[Places]) -> Floats:
        """Return sets of columns as rows of zeros and ones."""
        found = np.zeros((len(sets), len(self.sizes)))
        for row, places in enumerate(sets):
            found[row, list(places)] = 1.0
        return found

    def tells(self, options: Sequence[Option]) -> Any:
        """Return how precisely each table tells each effect at weight 1: effects x tables, 0 for not.

        Few of many tables tell an effect: beyond `LARGE` the matrix is scipy sparse.
        """
        from scipy.sparse import csr_array

        effects, tables = self.bits(self.effects[0]), self.bits([table for table, _ in options])
        folded = self.bits([fold for _, fold in options])
        logs = np.log(np.array(self.sizes, dtype=float))
        inner, outer, turns = effects @ logs, tables @ logs, folded.sum(axis=1) * np.log(2)
        rows, columns = find_within(effects > 0, tables > 0, folded > 0)
        told = 0.5 * np.exp(turns[columns] - (outer[columns] - inner[rows]))  # cells(S - T)
        shape = (len(effects), len(tables))
        if math.prod(shape) > LARGE:
            return csr_array((told, (rows, columns)), shape=shape)
        found = np.zeros(shape)
        found[rows, columns] = told
        return found

    def losses(self, options: Sequence[Option]) -> Ints:
        """Return by how much each table changes over an edge: patterns (then leaving) x tables."""
        tables, folded = (self.bits([option[part] for option in options]) > 0 for part in (0, 1))
        return self.changes.losses(tables, folded)


def find_within(effects: Mask, tables: Mask, folded: Mask) -> tuple[Ints, Ints]:
    """Return which effects lie within which tables and hold all that is folded there: pairs of rows.

    Examples:
        >>> sets = np.array([[True, False], [True, True]])
        >>> [each.tolist() for each in find_within(sets, sets, np.zeros((2, 2), dtype=bool))]
        [[0, 0, 1], [0, 1, 1]]
    """
    inner, outer, turned = _words(effects), _words(tables), _words(folded)
    found: list[tuple[Ints, Ints]] = []
    for first in range(0, max(len(tables), 1), STEP):
        apart = np.zeros((len(effects), len(tables[first : first + STEP])), dtype=bool)
        own = zip(inner.T, outer[first : first + STEP].T, turned[first : first + STEP].T, strict=True)
        for effect, table, fold in own:
            apart |= (effect[:, None] & ~table) != 0
            if fold.any():
                apart |= (fold & ~effect[:, None]) != 0
        inside, place = np.nonzero(~apart)
        found.append((inside, first + place))
    rows, columns = (np.concatenate([each[side] for each in found]) for side in (0, 1))
    order = np.lexsort([columns, rows])
    return rows[order], columns[order]


def _words(sets: Mask) -> NDArray[np.uint64]:
    """Return sets as numbers of 64 bits."""
    wide = np.zeros((len(sets), -(-max(sets.shape[1], 1) // 64) * 64), dtype=bool)
    wide[:, : sets.shape[1]] = sets
    return np.packbits(wide, axis=1).view(np.uint64)


_FIX = "ask for tables of fewer columns, or for fewer of them."


def find_tables(cover: Cover) -> list[tuple[Places, Places, int]]:
    """Return tables with folded columns and whole weights, of the least expected error found.

    Scales are inverses of the weights. Nothing is returned where everything asked for is exact.
    """
    effects = cover.effects[0]
    if not effects:
        return []
    options, chosen = _options(cover)
    if len(effects) * len(options) > LARGE:  # each start by itself, without what it leaves out
        found = [_weighed(cover, [each for each in options if each in start], [start]) for start in chosen]
        return min((each for each in found if each is not None), key=lambda each: each[1])[0]
    weighed = _weighed(cover, options, chosen)
    assert weighed is not None
    return weighed[0]


def _weighed(
    cover: Cover, options: list[Option], chosen: list[set[Option]]
) -> tuple[list[tuple[Places, Places, int]], float] | None:
    """Return the best weights of some tables, and their error; None if they do not tell all effects."""
    tells = cover.tells(options)
    if not (tells @ np.ones(len(options)) > 0).all():
        return None
    starts = [np.array([0.0 if option in start else -FAINT for option in options]) for start in chosen]
    losses = cover.losses(options).astype(float)
    weights, error = best_weights(tells, losses, cover.effects[1], starts)
    return [(*options[place], int(weights[place])) for place in np.flatnonzero(weights)], error


def _options(cover: Cover) -> tuple[list[Option], list[set[Option]]]:
    """Return what may be measured, and which of it searches start from."""
    asked = [table for table, _ in cover.asked]
    bits = cover.bits(asked) > 0
    rows, columns = find_within(bits, bits, np.zeros_like(bits))
    many = bits.sum(axis=1)
    inside = set(rows[many[rows] < many[columns]].tolist())
    largest = [each for number, each in enumerate(asked) if number not in inside]
    effects = cover.effects[0]
    merged = [_merged(cover, largest, dense=dense) for dense in (False, True)]
    plain = dict.fromkeys([*largest, *asked, *merged[0], *merged[1]])
    if len(effects) <= MAX_OPTIONS:
        plain.update(dict.fromkeys(effects))
    folded = {(each, cover.foldable(each)) for each in plain if cover.foldable(each)}
    options: list[Option] = list(dict.fromkeys([*((each, ()) for each in plain), *sorted(folded)]))
    starts: list[set[Option]] = [{(each, ()) for each in chosen} for chosen in (largest, *merged)]
    starts.append({(each, ()) for each in asked})  # a table within another may cost nothing more
    starts.append({(each, cover.foldable(each)) for each in effects})
    starts.append(set(options))
    distinct: list[set[Option]] = []
    for start in starts:
        if start & set(options) and start not in distinct:
            distinct.append(start)
    return options, distinct


def _merged(cover: Cover, largest: Sequence[Places], *, dense: bool) -> list[Places]:
    """Return a cover of the asked tables by fewer, larger ones, as far as that seems to pay off.

    Alone, a table S from which k asked tables are read costs about C = k cells(S) at weight 1, and tables
    of costs C with the best weights cost (sum of C^(1/3))^3 together. One table after another is grown by
    single columns: as long as what it saves grows, or (`dense`) what it saves in proportion to its own cost.
    """
    need = cover.bits(largest) > 0
    logs = np.log(np.array(cover.sizes, dtype=float))
    own = np.exp((need @ logs) / 3)
    order = np.argsort(own, kind="stable")
    stride = next(
        step for step in range(max(len(order) // 3, 1), len(order) + 2) if math.gcd(step, len(order)) == 1
    )
    tried = [
        _grow_all(need, own, logs, each, dense=dense)
        for each in (order, order[::-1], order[np.arange(len(order)) * stride % len(order)])
    ]
    _, best = min(tried, key=lambda each: each[0])
    return [tuple(np.flatnonzero(table).tolist()) for table in best]


def _grow_all(need: Mask, own: Floats, logs: Floats, order: Ints, *, dense: bool) -> tuple[float, list[Mask]]:
    """Return tables grown one after another from those in an order, and what they cost together."""
    left, cost = np.ones(len(need), dtype=bool), 0.0
    sizes, by_column = need.sum(axis=1), np.asfortranarray(need)
    found: list[Mask] = []
    for start in order:
        if not left[start]:
            continue
        table, best, paid = need[start], -np.inf, 0.0
        lacking = sizes - by_column[:, table].sum(axis=1)  # how many columns of each set are not in the table
        while True:
            inside = lacking == 0
            price = float(np.exp((table @ logs + np.log(inside.sum())) / 3))
            saved = float(own[inside & left].sum())
            worth = saved / price if dense else saved - price
            if worth <= best + 1e-9 or (table @ logs > np.log(MAX_TABLE) and found):
                break
            best, kept, paid, covered = worth, table, price, inside
            if not table.all():
                column = _find_column(need, left, own, table, lacking, logs, dense=dense)
                table, lacking = table.copy(), lacking - by_column[:, column]
                table[column] = True
        found.append(kept)
        cost += paid
        left &= ~covered
    return cost, found


def _find_column(
    need: Mask, left: Mask, own: Floats, table: Mask, lacking: Ints, logs: Floats, *, dense: bool
) -> int:
    """Return the column more of a table that pays off best."""
    columns = np.flatnonzero(~table)
    one = np.flatnonzero(lacking == 1)
    next_one = np.argmax(need[one] & ~table, axis=1)  # what the sets that lack one column lack
    held = float(own[(lacking == 0) & left].sum())
    saved = np.bincount(next_one, (own * left)[one], len(table)) + held
    inside = np.bincount(next_one, minlength=len(table)) + int((lacking == 0).sum())
    price = np.exp((table @ logs + logs + np.log(np.maximum(inside, 1))) / 3)
    worth = saved / price if dense else saved - price
    return int(columns[int(np.argmax(worth[columns]))])
