"""Blocks with missing values answer from closed forms what their edges say."""

import itertools
import math
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit
from pandas_blowfish.policy.secret import build


def _random(seed):
    """Return a random block of one to three axes, and the source of randomness."""
    draw = random.Random(seed)
    solid = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
    nullable = [draw.random() < 0.6 for _ in solid]
    steps = [offset for offset in itertools.product((-1, 0, 1), repeat=len(solid)) if any(offset)]
    balls = [offset for offset in steps if draw.random() < 2 and sum(map(abs, offset)) <= draw.choice([1, 2])]
    closed = {
        tuple(s * d for s, d in zip(o, signs, strict=True))
        for o in balls
        for signs in itertools.product((-1, 1), repeat=len(o))
    }
    inner = draw.choice(
        [
            OffsetBall(solid, np.array(sorted(closed)).reshape(-1, len(solid))),
            Cliques.full(math.prod(solid)),
            Cliques(np.array([draw.randrange(2) for _ in range(math.prod(solid))])),
        ]
    )
    return WithMissing(inner, solid, nullable, joined=draw.random() < 0.7), draw


@pytest.mark.parametrize("seed", range(200))
def test_edges_are_those_of_adjacent(seed):
    """Edges, their number, components, distances and inclusion follow from `adjacent`."""
    graph, draw = _random(seed)
    joined = {(a, b) for a, b in itertools.combinations(range(graph.size), 2) if graph.adjacent(a, b)}

    listed = Explicit(graph.size, np.array(sorted(joined)).reshape(-1, 2))

    assert {(min(e), max(e)) for e in graph.edges().tolist()} == joined
    assert graph.edge_count == len(joined)
    same = graph.components[:, None] == graph.components[None, :]
    assert (same == (listed.components[:, None] == listed.components[None, :])).all()
    for _ in range(5):
        a, b = draw.randrange(graph.size), draw.randrange(graph.size)
        assert graph.distance(a, b) == listed.distance(a, b)
    assert graph.contains(graph)
    assert graph.contains(listed)


@pytest.mark.parametrize("seed", range(300))
def test_axis_relation_matches_edges(seed):
    """Tables made column by column equal those of all edges."""
    graph, draw = _random(seed)
    classes = [np.array([draw.randrange(2) for _ in range(n)]) for n in graph.shape]
    classes = [np.unique(each, return_inverse=True)[1] for each in classes]
    labels = [np.array([draw.randrange(2) for _ in range(n)]) for n in graph.shape]
    counts = [int(each.max()) + 1 for each in classes]
    flat = np.ravel_multi_index(np.meshgrid(*classes, indexing="ij"), counts).ravel()
    marks = np.ravel_multi_index(np.meshgrid(*labels, indexing="ij"), [2] * len(labels)).ravel()

    fast = graph.axis_relation(classes, labels)
    slow = Explicit(graph.size, graph.edges()).relation(flat, marks).grown(math.prod(counts))

    assert (fast.move == slow.move).all()
    assert (fast.cross == slow.cross).all()


@pytest.mark.parametrize("seed", range(300))
def test_relation_and_furthest_match_edges(seed):
    """Any classes, labels and ranks, on one column or several: what all edges say."""
    graph, draw = _random(seed)
    classes = np.array([draw.randrange(3) for _ in range(graph.size)])
    labels = np.array([draw.randrange(-1, 2) for _ in range(graph.size)])
    rank = np.array(draw.sample(range(graph.size), graph.size))
    listed = Explicit(graph.size, graph.edges())

    fast, slow = graph.relation(classes, labels), listed.relation(classes, labels)

    assert (fast.move == slow.move).all()
    assert (fast.cross == slow.cross).all()
    assert (graph.furthest(rank) == listed.furthest(rank)).all()
    assert graph.visible(labels) == listed.visible(labels)


def test_a_million_places_that_may_be_missing_plan_without_edges():
    """A large grid with missing values needs no edge list."""
    axis = {"type": "integer", "min": 0, "max": 999, "nullable": True}
    grid = Domain((from_dict("lat", axis), from_dict("lon", axis)))
    policy = bf.Policy(grid, secrets={("lat", "lon"): bf.threshold(30, metric="l2")})

    plan = policy.plan.where("lat < 500 and lon >= 20").hist("lat", bins=4, epsilon=1)

    assert plan.sensitivity == 2
    assert policy.distance({"lat": 0, "lon": 0}, {"lat": 999, "lon": 0}) == 2  # through missing


def test_whole_numbers_are_exact_values():
    """The ball of theta 1 on whole numbers is the grid graph; bins of reals join diagonals."""
    whole = Domain(tuple(from_dict(name, {"type": "integer", "min": 0, "max": 2}) for name in "ab"))
    real = Domain(tuple(from_dict(n, {"type": "float", "min": 0, "max": 2, "step": 1}) for n in "ab"))

    edges = [bf.Policy(d, secrets={("a", "b"): bf.threshold(1)}).graph.edge_count for d in (whole, real)]

    assert edges == [12, 20]


def test_missing_joins_every_value_and_shortens_paths():
    """Through missing any two values are two steps apart, whatever the values' own graph."""
    line, apart = WithMissing(Ball.even(10, 1), joined=True), WithMissing(Cliques.none(4), joined=True)

    assert [line.distance(0, cell) for cell in (1, 2, 9, 10)] == [1, 2, 2, 1]
    assert line.edge_count == 9 + 10
    assert len(set(apart.components.tolist())) == 1


def test_public_missing_is_alone():
    """A public missing cell has no edge and no path."""
    line = WithMissing(Ball.even(10, 1), joined=False)

    assert line.distance(0, 10) == math.inf
    assert line.distance(10, 10) == 0
    assert line.distance(0, 9) == 9
    assert line.visible(np.array([0] * 10 + [1])) == 0


def _twin(seed):
    """Return a random column whose missing cell is like one of its values, and its edges by definition."""
    draw = random.Random(seed)
    size = draw.randint(1, 7)
    order = np.array(draw.sample(range(size), size))
    pairs = [pair for pair in itertools.combinations(range(size), 2) if draw.random() < 0.4]
    inner = draw.choice(
        [
            Ball.even(size, draw.randint(1, 3)),
            Ball(np.minimum(np.arange(size) + draw.randint(0, 2), size - 1), order),
            Cliques(np.array([draw.randrange(3) for _ in range(size)])),
            Explicit(size, np.array(pairs, dtype=np.int64).reshape(-1, 2)),
        ]
    )
    like = draw.randrange(size)
    joined = {(a, b) for a, b in itertools.combinations(range(size), 2) if inner.adjacent(a, b)}
    near = {like, *(cell for cell in range(size) if inner.adjacent(cell, like))}
    listed = Explicit(size + 1, np.array(sorted(joined | {(cell, size) for cell in near})).reshape(-1, 2))
    return WithMissing(inner, joined=False, like=like), listed, draw


@pytest.mark.parametrize("seed", range(300))
def test_a_stand_in_is_a_twin_of_its_value(seed):
    """Edges, components, distances, ranks in reach, relations and inclusion are those of its edges."""
    graph, listed, draw = _twin(seed)
    cells = range(graph.size)
    classes = np.array([draw.randrange(3) for _ in cells])
    labels = np.array([draw.randrange(-1, 2) for _ in cells])
    rank = np.array(draw.sample(range(graph.size), graph.size))

    fast, slow = graph.relation(classes, labels), listed.relation(classes, labels)
    along = graph.axis_relation([classes], [labels])

    assert {tuple(sorted(edge)) for edge in graph.edges().tolist()} == {
        tuple(e) for e in listed.listed.tolist()
    }
    assert graph.edge_count == listed.edge_count
    assert all(graph.adjacent(a, b) == listed.adjacent(a, b) for a in cells for b in cells)
    assert all(graph.distance(a, b) == listed.distance(a, b) for a in cells for b in cells)
    same = graph.components[:, None] == graph.components[None, :]
    assert (same == (listed.components[:, None] == listed.components[None, :])).all()
    assert (graph.furthest(rank) == listed.furthest(rank)).all()
    for found in (fast, along):
        assert (found.move == slow.move).all()
        assert (found.cross == slow.cross).all()
    assert graph.visible(labels) == listed.visible(labels)
    others = [WithMissing(graph.inner, joined=joined) for joined in (True, False)]
    others += [WithMissing(graph.inner, joined=False, like=like) for like in range(graph.inner.size)]
    for other in others:
        held = Explicit(graph.size, other.edges())
        assert graph.contains(other) == listed.contains(held)
        assert other.contains(graph) == held.contains(listed)


def test_secrets_say_whether_missing_is_joined():
    """Every secret protects the missing cell unless it, or the column, is public."""
    column = integers("x", 0, 3, nullable=True)
    secrets = [bf.full(), bf.threshold(1), bf.partition(2), bf.edges([(0, 1)])]
    opened = [bf.full(missing="public"), bf.threshold(1, missing="public"), bf.public()]

    assert all(build(secret["blowfish"], column).adjacent(4, cell) for secret in secrets for cell in range(4))
    assert not any(
        build(secret["blowfish"], column).adjacent(4, cell) for secret in opened for cell in range(4)
    )
