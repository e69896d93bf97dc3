"""What stays exact, and what counts lose, over graphs that hold more edges than were planned for."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.sensitivity import ExactParts, counts_all, counts_loss, exact_parts, stays_exact
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.worst_case import closure_graph
from pandas_blowfish.policy.domain import Domain, integers


@pytest.mark.parametrize("seed", range(60))
def test_counts_lose_no_more_over_a_wider_graph(seed, make_clusters):
    """At least the loss of every edge of the wider graph; None only where an exact row changes there."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    tally = found.space.cut([draw.randint(1, cells) for cells in found.space.cells])
    counts = Identity.build(found.graph, tally, Fraction(1, 3))
    wider = closure_graph(found.moves, tally.domain)

    bound = counts_loss(tally, counts.parts, counts.scale, wider)
    loss = edge_loss(counts.matrix(), list(counts.scales), wider.edges()).value

    assert math.isinf(loss) if bound is None else loss <= bound
    assert counts_loss(tally, counts.parts, counts.scale, found.graph) == found.loss(counts)


def test_totals_that_are_joined_do_not_stay():
    """Two totals may become one, but then neither is exact any more; bins that were alone must stay so."""
    apart = ExactParts(np.zeros(4, dtype=bool), np.array([0, 0, 1, 1]), 2)
    joined = ExactParts(np.zeros(4, dtype=bool), np.zeros(4, dtype=np.int64), 1)
    lone = ExactParts(np.array([True, False, False, False]), np.array([-1, 0, 0, 0]), 1)
    none = ExactParts(np.zeros(4, dtype=bool), np.full(4, -1), 0)

    assert stays_exact(apart, apart)
    assert stays_exact(joined, joined)
    assert not stays_exact(apart, joined)
    assert not stays_exact(joined, none)
    assert not stays_exact(lone, joined)
    assert stays_exact(none, joined)


def test_all_rows_are_counted():
    """Without filter, missing values and secret presence the number of rows is public."""
    domain = Domain((integers("x", 0, 7),))
    open_, hidden = bf.Policy(domain), bf.Policy(domain, presence=True)
    whole, part = (
        scope.kmeans("x", 2, rows=9).asked[0].space for scope in (open_.plan, open_.plan.where("x < 4"))
    )

    assert counts_all(open_.graph, whole.cut([4]))
    assert not counts_all(open_.graph, part.cut([4]))
    assert not counts_all(hidden.graph, whole.cut([4]))


def test_group_totals_are_known_no_longer():
    """Groups of a partition: their totals are exact, until records may move between them."""
    policy = bf.Policy(Domain((integers("x", 0, 7),)), secrets={"x": bf.partition([range(4), range(4, 8)])})
    tally = policy.plan.kmeans("x", 2, rows=9, strategy="grid").asked[0].space.cut([4])
    own, full = exact_parts(policy.graph, tally), closure_graph(policy, policy.domain)

    assert counts_loss(tally, own, Fraction(2), policy.graph) == 1
    assert counts_loss(tally, own, Fraction(2), full) is None
