"""Scales behave as a read-only sequence of fractions."""

from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.scales import Scales, fit_scales, row_variances, variance


def test_it_is_a_sequence():
    """Length, items, slices, iteration and equality are those of the list."""
    scales = Scales([Fraction(2), Fraction(0)], np.array([0, 1, 0]))
    listed = [Fraction(2), Fraction(0), Fraction(2)]

    assert list(scales) == listed
    assert scales == listed
    assert scales == tuple(listed)
    assert scales != listed[:2]
    assert scales[-1] == 2
    assert list(scales[1:]) == listed[1:]
    assert len(scales) == 3
    assert hash(scales) == hash(scales[:])
    assert "rows=3" in repr(scales)
    assert scales.spread([1.5, 0.0]).tolist() == [1.5, 0.0, 1.5]


@pytest.mark.parametrize("weights", [[1, 1], [3, 1], [2, 7], [2**61, 2**62]])
def test_fitted_scales_lose_epsilon(weights):
    """The worst pattern loses exactly epsilon, and scales are inverses of the weights, of any size."""
    patterns = np.array([[2, 0], [2, 3], [1, 1]])

    scales = fit_scales(patterns, weights, Fraction(1, 3))
    lost = [sum(int(n) / scale for n, scale in zip(row, scales, strict=True)) for row in patterns]

    assert max(lost) == Fraction(1, 3)
    assert scales[0] * weights[0] == scales[1] * weights[1]


def test_nothing_that_changes_needs_no_noise():
    """Without patterns all scales are 0; without weights there are none."""
    assert fit_scales(np.zeros((0, 2), dtype=np.int64), [1, 2], Fraction(1)) == (0, 0)
    assert fit_scales([], [], Fraction(1)) == ()


def test_variances_of_rows_can_be_divided_by():
    """Those of a scale of 0 are not 0."""
    assert row_variances([Fraction(3), Fraction(0)]) == [variance(Fraction(3)), 1e-200]
