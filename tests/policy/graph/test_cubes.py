"""Groups that are products: every closed form equals that of listed groups, by enumeration."""

import random

import numpy as np

from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.secret_graph import Cliques, flatten


def random_cubes(draw):
    """Return groups of one to three small columns, numbered from 0."""
    axes = []
    for _ in range(draw.randint(1, 3)):
        marks = [draw.randrange(3) for _ in range(draw.randint(1, 5))]
        axes.append(np.unique(marks, return_inverse=True)[1].astype(np.int64).reshape(-1))
    return Cubes(axes)


def test_is_the_partition_of_its_groups():
    """Edges, their number and components are those of the listed groups."""
    draw = random.Random(1)
    for _ in range(100):
        graph = random_cubes(draw)
        slow = Cliques(flatten(graph.axes))

        assert graph.size == slow.size
        assert graph.edge_count == slow.edge_count == len(graph.edges())
        assert {tuple(edge) for edge in graph.edges()} == {tuple(edge) for edge in slow.edges()}
        assert graph.components.tolist() == slow.components.tolist()
        assert graph.contains(slow)
        assert slow.contains(graph)


def test_axis_relation_matches_edges():
    """Tables made column by column equal those of the listed groups."""
    draw = random.Random(2)
    for _ in range(300):
        graph = random_cubes(draw)
        sizes = [len(each) for each in graph.axes]
        classes = [np.array([draw.randrange(3) for _ in range(size)], dtype=np.int64) for size in sizes]
        labels = [np.array([draw.randrange(3) for _ in range(size)], dtype=np.int64) for size in sizes]
        counts = [3 for _ in sizes]
        slow = Cliques(flatten(graph.axes)).relation(flatten(classes, counts), flatten(labels, counts))

        found = graph.axis_relation(classes, labels, counts)

        wide = slow.grown(len(found.move))
        assert found.move.tolist() == wide.move.tolist()
        assert found.cross.tolist() == wide.cross.tolist()


def test_one_column_sees_its_own_groups():
    """Along one column the graph is its own partition."""
    graph = Cubes([np.array([0, 0, 1]), np.array([0, 1])])

    assert graph.along(0).components.tolist() == [0, 0, 1]
    assert graph.along(1).edge_count == 0
