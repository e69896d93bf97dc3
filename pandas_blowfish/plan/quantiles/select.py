"""Select: in which cell each quantile lies, and nothing else about the rows. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import LAWS, PLACES, OneTable, Round, Targets
from pandas_blowfish.plan.quantiles.halving import (
    NEAR,
    Level,
    pick_apart,
    pick_by_halves,
    rank_variances,
    rounding,
)
from pandas_blowfish.plan.quantiles.line_cells import LineCells, PlaceRows
from pandas_blowfish.plan.quantiles.rank_gap import bound_cells, rank_gap
from pandas_blowfish.plan.quantiles.sensitivity import Reach, place_change
from pandas_blowfish.plan.quantiles.solve import Marks, read_picks, solve_marks
from pandas_blowfish.plan.ranks.gap import LEVEL
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

CANDIDATES, MOST_PARTS = 2**21, 1_024  # parts of cells that are picked from, together and of one cell
ENOUGH = 64  # parts of a cell from which on picks by halves are not spoilt by cells with very many rows
INTERVALS = (
    "std is not known, interval() ends at values picked for other shares; "
    'read off counts, strategy="hierarchical", both are known'
)
PROOF = (
    "Just the place of the least noisy distance is released, {picks}. The distance of a place is how many "
    "rows lie between it and the wanted rank. A neighbouring table moves one row along one edge: differences "
    "of distances change by at most {sensitivity} rows, all picks together. One-sided geometric noise of "
    "scale {scale} rows has no memory: a distance that must fall so much further below the others, or less, "
    "does so with odds that change by at most exp({sensitivity} / {scale}) = exp({epsilon})."
)
PROOF_EXACT = (
    "No edge of the policy changes the rank of any cell: the quantiles are the same in all neighbouring "
    "tables, so they are released exactly and cost nothing."
)


@dataclass(frozen=True, eq=False)
class Select(OneTable):
    """Quantiles picked among cells by their distance in rows: each by itself, or one between others.

    By halves the middle quantile is picked first, with its place inside the cell; then those in the middle of
    the rows below and above it, each among the cells there, and so on. An edge inside one run leaves the
    others alone, so that all of them share one round.

    Attributes:
        lines: The candidates.
        shares: The quantiles, as they were asked for.
        outer: The labels of the groups; None without groups.
        halves: Whether some are picked between others.
        parts: How many parts a cell is cut into, where it is.
        inside: Whether places inside cells are released, too.
        change: By how much an edge changes differences of distances, in rows, over all picks.
        epsilon: What may be lost.

    Proof note:
        Requires: no touched facts, neighbours move one row along one edge of the graph.
        Ensures:  privacy loss <= epsilon.
        Because:  a pick loses at most the range of the change over the scale (`draw_choices`,
                  `place_ranges`), the ranges of all rounds add up to `place_change` at most whatever was
                  picked before, and the losses of rounds add up (`Strategy`).
        Checked:  tests/privacy/test_quantile_loss.py::test_no_neighbours_lose_more_than_is_charged
    """

    lines: LineCells
    shares: tuple[Fraction, ...]
    outer: pd.Index[Any] | None
    halves: bool
    parts: int
    inside: bool
    change: Fraction
    epsilon: Fraction

    name = "select"
    mechanism = PLACES

    @property
    def tally(self) -> Tally:
        """Return the counts of all bins."""
        return self.lines.tally

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Return what is picked in each round."""
        return levels_of(self.shares, halves=self.halves)

    @cached_property
    def order(self) -> Ints:
        """Return the number of each share that was asked for, among different ones as they rise."""
        rising = sorted(set(self.shares))
        return np.array([rising.index(share) for share in self.shares], dtype=np.int64)

    @property
    def distance_scale(self) -> Fraction:
        """Return the noise scale of distances, in rows."""
        return self.change / self.epsilon

    @property
    def sensitivity(self) -> Fraction:
        return self.change

    @cached_property
    def first(self) -> PlaceRows:
        """Return the first round."""
        return self._round(0, Marks.empty(self.lines, len(set(self.shares)), 2 * self.parts))

    @property
    def scales(self) -> Scales:
        return self.first.scales

    @property
    def choices(self) -> Ints:
        return self.first.choices

    @property
    def targets(self) -> Targets:
        return self.first.targets

    def apply(self, counts: Ints) -> Ints:
        return self.first.apply(counts)

    def columns(self, cells: Any) -> Any:
        return self.first.columns(cells)

    @property
    def in_rounds(self) -> bool:  # type: ignore[override]
        return len(self.levels) > 1

    @property
    def values(self) -> int | None:
        return len(set(self.shares)) * len(self.lines.live)

    @property
    def drawn_scales(self) -> Sequence[Fraction | int]:
        each = enumerate(self.levels)
        return [self._scale(at, level) * self._parts(at) for at, level in each]

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        if not values:
            return self
        if len(values) >= len(self.levels):
            return None
        return self._round(len(values), self._marks(values))

    def _scale(self, at: int, level: Level) -> Fraction:
        """Return the noise scale of a round, in parts of what its query rows count."""
        return self.distance_scale * _whole(level) * (2 * self.parts if at else 1)

    def _parts(self, at: int) -> int:
        """Return how many parts cells of a round are cut into: where that is asked for, or others follow."""
        return self.parts if self.inside or at < len(self.levels) - 1 else 1

    def _ends(self, at: int, marks: Marks) -> tuple[Any, Any, Any, Any]:
        low, high = (np.array([getattr(step, end) for step in self.levels[at]]) for end in ("low", "high"))
        return marks.ends(low, high)

    def _round(self, at: int, marks: Marks) -> PlaceRows:
        """Return a round's picks between those before it: whole cells, and parts of those at the ends."""
        level, lines, unit = self.levels[at], self.lines, marks.unit
        low, low_in, high, high_in = self._ends(at, marks)
        sizes = high - low + 1
        begins = np.cumsum(sizes) - sizes
        start = np.repeat(lines.first, len(level)) + low
        rows = np.arange(int(sizes.sum())) + np.repeat(start - begins, sizes)
        weights = np.full(len(rows), unit, dtype=np.int64)
        weights[begins + sizes - 1] = high_in
        weights[begins] -= low_in
        runs = np.repeat(np.arange(len(sizes)), sizes)
        whole = _whole(level)
        shares = [int(step.share * whole) for step in level] * len(lines.live)
        wanted = Targets(tuple(shares), whole, self._parts(at))
        weights = weights if at else weights // unit
        return PlaceRows(lines, rows, weights, runs, wanted, self._scale(at, level))

    def _marks(self, values: Sequence[Ints]) -> Marks:
        """Return where quantiles were picked in the rounds so far."""
        marks = Marks.empty(self.lines, len(set(self.shares)), 2 * self.parts)
        for at, each in enumerate(values):
            low, low_in, high, high_in = self._ends(at, marks)
            sizes = high - low + 1
            begins, parts = np.cumsum(sizes) - sizes, self._parts(at)
            rows, part = read_picks(each, begins, sizes, parts)
            cells = low + rows - begins
            start = np.where(cells == low, low_in, 0)
            end = np.where(cells == high, high_in, marks.unit)
            inside = start + (2 * part + 1) * (end - start) // (2 * parts)
            marks = marks.add(np.array([step.at for step in self.levels[at]]), cells, inside)
        return marks

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        del post, known
        ends = np.cumsum([len(level) * len(self.lines.live) for level in self.levels])
        if len(values) != self.values:
            values = values[:0]
        return solve_marks(self.lines, self._marks(np.split(values, ends[:-1])), self.order)

    @cached_property
    def index(self) -> pd.Index[Any]:
        inner = pd.Index([float(share) for share in self.shares], dtype="float64", name="q")
        return inner if self.outer is None else share_index(self.outer, inner.tolist())

    @cached_property
    def variances(self) -> Floats:
        """Return NaN: how far a value is off depends on how densely rows lie; 0 where the picks are exact."""
        return np.full(len(self.index), np.nan if self.change else 0.0)

    @property
    def mse(self) -> float:
        """Return the expected squared error of a rank, were rows spread evenly: places are no further off."""
        return float(sum(rank_variances(self.levels, self.distance_scale))) / max(len(set(self.shares)), 1)

    @property
    def gap(self) -> int:
        """Return how many rows may lie between a value and its quantile, at `LEVEL`."""
        return self._gap_at(LEVEL)

    def _gap_at(self, level: float) -> int:
        most = int(self.lines.sizes.max(initial=1))
        cut = self.parts if self.inside or self.in_rounds else 1
        return rank_gap(self.levels, most, cut, self.distance_scale, level)

    def bound_cells(self, cells: Ints, rows: int | None, levels: Sequence[Fraction]) -> tuple[Ints, Ints]:
        """Return the first and the last cell in which each quantile may lie, answers x levels; -1 for none.

        Those of other quantiles, where it is public how many rows the line has; else the ends of the line.

        Args:
            cells: The cells that were picked, lines x quantiles.
            rows: How many rows there are; None where that is not public.
            levels: The probabilities.
        """
        each = np.repeat(cells.reshape(-1, 1), len(levels), axis=1)
        if not self.change:
            return each, each
        (binning, *more), condition = self.tally.binnings, self.tally.condition
        partial = binning.labels is not None and bool((binning.labels < 0).any())
        ends = 0, self.lines.atoms - 1
        if rows is None or more or condition is not None or partial:
            return tuple(np.where(each < 0, -1, end) for end in ends)  # type: ignore[return-value]
        lost = Fraction(rows * len(self.levels), self.parts) if self.in_rounds else Fraction(0)
        lost += rows * rounding(self.levels)
        gaps = [self._gap_at(float(level)) + lost for level in levels]
        return bound_cells(cells[0], self.shares, gaps, rows, ends)

    @property
    def accuracy(self) -> str:
        """Return what is proved about the values, in a sentence."""
        each = "in each group " if self.outer is not None else ""
        if not self.change:
            return f"{each}every value is the quantile"
        many = "each value and its quantile" if len(self.shares) > 1 else "the value and the quantile"
        more = f", besides 1/{self.parts} of the rows of one value," if self.in_rounds else ""
        if (off := rounding(self.levels)) > NEAR:
            more += f"{' and' if more else ', besides'} {math.ceil(float(off) * 1e8) / 1e8:.3g} of all rows,"
        return f"with 95% probability {each}at most {self.gap:,} rows{more} lie between {many}"

    @property
    def form(self) -> dict[str, Any]:
        return {"halves": self.halves, "parts": self.parts}

    @property
    def proof_id(self) -> str:
        return "places"

    @property
    def proof(self) -> str:
        if not self.change:
            return PROOF_EXACT
        many = len(set(self.shares))
        picks = "once" if many == 1 else f"{many:,} times, in {len(self.levels):,} rounds"
        named = {"sensitivity": self.change, "scale": self.distance_scale, "epsilon": self.epsilon}
        return PROOF.format(picks=picks, **named)

    def loss_over(self, edges: Callable[[], Ints]) -> Fraction | float | None:
        """Return None: a bound over all tables is proved, edges alone do not decide it."""
        del edges
        return None

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        change = self._change(graph)
        if change and not self.change:
            return WorstCase.or_exact(None)
        return WorstCase(change / self.distance_scale if change else Fraction(0))

    def _change(self, graph: RecordGraph) -> Fraction:
        return place_change(self.levels, Reach.of(graph, self.tally), parts=self.first.targets.parts)

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        del query, rows_public
        each = " per group" if self.outer is not None else ""
        found = {"answers": f"{len(self.shares):,}{each}, picked among {len(self.lines.bins):,} cells"}
        if not self.change:
            return {**found, "accuracy": self.accuracy}
        scale = f"scale {float(self.distance_scale):,.6g} rows"
        return {
            **found,
            "noise": f"{LAWS[PLACES]}, {scale}; just the places are released",
            "typical error": f"+-{math.sqrt(self.mse):,.3g} rows at most, where rows are spread evenly",
            "accuracy": self.accuracy,
            "intervals": INTERVALS,
        }


def build_select(
    graph: RecordGraph,
    lines: LineCells,
    shares: tuple[Fraction, ...],
    outer: pd.Index[Any] | None,
    epsilon: Fraction,
    *,
    inside: bool,
    form: Mapping[str, Any] | None = None,
) -> Select:
    """Return the strategy for some quantiles: by halves where that is expected to be nearer.

    Args:
        graph: The secret graph projected on the tally's columns.
        lines: The candidates.
        shares: The quantiles.
        outer: The labels of the groups.
        epsilon: What may be lost.
        inside: Whether values inside cells matter.
        form: What was chosen before, for a stored answer.
    """
    reach, many = Reach.of(graph, lines.tally), len(set(shares))
    made = []
    for halves in (False, True) if form is None else (bool(form["halves"]),):
        runs = 1 if halves else many
        fits = CANDIDATES // max(runs * len(lines.bins), 1)
        parts = min(MOST_PARTS, 2 ** max(fits.bit_length() - 1, 0)) if halves or inside else 1
        parts = parts if form is None else int(form["parts"])
        if halves and form is None and (many == 1 or parts < ENOUGH):
            continue
        levels = levels_of(shares, halves=halves)
        cut = parts if inside or len(levels) > 1 else 1
        change = place_change(levels, reach, parts=cut)
        made.append(Select(lines, shares, outer, halves, parts, inside, change, epsilon))
    return min(made, key=lambda each: each.mse)


def levels_of(shares: Sequence[Fraction], *, halves: bool) -> tuple[Level, ...]:
    """Return what is picked in each round."""
    rising = sorted(set(shares))
    return pick_by_halves(rising) if halves else pick_apart(rising)


def share_index(outer: pd.Index[Any], q: Sequence[float]) -> pd.MultiIndex:
    """Return every group with every share, groups outermost."""
    pairs = outer.repeat(len(q)).to_frame(index=False)
    pairs["q"] = np.tile(np.array(q), len(outer))
    return pd.MultiIndex.from_frame(pairs)


def _whole(level: Level) -> int:
    """Return what the shares of a round are all whole parts of."""
    return math.lcm(*(step.share.denominator for step in level))
