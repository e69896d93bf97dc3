"""Estimates on a nest equal generalised least squares by dense algebra."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.runs import Nested


def _noisy(nested, lined, draw):
    """Return measured rows with some noise on those that get it."""
    _, bins = lined.counts(draw)
    exact = np.array([scale == 0 for scale in nested.scales])
    noise = np.array([draw.randint(-5, 5) for _ in exact], dtype=np.int64)
    return nested.apply(bins) + np.where(exact, 0, noise)


@pytest.mark.parametrize("seed", range(100))
def test_equals_dense_least_squares(seed, make_lined, make_layout, by_dense_bins):
    """Every range, under any policy, filter, groups and layout."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    layout = make_layout(draw, lined.line, seed % 3 == 0)
    weights = tuple(draw.randint(1, 9) for _ in Nest(lined.line, layout).families)
    nested = Nested("x", lined.asked, lined.line, layout, weights, Fraction(draw.randint(1, 9), 5))
    if not nested.sensitivity:
        return
    values = _noisy(nested, lined, draw)

    fast = lined.asked.answers(nested.positions(values))
    slow = by_dense_bins(nested, lined.asked).estimator @ values

    assert fast == pytest.approx(slow, rel=1e-6, abs=1e-6)


def test_without_noise_the_counts_come_back(line_of):
    """Exact rows lead to exact cumulative counts."""
    lined = line_of(10, 3, "x != 4")
    nested = Nested("x", lined.asked, lined.line, Layout(3, (3,)), (1, 2), Fraction(1))
    _, bins = lined.counts(random.Random(1))

    found = nested.positions(nested.apply(bins))

    assert found[0] == pytest.approx(np.append(0, np.cumsum(bins)))


def test_a_hundred_thousand_atoms_take_no_matrix(line_of):
    """Linear time: the true counts come back on a long line."""
    lined = line_of(100_000, 16)
    nested = Nested("x", lined.asked, lined.line, Layout(16, (4, 4)), (3, 2, 1), Fraction(1))
    bins = np.arange(100_000) % 7

    found = nested.positions(nested.apply(bins))

    assert found[0] == pytest.approx(np.append(0, np.cumsum(bins)))
