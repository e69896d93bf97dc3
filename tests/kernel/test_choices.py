"""Picks of the kernel have exactly the stated law, ties included, and look at nothing but the scores."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.selection_law import enumerated_law, pick_law
from scipy.stats import chi2

from pandas_blowfish.kernel.choices import draw_choices
from pandas_blowfish.kernel.noise import discrete_laplace, uniform_below

MANY = 40_000


def draw(scores, scale, many=MANY):
    """Return how often each candidate is picked, of many choices with the same scores in one call."""
    choices = np.repeat(np.arange(many), len(scores))
    noise = discrete_laplace(scale, many * len(scores))
    picked = draw_choices(choices, np.tile(np.array(scores), many), noise, noisy=True)
    assert (choices[picked] == np.arange(many)).all()
    return np.bincount(picked % len(scores), minlength=len(scores))


def agrees(counts, law):
    """Return whether a chi-square test takes the counts for those of a law; wrongly not once in 10^7."""
    expected = np.array([float(each) for each in law]) * counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return chi2.sf(statistic, len(law) - 1) > 1e-7


@pytest.mark.parametrize("scores", [(0, 0), (3, 1), (5, 5, 4), (2, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(2, 3)])
def test_the_closed_form_is_the_law_by_enumeration(scores, a):
    """Whatever noises are not listed, no probability differs by more than theirs together."""
    listed, rest = enumerated_law(scores, a, 24 if len(scores) < 3 else 18)

    assert sum(pick_law(scores, a)) == 1
    for closed, own in zip(pick_law(scores, a), listed, strict=True):
        assert own <= closed <= own + rest


@pytest.mark.parametrize("scores", [(0, 0), (0, 1, 2), (7, 7, 7, 5), (4, 0, 4, 3, 3)])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(7, 3), Fraction(40)])
def test_picks_have_the_exact_law(scores, scale):
    """Frequencies agree with the law, at small and large scales."""
    law = pick_law(scores, Fraction(math.exp(-1 / scale)))

    assert agrees(draw(scores, scale), law)


def test_another_law_is_noticed():
    """The comparison can fail: a scale a quarter too small, ties that go to the first."""
    scores, scale = (4, 0, 4, 3, 3), Fraction(2)
    law = pick_law(scores, Fraction(math.exp(-1 / scale)))
    choices, noise = np.repeat(np.arange(MANY), 5), discrete_laplace(scale, MANY * 5)
    first = draw_choices(choices, np.tile(scores, MANY), noise, noisy=False)

    assert not agrees(draw(scores, scale * Fraction(3, 4)), law)
    assert not agrees(np.bincount(first % 5, minlength=5), law)


def test_without_noise_the_first_of_the_largest_is_picked():
    """The order is the schema's; candidates of several choices may be mixed."""
    choices = np.array([1, 0, 1, 0, 0, 2])
    scores = np.array([3, 5, 3, 2, 5, 0])

    picked = draw_choices(choices, scores, np.zeros(6, dtype=np.int64), noisy=False)

    assert picked.tolist() == [1, 0, 5]


def test_uniform_integers_stay_below_their_bounds_and_fill_them():
    """Each has its own bound; of a bound of 1 there is only 0."""
    own = random.Random(1)
    bounds = np.array([own.choice([1, 2, 3, 7]) for _ in range(20_000)])

    drawn = uniform_below(bounds)

    assert ((drawn >= 0) & (drawn < bounds)).all()
    for bound in (2, 3, 7):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        assert agrees(counts, [Fraction(1, bound)] * bound)
