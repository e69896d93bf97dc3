"""Noise along lines between cells: nodes of a few levels, and the flow they add up to at each place.

Never sees rows, and draws nothing: the kernel draws the nodes' noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.pareto import maximal
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.ladder import Ladder
from pandas_blowfish.plan.tables.sensitivity import changes
from pandas_blowfish.plan.tables.weights import best_weights
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.boxes import Boxes


Mask = NDArray[np.bool_]
MAX_LISTED_EDGES = 2_000_000


@dataclass(frozen=True, eq=False)
class Crossings:
    """Lines across two columns, a line between every two neighbouring atoms.

    Attributes:
        open: For each column which lines some edge crosses.
        most: Pairs of how many lines of each kind one edge crosses, those no other pair exceeds.
    """

    open: tuple[Mask, Mask]
    most: tuple[tuple[int, int], ...]


def crossings(question: Boxes, graph: RecordGraph) -> Crossings | None:
    """Return the crossings of boxes' two columns, or None where edges do more than move rows along them.

    Proof note:
        Requires: `graph` is projected on the question's columns.
        Ensures:  every edge moves a row between cells that some pair of `most` bounds the lines between, over
                  open lines alone; None where an edge may change another column or lead away.
        Because:  of blocks that move by themselves the furthest cell is the furthest across; an offset
                  fits at every place of each column, whatever its place on the other.
        Checked:  tests/plan/tables/test_mesh_lines_crossings.py::test_matches_enumeration
    """
    if len(question.starts) != 2 or question.empty or changes(graph, question.whole).leaves:
        return None
    names = question.domain.columns[question.groups : question.shown_columns]
    if any(block.graph.edge_count and not set(block.columns) <= set(names) for block in graph.blocks):
        return None
    atoms = question.atoms[question.groups :]
    if any((atom < 0).any() for atom in atoms):
        return None
    seen = graph.project(names)
    found = _joint(seen.blocks[0], atoms) if len(seen.blocks) == 1 else _apart(seen, atoms)
    return None if found is None or not found.most else found


def sides(question: Boxes, found: Crossings, kind: int, along: Ladder) -> tuple[Floats, Floats]:
    """Return how many sides of each box lie on lines of a kind with noise, and the sizes of their effects."""
    low, high = question.spans[kind]
    noisy = np.append(found.open[kind], False)  # before the first and after the last atom nothing flows
    some = question.nonempty
    many = np.where(low > 0, noisy[low - 1], False).astype(float) + noisy[np.maximum(high - 1, 0)]
    norms = np.zeros((along.levels, len(low)))
    norms[:, some] = along.norms(*(each[some] for each in question.spans[1 - kind]))
    return many * some, norms


def _apart(graph: RecordGraph, atoms: tuple[Ints, ...]) -> Crossings:
    """Return the crossings of two columns that move by themselves."""
    spans, masks = [], []
    for block, atom in zip(graph.blocks, atoms, strict=True):
        far = atom[block.graph.furthest(np.arange(block.graph.size))]
        spans.append(int((far - atom).max(initial=0)))
        masks.append(_open(atom, far, int(atom.max(initial=0)) + 1))
    pairs = [(spans[0], 0), (0, spans[1])] if graph.limit == 1 else [(spans[0], spans[1])]
    return Crossings((masks[0], masks[1]), _largest(np.array(pairs)))


def _joint(block: Block, atoms: tuple[Ints, ...]) -> Crossings | None:
    """Return the crossings of two columns that move together."""
    graph, sizes = block.graph, [int(atom.max(initial=0)) + 1 for atom in atoms]
    if isinstance(graph, OffsetBall):
        reach, masks = [], []
        for axis, atom in enumerate(atoms):
            far = range(int(graph.reach[axis]) + 1)
            each = np.array([int((atom[d:] - atom[: len(atom) - d]).max(initial=0)) for d in far])
            reach.append(np.maximum.accumulate(each)[graph.front[:, axis]])
            last = np.minimum(np.arange(len(atom)) + graph.reach[axis], len(atom) - 1)
            masks.append(_open(atom, atom[last], sizes[axis]))
        return Crossings((masks[0], masks[1]), _largest(np.column_stack(reach)))
    if not isinstance(graph, Cliques) and graph.edge_count > MAX_LISTED_EDGES:
        return None
    codes = np.unravel_index(np.arange(graph.size), block.sizes)
    places = [atom[code] for atom, code in zip(atoms, codes, strict=True)]
    ends = []
    for each in places:
        if isinstance(graph, Cliques):  # as if each group held all between its ends
            group = graph.components
            low, high = np.full(graph.size, graph.size), np.full(graph.size, -1)
            np.minimum.at(low, group, each)
            np.maximum.at(high, group, each)
            kept = high >= 0
            ends.append((low[kept], high[kept]))
        else:
            pairs = np.sort(each[graph.edges()], axis=1)
            ends.append((pairs[:, 0], pairs[:, 1]))
    masks = [_open(low, high, size) for (low, high), size in zip(ends, sizes, strict=True)]
    return Crossings((masks[0], masks[1]), _largest(np.column_stack([high - low for low, high in ends])))


def _open(low: Ints, high: Ints, size: int) -> Mask:
    """Return which of the lines after atoms 0..size-2 lie between some low and its high."""
    change = np.zeros(size + 1, dtype=np.int64)
    np.add.at(change, low, 1)
    np.add.at(change, high, -1)
    return np.asarray(np.cumsum(change)[: max(size - 1, 0)] > 0)


def _largest(pairs: Ints) -> tuple[tuple[int, int], ...]:
    """Return the pairs that no other one exceeds, without those of nothing."""
    return tuple((int(a), int(b)) for a, b in maximal(pairs.reshape(-1, 2)) if a or b)


PARTS = 64  # shares of levels in an effect are multiples of 1 / PARTS


@dataclass(frozen=True, eq=False)
class MeshLines:
    """The lines across one column: nodes along the other one, and how their noise is combined.

    Attributes:
        along: The levels along the line.
        weights: One whole number a level, 0 for a level without noise: scales are their inverses.
        shares: How much of each effect comes from each level, in parts of PARTS: levels x effects.
    """

    along: Ladder
    weights: tuple[int, ...]
    shares: Ints

    @cached_property
    def measured(self) -> list[int]:
        """Return the levels that have noise."""
        return [level for level, weight in enumerate(self.weights) if weight]

    @cached_property
    def sizes(self) -> list[int]:
        """Return how many nodes each level with noise has."""
        return [self.along.counts[level] for level in self.measured]

    def effect_variances(self, scales: tuple[Fraction, ...]) -> Floats:
        """Return the variance of each effect from the scale of each level with noise.

        What a level tells of its effects is orthogonal, so their variances are sums over levels.
        """
        total = np.zeros(self.along.levels)
        counts = np.array(self.along.counts, dtype=float)
        for level, scale in zip(self.measured, scales, strict=True):
            total += (self.shares[level] / PARTS) ** 2 * (counts[level] / counts) * variance(scale)
        return total

    def flows(self, nodes: Ints) -> Ints:
        """Return PARTS * leaves times the flow across each place of the lines, in whole numbers.

        Args:
            nodes: The noise, ... x nodes, level after level of those with noise.

        Proof note:
            Requires: the shares of each effect add up to PARTS, those of levels coarser than it are 0.
            Ensures:  one more in the nodes over a place, one per level with noise, is PARTS * leaves more
                      there and nothing elsewhere.
            Because:  each effect is told by its node over the place, PARTS more, times its number of
                      nodes, less the mean over the node above, which is what the effect before added
                      there; only the last level's, on the place itself, is left.
            Checked:  tests/plan/tables/test_mesh_lines.py::test_a_shift_moves_one_place
        """
        counts, at = self.along.counts, np.cumsum([0, *self.sizes])
        outer = nodes.shape[:-1]
        out = np.zeros((*outer, self.along.leaves), dtype=np.int64)
        for effect, count in enumerate(counts):
            told = np.zeros((*outer, count), dtype=np.int64)
            for number, level in enumerate(self.measured):
                if self.shares[level, effect]:
                    own = nodes[..., at[number] : at[number + 1]]
                    parts = own.reshape(*outer, count, own.shape[-1] // count)
                    told += self.shares[level, effect] * parts.sum(axis=-1)
            out += np.repeat(told * count, self.along.leaves // count, axis=-1)
            if effect:
                above = counts[effect - 1]
                mean = told.reshape(*outer, above, count // above).sum(axis=-1)
                out -= np.repeat(mean * above, self.along.leaves // above, axis=-1)
        return out[..., : len(self.along.leaf_of)]

    def rescale(self, factor: float) -> MeshLines:
        """Return the same lines with other weights in nearly the same proportions."""
        weights = tuple(max(1, round(factor * weight)) if weight else 0 for weight in self.weights)
        return MeshLines(self.along, weights, self.shares)


def lines_along(along: Ladder, worth: Floats) -> tuple[MeshLines, float]:
    """Return the best weights of levels along a line, and their error at a loss of 1.

    Args:
        along: The levels along the line.
        worth: What the variance of each effect adds to the error.
    """
    counts = np.array(along.counts, dtype=float)
    ratios = counts[None, :] / counts[:, None]  # effects x levels
    tells = np.where(ratios >= 1, 0.5 / ratios, 0.0)
    worth = np.maximum(worth, 1e-9 * max(float(worth.max(initial=0.0)), 1e-300))
    starts: list[Floats] = [np.zeros(along.levels), np.linspace(0.0, -along.levels, along.levels)]
    weights, error = best_weights(tells, np.ones((1, along.levels)), worth, starts)
    precise = (tells * weights.astype(float) ** 2).T
    shares = np.floor(PARTS * precise / precise.sum(axis=0)).astype(np.int64)
    for effect in range(along.levels):  # what rounding left goes to the level that tells most
        shares[int(np.argmax(precise[:, effect])), effect] += PARTS - int(shares[:, effect].sum())
    return MeshLines(along, tuple(int(each) for each in weights), shares), error
