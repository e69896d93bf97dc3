"""How far noise goes: against laws that are as wide as log-concave ones can be."""

from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.line.quantile_curve import Curves
from pandas_blowfish.plan.scales import ANY, CONCAVE
from pandas_blowfish.plan.transport.tails import any_reach, concave_line, concave_reach

LEVELS = [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20), Fraction(99, 100), Fraction(9999, 10000)]


def laws():
    """Yield symmetric log-concave laws on -far..far: two-sided geometric ones, cut off anywhere."""
    for ratio in (0.05, 0.3, 0.6, 0.9, 0.97, 1.0):
        for far in (1, 2, 3, 5, 9, 20, 60, 300):
            weight = ratio ** np.abs(np.arange(-far, far + 1))
            yield far, weight / weight.sum()


@pytest.mark.parametrize("level", LEVELS)
def test_reach_covers_log_concave_laws(level):
    """No law of those that are as wide as possible leaves more outside."""
    for far, law in laws():
        z = np.arange(-far, far + 1)
        std = np.sqrt((law * z**2).sum())

        t = concave_reach(np.array([std]), level)[0]

        assert law[np.abs(z) <= t].sum() >= float(level) - 1e-12
        slope, more = concave_line(level)
        assert law[np.abs(z) <= slope * std + more].sum() >= float(level) - 1e-12


def test_reach_is_not_much_too_wide():
    """About a tenth beyond that of a sum of Laplace noises."""
    assert 2.3 < concave_line(Fraction(19, 20))[0] < 2.4
    assert concave_reach(np.array([0.0, 1e-3]), 0.95).tolist() == [0, 0]


def test_any_law_is_covered():
    """Three points with as much outside as can be."""
    for level in LEVELS:
        outside, t = float(1 - level), any_reach(level)
        assert t**2 * outside == pytest.approx(1)  # +-t with that probability, 0 else: of variance 1
    for level in (0, 1, "2"):
        with pytest.raises(ArgumentError):
            any_reach(level)


def test_quantile_rooms_hold_what_is_known_of_the_law():
    """Single sums of log-concave noise have its reach, means of them and other noise that of any law."""
    none = np.zeros((1, 2))
    plain, concave, unknown = (Curves(none, none, none, terms=each) for each in ("estimate", CONCAVE, ANY))

    level = Fraction(19, 20)

    assert concave.room(1, level) == concave_line(level)
    assert concave.room(64, level) == unknown.room(1, level) == (any_reach(level), 0.0)
    assert plain.room(1, level)[1] == 1.0
    assert plain.room(1, level)[0] < concave.room(1, level)[0] < unknown.room(1, level)[0]
