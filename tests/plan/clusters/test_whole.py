"""Whole: pieces that no edge leaves are counted exactly, and sums over parts of them are noisy."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters.space import find_pieces
from pandas_blowfish.plan.clusters.synopsis import Setting
from pandas_blowfish.plan.clusters.whole import PartSums, Whole
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.policy.domain import Domain, from_dict, integers

GROUPS = bf.partition({"width": 4})


def policy_of(secret=GROUPS, size=16, **options):
    """Return a policy on 0..size-1."""
    return bf.Policy(Domain((integers("x", 0, size - 1),)), secrets={"x": secret}, **options)


def wholes(make_clusters, seeds):
    """Yield random clusterings that have pieces, with these."""
    for seed in seeds:
        draw = random.Random(seed)
        found = make_clusters(draw)
        whole = Whole.build(Setting(found.moves, found.space, Fraction(2, 3)), 0.0)
        if whole is not None:
            yield draw, found, whole


@pytest.mark.parametrize("chunk", range(4))
def test_sums_are_rows_of_the_matrix(chunk, make_clusters):
    """Each sum is one of a column's rows added up over the pieces of its part, with the same scale."""
    seen = 0

    for draw, found, whole in wholes(make_clusters, range(40 * chunk, 40 * chunk + 40)):
        matrix, scales, many = whole.matrix().toarray(), list(whole.scales), whole.tally.size
        first = whole.next_round([])
        counts = np.array([draw.choice([0, 1, 40]) for _ in range(many)], dtype=np.int64)
        sums = whole.next_round([counts])
        rows = found.rows(sums).reshape(len(whole.lattices), sums.many, -1)

        assert (found.rows(first) == matrix[:many]).all()
        assert not any(first.scales)
        assert not any(scales[:many])
        assert (found.rows(whole) == matrix).all()
        assert len(sums.part) == many
        for column in range(len(whole.lattices)):
            own = matrix[(column + 1) * many : (column + 2) * many]
            for part in range(sums.many):
                assert (rows[column, part] == own[sums.part == part].sum(axis=0)).all()
            assert set(scales[(column + 1) * many : (column + 2) * many]) == {whole.column_scales[column]}
        assert list(sums.scales) == [own for own in whole.column_scales for _ in range(sums.many)]
        assert whole.next_round([counts, np.zeros(len(sums.scales))]) is None
        seen += any(whole.column_scales)

    assert seen


@pytest.mark.parametrize("chunk", range(2))
def test_no_edge_leaves_a_piece(chunk, make_clusters):
    """Both ends of every edge by definition lie in one piece, or in none."""
    for _, found, whole in wholes(make_clusters, range(1_000 + 60 * chunk, 1_060 + 60 * chunk)):
        labels = np.append(whole.tally.labels(), -1)
        one, two = found.edges.T

        assert (labels[one] == labels[two]).all()
        assert found.loss(whole) <= Fraction(2, 3)


def test_pieces_follow_the_words_of_the_policy():
    """Classes are numbered by the first cell of each, whatever their cells; edges join what they connect."""
    plan = policy_of().plan.kmeans("x", 2, rows=10)
    mixed = policy_of(bf.partition([[0, 3], [1, 2], [4, 5, 6, 7]]), 8)
    listed = policy_of(bf.edges([(0, 1), (1, 2), (5, 7)]), 8)

    assert find_pieces(plan.policy, plan.asked[0].space)[0].tolist() == np.repeat(range(4), 4).tolist()
    for policy, classes in ((mixed, [0, 1, 1, 0, 2, 2, 2, 2]), (listed, [0, 0, 0, 1, 2, 3, 4, 3])):
        space = policy.plan.kmeans("x", 2, rows=10).asked[0].space
        assert find_pieces(policy, space)[0].tolist() == classes


def test_where_there_are_no_pieces():
    """None where rows can leave: by an edge, a filter across a group, missing values, or being absent."""

    def built(policy, where=None):
        planner = policy.plan.where(where) if where else policy.plan
        return Whole.build(Setting(policy, planner.kmeans("x", 2, rows=10).asked[0].space, Fraction(1)), 0.0)

    missing = Domain((integers("x", 0, 15, nullable=True),))

    assert built(policy_of()) is not None
    assert built(policy_of(), "x < 8") is not None
    assert built(policy_of(), "x < 6") is None
    assert built(policy_of(bf.full())) is None
    assert built(policy_of(bf.threshold(1))) is None
    assert built(policy_of(presence=True)) is None
    assert built(bf.Policy(missing, secrets={"x": GROUPS})) is None
    apart = bf.partition({"width": 4}, missing="public")
    assert built(bf.Policy(missing, secrets={"x": apart})) is not None


def test_groups_that_rows_can_change():
    """Pieces of groups that a secret joins are not exact; of public ones they are."""
    domain = Domain((integers("x", 0, 15), from_dict("g", {"type": "category", "values": ["a", "b"]})))

    for secret, exact in ((bf.public(), True), (bf.full(), False)):
        policy = bf.Policy(domain, secrets={"x": GROUPS, "g": secret})
        space = policy.plan.groupby("g").kmeans("x", 2, rows=10).asked[0].space

        assert (Whole.build(Setting(policy, space, Fraction(1)), 0.0) is not None) == exact


def test_scales_of_groups_of_four():
    """An edge moves a row by three at most: weights are whole, sums have scale 3 / epsilon in values."""
    plan = policy_of().plan.kmeans("x", 2, strategy="whole", epsilon="1/2", rows=10)
    whole = plan.measurement
    unit = whole.lattices[0].unit

    assert whole.column_scales[0] * unit == 3 / Fraction(1, 2)
    assert plan.privacy_loss() == plan.cost == Fraction(1, 2)
    assert plan.grid == "4 pieces, counted exactly"
    assert plan.mse == 0
    assert whole.largest >= whole.column_scales[0]
    assert isinstance(whole.tallies[1], Total)
    assert isinstance(whole.next_round([np.array([5, 0, 0, 5])]), PartSums)
    assert whole.bound_loss(policy_of(bf.full()).graph) is None


def test_parts_are_a_function_of_the_exact_counts():
    """As many parts as have rows enough; groups have parts of their own, and every piece is in one."""
    domain = Domain((integers("x", 0, 255), from_dict("g", {"type": "category", "values": ["a", "b"]})))
    policy = bf.Policy(domain, secrets={"x": GROUPS, "g": bf.public()})
    whole = policy.plan.groupby("g").kmeans("x", 3, strategy="whole", rows=10).measurement
    counts = np.random.default_rng(0).integers(0, 9, (2, 64))

    few, again, many = (whole.parts(each.ravel()) for each in (counts, counts.copy(), counts * 10**6))
    none = whole.parts(np.zeros(128, dtype=np.int64))

    assert (few == again).all()
    assert few.max() < many.max()
    assert not set(few[:64]) & set(few[64:])
    assert sorted(set(few)) == list(range(few.max() + 1))
    held = np.flatnonzero(counts.ravel()[:64])
    assert len(set(many[:64][held])) == len(held)  # each by itself
    assert sorted(set(none)) == [0, 1]


def test_single_cells_need_no_noise():
    """Pieces of one cell: sums are exact too, and the release is free."""
    plan = policy_of(bf.public()).plan.kmeans("x", 2, strategy="whole", rows=10)

    assert plan.cost == 0
    assert not any(plan.scales)
