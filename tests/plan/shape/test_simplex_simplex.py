"""Shaped counts are the nearest ones of the right shape."""

import numpy as np
import pytest

from pandas_blowfish.plan.shape.simplex import shape


def _bisected(noisy, total):
    """Return the projection on a simplex by bisection on the shift: the slow twin."""
    low, high = noisy.min() - total - 1, noisy.max() + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(noisy - middle, 0).sum() > total else (low, middle)
    return np.maximum(noisy - high, 0)


@pytest.mark.parametrize("seed", range(60))
def test_matches_bisection(seed):
    """Every group's projection is the one bisection finds."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 40))
    noisy = np.round(draw.normal(3, 20, size))
    total_of = draw.integers(-1, 3, size)
    totals = np.round(draw.exponential(30, 3)) * (draw.random(3) < 0.8)
    used, total_of[total_of >= 0] = np.unique(total_of[total_of >= 0], return_inverse=True)

    found = shape(noisy, total_of, totals[: len(used)])

    assert (found.counts >= 0).all()
    for number in range(len(used)):
        inside = total_of == number
        assert found.counts[inside].sum() == pytest.approx(totals[number], abs=1e-9)
        assert found.counts[inside] == pytest.approx(_bisected(noisy[inside], totals[number]), abs=1e-6)
    assert found.counts[total_of < 0].tolist() == np.maximum(noisy[total_of < 0], 0).tolist()


def test_nothing_to_agree_with_only_clips():
    """Without totals negative counts become 0."""
    found = shape(np.array([-2.0, 3.0]), np.array([-1, -1]), np.empty(0))

    assert found.counts.tolist() == [0.0, 3.0]
