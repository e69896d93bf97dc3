"""Scales behave as a read-only sequence of fractions."""

from fractions import Fraction

import numpy as np

from pandas_blowfish.plan.scales import Scales


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
