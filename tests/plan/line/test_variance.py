"""Exact variances of ranges on a nest: linear-time formulas against dense least squares."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.variance import Spread


def _nested(draw, lined, layout):
    families = len(Nest(lined.line, layout).families)
    weights = tuple(draw.randint(1, 9) for _ in range(families))
    return Nested("nested", lined.asked, lined.line, layout, weights, Fraction(draw.randint(1, 9), 7))


def _covariance(nested, lined, by_dense_bins):
    """Return how the estimates of single atoms vary together."""
    slow = by_dense_bins(nested, lined.kind("cells"))
    return slow.estimator @ np.diag(slow.noise) @ slow.estimator.T


@pytest.mark.parametrize("seed", range(40))
def test_weighted_sums_match_dense_least_squares(seed, make_lined, make_layout, by_dense_bins):
    """The variance of any weighted sum of atoms, less what exact totals take away, is the dense one."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    nested = _nested(draw, lined, make_layout(draw, lined.line, seed % 3 == 0))
    if not nested.sensitivity:
        return
    weights = np.array([draw.uniform(-2, 2) for _ in range(lined.line.size)])
    covariance = _covariance(nested, lined, by_dense_bins)

    base, follows = nested.spread.weigh(weights)
    cuts = nested.spread.cuts()

    for line in range(lined.line.groups):
        part = slice(line * len(weights), (line + 1) * len(weights))
        slow = weights @ covariance[part, part] @ weights
        assert base - (follows**2 * cuts[line]).sum() == pytest.approx(slow, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_atoms_are_ranges_of_one(seed, make_lined, make_layout):
    """The short way to single atoms agrees with the way for ranges."""
    draw = random.Random(100 + seed)
    lined = make_lined(draw)
    spread = _nested(draw, lined, make_layout(draw, lined.line, seed % 3 == 0)).spread
    atoms = np.arange(lined.line.size)

    found = spread.ranges(atoms, atoms + 1)

    if not lined.line.open:
        assert spread.atoms() == pytest.approx(found.base, rel=1e-6, abs=1e-9)
        assert not found.low.any()
        assert not found.high.any()
    assert (found.first == found.last).all()


def test_a_line_of_threshold_one_is_two_prefixes(line_of):
    """A range between two prefixes of variance v varies by 2 v, at the end of the line by v."""
    from pandas_blowfish.plan.line.nest import Layout

    spread = Spread(Nest(line_of(6, 1).line, Layout(1)), [3.0])

    found = spread.ranges(np.array([0, 1, 2, 0]), np.array([2, 3, 6, 6]))

    assert found.base == pytest.approx([3, 6, 3, 0])
    assert (spread.cuts() == 0).all()
