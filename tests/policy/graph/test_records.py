"""Graphs of whole records: products of blocks, by closed forms and by enumeration."""

import itertools
import math
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit


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
    moves, presence = draw.choice([None, None, 1, 2, 5]), draw.random() < 0.25
    return RecordGraph(tuple(blocks), moves, presence)


def neighbours(product: RecordGraph) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Return who is joined to whom, "absent" being (), by trying all pairs of records."""
    moves = len(product.blocks) if product.moves is None else product.moves
    records = list(itertools.product(*(range(size) for size in product.shape)))
    out = {record: set() for record in records}
    for x, y in itertools.permutations(records, 2):
        changed = [block for block, a, b in zip(product.blocks, x, y, strict=True) if a != b]
        steps = zip(product.blocks, x, y, strict=True)
        if len(changed) <= moves and all(a == b or block.graph.adjacent(a, b) for block, a, b in steps):
            out[x].add(y)
    if product.presence:
        out = {record: {*joined, ()} for record, joined in out.items()} | {(): set(records)}
    return out


def search(joined, start):
    """Return the distance to every record that can be reached, by breadth-first search."""
    far, layer = {start: 0}, [start]
    while layer:
        layer = list({y for x in layer for y in joined[x] if y not in far})
        far |= {y: max(far.values()) + 1 for y in layer}
    return far


def test_distance_matches_search():
    """Distances equal breadth-first search over all records, whatever may move or be absent."""
    draw = random.Random(7)
    for _ in range(120):
        product = random_product(draw)
        joined = neighbours(product)
        records = [record for record in joined if record]
        start = draw.choice(records)

        far = search(joined, start)

        for end in records:
            assert product.distance(start, end) == far.get(end, math.inf)


def test_edges_match_enumeration():
    """Edges are all pairs in which every block stays or moves, and no more move than may."""
    draw = random.Random(8)
    for _ in range(150):
        product = random_product(draw)
        joined = neighbours(product)
        place = {record: number for number, record in enumerate(joined)}  # "absent" is last
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


def test_blocks_of_several_columns_are_numbered_by_column():
    """A joint block's cells interleave with other columns as the order asked says."""
    domain = Domain((integers("a", 0, 1), integers("b", 0, 2), integers("c", 0, 1)))
    policy = bf.Policy(domain, secrets={("a", "c"): bf.edges([((0, 0), (1, 1))]), "b": bf.public()})

    graph = policy.graph.project(["a", "b", "c"])

    assert graph.shape == (2, 3, 2)
    assert [tuple(edge) for edge in graph.edges().tolist()] == [(0, 7), (2, 9), (4, 11)]
    assert policy.graph.project(["c", "a"]).edges().tolist() == [[0, 3]]
    assert graph.distance([0, 1, 0], [1, 1, 1]) == 1
    assert graph.distance([0, 1, 0], [1, 0, 1]) == math.inf
    block = policy.graph.blocks[0]
    assert (block.columns, block.shape, block.sizes) == (("a", "c"), (2, 2), (2, 2))
    assert block.secret["secret"] == "edges"
    assert [attribute.name for attribute in block.attributes] == ["a", "c"]


def test_other_blocks_are_compared_edge_by_edge():
    """Products of differently cut blocks contain each other when their edges do."""
    domain = Domain((integers("a", 0, 2), integers("b", 0, 2)))
    joint = {
        name: bf.Policy(domain, secrets={("a", "b"): secret}).graph
        for name, secret in {"full": bf.full(), "wide": bf.threshold(2, metric="linf")}.items()
    }
    single = bf.Policy(domain, secrets={"a": bf.threshold(2), "b": bf.threshold(2)}).graph
    one = bf.Policy(domain, neighbors="attribute").graph

    assert joint["full"].contains(single)
    assert single.contains(joint["wide"])
    assert single.contains(one)
    assert not one.contains(joint["wide"])
    assert not one.contains(bf.Policy(domain).graph)
    assert bf.Policy(domain, neighbors=2).graph.contains(bf.Policy(domain).graph)
    assert not one.contains(RecordGraph(one.blocks, one.moves, presence=True))


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
