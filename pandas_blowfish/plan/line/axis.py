"""The ordered axis of a tally, and what the policy's edges do along it.

Never sees rows. A line is cut into atoms, the bins of one column; a tally with groups asks for one line
per group. An edge leads between two atoms of one line, across to another line, or away to where nothing
is counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.plan.line.sensitivity import LineSteps, steps
from pandas_blowfish.plan.linear.sensitivity import links
from pandas_blowfish.plan.sensitivity import ExactParts, class_moves, counts_all, exact_parts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph, connect

MAX_LISTED_EDGES = 2_000_000


@dataclass(frozen=True, eq=False)
class Joined:
    """Every pair of atoms that an edge joins, or more.

    Attributes:
        within: Pairs of atoms of one line.
        across: Pairs of atoms of two lines.
        away: Atoms that a row can leave for where nothing is counted.
    """

    within: Ints
    across: Ints
    away: Ints


@dataclass(frozen=True, eq=False)
class LineGraph:
    """Where the edges of a policy lead on the atoms 0..size-1 of each of `groups` lines.

    Attributes:
        size: How many atoms there are.
        groups: How many lines.
        between: Pairs x < y of atoms of one line that an edge joins, those no other such pair encloses.
        across: Pairs of atoms of two lines: of those that an edge joins to each, the lowest and the
            highest of every segment.
        away: Atoms that a row can leave for where nothing is counted.
        listed: Every pair of one line that an edge joins, where edges were listed one by one or a
            component is not a run of atoms, and they are not too many; else None.
        exact: Which totals of a segment of a line no edge changes.
        pieces: The connected piece of each atom: its segment, or finer where edges are listed.
        piece_exact: Which totals of pieces no edge changes.
        made_of: The secret graph and the tally, where the line is the whole of what they describe.
    """

    size: int
    groups: int
    between: Ints
    across: Ints
    away: Ints
    listed: Ints | None
    exact: ExactParts
    pieces: Ints
    piece_exact: ExactParts
    made_of: tuple[RecordGraph, Tally] | None = None

    @classmethod
    def enclose(cls, size: int, between: Ints) -> LineGraph:
        """Return a single line whose records no edge takes away: the totals of segments are exact."""
        segments, none = _segments(size, between), np.empty((0, 2), dtype=np.int64)
        many = int(segments[-1]) + 1
        exact = ExactParts(np.ones(many, dtype=bool), np.full(many, -1), 0)
        return cls(size, 1, between, none, none[:, 0], None, exact, frozen(segments), exact)

    @cached_property
    def starts(self) -> Ints:
        """Return where segments begin: no edge leads from one segment to another of the same line."""
        return _starts(self.size, self.between)

    @cached_property
    def segments(self) -> Ints:
        """Return the segment of each atom."""
        return _segments(self.size, self.between)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Return the pairs of `across`, and atoms of `away`, with the largest own losses along a segment.

        An atom's own loss rises or falls along a segment: of atoms the first and the last count, of pairs
        those that no other comes before, or after, with both ends.
        """
        size, own = self.size, self.segments
        turned = _first_of_both(own[::-1], size - 1 - self.across)
        across = np.concatenate([_first_of_both(own, self.across), size - 1 - turned])
        edge = (
            np.append(True, own[self.away][1:] != own[self.away][:-1]) if len(self.away) else self.away == 0
        )
        last = np.append(edge[1:], True) if len(self.away) else edge
        return across, self.away[edge | last]

    @cached_property
    def open(self) -> bool:
        """Return whether some segment's total is not exact."""
        return not bool(self.exact.alone.all())

    @cached_property
    def joined(self) -> Joined | None:
        """Return every pair of atoms that an edge joins, or more; None where that is too much to list.

        Proof note:
            Requires: as `links`.
            Ensures:  every edge joins two atoms of a pair, or one of them to where nothing is counted.
            Because:  each bin of the tally is an atom of `links` of its own; two bins of one line, or of two
                      lines, are told from each other by their numbers.
            Checked:  tests/plan/line/test_axis.py::test_joined_atoms_match_enumeration
        """
        if self.made_of is None:
            return None
        graph, tally = self.made_of
        if len(tally.binnings) > 1 and graph.edge_count > MAX_LISTED_EDGES:
            return None
        bins = self.size * self.groups
        pairs = links(graph, tally, np.arange(bins), bins).pairs
        if pairs is None:
            return None
        leaves = pairs.max(axis=1, initial=-1) == bins
        lines, atoms = np.divmod(pairs[~leaves], self.size)
        same = lines[:, 0] == lines[:, 1]
        within, across = (_distinct(np.sort(each, axis=1), self.size) for each in (atoms[same], atoms[~same]))
        away = np.unique(pairs[leaves].min(axis=1, initial=bins) % self.size)
        return Joined(frozen(within), frozen(across), frozen(away))

    @cached_property
    def reach(self) -> Ints:
        """Return the furthest atom of the own line that an edge passes over or reaches from each atom."""
        return _reach(self.size, self.between)


def line(graph: RecordGraph, tally: Tally) -> LineGraph:
    """Return the line of a tally's last shown column.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: Counts whose last shown column is the axis.

    Proof note:
        Requires: no touched facts; the strategy's loss over a pair of one line grows with the run of
                  atoms between its ends, and each atom's own loss rises or falls along a segment.
        Ensures:  the largest loss over `between`, `across` and `away` is at least that over all edges,
                  and equal to it unless the line was taken for a full one (too many edges to list, or
                  filter classes).
        Because:  an edge either stays on its line, and then the furthest atom in reach loses most; or
                  leads to another line, and then both ends lose all they have, most at an end of those
                  of a segment in reach; or leaves, and loses what its atom has.
        Checked:  tests/plan/line/test_axis.py::test_losses_match_enumeration
    """
    return replace(_find_line(graph, tally), made_of=(graph, tally))


def _find_line(graph: RecordGraph, tally: Tally) -> LineGraph:
    """Return the line of a tally's last shown column; see `line`."""
    axis = tally.levels - 1
    binning = tally.binnings[axis]
    marks, size = tally.marks[axis], binning.bins
    groups = math.prod(tally.shape[:axis])
    column = binning.attribute.name
    block = next(block for block in graph.blocks if column in block.columns)
    alone = len(block.columns) == 1
    simple = len(tally.binnings) == 1 and isinstance(block.graph, (Ball, Cliques)) and not graph.presence
    if simple and (plain := _plain(block.graph, tally)) is not None:
        return plain
    moves = class_moves(graph, tally, axis) if alone else None
    found = steps(block.graph, marks, tally.sieve.classes[axis], moves) if moves else None
    listed: Ints | None = None
    if found is None and graph.edge_count <= MAX_LISTED_EDGES:
        found, listed = _enumerated(graph, tally, size)
    elif graph.edge_count <= MAX_LISTED_EDGES and _irregular(block.graph, marks):
        listed = _enumerated(graph, tally, size)[1]
    if found is None:
        found = _anything(size, groups)
    if graph.presence:
        found = LineSteps(found.between, found.across, _occupied(tally, size))
    between = frozen(_furthest(size, found.between))
    segments = _segments(size, between)
    exact = _exact(graph, tally, axis, segments)
    pieces = segments if listed is None else connect(listed, size)
    piece_exact = exact if listed is None else _exact(graph, tally, axis, pieces)
    across = frozen(_ends(segments, found.across))
    return LineGraph(
        size, groups, between, across, frozen(found.away), listed, exact, frozen(pieces), piece_exact
    )


def joins_next_but_one(graph: RecordGraph, tally: Tally) -> bool:
    """Return whether a tally counts a whole column, of which edges join each cell to the one two further on.

    Examples:
        >>> from pandas_blowfish.policy.policy import Policy
        >>> from pandas_blowfish.policy.domain import Domain, integers
        >>> policy = Policy(Domain((integers("x", 0, 9),)))
        >>> joins_next_but_one(policy.graph, policy.plan.hist("x").asked[0].tally)
        True
    """
    binning, own = tally.binnings[0], graph.blocks[0].graph
    if len(tally.binnings) > 1 or binning.labels is not None or tally.condition is not None or graph.presence:
        return False
    if isinstance(own, Cliques):
        return own.size > 2 and not own.components.any()
    return isinstance(own, Ball) and own.in_order and own.reaches(2)


def _plain(graph: SecretGraph, tally: Tally) -> LineGraph | None:
    """Return the line of a whole column under a threshold, or all joined; None if something else is asked."""
    whole = tally.binnings[0].labels is None and tally.condition is None and tally.shape[0] == graph.size
    if whole and isinstance(graph, Cliques) and not graph.components.any() and graph.size > 1:
        return LineGraph.enclose(graph.size, frozen(np.array([[0, graph.size - 1]])))
    if not whole or not isinstance(graph, Ball) or not graph.in_order:
        return None
    return LineGraph.enclose(graph.size, frozen(_widest(graph.upper)))


def _enumerated(graph: RecordGraph, tally: Tally, size: int) -> tuple[LineSteps, Ints]:
    """Return the steps of a graph whose edges can be listed, and the listed pairs of one line."""
    labels = np.append(tally.labels(), -1)  # "absent" is counted nowhere
    ends = labels[np.minimum(graph.edges(), len(labels) - 1)]
    both = (ends >= 0).all(axis=1)
    lines, atoms = np.divmod(ends, size)
    same = both & (lines[:, 0] == lines[:, 1])
    listed = _distinct(np.sort(atoms[same], axis=1), size)
    away = np.unique(ends[~both & (ends >= 0).any(axis=1)].max(axis=1, initial=-1) % size)
    listed = listed[listed[:, 0] < listed[:, 1]]
    return LineSteps(listed, atoms[both & ~same], away), frozen(listed)


def _anything(size: int, groups: int) -> LineSteps:
    """Return steps from anywhere to anywhere: sound whatever the edges are."""
    ends = np.array([0, size - 1])
    return LineSteps(ends[None, :], np.column_stack([ends, ends])[: 2 * (groups > 1)], ends)


def _irregular(graph: SecretGraph, marks: Ints) -> bool:
    """Return whether edges were listed one by one, or some component is not a run of atoms."""
    if isinstance(graph.inner if isinstance(graph, WithMissing) else graph, Explicit):
        return True
    kept = graph.components[marks >= 0]
    return bool(len(kept)) and int((kept[1:] != kept[:-1]).sum()) + 1 > len(np.unique(kept))


def _occupied(tally: Tally, size: int) -> Ints:
    """Return the atoms that hold a counted cell, on any line."""
    held = tally.occupied.reshape(-1, size)
    return np.flatnonzero(held.any(axis=0))


def _furthest(size: int, pairs: Ints) -> Ints:
    """Keep, of pairs of one line, those that no other one holds between its ends."""
    reach = np.arange(size)
    low, high = pairs.min(axis=1, initial=size), pairs.max(axis=1, initial=-1)
    np.maximum.at(reach, low, high)
    return _widest(reach)


def _widest(reach: Ints) -> Ints:
    """Return the pairs of each atom and the furthest it reaches, where no atom before reaches as far."""
    over = np.maximum.accumulate(reach)
    kept = np.flatnonzero((reach > np.arange(len(reach))) & (reach > np.append(-1, over[:-1])))
    return np.column_stack([kept, reach[kept]])


def _ends(segments: Ints, pairs: Ints) -> Ints:
    """Keep, of pairs of two lines, the lowest and the highest partner of each atom in every segment."""
    both = _distinct(np.concatenate([pairs, pairs[:, ::-1]]), len(segments))
    part = segments[both[:, 1]]
    change = (both[1:, 0] != both[:-1, 0]) | (part[1:] != part[:-1])
    return both[np.append(True, change) | np.append(change, True)] if len(both) else both


def _distinct(pairs: Ints, size: int) -> Ints:
    """Return pairs of numbers below `size`, each once, in order."""
    keys = np.sort(pairs[:, 0] * size + pairs[:, 1])  # np.unique hashes, and many such keys hash alike
    kept = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    return np.column_stack(np.divmod(kept, max(size, 1)))


def _first_of_both(segments: Ints, pairs: Ints) -> Ints:
    """Keep, of pairs in the same two segments, those that no other one comes before with both ends."""
    count = int(segments.max(initial=-1)) + 1
    group = segments[pairs[:, 0]] * count + segments[pairs[:, 1]]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], group))
    pairs, group = pairs[order], group[order]
    number = np.cumsum(np.append(0, group[1:] != group[:-1])) if len(group) else group
    least = pairs[:, 1] - number * (2 * len(segments))  # of later groups always less
    before = np.append(np.iinfo(np.int64).max, np.minimum.accumulate(least)[:-1]) if len(least) else least
    return pairs[least < before]


def _reach(size: int, between: Ints) -> Ints:
    """Return the furthest atom that a pair passes over or reaches from each atom."""
    reach = np.arange(size)
    reach[between[:, 0]] = between[:, 1]
    return np.maximum.accumulate(reach)


def _segments(size: int, between: Ints) -> Ints:
    """Return the segment of each atom."""
    starts = _starts(size, between)
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, size)))


def _starts(size: int, between: Ints) -> Ints:
    over = _reach(size, between)
    return np.append(0, np.flatnonzero(over[:-1] < np.arange(1, size)) + 1) if size else np.array([0])


def _exact(graph: RecordGraph, tally: Tally, axis: int, segments: Ints) -> ExactParts:
    """Return which segment totals, or totals of segments of several lines, no edge changes."""
    count = int(segments.max(initial=-1)) + 1
    labels = np.where(tally.marks[axis] < 0, -1, segments[np.maximum(tally.marks[axis], 0)])
    return _untied(exact_parts(graph, tally.rebin(axis, labels, count)), count)


def _untied(parts: ExactParts, count: int) -> ExactParts:
    """Drop totals that two segments of one line share: they would tie them together."""
    members = np.flatnonzero(parts.total_of >= 0)
    lines = members // max(count, 1)
    keys, many = np.unique(parts.total_of[members] * len(parts.total_of) + lines, return_counts=True)
    tied = np.isin(parts.total_of, keys[many > 1] // max(len(parts.total_of), 1)) | (parts.total_of < 0)
    total_of = np.full(len(parts.total_of), -1, dtype=np.int64)
    found, total_of[~tied] = np.unique(parts.total_of[~tied], return_inverse=True)
    return ExactParts(parts.alone, total_of, len(found))


LONG = 1_024  # cells of a line up to which query rows are listed pair by pair


def wider_line(graph: RecordGraph, tally: Tally) -> LineGraph:
    """Return the line of a tally, at once where one whole column is looked at (which is not public)."""
    if len(tally.binnings) != 1 or not counts_all(graph, tally):
        return line(graph, tally)
    return LineGraph.enclose(tally.size, np.array([[0, tally.size - 1]])[: tally.size > 1])
