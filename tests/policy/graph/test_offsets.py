"""Balls over a grid: every closed form equals what its adjacency says, by enumeration."""

import itertools
import math
import random

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, connect


def random_ball(draw):
    """Return the ball of a random metric, or below any offsets, on a small grid of one to three axes."""
    return draw.choice([metric_ball, any_ball])(draw)


def any_ball(draw):
    """Return the ball below a few offsets that have no metric, some too long to fit."""
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
    many = draw.randint(0, 4)
    rows = [[draw.choice([0, 0, 1, 2, 3, 9]) * draw.choice([-1, 1]) for _ in shape] for _ in range(many)]
    return OffsetBall(shape, np.array(rows, dtype=np.int64).reshape(-1, len(shape)))


def metric_ball(draw):
    """Return the ball of a random metric, from all of its offsets."""
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
    steps, power, theta = (
        [draw.randint(1, 3) for _ in shape],
        draw.choice([1, 2, math.inf]),
        draw.randint(0, 6),
    )
    offsets = []
    for offset in itertools.product(*(range(1 - size, size) for size in shape)):
        away = [max(abs(d) - 1, 0) * step for d, step in zip(offset, steps, strict=True)]
        far = max(away) if power == math.inf else sum(part**power for part in away)
        if any(offset) and far < theta ** (1 if power == math.inf else power):
            offsets.append(offset)
    return OffsetBall(shape, np.array(offsets, dtype=np.int64).reshape(-1, len(shape)))


def listed(graph):
    """Return the edges of a graph by asking about every pair."""
    return {(a, b) for a, b in itertools.combinations(range(graph.size), 2) if graph.adjacent(a, b)}


def test_joined_are_differences_below_an_offset():
    """Two cells are joined when no axis differs by more than one of the offsets; the front says the same."""
    draw, found = random.Random(0), set()
    for _ in range(150):
        shape = [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
        rows = [[draw.choice([0, 1, 2, 7, -1, -3]) for _ in shape] for _ in range(draw.randint(0, 5))]

        graph = OffsetBall(shape, np.array(rows, dtype=np.int64).reshape(-1, len(shape)))

        for one, two in itertools.product(itertools.product(*map(range, shape)), repeat=2):
            away = [abs(x - y) for x, y in zip(one, two, strict=True)]
            slow = any(away) and any(
                all(d <= abs(most) for d, most in zip(away, row, strict=True)) for row in rows
            )
            cells = [int(np.ravel_multi_index(each, shape)) for each in (one, two)]
            assert graph.adjacent(*cells) == slow
            found.add(slow)
        assert (graph.front < np.array(shape)).all()
        assert (graph.front.max(axis=0) == graph.reach).all()
        assert not graph.front.flags.writeable
        assert sum((row <= graph.front).all(axis=1).sum() for row in graph.front) == len(graph.front)
    assert found == {True, False}


def test_edges_and_counts_match_adjacency():
    """The list holds each joined pair once; counts, furthest ranks and components agree with it."""
    draw = random.Random(1)
    for _ in range(60):
        graph = random_ball(draw)
        slow = listed(graph)
        rank = np.array(draw.sample(range(graph.size), graph.size), dtype=np.int64)
        pairs = np.array(sorted(slow), dtype=np.int64).reshape(-1, 2)

        edges = [tuple(sorted(map(int, edge))) for edge in graph.edges()]

        assert set(edges) == slow
        assert len(edges) == graph.edge_count == len(slow)
        assert graph.furthest(rank).tolist() == Explicit(graph.size, pairs).furthest(rank).tolist()
        for found, expected in (
            (graph.components, connect(pairs, graph.size)),
            (connect(graph.pairs(), graph.size), connect(pairs, graph.size)),
        ):
            assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(
                set(expected.tolist())
            )
            assert len(set(found.tolist())) == len(set(expected.tolist()))


def test_axis_relation_matches_edges():
    """Tables made axis by axis equal those of comparing the ends of every edge."""
    draw = random.Random(2)
    for _ in range(150):
        graph = random_ball(draw)
        classes = [np.array([draw.randrange(2) for _ in range(size)]) for size in graph.shape]
        classes = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in classes]
        labels = [np.array([draw.randrange(3) for _ in range(size)], dtype=np.int64) for size in graph.shape]
        counts = [int(each.max()) + 1 for each in classes]
        move = np.zeros((math.prod(counts),) * 2, dtype=bool)
        cross = move.copy()
        for edge in listed(graph):
            ends = [np.unravel_index(cell, graph.shape) for cell in edge]
            kind = [
                int(np.ravel_multi_index([each[i] for each, i in zip(classes, end, strict=True)], counts))
                for end in ends
            ]
            changes = any(marks[a] != marks[b] for marks, a, b in zip(labels, *ends, strict=True))
            for a, b in (kind, kind[::-1]):
                move[a, b] = True
                cross[a, b] |= changes

        found = graph.axis_relation(classes, labels)

        assert found.move.tolist() == move.tolist()
        assert found.cross.tolist() == cross.tolist()


def test_distance_matches_search():
    """The fewest offsets that add up equal breadth-first search, infinity included."""
    draw = random.Random(3)
    for _ in range(60):
        graph = random_ball(draw)
        slow = Explicit(graph.size, np.array(sorted(listed(graph)), dtype=np.int64).reshape(-1, 2))
        start = draw.randrange(graph.size)

        found = [graph.distance(start, end) for end in range(graph.size)]

        assert found == [slow.distance(start, end) for end in range(graph.size)]


def test_contains_matches_enumeration():
    """A ball contains another, or any graph, exactly when its edges include the other's."""
    draw = random.Random(4)
    found = set()
    for _ in range(200):
        mine, theirs = random_ball(draw), random_ball(draw)
        if mine.shape != theirs.shape:
            theirs = Explicit(mine.size, np.array([[0, draw.randrange(mine.size)]]))

        result = mine.contains(theirs)

        assert result == (listed(theirs) <= listed(mine))
        assert Cliques.full(mine.size).contains(mine)
        assert Explicit(mine.size, mine.edges()).contains(mine)
        found.add(result)
    assert found == {True, False}


def test_flat_classes_are_compared_edge_by_edge():
    """Classes that are no product of the axes' give the same tables as listed edges."""
    draw = random.Random(5)
    for _ in range(40):
        graph = random_ball(draw)
        classes = np.array([draw.randrange(3) for _ in range(graph.size)], dtype=np.int64)
        labels = np.array([draw.randrange(3) for _ in range(graph.size)], dtype=np.int64)

        found, slow = (
            graph.relation(classes, labels),
            Explicit(graph.size, graph.edges()).relation(classes, labels),
        )

        assert found.move.tolist() == slow.move.tolist()
        assert found.cross.tolist() == slow.cross.tolist()


def test_a_way_too_long_to_search_is_refused():
    """Cells very far apart on a very large grid are a typed error, not a long wait."""
    graph = OffsetBall([10**5, 10**5], np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]))

    with pytest.raises(DomainTooLargeError):
        graph.distance(0, 10**10 - 1)

    assert graph.distance(0, 3 * 10**5 + 4) == 7


def test_an_axis_alone_sees_what_the_ball_leaves_it():
    """Cells that differ along one axis are joined as that axis' own ball says."""
    draw = random.Random(6)
    for _ in range(60):
        graph = random_ball(draw)
        strides = [math.prod(graph.shape[axis + 1 :]) for axis in range(len(graph.shape))]

        for axis, stride in enumerate(strides):
            own = graph.along(axis)

            assert own.shape == graph.shape[axis : axis + 1]
            for a, b in itertools.product(range(own.size), repeat=2):
                assert own.adjacent(a, b) == graph.adjacent(a * stride, b * stride)


def test_large_balls_answer_from_their_front():
    """Sixteen million cells of a ball of eleven million offsets: counts, ways and inclusion list nothing."""
    size, theta = 256, 128
    rows = [(a, b, theta - a - b) for a in range(theta + 1) for b in range(theta + 1 - a)]
    graph = OffsetBall([size] * 3, np.array(rows))
    smaller = OffsetBall([size] * 3, np.array([[theta // 3] * 3]))
    room = np.array([size, *(2 * (size - d) for d in range(1, theta + 1))], dtype=object)
    three = np.convolve(np.convolve(room, room), room)[: theta + 1]

    assert len(graph.front) == len(rows)
    assert graph.edge_count == (three.sum() - size**3) // 2
    assert graph.contains(smaller)
    assert not smaller.contains(graph)
    assert not graph.components.any()
    assert graph.distance(0, size**3 - 1) == -(-3 * (size - 1) // theta)
    assert graph.distance(0, theta) == 1
    assert graph.distance(0, theta + size) == 2


def test_counts_beyond_machine_numbers_are_exact():
    """A grid of 10^10 cells has more edges than 64 bits hold."""
    size = 10**5
    graph = OffsetBall([size, size], np.array([[size - 1, 2]]))

    rows = size + 2 * (size - 1) + 2 * (size - 2)  # pairs of places at most 2 apart, each way
    assert graph.edge_count == (size**2 * rows - size**2) // 2
    full = OffsetBall([size, size], np.array([[size, size]]))
    assert full.edge_count == size**2 * (size**2 - 1) // 2 > 2**64


def test_ranks_in_reach_of_too_many_boxes_are_refused():
    """A front of thousands of boxes around millions of cells is a typed error, one box is not."""
    rows = np.array([(d, 500 - d) for d in range(501)])

    with pytest.raises(DomainTooLargeError):
        OffsetBall([1000, 1000], rows).furthest(np.arange(10**6))

    assert OffsetBall([1000], np.array([700])).furthest(np.arange(1000))[:301].tolist() == [
        *range(700, 1000),
        999,
    ]
