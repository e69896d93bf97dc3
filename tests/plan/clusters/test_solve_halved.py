"""Boxes of several rounds: the best linear estimates of those that were not halved again."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters.adaptive import Adaptive, find_leaves
from pandas_blowfish.plan.protocol import rounds
from pandas_blowfish.policy.domain import Domain, from_dict, integers

HALVED = (((1,), (2,), (4,)), ((0,), (1,), (2,), (3,)), ((2,), (4,)), ((3,),))


def built(secrets, halved, groupby=True, **options):
    """Return rounds of one column 0..15 in two groups."""
    domain = Domain((integers("x", 0, 15), from_dict("g", {"type": "category", "values": ["a", "b"]})))
    policy = bf.Policy(domain, secrets=secrets, **options)
    scope = policy.plan.groupby("g") if groupby else policy.plan
    space = scope.kmeans("x", 1, rows=9).asked[0].space
    graph = policy.graph.project(space.domain.columns)
    return Adaptive.build(graph, space, halved, Fraction(1, 2), 0.0)


def run(adaptive, draw):
    """Return noisy values of one run, its rows over the finest boxes, and their scales."""
    values, rows, scales = [], [], []
    while (step := adaptive.next_round(values)) is not None:
        size = adaptive.tally.size if hasattr(step, "chosen") else adaptive.space.lots
        unit = np.eye(size, dtype=np.int64)
        own = np.array([step.apply(each) for each in unit]).T.reshape(len(step.scales), size)
        if size != adaptive.tally.size:
            own = np.repeat(own, adaptive.tally.size // size, axis=1)
        if not any(step.scales):
            noisy = own @ np.full(adaptive.tally.size, 3)
        else:
            noisy = np.array([draw.randint(-5, 60) for _ in step.scales])
        values.append(noisy.astype(np.int64))
        rows.append(own)
        scales += list(step.scales)
    return np.concatenate(values), np.concatenate(rows), scales


@pytest.mark.parametrize("halved", HALVED, ids=str)
@pytest.mark.parametrize(
    ("secrets", "options"),
    [({}, {}), ({"g": bf.public()}, {}), ({}, {"presence": True}), ({"g": bf.public()}, {"groupby": False})],
    ids=["one total", "each group", "nothing exact", "no groups"],
)
def test_weighted_least_squares(halved, secrets, options, by_dense_algebra):
    """The same as dense generalised least squares over all rounds, exact rows held exactly."""
    adaptive = built(secrets, halved, **options)

    for seed in range(4):
        values, rows, scales = run(adaptive, random.Random(seed))
        found = find_leaves(adaptive, values)
        inside = leaf_rows(adaptive, values)
        slow = by_dense_algebra(rows, scales, inside).estimator @ values

        assert np.allclose(found.counts, slow)
        assert len(found.counts) == len(found.points) == len(found.group) == sum(map(len, found.places))


@pytest.mark.parametrize("halved", HALVED, ids=str)
@pytest.mark.parametrize(
    ("secrets", "options", "exactly"),
    [
        ({}, {}, False),
        ({"g": bf.public()}, {}, True),
        ({}, {"presence": True}, True),
        ({"g": bf.public()}, {"groupby": False}, True),
    ],
    ids=["one total", "each group", "nothing exact", "no groups"],
)
def test_variances_of_clusters(halved, secrets, options, exactly, by_dense_algebra):
    """As dense algebra has them; no less where groups share one exact total."""
    adaptive, draw = built(secrets, halved, **options), random.Random(7)
    lots = adaptive.space.lots
    for seed in range(4):
        values, rows, scales = run(adaptive, random.Random(seed))
        found = find_leaves(adaptive, values)
        cluster = np.array([draw.randrange(3) for _ in found.group])
        sums = np.zeros((lots * 3, len(cluster)))
        sums[found.group * 3 + cluster, np.arange(len(cluster))] = 1
        slow = by_dense_algebra(rows, scales, sums @ leaf_rows(adaptive, values)).variances

        variances = found.variances(cluster, lots, 3).ravel()

        assert (variances >= slow - 1e-6).all()
        if exactly:
            assert np.allclose(variances, slow)


def leaf_rows(adaptive, values):
    """Return which of the finest boxes lie in each box that was not halved again, round after round."""
    found, unit = [], np.eye(adaptive.tally.size, dtype=np.int64)
    for number, (step, noisy) in enumerate(rounds(adaptive, values)[1:]):
        rows = np.array([step.apply(each) for each in unit]).T
        found.append(np.delete(rows, adaptive.boxes_to_halve(number, noisy), axis=0))
    return np.concatenate(found)


def test_leaves_cover_every_group_once():
    """Each finest box lies in one leaf."""
    adaptive = built({}, HALVED[0])
    values, _, _ = run(adaptive, random.Random(5))

    found = find_leaves(adaptive, values)

    inside = leaf_rows(adaptive, values)
    assert (inside.sum(axis=0) == 1).all()
    for row, group, middle in zip(inside, found.group, found.points[:, 0], strict=True):
        own = row.reshape(2, 16)[group]
        assert own.sum() == row.sum()
        assert middle * 15 == pytest.approx(own @ np.arange(16) / own.sum())


@pytest.mark.parametrize("secrets", [{}, {"g": bf.public()}])
def test_shaped_counts_are_counts(secrets):
    """None is negative, and exact numbers of rows are kept."""
    adaptive = built(secrets, HALVED[0])
    for seed in range(5):
        values, _, _ = run(adaptive, random.Random(seed))
        found = find_leaves(adaptive, values)

        counts = found.shape_counts(adaptive.known.exact)

        assert (counts >= 0).all()
        assert counts.sum() == pytest.approx(3 * adaptive.tally.size)
        if secrets:
            assert np.allclose(np.bincount(found.group, counts), 3 * adaptive.tally.size / 2)
