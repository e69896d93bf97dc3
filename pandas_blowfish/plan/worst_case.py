"""What a release would lose if one record could move anywhere the public columns let it. Never sees rows.

A fact that becomes public later may let records move along pairs that no secret joins (MATH, section 4), so
each charge says this at once: when the fact comes, the plan is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError, SecretError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.clusters.synopsis import Synopsis
from pandas_blowfish.plan.line.axis import Line, line
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.sensitivity import ExactParts, counts_all, stay
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.mesh import Mesh
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques
from pandas_blowfish.policy.policy import Policy

FEW = 10**6  # cells times non-zeros up to which all pairs are tried
LONG = 1_024  # cells of a line up to which rows are listed
DIGITS = 12  # of a loss, which is rounded up
EXACT = "it tells exactly what a public fact may change"
MANY = "it looks at too many cells"
UNBOUNDED = "it looks at a column without bounds"
ADAPTIVE = "what it measures depends on the rows"
SPREAD = "its noise is spread over a mesh"
CHAIN = "its rows follow each other"


@dataclass(frozen=True)
class Closure:
    """The largest loss over all pairs of the closure; None where it is unknown or unbounded, and why."""

    loss: Fraction | None
    why: str = ""


def closure_loss(plan: Plan) -> Fraction | None:
    """Return the most that a release loses when one record moves anywhere; None if unknown; see `closure`."""
    return closure(plan).loss


def closure(plan: Plan) -> Closure:
    """Return the most that a release loses when one record moves where the public columns let it.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> from pandas_blowfish.policy.secret import threshold
        >>> line = Policy(Domain((integers("x", 0, 3),)), secrets={"x": threshold(1)})
        >>> closure(line.plan.cumhist("x", epsilon=1, strategy="ordered")).loss
        Fraction(3, 1)

    Proof note:
        Requires: nothing.
        Ensures:  the loss is at least sum_j |A[j,x] - A[j,y]| / b_j for all cells x, y that agree on the
                  public columns and, with presence, for y absent; None where some such pair changes an
                  exact row, or where there is no such matrix A. It is 0 for what follows from the facts.
        Because:  a plan made under touched facts keeps epsilon / moved over these very pairs, one made for
                  full and public columns keeps epsilon. Counts of bins, and nests, have their closed forms
                  on the graph of these pairs. A few cells are tried pair by pair; of many, the triangle
                  inequality adds up the two largest distances from one centre.
        Checked:  tests/plan/test_worst_case.py::test_at_least_every_pair
    """
    if plan not in _kept:
        found = _closure(plan)
        _kept[plan] = found if found.loss is None else Closure(_rounded_up(found.loss))
    return _kept[plan]


_kept: WeakKeyDictionary[Plan, Closure] = WeakKeyDictionary()


def closure_graph(policy: Policy, domain: Domain) -> RecordGraph:
    """Return the graph that joins all cells of some columns that agree on the public ones."""
    public = policy.public_columns
    blocks = (
        Block((each.name,), Cliques.none(each.size) if each.name in public else Cliques.full(each.size))
        for each in domain
    )
    return RecordGraph(tuple(blocks), None, policy.presence, domain.columns)


def _closure(plan: Plan) -> Closure:
    if plan.policy.chain is not None:
        return Closure(None, CHAIN)
    if plan.price.touched:
        return Closure(plan.cost / plan.price.moved)
    if not plan.policy.presence and plan.policy.public_columns.issuperset(plan.domain.columns):
        return Closure(Fraction(0))
    if not all(attribute.bounded for attribute in plan.domain):
        return Closure(None, UNBOUNDED)
    if _holds_all(plan):
        return Closure(plan.cost)
    measured = plan.measurement
    if isinstance(measured, Dawa):
        return Closure(None, ADAPTIVE)
    if isinstance(measured, Mesh):
        return Closure(None, SPREAD)
    graph = closure_graph(plan.policy, plan.domain)
    if isinstance(measured, (Identity, Synopsis)):
        wider = measured.closed(graph)
        return Closure(wider, EXACT if wider is None else "")
    if isinstance(measured, Nested) and (found := _runs(measured, graph)) is not None:
        return found
    if isinstance(measured, (Nested, Tree)) and plan.domain.size > LONG:
        return Closure(None, MANY)
    try:
        rows = _Rows(plan.matrix().tocsc(), plan.scales, _public_codes(plan), plan.policy.presence)
    except DomainTooLargeError:
        return Closure(None, MANY)
    return rows.tried() if rows.few else rows.bound()


def _holds_all(plan: Plan) -> bool:
    """Tell whether the edges that a plan was made for are all these pairs: full and public columns."""
    try:
        graph = plan.policy.graph.project(plan.domain.columns)
    except SecretError:  # a column of its secret has no cells
        return False
    public, moving = plan.policy.public_columns, 0
    for block in graph.blocks:
        if public.issuperset(block.columns) or block.graph.size == 1:
            continue
        moving += 1
        if not isinstance(block.graph, Cliques) or (block.graph.groups != block.graph.groups[0]).any():
            return False
    return moving <= graph.limit


def _runs(measured: Nested, graph: RecordGraph) -> Closure | None:
    """Return the loss of a nest over a graph that holds its edges; None where segments are joined there."""
    own, wider = measured.line, _line(graph, measured.tally)
    if not np.array_equal(own.starts, wider.starts) or own.open != wider.open:
        return None
    if not stay(own.exact, wider.exact):
        return Closure(None, EXACT)
    patterns = Nest(wider, measured.layout).patterns().tolist()
    if patterns and not all(measured.family_scales):
        return None
    parts = [1 / scale for scale in measured.family_scales] if patterns else []
    losses = (sum((n * part for n, part in zip(each, parts, strict=True)), Fraction(0)) for each in patterns)
    return Closure(max(losses, default=Fraction(0)))


def _line(graph: RecordGraph, tally: Tally) -> Line:
    """Return the line of a tally, at once where one whole column is looked at (which is not public)."""
    if len(tally.binnings) != 1 or not counts_all(graph, tally):
        return line(graph, tally)
    size, none = tally.size, np.empty((0, 2), dtype=np.int64)
    exact = ExactParts(np.ones(1, dtype=bool), np.full(1, -1), 0)
    ends = np.array([[0, size - 1]])[: size > 1]
    return Line(size, 1, ends, none, none[:, 0], None, exact, np.zeros(size, dtype=np.int64), exact)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Measured rows over cells, by column, and the number of each cell's public values."""

    by_cell: Any
    scales: Scales
    public: Ints
    presence: bool

    @property
    def few(self) -> bool:
        """Tell whether all pairs can be tried."""
        return len(self.public) * int(self.by_cell.nnz) <= FEW

    def tried(self) -> Closure:
        """Return the exact loss over all pairs."""
        low, high = np.triu_indices(len(self.public), 1)
        pairs = np.column_stack([low, high])[self.public[low] == self.public[high]]
        if self.presence:
            cells = np.arange(len(self.public))
            pairs = np.concatenate([pairs, np.column_stack([cells, np.full(len(cells), len(cells))])])
        loss = edge_loss(self.by_cell, self.scales, pairs).value
        return Closure(None, EXACT) if isinstance(loss, float) else Closure(loss)

    def bound(self) -> Closure:
        """Return a bound on the loss over all pairs: two cells are no further apart than from any centre."""
        weights = np.array([float(1 / scale) if scale else 0.0 for scale in self.scales.values])
        weights = weights[self.scales.codes]
        if self._changes_exactly(np.flatnonzero(weights == 0)):
            return Closure(None, EXACT)
        centres = [np.zeros(len(weights)), self._middle()]
        return Closure(min(self._around(centre, weights) for centre in centres))

    def _changes_exactly(self, rows: Ints) -> bool:
        """Tell whether an exact row differs between two cells that a record may move between."""
        from scipy.sparse import csr_array

        exact = self.by_cell.tocsr()[rows].tocoo()
        if self.presence:
            return bool(exact.data.any())
        many = np.bincount(self.public)
        ones = csr_array(
            (np.ones(len(self.public), dtype=np.int64), (np.arange(len(self.public)), self.public))
        )
        sums = (exact.tocsr() @ ones).tocoo()
        whole = csr_array((sums.data, (sums.row, sums.col)), shape=(len(rows), len(many)))
        of_public = self.public[exact.col]
        return bool((whole[exact.row, of_public] != exact.data * many[of_public]).any())

    def _middle(self) -> NDArray[np.float64]:
        """Return for each row its most usual value, if most cells have it; else 0."""
        rows = self.by_cell.tocsr()
        most = np.diff(rows.indptr) * 2 > len(self.public)
        middle = np.zeros(rows.shape[0])
        for row in np.flatnonzero(most):
            middle[row] = np.median(rows.data[rows.indptr[row] : rows.indptr[row + 1]])
        return middle

    def _around(self, centre: NDArray[np.float64], weights: NDArray[np.float64]) -> Fraction:
        """Return at most how far two cells with the same public values are apart, by way of a centre."""
        rows, values = self.by_cell.indices, self.by_cell.data.astype(np.float64)
        away = float(weights @ np.abs(centre))  # how far absent is, or a cell that no row counts
        added = weights[rows] * (np.abs(values - centre[rows]) - np.abs(centre[rows]))
        cell_of = np.repeat(np.arange(len(self.public)), np.diff(self.by_cell.indptr))
        far = away + np.bincount(cell_of, added, minlength=len(self.public))
        order = np.lexsort((-far, self.public))
        first = np.flatnonzero(np.diff(self.public[order], prepend=-1))
        second = first + 1 < np.append(first[1:], len(order))
        pairs = far[order[first]][second] + far[order[first[second] + 1]]
        worst = max(pairs.max(initial=0.0), far.max() + away if self.presence else 0.0)
        slack = 1e-9 * (worst + away + float(far.max()))  # far more than what floats may be off
        return Fraction(float(worst + slack))


def _public_codes(plan: Plan) -> Ints:
    """Return for each cell the number of its public values, all numbers from 0 in use."""
    public = plan.policy.public_columns
    codes = np.zeros(1, dtype=np.int64)
    for each in plan.domain:
        own = np.arange(each.size) if each.name in public else np.zeros(each.size, dtype=np.int64)
        codes = (codes[:, None] * (int(own[-1]) + 1) + own).ravel()
    return codes


def _rounded_up(loss: Fraction) -> Fraction:
    """Return a loss as it is if it is short to write, else the next fraction of a few digits."""
    if loss.denominator <= 10**DIGITS:
        return loss
    unit = Fraction(10) ** (math.floor(math.log10(loss)) + 1 - DIGITS)
    return math.ceil(loss / unit) * unit
