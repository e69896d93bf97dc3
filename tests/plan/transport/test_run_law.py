"""How noise of least runs varies: against every point of small lines, and what is kept of long ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.exact.least_runs import least_runs
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.transport.run_law import LineLaw, RunLaw


def dense(reach, cuts, scale, most):
    """Return the covariances over every point of a box, whose rest is negligible."""
    points = np.array(list(itertools.product(range(-most, most + 1), repeat=cuts)))
    weight = np.exp(-least_runs(points, np.arange(cuts) == 0, reach) / float(scale))
    return (points.T * weight) @ points / weight.sum()


@pytest.mark.parametrize(
    ("reach", "cuts", "most"), [(2, 1, 30), (2, 3, 13), (3, 3, 13), (4, 4, 6), (8, 4, 6)]
)
def test_covariances_are_those_of_all_points(reach, cuts, most):
    """Each of them, on a line so short that both ends are near."""
    scale = Fraction(1, 4) if most < 13 else Fraction(1, 2)

    law = RunLaw(reach, scale, cuts)

    exact = dense(reach, cuts, scale, most)
    low, high = np.triu_indices(cuts)
    assert law.covariance(low, high - low) == pytest.approx(exact[low, high], abs=2e-6)
    assert law.total == pytest.approx(exact.sum(), abs=1e-5)


def test_one_cut_has_laplace_noise():
    """With a single sum N is its absolute value, at any scale."""
    for scale in (Fraction(1, 30), Fraction(3), Fraction(10**9), Fraction(2**50), Fraction(10**40)):
        assert RunLaw(3, scale, 1).variance(np.array([0]))[0] == pytest.approx(variance(scale), rel=1e-6)
    assert RunLaw(3, Fraction(1, 5_000), 4).total == 0


@pytest.mark.parametrize("reach", [2, 4, 5])
def test_long_lines_are_like_shorter_ones_at_their_ends(reach):
    """What is kept of a line answers for any length: the same near the ends, the same in the middle."""
    long, short = RunLaw(reach, Fraction(2), 5_000), RunLaw(reach, Fraction(2), 400)
    apart = np.arange(0, 60)

    for from_end in (0, 1, 30):
        assert long.covariance(from_end + 0 * apart, apart) == pytest.approx(
            short.covariance(from_end + 0 * apart, apart), rel=1e-9, abs=1e-9
        )
        assert long.covariance(4_999 - from_end - apart, apart) == pytest.approx(
            short.covariance(from_end + 0 * apart, apart), rel=1e-9, abs=1e-9
        )
    assert long.variance(np.array([2_500])) == pytest.approx(short.variance(np.array([200])))
    every = [
        (1 + (d > 0)) * short.covariance(np.arange(400 - d), np.full(400 - d, d)).sum() for d in range(400)
    ]
    assert short.total == pytest.approx(sum(every), rel=1e-9)


def test_ranges_and_weighted_sums_over_segments_equal_dense_ones():
    """Sums within, over and up to segments, in either order; weights of any size."""
    sizes, scale = np.array([3, 1, 4, 3]), Fraction(1, 3)
    law, size = LineLaw(2, scale, sizes), 11
    cuts = np.zeros((size + 1, size + 1))
    start = 0
    for many in sizes.tolist():
        if many > 1:
            own = slice(start + 1, start + many)
            cuts[own, own] = dense(2, many - 1, scale, 9)
        start += many
    low, high = (each.ravel() for each in np.indices((size + 1, size + 1)))
    weights = np.random.default_rng(4).normal(size=(5, size))
    steps = np.pad(weights, ((0, 0), (1, 0))) - np.pad(weights, ((0, 0), (0, 1)))

    found = law.differences(low, high)

    exact = cuts[low, low] + cuts[high, high] - 2 * cuts[low, high]
    assert found == pytest.approx(exact, abs=1e-6)
    assert law.weigh(weights) == pytest.approx(np.einsum("si,ij,sj->s", steps, cuts, steps), abs=1e-6)
    first, last = np.triu_indices(size)
    assert law.every_range == pytest.approx(law.differences(first, last + 1).mean())
