"""Quotients of noisy sums lie between ends that hold all that fits."""

import numpy as np
import pytest

from pandas_blowfish.plan.shape.averages import bound_error, exact_error, find_ends


@pytest.mark.parametrize("slack", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(8))
def test_ends_hold_all_that_fits(seed, slack):
    """Wherever a fine grid of candidates fits, and nearly no further."""
    random = np.random.default_rng(seed)
    over, under = random.normal(0, 5, 40), random.normal(2, 4, 40)
    one, two, both = random.uniform(0, 2, 40), random.uniform(0, 2, 40), random.uniform(-0.99, 0.99, 40)
    at = np.linspace(-1, 1, 4_001)

    def error(v):
        return np.sqrt(one**2 + v**2 * two**2 - 2 * v * both * one * two)

    low, high = find_ends(over, under, error, 1.7, (-1, 1), slack)

    fits = np.array([np.abs(over - v * under) <= 1.7 * error(np.full(40, v)) + slack for v in at]).T
    for line in range(40):
        inside = at[fits[line]]
        if under[line] <= 0:
            assert (low[line], high[line]) == (-1, 1)
        elif len(inside):
            assert low[line] <= inside[0]
            assert inside[-1] <= high[line]
            if abs(over[line]) < under[line]:
                assert (low[line], high[line]) == pytest.approx((inside[0], inside[-1]), abs=0.001)


def test_errors_of_combinations_are_those_of_their_weights():
    """Exactly from variances of sums of two, and never more than the bound."""
    random = np.random.default_rng(3)
    root = random.normal(0, 1, (9, 9))
    spread, each, part = root @ root.T, random.normal(0, 1, (4, 9)), random.normal(0, 1, (1, 4))
    std = np.sqrt(np.diag(spread))[None]
    position = np.sqrt(np.diag(np.tri(9) @ spread @ np.tri(9).T))[None]

    exact = exact_error(lambda weights: np.einsum("sc,cd,sd->s", weights, spread, weights)[None], each)

    weights = (part @ each)[0]
    assert exact(part)[0] == pytest.approx(np.sqrt(weights @ spread @ weights))
    assert bound_error(std, each, summed=False)(part)[0] >= exact(part)[0]
    assert bound_error(position, each, summed=True)(part)[0] >= exact(part)[0]
