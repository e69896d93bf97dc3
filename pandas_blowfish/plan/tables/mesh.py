"""Mesh: noise that flows between neighbouring cells of a grid, so that a box pays for its sides alone.

Never sees rows. Cells of two ordered columns are joined to their neighbours by edges; across each line
between two rows (or columns) of cells flows noise, drawn as nodes of a few levels along the line. A released
cell is its count and what flows in less what flows out, so inside a box everything cancels but its sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.layouts import branchings
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import OneRound
from pandas_blowfish.plan.query_rows import MAX_NONZEROS, columns_from, sparse_from
from pandas_blowfish.plan.scales import Scales, fit_scales
from pandas_blowfish.plan.tables.mesh_lines import PARTS, Crossings, MeshLines, crossings, lines_along, sides
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved
    from pandas_blowfish.plan.tables.boxes import Boxes

SPREAD = "its noise is spread over a mesh"
FINE = 1_000  # what the whole weights of the first kind of lines add up to, nearly
MAX_DEPTH = 5
MAX_NOISES = 5 * 10**7  # rows of noise beyond which a mesh is not considered

PROOF = (
    "Cells of two columns, to each of which flows noise from its neighbours: D x + (D R) z in whole numbers, "
    "with z independent discrete Laplace noise on nodes of lines between cells. Moving a row across a line "
    "is the same as adding one to the nodes over that place, one per level: R A' = P, so the release has the "
    "same law up to a shift of z. The policy's edges cross at most {crossings} lines of the two kinds, and "
    "with the scales {scales} the worst shift loses exactly {epsilon}. The noise itself is never released."
)


@dataclass(frozen=True, eq=False)
class Mesh(OneRound):
    """Noisy cells of two columns, for every combination of public groups.

    Attributes:
        question: The boxes.
        crossings: How many lines of each kind one edge crosses.
        lines: The lines across the first column, and those across the second.
        epsilon: What may be lost.

    Proof note:
        Requires: no touched facts, presence public, no edge leads away or changes a group.
        Ensures:  privacy loss <= epsilon.
        Because:  an edge crosses r1 lines across the first column and r2 across the second, at one place
                  each; shifting by one the noise of the node over that place at every level changes
                  the flow there by one and no other flow (the shares of each effect add up to one, and
                  the effects of a place telescope), which is what the move changes. The shift has
                  probability ratio at most exp(r1 sum 1/b1 + r2 sum 1/b2), and the scales make the
                  largest of these exactly epsilon, in fractions.
        Checked:  tests/plan/tables/test_mesh.py::test_loss_from_the_noise_map
    """

    question: Boxes
    crossings: Crossings
    lines: tuple[MeshLines, MeshLines]
    epsilon: Fraction

    name = "mesh"
    proof_id = "mesh"
    own_noise = False

    @classmethod
    def from_form(
        cls, question: Boxes, graph: RecordGraph, epsilon: Fraction, form: Mapping[str, Any]
    ) -> Mesh:
        """Return the measurement that a form described."""
        found = crossings(question, graph)
        assert found is not None
        lines = []
        for place, own in zip((1, 0), form["lines"], strict=True):
            along = question.along(place, tuple(own["radices"]))
            lines.append(MeshLines(along, tuple(own["weights"]), np.array(own["shares"], dtype=np.int64)))
        return cls(question, found, (lines[0], lines[1]), epsilon)

    @property
    def form(self) -> dict[str, Any]:
        """Return levels, weights and shares as plain data, to read a stored answer by."""
        kept = []
        for each in self.lines:
            counts = each.along.counts
            radices = [b // a for a, b in pairwise(counts)]
            kept.append({"radices": radices, "weights": list(each.weights), "shares": each.shares.tolist()})
        return {"lines": kept}

    @property
    def domain(self) -> Domain:
        """Return the columns that are looked at, and their cells."""
        return self.question.domain

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of all answers."""
        return self.question.index

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Return the numbers of groups, and of atoms of the two columns."""
        sizes = [int(each.max(initial=-1)) + 1 for each in self.question.atoms]
        return math.prod(sizes[:-2]), sizes[-2], sizes[-1]

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """Return the one table of counts: groups x atoms x atoms."""
        return (self.question.counted,)

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest number of noise rows that one edge shifts by one."""
        levels = [len(each.measured) for each in self.lines]
        return Fraction(max((a * levels[0] + b * levels[1] for a, b in self.crossings.most), default=0))

    @cached_property
    def level_scales(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the scale of each level of the two kinds of lines."""
        weights = [[each.weights[level] for level in each.measured] for each in self.lines]
        each_kind = np.array(self.crossings.most, dtype=np.int64).reshape(-1, 2)
        patterns = np.repeat(each_kind, [len(weights[0]), len(weights[1])], axis=1)
        scales = fit_scales(patterns, [*weights[0], *weights[1]], self.epsilon)
        return scales[: len(weights[0])], scales[len(weights[0]) :]

    @cached_property
    def counts_of_lines(self) -> tuple[int, int]:
        """Return how many lines of each kind have noise."""
        return int(self.crossings.open[0].sum()), int(self.crossings.open[1].sum())

    @property
    def noises(self) -> int:
        """Return how many rows of noise are drawn."""
        pairs = zip(self.counts_of_lines, self.lines, strict=True)
        return self.shape[0] * sum(many * sum(each.sizes) for many, each in pairs)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a row of noise: group after group, lines of the first kind, then the second."""
        parts, offset = [], 0
        for many, each in zip(self.counts_of_lines, self.lines, strict=True):
            one = np.repeat(np.arange(len(each.measured)) + offset, each.sizes)
            parts.append(np.tile(one, many))
            offset += len(each.measured)
        codes = np.tile(np.concatenate(parts).astype(np.int16), self.shape[0])
        return Scales([*self.level_scales[0], *self.level_scales[1]], codes)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        scales = ", ".join(map(str, sorted({*self.level_scales[0], *self.level_scales[1]})))
        most = " or ".join(f"{a} and {b}" for a, b in self.crossings.most)
        return PROOF.format(crossings=most, scales=scales, epsilon=self.epsilon)

    @property
    def whole(self) -> int:
        """Return D, by which counts and flows are multiplied so that all is in whole numbers."""
        return PARTS * math.lcm(self.lines[0].along.leaves, self.lines[1].along.leaves)

    def apply(self, counts: Ints) -> Ints:
        """Return D times the count of every cell."""
        return counts * self.whole

    def spread_noise(self, noise: Ints) -> Ints:
        """Return (D R) z: what the noise of all nodes adds to D times each cell."""
        groups, first, second = self.shape
        sizes = [many * sum(each.sizes) for many, each in zip(self.counts_of_lines, self.lines, strict=True)]
        rows = noise.reshape(groups, sum(sizes))
        found = np.zeros((groups, first, second), dtype=np.int64)
        for kind, each in enumerate(self.lines):
            own = rows[:, : sizes[0]] if kind == 0 else rows[:, sizes[0] :]
            flows = each.flows(own.reshape(groups, self.counts_of_lines[kind], sum(each.sizes)))
            flows *= self.whole // (PARTS * each.along.leaves)
            at = np.flatnonzero(self.crossings.open[kind])
            cells = found if kind == 0 else np.swapaxes(found, 1, 2)
            cells[:, at] += flows
            cells[:, at + 1] -= flows
        return found.ravel()

    def matrix(self) -> Any:
        """Return D W: D times the cells, as a sparse matrix over the cells of the domain."""
        from scipy.sparse import coo_array

        labels = self.tallies[0].labels()
        if len(labels) > MAX_NONZEROS:
            raise DomainTooLargeError(
                "the strategy's matrix", len(labels), MAX_NONZEROS, fix="plan fewer cells to look at it."
            )
        kept = np.flatnonzero(labels >= 0)
        values = np.full(len(kept), self.whole, dtype=np.int64)
        return coo_array((values, (labels[kept], kept)), shape=(math.prod(self.shape), len(labels))).tocsr()

    def noise_map(self) -> Any:
        """Return D R, cells x rows of noise, scipy sparse; refused beyond 10^6 entries that may not be 0."""
        from scipy.sparse import csr_array, hstack

        rows, cells = len(self.scales), math.prod(self.shape)
        if rows * cells > 100 * MAX_NONZEROS:
            raise DomainTooLargeError(
                "the noise map", rows * cells, 100 * MAX_NONZEROS, fix="plan fewer cells."
            )
        parts = []
        for row in range(rows):
            one = np.zeros(rows, dtype=np.int64)
            one[row] = 1
            parts.append(csr_array(self.spread_noise(one)[:, None]))
        return hstack(parts, format="csr")

    @property
    def values(self) -> int:
        """Return the number of cells: the noise itself is not handed out."""
        return math.prod(self.shape)

    @property
    def drawn_scales(self) -> list[Fraction]:
        """Return the scales of the noise times what it is multiplied by."""
        return [scale * self.whole for scale in self.scales.values]

    def loss_over(self, edges: Callable[[], Ints]) -> Fraction:
        """Return the largest loss over edges, from the shifts of the noise that make up for each."""
        self.matrix()  # refused where there are too many cells
        return mesh_loss(self, edges())

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return nothing known: no shift of the noise makes up for longer moves."""
        del graph
        return WorstCase(None, SPREAD)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.tables.solve_boxes import solve_mesh  # here: solving needs the strategies

        return solve_mesh(self, values, post, known)

    def shifts(self, start: int, end: int) -> Ints:
        """Return by how much each row of noise must move to make up for a row moving between two cells.

        Cells are numbers of the table (group, atom, atom); the way leads along the first column first.
        """
        groups = self.shape[0]
        (g, a, b), (_, c, d) = (np.unravel_index(cell, self.shape) for cell in (start, end))
        out = []
        for kind, each in enumerate(self.lines):
            lines = np.zeros((groups, self.counts_of_lines[kind], sum(each.sizes)), dtype=np.int64)
            low, high, place = (a, c, b) if kind == 0 else (b, d, c)
            at = np.cumsum(self.crossings.open[kind]) - 1
            nodes = np.cumsum([0, *each.sizes])[:-1]
            over = [each.along.leaf_of[place] // each.along.width(level) for level in each.measured]
            for crossed in range(min(low, high), max(low, high)):
                lines[g, at[crossed], nodes + over] += 1 if high > low else -1
            out.append(lines.reshape(groups, -1))
        return np.concatenate(out, axis=1).ravel()

    def columns(self, cells: Cells) -> Any:
        """Return the columns of `matrix` at some cells."""
        return columns_from([(self.tallies[0].bins_at(cells), self.whole)], math.prod(self.shape))

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much each row of noise must move to make up for moved records.

        The way leads along the first column first. What no noise makes up for (a record that leaves, another
        group, a line without noise) changes one more row, the last, whose loss is infinite.
        """
        start, end = (self.tallies[0].bins_at(cells) for cells in (before, after))
        (g, a, b), (h, c, d) = (np.unravel_index(np.maximum(each, 0), self.shape) for each in (start, end))
        lost = (start != end) & ((start < 0) | (end < 0) | (g != h))
        each_group = self.noises // max(self.shape[0], 1)
        entries, first = [], g * each_group
        for kind, own in enumerate(self.lines):
            low, high, place = (a, c, b) if kind == 0 else (b, d, c)
            ranks, many = np.cumsum(self.crossings.open[kind]) - 1, sum(own.sizes)
            for crossed in range(int(np.abs(high - low).max(initial=0))):
                edge = np.flatnonzero((np.abs(high - low) > crossed) & ~lost)
                line = np.minimum(low, high)[edge] + crossed
                lost[edge] |= ~self.crossings.open[kind][line]
                sign, begin = np.where(high > low, -1, 1)[edge], first[edge] + ranks[line] * many
                for level, size in zip(own.measured, own.sizes, strict=True):
                    over = own.along.leaf_of[place[edge]] // own.along.width(level)
                    entries.append((edge, begin + over, sign))
                    begin = begin + size
            first = first + self.counts_of_lines[kind] * many
        gone = np.flatnonzero(lost)
        entries = [(e, np.where(lost[e], -1, row), value) for e, row, value in entries]
        entries.append((gone, np.full(len(gone), self.noises), np.ones(len(gone), dtype=np.int64)))
        return sparse_from(entries, (self.noises + 1, len(before)))

    @property
    def loss_scales(self) -> Scales:
        """Return the scale of every row of noise, then 0 for what no noise makes up for."""
        codes = np.append(self.scales.codes.astype(np.int64), len(self.scales.values))
        return Scales([*self.scales.values, Fraction(0)], codes)

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer: of the flows across its sides."""
        question = self.question
        total = np.zeros(len(question.nonempty))
        for kind, (each, scales) in enumerate(zip(self.lines, self.level_scales, strict=True)):
            many, norms = sides(question, self.crossings, kind, each.along)
            total += many * (each.effect_variances(scales) @ norms)
        kept = np.ones(1)  # groups that the filter lets nothing into are known to be 0
        for size, held in zip(question.whole.shape, question.kept_groups, strict=False):
            kept = np.outer(kept, np.isin(np.arange(size), held)).ravel()
        return np.outer(kept, total).ravel()

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean())


def mesh_loss(measurement: Mesh, edges: Ints) -> Fraction:
    """Return the largest loss over edges between cells of the domain, by enumeration, all in whole numbers.

    For each edge the shift of the noise is written down, (D R) shift = D (move) is checked, and the shift's
    loss is the sum of its absolute values over the scales.
    """
    labels, scales = measurement.tallies[0].labels(), list(measurement.scales)
    seen: dict[tuple[int, int], Fraction] = {}
    for start, end in edges.tolist():
        ends = int(labels[start]), int(labels[end])
        if ends[0] == ends[1] or ends in seen:
            continue
        shift = measurement.shifts(*ends)
        move = np.zeros(math.prod(measurement.shape), dtype=np.int64)
        move[ends[0]], move[ends[1]] = measurement.whole, -measurement.whole
        if min(ends) < 0 or (measurement.spread_noise(shift) != move).any():
            raise AssertionError("a move is not a shift of the noise")
        moved = np.flatnonzero(shift)
        seen[ends] = sum((abs(int(shift[row])) / scales[row] for row in moved), Fraction(0))
    return max(seen.values(), default=Fraction(0))


def mesh(question: Boxes, graph: RecordGraph, epsilon: Fraction) -> Mesh | None:
    """Return the best mesh found, or None where the policy's edges do not lie on a grid of two columns."""
    found = crossings(question, graph)
    if found is None:
        return None
    lines, errors = [], []
    for kind in (0, 1):
        best: tuple[float, MeshLines] | None = None
        for radices in branchings(int(question.atoms[question.groups + 1 - kind].max()) + 1)[:MAX_DEPTH]:
            along = question.along(1 - kind, radices)
            many, norms = sides(question, found, kind, along)
            made, error = lines_along(along, (norms * many).mean(axis=1))
            if best is None or error < best[0]:
                best = (error, made)
        assert best is not None
        lines.append(best[1])
        errors.append(best[0])
    first, second = _balanced(lines[0], lines[1], errors, found)
    woven = Mesh(question, found, (first, second), epsilon)
    return woven if woven.noises <= MAX_NOISES else None


def _balanced(
    first: MeshLines, second: MeshLines, errors: list[float], found: Crossings
) -> tuple[MeshLines, MeshLines]:
    """Return both kinds of lines with weights that share epsilon best."""
    sums = [sum(first.weights), sum(second.weights)]
    best: tuple[float, float] | None = None
    for ratio in np.exp(np.linspace(-4, 4, 161)):
        worst = max((a + b * ratio for a, b in found.most), default=0.0)
        error = (errors[0] + errors[1] / ratio**2) * worst**2
        if best is None or error < best[0]:
            best = (error, float(ratio))
    assert best is not None
    return first.rescale(FINE / sums[0]), second.rescale(FINE * best[1] / sums[1])
