"""Runs within runs: they cover the line, and the rows they measure change as the patterns say."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line.nest import Layout, Nest, _largest, refine
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers


def _by_family(nested):
    """Return for each measured row that is not an exact total the number of its family."""
    sizes = nested.nest.sizes
    return np.tile(np.repeat(np.arange(len(sizes)), sizes), nested.line.groups)


@pytest.mark.parametrize("seed", range(100))
def test_patterns_match_the_matrix(seed, make_lined, make_layout):
    """For any weights the largest pattern is the largest change of the matrix over an edge.

    For wavelets, whose odd nodes have no second half, it is at least that.
    """
    draw = random.Random(seed)
    lined = make_lined(draw)
    for wavelet in (False, False, True):
        layout = make_layout(draw, lined.line, wavelet)
        families = len(Nest(lined.line, layout).families)
        nested = Nested("nested", lined.asked, lined.line, layout, (1,) * families, 1)
        patterns, of_row = nested.nest.patterns(), _by_family(nested)
        matrix = nested.matrix().toarray()[: len(of_row)]
        matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=np.int64)])
        changes = abs(matrix[:, lined.edges[:, 0]] - matrix[:, lined.edges[:, 1]])
        by_family = np.zeros((families, changes.shape[1]), dtype=np.int64)
        np.add.at(by_family, of_row, changes)

        for _ in range(5):
            weights = np.array([draw.randint(0, 9) for _ in range(families)], dtype=np.int64)
            fast = int((patterns @ weights).max(initial=0))
            slow = int((weights @ by_family).max(initial=0))

            assert fast >= slow if wavelet else fast == slow


@pytest.mark.parametrize("seed", range(40))
def test_every_level_cuts_the_line(seed, make_lined, make_layout):
    """Nodes of a level follow one another, lie in their parents, and end in single atoms."""
    draw = random.Random(seed)
    line = make_lined(draw).line
    nest = Nest(line, make_layout(draw, line, draw.random() < 0.5))

    above = nest.segments
    for level in (nest.blocks, *nest.levels):
        assert level.begin[0] == 0
        assert level.end[-1] == line.size
        assert (level.begin[1:] == level.end[:-1]).all()
        assert (level.begin >= above.begin[level.parent]).all()
        assert (level.end <= above.end[level.parent]).all()
        assert (np.diff(level.first) == np.bincount(level.parent, minlength=above.size)).all()
        above = level
    assert above.size == line.size


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_sums_of_their_runs(seed, make_lined, make_layout):
    """The value of a row is the count of its run; a wavelet's left half less its right half."""
    draw = random.Random(seed)
    line = make_lined(draw).line
    nest = Nest(line, make_layout(draw, line, seed % 2 == 1))
    counts = np.array([draw.randint(0, 9) for _ in range(line.size)])
    positions = np.append(0, np.cumsum(counts))[None, :]

    wanted = []
    for family, (begin, end) in zip(nest.families, nest.parts(), strict=True):
        for place, (a, b) in enumerate(zip(begin, end, strict=True)):
            value = counts[a:b].sum()
            if nest.layout.wavelet and family.startswith("level"):
                level = nest.levels[int(family.split()[1]) - 1]
                right = int(np.flatnonzero(level.begin == b)[0])
                assert level.parent[right] == nest.halves[int(family.split()[1]) - 1].parent[place]
                value -= counts[level.begin[right] : level.end[right]].sum()
            wanted.append(int(value))

    assert nest.rows(positions).tolist() == [wanted]
    assert sum(nest.sizes) == len(wanted)


@pytest.mark.parametrize("layout", [Layout(None, (3, 2)), Layout(4, (4,), mirrored=True), Layout(1)])
def test_layouts_survive_plain_data(layout):
    """to_dict and from_dict give the same layout."""
    assert Layout.from_dict(layout.to_dict()) == layout


def test_a_layout_must_reach_single_atoms(line_of):
    """Too few levels are refused."""
    with pytest.raises(ValueError, match="single atoms"):
        Nest(line_of(8, 1).line, Layout(4, (2,)))


def test_families_and_boundaries_of_open_and_closed_lines(line_of):
    """A closed line needs no row for its total; an open one has it as a prefix, or by itself."""
    closed, opened = line_of(8, 2).line, line_of(8, 2, presence=True).line

    assert Nest(closed, Layout(4, (4,))).families == ["prefix", "level 1"]
    assert Nest(closed, Layout(4, (4,))).boundaries.tolist() == [0]
    assert Nest(opened, Layout(4, (4,))).boundaries.tolist() == [0, 1]
    assert Nest(closed, Layout(None, (8,))).families == ["level 1"]
    assert Nest(opened, Layout(None, (8,))).families == ["total", "level 1"]


def test_a_mirrored_layout_counts_from_the_far_end(line_of):
    """Segments and places are turned round."""
    line = line_of(8, 1, "x >= 3").line
    nest = Nest(line, Layout(1, mirrored=True))

    assert nest.segments.begin.tolist() == [0, 5, 6, 7]
    assert nest.place(np.array([0, 7])).tolist() == [7, 0]


def test_refine_leaves_a_short_last_run():
    """Runs of 5 and 3 cut by 2."""
    level = refine(np.array([0, 5]), np.array([5, 8]), 2)

    assert level.begin.tolist() == [0, 2, 4, 5, 7]
    assert level.end.tolist() == [2, 4, 5, 7, 8]
    assert level.parent.tolist() == [0, 0, 0, 1, 1]
    assert level.first.tolist() == [0, 3, 5]


@pytest.mark.parametrize("many", [0, 1, 30, 800])
def test_largest_keeps_every_maximum(many):
    """Dropping dominated patterns changes no weighted maximum."""
    patterns = np.random.default_rng(many).integers(0, 12, (many, 3))

    kept = _largest(patterns)

    assert len(kept) <= many
    for weights in np.random.default_rng(0).integers(0, 9, (30, 3)):
        assert (kept @ weights).max(initial=0) == (patterns @ weights).max(initial=0)


@pytest.mark.parametrize("theta", [1, 2, 3, 5])
@pytest.mark.parametrize("layout", [Layout(1), Layout(2, (2,)), Layout(4, (2, 2)), Layout(5, (5,))])
def test_a_period_shows_every_pattern(theta, layout, line_of, monkeypatch):
    """Of a long line that repeats itself only a part is looked at, and nothing is missed."""
    line = line_of(301, theta).line
    part = Nest(line, layout)

    found = part.patterns()
    monkeypatch.setattr(Nest, "_deciding", lambda self: self.line.between)

    assert found.tolist() == Nest(line, layout).patterns().tolist()


def test_listed_edges_are_not_taken_for_a_period(on_line):
    """Edges of one length that start at even atoms at both ends and at odd ones in the middle."""
    pairs = [(x, x + 3) for x in range(157) if x % 2 == (60 < x < 90)]
    policy = bf.Policy(Domain((integers("x", 0, 159),)), secrets={"x": bf.edges(pairs)})
    lined = on_line(policy, "x")

    nested = Nested("nested", lined.asked, lined.line, Layout(2, (2,)), (1, 1), 1)

    assert nested.nest.patterns().tolist() == [[2, 2]]
    assert edge_loss(nested.matrix(), nested.scales, policy.graph.edges()).value == 1
