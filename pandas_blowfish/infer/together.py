"""Tables over several sets of columns as one list of counts, that agree with known answers and each other.

Free post-processing: never sees rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.agree import agree
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.strategy.residual import Residual
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Together:
    """All cells of some tables, one after another.

    Attributes:
        sizes: How many cells each column has.
        order: The tables, by their columns.
        spread: The variance of each cell.
        facts: What is known of the cells.
        ties: That tables agree with each other and with exact totals.
    """

    sizes: Sequence[int]
    order: tuple[Places, ...]
    spread: Floats
    facts: list[Family]
    ties: list[Family]

    @classmethod
    def of(cls, measurement: Residual, tables: Mapping[Places, Floats], given: Given) -> Together:
        """Return the cells of estimated tables, and what is known of them."""
        question, order = measurement.question, tuple(tables)
        starts = np.cumsum([0, *(table.size for table in tables.values())])
        size, facts, ties = int(starts[-1]), [], []
        named = {name for fact in given.facts for name in fact.columns}
        for number, (places, start) in enumerate(zip(order, starts, strict=False)):
            columns = {question.domain.columns[place] for place in places}
            if number == 0 or columns & named or question.condition is not None:
                found = given.over(question.table(places))
                facts += [_placed(family, start, size) for family in found]
            if measurement.groups is not None:
                ties.append(_placed(_exact(measurement, places, tables[places]), start, size))
        ties += [
            _tied(question.sizes, order, starts, pair, shared)
            for shared, pairs in _shared(order)
            for pair in pairs
        ]
        spread = np.concatenate([measurement.table_variances(each).ravel() for each in order])
        return cls(question.sizes, order, spread, facts, ties)

    def agreed(self, tables: Mapping[Places, Floats], *, positive: bool) -> dict[Places, Floats]:
        """Return tables near those given that agree with all that is known, perhaps nowhere negative."""
        listed = np.concatenate([tables[places].ravel() for places in self.order])
        found = agree(listed, [*self.facts, *self.ties], positive=positive, spread=self.spread)
        shapes = [tuple(self.sizes[place] for place in places) for places in self.order]
        cuts = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        parts = zip(self.order, np.split(found, cuts), shapes, strict=True)
        return {places: part.reshape(shape) for places, part, shape in parts}


def _placed(family: Family, start: int, size: int) -> Family:
    """Return what is known of one table as known of all, whose cells begin at a place."""
    labels = np.full(size, -1, dtype=np.int64)
    labels[start : start + len(family.labels)] = family.labels
    return Family(labels, family.totals, family.rows)


def _exact(measurement: Residual, places: Places, table: Floats) -> Family:
    """Return the exact totals of products of groups, which an estimated table has already."""
    assert measurement.groups is not None
    labels = np.zeros(1, dtype=np.int64)
    for place in places:
        own = measurement.groups[place]
        labels = (labels[:, None] * (int(own.max(initial=-1)) + 1) + own).ravel()
    return Family(labels, np.rint(np.bincount(labels, table.ravel())))


def _shared(order: Sequence[Places]) -> list[tuple[Places, list[tuple[int, int]]]]:
    """Return sets of columns that tables share, largest first, and pairs of tables to compare over each.

    Tables that agree on more columns by other pairs need no pair of their own.
    """
    both = {tuple(sorted(set(one) & set(two))) for one, two in itertools.combinations(order, 2)}
    found: list[tuple[Places, list[tuple[int, int]]]] = []
    for shared in sorted(both, key=lambda each: (-len(each), each)):
        holders = [number for number, each in enumerate(order) if set(shared) <= set(each)]
        group = {number: number for number in holders}
        for wider, pairs in found:
            if set(shared) <= set(wider):
                for one, two in pairs:
                    _join(group, one, two)
        pairs = []
        for number in holders[1:]:
            if group[number] != group[holders[0]]:
                pairs.append((holders[0], number))
                _join(group, holders[0], number)
        if pairs:
            found.append((shared, pairs))
    return found


def _join(group: dict[int, int], one: int, two: int) -> None:
    old, new = group[two], group[one]
    for number, own in group.items():
        if own == old:
            group[number] = new


def _tied(
    sizes: Sequence[int], order: Sequence[Places], starts: Ints, pair: tuple[int, int], shared: Places
) -> Family:
    """Return that two tables have the same sums over the columns they do not share."""
    from scipy.sparse import eye_array, hstack

    many = math.prod(sizes[place] for place in shared)
    labels = np.full(int(starts[-1]), -1, dtype=np.int64)
    for side, number in enumerate(pair):
        own = np.zeros(1, dtype=np.int64)
        for place in order[number]:
            held = place in shared
            step = np.arange(sizes[place]) if held else np.zeros(sizes[place], dtype=np.int64)
            own = (own[:, None] * (sizes[place] if held else 1) + step).ravel()
        labels[starts[number] : starts[number + 1]] = own + side * many
    one = eye_array(many, dtype=np.int64)
    return Family(labels, np.zeros(many, dtype=np.int64), hstack([one, -one], format="csr"))
