"""Transport: prefix sums whose noise is as unlikely as it needs many edges. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.exact.run_chain import FARTHEST
from pandas_blowfish.plan.line.axis import LineGraph, wider_line
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.loss import EXACT, WorstCase
from pandas_blowfish.plan.scales import CONCAVE, Scales
from pandas_blowfish.plan.sensitivity import stays_exact
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.transport.run_law import LineLaw
from pandas_blowfish.plan.transport.run_norm import Runs
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

TRANSPORT = "transport"
WORTHWHILE = 4  # reach beyond which single counts are hardly more exact than with a noise each
PREFIXES = Layout(1)
PROOF = (
    "Prefix sums on each line: a neighbouring table moves one row along one edge of the policy, which "
    "changes a run of at most {reach} neighbouring sums, all by 1 or all by -1. The noise y of all sums "
    "together has P(y) proportional to exp(-N(y) / scale), N(y) the least number of such runs that add up to "
    "y, so an edge changes N by at most 1 and loses at most 1 / scale = epsilon = {epsilon}. Totals of "
    "segments are the same in all neighbouring tables and cost nothing. The answers are differences of these "
    "sums, which is post-processing."
)


@dataclass(frozen=True, eq=False)
class Transport(Nested):
    """Prefix sums of segments that no row can leave, with noise drawn together in the norm of edges.

    Proof note:
        Requires: no touched facts; edges join atoms of one segment of one line, at most `reach` apart.
        Ensures:  privacy loss <= epsilon, with equality.
        Because:  moving a row from atom x to y > x takes 1 off each prefix sum of x..y-1, a run of at most
                  `reach` query rows of one line of `Runs`: their norm is 1, the scale 1 / epsilon.
        Checked:  tests/privacy/test_transport_loss.py::test_no_edge_loses_more_than_epsilon
    """

    @property
    def form(self) -> dict[str, Any]:
        return {}

    @property
    def reach(self) -> int:
        """Return how many neighbouring sums an edge changes at most."""
        return furthest(self.line)

    @cached_property
    def family_scales(self) -> tuple[Fraction, ...]:
        """Return the one scale, of the norm."""
        return (1 / self.epsilon,)

    @cached_property
    def scales(self) -> Scales:
        plain = super().scales
        cuts = tuple((self.sizes - 1).tolist()) * self.line.groups
        noisy = frozen(np.flatnonzero(plain.codes == 0))
        return Scales(plain.values, plain.codes, {0: Runs(noisy, cuts, self.reach)} if len(noisy) else {})

    @property
    def proof(self) -> str:
        return PROOF.format(reach=self.reach, epsilon=self.epsilon) if self.sensitivity else PROOF_EXACT

    @property
    def noise_terms(self) -> str:
        """Return that answers are off by sums of counts' errors, whose law is log-concave.

        Proof note:
            Requires: nothing.
            Ensures:  the error of a sum of cells is whole, symmetric and log-concave.
            Because:  in cells z, which sum to 0 on a segment, N is the least cost of a flow along edges, an
                      M-convex function, so with q = exp(-1 / scale) the sum of q**N(z) x**z / z!, z moved
                      and cut to a box, is Lorentzian (Braenden and Huh 2020, Theorem 3.14). The operator
                      that makes x**i y**j / (i! j!) to s**(i + j) / (i + j)! keeps polynomials Lorentzian:
                      its symbol is made in the same way from a product of two sums of s**i u**(k - i), and
                      such products are Lorentzian (Theorem 3.2, Corollary 3.8). So all cells of a sum may
                      have one variable, all others another: Lorentzian in two variables is log-concave.
                      Limits of larger boxes, and sums over independent segments, are too.
            Checked:  tests/plan/transport/test_transport.py::test_sums_of_cells_are_log_concave
        """
        return CONCAVE

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the lengths of runs and segments, and the scale, from which errors of ranges follow."""
        from pandas_blowfish.plan.shape.line_records import to_runs  # here: it reads strategies

        sizes, steps = to_runs(self.sizes), to_runs(np.diff(self.asked.ends[1], prepend=0))
        if sizes is None or steps is None:
            return None
        scales = [str(scale) for scale in self.family_scales]
        return {"of": self.name, "scales": scales, "reach": self.reach, "sizes": sizes, "steps": steps}

    @property
    def sizes(self) -> Ints:
        """Return how many atoms each segment of a line has."""
        return np.diff(np.append(self.line.starts, self.line.size))

    @cached_property
    def law(self) -> LineLaw:
        """Return how the noise of a line varies."""
        return LineLaw(self.reach, self.family_scales[0], self.sizes)

    def range_variances(self, asked: Spans) -> Floats:
        return np.tile(self.law.differences(*asked.ends), self.line.groups)

    @property
    def mean_range_variance(self) -> float:
        return self.law.every_range

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the loss over a graph that holds the line's edges: as many runs as the longest needs."""
        own, wider = self.line, wider_line(graph, self.tally)
        if np.array_equal(own.starts, wider.starts) and not wider.open:
            if not stays_exact(own.exact, wider.exact):
                return WorstCase(None, EXACT)
            return WorstCase(-(-furthest(wider) // self.reach) / self.family_scales[0])
        return super(Nested, self).worst_case(graph)


def furthest(axis: LineGraph) -> int:
    """Return how many atoms apart the ends of an edge are at most."""
    return int((axis.between[:, 1] - axis.between[:, 0]).max(initial=0))


def is_offered(axis: LineGraph) -> bool:
    """Return whether edges are runs of prefix sums, of lengths that are offered, and nothing else."""
    still = not (axis.open or len(axis.across) or len(axis.away))
    in_runs = int(axis.pieces.max(initial=-1)) + 1 == len(axis.starts)
    return still and in_runs and 2 <= furthest(axis) <= FARTHEST


@dataclass(frozen=True)
class TransportBuilder:
    """How transport noise is planned for a line."""

    name: str = TRANSPORT

    def build(self, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Transport]:
        """Yield the one measurement that follows from the line, where rows neither leave nor change it."""
        long = asked.kind == "cells" and furthest(axis) > WORTHWHILE
        if is_offered(axis) and (alone or not long):
            yield Transport(self.name, asked, axis, PREFIXES, (1,), epsilon)

    def reread(self, asked: Spans, axis: LineGraph, epsilon: Fraction, form: Mapping[str, Any]) -> Transport:
        """Return the same measurement again: it follows from the line."""
        del form
        return Transport(self.name, asked, axis, PREFIXES, (1,), epsilon)
