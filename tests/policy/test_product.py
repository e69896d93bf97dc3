"""Graphs of whole records: products of blocks, by closed forms and by enumeration."""

import itertools
import math
import random

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.ball import Ball
from pandas_blowfish.policy.graph import Cliques, Explicit
from pandas_blowfish.policy.missing import WithMissing
from pandas_blowfish.policy.product import Block, RecordGraph


def random_product(draw: random.Random) -> RecordGraph:
    """Return a product of one to three small graphs of any kind."""
    blocks = []
    for name in "abc"[: draw.randint(1, 3)]:
        size = draw.randint(1, 4)
        groups = np.array([draw.randint(0, 1) for _ in range(size)], dtype=np.int64)
        pairs = np.array([[draw.randrange(size), draw.randrange(size)] for _ in range(3)], dtype=np.int64)
        choices = [Cliques(groups), Ball.even(size, draw.randint(1, 2)), Explicit(size, pairs)]
        graph = draw.choice(choices)
        if draw.random() < 0.3:
            graph = WithMissing(graph, joined=draw.random() < 0.5)
        blocks.append(Block((name,), graph))
    return RecordGraph(tuple(blocks))


def neighbours(product: RecordGraph, moves: int) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Return who is joined to whom when one step moves at most `moves` blocks, trying all pairs."""
    records = list(itertools.product(*(range(size) for size in product.shape)))
    out = {record: set() for record in records}
    for x, y in itertools.permutations(records, 2):
        changed = [block for block, a, b in zip(product.blocks, x, y, strict=True) if a != b]
        steps = zip(product.blocks, x, y, strict=True)
        if len(changed) <= moves and all(a == b or block.graph.adjacent(a, b) for block, a, b in steps):
            out[x].add(y)
    return out


def search(joined, start):
    """Return the distance to every record that can be reached, by breadth-first search."""
    far, layer = {start: 0}, [start]
    while layer:
        layer = list({y for x in layer for y in joined[x] if y not in far})
        far |= {y: max(far.values()) + 1 for y in layer}
    return far


def test_distance_matches_search():
    """Distances equal breadth-first search over all records, for any number of moving blocks."""
    draw = random.Random(7)
    for _ in range(40):
        product = random_product(draw)
        for moves in (None, 1, 2):
            joined = neighbours(product, moves or len(product.blocks))
            start = draw.choice(list(joined))

            far = search(joined, start)

            for end in joined:
                assert product.distance(start, end, moves) == far.get(end, math.inf)


def test_edges_match_enumeration():
    """The strong product's edges are all pairs in which every block stays or moves along its graph."""
    draw = random.Random(8)
    for _ in range(60):
        product = random_product(draw)
        joined = neighbours(product, len(product.blocks))
        place = {record: number for number, record in enumerate(joined)}
        slow = {(place[x], place[y]) for x in joined for y in joined[x] if place[x] < place[y]}

        fast = product.edges()

        assert product.edge_count == len(fast) == len(slow)
        assert {(int(a), int(b)) for a, b in fast} == slow


def test_contains_matches_enumeration():
    """One product contains another exactly when its edges include the other's."""
    draw = random.Random(9)
    found = set()
    for _ in range(400):
        mine, theirs = random_product(draw), random_product(draw)
        if mine.shape != theirs.shape:
            continue
        edges = [{(int(a), int(b)) for a, b in product.edges()} for product in (mine, theirs)]

        result = mine.contains(theirs)

        assert result == (edges[1] <= edges[0])
        found.add(result)
    assert found == {True, False}


def test_projection_keeps_the_order_asked():
    """Blocks come in the order of the columns asked for, and no columns are one cell."""
    product = RecordGraph((Block(("a",), Cliques.full(2)), Block(("b",), Cliques.full(3))))

    assert product.project(["b", "a"]).shape == (3, 2)
    assert product.project([]).shape == ()
    assert product.project([]).edge_count == 0
    assert product.project([]).distance([], []) == 0


def test_a_long_edge_list_is_refused():
    """Beyond the limit the edges are counted, not listed."""
    product = RecordGraph((Block(("a",), Cliques.full(3000)), Block(("b",), Cliques.full(3000))))

    with pytest.raises(DomainTooLargeError):
        product.edges()

    assert product.edge_count == (3000**4 - 3000**2) // 2
