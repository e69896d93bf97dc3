"""The chain of steps: its law in fractions, and the enclosures against mpmath at much higher precision."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from oracle.run_law import drawn_law, probabilities, weights_of

from pandas_blowfish.exact.least_runs import least_runs
from pandas_blowfish.exact.run_chain import FARTHEST, RunChain, Steps

SCALES = [Fraction(1, 40), Fraction(1), Fraction(35, 3), Fraction(10**6)]


@pytest.mark.parametrize(
    ("reach", "places", "most"), [(2, 3, 2), (2, 5, 1), (3, 3, 2), (3, 4, 1), (4, 3, 2), (4, 5, 1), (8, 4, 1)]
)
def test_law_is_the_law_of_least_runs(reach, places, most):
    """Each point of a box has, next to 0, the odds of its number of runs: equal fractions."""
    a = Fraction(2, 7)

    law = drawn_law(reach, places, a, most)

    points = np.array(list(law))
    many = least_runs(points, np.arange(places) == 0, reach)
    assert len(law) == (2 * most + 1) ** places
    origin = law[(0,) * places]
    assert all(law[tuple(y)] == origin * a**n for y, n in zip(points.tolist(), many.tolist(), strict=True))


@pytest.mark.parametrize("reach", [2, 3, 5])
def test_steps_have_probabilities(reach):
    """Those from each state add up to 1, whatever follows."""
    steps, a = Steps.of(reach), Fraction(3, 5)
    levels = weights_of(steps, a, reach + 3)

    for left in range(reach + 3):
        for state, weight in enumerate(levels[left + 1]):
            if weight:
                assert sum(probabilities(steps, a, levels, state, left)) == 1


def test_states_are_as_many_as_stated():
    """Catalan's numbers."""
    assert [len(Steps.of(reach).states) for reach in range(2, FARTHEST + 1)] == [2, 5, 14, 42, 132, 429, 1430]


def assert_enclosed(chain, levels, a, left, bits):
    """Compare limits of all states that may occur with exact probabilities."""
    for state, weight in enumerate(levels[left + 1]):
        if not weight:
            continue
        limits = chain.limits(state, left, bits)
        total = mpmath.mpf(0)
        own = probabilities(chain.steps, a, levels, state, left)
        assert len(limits.lower) == len(limits.upper) == len(own) - 1
        for number, share in enumerate(own[:-1]):
            total += share
            low, high = limits.lower[number], limits.upper[number]
            scaled, dust = total * mpmath.mpf(2) ** bits, mpmath.mpf(2) ** -100  # mpmath rounds
            assert low - dust <= scaled <= high + dust, (state, left, number)
            assert high - low <= 4


@pytest.mark.parametrize("bits", [20, 62, 186])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("reach", [2, 4])
def test_limits_enclose_exact_probabilities(reach, scale, bits):
    """The true limits lie between integers that are a few units apart, near the end of a line."""
    chain = RunChain(reach, scale)

    with mpmath.workprec(bits + 300):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        levels = weights_of(chain.steps, a, 8)
        for left in range(8):
            assert_enclosed(chain, levels, a, left, bits)


@pytest.mark.parametrize("scale", SCALES)
def test_settled_weights_stay_within_their_limits(scale):
    """Far from the end the same integers enclose what another thousand places make of the weights."""
    chain = RunChain(3, scale)

    with mpmath.workprec(3_000):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        levels = weights_of(chain.steps, a, 1_200)
        for left in (60, 70, 80, 199, 1_199):
            assert_enclosed(chain, levels, a, left, 62)
            assert chain.limits(0, 10**9, 62) == chain.limits(0, 1_199, 62)


def test_rare_steps_have_limits_too():
    """Where runs are less likely than any number of bits shows, none are taken before more are asked for."""
    chain = RunChain(3, Fraction(1, 2_000))

    limits = chain.limits(0, 500, 62)

    assert set(limits.lower) <= {2**62 - 1, 2**62 - 2, 2**62}
    assert set(limits.upper) == {2**62}
    assert chain.limits(0, 500, 62 * 60).upper[0] < 2 ** (62 * 60)
