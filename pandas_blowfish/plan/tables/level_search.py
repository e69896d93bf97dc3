"""Boxes over columns cut into levels: effects, what tables tell of them, and the search for the best tables.

Never sees rows. Counting with nodes of one level a column splits into effects, one level a column each, as
tables over sets of columns do (see `plan.cover`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.tables.ladder import Ladder
from pandas_blowfish.plan.tables.sensitivity import Changes
from pandas_blowfish.plan.tables.weights import best_weights, least_error

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.boxes import Boxes

Tuple = tuple[int, ...]
SAMPLE = 2_000  # boxes that the search looks at
FAINT = 3.0  # logarithm by which what a search does not start from is lighter


@dataclass(frozen=True, eq=False)
class Leveled:
    """Boxes, the levels their columns are cut into, and what edges change."""

    question: Boxes
    ladders: tuple[Ladder, ...]
    changes: Changes

    @property
    def exact(self) -> bool:
        """Tell whether counts of nodes that no edge leaves are exact."""
        return not self.changes.leaves or self.question.empty

    @cached_property
    def combinations(self) -> list[Tuple]:
        """Return every choice of one level a column."""
        return list(itertools.product(*(range(each.levels) for each in self.ladders)))

    def is_still(self, levels: Tuple) -> bool:
        """Tell whether no edge changes the counts of nodes of these levels."""
        return all(level <= each.still for level, each in zip(levels, self.ladders, strict=True))

    @cached_property
    def effects(self) -> list[Tuple]:
        """Return the effects that need noise."""
        if self.question.empty:
            return []
        return [each for each in self.combinations if not (self.exact and self.is_still(each))]

    def ratio(self, fine: Tuple, coarse: Tuple) -> int:
        """Return how many nodes of a fine combination one of a coarse one holds; 0 if it is not coarser."""
        if any(a < b for a, b in zip(fine, coarse, strict=True)):
            return 0
        pairs = zip(self.ladders, fine, coarse, strict=True)
        return math.prod(each.counts[a] // each.counts[b] for each, a, b in pairs)

    def tells(self, tables: Sequence[Tuple]) -> Floats:
        """Return how precisely each table tells each effect at variance 1: effects x tables, 0 for not."""
        ratios = np.array(
            [[self.ratio(table, each) for table in tables] for each in self.effects], dtype=float
        )
        return np.asarray(np.divide(1.0, ratios, out=np.zeros(ratios.shape), where=ratios > 0))

    def losses(self, tables: Sequence[Tuple]) -> Ints:
        """Return by how much each table changes over an edge."""
        seen = np.zeros((len(tables), len(self.question.domain.columns)), dtype=bool)
        for row, levels in enumerate(tables):
            pairs = zip(levels, self.ladders, strict=True)
            seen[row, : len(levels)] = [level > each.still for level, each in pairs]
        return self.changes.losses(seen)

    def norms(self, boxes: Ints) -> tuple[list[Floats], list[Floats]]:
        """Return the sizes of effects: of the single values of each group, and of some boxes by column."""
        groups = self.question.groups
        single = []
        for each in self.ladders[:groups]:
            atoms = np.arange(len(each.leaf_of))
            single.append(each.norms(atoms, atoms + 1))
        spans = [(start[boxes], stop[boxes]) for start, stop in self.question.spans]
        pairs = zip(self.ladders[groups:], spans, strict=True)
        return single, [each.norms(*span) for each, span in pairs]


@dataclass(frozen=True, eq=False)
class Search:
    """What the search for tables of some levels needs: options, starts, and how good they are."""

    options: list[Tuple]
    tells: Floats
    losses: Floats
    worth: Floats
    starts: list[Floats]

    def error(self) -> float:
        """Return nearly the least error there is."""
        return least_error(self.tells, self.losses, self.worth, self.starts)

    def tables(self) -> tuple[list[tuple[Tuple, int]], float]:
        """Return tables with whole weights of the least expected error found, and that error."""
        weights, error = best_weights(self.tells, self.losses, self.worth, self.starts)
        return [(self.options[place], int(weights[place])) for place in np.flatnonzero(weights)], error


def search(leveled: Leveled) -> Search:
    """Return the search for the best tables of nodes; some effect must need noise."""
    effects = leveled.effects
    boxes = np.flatnonzero(leveled.question.some)
    boxes = boxes[np.linspace(0, max(len(boxes) - 1, 0), min(SAMPLE, len(boxes))).astype(np.int64)]
    single, spread = leveled.norms(boxes)
    worth = np.empty(len(effects))
    for row, effect in enumerate(effects):
        groups, own = effect[: len(single)], effect[len(single) :]
        each = math.prod(float(norms[level].mean()) for norms, level in zip(single, groups, strict=True))
        size = np.ones(len(boxes))
        for norms, level in zip(spread, own, strict=True):
            size = size * norms[level]
        worth[row] = each * float(size.mean()) if len(boxes) else each
    worth = np.maximum(worth, 1e-12 * worth.max(initial=1e-300))  # all effects stay told
    options = effects  # tables of levels that no edge changes are exact, or needed
    finest = tuple(each.levels - 1 for each in leveled.ladders)
    diagonal = {tuple(min(level, most) for most in finest) for level in range(1, max(finest) + 1)}
    starts = [np.array([0.0 if each in diagonal else -FAINT for each in options]), np.zeros(len(options))]
    losses = leveled.losses(options).astype(float)
    return Search(options, 0.5 * leveled.tells(options), losses, worth, starts)
