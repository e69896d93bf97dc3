"""A nest with scales: the measurement behind ordered, hierarchical and wavelet strategies.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LONG, LineGraph, wider_line
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.loss import EXACT, MANY, WorstCase
from pandas_blowfish.plan.protocol import ESTIMATE, SUM, OneTable
from pandas_blowfish.plan.query_rows import exact_rows, exact_totals, row_matrix, sparse_from, spread_runs
from pandas_blowfish.plan.scales import Scales, fit_scales, row_variances
from pandas_blowfish.plan.sensitivity import stays_exact
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.line.question import Spans
    from pandas_blowfish.plan.shape.solved import Solved

PROOF = (
    "{rows} on each line: a neighbouring table moves one row along one edge of the policy. The edge that "
    "loses most changes the rows by {sensitivity} in L1, and with the scales {scales} it loses exactly "
    "{loss} <= epsilon = {epsilon}. Rows of scale 0 are totals that no edge changes: they are the same in "
    "all neighbouring tables and cost nothing. Estimates use all rows (generalised least squares), which is "
    "post-processing."
)


@dataclass(frozen=True, eq=False)
class Nested(OneTable):
    """Rows of a nest with one scale a family, and exact totals.

    Attributes:
        name: The strategy's name.
        asked: The questions.
        line: The axis and what edges do on it.
        layout: Which rows.
        weights: One whole number a family: scales are in inverse proportion to them.
        epsilon: What may be lost.

    Proof note:
        Requires: no touched facts; `Nest.patterns` as its note says.
        Ensures:  privacy loss <= epsilon, with equality unless the line was taken for a full one.
        Because:  the scales are the weights' inverses times the exact loss of the weights over epsilon,
                  in fractions, so the largest pattern loses exactly epsilon.
        Checked:  tests/privacy/test_line_loss.py::test_every_threshold_spacing_and_branching
    """

    name: str
    asked: Spans
    line: LineGraph
    layout: Layout
    weights: tuple[int, ...]
    epsilon: Fraction

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return self.name

    @property
    def tally(self) -> Tally:
        """Return what is counted."""
        return self.asked.tally

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""
        return self.asked.index

    @cached_property
    def nest(self) -> Nest:
        """Return the runs that are measured."""
        return Nest(self.line, self.layout)

    @cached_property
    def _patterns(self) -> Ints:
        return self.nest.patterns()

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours."""
        return Fraction(int(self._patterns.sum(axis=1).max(initial=0)))

    @cached_property
    def family_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each family: the weights' inverses, as large as epsilon asks for."""
        return fit_scales(self._patterns, self.weights, self.epsilon)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a measured row: line after line family by family, then exact totals."""
        sizes, exact = self.nest.sizes, self.line.exact
        one = np.repeat(np.arange(len(sizes), dtype=np.int16), sizes)
        free = np.full(int(exact.alone.sum()) + exact.totals, len(sizes), dtype=np.int16)
        codes = np.concatenate([np.tile(one, self.line.groups), free])
        return Scales([*self.family_scales, Fraction(0)], codes)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        if self.sensitivity == 0:
            return PROOF_EXACT
        pairs = zip(self.nest.families, self.family_scales, strict=True)
        return PROOF.format(
            rows=", ".join(self.nest.families),
            sensitivity=self.sensitivity,
            scales=", ".join(f"{scale} ({family})" for family, scale in pairs),
            loss=self.epsilon,
            epsilon=self.epsilon,
        )

    @property
    def form(self) -> dict[str, Any]:
        """Return the layout and weights as plain data, to read a stored answer by."""
        return {"layout": self.layout.to_dict(), "weights": list(self.weights)}

    @classmethod
    def from_form(
        cls, name: str, asked: Spans, line: LineGraph, epsilon: Fraction, form: Mapping[str, Any]
    ) -> Nested:
        """Return the measurement that `form` described."""
        return cls(name, asked, line, Layout.from_dict(form["layout"]), tuple(form["weights"]), epsilon)

    @cached_property
    def family_variances(self) -> list[float]:
        """Return the variance of the noise of each family, within what floats can divide by."""
        return row_variances(self.family_scales)

    @cached_property
    def spread(self) -> Spread:
        """Return how estimates vary."""
        return Spread(self.nest, self.family_variances)

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints."""
        return self.asked.variances(self.spread)

    @cached_property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        if self.asked.kind != "all":
            return float(self.variances.mean())
        return self.asked.mean_variance(self.spread)

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the bins' counts."""
        by_line = counts.reshape(self.line.groups, -1)
        totals = exact_totals(by_line, self.line.segments, self.line.exact)
        return np.concatenate([self._rows(by_line).ravel(), totals])

    def _rows(self, by_line: Ints) -> Ints:
        seen = by_line[:, ::-1] if self.layout.mirrored else by_line
        start = np.zeros((len(seen), 1), dtype=np.int64)
        return self.nest.rows(np.concatenate([start, np.cumsum(seen, axis=1)], axis=1))

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells."""
        bins = self.tally.bins_at(cells)
        return self._sparse([(np.arange(len(bins)), bins, 1)], len(bins))

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much the rows change, without the many prefixes that count both ends."""
        ends = [self.tally.bins_at(cells) for cells in (before, after)]
        edges = np.arange(len(before))
        return self._sparse([(edges, ends[0], -1), (edges, ends[1], 1)], len(before))

    def _sparse(self, ends: list[tuple[Ints, Ints, int]], many: int) -> Any:
        """Return the sum of the columns of some bins (-1 for none), each with a sign, in `many` columns."""
        size, rows, exact = self.line.size, sum(self.nest.sizes), self.line.exact
        parts, spans = [], []
        for edge, bins, sign in ends:
            kept = bins >= 0
            edge, (group, atom) = edge[kept], np.divmod(bins[kept], size)
            place, first = self.nest.place(atom), group * rows
            for row, value in self.nest.entries(place):
                parts.append((edge, np.where(row < 0, -1, row + first), sign * value))
            segment = group * (int(self.line.segments[-1]) + 1) + self.line.segments[atom]
            total = exact_rows(segment, exact, self.line.groups * rows)
            parts.append((edge, total, np.full(len(edge), sign)))
            low, high = self.nest.prefixes(place)
            spans.append((edge, low + first, high + first, np.full(len(edge), sign)))
        return sparse_from([*parts, *spread_runs(spans)], (len(self.scales), many))

    def split(self, values: Ints) -> tuple[Floats, Floats, Floats]:
        """Return measured values as noisy rows (lines x rows), exact totals (or NaN) and shared ones."""
        exact, groups = self.line.exact, self.line.groups
        rows = groups * sum(self.nest.sizes)
        alone = int(exact.alone.sum())
        totals = np.full(len(exact.alone), np.nan)
        totals[exact.alone] = values[rows : rows + alone]
        noisy = values[:rows].astype(np.float64).reshape(groups, -1)
        return noisy, totals.reshape(groups, -1), values[rows + alone :].astype(np.float64)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.line.solve import solve_lines  # here: solving needs the strategies

        return solve_lines(self, values, post, known)

    @property
    def noise_terms(self) -> str:
        """Return that answers are sums of whole noises, where nothing but prefix sums is measured."""
        return SUM if self.nest.families == ["prefix"] and not self.line.exact.totals else ESTIMATE

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the runs, their scales and what is exact, from which errors of ranges follow."""
        from pandas_blowfish.plan.line.covariance import describe_runs  # here: it reads strategies

        return describe_runs(self)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the loss over a graph that holds the edges of the line: by runs, or pair by pair."""
        own, wider = self.line, wider_line(graph, self.tally)
        if np.array_equal(own.starts, wider.starts) and own.open == wider.open:
            if not stays_exact(own.exact, wider.exact):
                return WorstCase(None, EXACT)
            patterns = Nest(wider, self.layout).patterns().tolist()
            if not patterns or all(self.family_scales):
                parts = [1 / scale for scale in self.family_scales] if patterns else []
                losses = (
                    sum((n * part for n, part in zip(each, parts, strict=True)), Fraction(0))
                    for each in patterns
                )
                return WorstCase(max(losses, default=Fraction(0)))
        return WorstCase(None, MANY) if self.domain.size > LONG else super().worst_case(graph)

    def matrix(self) -> Any:
        """Return the measured rows as a sparse matrix over the cells, refused beyond 10^6 non-zeros."""
        lengths = sum(int((end - begin).sum()) for begin, end in self.nest.parts())
        return row_matrix(
            self.tally, self._rows, self.line.segments, self.line.exact, lengths * (1 + self.layout.wavelet)
        )
