"""What is about to be measured loses no more than is charged: found out anew before each charge.

Never sees rows: the cells that the counter is tried on are made up.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.beyond.quilt import find_quilt
from pandas_blowfish.count.probe import cells_near, draw_cells, nudge_cells, probe, value_in
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.fact import rows_follow
from pandas_blowfish.facts.move_bound import KNOWN, UNTOUCHED, bound_moves
from pandas_blowfish.kernel.joint_noise import require_joint
from pandas_blowfish.kernel.nearest import place_ranges, require_places
from pandas_blowfish.plan.joint_noise import APART, CLIQUE
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.price import SEVERAL
from pandas_blowfish.plan.protocol import LAPLACE, PLACES, SELECT, OwnNoise, Round
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import People, Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.edges import Edges, Listing, closure_of, edges_of
from pandas_blowfish.policy.graph.moves import Random
from pandas_blowfish.policy.graph.part import EVERYONE, Part
from pandas_blowfish.policy.policy import Policy

SMALL = 1 << 22  # entries of a matrix, or of its differences, up to which all are listed
DRAWN = 20_000  # edges that are tried where not every one is
BEST = 64  # edges around which more are tried
PROBES, FEWER, MANY_ROWS = 24, 2, 100_000  # cells that the counter is tried on, of few query rows and of many
MOST_SUMMED = 2**60  # of what made-up cells add up to: sums beyond +-2^61 are clamped
ALL, OFTEN = 64, 24  # cells up to which it is tried on all, each less often than that
NEAR = 1e-6  # of the largest loss: edges that floats find this much below it surely lose less
EVERY, ARGUED = "every edge", "argued"

_passed: WeakKeyDictionary[Any, dict[tuple[Policy, int, str, Fraction], Fraction]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Check:
    """What a release may lose, and over which pairs of records.

    Attributes:
        policy: The promise, facts recorded by now included.
        domain: The columns that the release looks at.
        edges: The pairs.
        times: How many of them neighbours differ by at most: a person's rows, or as many as facts allow.
        text: What the receipt states was checked.
        rate: What one changed row may lose of each unit of the charge: less than 1 for rows of a chain.
        part: What the release looks at: a record elsewhere must lose nothing.
    """

    policy: Policy
    domain: Domain
    edges: Edges
    times: int
    text: str
    rate: Fraction = Fraction(1)
    part: Part = EVERYONE

    @classmethod
    def of(cls, policy: Policy, plan: Plan, rows: int | None = None) -> Check:
        """Return what must be checked of a plan, for so many sealed rows; facts are priced anew."""
        columns = plan.domain.columns
        found = bound_moves(policy) if policy.constraints else None
        if found is not None and rows is not None and policy.rows_public:
            found = found.cap(rows)
        if found is None or found.rule == UNTOUCHED:
            require_untouched(policy)
            edges, times = edges_of(policy, columns), policy.max_rows
        elif policy.max_rows > 1:
            raise UnsoundPlanError(SEVERAL)
        else:
            edges, times = closure_of(policy, columns), max(found.count, 1)
        public = found is not None and (found.rule == KNOWN or _is_public(policy, plan))
        text = ARGUED if public or policy.chain is not None else _text(plan, edges)
        part = EVERYONE if text == ARGUED else plan.part
        return cls(policy, plan.domain, edges, times, text, _rate(policy, plan.cost), part)

    def require(self, step: Round, left: Fraction, random: Random | None = None) -> Fraction:
        """Return what one round loses at most, or raise unless that is at most what is left of the charge.

        Args:
            step: Query rows, and the scale of the noise of each, exactly as they will be measured.
            left: What is left of the charge.
            random: Draws cells and edges; anew at each call by default.

        Raises:
            UnsoundPlanError: An edge loses more, or other rows are counted than `columns` states.

        Proof note:
            Requires: the policy; `bound_moves` (its own note).
            Ensures:  no edge that was tried loses more than is left; with `EVERY` no edge does. What is
                      counted agrees with what was tried on all cells drawn.
            Because:  the loss of an edge is the sum over rows of the change over the scale, and of rows that
                      draw noise together of the norm of their changes over its scale (PROOFS.md, `Joint`), in
                      fractions wherever floats cannot decide; edges are read off the policy's words, columns
                      are compared with what the counter makes of records in those cells.
            Checked:  tests/kernel/test_check.py::test_agrees_with_the_oracle,
                      tests/kernel/test_check.py::test_finds_every_lie
        """
        known, key = _passed.setdefault(step, {}), (self.policy, self.times, str(self.part.form), left)
        if key in known:  # plans do not change: the same one is not gone through again
            return known[key]
        random = random or np.random.default_rng(secrets.randbits(128))
        if not left and step.scales.noisy:
            raise UnsoundPlanError("noise would be drawn, and nothing is charged for it")
        _require_joint(step)
        if any(isinstance(each, People) for each in step.tallies):
            known[key] = self._people_lost(step, left, random)
        else:
            self._compare(step, random)
            argued = self.text == ARGUED and self.policy.chain is None
            known[key] = Fraction(0) if argued else self._lost(step, left, random)
        return known[key]

    def _people_lost(self, step: Round, left: Fraction, random: Random) -> Fraction:
        """Return what counts of people lose, or raise where it exceeds what is left.

        Proof note:
            Requires: no touched facts, no promise about more than one person.
            Ensures:  as `require`.
            Because:  a person is counted in a bin or not, so each noisy count changes by at most 1; the bins
                      they are in differ by those that their rows leave or enter, each row along an edge; an
                      exact count does not change if no edge changes it. A person may be counted in several
                      parts: it is charged to everyone.
            Checked:  tests/privacy/test_units_loss.py::test_the_kernel_finds_lies_about_people
        """
        policy, (people, *more) = self.policy, step.tallies
        assert isinstance(people, People)
        tied = self.times != policy.max_rows or policy.aggregates or policy.chain is not None
        tied = bool(tied or step.scales.joint)
        if more or len(step.scales) != people.size or tied or self.part.sides or not step.own_noise:
            raise UnsoundPlanError("people are counted by themselves, and charged to everyone")
        start, end, cells = self._draw_probes(step, PROBES, random)
        who, name = (
            random.integers(0, len(cells) // 2 + 1, len(cells)),
            "".join([*self.domain.columns, " unit"]),
        )
        rows, bins = probe(self.domain, cells).assign(**{name: who}), people.bins_at(cells)
        seen = np.unique(np.stack([bins, who]), axis=1)[0]
        passing, each = (np.bincount(own[own >= 0], minlength=people.size) for own in (seen, bins))
        counted = step.apply(count_cells(rows, step.tallies, clip=False, unit=name))
        columns = np.asarray(step.columns(cells).sum(axis=1)).ravel()
        if not (np.array_equal(counted, passing) and np.array_equal(columns, each)):
            raise UnsoundPlanError("who would be counted is not who was checked")
        self._compare_changes(step, start, end)
        worst = self._worst_edge(step, random).loss
        lost = min(worst * self.times, step.scales.total_rate) if worst < math.inf else worst
        if lost > left:
            raise UnsoundPlanError(f"a person who is counted loses {_number(lost)}, {_number(left)} is left")
        return Fraction(lost)

    def _lost(self, step: Round, left: Fraction, random: Random) -> Fraction:
        """Return the largest loss over the edges, or raise where it exceeds what is left."""
        allowed, worst = left * self.rate / self.times, self._worst_edge(step, random)
        lost = worst.loss * self.times / self.rate
        for secret in self.policy.aggregates:
            lost = max(lost, self._hidden(step, secret, left))
        if worst.loss > allowed:
            edge, most = self._shown(worst), _number(left)
            raise UnsoundPlanError(f"a record that moves from {edge} loses {_number(lost)}, {most} is left")
        return Fraction(lost)

    def _worst_edge(self, step: Round, random: Random) -> _Worst:
        """Return the largest loss over the edges: all of few, else drawn ones."""
        if not self.edges.few:
            return self._drawn(step, random)
        if self._small(step):
            return self._worst(step, _dense(step, self.edges.listed), *self.edges.every())
        start, end = self.edges.every()
        return self._worst(step, _sparse(step, start, end), start, end)

    def _worst(self, step: Round, changes: _Changes, start: Cells, end: Cells) -> _Worst:
        """Return the largest loss over edges, or raise where people elsewhere than in the part lose too."""
        if self.part.is_left(start, end, (changes.table != 0).any(axis=1)):
            raise UnsoundPlanError("people lose outside the part of the policy that it is charged to")
        return _worst(step.loss_scales, changes, start, end)

    def _small(self, step: Round) -> bool:
        """Return whether all columns of the matrix can be listed in full; the noise of a mesh has its own."""
        cells = len(self.edges.listed.cells)
        sums = step.own_noise and step.mechanism not in (SELECT, PLACES)
        return sums and len(step.scales) * max(cells, self.edges.count or 0) <= SMALL

    def _hidden(self, step: Any, secret: Aggregate, left: Fraction) -> Fraction:
        """Return what is lost between two totals that a secret of the whole table hides, or raise."""
        scale = step.total_scales[0]
        lost = secret.distance(step.summed[0].lattice.unit) / scale if scale else math.inf
        if lost > left:
            raise UnsoundPlanError(f"totals that {secret.text} hides lose {_number(lost)} of {_number(left)}")
        return Fraction(lost)

    def _drawn(self, step: Round, random: Random) -> _Worst:
        """Return the worst of many edges: drawn ones, and others around the worst of these."""
        start, end = self.edges.draw(random, cells_near(step, self.domain, DRAWN, random))
        worst = self._worst(step, _sparse(step, start, end), start, end)
        for _ in range(2):
            if not len(worst.best[0]):
                break
            around = worst.best[int(random.integers(0, 2))]
            again = around.take(np.repeat(np.arange(len(around)), BEST))
            start, end = self.edges.draw(random, nudge_cells(again, self.domain, random))
            found = self._worst(step, _sparse(step, start, end), start, end)
            worst = max(worst, found, key=lambda each: each.loss)
        return worst

    def _compare(self, step: Round, random: Random) -> None:
        """Raise unless, on drawn cells, columns are what is counted and changes their differences."""
        many = FEWER if len(step.scales) > MANY_ROWS else PROBES
        start, end, cells = self._draw_probes(step, many, random)
        columns = step.columns(cells)
        fits = MOST_SUMMED // max(int(abs(columns).max()), 1) if columns.nnz else len(cells)
        if fits < len(cells):  # sums of all of them are clamped where they are counted
            cells = cells.take(random.integers(0, len(cells), max(fits, 1)))
            columns = step.columns(cells)
        values = step.apply(count_cells(probe(self.domain, cells), step.tallies, clip=False))
        if not np.array_equal(values, np.asarray(columns.sum(axis=1)).ravel()):
            raise UnsoundPlanError("what would be counted is not what was checked")
        if step.mechanism == PLACES:
            require_places(step)
            place_ranges(step, cells, cells)  # which refuses weights below 0
        self._compare_changes(step, start.take(slice(many)), end.take(slice(many)))

    def _compare_changes(self, step: Round, start: Cells, end: Cells) -> None:
        """Raise unless noise makes up for differences of columns as the changes say."""
        if getattr(type(step), "changes", None) is OwnNoise.changes:  # the difference of columns itself
            return
        moves = (step.columns(end) - step.columns(start)).toarray()
        shifts = step.changes(start, end).toarray()
        own, beyond = shifts[: len(step.scales)], shifts[len(step.scales) :].any(axis=0)
        for number in np.flatnonzero(~beyond):
            if not np.array_equal(step.spread_noise(own[:, number]), moves[:, number]):
                raise UnsoundPlanError("noise does not make up for a record that moves as was checked")

    def _draw_probes(self, step: Round, many: int, random: Random) -> tuple[Cells, Cells, Cells]:
        """Return edges, and cells that the counter is tried on: of few all, each as often as chance has."""
        drawn, count = cells_near(step, self.domain, many, random), self.edges.cells
        start, end = self.edges.draw(random, drawn)
        if count is None or count > ALL:
            return start, end, drawn.concat(end.take(~end.absent))
        cells = self.edges.listed_cells
        return start, end, cells.take(np.repeat(np.arange(len(cells)), random.integers(1, OFTEN, len(cells))))

    def _shown(self, worst: _Worst) -> str:
        """Return the worst edge in declared values."""
        return " to ".join(_record(self.domain, end) for end in worst.edge)


@dataclass(frozen=True, eq=False)
class _Worst:
    """The largest loss over some edges, an edge that has it, and the starts and ends of others with most."""

    loss: Fraction | float
    edge: tuple[Cells, Cells]
    best: tuple[Cells, Cells]


@dataclass(frozen=True, eq=False)
class _Changes:
    """How much each edge changes the rows of each kind of noise together: edges x kinds, and the kinds.

    In L1, or in the norm of rows that draw together: `APART` where no such noise makes up for the change.
    """

    table: NDArray[Any]
    kinds: Ints


def _require_joint(step: Round) -> None:
    """Raise where noise that rows draw together is not what is checked: of each kind all its rows, counts.

    Proof note:
        Requires: nothing.
        Ensures:  `_dense` and `_sparse` measure changes in the norms whose noise `add_noise` draws.
        Because:  it draws that of `scales`, which is that of `loss_scales`; clamped counts change by as much
                  as counts do, since no table has 2^61 rows (sums might not, and a clique must add up to 0).
        Checked:  tests/kernel/test_check_joint.py::test_finds_lies_about_joint_noise
    """
    scales, measured = step.scales, step.loss_scales
    if not scales.joint and not measured.joint:
        return
    same = measured is scales or (measured == scales and np.array_equal(measured.codes, scales.codes))
    same = same and scales.values == measured.values and scales.joint.keys() == measured.joint.keys()
    if not (same and step.own_noise and step.mechanism == LAPLACE):
        raise UnsoundPlanError("noise that query rows draw together is none that was checked")
    require_joint(scales)
    cliques = any(block.kind == CLIQUE for each in scales.joint.values() for block in each.blocks)
    if cliques and any(not isinstance(each, Tally) for each in step.tallies):
        raise UnsoundPlanError("noise that sums to 0 is for counts of rows alone")


def _dense(step: Round, listed: Listing) -> _Changes:
    """Return what edges change, from all columns of a small matrix."""
    full = step.columns(listed.cells).T.toarray()  # cells x rows
    full = np.concatenate([full, np.zeros((1, full.shape[1]), dtype=full.dtype)])  # "absent"
    codes, most = step.loss_scales.codes, np.abs(full).max(initial=0)
    if most < 2**14:
        full = full.astype(np.int16)
    kinds = np.unique(codes)
    dtype = object if int(most) * max(full.shape[1], 1) >= 2**62 else np.int64
    table = np.zeros((len(listed.start), len(kinds)), dtype=dtype)
    for number, kind in enumerate(kinds.tolist()):
        if joint := step.loss_scales.joint.get(kind):
            own, joint = full[:, joint.rows].astype(dtype), joint.renumber(_ranks(joint.rows))
            table[:, number] = joint.measure(own.take(listed.end, axis=0) - own.take(listed.start, axis=0))
            continue
        own = full if len(kinds) == 1 else np.ascontiguousarray(full[:, codes == kind])
        change = own.take(listed.end, axis=0) - own.take(listed.start, axis=0)
        table[:, number] = np.abs(change).sum(axis=1, dtype=dtype)
    return _Changes(table, kinds)


def _sparse(step: Round, start: Cells, end: Cells) -> _Changes:
    """Return what edges change, from the few entries of each."""
    if step.mechanism == PLACES:
        return _Changes(place_ranges(step, start, end)[:, None], np.array([_least(step.loss_scales)]))
    changes = step.changes(start, end).tocsc()
    edge = np.repeat(np.arange(changes.shape[1]), np.diff(changes.indptr))
    if step.mechanism == SELECT:
        return _ranges(step, changes, edge)
    kinds, own = np.unique(step.loss_scales.codes[changes.indices], return_inverse=True)
    amounts = changes.data.astype(np.int64 if np.abs(changes.data).max(initial=0) < 2**40 else object)
    table = np.zeros((changes.shape[1], len(kinds)), dtype=amounts.dtype)
    np.add.at(table, (edge, own.reshape(-1)), np.abs(amounts))
    for kind, norms in step.loss_scales.joint_norms(changes.indices, edge, amounts, changes.shape[1]):
        table[:, kinds == kind] = norms[:, None]
    return _Changes(table, kinds)


def _ranks(rows: Ints) -> Ints:
    """Return for each query row its place in a list, up to the largest."""
    ranks = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    ranks[rows] = np.arange(len(rows))
    return ranks


def _ranges(step: Round, changes: Any, edge: Ints) -> _Changes:
    """Return what edges change where only the largest candidate of each choice is released.

    Proof note:
        Requires: noises are independent, one-sided and geometric, ties are broken without looking at rows.
        Ensures:  an edge loses at most the sum over choices of the range of its changes, over the least
                  scale: the largest change of a candidate less the smallest, 0 where one stays as it was.
        Because:  see `draw_choices`.
        Checked:  tests/privacy/test_select_loss.py::test_no_neighbours_lose_more_than_is_charged
    """
    sizes = np.bincount(step.choices)
    keys, own = np.unique(edge * len(sizes) + step.choices[changes.indices], return_inverse=True)
    all_change = np.bincount(own, minlength=len(keys)) == sizes[keys % len(sizes)]
    low, high = np.where(all_change, 2**62, 0), np.where(all_change, -(2**62), 0)
    np.minimum.at(low, own, changes.data)
    np.maximum.at(high, own, changes.data)
    table = np.zeros((changes.shape[1], 1), dtype=np.int64)
    np.add.at(table[:, 0], keys // len(sizes), high - low)
    return _Changes(table, np.array([_least(step.loss_scales)]))


def _least(scales: Scales) -> int:
    """Return the number of the least scale that some query row has."""
    return int(min(set(scales.codes.tolist()), key=scales.values.__getitem__))


def _worst(scales: Scales, changes: _Changes, start: Cells, end: Cells) -> _Worst:
    """Return the largest loss over edges, in fractions; floats leave out those that are surely smaller."""
    if not len(start) or not changes.table.shape[1]:
        return _Worst(Fraction(0), (start.take(slice(1)), end.take(slice(1))), (start.take(slice(0)),) * 2)
    values = [scales.values[kind] for kind in changes.kinds.tolist()]
    least = min((scale for scale in values if scale), default=Fraction(1))
    noisy = np.array([float(least / scale) if scale else 0.0 for scale in values])
    shares = changes.table.astype(np.float64) @ noisy
    exact = [number for number, scale in enumerate(values) if not scale]
    shares[(changes.table[:, exact] != 0).any(axis=1)] = math.inf
    shares[(changes.table == APART).any(axis=1)] = math.inf
    order = np.argpartition(-shares, min(BEST, len(shares) - 1))[:BEST]
    top = int(np.argmax(shares))
    if not shares[top]:
        order = order[:0]
    best = start.take(order), end.take(order)
    if math.isinf(shares[top]):
        return _Worst(math.inf, (start.take([top]), end.take([top])), best)
    close = np.flatnonzero(shares >= shares[top] * (1 - NEAR))
    first = _find_patterns(changes.table[close])
    losses = [
        sum((many / scale for many, scale in zip(pattern, values, strict=True) if many), Fraction(0))
        for pattern in changes.table[close[first]].tolist()
    ]
    place = max(range(len(losses)), key=losses.__getitem__)
    one = [int(close[first[place]])]
    return _Worst(Fraction(losses[place]), (start.take(one), end.take(one)), best)


def _find_patterns(table: NDArray[Any]) -> Ints:
    """Return a row of each kind that a table has, by number."""
    if table.dtype == object:  # numbers beyond 64 bits, which numpy does not compare by rows
        found = {tuple(row): number for number, row in enumerate(table.tolist())}
        return np.array(list(found.values()), dtype=np.int64)
    return np.asarray(np.unique(table, axis=0 if table.shape[1] > 1 else None, return_index=True)[1])


def _text(plan: Plan, edges: Edges) -> str:
    """Return what a receipt states was checked."""
    if edges.few:
        return EVERY
    count, of = edges.count, "edges"
    if count is not None:
        size = f"{count:,}" if count < 10**15 else f"about 10^{int(count.bit_length() * 0.30103)}"
        of = f"of {size} edges"
    return f"{DRAWN:,} drawn {of}{' in each round' if plan.measurement.in_rounds else ''}"


def _rate(policy: Policy, charge: Fraction) -> Fraction:
    """Return what one changed row may lose of each unit of a charge: all of it, but for rows of a chain."""
    chain = policy.chain
    if chain is None or not charge:
        return Fraction(1)
    assert chain.length is not None
    return find_quilt(chain, chain.length, charge).rate / charge


@lru_cache(maxsize=64)
def require_untouched(policy: Policy) -> None:
    """Raise unless the edges leave every known count as it is; with presence none is left alone."""
    random = np.random.default_rng(secrets.randbits(128))
    for fact in policy.facts:
        edges = edges_of(policy, fact.columns)
        domain = policy.domain.select(fact.columns)
        if edges.few:
            start, end = edges.every()
        else:
            ends = {a.name: np.array([0, a.size - 1]) for a in domain}
            start, end = edges.draw(random, draw_cells(domain, ends, DRAWN, random))
        if (fact.counts_at(start) != fact.counts_at(end)).any():
            raise UnsoundPlanError(f"{fact.text} is public, and an edge changes it")


def _is_public(policy: Policy, plan: Plan) -> bool:
    """Return whether a free answer follows from public facts: a marginal of its columns, sums of counts."""
    if plan.cost:
        return False
    if any(f.condition is None and set(plan.domain.columns) <= set(f.columns) for f in policy.facts):
        return True
    measured = plan.measurement
    return not measured.in_rounds and rows_follow(policy, plan.domain.columns, measured.columns)


def _record(domain: Domain, cells: Cells) -> str:
    """Return a cell by declared values."""
    if cells.absent[0]:
        return "absent"
    values = (f"{a.name}={value_in(a, int(cells.codes[a.name][0]))!r}" for a in domain)
    return f"({', '.join(values)})"


def _number(loss: Fraction | float) -> str:
    return "an unlimited amount" if math.isinf(loss) else f"{float(loss):.6g}"
