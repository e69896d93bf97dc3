"""Variances and error bars of noise that query rows draw together, against the law point by point."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.joint_noise import (
    BOX,
    CLIQUE,
    Block,
    Joint,
    box,
    clique,
    clique_spread,
    clique_widening,
    joint_reach,
    joint_variances,
)
from pandas_blowfish.plan.joint_noise.joint_law import _squares
from pandas_blowfish.plan.scales import reach, variance, widest

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)
LAWS = [  # joint noise, its scale, how far away points are listed
    (clique([0, 1]), TWO, 60),
    (clique([0, 1, 2]), TWO, 60),
    (clique([0, 1, 2, 3]), ONE, 22),
    (clique([0, 1, 2, 3]), Fraction(1, 9), 8),
    (box([0], [1]), TWO, 60),
    (box([0], [5]), ONE, 200),
    (box([0, 1], [2, 3]), TWO, 230),
    (box([2, 0, 1], [1, 1, 2]), HALF, 40),
    (Joint((Block(CLIQUE, [0, 1, 2]), Block(BOX, [3], (2,)))), HALF, 24),
    (Joint((Block(CLIQUE, [0, 1]), Block(CLIQUE, [2, 3]))), ONE, 30),
    (Joint((Block(CLIQUE, [0]), Block(BOX, [1], (1,)))), ONE, 40),
]


def law(joint, scale, far):
    """Return all whole points that may come up, and their probabilities."""
    rows = np.sort(joint.rows)
    parts = [np.arange(-far, far + 1)] * len(rows)
    for block in joint.blocks:
        if block.kind == CLIQUE:
            parts[int(block.rows[-1])] = np.array([0])
    points = np.array(list(itertools.product(*parts)))
    for block in joint.blocks:
        if block.kind == CLIQUE:
            points[:, block.rows[-1]] = -points[:, block.rows[:-1]].sum(axis=1)
    weights = np.exp(-joint.measure(points) / float(scale))
    return points, weights / weights.sum()


@pytest.mark.parametrize(("joint", "scale", "far"), LAWS)
def test_variances_are_those_of_the_law(joint, scale, far):
    """Each variance is that of the points; errors go together as stated."""
    points, chances = law(joint, scale, far)

    found = joint_variances(joint, scale)

    covariance = (points * chances[:, None]).T @ points
    assert np.allclose(found, covariance[joint.rows, joint.rows], rtol=1e-5)
    expected = np.diag(np.diag(covariance))
    for block in joint.blocks:
        if block.kind == CLIQUE and len(block.rows) > 1:
            own = covariance[block.rows[0], block.rows[0]]
            expected[np.ix_(block.rows, block.rows)] = -own / (len(block.rows) - 1)
            expected[block.rows, block.rows] = own
    assert np.allclose(covariance, expected, atol=1e-6 * covariance.max())


@pytest.mark.parametrize(("joint", "scale", "far"), LAWS)
@pytest.mark.parametrize("level", ["0.1", "0.5", "0.95", "0.999"])
def test_reaches_cover(joint, scale, far, level):
    """With at least this probability noise stays within its reach, and hardly less would do."""
    points, chances = law(joint, scale, far)
    alone = len(joint.blocks) == 1
    for row in joint.rows.tolist():
        t = joint_reach(joint, scale, row, level)
        inside = np.bincount(np.abs(points[:, row]), chances).cumsum()

        assert inside[min(t, len(inside) - 1)] >= float(level) - 1e-7
        if alone or (joint.blocks[-1].kind == BOX and row == joint.blocks[-1].rows[0]):
            assert t == 0 or inside[t - 1] < float(level)


@pytest.mark.parametrize("cells", [2, 3, 4])
def test_squares_are_those_of_the_points(cells):
    """The sum of the squares of a cell over each ball."""
    points = np.array(list(itertools.product(range(-4, 5), repeat=cells)))
    norms = clique(range(cells)).measure(points)

    expected = [(points[(norms >= 0) & (norms <= r), 0] ** 2).sum() for r in range(5)]

    assert _squares(cells, 5) == expected


def test_noise_of_one_row_is_discrete_laplace():
    """A box of one row of reach 1, and a clique of two cells, have the law of independent noise."""
    for scale in (Fraction(1, 3), Fraction(7), Fraction(10**7), Fraction(2**50)):
        for joint in (box([0], [1]), clique([0, 1])):
            assert joint_variances(joint, scale)[0] == pytest.approx(variance(scale), rel=1e-9)
        for level in ("0.5", "0.95", "0.9999"):
            exactly = reach(scale, level)
            assert joint_reach(clique([0, 1]), scale, 1, level) == pytest.approx(exactly, rel=1e-7)
            far = joint_reach(box([0], [1]), scale, 0, level)
            assert exactly <= far <= 1.01 * exactly + 1


def test_large_cliques_come_near_independent_noise():
    """Of many cells the condition that they sum to 0 is hardly felt: the variance comes near 7.84."""
    known = {3: 3.163, 4: 4.029, 8: 5.663, 10: 6.048, 16: 6.669, 64: 7.527}

    found = {k: round(joint_variances(clique(range(k)), ONE)[0], 3) for k in known}

    assert found == known
    assert joint_reach(clique(range(256)), ONE, 0, "0.95") in (5, 6)


def test_laws_of_any_size_are_told():
    """Wide noise of many rows, and noise so small that there is none."""
    wide = box(range(300), [10**6] * 300)

    assert joint_variances(wide, Fraction(10))[0] == pytest.approx(300**2 * 10**14 / 3, rel=0.05)
    assert joint_reach(wide, Fraction(10), 0, "0.95") == pytest.approx(math.sqrt(3) * 0.95 * 1.74e9, rel=0.05)
    assert joint_variances(wide, Fraction(1, 1000)).tolist() == [0.0] * 300
    assert joint_reach(wide, Fraction(1, 1000), 3, "0.95") == 0
    assert joint_reach(clique([4]), ONE, 4, "0.95") == 0


def test_bad_levels_and_rows_are_refused():
    """A level is a probability, and the row is one of those that draw together."""
    for level in (0, 1, 2):
        with pytest.raises(ArgumentError, match="level"):
            joint_reach(clique([0, 1]), ONE, 0, level)
    with pytest.raises(ArgumentError, match="draws no noise"):
        joint_reach(clique([0, 1]), ONE, 2, "0.5")


@pytest.mark.parametrize(("cells", "scale"), [(2, TWO), (3, ONE), (3, TWO), (4, ONE)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_sums_of_cliques_stay_within_widened_errors(cells, scale, level):
    """Weighted sums of noises that sum to 0 stay within the widened multiple of their standard error."""
    points, chances = law(clique(range(cells)), scale, 40 if cells < 4 else 22)
    draw = np.random.default_rng(cells)
    rounding = math.sqrt(float(2 * scale**2) / variance(scale))
    times = widest(level) * clique_widening([cells], scale) * rounding
    weights = [*np.tri(cells)[:-1], *draw.normal(size=(20, cells))]
    for each in weights:
        sums, std = points @ each, math.sqrt(clique_spread(cells, scale) * each.var() * cells)

        assert math.sqrt(float(chances @ sums**2)) == pytest.approx(std, rel=1e-5)
        assert chances[np.abs(sums) <= times * std + 1e-9].sum() >= level
