"""Counts are shaped so that no large sum drifts away from where it was measured."""

import numpy as np
import pytest

from pandas_blowfish.plan.shape.coarse import BLOCK, shape_sums
from pandas_blowfish.plan.shape.simplex import shape


@pytest.mark.parametrize("seed", range(30))
def test_totals_hold_and_nothing_is_negative(seed):
    """Whatever the totals, their order and the noise; what has no total is left near its own sum."""
    draw = np.random.default_rng(seed)
    size, totals = int(draw.integers(1, 400)), draw.integers(0, 300, int(draw.integers(0, 4))).astype(float)
    noisy = draw.laplace(0, 20, size) + draw.poisson(3, size)
    total_of = draw.integers(-1, len(totals), size)

    found = shape_sums(noisy, total_of, totals, 800.0)

    assert found.min() >= 0
    for number, total in enumerate(totals):
        if (total_of == number).any():
            assert found[total_of == number].sum() == pytest.approx(total, abs=1e-8)
    free = total_of < 0
    room = np.sqrt(800.0 * free.sum()) + 1e-6
    assert abs(found[free].sum() - max(noisy[free].sum(), 0)) <= room


def test_a_few_counts_are_the_nearest_ones():
    """Where no sum is coarse it is the projection, and of counts without a total the positive ones."""
    noisy, one = np.random.default_rng(0).normal(5, 9, BLOCK), np.zeros(BLOCK, dtype=np.int64)

    assert shape_sums(noisy, one, np.array([80.0]), 81.0) == pytest.approx(
        shape(noisy, one, np.array([80.0])).counts
    )
    assert shape_sums(noisy[:3], one[:3] - 1, np.zeros(0), 1e9) == pytest.approx(np.maximum(noisy[:3], 0))


def test_an_empty_tail_stays_nearly_empty():
    """Cut-off noise of many empty cells does not add up, and full cells do not pay for it."""
    truth = np.zeros(2_048)
    truth[:400] = 500.0
    draw = np.random.default_rng(1)
    drift = {"projected": [], "shaped": []}

    for _ in range(20):
        noisy = truth + draw.laplace(0, 20, len(truth))
        noisy -= (noisy.sum() - truth.sum()) / len(truth)
        one, total = np.zeros(len(truth), dtype=np.int64), np.array([truth.sum()])
        drift["projected"].append(shape(noisy, one, total).counts[1_024:].sum())
        drift["shaped"].append(shape_sums(noisy, one, total, 800.0)[1_024:].sum())

    error = np.sqrt(800 * 1_024 / 2)
    assert np.mean(drift["projected"]) > 5 * error
    assert np.mean(drift["shaped"]) < 1.5 * error
