"""Where edges lead among atoms: the furthest ones, as listing every edge finds them."""

import random

import numpy as np
import pytest

from pandas_blowfish.plan.line import sensitivity as module
from pandas_blowfish.plan.line.sensitivity import steps
from pandas_blowfish.plan.sensitivity import ClassMoves


def _moves(draw, count):
    """Return any tables on classes 0..count-1, and one more class of cells that are not counted."""
    square = np.zeros((3, count + 1, count + 1), dtype=bool)
    still = np.zeros((2, count + 1), dtype=bool)
    for table in square:
        table[:count, :count] = [[draw.random() < 0.5 for _ in range(count)] for _ in range(count)]
    for row in still:
        row[:count] = [draw.random() < 0.5 for _ in range(count)]
    between, across, leave = square
    leave[:count, count] = [draw.random() < 0.5 for _ in range(count)]
    # who can move along the axis and change the line can also change the line alone
    return ClassMoves(between | between.T, across | across.T, still[0] | np.diagonal(across), leave, still[1])


def _marks(draw, size):
    """Return an atom for each cell, rising, some with none."""
    rising = np.cumsum([draw.random() < 0.7 for _ in range(size)])
    return np.where([draw.random() < 0.2 for _ in range(size)], -1, rising)


def _partners(pairs, atoms):
    found = {atom: set() for atom in range(atoms)}
    for x, y in pairs:
        found[int(x)].add(int(y))
        found[int(y)].add(int(x))
    return found


def _slow(graph, marks, classes, moves):
    between, across, away = [], [], set()
    for a, b in [*graph.edges().tolist(), *graph.edges()[:, ::-1].tolist()]:
        u, v = classes[a], classes[b]
        if marks[a] >= 0 and marks[b] >= 0:
            between += [(marks[a], marks[b])] * bool(moves.between[u, v])
            across += [(marks[a], marks[b])] * bool(moves.across[u, v])
        if marks[a] >= 0 and moves.leave[u, v]:
            away.add(int(marks[a]))
    for cell, atom in enumerate(marks):
        if atom >= 0:
            across += [(atom, atom)] * bool(moves.across_still[classes[cell]])
            away |= {int(atom)} if moves.leave_still[classes[cell]] else set()
    return between, across, away


@pytest.mark.parametrize("seed", range(150))
def test_ends_match_enumeration(seed, make_policy):
    """The furthest partners of each atom, and the atoms that are left, are those of all edges."""
    draw = random.Random(seed)
    graph = make_policy(draw, 1, 7).graph.blocks[0].graph
    count = draw.randint(1, 3)
    marks, moves = _marks(draw, graph.size), _moves(draw, count)
    classes = np.where(marks < 0, count, [draw.randrange(count) for _ in range(graph.size)])
    atoms = int(marks.max(initial=0)) + 1

    found = steps(graph, marks, classes, moves)
    between, across, away = _slow(graph, marks, classes, moves)

    if found is None:
        return
    for fast, slow in ((found.between, between), (found.across, across)):
        mine, wanted = _partners(fast, atoms), _partners(slow, atoms)
        assert all(mine[atom] - {atom} <= wanted[atom] for atom in mine)
        for atom in range(atoms):
            assert max(mine[atom] | {atom}) == max(wanted[atom] | {atom})
            assert min(mine[atom] | {atom}) == min(wanted[atom] | {atom})
    assert set(found.away.tolist()) == away


def test_most_graphs_of_one_column_have_a_closed_form(make_policy):
    """Thresholds of rising values, groups and listed edges are not enumerated."""
    graphs = [make_policy(random.Random(seed), 1, 6).graph.blocks[0].graph for seed in range(60)]

    closed = []
    for graph in graphs:
        moves = _moves(random.Random(0), 1)
        zeros = np.zeros(graph.size, dtype=np.int64)
        closed.append(steps(graph, np.arange(graph.size), zeros, moves) is not None)

    assert sum(closed) > 40


def test_marks_that_fall_and_too_much_work_have_none(line_of, monkeypatch):
    """Bins out of order, or more work than allowed, are left to listing."""
    graph = line_of(4, 1).policy.graph.blocks[0].graph
    moves = _moves(random.Random(0), 1)
    zeros = np.zeros(4, dtype=np.int64)

    assert steps(graph, np.array([1, 0, 2, 3]), zeros, moves) is None
    monkeypatch.setattr(module, "MAX_WORK", 1)
    assert steps(graph, np.arange(4), zeros, moves) is None
