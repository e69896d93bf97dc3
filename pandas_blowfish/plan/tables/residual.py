"""Residual: tables over some sets of columns, of which asked marginals are put together effect by effect.

Never sees rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.query_rows import columns_from, shift_rows, tables_matrix
from pandas_blowfish.plan.tables.cover import Cover
from pandas_blowfish.plan.tables.effects import EffectTables
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved
    from pandas_blowfish.plan.tables.question import Marginals

Places = tuple[int, ...]


class WeightedTable(NamedTuple):
    """A table that is measured: its columns, those of two values whose difference is taken, its weight."""

    places: Places
    folded: Places
    weight: int


@dataclass(frozen=True, eq=False)
class Residual(EffectTables):
    """Counts of the cells of several tables, with a scale a table, and exact totals.

    Attributes:
        name: The strategy's name.
        question: The marginals that are asked for.
        tables: What is measured; scales are in inverse proportion to the weights.
        cover: How asked tables, effects and the policy's edges hang together.
        groups: For each column the group of each cell that no edge leaves; None where nothing is exact.
        epsilon: What may be lost.

    Proof note:
        Requires: no touched facts; `Changes.losses` as its note says.
        Ensures:  privacy loss <= epsilon.
        Because:  the scales are the weights' inverses times the largest loss of the weights over epsilon, in
                  fractions; totals of products of groups do not change, as no edge leaves a group.
        Checked:  tests/privacy/test_marginal_loss.py::test_loss_of_random_instances
    """

    name: str
    question: Marginals
    tables: tuple[WeightedTable, ...]
    cover: Cover
    groups: tuple[Ints, ...] | None
    epsilon: Fraction

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return "residual"

    @cached_property
    def losses(self) -> Ints:
        """Return by how much each table changes over an edge."""
        return self.cover.losses([(table.places, table.folded) for table in self.tables])

    @property
    def weights(self) -> list[int]:
        """Return the weight of each table."""
        return [table.weight for table in self.tables]

    @property
    def rows(self) -> list[int]:
        """Return how many rows each table has, then how many are exact."""
        return [*map(math.prod, self.shapes), sum(map(math.prod, self.total_shapes))]

    @cached_property
    def totals(self) -> tuple[Places, ...]:
        """Return the sets of columns whose groups' totals are exact and kept, largest sets alone."""
        if self.groups is None:
            return ()
        found = {self.split(each) for each in self.question.sets}
        return tuple(sorted(each for each in found if not any(set(each) < set(other) for other in found)))

    def split(self, places: Places) -> Places:
        """Return those of some columns that have more than one group."""
        assert self.groups is not None
        return tuple(place for place in places if int(self.groups[place].max(initial=0)) > 0)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each measured table, folded columns left out."""
        sizes = self.question.sizes
        return [tuple(sizes[p] for p in table.places if p not in table.folded) for table in self.tables]

    @cached_property
    def total_shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each table of exact totals."""
        if self.groups is None:
            return []
        return [tuple(int(self.groups[p].max(initial=-1)) + 1 for p in each) for each in self.totals]

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """Return the tables of counts: those with noise, then the exact ones."""
        noisy = [self.question.table(table.places) for table in self.tables]
        groups = self.groups or ()
        exact = [self.question.table(each, [groups[place] for place in each]) for each in self.totals]
        return (*noisy, *exact)

    @property
    def form(self) -> dict[str, Any]:
        """Return the tables as plain data, to read a stored answer by."""
        return {"tables": [[list(table.places), list(table.folded), table.weight] for table in self.tables]}

    @cached_property
    def effect_variances(self) -> dict[Places, float]:
        """Return the variance of each effect that needs noise, as all tables together tell it."""
        effects, _ = self.cover.effects
        if not effects:
            return {}
        tells = 2 * self.cover.tells([(table.places, table.folded) for table in self.tables])
        precise = tells @ (1 / np.array(self.variances_of_tables))
        return dict(zip(effects, (1 / precise).tolist(), strict=True))

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints, asked table after asked table."""
        return self.question.list_answers({each: self.table_variances(each) for each in self.question.sets})

    def table_variances(self, places: Places) -> Floats:
        """Return the variance of each kept cell of an asked table, before shape constraints."""
        sizes = self.question.sizes
        total = np.zeros([sizes[place] for place in places])
        for many in range(len(places) + 1):
            for effect in itertools.combinations(places, many):
                if effect not in self.effect_variances:
                    continue
                rest = math.prod(sizes[place] for place in places if place not in effect)
                outside, exact = np.ones(()), np.ones(())
                for place in places:
                    size, inside = sizes[place], place in effect
                    outside = outside[..., None] * np.full(size, 1 - 1 / size if inside else 1.0)
                    if self.groups is not None:
                        many_alike = np.bincount(self.groups[place])[self.groups[place]]
                        exact = exact[..., None] * (1 / many_alike - 1 / size if inside else np.ones(size))
                left = outside - exact if self.groups is not None else outside
                total += self.effect_variances[effect] / rest**2 * np.maximum(left, 0.0)
        held = self.question.occupied_cells(places)
        total = total if held is None else np.where(held, total, 0.0)
        return np.where(total > 1e-12 * total.max(initial=0.0), total, 0.0)

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return how errors of a single table go together."""
        return self.table_covariance(self.question.asked[0]) if len(self.question.asked) == 1 else None

    def table_covariance(self, places: Places) -> dict[str, Any] | None:
        """Return how errors of an asked table's counts go together, in the order of its columns."""
        from pandas_blowfish.plan.shape.covariance import describe_effects  # here: it reads strategies

        return describe_effects(self, places)

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        if self.question.narrowed:  # some cells may be known to be 0
            return float(self.variances.mean())
        effects, worth = self.cover.effects
        total = sum(self.effect_variances[effect] * each for effect, each in zip(effects, worth, strict=True))
        return float(total) / max(sum(self.question.answers), 1)

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the counts of all tables."""
        sizes, found, at = self.question.sizes, [], 0
        for table in self.tables:
            shape = [sizes[place] for place in table.places]
            each = counts[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
            for place in reversed(table.folded):
                each = np.take(each, 0, axis=table.places.index(place)) - np.take(
                    each, 1, axis=table.places.index(place)
                )
            found.append(each.ravel())
        return np.concatenate([*found, counts[at:]])

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: one cell per table, with a sign where folded."""
        entries: list[tuple[Ints, Ints | int]] = []
        first = 0
        for number, tally in enumerate(self.tallies):
            bins, size = tally.bins_at(cells), tally.size
            value: Ints | int = 1
            if number < len(self.tables) and self.tables[number].folded:
                bins, value = self._folded(self.tables[number], bins)
                size = math.prod(self.shapes[number])
            entries.append((shift_rows(bins, first), value))
            first += size
        return columns_from(entries, len(self.scales))

    def _folded(self, table: WeightedTable, bins: Ints) -> tuple[Ints, Ints]:
        """Return the rows of a table's cells, and 1 or -1 by the values of its folded columns."""
        shape = tuple(self.question.sizes[place] for place in table.places)
        rows, sign = _fold(shape, tuple(place in table.folded for place in table.places))
        return np.where(bins < 0, -1, rows[bins]), sign[bins]

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.tables.solve import solve_marginals  # here: solving needs the strategies

        return solve_marginals(self, values, post, known)

    def matrix(self) -> Any:
        """Return the measured rows x cells of the domain, scipy sparse, refused beyond 10^6 non-zeros."""
        from scipy.sparse import csr_array, eye_array, kron, vstack

        parts = tables_matrix(self.domain, self.tallies)
        for number, table in enumerate(self.tables):
            fold = csr_array(np.ones((1, 1), dtype=np.int64))
            for place in table.places:
                one = (
                    [[1, -1]]
                    if place in table.folded
                    else eye_array(self.question.sizes[place], dtype=np.int64)
                )
                fold = kron(fold, csr_array(one))
            parts[number] = fold @ parts[number]
        return vstack(parts, format="csr").astype(np.int64)


@lru_cache(maxsize=256)
def _fold(shape: tuple[int, ...], folded: tuple[bool, ...]) -> tuple[Ints, Ints]:
    """Return for each cell of a table its row where some columns are folded, and its sign."""
    rows, sign = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for size, fold in zip(shape, folded, strict=True):
        rows = (rows[:, None] * (1 if fold else size) + np.arange(size) * (not fold)).ravel()
        sign = (sign[:, None] * (1 - 2 * np.arange(size) * fold)).ravel()
    return rows, sign
