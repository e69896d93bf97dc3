"""Weights of tables: whole numbers, every effect told, no worse than simple choices."""

import numpy as np
import pytest

from pandas_blowfish.plan.tables.weights import FINEST, best_weights, least_error


def error_of(tells, losses, worth, weights):
    """Return the sum of variances when the largest loss is 1."""
    return float((worth / (tells @ weights**2)).sum() * (losses @ weights).max() ** 2)


def random_search(seed):
    """Return a random problem in which table t tells effect t and some others."""
    random = np.random.default_rng(seed)
    many = int(random.integers(1, 7))
    tells = np.eye(many) + (random.random((many, many)) < 0.4) * random.random((many, many))
    losses = np.vstack([np.ones(many), 2.0 * (random.random((3, many)) < 0.6)])
    return tells, losses, random.random(many) + 0.01


@pytest.mark.parametrize("seed", range(20))
def test_no_worse_than_even_or_random_weights(seed):
    """The error of the rounded weights is near the least of hundreds of random ones, or below."""
    tells, losses, worth = random_search(seed)
    many = len(worth)
    random = np.random.default_rng(seed + 1_000)
    tried = [np.ones(many), *np.exp(random.normal(0, 1.5, (400, many)))]
    least = min(error_of(tells, losses, worth, each) for each in tried)

    starts = [np.zeros(many), *(3.0 * np.eye(many)[::-1] - 3)]
    weights, error = best_weights(tells, losses, worth, starts)
    rounded = error_of(tells, losses, worth, weights.astype(float))

    assert rounded <= least * 1.02
    assert rounded == pytest.approx(error, rel=0.02)
    assert 0.97 * error <= least_error(tells, losses, worth, starts) <= 1.5 * error


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_whole_and_tell_everything(seed):
    """Whole numbers without a common factor; each effect keeps a table however little it matters."""
    tells, losses, worth = random_search(seed)
    worth[0] = 1e-14

    weights, _ = best_weights(tells, losses, worth, [np.zeros(len(worth)), -np.arange(len(worth)) * 1.0])

    assert weights.dtype == np.int64
    assert weights.min() >= 0
    assert weights.max() <= FINEST
    assert np.gcd.reduce(weights) == 1
    assert (tells @ weights.astype(float) ** 2 > 0).all()


def test_a_table_that_tells_nothing_new_gets_nothing():
    """Of two tables that tell the same, the one that loses less is kept."""
    tells, losses = np.array([[1.0, 1.0]]), np.array([[2.0, 1.0]])

    weights, error = best_weights(tells, losses, np.ones(1), [np.zeros(2)])

    assert weights.tolist() == [0, 1]
    assert error == pytest.approx(1.0, rel=1e-4)


def test_the_known_best_of_independent_effects():
    """Two tables that each tell one effect: weights as the cube roots of what they are worth."""
    weights, error = best_weights(np.eye(2), np.ones((1, 2)), np.array([1.0, 8.0]), [np.zeros(2)])

    assert weights[1] / weights[0] == pytest.approx(2, rel=0.01)
    assert error == pytest.approx((1 + 2) ** 3, rel=1e-3)
