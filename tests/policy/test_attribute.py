"""Ranges of an ordered column, in cells."""

import pytest

from pandas_blowfish.errors import ArgumentError, DeclaredValueError
from pandas_blowfish.policy.attribute import half_open, run_of
from pandas_blowfish.policy.domain import from_dict, integers


def test_ranges_of_whole_numbers_are_inclusive():
    """Both ends belong to the range, None is the end of the domain."""
    age = integers("age", 0, 99)

    assert not half_open(age)
    assert run_of(age, 18, 64) == (18, 65)
    assert run_of(age, None, 17) == (0, 18)
    assert run_of(age, 65, None) == (65, 100)


def test_ranges_of_bins_are_half_open():
    """[low, high) on cell edges."""
    lat = from_dict("lat", {"type": "float", "min": 30, "max": 36, "step": 0.5})

    assert half_open(lat)
    assert run_of(lat, 30, 35) == (0, 10)
    assert run_of(lat, 35.5, None) == (11, lat.cells)


@pytest.mark.parametrize(("low", "high"), [(5, 4), (100, None), (None, -1), ("x", 3)])
def test_bad_ranges_are_refused(low, high):
    """Empty, reversed, outside, or no number at all."""
    with pytest.raises((ArgumentError, DeclaredValueError)):
        run_of(integers("age", 0, 99), low, high)
