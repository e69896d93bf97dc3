"""Adaptive: each round counts some boxes of one size, halves of those that went on."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.clusters import adaptive as module
from pandas_blowfish.plan.clusters.adaptive import Adaptive, HalvedBoxes
from pandas_blowfish.plan.clusters.known import Known
from pandas_blowfish.policy.domain import Domain, integers


def random_adaptive(draw, found):
    """Return rounds that halve each column as often as it can be, in up to four of them."""
    room = [cells.bit_length() - 1 for cells in found.space.cells]
    done = [draw.randint(0, min(1, most)) for most in room]
    halved = [tuple(done)]
    while list(done) != room and len(halved) < 4:
        done = [draw.randint(often, most) for often, most in zip(done, room, strict=True)]
        if tuple(done) != halved[-1]:
            halved.append(tuple(done))
    return Adaptive.build(found.graph, found.space, tuple(halved), Fraction(3, 4), 0.0)


def steps_of(adaptive, draw):
    """Return the rounds of one run with random noisy values, and the values."""
    values, found = [], []
    while (step := adaptive.next_round(values)) is not None:
        found.append(step)
        high = draw.choice([1, 10, 1000])
        values.append(np.array([draw.randint(-high // 2, high) for _ in step.scales], dtype=np.int64))
    return found, values


@pytest.mark.parametrize("seed", range(40))
def test_rounds_are_rows_of_the_matrix(seed, make_clusters):
    """Every row that a run measures is a row of the matrix with the same scale, and none twice."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    adaptive = random_adaptive(draw, found)
    matrix, scales = adaptive.matrix().toarray(), list(adaptive.scales)
    sizes = [found.space.lots * 2 ** sum(often) for often in adaptive.halved]
    starts = np.concatenate([[0], np.cumsum(sizes)])

    for _ in range(3):
        steps, _ = steps_of(adaptive, draw)

        assert (found.rows(steps[0]) == matrix[starts[-1] :]).all()
        assert not any(steps[0].scales)
        for number, step in enumerate(steps[1:]):
            chosen = starts[number] + step.chosen
            assert len(set(step.chosen.tolist())) == len(step.chosen)
            assert step.chosen.max() < sizes[number]
            assert (found.rows(step) == matrix[chosen]).all()
            assert list(step.scales) == [scales[row] for row in chosen]
    assert (found.rows(adaptive) == matrix).all()


@pytest.mark.parametrize("seed", range(40))
def test_rounds_share_epsilon(seed, make_clusters):
    """Each round with its own scale loses an equal share, and all of them together epsilon at most."""
    draw = random.Random(500 + seed)
    found = make_clusters(draw)
    adaptive = random_adaptive(draw, found)
    noisy = [change for change in adaptive.round_changes if change]

    for change, scale in zip(adaptive.round_changes, adaptive.round_scales, strict=True):
        assert (change / scale if scale else 0) == (Fraction(3, 4) / len(noisy) if change else 0)
    assert found.loss(adaptive) <= Fraction(3, 4)
    assert adaptive.largest >= max(adaptive.round_scales)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_are_halved_into_their_cells(seed, make_clusters):
    """The boxes that one is halved into hold the same cells, and follow each other box by box."""
    draw = random.Random(900 + seed)
    found = make_clusters(draw)
    adaptive = random_adaptive(draw, found)
    steps, values = steps_of(adaptive, draw)

    for number, (coarse, fine) in enumerate(pairwise(steps[1:])):
        goes = adaptive.boxes_to_halve(number, values[number + 1])
        rows, halves = found.rows(coarse)[goes], found.rows(fine)
        each = len(halves) // len(rows)

        assert (halves.reshape(len(rows), each, -1).sum(axis=1) == rows).all()
        assert (values[number + 1][goes] > 2 * adaptive.round_scales[number]).all()


def test_no_more_boxes_than_a_round_may_count(monkeypatch):
    """Where too many go on, the fullest do, in their own order."""
    policy = bf.Policy(Domain((integers("x", 0, 63),)))
    space = policy.plan.kmeans("x", 2, rows=10).asked[0].space
    adaptive = Adaptive.build(policy.graph, space, ((3,), (5,)), Fraction(1), 0.0)
    monkeypatch.setattr(module, "MAX_BOXES", 12)

    noisy = np.array([50, 90, 10, 70, 0, 90, 60, 9])

    assert adaptive.boxes_to_halve(0, noisy).tolist() == [1, 3, 5]
    assert adaptive.boxes_to_halve(1, noisy).tolist() == []
    assert len(adaptive.next_round([np.zeros(1), noisy]).chosen) == 12


def test_it_stops_where_nothing_goes_on():
    """Empty tables are counted in one round: the boxes of the first."""
    policy = bf.Policy(Domain((integers("x", 0, 63), integers("y", 0, 63))))
    plan = policy.plan.kmeans(["x", "y"], 3, strategy="adaptive", rows=10**5)
    adaptive = plan.measurement

    first = adaptive.next_round([])
    second = adaptive.next_round([np.array([0])])

    assert isinstance(first, Known)
    assert isinstance(second, HalvedBoxes)
    assert adaptive.next_round([np.array([0]), np.zeros(len(second.chosen), dtype=np.int64)]) is None
    assert adaptive.points(0, second.chosen).shape == (len(second.chosen), 2)
    assert adaptive.form == {"halved": [list(often) for often in adaptive.halved]}
    assert "rounds" in adaptive.grid
