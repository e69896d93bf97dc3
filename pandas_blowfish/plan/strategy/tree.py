"""Tree transform: the sum under each edge of a spanning forest, one exact root a piece. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.plan.crossing import Crossing
from pandas_blowfish.plan.forest import Forest, forest
from pandas_blowfish.plan.law import variance
from pandas_blowfish.plan.line import Line
from pandas_blowfish.plan.measurement import OneTable
from pandas_blowfish.plan.rows import exact_rows, exact_totals, row_matrix, shifted, sparse_from
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.spans import Spans
from pandas_blowfish.plan.strategy.identity import PROOF_EXACT
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]

PROOF = (
    "Sums under the edges of a spanning forest of the policy's graph: moving a row from one atom to another "
    "changes, by one each, just the sums under the edges on the path between them. The longest such path "
    "through an edge gives its scale, so the scales along any path add up to at most epsilon = {epsilon} "
    "(measured stretch {stretch}). Totals of pieces that no edge changes have scale 0. The answers are "
    "differences of these rows, which is post-processing."
)


@dataclass(frozen=True, eq=False)
class Tree(OneTable):
    """The sum at or under each atom that is no root, and the totals of pieces.

    Proof note:
        Requires: no touched facts.
        Ensures:  privacy loss <= epsilon; each path between joined atoms loses at most
                  sum over its edges of 1 / (longest path through the edge), in units of epsilon.
        Because:  each summand is at most 1 / (length of this path). Where rows can leave, or change the
                  line, a path leads up to and over the root, and all scales are the longest path's.
                  Along a reach, the furthest atom and the one before it have the longest paths.
        Checked:  tests/plan/strategy/test_tree.py::test_loss_matches_enumeration
    """

    asked: Spans
    line: Line
    epsilon: Fraction

    name = "tree"
    proof_id = "tree"

    @property
    def tally(self) -> Tally:
        """Return what is counted."""
        return self.asked.tally

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""
        return self.asked.index

    @property
    def open(self) -> bool:
        """Tell whether the totals of pieces are measured, because some are not exact."""
        return not bool(self.line.piece_exact.alone.all())

    @cached_property
    def forest(self) -> Forest:
        """Return the forest that is measured."""
        return forest(self.line)

    @cached_property
    def rows(self) -> Ints:
        """Return the atoms whose sums are measured: all, or all but roots."""
        atoms = np.arange(self.line.size)
        return atoms if self.open else np.setdiff1d(atoms, self.forest.roots)

    @cached_property
    def _longest(self) -> Ints:
        """Return for each measured row the longest path through it, 0 for one no edge changes."""
        line, tree = self.line, self.forest
        if line.listed is None:
            reach = line.reach
            atoms = np.arange(line.size)
            before = np.maximum(reach - 1, atoms)
            pairs = np.concatenate([np.column_stack([atoms, reach]), np.column_stack([atoms, before])])
        else:
            pairs = line.listed
        longest = tree.longest_paths(pairs)
        if line.listed is not None and not len(line.away) and not len(line.across):
            return longest[self.rows]
        most = int(longest.max(initial=0))
        if len(line.away):
            most = max(most, int(tree.depth[line.away].max()) + self.open)
        if len(line.across):
            ends = tree.depth[line.across] + self.open
            most = max(most, 2 * int(ends.max()))
        return np.full(len(self.rows), most)

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours: the measured stretch."""
        return Fraction(int(self._longest.max(initial=0)))

    @cached_property
    def _scales(self) -> Scales:
        """Return the scales of the rows of one line."""
        values, codes = np.unique(np.maximum(self._longest, 1), return_inverse=True)
        return Scales([Fraction(int(value)) / self.epsilon for value in values], codes.reshape(-1))

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a measured row, then 0 for the exact totals."""
        exact, one = self.line.piece_exact, self._scales
        free = np.full(int(exact.alone.sum()) + exact.totals, len(one.values))
        codes = np.concatenate([np.tile(one.codes, self.line.groups), free])
        return Scales([*one.values, Fraction(0)], codes)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(stretch=self.sensitivity, epsilon=self.epsilon)

    @property
    def form(self) -> dict[str, Any]:
        """Return nothing: the forest follows from the policy."""
        return {}

    @cached_property
    def row_variances(self) -> Floats:
        """Return the variance of each measured row of one line."""
        each = [min(max(variance(scale), 1e-200), 1e200) for scale in self._scales.values]
        return self._scales.spread(each)

    @cached_property
    def _crossing(self) -> Crossing:
        """Return the edges of the forest, with the variances of their sums."""
        each = np.zeros(self.line.size)
        each[self.rows] = self.row_variances
        inner = np.flatnonzero(self.forest.parent != np.arange(self.line.size))
        return Crossing(inner, self.forest.parent[inner], each[inner], self.line.size)

    @cached_property
    def root_variances(self) -> Floats:
        """Return the variance of each piece's total, lines x atoms (0 where there is no root)."""
        exact, roots = self.line.piece_exact, self.forest.roots
        found = np.zeros((self.line.groups, self.line.size))
        if not self.open:
            return found
        own = self.row_variances[np.searchsorted(self.rows, roots)]
        pieces = self.line.pieces[roots]
        count = int(self.line.pieces.max(initial=-1)) + 1
        alone = exact.alone.reshape(-1, count)[:, pieces]
        total_of = exact.total_of.reshape(-1, count)[:, pieces]
        each = np.broadcast_to(own, alone.shape)
        left = np.where(alone, 0.0, each)
        inside = total_of >= 0
        if inside.any():
            together = np.bincount(total_of[inside], each[inside], exact.totals)
            left[inside] = (each - each**2 / together[total_of])[inside]
        found[:, roots] = left
        return found

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints."""
        starts, stops = self.asked.ends
        over = self._crossing.variances(starts, stops)
        sums = np.concatenate(
            [np.zeros((self.line.groups, 1)), np.cumsum(self.root_variances, axis=1)], axis=1
        )
        found = np.asarray(over + sums[:, stops] - sums[:, starts]).ravel()
        return np.where(found > 1e-9 * found.max(initial=0.0), found, 0.0)

    @cached_property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        if self.asked.kind != "all":
            return float(self.variances.mean())
        k = self.line.size
        holding = (np.arange(k) + 1.0) * (k - np.arange(k))  # how many ranges hold each atom
        roots = float((self.root_variances * holding).sum()) / self.line.groups
        return (self._crossing.all_ranges() + roots) / self.asked.per_line

    def measured(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the bins' counts."""
        by_line = counts.reshape(self.line.groups, -1)
        totals = exact_totals(by_line, self.line.pieces, self.line.piece_exact)
        return np.concatenate([self._sums(by_line).ravel(), totals])

    def _sums(self, by_line: Ints) -> Ints:
        return self.forest.sums(by_line)[:, self.rows]

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells."""
        bins = self.tally.bins_at(cells)
        return sparse_from(self._entries(np.arange(len(bins)), bins, 1), (len(self.scales), len(bins)))

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much the rows change: those along the path between the ends."""
        start, end = (self.tally.bins_at(cells) for cells in (before, after))
        groups, (one, two) = start // self.line.size, (start % self.line.size, end % self.line.size)
        pieces = self.line.pieces
        same = (start >= 0) & (end >= 0) & (groups == end // self.line.size) & (pieces[one] == pieces[two])
        near, far = np.flatnonzero(same), np.flatnonzero(~same)
        entries = self._entries(far, start[far], -1) + self._entries(far, end[far], 1)
        for atoms, active, first in self.forest.climb(np.column_stack([one[near], two[near]])):
            row = self._row_of[atoms] + groups[near][active] * len(self.rows)
            entries.append((near[active], row, np.where(first, -1, 1)))
        return sparse_from(entries, (len(self.scales), len(before)))

    @cached_property
    def _row_of(self) -> Ints:
        """Return the row of one line that each atom's sum is, -1 for none."""
        found = np.full(self.line.size, -1, dtype=np.int64)
        found[self.rows] = np.arange(len(self.rows))
        return found

    def _entries(self, columns: Ints, bins: Ints, sign: int) -> list[tuple[Ints, Ints, Ints]]:
        """Return the entries of the columns of some bins, -1 for none."""
        found, (group, atom) = [], np.divmod(bins, self.line.size)
        for column in np.flatnonzero(bins >= 0).tolist():
            own = self._row_of[self.forest.above(int(atom[column]))]
            rows = shifted(own, int(group[column]) * len(self.rows))
            found.append((np.full(len(rows), columns[column]), rows, np.full(len(rows), sign)))
        part = np.where(bins < 0, -1, group * (int(self.line.pieces.max(initial=-1)) + 1))
        part = np.where(bins < 0, -1, part + self.line.pieces[np.maximum(atom, 0)])
        totals = exact_rows(part, self.line.piece_exact, self.line.groups * len(self.rows))
        return [*found, (columns, totals, np.full(len(columns), sign))]

    def matrix(self) -> Any:
        """Return the measured rows as a sparse matrix over the cells, refused beyond 10^6 non-zeros."""
        nonzeros = int(self.forest.under[self.rows].sum())
        return row_matrix(self.tally, self._sums, self.line.pieces, self.line.piece_exact, nonzeros)
