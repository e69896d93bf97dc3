"""Levels: tables of the nodes of some levels of each column, of which boxes are put together.

Never sees rows. Counting with nodes of one level a column splits into effects, one level a column each, as
tables over sets of columns do (see `plan.cover`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.query_rows import columns_from, shift_rows, tables_matrix
from pandas_blowfish.plan.tables.level_search import Leveled
from pandas_blowfish.plan.tables.scaling import Weighted
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved
    from pandas_blowfish.plan.tables.boxes import Boxes

Tuple = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Levels(Weighted):
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
    leveled: Leveled
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
        boxes = np.flatnonzero(question.some)
        groups = [int(size) for size in question.domain.shape[: question.groups]]
        total = np.zeros((*groups, len(question.some)))
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
        kept = [np.flatnonzero(question.atoms[place] >= 0) for place in range(question.groups)]
        total[np.ix_(*kept, boxes)] = inner
        return np.where(total > 1e-12 * total.max(initial=0.0), total, 0.0).ravel()

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean())

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row: sums of the finest counts."""
        whole = counts.reshape(self.shape(self.finest))
        return np.concatenate([summed(whole, self.shape(levels)).ravel() for levels in self.wanted])

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


def summed(table: NDArray[Any], shape: Tuple) -> NDArray[Any]:
    """Return a table of coarser nodes: along each axis neighbouring ones added up."""
    for axis, count in enumerate(shape):
        if table.shape[axis] != count:
            cut = (*table.shape[:axis], count, table.shape[axis] // count, *table.shape[axis + 1 :])
            table = table.reshape(cut).sum(axis=axis + 1)
    return table
