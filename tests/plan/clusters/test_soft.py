"""Soft: rows of whole parts over nodes, with one scale, and exact numbers of rows."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.synopsis import Setting
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.worst_case import closure_graph
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def soft_of(policy, space, nodes, parts, epsilon=Fraction(1)):
    """Return soft bins."""
    return Soft.build(policy, space, Setting(policy, space, epsilon).known, tuple(nodes), parts, epsilon)


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_what_is_measured(seed, make_clusters):
    """Matrix and measured values agree, every counted row counts the same, exact rows are of scale 0."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    nodes = [draw.randint(1, min(cells, 4)) for cells in found.space.cells]

    soft = soft_of(found.moves, found.space, nodes, draw.randint(1, 5), Fraction(2, 7))
    rows = found.rows(soft)
    many = found.space.lots * int(np.prod(nodes))
    inside = found.space.whole.labels() >= 0

    assert (soft.matrix().toarray() == rows).all()
    assert len(soft.scales) == len(rows)
    assert (rows[:many].sum(axis=0) == soft.queries.total * inside).all()
    assert all(scale in (0, soft.sensitivity * Fraction(7, 2)) for scale in soft.scales[:many])
    assert not any(soft.scales[many:])
    assert found.loss(soft) <= Fraction(2, 7)
    for lot in np.flatnonzero(soft.queries.empty):
        assert not rows[lot * int(np.prod(nodes)) : (lot + 1) * int(np.prod(nodes))].any()


@pytest.mark.parametrize("seed", range(40))
def test_closed_over_a_wider_graph(seed, make_clusters):
    """What it says to lose when records may move anywhere is at least what any pair does; None is allowed."""
    draw = random.Random(1_000 + seed)
    found = make_clusters(draw)
    soft = soft_of(found.moves, found.space, [min(cells, 2) for cells in found.space.cells], 3)
    wider = closure_graph(found.moves, found.space.domain)

    bound = soft.bound_loss(wider)

    assert bound is None or edge_loss(soft.matrix(), list(soft.scales), wider.edges()).value <= bound


def test_three_cells_in_numbers():
    """0, 1, 2 with nodes at both ends and two parts: the middle row counts one in each."""
    policy = bf.Policy(Domain((integers("x", 0, 2),)), secrets={"x": bf.threshold(1)})
    space = policy.plan.kmeans("x", 2, rows=10).asked[0].space

    soft = soft_of(policy, space, [2], 2)

    assert soft.matrix().toarray().tolist() == [[2, 1, 0], [0, 1, 2], [1, 1, 1]]
    assert soft.sensitivity == 2
    assert list(soft.scales) == [2, 2, 0]
    assert soft.points().ravel().tolist() == [0.0, 1.0]
    assert soft.form == {"nodes": [2], "parts": 2}
    assert soft.grid == "2 soft bins, 2 parts to a row"
    assert "Taking the softness out" in soft.proof


def test_groups_that_rows_cannot_leave():
    """Exact numbers of rows of public groups are free; between secret ones a row changes all its parts."""
    domain = Domain((integers("x", 0, 8), from_dict("sex", {"type": "category", "values": ["F", "M"]})))
    secrets = {"x": bf.threshold(1)}
    apart = bf.Policy(domain, secrets=secrets | {"sex": bf.public()})
    joined = bf.Policy(domain, secrets=secrets | {"sex": bf.full()})

    free, paid = (
        soft_of(policy, policy.plan.groupby("sex").kmeans("x", 2, rows=10).asked[0].space, [3], 4)
        for policy in (apart, joined)
    )

    assert (free.sensitivity, paid.sensitivity) == (2, 8)
    assert (len(free.queries.known.scales), len(paid.queries.known.scales)) == (2, 1)


def test_too_many_cells_are_not_listed():
    """A matrix beyond 10^6 non-zeros is refused; nothing else needs it."""
    policy = bf.Policy(
        Domain(tuple(integers(name, 0, 999) for name in "ab")), secrets={("a", "b"): bf.threshold(5)}
    )
    plan = policy.plan.kmeans(["a", "b"], 3, strategy="soft", rows=1_000)

    with pytest.raises(DomainTooLargeError):
        plan.matrix()
    assert plan.sensitivity < 2 * plan.measurement.queries.total
