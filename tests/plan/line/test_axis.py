"""What edges do along a line: as much as all edges by definition, and no more."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line import axis as module
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope


def _listed(values, secret):
    domain = Domain((from_dict("x", {"type": "integer", "values": values}),))
    return bf.Policy(domain, secrets={"x": secret})


def _largest(between, across, away, reach, own):
    """Return the largest loss: what lies between two atoms, or all that each has."""
    losses = [0]
    losses += [abs(int(reach[y] - reach[x])) for x, y in between]
    losses += [int(own[x] + own[y]) for x, y in across]
    losses += [int(own[x]) for x in away]
    return max(losses)


def _enumerated(lined):
    """Return pairs of one line, pairs of two lines, and atoms that are left, edge by edge."""
    labels = np.append(lined.asked.tally.labels(), -1)
    between, across, away = [], [], []
    for a, b in lined.edges:
        x, y = labels[a], labels[b]
        (i, u), (j, v) = divmod(int(x), lined.line.size), divmod(int(y), lined.line.size)
        if x < 0 or y < 0:
            away += [atom for label, atom in ((x, u), (y, v)) if label >= 0]
        elif i == j:
            between.append((u, v))
        else:
            across.append((u, v))
    return between, across, away


def _check(draw, lined, same):
    line, listed = lined.line, _enumerated(lined)
    for _ in range(6):
        reach = np.cumsum([draw.randint(0, 5) for _ in range(line.size)])
        ends = np.append(line.starts[1:], line.size)
        first, last = (np.repeat(reach[at], ends - line.starts) for at in (line.starts, ends - 1))
        for own in (
            reach - first,
            last - reach,
        ):  # an atom's own loss rises, or falls
            fast = _largest(lined.line.between, lined.line.across, lined.line.away, reach, own)
            slow = _largest(*listed, reach, own)

            assert fast == slow if same else fast >= slow


@pytest.mark.parametrize("seed", range(150))
def test_losses_match_enumeration(seed, make_lined):
    """Any loss that grows along the line is as large over the kept pairs as over all edges."""
    draw = random.Random(seed)

    _check(draw, make_lined(draw, draw.choice([3, 6])), same=True)


@pytest.mark.parametrize("seed", range(30))
def test_edges_too_many_to_list_lose_no_less(seed, make_lined, monkeypatch):
    """A line taken for a full one is never cheaper than its edges."""
    monkeypatch.setattr(module, "MAX_LISTED_EDGES", 0)
    draw = random.Random(seed)

    _check(draw, make_lined(draw), same=False)


@pytest.mark.parametrize("seed", range(100))
def test_joined_atoms_match_enumeration(seed, make_lined):
    """Pairs of one line, pairs of two, and atoms that rows leave for nowhere: just those of the edges."""
    lined = make_lined(random.Random(seed), 5)
    joined, size = lined.line.joined, lined.line.size
    labels = np.append(lined.asked.tally.labels(), -1)
    within, across, away = set(), set(), set()
    for ends in labels[lined.edges].tolist():
        low, high = sorted(ends)
        if low < 0 <= high:
            away.add(high % size)
        elif low != high and low >= 0:
            same = low // size == high // size
            (within if same else across).add(tuple(sorted((low % size, high % size))))

    assert {tuple(pair) for pair in joined.within.tolist()} == within
    assert {tuple(pair) for pair in joined.across.tolist()} == across
    assert set(joined.away.tolist()) == away


@pytest.mark.parametrize("seed", range(60))
def test_segments_and_pieces_are_closed(seed, make_lined):
    """No edge of a line leads from one segment, or piece, to another, and exact totals do not change."""
    lined = make_lined(random.Random(500 + seed), 5)
    line = lined.line
    segment = np.searchsorted(line.starts, np.arange(line.size), "right") - 1
    between, _, _ = _enumerated(lined)

    assert all(segment[x] == segment[y] and line.pieces[x] == line.pieces[y] for x, y in between)
    for part, exact in ((segment, line.exact), (line.pieces, line.piece_exact)):
        parts = int(part.max()) + 1
        labels = np.append(lined.asked.tally.labels(), -1)
        lines, atoms = np.divmod(labels, line.size)
        of_cell = np.where(labels < 0, -1, lines * parts + part[atoms])
        for a, b in of_cell[lined.edges]:
            if a != b:
                assert not any(end >= 0 and exact.alone[end] for end in (a, b))
                ends = {int(exact.total_of[end]) if end >= 0 else -1 for end in (a, b)}
                assert len(ends) == 1  # both in one total, or both in none


def test_gaps_of_listed_values_cut_the_line():
    """Values further apart than the threshold are not joined, whatever lies between."""
    policy = _listed([0, 1, 5, 6, 7, 20], bf.threshold(2))
    found = module.line(policy.graph, Scope().tally(policy, ["x"], None))

    assert found.starts.tolist() == [0, 2, 5]
    assert found.reach.tolist() == [1, 1, 4, 4, 4, 5]
    assert found.exact.alone.tolist() == [True, True, True]
    assert not found.open


def test_groups_that_interleave_are_pieces(on_line):
    """A partition whose groups are no runs is one segment, but two pieces with exact totals."""
    policy = bf.Policy(
        Domain((integers("x", 0, 3),)), secrets={"x": bf.partition({"even": [0, 2], "odd": [1, 3]})}
    )

    found = on_line(policy, "x").line

    assert found.starts.tolist() == [0]
    assert found.pieces.tolist() == [0, 1, 0, 1]
    assert found.listed.tolist() == [[0, 2], [1, 3]]
    assert found.piece_exact.alone.tolist() == [True, True]


def test_a_filter_opens_the_line_where_rows_leave(line_of):
    """With threshold 1 and x >= 4 only atom 4 can be left; atoms outside hold nothing."""
    found = line_of(8, 1, "x >= 4").line

    assert found.away.tolist() == [4]
    assert found.starts.tolist() == [0, 1, 2, 3, 4]
    assert found.exact.alone.tolist() == [True, True, True, True, False]
    assert found.open


def test_presence_lets_every_counted_atom_be_left(line_of):
    """A row that may be absent can leave from anywhere in the filter."""
    assert line_of(4, 1, presence=True).line.away.tolist() == [0, 1, 2, 3]
    assert line_of(4, 1, "x > 1", presence=True).line.away.tolist() == [2, 3]


def test_a_million_atoms_list_no_edges(monkeypatch, line_of):
    """A long threshold column has its line in closed form."""
    from pandas_blowfish.policy.graph.ball import Ball

    monkeypatch.setattr(Ball, "_list", lambda self: pytest.fail("edges were listed"))

    found = line_of(10**6, 1_000).line

    assert found.reach[:2].tolist() == [1_000, 1_001]
    assert found.reach[-1] == 10**6 - 1
    assert found.listed is None


def test_the_best_partner_of_each_segment_is_kept(on_line):
    """A long segment between short ones holds the pair that loses most."""
    domain = Domain((integers("g", 0, 1), integers("x", 0, 8)))
    steps = [((0, 3), (0, 4)), ((0, 4), (0, 5)), ((0, 3), (1, 3)), ((0, 3), (1, 0)), ((0, 3), (1, 8))]
    policy = bf.Policy(domain, secrets={("g", "x"): bf.edges(steps)})

    found = on_line(policy, "x", Scope().groupby(policy, "g")).line

    assert found.starts.tolist() == [0, 1, 2, 3, 6, 7, 8]
    assert sorted(found.across.tolist()) == [[0, 3], [3, 0], [3, 3], [3, 8], [8, 3]]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_column_whose_cells_are_all_joined_is_known_at_once(size, monkeypatch):
    """The line is the one that is found step by step."""
    domain = Domain((integers("x", 0, size - 1),))
    graph, asked = bf.Policy(domain).graph.project(["x"]), tally(domain, ["x"], None, None)
    found = module.line(graph, asked)
    monkeypatch.setattr(module, "_plain", lambda *_: None)

    slow = module.line(graph, asked)

    for name in ("size", "groups", "between", "across", "away", "listed", "pieces"):
        assert np.array_equal(getattr(found, name), getattr(slow, name))
    for name in ("exact", "piece_exact"):
        one, two = getattr(found, name), getattr(slow, name)
        assert np.array_equal(one.alone, two.alone)
        assert np.array_equal(one.total_of, two.total_of)
