"""How far one edge of the policy can move totals of weights. Never sees rows; the oracle is the slow twin.

An edge either leaves a row in its group and filter, and then each block of columns that moves changes the
totals of its own columns; or it takes the row to another group or out, and then every total changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import SecretError, UnboundedColumnError
from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.lattice import LIMIT, Lattice, Total, lattice
from pandas_blowfish.plan.line.axis import LineGraph, line
from pandas_blowfish.plan.line.sensitivity import straight
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.attribute import MAX_CELLS, Attribute, Grid, Unbounded
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.joint import scale_of, theta_of
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import has_stand_in, joins_all, stand_in

Mask = NDArray[np.bool_]


def longest(graph: SecretGraph, weights: Ints) -> int:
    """Return the largest difference of weights over the edges of a graph.

    Exact for groups, listed edges and thresholds (whose order is that of the weights); else that of whole
    components, which is at least as large.

    Examples:
        >>> longest(Ball.even(5, 2), np.array([0, 10, 20, 30, 33]))
        20
    """
    graph = straight(graph)
    if isinstance(graph, Explicit):
        pair = weights[graph.listed]
        return int(abs(pair[:, 0] - pair[:, 1]).max(initial=0))
    if isinstance(graph, Ball):
        along = weights[graph.order]
        if (along[1:] >= along[:-1]).all():
            return int((along[graph.upper] - along).max(initial=0))
    part = graph.components
    count = int(part.max(initial=-1)) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, part, weights)
    np.maximum.at(high, part, weights)
    return int((high - low).max(initial=0))


def longest_even(lattice: Lattice, secret: Mapping[str, Any]) -> int:
    """Return the longest edge between evenly cut cells, however many there are."""
    attribute = lattice.attribute
    assert isinstance(attribute, (Grid, Unbounded))
    if secret["secret"] == "public":
        return 0
    if secret["secret"] == "full":
        return lattice.span
    theta = theta_of(secret, [attribute], attribute.name) / scale_of(secret, attribute, attribute.name)
    far = lattice.each * math.ceil(theta / attribute.step)
    return far if lattice.ends is None else min(far, lattice.span)


def longest_listed(graph: SecretGraph, lattice: Lattice) -> tuple[int, int]:
    """Return the longest edge between values, and to the missing cell, of a graph on a column's cells."""
    weights, cells = lattice.weights(), lattice.attribute.cells
    values, large = weights[:cells], lattice.largest
    if isinstance(graph, WithMissing):
        lost = int(abs(weights[graph.partners]).max(initial=0))
        return longest(graph.inner, values), large if graph.joined else lost
    if graph.size == cells:
        return longest(graph, values), 0
    if isinstance(graph, Explicit):
        gone = (graph.listed == cells).any(axis=1)
        lost = int(abs(weights[graph.listed[gone]]).max(initial=0))
        return longest(Explicit(graph.size, graph.listed[~gone]), weights), lost
    part = graph.components
    lost = int(abs(weights[part == part[cells]]).max(initial=0))
    return longest(Cliques(part[:cells]), values), lost


def joint_changes(graph: SecretGraph, columns: Sequence[str], lattices: Sequence[Lattice]) -> Ints | None:
    """Return what edges of a joint graph change together, one row per kind of edge; None for no closed form.

    Of a ball just the longest edges are listed, and of these none that lies halfway between two others.

    Proof note:
        Requires: what is lost over an edge grows with each total's change, in proportion to it.
        Ensures:  no edge loses more than some row, whatever a change of each total loses.
        Because:  an edge of a ball is nowhere longer than one of its front. Of the rows with the largest
                  loss take the last in order of the offsets: if it lay halfway between two others that no
                  end of a column cuts, both would lose as much, and one of them would come later.
        Checked:  tests/plan/totals/test_sensitivity_stretch.py::test_together_bounds_every_edge
    """
    axis = [columns.index(each.attribute.name) for each in lattices]
    if any(each.attribute.nullable for each in lattices):
        return None
    if isinstance(graph, OffsetBall):
        most = max(int(graph.reach.max()), 1)
        if any(each.each * most >= LIMIT for each in lattices):
            return None
        steps = graph.front[:, axis] * np.array([each.each for each in lattices])
        spans = np.array([each.span for each in lattices])
        halfway = _halfway(graph.front, (steps <= spans).all(axis=1))
        return _widest(np.minimum(steps, spans)[~halfway])
    if isinstance(graph, Explicit):
        shape = [lattices[axis.index(place)].attribute.size for place in range(len(columns))]
        codes = np.array(np.unravel_index(graph.listed, shape))
        pairs = [each.weights()[codes[place]] for each, place in zip(lattices, axis, strict=True)]
        return _widest(np.column_stack([abs(pair[:, 0] - pair[:, 1]) for pair in pairs]))
    return None


def _halfway(front: Ints, uncut: Mask) -> Mask:
    """Return which offsets lie halfway between two others that no end of a column cuts."""
    found, sizes = np.zeros(len(front), dtype=bool), [most + 3 for most in front.max(axis=0).tolist()]
    if math.prod(sizes) >= 2**62:
        return found
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    codes = (front + 1) @ np.array(strides)  # with room for one less and one more on each axis
    for one, two in itertools.combinations(strides, 2):
        found |= np.isin(codes + one - two, codes[uncut]) & np.isin(codes - one + two, codes[uncut])
    return found


def _widest(changes: Ints) -> Ints:
    """Keep of changes, for each combination of all but the last, the one with the largest last."""
    if not len(changes):
        return np.zeros((1, changes.shape[1]), dtype=np.int64)
    found = np.unique(changes, axis=0)
    last = np.append((found[1:, :-1] != found[:-1, :-1]).any(axis=1), True)
    return np.asarray(found[last])


Pattern = tuple[int, ...]
MAX_LINED = 10**6  # bins beyond which the groups of a filtered column are not looked at one by one
MAX_PATTERNS = 20_000
FEW_PATTERNS = 32  # of which all are added up in fractions
NEAR = 1e-9  # of the largest sum: what floats find this much below it is surely less
KINDS = ("within", "lost")  # how a record that stays in its group may change a total


@dataclass(frozen=True)
class TotalReach:
    """The most that one edge changes one total, in weights.

    Attributes:
        within: The row stays counted in its group, the value moves.
        lost: It stays there, and the value becomes missing.
        crossed: It changes its group: what both groups change by, together.
        left: It stops being counted.
        end: The most that either group changes by where it changes its group.
    """

    within: int = 0
    lost: int = 0
    crossed: int = 2
    left: int = 1
    end: int = 1


@dataclass(frozen=True, eq=False)
class Shifts:
    """What one edge can do to some totals.

    Attributes:
        blocks: For each block of columns the changes its moves make, total by total.
        flows: The changes of edges that lead to another group, or out.
        limit: How many blocks an edge may move.
        shared: Of totals that several blocks change the most that all of them do together, 0 for others;
            nothing where there are no such totals.
        groups: For each of `flows`, of how many groups it changes the totals.
        ends: The most that one of `flows` changes each total of a single group.
    """

    blocks: tuple[tuple[Pattern, ...], ...]
    flows: tuple[Pattern, ...]
    limit: int
    shared: Pattern = ()
    groups: tuple[int, ...] = ()
    ends: Pattern = ()

    def loss(self, rates: Sequence[Fraction]) -> Fraction:
        """Return a bound on what an edge loses when a change by 1 of total t loses rates[t]."""
        most = self._moved(rates)
        if self.shared:  # what several blocks change is at most what each does, and never more than it can
            own = [Fraction(0) if most_of else rate for most_of, rate in zip(self.shared, rates, strict=True)]
            most = min(most, self._moved(own) + _dot(self.shared, rates))
        return max(most, _largest_dot(self.flows, self._flow_table, rates))

    def _moved(self, rates: Sequence[Fraction]) -> Fraction:
        own = [
            _largest_dot(block, table, rates) for block, table in zip(self.blocks, self._tables, strict=True)
        ]
        return sum(sorted(own, reverse=True)[: self.limit], Fraction(0))

    @cached_property
    def _tables(self) -> tuple[Floats | None, ...]:
        """Return the changes of blocks that have many of them, as floats."""
        return tuple(map(_tabled, self.blocks))

    @cached_property
    def _flow_table(self) -> Floats | None:
        return _tabled(self.flows)

    @cached_property
    def peaks(self) -> Pattern:
        """Return the most that an edge changes each total; 0 for what no edge changes."""
        own = [tuple(map(max, zip(*block, strict=True))) for block in self.blocks if block]
        moved = [sum(sorted(each, reverse=True)[: self.limit]) for each in zip(*own, strict=True)]
        moved = [min(a, b) if b else a for a, b in zip(moved, self.shared or (0,) * len(moved), strict=True)]
        patterns = [*([tuple(moved)] if own else []), *self.flows]
        return tuple(map(max, zip(*patterns, strict=True))) if patterns else ()

    @cached_property
    def rows(self) -> Pattern:
        """Return the most that an edge changes the total of a single group by, total by total."""
        within = replace(self, flows=(), groups=()).peaks
        return tuple(map(max, zip(within, self.ends, strict=True))) if within else self.ends

    @property
    def crosses(self) -> bool:
        """Return whether an edge changes totals of two groups."""
        return max(self.groups, default=1) > 1


def shifts(policy: Policy, tally: Tally, totals: Sequence[Total | Tally]) -> Shifts:
    """Return what one edge can do to totals of the groups of a tally.

    Args:
        policy: The promise.
        tally: The groups and the filter.
        totals: What is added up in each group; the tally itself counts rows.

    Proof note:
        Requires: no touched facts; neighbours move one row along one edge of the policy's graph.
        Ensures:  sum_t |change of t| * rates[t] <= loss(rates) over every edge. Of one total alone the
                  largest change is attained where its column is in no filter and shares no secret with one,
                  or `line` is exact, but `crossed` of many groups may be more than edges do.
        Because:  an edge that keeps the row's group moves at most `limit` blocks, and what a block changes is
                  one of its patterns; one that does not changes each total by both ends' weights at most,
                  or by one end's where the other is not counted.
        Checked:  tests/plan/totals/test_sensitivity.py::test_bounds_enumeration
    """
    seen = tally.domain.columns
    flow = int(tally_sensitivity(policy.graph.project(seen), tally))
    by_block: dict[tuple[str, ...], list[int]] = {}
    found: list[TotalReach] = []
    for number, total in enumerate(totals):
        if isinstance(total, Tally):
            found.append(TotalReach())
            continue
        column = total.lattice.attribute.name
        block = next(block for block in policy.secrets if column in block)
        by_block.setdefault(block, []).append(number)
        if column in seen or set(block) & set(seen):
            found.append(_along(policy, tally, total.lattice, flow))
        else:
            found.append(_apart(policy, block, total.lattice, flow))
    free = {block for block in by_block if not set(block) & set(seen)}
    patterns = [_patterns(policy, block in free, totals, found, by_block[block]) for block in by_block]
    limit = len(patterns) if policy.graph.moves is None else policy.graph.moves
    if not flow:
        still = (0,) * len(found)
        return Shifts(
            tuple(patterns), () if patterns else (still,), limit, (), () if patterns else (1,), still
        )
    flows = tuple(reach.crossed if flow == 2 else reach.left for reach in found)
    ends = tuple(max(reach.end, reach.left) if flow == 2 else reach.left for reach in found)
    return Shifts(tuple(patterns), (flows,), limit, (), (flow,), ends)


def _apart(policy: Policy, block: tuple[str, ...], lattice: Lattice, flow: int) -> TotalReach:
    """Return the reach of a column that neither filter nor groups depend on: all its cells are counted."""
    attribute, secret = lattice.attribute, policy.secrets[block]
    if not attribute.bounded or attribute.size > MAX_CELLS:
        if len(block) > 1:
            fix = "give every column of the secret bounds and a wider step, or this one its own secret."
            raise SecretError(attribute.name, "it shares a secret, and has too many values to list", fix=fix)
        if not attribute.bounded:
            _check_unbounded(attribute, secret, flow)
    most = 0 if lattice.ends is None else lattice.largest
    spaced = isinstance(attribute, (Grid, Unbounded)) and len(block) == 1
    if spaced and secret["secret"] in ("full", "threshold", "public"):
        lost = _lost(lattice, secret) if attribute.nullable else 0
        return TotalReach(longest_even(lattice, secret), lost, 2 * most, most, most)
    graph = policy.graph.project([attribute.name]).blocks[0].graph
    within, lost = longest_listed(graph, lattice)
    return TotalReach(within, lost, 2 * most, most, most)


def _lost(lattice: Lattice, secret: Mapping[str, Any]) -> int:
    """Return the largest weight of a value that may become missing along an edge, in evenly cut cells."""
    if joins_all(secret):
        return lattice.largest
    ends = joined_to_missing(lattice.attribute, secret)
    return 0 if ends is None else int(abs(lattice.weights_at(np.array(ends))).max())


def joined_to_missing(attribute: Attribute, secret: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the first and the last cell that an edge joins to the missing one; None where none does."""
    if joins_all(secret):
        return 0, attribute.cells - 1
    if (cell := stand_in(secret, attribute)) is None:
        return None
    assert isinstance(attribute, (Grid, Unbounded))
    if secret["secret"] == "full":
        return 0, attribute.cells - 1
    theta = theta_of(secret, [attribute], attribute.name) / scale_of(secret, attribute, attribute.name)
    far = math.ceil(theta / attribute.step)
    if isinstance(attribute, Unbounded):
        return cell - far, cell + far
    return max(cell - far, 0), min(cell + far, attribute.cells - 1)


def _check_unbounded(attribute: Attribute, secret: Mapping[str, Any], flow: int) -> None:
    """Refuse a column without bounds whose total one row could change without limit."""
    limitless = "so one row could change the answer without limit"
    if secret["secret"] not in ("threshold", "public"):
        raise UnboundedColumnError(attribute.name, f"and its secret is {secret['secret']}, {limitless}")
    if flow:
        why = "and a secret lets rows leave the filter, change their group or be absent"
        raise UnboundedColumnError(attribute.name, f"{why}, {limitless}")
    if attribute.nullable and joins_all(secret):
        why = "and whether a value is missing is secret"
        raise UnboundedColumnError(attribute.name, f"{why}, {limitless}")


def find_exits(policy: Policy, tally: Tally, attribute: Attribute) -> tuple[int, int] | None:
    """Return the cells of least and of greatest value from which a row can leave, or change its group.

    So can one that becomes missing, where that is like one value. None where these are all cells (the filter
    and its secrets do not speak of the column), or there are none.
    """
    seen = set(tally.domain.columns)
    block = next(block for block in policy.secrets if attribute.name in block)
    if not attribute.bounded:
        return None
    if not seen & {attribute.name, *block}:
        if not has_stand_in(policy.secrets[block]) or not attribute.nullable:
            return None
        graph = policy.graph.project([attribute.name]).blocks[0].graph
        assert isinstance(graph, WithMissing)
        places = lattice(attribute).weights()[graph.partners]
        return int(graph.partners[places.argmin()]), int(graph.partners[places.argmax()])
    found, order, _ = _lined(policy, tally, attribute)
    atoms = np.concatenate([found.away, found.across.ravel()])
    return (int(order[atoms.min()]), int(order[atoms.max()])) if len(atoms) else None


def _along(policy: Policy, tally: Tally, weighed: Lattice, flow: int) -> TotalReach:
    """Return the reach of a column that the filter, or a secret shared with it, speaks of: by its line.

    Atoms are the cells by rising value, so the furthest pair of a line changes a total most, and of two
    lines, or away, an end of a run does.
    """
    attribute = weighed.attribute
    if not attribute.bounded:
        raise UnboundedColumnError(attribute.name, "so it cannot be in a filter or share a secret with one")
    found, order, apart = _lined(policy, tally, attribute)
    size = weighed.weights()[order]
    within = int((size[found.between[:, 1]] - size[found.between[:, 0]]).max(initial=0))
    left = int(abs(size[found.away]).max(initial=0))
    crossed = int(abs(size[found.across]).sum(axis=1).max(initial=0)) if apart else 2 * weighed.largest
    end = int(abs(size[found.across]).max(initial=0)) if apart else weighed.largest
    lost = left if attribute.nullable else 0
    return TotalReach(within, lost, max(crossed, left), left if flow else 0, max(end, left))


@lru_cache(maxsize=16)
def _lined(policy: Policy, tally: Tally, attribute: Attribute) -> tuple[LineGraph, Ints, bool]:
    """Return the line of a column's cells by rising value, that order, and whether it separates groups.

    It does not where there are too many, or the column itself is grouped by: then rows of all groups are on
    one line, but those of cells that are in no group.

    Proof note:
        Requires: nothing.
        Ensures:  every edge between counted cells of one group joins two atoms of one line, and every edge
                  from a counted cell out leads away from its line.
        Because:  lines are unions of groups; cells of this column, or of others, that are in no group are on
                  no line, as those that the filter leaves out.
        Checked:  tests/privacy/test_group_bins.py::test_loss_of_every_verb
    """
    weights = lattice(attribute).weights()[: attribute.cells]
    order = np.argsort(weights, kind="stable")
    rank = np.argsort(order, kind="stable")
    labels = np.append(rank, -1) if attribute.nullable else rank
    grouped = {each.attribute.name: marks for each, marks in zip(tally.binnings, tally.marks, strict=True)}
    if attribute.name in grouped:
        labels = np.where(grouped[attribute.name] < 0, -1, labels)
    own = Binning(attribute, frozen(labels), pd.RangeIndex(attribute.cells))
    apart = math.prod(tally.shape[: tally.levels]) * attribute.cells <= MAX_LINED
    apart = apart and attribute.name not in [each.attribute.name for each in tally.binnings[: tally.levels]]
    groups = tally.binnings[: tally.levels] if apart else ()
    others = [n for n in range(len(groups), len(tally.binnings)) if tally.domain.columns[n] != attribute.name]
    hidden = [tally.binnings[place].join() for place in others]
    asked = Tally((*groups, own, *hidden), len(groups) + 1, tally.condition)
    return line(policy.graph.project(asked.domain.columns), asked), order, apart


def _patterns(
    policy: Policy,
    free: bool,
    totals: Sequence[Total | Tally],
    found: Sequence[TotalReach],
    members: Sequence[int],
) -> tuple[Pattern, ...]:
    """Return the changes that moves of one block make to all totals."""
    inside = [each for number in members if isinstance(each := totals[number], Total)]
    columns = list(dict.fromkeys(total.lattice.attribute.name for total in inside))
    if len(columns) == 1:
        moved = [_only(members, [getattr(found[n], kind) for n in members], len(found)) for kind in KINDS]
        return tuple(pattern for pattern in moved if any(pattern)) or (moved[0],)
    if free:
        graph = policy.graph.project(columns).blocks[0].graph
        changes = joint_changes(graph, columns, [total.lattice for total in inside])
        if changes is not None and len(changes) <= MAX_PATTERNS:
            return tuple(_only(members, change, len(found)) for change in changes.tolist())
    return (_only(members, [max(found[n].within, found[n].lost) for n in members], len(found)),)


def _only(members: Sequence[int], changes: Sequence[int], size: int) -> Pattern:
    pattern = [0] * size
    for number, change in zip(members, changes, strict=True):
        pattern[number] = int(change)
    return tuple(pattern)


def _largest_dot(patterns: Sequence[Pattern], table: Floats | None, rates: Sequence[Fraction]) -> Fraction:
    """Return the largest sum of changes times rates, in fractions; floats leave out what is surely less."""
    if table is not None:
        sums = table @ np.array([float(rate) for rate in rates])
        patterns = [patterns[place] for place in np.flatnonzero(sums >= sums.max() * (1 - NEAR)).tolist()]
    return max((_dot(pattern, rates) for pattern in patterns), default=Fraction(0))


def _tabled(patterns: Sequence[Pattern]) -> Floats | None:
    return np.array(patterns, dtype=np.float64) if len(patterns) > FEW_PATTERNS else None


def _dot(pattern: Pattern, rates: Sequence[Fraction]) -> Fraction:
    return sum((many * rate for many, rate in zip(pattern, rates, strict=True) if many), Fraction(0))
