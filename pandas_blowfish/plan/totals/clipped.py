"""Clipped: bounds that rows suggest are found first, then values beyond count as these. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.markup import decimal
from pandas_blowfish.plan.lattice import InUnits, Lattice, Total
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import InRounds, Question, Round, Strategy, rounds
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.question import Totals, clip_column
from pandas_blowfish.plan.totals.sensitivity import shifts
from pandas_blowfish.plan.totals.sums import NoisySums
from pandas_blowfish.plan.totals.tail_counts import CutPoints, Noise, TailCounts
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.totals.solve import Estimated

MOST_APART = 500  # bounds of a column that no filter, group or other column's secret depends on
MOST_TRIED = 10**6  # bounds, or cells for each of them, that are tried to see what later facts cost
SHARE = Fraction(1, 4)  # of epsilon, for the counts that bounds are found by
SPLIT = ("share", "origin")  # of the sums' form: how means by noisy counts are measured
LATER = "what values are clipped to depends on noisy counts"
PROOF = (
    "First rows are counted in {bins} bins: a neighbouring table moves one row along one edge of the policy, "
    "which changes the counts of each column by at most {changes} in L1; with discrete Laplace noise of "
    "scale {scales} they lose at most {first}. Then the values of each column are clipped to bounds that "
    "follow from these noisy counts alone, and added up. Whatever the bounds are, the noise is sized for "
    "them, so that the sums lose at most {second}; both together lose at most epsilon = {epsilon}. Of the "
    "sums, were no value clipped: "
)


@dataclass(frozen=True, eq=False)
class ClippedTotals(InRounds):
    """Noisy counts of coarse bins of each column, then sums of values clipped to what these suggest.

    Attributes:
        question: The sums or means.
        policy: The promise.
        epsilon: What may be lost.
        widest: The second round, were no value clipped.
        points: For each column where it could be clipped; None where that would change nothing.
        counts: The first round.
        moves: The most that one edge changes the counts of each column, in L1.

    Proof note:
        Requires: as `tally_sensitivity` and `NoisySums`; `Strategy` as its note says.
        Ensures:  privacy loss <= epsilon, whatever the first round measured.
        Because:  the first round's scales are changes times columns over its share of epsilon, so it loses
                  that share; where no edge changes its counts it is exact, has no share and costs nothing.
                  The second round is a `NoisySums` planned for the rest of epsilon on clipped weights of
                  cells, which depend on the noisy counts and on nothing else that is secret.
        Checked:  tests/privacy/test_clipped_loss.py::test_rounds_lose_epsilon_whatever_was_counted,
                  tests/privacy/test_clipped_loss.py::test_the_kernel_finds_lies_in_either_round
    """

    question: Totals
    policy: Policy
    epsilon: Fraction
    widest: NoisySums
    points: tuple[CutPoints | None, ...]
    counts: TailCounts
    moves: tuple[Fraction, ...]

    name = "clipped"

    @classmethod
    def build(
        cls, question: Totals, policy: Policy, epsilon: Fraction, form: Mapping[str, Any] | None = None
    ) -> ClippedTotals:
        """Return the strategy for a question; `form` is that of the sums, where it was chosen before."""

        def plan_sums(rest: Fraction) -> NoisySums:
            how = form
            if how is None:
                (best,) = question.candidates(policy, rest, NoisySums.name, every=False)
                how = best.form
            own = {key: how[key] for key in SPLIT if key in how}  # each total with a noise of its own
            return question.reread(policy, rest, NoisySums.name, own)

        widest = plan_sums(epsilon * (1 - SHARE))
        points = tuple(widest.cut_points(number) for number in range(len(widest.summed)))
        if not any(points):
            raise ArgumentError(
                "clip", "closer bounds would not change the noise of this answer", fix="leave clip= out."
            )
        tallies = tuple(each.tally(question.tally) for each in points if each is not None)
        graph = policy.graph
        changes = tuple(tally_sensitivity(graph.project(each.domain.columns), each) for each in tallies)
        noisy = sum(change > 0 for change in changes)
        scales = tuple(change * noisy / (epsilon * SHARE) for change in changes)
        widest = widest if noisy else plan_sums(epsilon)
        return cls(question, policy, epsilon, widest, points, TailCounts(tallies, scales), changes)

    @property
    def form(self) -> dict[str, Any]:
        return self.widest.form

    @property
    def domain(self) -> Domain:
        return self.widest.domain

    @property
    def index(self) -> pd.Index[Any]:
        return self.widest.index

    @property
    def tallies(self) -> tuple[Tally | Total, ...]:
        return (*self.counts.tallies, *self.widest.tallies)

    @cached_property
    def scales(self) -> Scales:
        """Return the scales of the counts, then those of the sums, were no value clipped."""
        first, second = self.counts.scales, self.widest.scales
        codes = [first.codes.astype(np.int64), second.codes.astype(np.int64) + len(first.values)]
        return Scales([*first.values, *second.values], np.concatenate(codes))

    @property
    def largest(self) -> Fraction:
        """Return a bound on the scales of both rounds.

        However sums are clipped, an edge changes none by more than before; and the bound of what it loses, at
        a rate of 1 over its factor for each, is at most the sum of the changes over the factors.
        """
        widest = self.widest
        pairs = list(zip(widest.moved.peaks, widest.factors, strict=True))
        rates = sum((Fraction(peak) / factor for peak, factor in pairs if factor), Fraction(0))
        return max(*self.counts.each_scale, *(each * rates / widest.epsilon for each in widest.factors))

    def apply(self, counts: Ints) -> Ints:
        cut = sum(each.size for each in self.counts.tallies)
        return np.concatenate([self.counts.apply(counts[:cut]), self.widest.apply(counts[cut:])])

    def columns(self, cells: Any) -> Any:
        """Return the columns at some cells of both rounds, one below the other, were no value clipped."""
        from scipy.sparse import vstack

        return vstack([self.counts.columns(cells), self.widest.columns(cells)], format="csc")

    def matrix(self) -> NoReturn:
        raise ArgumentError("clip", f"{LATER}: no matrix before the release")

    @property
    def sensitivity(self) -> Fraction:
        return sum(self.moves, self.widest.sensitivity)

    @property
    def proof(self) -> str:
        first = self.epsilon - self.widest.epsilon
        said = {
            "bins": len(self.counts.scales),
            "changes": ", ".join(map(str, self.moves)),
            "scales": ", ".join(str(scale) for scale in self.counts.each_scale),
            "first": first,
            "second": self.widest.epsilon,
        }
        return PROOF.format(**said, epsilon=self.epsilon) + self.widest.proof

    @cached_property
    def variances(self) -> Floats:
        """Return NaN: how wrong the answers are depends on the rows."""
        return np.full(len(self.index), np.nan)

    def loss_over(self, edges: Callable[[], Ints]) -> None:
        """Return None: what is added up depends on noisy counts."""
        del edges

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return what both rounds lose at most over a graph that joins all cells with the same public values.

        Proof note:
            Requires: `graph` holds every edge that this was planned under.
            Ensures:  no edge of it loses more, whatever the first round measured; None where an exact count
                      or sum may change, or there are too many bounds to try.
            Because:  counts lose their change over their scale. The scale of a total is at least the most
                      that the policy's edges change it by, over the second round's epsilon: its own pattern
                      is one that `Shifts.loss` is at least. So it loses epsilon times the wider change over
                      that, which is tried for all bounds that the total can be clipped to.
            Checked:  tests/privacy/test_clipped_loss.py::test_later_facts_are_paid_for
        """
        lost = Fraction(0)
        for table, scale in zip(self.counts.tallies, self.counts.each_scale, strict=True):
            change = tally_sensitivity(graph.project(table.domain.columns), table)
            if change and not scale:
                return WorstCase.or_exact(None)
            lost += change / scale if change else 0
        if _count_tried(self) > MOST_TRIED:
            return WorstCase(None, LATER)
        flow = int(tally_sensitivity(graph.project(self.question.tally.domain.columns), self.question.tally))
        for ratio in _wider_ratios(self, graph, flow):
            if ratio is None:
                return WorstCase.or_exact(None)
            lost += self.widest.epsilon * ratio
        return WorstCase(lost)

    def in_units(self) -> tuple[InUnits, ...]:
        """Return each sum as it is where no value is clipped, with no error: that depends on the rows."""
        return tuple(replace(each, error=np.nan) for each in self.widest.in_units())

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return what is spent on bounds, and what clipping may do to the answers."""
        spent = (self.epsilon - self.widest.epsilon) / self.epsilon
        bins = len(self.counts.scales)
        said = f"{decimal(spent)} of epsilon counts rows in {bins} bins" if spent else f"{bins} exact counts"
        read = self.widest.notes(query, rows_public=rows_public)
        return {
            **{name: text for name, text in read.items() if name == "values"},
            "noise": f"{NOISE}, scale {self._largest_text()} at most, less where values are clipped",
            "clip": f"{said}, which bounds are chosen by; {BIAS}",
        }

    def _largest_text(self) -> str:
        own = self.widest.in_units()
        return ", ".join(f"{f'{one.name} ' * (len(own) > 1)}{one.show(one.scale)}" for one in own)

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        """Return the counts, then the sums of values clipped to the bounds that these lead to."""
        if not values:
            return self.counts
        return self.clip_totals(values[0]) if len(values) == 1 else None

    def choose_bounds(self, values: Ints) -> list[tuple[int, int] | None]:
        """Return which bounds each column is clipped to, from the noisy counts."""
        key, kept = values.tobytes(), self.__dict__.get("_chosen", {})
        if key in kept:  # each round asks again
            return list(kept[key])
        parts, scales = iter(self.counts.split_values(values)), iter(self.counts.each_scale)
        found = [
            None
            if points is None
            else points.choose(next(parts).tolist(), next(scales), _noise(self.widest, number))
            for number, points in enumerate(self.points)
        ]
        self.__dict__["_chosen"] = {key: found}
        return found

    def clip_totals(self, values: Ints) -> NoisySums:
        """Return the sums of values clipped as the noisy counts suggest."""
        at = self.choose_bounds(values)
        clips = tuple(
            None if points is None or place is None else points.clip_at(*place)
            for points, place in zip(self.points, at, strict=True)
        )
        kept: dict[Any, NoisySums] = self.__dict__.get("_clipped", {})
        if clips in kept:
            return kept[clips]
        asked = replace(self.question, clips=clips)
        found = asked.reread(self.policy, self.widest.epsilon, NoisySums.name, self.form)
        self.__dict__["_clipped"] = {clips: found}
        return found

    def clip_lattice(self, number: int, below: int, above: int) -> Lattice:
        """Return what a column's values weigh where they are clipped at two of its cut points."""
        column, points = self.widest.summed[number], self.points[number]
        assert points is not None
        assert column.bounds is not None
        centred = self.question.is_centred(column.exact, self.widest.split[1])
        clip = points.clip_at(below, above)
        return clip_column(column.lattice, column.bounds, clip, centred=centred)[0]

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Estimated:
        (_, noisy), (_, summed) = rounds(self, values)
        sums = self.clip_totals(noisy)
        found: Any = sums.solve(summed, post=post, known=known)
        solved: Estimated = replace(found, measured=sums, outside=self._share_outside(noisy))
        return solved

    def _share_outside(self, values: Ints) -> tuple[tuple[float, float], ...]:
        """Return for each column the noisy share of rows that are clipped, and its standard error."""
        parts, scales = iter(self.counts.split_values(values)), iter(self.counts.each_scale)
        found = []
        for points, at in zip(self.points, self.choose_bounds(values), strict=True):
            if points is None or at is None:
                found.append((0.0, 0.0))
                continue
            noisy, one = next(parts).tolist(), variance(next(scales))
            outside, bins = points.count_outside(noisy, *at)
            rows = max(sum(noisy), 1)
            found.append((min(max(outside / rows, 0.0), 1.0), float(np.sqrt(bins * one) / rows)))
        return tuple(found)


NOISE = "discrete Laplace"
BIAS = (
    "values beyond these count as the nearest one, so that the answer may be too small where high values are "
    "clipped, too large where low ones are; std and noise leave that out"
)


@dataclass(frozen=True, eq=False)
class ClippedQuestion(Question):
    """Sums or means of columns, clipped to bounds that are found first."""

    inner: Totals

    @property
    def columns(self) -> tuple[str, ...]:
        return self.inner.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        return (ClippedTotals.name,)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        del strategy, every
        yield ClippedTotals.build(self.inner, policy, epsilon)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        del strategy
        return ClippedTotals.build(self.inner, policy, epsilon, form)


def _count_tried(clipped: ClippedTotals) -> int:
    """Return how many bounds there are, times the cells that are gone through for each where these are."""
    seen, many = set(clipped.question.tally.domain.columns), 0
    for points in clipped.points:
        if points is not None:
            attribute = points.lattice.attribute
            block = next(block for block in clipped.policy.secrets if attribute.name in block)
            apart = len(block) == 1 and attribute.name not in seen
            many += len(points.ways) * (MOST_TRIED // MOST_APART if apart else attribute.size)
    return many


def _wider_ratios(clipped: ClippedTotals, graph: RecordGraph, flow: int) -> Iterator[Fraction | None]:
    """Yield for each total how often the change by the policy's edges is in that by those of a wider graph.

    None where just the wider ones change it.
    """
    widest = clipped.widest
    for number, points in enumerate(clipped.points):
        column = widest.summed[number]
        if points is None:
            pairs = [(_wider_change(column.lattice, graph, flow), widest.moved.peaks[number])]
            yield _largest(pairs)
            continue
        lattices = [clipped.clip_lattice(number, *way) for way in points.ways]
        peaks = [
            shifts(clipped.policy, clipped.question.tally, [Total(clipped.question.tally, each)]).peaks[0]
            for each in lattices
        ]
        yield _largest([(_wider_change(e, graph, flow), p) for e, p in zip(lattices, peaks, strict=True)])
    for number in range(len(clipped.points), len(widest.totals)):
        total = widest.totals[number]
        missing = isinstance(total, Total) and _can_move(total.lattice.attribute.name, graph)
        yield _largest([(max(flow, int(missing)), widest.moved.peaks[number])])


def _largest(pairs: Sequence[tuple[int, int]]) -> Fraction | None:
    """Return the largest quotient of pairs, 0 over 0 being 0; None where something is over 0."""
    if any(change and not peak for change, peak in pairs):
        return None
    return max((Fraction(change, peak) for change, peak in pairs if change), default=Fraction(0))


def _wider_change(found: Lattice, graph: RecordGraph, flow: int) -> int:
    """Return a bound on what an edge of a wider graph changes a sum of these weights by."""
    most = flow * found.largest
    if _can_move(found.attribute.name, graph):
        most = max(most, found.span, found.largest * found.attribute.nullable)
    return most


def _can_move(column: str, graph: RecordGraph) -> bool:
    """Return whether an edge changes a column's value."""
    (block,) = graph.project([column]).blocks
    return block.graph.edge_count > 0


def _noise(widest: NoisySums, number: int) -> Noise:
    """Return how the noise of a column's sum follows from the bounds that it is clipped to."""
    column, peak = widest.summed[number], Fraction(widest.moved.peaks[number])
    rate, unit = widest.total_scales[number] / peak, column.lattice.unit
    groups = int(widest.occupied.sum())
    if column.exact:
        return Noise("width", Fraction(1), peak, rate, unit, groups)
    times = peak / column.lattice.largest
    if widest.verb == "mean":
        return Noise("width", times / 2, peak, rate, unit, groups)
    return Noise("reach", times, peak, rate, unit, groups)
