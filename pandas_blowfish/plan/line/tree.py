"""Tree transform: the sum under each edge of a spanning forest, one exact root a piece. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.line.axis import LONG, LineGraph
from pandas_blowfish.plan.loss import MANY, WorstCase
from pandas_blowfish.plan.protocol import ESTIMATE, SUM, OneTable
from pandas_blowfish.plan.query_rows import exact_rows, exact_totals, row_matrix, shift_rows, sparse_from
from pandas_blowfish.plan.scales import Scales, row_variances
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import matrix

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.line.question import Spans
    from pandas_blowfish.plan.shape.solved import Solved


@dataclass(frozen=True, eq=False)
class Crossing:
    """Edges between atoms, each with the variance that a range pays when just one end is inside.

    Attributes:
        one: One end of each edge.
        two: The other.
        weight: Its variance.
        size: How many atoms there are.
    """

    one: Ints
    two: Ints
    weight: Floats
    size: int

    def variances(self, starts: Ints, stops: Ints) -> Floats:
        """Return the sum of weights of edges with one end in start..stop-1, range by range."""
        ends = np.zeros(self.size + 1)
        for end in (self.one, self.two):
            ends[1:] += np.bincount(end, self.weight, self.size)
        ends = np.cumsum(ends)
        return np.asarray(ends[stops] - ends[starts] - 2 * self._inside(starts, stops))

    def all_ranges(self) -> float:
        """Return the sum over every range.

        Of ranges on 0..k-1, (i + 1)(k - i) hold atom i and (i + 1)(k - j) hold both i < j.
        """
        low, high, k = np.minimum(self.one, self.two), np.maximum(self.one, self.two), self.size
        cut = (low + 1.0) * (k - low) + (high + 1.0) * (k - high) - 2 * (low + 1.0) * (k - high)
        return float((self.weight * cut).sum())

    def _inside(self, starts: Ints, stops: Ints) -> Floats:
        """Return the sum of weights of edges with both ends in each range.

        Edges are sorted by their low end; those from some place on are cut into runs of 1, 2, 4, ...
        edges, and within each run sorted by their high end, so that one search a size counts them.
        """
        low, high = np.minimum(self.one, self.two), np.maximum(self.one, self.two)
        order = np.argsort(low, kind="stable")
        padded = 1 << max(len(low) - 1, 0).bit_length()
        place = np.searchsorted(low[order], starts)
        weight, ends = np.zeros(padded), np.full(padded, self.size)  # the padding is in no range
        weight[: len(low)], ends[: len(low)] = self.weight[order], high[order]
        found, width = np.zeros(len(starts)), 1
        while width <= padded:
            taken = np.flatnonzero((place & width) > 0 if width < padded else place == 0)
            keys = np.arange(padded) // width * (self.size + 1) + ends
            by_key = np.argsort(keys, kind="stable")
            sums, keys = np.append(0.0, np.cumsum(weight[by_key])), keys[by_key]
            run = place[taken] // width * (self.size + 1)
            found[taken] += sums[np.searchsorted(keys, run + stops[taken])] - sums[np.searchsorted(keys, run)]
            place[taken] += width
            width *= 2
        return found


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on atoms, one a connected piece.

    Attributes:
        parent: The atom above each atom, itself for a root.
        order: The atoms, each before those under it, those under it following at once.
        under: How many atoms lie at or under each atom.
    """

    parent: Ints
    order: Ints
    under: Ints

    @cached_property
    def roots(self) -> Ints:
        """Return the root of each tree."""
        return np.flatnonzero(self.parent == np.arange(len(self.parent)))

    @cached_property
    def depth(self) -> Ints:
        """Return how many edges lead from each atom to its root, by doubling."""
        up, steps = self.parent.copy(), (self.parent != np.arange(len(self.parent))).astype(np.int64)
        while (up != up[up]).any():
            steps, up = steps + steps[up], up[up]
        return np.asarray(steps)

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each atom the count at or under it, lines x atoms."""
        running = np.cumsum(counts[:, self.order], axis=1)
        running = np.concatenate([np.zeros((len(counts), 1), dtype=np.int64), running], axis=1)
        return np.asarray(running[:, self._places + self.under] - running[:, self._places])

    def longest_paths(self, pairs: Ints) -> Ints:
        """Return for each atom's edge to its parent the longest path, between given pairs, that uses it."""
        climbed = list(self.climb(pairs))
        length, longest = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(self.parent), dtype=np.int64)
        for _, active, _ in climbed:
            length[active] += 1
        for atoms, active, _ in climbed:
            np.maximum.at(longest, atoms, length[active])
        return longest

    def above(self, atom: int) -> Ints:
        """Return the atoms whose sums count an atom: itself and all above it."""
        place = self._places
        return np.flatnonzero((place <= place[atom]) & (place[atom] < place + self.under))

    @cached_property
    def _places(self) -> Ints:
        """Return where each atom stands in `order`."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    def climb(self, pairs: Ints) -> Iterator[tuple[Ints, Ints, NDArray[np.bool_]]]:
        """Yield, step by step, the deeper ends that climb one edge, whose pairs they are, and if the first.

        They meet, for both ends of a pair are in one tree.
        """
        a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
        active = np.flatnonzero(a != b)
        while len(active):
            x, y = a[active], b[active]
            first = self.depth[x] >= self.depth[y]
            yield np.where(first, x, y), active, first
            a[active] = np.where(first, self.parent[x], x)
            b[active] = np.where(first, y, self.parent[y])
            active = active[a[active] != b[active]]


def forest(line: LineGraph) -> Forest:
    """Return the forest of a line: breadth first where edges are listed, else reds and their blocks.

    Along a line whose atoms are joined up to a reach, reds lie a reach apart, each joined to the one
    before, and other atoms are joined to the red at or before them.
    """
    if line.listed is not None:
        return _breadth_first(line.listed, line.size, line.pieces)
    parent, red = np.arange(line.size), 0
    reach = line.reach
    while red < line.size:
        far = int(reach[red])
        parent[red + 1 : far + 1] = red
        red = far if far > red else red + 1
    return _ordered(parent)


def _breadth_first(pairs: Ints, size: int, pieces: Ints) -> Forest:
    from scipy.sparse.csgraph import breadth_first_order

    degree = np.bincount(pairs.ravel(), minlength=size)
    links = matrix(pairs, size)
    parent = np.arange(size)
    best = np.lexsort((-degree, pieces))
    roots = best[np.append(True, pieces[best][1:] != pieces[best][:-1])] if size else best
    for root in roots:
        if degree[root]:
            found, before = breadth_first_order(links, int(root), directed=False)
            parent[found[1:]] = before[found[1:]]
    return _ordered(parent)


def _ordered(parent: Ints) -> Forest:
    """Number the atoms of each tree depth first."""
    size = len(parent)
    child = np.flatnonzero(parent != np.arange(size))
    by_parent = child[np.argsort(parent[child], kind="stable")]
    first = np.searchsorted(parent[by_parent], np.arange(size + 1)).tolist()
    listed, above = by_parent.tolist(), parent.tolist()
    order: list[int] = []
    waiting = np.flatnonzero(parent == np.arange(size))[::-1].tolist()
    while waiting:
        atom = waiting.pop()
        order.append(atom)
        waiting += listed[first[atom] : first[atom + 1]]
    under = [1] * size
    for atom in reversed(order):
        if above[atom] != atom:
            under[above[atom]] += under[atom]
    counted = np.array(under, dtype=np.int64)
    return Forest(frozen(parent), frozen(np.array(order, dtype=np.int64)), frozen(counted))


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
        Checked:  tests/plan/line/test_tree.py::test_loss_matches_enumeration
    """

    asked: Spans
    line: LineGraph
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
        return self._scales.spread(row_variances(self._scales.values))

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

    def apply(self, counts: Ints) -> Ints:
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
            rows = shift_rows(own, int(group[column]) * len(self.rows))
            found.append((np.full(len(rows), columns[column]), rows, np.full(len(rows), sign)))
        part = np.where(bins < 0, -1, group * (int(self.line.pieces.max(initial=-1)) + 1))
        part = np.where(bins < 0, -1, part + self.line.pieces[np.maximum(atom, 0)])
        totals = exact_rows(part, self.line.piece_exact, self.line.groups * len(self.rows))
        return [*found, (columns, totals, np.full(len(columns), sign))]

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.line.solve import solve_lines  # here: solving needs the strategies

        return solve_lines(self, values, post, known)

    @property
    def row_scales(self) -> tuple[tuple[Fraction, ...], Ints]:
        """Return the distinct scales of one line's rows, and which of them each row has."""
        return self._scales.values, np.asarray(self._scales.codes, dtype=np.int64)

    @property
    def noise_terms(self) -> str:
        """Return that answers are sums of whole noises, where no total is shared with other lines."""
        return ESTIMATE if self.line.piece_exact.totals else SUM

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the forest, its scales and what is exact, from which errors of ranges follow."""
        from pandas_blowfish.plan.line.covariance import describe_tree  # here: it reads strategies

        return describe_tree(self)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the loss over a graph that holds the edges of the line, pair by pair."""
        return WorstCase(None, MANY) if self.domain.size > LONG else super().worst_case(graph)

    def matrix(self) -> Any:
        """Return the measured rows as a sparse matrix over the cells, refused beyond 10^6 non-zeros."""
        nonzeros = int(self.forest.under[self.rows].sum())
        return row_matrix(self.tally, self._sums, self.line.pieces, self.line.piece_exact, nonzeros)
