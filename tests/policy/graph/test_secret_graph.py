"""Graphs of one column: every closed form equals what its adjacency says, by enumeration."""

import itertools
import math
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.graph import secret_graph as graphs
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, Relation, SecretGraph, connect

KINDS = ["full", "none", "cliques", "explicit", "even", "ball", "missing", "open missing"]


def random_graph(draw: random.Random, kind: str, size: int) -> SecretGraph:
    """Return a random graph of one kind on `size` cells."""
    if kind in ("full", "none"):
        return getattr(Cliques, kind)(size)
    if kind == "cliques":
        return Cliques(np.array([draw.randint(-2, 3) for _ in range(size)], dtype=np.int64))
    if kind == "explicit":
        pairs = [(draw.randrange(size), draw.randrange(size)) for _ in range(draw.randint(0, size))]
        return Explicit(size, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    if kind == "even":
        return Ball.even(size, draw.randint(1, size + 2))
    if kind == "ball":
        reach = [min(rank + draw.randint(0, 3), size - 1) for rank in range(size)]
        order = draw.sample(range(size), size)
        return Ball(np.maximum.accumulate(np.array(reach, dtype=np.int64)), np.array(order, dtype=np.int64))
    if size == 1:
        return Cliques.full(1)
    inner = random_graph(draw, draw.choice(KINDS[:6]), size - 1)
    return WithMissing(inner, joined=kind == "missing")


def listed(graph: SecretGraph) -> set[tuple[int, int]]:
    """Return the edges of a graph by asking about every pair."""
    return {(a, b) for a, b in itertools.combinations(range(graph.size), 2) if graph.adjacent(a, b)}


def search(edges: set[tuple[int, int]], start: int, size: int) -> list[float]:
    """Return the distances from one cell, by breadth-first search."""
    far = [math.inf] * size
    far[start], layer = 0, [start]
    while layer:
        beyond = [
            b for a in layer for b in range(size) if (min(a, b), max(a, b)) in edges and far[b] == math.inf
        ]
        for cell in beyond:
            far[cell] = far[layer[0]] + 1
        layer = list(dict.fromkeys(beyond))
    return far


def classes(labels: np.ndarray) -> set[frozenset[int]]:
    """Return a labelling as a set of sets."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.fixture(params=KINDS)
def instances(request):
    """Return random graphs of one kind, small enough to enumerate."""
    draw = random.Random(request.param)
    return [random_graph(draw, request.param, draw.randint(1, 9)) for _ in range(60)]


def test_adjacency_is_a_graph(instances):
    """Adjacency is symmetric and has no loops."""
    for graph in instances:
        cells = range(graph.size)

        joined = {(a, b) for a in cells for b in cells if graph.adjacent(a, b)}

        assert all((b, a) in joined and a != b for a, b in joined)


def test_edges_match_adjacency(instances):
    """The edge list holds every joined pair once, and the count agrees."""
    for graph in instances:
        edges = [tuple(sorted(map(int, edge))) for edge in graph.edges()]

        assert len(edges) == len(set(edges)) == graph.edge_count
        assert set(edges) == listed(graph)


def test_components_and_skeletons_match_enumeration(instances):
    """Skeleton pairs are edges that connect just what all edges connect."""
    for graph in instances:
        edges = listed(graph)
        whole = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)

        pairs = graph.pairs()

        assert {tuple(sorted(map(int, pair))) for pair in pairs} <= edges
        assert classes(connect(pairs, graph.size)) == classes(connect(whole, graph.size))
        assert classes(graph.components) == classes(connect(whole, graph.size))


def test_distance_matches_search(instances):
    """Distances equal breadth-first search, infinity included."""
    for graph in instances:
        edges = listed(graph)
        for start in range(graph.size):
            far = search(edges, start, graph.size)

            assert [graph.distance(start, end) for end in range(graph.size)] == far


def test_furthest_matches_enumeration(instances):
    """The furthest rank of each cell is the largest among it and its neighbours."""
    draw = random.Random(2)
    for graph in instances:
        rank = np.array(draw.sample(range(graph.size), graph.size), dtype=np.int64)

        top = graph.furthest(rank)

        cells = range(graph.size)
        assert top.tolist() == [max(rank[b] for b in cells if b == a or graph.adjacent(a, b)) for a in cells]


def test_contains_matches_enumeration():
    """One graph contains another exactly when its edges include the other's, for every pair of kinds."""
    draw = random.Random(3)
    for mine, theirs in itertools.product(KINDS, KINDS):
        for _ in range(12):
            size = draw.randint(1, 6)
            a, b = random_graph(draw, mine, size), random_graph(draw, theirs, size)

            assert a.contains(b) == (listed(b) <= listed(a)), (mine, theirs)
            assert a.contains(a)
            assert a.contains(Cliques.none(size))
            assert Cliques.full(size).contains(a)


def test_contains_accepts_thinner_graphs():
    """A graph that lost some edges is contained; one that gained an edge is not."""
    draw = random.Random(4)
    for kind in KINDS:
        for _ in range(20):
            graph = random_graph(draw, kind, draw.randint(2, 7))
            edges = listed(graph)
            fewer = [edge for edge in edges if draw.random() < 0.7]
            other = set(itertools.combinations(range(graph.size), 2)) - edges

            assert graph.contains(Explicit(graph.size, np.array(fewer, dtype=np.int64).reshape(-1, 2)))
            assert not any(graph.contains(Explicit(graph.size, np.array([*fewer, edge]))) for edge in other)


def test_visible_matches_enumeration(instances):
    """The change one edge makes to binned counts is the largest over all edges, each tried."""
    draw = random.Random(6)
    for graph in instances:
        edges = listed(graph)
        for bins in (1, 2, 4):
            labels = np.array([draw.randint(-1, bins - 1) for _ in range(graph.size)], dtype=np.int64)
            matrix = np.array([labels == number for number in range(bins)], dtype=np.int64)

            slow = max((int(abs(matrix[:, a] - matrix[:, b]).sum()) for a, b in edges), default=0)

            assert graph.visible(labels) == slow
        assert graph.visible(None) == graph.visible(np.arange(graph.size)) == (2 if edges else 0)


def test_relation_matches_enumeration(instances):
    """Between which classes an edge leads, and where it changes the label, is what each edge says."""
    draw = random.Random(7)
    for graph in instances:
        for count in (1, 2, 4):
            classes = np.array([draw.randrange(count) for _ in range(graph.size)], dtype=np.int64)
            labels = np.array([draw.randint(-1, 2) for _ in range(graph.size)], dtype=np.int64)
            move = np.zeros((classes.max() + 1,) * 2, dtype=bool)
            cross = move.copy()
            for edge in listed(graph):
                for a, b in (edge, edge[::-1]):
                    move[classes[a], classes[b]] = True
                    cross[classes[a], classes[b]] |= labels[a] != labels[b]

            found = graph.relation(classes, labels)

            assert found.move.tolist() == move.tolist()
            assert found.cross.tolist() == cross.tolist()


def test_relations_grow():
    """More classes than any edge touches are rows of False."""
    found = Relation.empty(1)
    found.add(np.array([0]), np.array([0]), np.array([True]))

    wider = found.grown(3)

    assert wider.move.sum() == wider.cross.sum() == 1
    assert wider.move.shape == found.grown(0).grown(3).move.shape == (3, 3)


def test_a_long_edge_list_is_refused(monkeypatch):
    """Listing more edges than the limit is a typed error, counted without listing."""
    monkeypatch.setattr(Cliques, "_list", lambda self: pytest.fail("listed"))

    with pytest.raises(DomainTooLargeError) as caught:
        Cliques.full(100_000).edges()

    assert caught.value.size == 100_000 * 99_999 // 2
    assert caught.value.limit == graphs.MAX_EDGES


def test_a_million_public_values_have_no_edges():
    """Cells alone in their group cost nothing to list."""
    graph = Cliques.none(10**6)

    assert graph.edges().shape == (0, 2)
    assert graph.visible(None) == 0


def test_a_policy_that_is_handed_out_cannot_be_written_to():
    """The arrays of a policy's graphs are read-only: nobody can switch the noise off by accident."""
    policy = bf.datasets.patients_policy()

    for block in policy.graph.blocks:
        for name in ("groups", "upper", "order", "rank", "listed"):
            if hasattr(block.graph, name):
                with pytest.raises(ValueError, match="read-only"):
                    getattr(block.graph, name)[:] = 0
    with pytest.raises(ValueError, match="read-only"):
        policy.plan.hist("age").scales.codes[:] = 1
