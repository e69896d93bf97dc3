"""Levels: tables of the nodes of some levels of each column, of which boxes are put together.

Never sees rows. Counting with nodes of one level a column splits into effects, one level a column each, as
tables over sets of columns do (see `cover`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.query_rows import columns_from, shift_rows, tables_matrix
from pandas_blowfish.plan.tables.effects import EffectTables
from pandas_blowfish.plan.tables.ladder import Ladder
from pandas_blowfish.plan.tables.sensitivity import Changes
from pandas_blowfish.plan.tables.weights import best_weights, least_error
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved
    from pandas_blowfish.plan.tables.boxes import Boxes

Tuple = tuple[int, ...]
SAMPLE = 2_000  # boxes that the search looks at
FAINT = 3.0  # logarithm by which what a search does not start from is lighter


@dataclass(frozen=True, eq=False)
class BoxLevels:
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
class Levels(EffectTables):
    """Counts of the nodes of several combinations of levels, with a scale each, and exact ones.

    Attributes:
        name: The strategy's name.
        leveled: Boxes, levels and what edges change.
        radices: Into how many nodes levels are cut, column by column.
        tables: What is measured: a level a column, and a weight; scales are inverses of the weights.
        epsilon: What may be lost.

    Proof note:
        Requires: no touched facts; `Changes.losses` as its note says.
        Ensures:  privacy loss <= epsilon.
        Because:  the nodes of a level are disjoint, so each table counts a row once; an edge changes it by 2
                  only if it changes a column whose nodes at that level are finer than connected parts.
                  The scales are the weights' inverses times their largest loss over epsilon, in fractions.
        Checked:  tests/privacy/test_box_loss.py::test_loss_of_random_instances
    """

    name: str
    leveled: BoxLevels
    radices: tuple[Tuple, ...]
    tables: tuple[tuple[Tuple, int], ...]
    epsilon: Fraction

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return "levels"

    @property
    def question(self) -> Boxes:
        """Return what is asked."""
        return self.leveled.question

    @cached_property
    def losses(self) -> Ints:
        """Return by how much each table changes over an edge."""
        return self.leveled.losses([levels for levels, _ in self.tables])

    @property
    def weights(self) -> list[int]:
        """Return the weight of each table."""
        return [weight for _, weight in self.tables]

    @property
    def rows(self) -> list[int]:
        """Return how many rows each table has, then how many are exact."""
        free = 0 if self.still is None else math.prod(self.shape(self.still))
        return [*(math.prod(self.shape(levels)) for levels, _ in self.tables), free]

    @cached_property
    def still(self) -> Tuple | None:
        """Return the finest levels whose counts are exact; None where nothing is."""
        return tuple(each.still for each in self.leveled.ladders) if self.leveled.exact else None

    def shape(self, levels: Tuple) -> Tuple:
        """Return how many nodes each column has at these levels."""
        return tuple(each.counts[level] for each, level in zip(self.leveled.ladders, levels, strict=True))

    @cached_property
    def wanted(self) -> list[Tuple]:
        """Return the levels of every table: those with noise, then the exact one."""
        return [levels for levels, _ in self.tables] + ([] if self.still is None else [self.still])

    @cached_property
    def finest(self) -> Tuple:
        """Return the finest level of each column that some table is of."""
        return tuple(max(levels) for levels in zip(*self.wanted, strict=True))

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """Return the one table of counts that all others are sums of."""
        return (self.question.table(self.leveled.ladders, self.finest),)

    @property
    def form(self) -> dict[str, Any]:
        """Return levels and weights as plain data, to read a stored answer by."""
        tables = [[list(levels), weight] for levels, weight in self.tables]
        return {"radices": [list(each) for each in self.radices], "tables": tables}

    @cached_property
    def effect_variances(self) -> dict[Tuple, float]:
        """Return the variance of each effect that needs noise, as all tables together tell it."""
        if not self.leveled.effects:
            return {}
        precise = self.leveled.tells([levels for levels, _ in self.tables]) @ (
            1 / np.array(self.variances_of_tables)
        )
        return dict(zip(self.leveled.effects, (1 / precise).tolist(), strict=True))

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints: groups outermost."""
        question = self.question
        boxes = np.flatnonzero(question.nonempty)
        groups = [int(size) for size in question.whole.shape[: question.groups]]
        total = np.zeros((*groups, len(question.nonempty)))
        if question.empty or not len(boxes):
            return total.ravel()
        single, spread = self.leveled.norms(boxes)
        inner = np.zeros((*(norms.shape[1] for norms in single), len(boxes)))
        for effect, each in self.effect_variances.items():
            size: Floats = np.full(len(boxes), each)
            for norms, level in zip(spread, effect[len(single) :], strict=True):
                size = size * norms[level]
            for norms, level in zip(single[::-1], effect[: len(single)][::-1], strict=True):
                size = norms[level].reshape(-1, *[1] * size.ndim) * size
            inner += size
        total[np.ix_(*question.kept_groups, boxes)] = inner
        return np.where(total > 1e-12 * total.max(initial=0.0), total, 0.0).ravel()

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean())

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row: sums of the finest counts."""
        whole = counts.reshape(self.shape(self.finest))
        return np.concatenate([sum_nodes(whole, self.shape(levels)).ravel() for levels in self.wanted])

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.tables.solve_boxes import solve_levels  # here: solving needs the strategies

        return solve_levels(self, values, post, known)

    def matrix(self) -> Any:
        """Return the measured rows x cells of the domain, scipy sparse, refused beyond 10^6 non-zeros."""
        from scipy.sparse import vstack

        return vstack(tables_matrix(self.domain, self._tables), format="csr").astype(np.int64)

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: one node per table."""
        entries: list[tuple[Ints, Ints | int]] = []
        first = 0
        for table in self._tables:
            entries.append((shift_rows(table.bins_at(cells), first), 1))
            first += table.size
        return columns_from(entries, len(self.scales))

    @cached_property
    def _tables(self) -> list[Tally]:
        return [self.question.table(self.leveled.ladders, levels) for levels in self.wanted]


def sum_nodes(table: NDArray[Any], shape: Tuple) -> NDArray[Any]:
    """Return a table of coarser nodes: along each axis neighbouring ones added up."""
    for axis, count in enumerate(shape):
        if table.shape[axis] != count:
            cut = (*table.shape[:axis], count, table.shape[axis] // count, *table.shape[axis + 1 :])
            table = table.reshape(cut).sum(axis=axis + 1)
    return table


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


def search(leveled: BoxLevels) -> Search:
    """Return the search for the best tables of nodes; some effect must need noise."""
    effects = leveled.effects
    boxes = np.flatnonzero(leveled.question.nonempty)
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
