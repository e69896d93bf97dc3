"""Soft bins: what rows count in nodes, and how much one edge changes that, against enumeration."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters import sensitivity as module
from pandas_blowfish.plan.clusters.sensitivity import MAX_EDGES, count_moved, hats, stops
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.synopsis import Setting
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers


def soft_of(policy, space, nodes, parts):
    """Return soft bins at epsilon 1."""
    known = Setting(policy, space, Fraction(1)).known
    return Soft.build(policy, space, known, tuple(nodes), parts, Fraction(1))


def truth(policy, soft):
    """Return the largest L1 change of the noisy rows over every edge by definition."""
    noisy = soft.matrix().tocsr()[[n for n, scale in enumerate(soft.scales) if scale]]
    edges = definition_edges(policy, list(soft.domain.columns))
    return edge_loss(noisy, [Fraction(1)] * noisy.shape[0], edges).value


@pytest.mark.parametrize("nodes", range(1, 6))
@pytest.mark.parametrize("parts", range(1, 6))
def test_every_row_counts_the_same(nodes, parts):
    """Each stop counts `parts` in all, in two neighbouring nodes at most, and a node's own stop in one."""
    table = hats(nodes, parts)

    assert (table >= 0).all()
    assert (table.sum(axis=0) == (parts if nodes > 1 else 1)).all()
    assert ((table > 0).sum(axis=0) <= 2).all()
    for node in range(nodes if nodes > 1 else 0):
        assert table[node, node * parts] == parts


@pytest.mark.parametrize("nodes", range(2, 6))
@pytest.mark.parametrize("parts", range(1, 6))
def test_moved_is_half_the_change(nodes, parts):
    """How many parts change their node is half the L1 distance, and never falls as ends move apart."""
    table = hats(nodes, parts)
    last = table.shape[1]
    one, two = (each.ravel() for each in np.meshgrid(np.arange(last), np.arange(last), indexing="ij"))

    found = count_moved(one, two, parts)

    assert (2 * found == abs(table[:, one] - table[:, two]).sum(axis=0)).all()
    square = found.reshape(last, last)
    for low in range(last):
        assert (np.diff(square[low, low:]) >= 0).all()
        assert (np.diff(square[low, : low + 1]) <= 0).all()


@pytest.mark.parametrize("seed", range(30))
def test_stops_rise_from_end_to_end(seed):
    """The first cell stands at the first stop, the last at the last, each at the nearest."""
    draw = random.Random(seed)
    places = np.cumsum([draw.choice([0.5, 1.0, 3.0]) for _ in range(draw.randint(2, 20))])
    nodes, parts = draw.randint(2, 6), draw.randint(1, 8)

    found = stops(places, nodes, parts)
    along = (places - places[0]) / (places[-1] - places[0]) * (nodes - 1) * parts

    assert found[0] == 0
    assert found[-1] == (nodes - 1) * parts
    assert (np.diff(found) >= 0).all()
    assert (abs(found - along) <= 0.5 + 1e-9).all()
    assert (stops(places, 1, parts) == 0).all()
    assert stops(np.array([4.0]), 1, 3).tolist() == [0]


@pytest.mark.parametrize("chunk", range(4))
def test_bounds_enumeration(chunk, make_clusters, monkeypatch):
    """The closed form is never below what an edge does, with any secrets, filters and groups."""
    seen = equal = 0

    for number in range(25):
        draw = random.Random(300_000 + 25 * chunk + number)
        found = make_clusters(draw)
        for few in (MAX_EDGES, 0):  # blocks of listed edges are gone through, or column by column
            monkeypatch.setattr(module, "MAX_EDGES", few)
            nodes = [draw.randint(1, min(cells, 5)) for cells in found.space.cells]
            soft = soft_of(found.moves, found.space, nodes, draw.choice([1, 2, 3, 4, 6]))
            change = found.change(soft)

            assert change <= soft.sensitivity
            assert soft.sensitivity <= 2 * soft.queries.total
            if few:
                seen += soft.sensitivity > 0
                equal += 0 < change == soft.sensitivity

    assert seen > 10
    assert equal / seen > 0.9


def even_policy(draw):
    """Return integer columns with a cell at every node, some of the stops between, and balls or groups."""
    many = draw.randint(1, 3)
    nodes = [draw.randint(2, 4 if many < 3 else 2) for _ in range(many)]
    parts = draw.choice([1, 2, 4])
    every = draw.choice([each for each in (1, 2, 4) if parts % each == 0])  # stops from one cell to the next
    sizes = [(n - 1) * parts // every + 1 for n in nodes]
    domain = Domain(tuple(integers(name, 0, size - 1) for name, size in zip("uvw", sizes, strict=False)))
    whole = parts // every  # cells from one node to the next
    secrets = {}
    if many > 1 and draw.random() < 0.5:
        metric = draw.choice(["l1", "l2", "linf"])
        secrets = {tuple("uvw"[:many]): bf.threshold(draw.randint(1, max(sizes)), metric=metric)}
    else:
        for name, size in zip("uvw", sizes, strict=False):
            groups = {"width": draw.randint(1, 3) * whole}  # each begins at a node
            kinds = [bf.full(), bf.threshold(draw.randint(1, size)), bf.partition(groups), bf.public()]
            secrets[name] = draw.choice(kinds)
    neighbors = draw.choice(["record", "attribute", 2])
    return bf.Policy(domain, secrets=secrets, neighbors=neighbors), nodes, parts


@pytest.mark.parametrize("chunk", range(4))
def test_attained_on_even_columns(chunk):
    """On columns that are cut evenly some edge changes just as much as the closed form says."""
    noisy = 0

    for number in range(20):
        draw = random.Random(20 * chunk + number)
        policy, nodes, parts = even_policy(draw)
        space = policy.plan.kmeans(list(policy.domain.columns), 1, rows=100).asked[0].space
        soft = soft_of(policy, space, nodes, parts)

        assert soft.sensitivity == truth(policy, soft), (policy.secrets, nodes, parts)
        noisy += soft.sensitivity > 0

    assert noisy >= 10


def test_a_short_move_changes_little():
    """Spacing s and theta d: 2 d / s of what a row counts; rows that leave take all of it."""
    policy = bf.Policy(Domain((integers("x", 0, 64),)), secrets={"x": bf.threshold(2)})
    space = policy.plan.kmeans("x", 2, rows=100).asked[0].space
    left = policy.plan.where("x < 60").kmeans("x", 2, rows=100).asked[0].space

    soft = soft_of(policy, space, [5], 16)  # spacing 16

    assert Fraction(soft.sensitivity, soft.queries.total) == Fraction(2 * 2, 16)
    assert soft_of(policy, left, [5], 4).sensitivity == 4
    hidden = bf.Policy(policy.domain, secrets=policy.secrets, presence=True)
    assert soft_of(hidden, space, [5], 16).sensitivity == 16
    full = bf.Policy(policy.domain)
    assert soft_of(full, space, [5], 16).sensitivity == 2 * 16


def test_nothing_passes_the_filter():
    """Where no cell is counted nothing changes, whether rows are there or not."""
    policy = bf.Policy(Domain((integers("x", 0, 4),)), presence=True)
    space = policy.plan.where("x < 2 and x > 2").kmeans("x", 1, rows=10).asked[0].space

    assert soft_of(policy, space, [1], 2).sensitivity == 0


def test_larger_grids_than_can_be_listed():
    """Balls and single columns are not gone through edge by edge."""
    names = ["a", "b", "c"]
    domain = Domain(tuple(integers(name, 0, 255) for name in names))
    ball = bf.Policy(domain, secrets={tuple(names): bf.threshold(64)})
    apart = bf.Policy(domain, secrets={name: bf.threshold(64) for name in names})
    space = ball.plan.kmeans(names, 4, rows=100).asked[0].space

    near, far = (soft_of(policy, space, [4] * 3, 16) for policy in (ball, apart))

    assert near.sensitivity < far.sensitivity < 2 * near.queries.total
    assert 2 * 64 / 85 <= near.sensitivity / near.queries.total <= 2 * 64 / 85 * 1.1


@pytest.mark.parametrize("nullable", [False, True])
def test_long_lines_are_not_listed(nullable):
    """A threshold on 100,000 cells joins 50 million pairs; a window around each cell says how far it goes."""
    domain = Domain((integers("x", 0, 99_999, nullable=nullable),))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(500, missing="public" if nullable else None)})
    space = policy.plan.kmeans("x", 2, rows=100, strategy="grid").asked[0].space

    soft = soft_of(policy, space, [11], 64)

    assert 2 * 500 / 10_000 <= soft.sensitivity / soft.queries.total <= 2 * 500 / 10_000 + 2 / 64
