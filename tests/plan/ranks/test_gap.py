"""How many rows may be missed: the least bound for one value, and never passed by counts made up."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.selection_law import pick_law, sequence_law

from pandas_blowfish.plan.ranks.gap import LEVEL, read_off_gap, selection_gap


def laplace_law(scale, far):
    """Return the law of discrete Laplace noise on -far..far."""
    law = np.exp(-np.abs(np.arange(-far, far + 1)) / float(scale))
    return law / law.sum()


@pytest.mark.parametrize("many", [2, 3, 10])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(11, 2)])
def test_selection_gap_is_least_for_one_pick(many, scale):
    """One leads, all others are g + 1 behind: found with 95%; with g behind not."""
    a, gap = Fraction(math.exp(-1 / scale)), selection_gap(many, 1, scale)

    assert float(pick_law([gap + 1] + [0] * (many - 1), a)[0]) >= LEVEL
    assert gap == 0 or float(pick_law([gap] + [0] * (many - 1), a)[0]) < LEVEL


@pytest.mark.parametrize("many", [2, 5, 40])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(11, 2)])
def test_read_off_gap_is_least_for_one_pick(many, scale):
    """The same by summing over the leader's noise; ties count against it."""
    law, gap = laplace_law(scale, 400), read_off_gap(many, 1, scale)
    below = np.cumsum(law)

    def found(distance):
        at = np.clip(np.arange(len(law)) + distance - 1, 0, len(law) - 1)
        return float((law * below[at] ** (many - 1)).sum())

    assert found(gap + 1) >= LEVEL
    assert gap == 0 or found(gap) < LEVEL


@pytest.mark.parametrize("strategy", ["select", "counts"])
def test_no_counts_do_worse(strategy):
    """For any counts the i-th listed has at most g rows fewer than the i-th most frequent, with 95%."""
    draw, random_numbers = random.Random(5), np.random.default_rng(5)
    for _ in range(25):
        many, scale = draw.randint(2, 6), Fraction(draw.randint(1, 6), draw.randint(1, 3))
        k = draw.randint(1, min(3, many - 1))
        gap = (selection_gap if strategy == "select" else read_off_gap)(many, k, scale)
        counts = [draw.choice([0, gap, gap + 1, 2 * gap + 2]) + draw.randint(0, 1) for _ in range(many)]
        best = sorted(counts, reverse=True)

        def misses(listed, counts=counts, best=best, gap=gap):
            return any(counts[own] < best[rank] - gap for rank, own in enumerate(listed))

        if strategy == "select":
            law = sequence_law(counts, Fraction(math.exp(-1 / scale)).limit_denominator(1000), k)
            missed = float(sum(odds for listed, odds in law.items() if misses(listed)))
        else:
            drawn = random_numbers.choice(np.arange(-200, 201), (4_000, many), p=laplace_law(scale, 200))
            orders = np.argsort(-(np.array(counts) + drawn), axis=1, kind="stable")[:, :k]
            missed = np.mean([misses(order) for order in orders.tolist()]) - 0.015

        assert missed <= 1 - LEVEL + 1e-3


def test_selecting_one_misses_less_and_several_more():
    """What `auto` goes by, for 2 / epsilon at epsilon = 0.1."""
    scale = Fraction(20)
    rows = [
        (many, k, selection_gap(many, k, k * scale), read_off_gap(many, k, scale))
        for many in (10, 100, 10_000)
        for k in (1, 2, 5)
    ]

    assert rows == [
        *[(10, 1, 89, 108), (10, 2, 204, 121), (10, 5, 583, 139)],
        *[(100, 1, 137, 155), (100, 2, 302, 169), (100, 5, 845, 186)],
        *[(10_000, 1, 229, 248), (10_000, 2, 487, 261), (10_000, 5, 1309, 279)],
    ]


def test_ends_of_the_scale():
    """Nothing is missed without noise, or with one candidate; very large scales are in proportion."""
    assert selection_gap(5, 1, Fraction(0)) == read_off_gap(5, 1, Fraction(0)) == 0
    assert selection_gap(1, 1, Fraction(9)) == read_off_gap(1, 1, Fraction(9)) == 0
    assert selection_gap(5, 1, Fraction(1, 10**400)) == read_off_gap(5, 1, Fraction(1, 10**400)) == 0
    for gap in (selection_gap, read_off_gap):
        ratio = gap(5, 1, Fraction(2**49)) / 2**49 / (gap(5, 1, Fraction(1000)) / 1000)
        assert 0.98 < ratio < 1.02
        assert gap(5, 1, Fraction(10**400)) > 10**400
