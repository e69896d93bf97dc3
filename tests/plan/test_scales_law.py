"""Variance and quantiles of the discrete Laplace, against sums of its probabilities."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.scales import reach, reach_of_sum, variance, widest

SCALES = [
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 2),
    Fraction(1),
    Fraction(2),
    Fraction(20),
    Fraction(1000, 3),
    Fraction(10**7, 3),
]


@pytest.mark.parametrize("scale", SCALES)
def test_variance_matches_the_sum(scale):
    """The closed form equals the sum of z^2 P(z)."""
    with mpmath.workdps(40):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        slow = (1 - a) / (1 + a) * 2 * mpmath.nsum(lambda z: z**2 * a**z, [1, mpmath.inf])

    assert variance(scale) == pytest.approx(float(slow), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("level", [0.5, 0.8, "0.95", 0.999, "0.999999999"])
def test_reach_is_least(scale, level):
    """P(|z| <= t) reaches the level, and t - 1 does not."""
    t = reach(scale, level)

    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        inside = lambda width: 1 - 2 * a ** (width + 1) / (1 + a) if width >= 0 else 0  # noqa: E731
        wanted = mpmath.mpf(str(level))
        assert inside(t) >= wanted
        assert inside(t - 1) < wanted


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, "x"])
def test_levels_lie_between_0_and_1(level):
    """A level outside (0, 1) is refused."""
    with pytest.raises(ArgumentError):
        reach(Fraction(1), level)


def test_no_noise_needs_no_interval():
    """An exact answer is its own interval."""
    assert reach(Fraction(0), 0.95) == 0
    assert variance(Fraction(0)) == 0


def test_absurd_scales_and_levels_have_an_answer():
    """Nothing overflows: next to no noise has no variance, noise beyond floats has infinite variance."""
    assert variance(Fraction(1, 10**400)) == 0
    assert variance(Fraction(10**400)) == float("inf")
    assert reach(Fraction(1, 10**400), 0.95) == 0
    assert reach(Fraction(1), "0." + "9" * 400) == 921


def _inside(weights, t):
    """Return P(|X| <= t) for a sum X of Laplace noises with variances w_i, from its characteristic function.

    P(|X| <= t) = (2 / pi) integral of sin(u t) / u * prod 1 / (1 + w_i u^2 / 2) over u > 0.
    """
    u = np.linspace(1e-9, 400, 400_001)
    law = np.prod([1 / (1 + weight * u**2 / 2) for weight in weights], axis=0)
    return 2 / np.pi * float(np.trapezoid(np.sin(u * t) / u * law, u))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_widest_covers_sums(level):
    """Any weights: one noise alone, two, many equal ones, one large among small ones, random ones."""
    draw = np.random.default_rng(0)
    mixes = [[1.0], [0.5, 0.5], [0.9, 0.1], [1 / 3] * 3, [0.02] * 50, [0.6] + [0.04] * 10]
    mixes += [draw.dirichlet(np.full(many, 0.5)).tolist() for many in (2, 3, 5, 20)]

    t = widest(level)

    worst = min(_inside(weights, t) for weights in mixes)
    assert worst >= level - 1e-5
    assert worst <= level + 0.06


def test_widest_is_not_below_one_noise_alone():
    """At high levels a single Laplace noise has the heaviest tail: its own quantile is reached."""
    for level in (0.95, 0.99, 0.999):
        assert widest(level) >= -np.log(1 - level) / 2**0.5
    assert widest("0.95") == widest(0.95)


@pytest.mark.parametrize("level", [0, 1, -1, 2])
def test_widest_takes_levels_between_0_and_1(level):
    """Others are refused."""
    with pytest.raises(ArgumentError):
        widest(level)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(20)])
@pytest.mark.parametrize("many", [1, 2, 3, 7])
def test_reach_of_sums_is_least(scale, many):
    """t covers the sum of that many noises with the level asked for, and t - 1 does not."""
    far = reach(scale, "0.9999999999999")
    one = np.exp(-np.abs(np.arange(-far, far + 1)) / float(scale))
    whole = np.array([1.0])
    for _ in range(many):
        whole = np.convolve(whole, one / one.sum())
    centre = far * many

    def inside(t):
        return whole[centre - t : centre + t + 1].sum() if t >= 0 else 0.0

    for level in (0.5, 0.9, 0.95, 0.99):
        t = reach_of_sum(scale, many, level)

        assert inside(t) >= level > inside(t - 1)


@pytest.mark.parametrize("scale", [10**16, 10**40, 10**300])
def test_reach_of_scales_beyond_noise_ends(scale):
    """Floats no longer tell t from t + 1: the reach is rounded up, and a negative scale is refused."""
    assert 2.9 * scale < reach(Fraction(scale), 0.95) < 3.8 * scale

    with pytest.raises(ArgumentError):
        reach(Fraction(-1), 0.95)
