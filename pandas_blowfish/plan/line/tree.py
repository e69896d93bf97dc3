"""Tree transform: the sum under each edge of a spanning forest, one exact root per piece. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.strategy import End, Entry, LineStrategy
from pandas_blowfish.plan.line.variance import find_corrections
from pandas_blowfish.plan.query_rows import shift_rows
from pandas_blowfish.plan.scales import ESTIMATE, SUM, Scales, row_variances
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.secret_graph import matrix

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans


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
        edges, and within each run sorted by their high end, so that one search per size counts them.
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
    """Trees on atoms, one per connected piece.

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
    return order_forest(parent)


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
    return order_forest(parent)


def order_forest(parent: Ints) -> Forest:
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
class Tree(LineStrategy):
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

    @classmethod
    def build(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Tree]:
        """Yield the one forest that follows from the line."""
        del alone
        yield cls(asked, axis, epsilon)

    @classmethod
    def reread(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, form: Mapping[str, Any]) -> Tree:
        del form
        return cls(asked, axis, epsilon)

    @property
    def open(self) -> bool:
        """Return whether the totals of pieces are measured, because some are not exact."""
        return not bool(self.line.piece_exact.alone.all())

    @property
    def is_in_runs(self) -> bool:
        return self.line.listed is None

    @property
    def parts(self) -> tuple[Ints, ExactParts]:
        return self.line.pieces, self.line.piece_exact

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
        """Return for each query row the longest path through it, 0 for one no edge changes."""
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
        """Return the largest L1 change of the noisy query rows between neighbours: the measured stretch."""
        return Fraction(int(self._longest.max(initial=0)))

    @cached_property
    def path_scales(self) -> Scales:
        """Return for each query row of one line the longest path through it, over epsilon."""
        values, codes = np.unique(np.maximum(self._longest, 1), return_inverse=True)
        return Scales([Fraction(int(value)) / self.epsilon for value in values], codes.reshape(-1))

    @property
    def line_scales(self) -> Scales:
        return self.path_scales

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(stretch=self.sensitivity, epsilon=self.epsilon)

    @cached_property
    def row_variances(self) -> Floats:
        """Return the variance of each query row of one line."""
        return self.path_scales.spread(row_variances(self.path_scales.values))

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

    def range_variances(self, asked: Spans) -> Floats:
        starts, stops = asked.ends
        over = self._crossing.variances(starts, stops)
        sums = np.pad(np.cumsum(self.root_variances, axis=1), ((0, 0), (1, 0)))
        found = np.asarray(over + sums[:, stops] - sums[:, starts]).ravel()
        return np.where(found > 1e-9 * found.max(initial=0.0), found, 0.0)

    @property
    def mean_range_variance(self) -> float:
        k = self.line.size
        holding = (np.arange(k) + 1.0) * (k - np.arange(k))  # how many ranges hold each atom
        roots = float((self.root_variances * holding).sum()) / self.line.groups
        return (self._crossing.all_ranges() + roots) / self.asked.per_line

    def sum_atoms(self, by_line: Ints) -> Ints:
        return self.forest.sums(by_line)[:, self.rows]

    @property
    def nonzeros(self) -> int:
        return int(self.forest.under[self.rows].sum())

    def entries(self, ends: Sequence[End]) -> Iterable[Entry]:
        for column, first, atom, sign in ends:
            for number, own in enumerate(atom.tolist()):
                rows = shift_rows(self._row_of[self.forest.above(own)], int(first[number]))
                yield np.full(len(rows), column[number]), rows, np.full(len(rows), sign[number])

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much the query rows change: those along the path between the ends."""
        start, end = (self.tally.bins_at(cells) for cells in (before, after))
        groups, (one, two) = start // self.line.size, (start % self.line.size, end % self.line.size)
        pieces = self.line.pieces
        same = (start >= 0) & (end >= 0) & (groups == end // self.line.size) & (pieces[one] == pieces[two])
        near, far = np.flatnonzero(same), np.flatnonzero(~same)
        path = []
        for atoms, active, first in self.forest.climb(np.column_stack([one[near], two[near]])):
            row = self._row_of[atoms] + groups[near][active] * len(self.rows)
            path.append((near[active], row, np.where(first, -1, 1)))
        return self.add_columns([(far, start[far], -1), (far, end[far], 1)], len(before), path)

    @cached_property
    def _row_of(self) -> Ints:
        """Return the row of one line that each atom's sum is, -1 for none."""
        found = np.full(self.line.size, -1, dtype=np.int64)
        found[self.rows] = np.arange(len(self.rows))
        return found

    def estimate(self, noisy: NDArray[Any], exact: Floats) -> Floats:
        """Return the cumulative counts, lines x (size + 1), from the sums and the totals of pieces.

        Proof note:
            Requires: the values are a release already paid for.
            Ensures:  the one table of counts with the measured sums and the exact totals; where a total is
                      exact only together with those of other lines, these are moved to agree with it in
                      proportion to their variances.
            Because:  a count is the sum at its atom less the sums of the atoms just under it.
            Checked:  tests/plan/line/test_solve_forest.py::test_equals_dense_least_squares
        """
        line, parts, parent = self.line, self.line.piece_exact, self.forest.parent
        sums = np.zeros((line.groups, line.size))
        sums[:, self.rows] = noisy
        root_of = np.zeros(int(line.pieces.max(initial=-1)) + 1, dtype=np.int64)
        root_of[line.pieces[self.forest.roots]] = self.forest.roots
        totals = sums[:, root_of].ravel()
        many = int(parts.alone.sum())
        totals[parts.alone] = exact[:many]
        if parts.totals:
            own = np.zeros(line.size)
            own[self.rows] = self.row_variances
            spread = np.tile(np.maximum(own[root_of], 1e-300), line.groups)
            totals += find_corrections(totals, spread, parts.total_of, exact[many:])
        sums[:, root_of] = totals.reshape(line.groups, -1)
        counts = sums.T.copy()
        child = np.flatnonzero(parent != np.arange(line.size))
        np.subtract.at(counts, parent[child], sums.T[child])
        return np.pad(np.cumsum(counts.T, axis=1), ((0, 0), (1, 0)))

    @property
    def noise_terms(self) -> str:
        """Return that answers are sums of whole noises, where no total is shared with other lines."""
        return ESTIMATE if self.line.piece_exact.totals else SUM

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the forest, its scales and what is exact, from which errors of ranges follow."""
        from pandas_blowfish.plan.shape.covariance import describe_tree  # here: it reads strategies

        return describe_tree(self)
