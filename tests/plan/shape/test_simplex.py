"""Counts that add up: to exact numbers of rows, or to what they say themselves, by slow twins."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pandas_blowfish.plan.shape.simplex import exact_totals, pin, project


@pytest.mark.parametrize("seed", range(20))
def test_pinned_is_weighted_least_squares(seed):
    """The nearest counts, by their variances, that have the totals: a small dense problem."""
    draw = np.random.default_rng(seed)
    counts, spread = draw.normal(0, 9, 8), draw.uniform(0.5, 4, 8)
    total_of, totals = draw.integers(-1, 3, 8), draw.integers(0, 30, 3).astype(float)

    found = pin(counts, total_of, totals, spread)
    rows = np.array([(total_of == each).astype(float) for each in range(3) if (total_of == each).any()])
    asked = np.array([totals[each] for each in range(3) if (total_of == each).any()])
    gaps = asked - rows @ counts if len(rows) else np.zeros(0)
    weighed = rows * spread if len(rows) else np.zeros((0, 8))
    slow = counts + (weighed.T @ np.linalg.solve(weighed @ rows.T, gaps) if len(rows) else 0)

    assert np.allclose(found, slow)
    assert np.allclose(found[total_of < 0], counts[total_of < 0])
    assert pin(counts, np.full(8, -1), totals) is counts


@pytest.mark.parametrize("seed", range(20))
def test_projected_is_the_nearest(seed):
    """Non-negative with the same sums, and no other such counts are nearer."""
    draw = np.random.default_rng(seed)
    lots, each = 2, 3
    counts = draw.normal(1, 4, lots * each)
    total_of, noisy = np.full(lots * each, -1), np.ones(lots * each, dtype=bool)
    if seed % 2:
        total_of[:each] = 0
    for lot in range(lots):  # a group of fewer than no rows is empty
        counts[lot * each] += max(0.0, 1.0 - counts[lot * each : (lot + 1) * each].sum())

    found = project(counts, total_of, noisy, lots)

    assert (found >= 0).all()
    for lot in range(lots):
        part = slice(lot * each, (lot + 1) * each)
        total = counts[part].sum()
        slow = minimize(
            lambda x, own=counts[part]: ((x - own) ** 2).sum(),
            np.full(each, total / each),
            bounds=[(0, None)] * each,
            constraints={"type": "eq", "fun": lambda x, total=total: x.sum() - total},
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        assert np.allclose(found[part], slow.x, atol=1e-4)


def test_groups_of_no_rows_and_exact_bins():
    """Negative totals are none; counts that are exact and in no total are left as they are."""
    counts = np.array([-5.0, 1.0, 4.0, 7.0])

    found = project(counts, np.full(4, -1), np.array([True, True, True, False]), 2)

    assert found.tolist() == [0.0, 0.0, 4.0, 7.0]


def test_exact_totals_are_numbered():
    """Groups that are exact by themselves first, then totals of several; a total is never negative."""
    alone, total_of = np.array([False, True, False, False, True]), np.array([0, -1, 0, -1, -1])

    labels, totals = exact_totals(alone, total_of, np.array([3, 8, 11]))

    assert labels.tolist() == [2, 0, 2, -1, 1]
    assert totals.tolist() == [3.0, 8.0, 11.0]
    assert exact_totals(alone, total_of, np.array([-3, 8, 11]))[1].tolist() == [0.0, 8.0, 11.0]
