"""The dense estimator against normal equations and the twin of the tests."""

import numpy as np
import pytest

from pandas_blowfish.plan.linear.estimator import estimator


@pytest.mark.parametrize("seed", range(20))
def test_matches_the_normal_equations(seed):
    """With rows that tell all cells apart it is (A' D A)^-1 A' D."""
    draw = np.random.default_rng(seed)
    matrix, variances = draw.integers(-3, 4, (9, 5)).astype(float), draw.uniform(0.5, 4, 9)
    inverse = np.linalg.inv(matrix.T @ (matrix / variances[:, None]))

    found = estimator(matrix, variances, np.zeros((0, 5)))

    np.testing.assert_allclose(found.fit, inverse @ (matrix / variances[:, None]).T, atol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse, atol=1e-9)
    np.testing.assert_allclose(found.variances(np.eye(5)), np.diag(inverse), atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_exact_rows_hold(seed, by_dense_algebra):
    """Estimates agree with exact rows, are unbiased, and vary as the twin says."""
    from fractions import Fraction

    from pandas_blowfish.plan.scales import variance

    draw = np.random.default_rng(100 + seed)
    matrix = draw.integers(-2, 3, (6, 4)).astype(float)
    exact = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])[: int(draw.integers(0, 3))]
    scales = [Fraction(int(each)) for each in draw.integers(1, 5, 6)]
    truth, queries = draw.integers(0, 9, 4), draw.integers(-1, 2, (2, 6)) @ matrix

    found = estimator(matrix, [variance(scale) for scale in scales], exact)

    noisy = matrix @ truth + draw.normal(size=6)
    np.testing.assert_allclose(exact @ found.counts(noisy, exact @ truth), exact @ truth, atol=1e-8)
    np.testing.assert_allclose(
        queries @ found.counts(matrix @ truth, exact @ truth), queries @ truth, atol=1e-8
    )
    twin = by_dense_algebra(np.concatenate([matrix, exact]), scales + [Fraction(0)] * len(exact), queries)
    np.testing.assert_allclose(found.variances(queries), twin.variances, rtol=1e-8, atol=1e-8)


def test_short_rows_count_beside_long_ones():
    """Rows ten orders of magnitude apart are all used, more rows than cells too."""
    matrix = np.array([[1e10, 3e10, -2e10], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [2.0, 1.0, 0.0]])

    for rows in (matrix[:2], matrix[:3], matrix):
        found = estimator(rows, np.ones(len(rows)), np.zeros((0, 3)))

        told = (rows @ found.fit) @ rows
        np.testing.assert_allclose(told, rows, rtol=1e-9, atol=1e-9)
        assert found.variances(rows[:1]) == pytest.approx(1, rel=1e-6)
    np.testing.assert_allclose(estimator(matrix[:2], [1, 9], []).variances(matrix[:2]), [1, 9], rtol=1e-6)
