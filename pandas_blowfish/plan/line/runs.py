"""A nest with scales: the measurement behind ordered, hierarchical and wavelet strategies.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LineGraph, wider_line
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.strategy import End, Entry, LineStrategy
from pandas_blowfish.plan.line.variance import Spread, estimate
from pandas_blowfish.plan.loss import EXACT, WorstCase
from pandas_blowfish.plan.query_rows import spread_runs
from pandas_blowfish.plan.scales import ESTIMATE, SUM, Scales, fit_scales, row_variances
from pandas_blowfish.plan.sensitivity import ExactParts, stays_exact
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

PROOF = (
    "{rows} on each line: a neighbouring table moves one row along one edge of the policy. The edge that "
    "loses most changes the rows by {sensitivity} in L1, and with the scales {scales} it loses exactly "
    "{loss} <= epsilon = {epsilon}. Rows of scale 0 are totals that no edge changes: they are the same in "
    "all neighbouring tables and cost nothing. Estimates use all rows (generalised least squares), which is "
    "post-processing."
)


@dataclass(frozen=True, eq=False)
class Nested(LineStrategy):
    """Runs of a nest with one scale per family, and exact totals.

    Attributes:
        name: The strategy's name.
        layout: Which rows.
        weights: One whole number per family: scales are in inverse proportion to them.

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

    @cached_property
    def nest(self) -> Nest:
        """Return the runs that are measured."""
        return Nest(self.line, self.layout)

    @property
    def parts(self) -> tuple[Ints, ExactParts]:
        return self.line.segments, self.line.exact

    @property
    def is_even(self) -> bool:
        return self.layout.spacing == 1

    @cached_property
    def _patterns(self) -> Ints:
        return self.nest.patterns()

    @cached_property
    def sensitivity(self) -> Fraction:
        return Fraction(int(self._patterns.sum(axis=1).max(initial=0)))

    @cached_property
    def family_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each family: the weights' inverses, as large as epsilon asks for."""
        return fit_scales(self._patterns, self.weights, self.epsilon)

    @cached_property
    def line_scales(self) -> Scales:
        sizes = self.nest.sizes
        return Scales(self.family_scales, np.repeat(np.arange(len(sizes), dtype=np.int16), sizes))

    @property
    def proof(self) -> str:
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

    def range_variances(self, asked: Spans) -> Floats:
        return asked.variances(self.spread)

    @property
    def mean_range_variance(self) -> float:
        return self.asked.mean_variance(self.spread)

    def sum_atoms(self, by_line: Ints) -> Ints:
        seen = by_line[:, ::-1] if self.layout.mirrored else by_line
        start = np.zeros((len(seen), 1), dtype=np.int64)
        return self.nest.rows(np.concatenate([start, np.cumsum(seen, axis=1)], axis=1))

    def entries(self, ends: Sequence[End]) -> Iterable[Entry]:
        """Return the entries of the query rows, without the many prefixes that count both ends."""
        parts: list[Entry] = []
        runs = []
        for column, first, atom, sign in ends:
            place = self.nest.place(atom)
            for row, value in self.nest.entries(place):
                parts.append((column, np.where(row < 0, -1, row + first), sign * value))
            low, high = self.nest.prefixes(place)
            runs.append((column, low + first, high + first, sign))
        return [*parts, *spread_runs(runs)]

    def estimate(self, noisy: NDArray[Any], exact: Floats) -> Floats:
        known, alone = self.line.exact.alone, int(self.line.exact.alone.sum())
        flat = np.full(len(known), np.nan)
        flat[known] = exact[:alone]
        totals = flat.reshape(self.line.groups, -1)[:, :: -1 if self.layout.mirrored else 1]
        rows = noisy.astype(np.float64)
        return estimate(self.nest, self.family_variances, rows, totals, exact[alone:])

    @property
    def noise_terms(self) -> str:
        """Return that answers are sums of whole noises, where nothing but prefix sums is measured."""
        return SUM if self.nest.families == ["prefix"] and not self.line.exact.totals else ESTIMATE

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the runs, their scales and what is exact, from which errors of ranges follow."""
        from pandas_blowfish.plan.shape.covariance import describe_runs  # here: it reads strategies

        return describe_runs(self)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the loss over a graph that holds the edges of the line: by runs, or pair by pair."""
        own, wider = self.line, wider_line(graph, self.tally)
        if np.array_equal(own.starts, wider.starts) and own.open == wider.open:
            if not stays_exact(own.exact, wider.exact):
                return WorstCase(None, EXACT)
            patterns = Nest(wider, self.layout).patterns().tolist()
            if not patterns or all(self.family_scales):
                return WorstCase(max(map(self._loss, patterns), default=Fraction(0)))
        return super().worst_case(graph)

    def _loss(self, pattern: list[int]) -> Fraction:
        pairs = zip(pattern, self.family_scales, strict=True)
        return sum((change / scale for change, scale in pairs), Fraction(0))

    @property
    def nonzeros(self) -> int:
        lengths = sum(int((end - begin).sum()) for begin, end in self.nest.parts())
        return lengths * (1 + self.layout.wavelet)
