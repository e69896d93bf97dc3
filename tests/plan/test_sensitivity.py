"""Closed forms equal enumeration, exactly, over random policies and bins."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import database_sensitivity, definition_edges

from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.sensitivity import exact_parts, tally_sensitivity
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Explicit


def _instance(seed, make_policy, make_bins):
    """Return a random policy, a tally of some of its columns, and the edges by definition."""
    draw = random.Random(seed)
    policy = make_policy(draw, draw.randint(1, 3))
    columns = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
    bins = {
        column: made for column in columns if (made := make_bins(draw, policy.domain[column])) is not None
    }
    asked = tally(policy.domain, columns, bins or None)
    return policy, asked, definition_edges(policy, columns)


@pytest.mark.parametrize("seed", range(300))
def test_matches_brute_force(seed, make_policy, make_bins):
    """The closed form equals enumeration over every edge, and over every small table."""
    policy, asked, edges = _instance(seed, make_policy, make_bins)
    graph = policy.graph.project(asked.domain.columns)
    counts = Identity.build(graph, asked, Fraction(1)).matrix()[: asked.size]

    fast = tally_sensitivity(graph, asked)

    assert fast == edge_loss(counts, [Fraction(1)] * asked.size, edges).value
    if asked.domain.size <= 9:
        assert fast == database_sensitivity(counts, edges, asked.domain.size, 2)


@pytest.mark.parametrize("seed", range(300))
def test_exact_parts_have_sensitivity_zero(seed, make_policy, make_bins):
    """No edge changes an exact part, and no finer sum of bins is left unclaimed."""
    policy, asked, edges = _instance(seed, make_policy, make_bins)
    strategy = Identity.build(policy.graph.project(asked.domain.columns), asked, Fraction(1))
    matrix, parts = strategy.matrix(), strategy.parts
    labels = asked.labels()

    free = matrix[np.concatenate([np.flatnonzero(parts.alone), asked.size + np.arange(parts.totals)])]

    assert edge_loss(free, [Fraction(0)] * free.shape[0], edges).value == 0
    joined = {(int(labels[x]), int(labels[y])) for x, y in edges}
    moving = {bin for pair in joined if pair[0] != pair[1] for bin in pair if bin >= 0}
    assert set(np.flatnonzero(~parts.alone)) == moving
    for a, b in joined:
        if a >= 0 and b >= 0:
            assert parts.total_of[a] == parts.total_of[b]


def test_partition_groups_are_exact(make_policy):
    """The groups of a partition, and anything coarser, have sensitivity 0; finer bins have 2."""
    import pandas_blowfish as bf
    from pandas_blowfish.policy.domain import Domain, integers

    policy = bf.Policy(Domain((integers("x", 0, 5),)), secrets={"x": bf.partition([[0, 1], [2, 3], [4, 5]])})
    graph = policy.graph

    found = [tally_sensitivity(graph, tally(policy.domain, ["x"], bins)) for bins in (3, 1, 2, None)]

    assert found == [0, 0, 2, 2]


def test_a_row_can_leave_the_bins():
    """Bins that leave cells out see a row leave by 1, or change bin by 2."""
    import pandas_blowfish as bf
    from pandas_blowfish.policy.domain import Domain, integers

    policy = bf.Policy(Domain((integers("x", 0, 7),)), secrets={"x": bf.threshold(1)})
    one = tally(policy.domain, ["x"], [4, 7])
    two = tally(policy.domain, ["x"], [2, 4, 7])

    assert tally_sensitivity(policy.graph, one) == 1
    assert tally_sensitivity(policy.graph, two) == 2
    assert exact_parts(policy.graph, one).totals == 0
    assert not exact_parts(policy.graph, one).alone.any()


@pytest.mark.parametrize("seed", range(150))
def test_exact_parts_of_balls_match_listed_edges(seed, make_bins):
    """A ball taken apart by its axes, some of which never move, leaves the parts that its edges leave."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 5) for _ in range(draw.randint(2, 3))]
    domain = Domain(tuple(integers(name, 0, size - 1) for name, size in zip("abc", sizes, strict=False)))
    rows = [[draw.choice([0, 0, 1, 2]) for _ in sizes] for _ in range(draw.randint(0, 3))]
    ball = OffsetBall(sizes, np.array(rows, dtype=np.int64).reshape(-1, len(sizes)))
    made = {column: make_bins(draw, domain[column]) for column in domain.columns}
    bins = {column: each for column, each in made.items() if each is not None}
    asked = tally(domain, list(domain.columns), bins or None)

    fast, slow = (
        exact_parts(RecordGraph((Block(domain.columns, graph, tuple(sizes)),)), asked)
        for graph in (ball, Explicit(ball.size, ball.edges()))
    )

    assert fast.alone.tolist() == slow.alone.tolist()
    assert fast.totals == slow.totals
    assert len(set(zip(fast.total_of.tolist(), slow.total_of.tolist(), strict=True))) == len(
        set(slow.total_of.tolist())
    )
