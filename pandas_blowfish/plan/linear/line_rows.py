"""Optimised: any whole-number query rows along each line, found numerically. Never sees rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import Joined, LineGraph
from pandas_blowfish.plan.line.layouts import CELLS, LAYOUTS
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.search import SHORT, search
from pandas_blowfish.plan.line.strategy import End, Entry, LineStrategy
from pandas_blowfish.plan.linear.atom_rows import multiply_rows, pack_rows, unpack_rows
from pandas_blowfish.plan.linear.bound import count_both
from pandas_blowfish.plan.linear.estimator import Estimator, estimator
from pandas_blowfish.plan.linear.optimise import optimise
from pandas_blowfish.plan.linear.sensitivity import Links
from pandas_blowfish.plan.scales import FARTHEST, Scales, variance
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.identity import PROOF_EXACT

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

MAX_ATOMS = 300  # of a line, or of a connected part of it, whose rows are searched for
MAX_JOINED = 600  # of all connected parts of a line together
FEWEST = 8  # atoms from which rows are searched for unless they are asked for by name
GAIN = 0.98  # of the least error of runs: what gains less is not worth keeping a matrix for
LATTICE = 1 << 12  # the largest change over an edge, in steps of the lattice
SLIGHTLY = 0.05  # how much rows begin with of all cumulative counts, besides what is asked
LITTLE = 1e-4  # of what is asked: how much all atoms are asked about besides, so that none is lost
MAX_TIED = 512  # exact totals of single segments, or of several lines, beside others that are not exact
MAX_LINES = 1_000  # lines that may differ in what is exact
CLOSE = 1e-6  # by how much what is estimated may differ from what is asked
PROOF = (
    "{rows:,} rows of whole numbers over the {atoms:,} atoms of each line: a neighbouring table moves one "
    "row along one edge of the policy, which changes the measured rows by at most the sensitivity "
    "{sensitivity} in L1, the maximum over all pairs of atoms that an edge joins, in whole numbers. Discrete "
    "Laplace noise of scale {scale} on each therefore loses at most epsilon = {epsilon}. Rows of scale 0 are "
    "totals that no edge changes: they are the same in all neighbouring tables and cost nothing. How the "
    "rows were found does not matter; estimates from them are post-processing."
)


@dataclass(frozen=True, eq=False)
class Optimised(LineStrategy):
    """Whole-number rows over the atoms of a line, the same on every line, and exact totals.

    Attributes:
        rows: Query rows of one line x atoms.

    Proof note:
        Requires: no touched facts; `LineGraph.joined` as its note says.
        Ensures:  privacy loss <= epsilon, with equality where every edge could be listed.
        Because:  a row that moves along its line changes the query rows by the distance of two columns, one
                  that moves to another line by the norms of two, one that leaves by the norm of one; the
                  scale is the largest of these, in whole numbers, over epsilon. Rows of scale 0 do not
                  change.
        Checked:  tests/plan/linear/test_line_rows.py::test_loss_matches_enumeration
    """

    asked: Spans
    line: LineGraph
    epsilon: Fraction
    rows: Ints

    name = "optimised"
    proof_id = "optimised"

    @classmethod
    def build(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Optimised]:
        """Yield the rows that a search finds; among all strategies only if they are better than runs."""
        least = 0 if alone else FEWEST
        runs = len(axis.starts) > int(axis.pieces.max(initial=-1))  # totals of other pieces are lost
        if not (least <= axis.size <= MAX_JOINED and runs and can_be_tied(axis)) or axis.joined is None:
            return
        parts = _parts(axis, axis.joined)
        every = sum(len(part) * (len(part) - 1) // 2 for part in parts)
        plain = (
            asked.kind == "cells" and len(axis.joined.within) >= every
        )  # counts of cells are as good there
        if max(map(len, parts)) > MAX_ATOMS or (plain and not alone):
            return
        if 1 / epsilon > FARTHEST:  # no such noise is drawn, and floats do not hold its variance
            return
        nests = list(_nests(asked, axis, epsilon))
        best = min((each.mse for each in nests), default=0.0)
        if best == 0 and not alone:
            return
        found = cls(asked, axis, epsilon, _search(asked, axis, axis.joined, nests))
        if found.spread.enough and (alone or found.mse < GAIN * best):
            yield found

    @classmethod
    def reread(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, form: Mapping[str, Any]) -> Optimised:
        """Return the measurement that `form` described."""
        rows = unpack_rows(form["rows"]).toarray()
        if rows.shape[1] != axis.size or axis.joined is None:
            raise ArgumentError("strategy", "these rows are about another line", fix='"auto"')
        return cls(asked, axis, epsilon, rows)

    @property
    def parts(self) -> tuple[Ints, ExactParts]:
        return self.line.segments, self.line.exact

    @property
    def is_even(self) -> bool:
        return False

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours."""
        return Fraction(largest_change(self._by_row, self._joined))

    @property
    def _joined(self) -> Joined:
        assert self.line.joined is not None  # nothing is built where it is
        return self.line.joined

    @cached_property
    def _by_row(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.rows)

    @property
    def scale(self) -> Fraction:
        """Return the noise scale of every row that is not exact."""
        return self.sensitivity / self.epsilon

    @property
    def line_scales(self) -> Scales:
        return Scales([self.scale], np.zeros(len(self.rows), dtype=np.int8))

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(
            rows=len(self.rows),
            atoms=self.line.size,
            sensitivity=self.sensitivity,
            scale=self.scale,
            epsilon=self.epsilon,
        )

    @property
    def form(self) -> dict[str, Any]:
        """Return the rows themselves, as plain data."""
        return {"rows": pack_rows(self._by_row)}

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.rows))

    def sum_atoms(self, by_line: Ints) -> Ints:
        found = [multiply_rows(self._by_row, counts) for counts in by_line]
        return np.array(found, dtype=np.int64).reshape(len(by_line), len(self.rows))

    def entries(self, ends: Sequence[End]) -> Iterable[Entry]:
        by_atom = self._by_row.tocsc()
        for column, first, atom, sign in ends:
            own = by_atom[:, atom]
            many = np.diff(own.indptr)
            column, first, sign = (np.repeat(each, many) for each in (column, first, sign))
            yield column, own.indices + first, sign * own.data

    @cached_property
    def spread(self) -> RowSpread:
        """Return how estimates vary."""
        return RowSpread(self.rows, variance(self.scale), self.line.starts, self.line.exact, self.line.groups)

    def estimate(self, noisy: NDArray[Any], exact: Floats) -> Floats:
        counts = self.spread.counts(noisy.astype(np.float64), exact)
        return np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)

    def range_variances(self, asked: Spans) -> Floats:
        found = self.spread.by_line(*asked.ends)
        return np.tile(found[0], self.line.groups) if len(found) == 1 else found.ravel()

    @property
    def mean_range_variance(self) -> float:
        return float(self.variances.mean())

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return the rows, their scale and what is exact, from which errors of ranges follow."""
        from pandas_blowfish.plan.shape.covariance import describe_rows  # here: it reads strategies

        return describe_rows(self)


def can_be_tied(line: LineGraph) -> bool:
    """Tell whether exact totals beside others that are not exact are few enough for dense algebra."""
    exact = line.exact
    many = int(exact.alone.sum()) + exact.totals
    return not line.open or not many or (many <= MAX_TIED and line.groups <= MAX_LINES)


def _nests(asked: Spans, line: LineGraph, epsilon: Fraction) -> Iterator[Nested]:
    """Yield the best nests of runs: of every kind, or on longer lines of all kinds together."""
    kinds = [lay(line) for name, lay in LAYOUTS.items() if name != CELLS or asked.kind != "cells"]
    if line.size > SHORT:
        kinds = [list(dict.fromkeys(layout for some in kinds for layout in some))]
    for layouts in kinds:
        if layouts:
            yield Nested("", asked, line, *search(line, asked, layouts), epsilon)


def _parts(line: LineGraph, joined: Joined) -> list[Ints]:
    """Return the atoms of each part that is searched by itself: segments, where no edge leads out of one."""
    if line.open or len(joined.across) or len(joined.away) or not line.exact.alone.all():
        return [np.arange(line.size)]
    return np.split(np.arange(line.size), line.starts[1:])


def _search(asked: Spans, line: LineGraph, joined: Joined, nests: Sequence[Nested]) -> Ints:
    """Return whole-number rows over the atoms of a line that a search finds for what is asked."""
    alone = _parts(line, joined)
    if len(alone) > 1:
        return _search_parts(asked, joined, nests, alone)
    size = line.size
    both = np.unique(joined.across)
    leaves = [np.column_stack([each, np.full(len(each), size)]) for each in (both, joined.away)]
    pairs = np.concatenate([joined.within, *leaves])
    if not len(pairs):
        return np.zeros((0, size), dtype=np.int64)
    # two atoms of two lines change the rows by their norms: by no more than twice the larger one
    times = np.repeat([1.0, 2.0, 1.0], [len(joined.within), len(both), len(joined.away)])
    parts = np.full(size, -1) if line.open else line.segments
    starts = [*map(_weighted, nests), _squares(size)]
    starts += _asked_rows(asked, pairs) if asked.kind == "ranges" else []
    effort = 1 if size <= SHORT else 3
    return optimise(_squared(asked), pairs, parts, starts, times=times, lattice=LATTICE, effort=effort)


def _search_parts(asked: Spans, joined: Joined, nests: Sequence[Nested], parts: Sequence[Ints]) -> Ints:
    """Return the rows of each part of a line, found by itself: an edge changes those of one alone.

    All are brought to nearly the same largest change, so that one scale suits them.
    """
    squared, found = _squared(asked), np.zeros((0, asked.size), dtype=np.int64)
    begun = [_weighted(nest) for nest in nests]
    for atoms in parts:
        first, size = int(atoms[0]), len(atoms)
        pairs = joined.within[(joined.within[:, 0] >= first) & (joined.within[:, 0] < first + size)] - first
        if not len(pairs):  # its total is exact
            continue
        starts = [each[:, atoms] for each in begun] + [_squares(size)]
        gram, whole = squared[np.ix_(atoms, atoms)], np.zeros(size, dtype=np.int64)
        rows = optimise(gram, pairs, whole, [*starts, np.eye(size)], lattice=LATTICE, effort=1)
        change = int(np.abs(rows[:, pairs[:, 0]] - rows[:, pairs[:, 1]]).sum(axis=0).max(initial=1))
        own = np.zeros((len(rows), asked.size), dtype=np.int64)
        own[:, atoms] = rows * max(LATTICE // change, 1)
        found = np.concatenate([found, own])
    return found


def _weighted(nest: Nested) -> Floats:
    """Return the query rows of one line of a nest, each divided by its scale at epsilon 1."""
    scales = np.array([float(scale * nest.epsilon) for scale in nest.line_scales])
    rows = nest.sum_atoms(np.eye(nest.line.size, dtype=np.int64)).T
    return np.asarray(rows[scales > 0] / scales[scales > 0][:, None])


def _squares(size: int) -> Floats:
    """Return the sums of runs of 1, 4, 16, ... atoms."""
    atoms, found, width = np.arange(size), [np.eye(size)], 4
    while width < size:
        found.append((atoms // width == np.arange(-(-size // width))[:, None]).astype(np.float64))
        width *= 4
    return np.concatenate(found)


def _asked_rows(asked: Spans, pairs: Ints) -> list[Floats]:
    """Return what is asked as rows that each change by 1 at most, and a little of all cumulative counts."""
    starts, stops = np.unique(np.column_stack(asked.ends), axis=0).T
    if len(starts) > 2 * asked.size:
        return []
    atoms = np.arange(asked.size + 1)
    rows = ((starts[:, None] <= atoms) & (atoms < stops[:, None])).astype(np.float64)
    rows = rows[(rows[:, pairs[:, 0]] != rows[:, pairs[:, 1]]).any(axis=1)]
    return [np.concatenate([rows[:, :-1], SLIGHTLY * np.tril(np.ones((asked.size, asked.size)))])]


def _squared(asked: Spans) -> Floats:
    """Return the mean of w w^T over what is asked, w its row over atoms, and a little of all atoms."""
    size, (starts, stops) = asked.size, asked.ends
    found = count_both([starts], [stops], [size]) / len(starts)
    return np.asarray(found + LITTLE * np.trace(found) / size * np.eye(size))


def largest_change(rows: Any, joined: Joined) -> int:
    """Return the largest L1 change that one edge makes to the query rows of all lines, in whole numbers.

    Args:
        rows: Query rows of one line x atoms, scipy sparse, int64.
        joined: Which atoms edges join.
    """
    size = rows.shape[1]
    leaves = np.column_stack([joined.away, np.full(len(joined.away), size)])
    inside = Links(size, np.concatenate([joined.within, leaves]), np.full(size, -1))
    norms = np.asarray(abs(rows).sum(axis=0)).ravel()
    return max(inside.change(rows), int(norms[joined.across].sum(axis=1).max(initial=0)))


def lay_segments(starts: Sequence[int], size: int) -> Floats:
    """Return segments x atoms, with ones where an atom is in a segment."""
    return np.repeat(np.eye(len(starts)), np.diff([*starts, size]), axis=1)


@lru_cache(maxsize=16)
def _estimator_of(rows: bytes, shape: tuple[int, int], starts: tuple[int, ...]) -> Estimator:
    """Return the best estimator from rows of variance 1: rows found once serve every epsilon.

    Args:
        rows: Whole numbers, as bytes.
        shape: How many rows of how many atoms.
        starts: Where segments begin whose totals are exact; none where totals are not.
    """
    numbers = np.frombuffer(rows, dtype="<i8").reshape(shape)
    unit = float(max(int(np.abs(numbers).max(initial=0)), 1))
    with one_thread():
        found = estimator(numbers / unit, np.ones(shape[0]), lay_segments(starts, shape[1]) if starts else [])
    return Estimator(found.fit / unit, found.held, found.spread / unit)


class RowSpread:
    """The best estimates from rows of one scale on each of some lines, and how they vary.

    Args:
        rows: Query rows of one line x atoms.
        noise: The variance of each.
        starts: Where segments begin.
        exact: Which totals of segments, or of segments of several lines, are exact.
        groups: How many lines there are.
    """

    def __init__(self, rows: Ints, noise: float, starts: Ints, exact: ExactParts, groups: int) -> None:
        self.rows, self.noise, self.starts, self.exact, self.groups = rows, noise, starts, exact, groups
        self.size = rows.shape[1]

    @cached_property
    def segments(self) -> Floats:
        """Return segments x atoms, with ones where an atom is in a segment."""
        return lay_segments(self.starts.tolist(), self.size)

    @cached_property
    def open(self) -> bool:
        """Return whether some segment's total is not exact by itself."""
        return not bool(self.exact.alone.all())

    @cached_property
    def estimator(self) -> Estimator:
        """Return the best estimator of a line's counts, given its totals where all of them are exact."""
        starts = () if self.open else tuple(self.starts.tolist())
        return _estimator_of(self.rows.astype("<i8").tobytes(), self.rows.shape, starts)

    @cached_property
    def enough(self) -> bool:
        """Tell whether all counts can be estimated."""
        found = self.estimator.fit @ self.rows
        if not self.open:
            found = found + self.estimator.held @ self.segments
        return bool(np.abs(found - np.eye(self.size)).max(initial=0.0) <= CLOSE)

    @cached_property
    def ties(self) -> Ints:
        """Return which exact total each segment of each line is in, -1 for none; none where all are exact."""
        codes = np.full(len(self.exact.alone), -1)
        if self.open:
            alone = self.exact.alone
            codes[alone] = np.arange(int(alone.sum()))
            shared = self.exact.total_of >= 0
            codes[shared] = int(alone.sum()) + self.exact.total_of[shared]
        return codes.reshape(self.groups, -1)

    @cached_property
    def _whole(self) -> Floats:
        """Return the covariance of one line's counts, but for the exact totals of open lines."""
        return np.asarray(self.estimator.covariance * self.noise)

    @cached_property
    def _tied(self) -> tuple[Floats, Floats]:
        """Return how counts go with their line's segments, and the inverse covariance of the exact totals."""
        pull, many = self._whole @ self.segments.T, int(self.ties.max(initial=-1)) + 1
        totals, both = self.segments @ pull, np.zeros((many, many))
        for line in self.ties:
            inside = np.flatnonzero(line >= 0)
            np.add.at(both, np.ix_(line[inside], line[inside]), totals[np.ix_(inside, inside)])
        inverse = np.linalg.pinv(both, hermitian=True) if many else both
        return np.asarray(pull, dtype=np.float64), np.asarray(inverse, dtype=np.float64)

    def counts(self, noisy: Floats, exact: Floats) -> Floats:
        """Return the best counts of atoms, lines x atoms.

        Args:
            noisy: The noisy query rows, lines x rows.
            exact: The exact totals: of single segments, then of those that several lines share.

        Proof note:
            Requires: independent rows of one variance that tell all counts, given the exact totals.
            Ensures:  the estimate of least variance among all linear unbiased ones.
            Because:  least squares on each line; lines are independent, so exact totals that tie several of
                      them, or some segments of open ones, are added by conditioning, C B' (B C B')^+ times
                      the gap.
            Checked:  tests/plan/linear/test_line_rows.py::test_equals_dense_least_squares
        """
        if not self.open:
            held = exact.reshape(self.groups, -1) @ self.estimator.held.T
            return np.asarray(noisy @ self.estimator.fit.T + held)
        found = noisy @ self.estimator.fit.T
        pull, inverse = self._tied
        if not len(inverse):
            return np.asarray(found)
        inside = self.ties >= 0
        sums = np.bincount(self.ties[inside], (found @ self.segments.T)[inside], len(inverse))
        prices = np.append(inverse @ (exact - sums), 0.0)  # the last one is of segments in no total
        return np.asarray(found + prices[self.ties] @ pull.T)

    def covariances(self) -> Iterator[Floats]:
        """Yield the covariance of the counts of each line; of one where all lines are alike."""
        pull, inverse = self._tied
        if not len(inverse):
            yield self._whole
            return
        for line in self.ties:
            inside = np.flatnonzero(line >= 0)
            own = pull[:, inside]
            yield self._whole - own @ inverse[np.ix_(line[inside], line[inside])] @ own.T

    @cached_property
    def positions(self) -> list[Floats]:
        """Return the covariances of cumulative counts, of each line; of one where all lines are alike."""
        found = []
        for each in self.covariances():
            whole = np.zeros((self.size + 1, self.size + 1))
            whole[1:, 1:] = np.cumsum(np.cumsum(each, axis=0), axis=1)
            found.append(whole)
        return found

    def by_line(self, starts: Ints, stops: Ints) -> Floats:
        """Return the variances of ranges on each line; one row where all lines are alike."""
        found = []
        for whole in self.positions:
            own = np.diag(whole)
            each = own[starts] + own[stops] - 2 * whole[starts, stops]
            found.append(np.where(each > 1e-9 * own.max(initial=0.0), each, 0.0))
        return np.array(found)

    def weigh_lines(self, weights: Floats) -> Floats:
        """Return the variances of weighted sums of atoms (sums x atoms), lines x sums."""
        found = [((weights @ each) * weights).sum(axis=1) for each in self.covariances()]
        return np.asarray(np.maximum(np.array(found), 0.0))
