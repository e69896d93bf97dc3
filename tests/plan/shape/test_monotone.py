"""Cumulative counts of the right shape: the nearest ones, as a quadratic programme finds them."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from pandas_blowfish.plan.shape.monotone import monotone


def _programme(positions, weights, total):
    """Return the nearest rising sequence from 0, with its end fixed unless total is None."""
    many = len(positions)
    rises = np.eye(many) - np.eye(many, k=-1)
    limits = [LinearConstraint(rises, 0, np.inf)]
    if total is not None:
        limits.append(LinearConstraint(np.eye(many)[-1:], total, total))
    start = np.linspace(0, 1, many) * (1 if total is None else total)
    found = minimize(
        lambda x: float((weights * (x - positions) ** 2).sum()),
        start,
        jac=lambda x: 2 * weights * (x - positions),
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("seed", range(30))
def test_matches_quadratic_programme(seed):
    """One segment, with and without exact total, with and without weights."""
    draw = np.random.default_rng(seed)
    many = int(draw.integers(1, 9))
    positions = np.append(0.0, np.cumsum(draw.normal(0.5, 2, many)))
    weights = draw.uniform(0.2, 3, many + 1) if seed % 2 else None
    exact = seed % 3 > 0
    if exact:
        positions[-1] = abs(positions[-1])

    found = monotone(positions[None, :], np.array([0]), np.array([[exact]]), weights)[0]
    own = np.ones(many) if weights is None else weights[1:]
    slow = _programme(positions[1:], own, positions[-1] if exact else None)

    assert found[0] == 0
    assert found[1:] == pytest.approx(slow, abs=2e-4)


def test_segments_are_fitted_one_by_one():
    """Each segment rises from where the one before ended, and keeps its own exact total."""
    draw = np.random.default_rng(5)
    starts = np.array([0, 3, 4, 8])
    positions = np.concatenate([np.zeros((2, 1)), np.cumsum(draw.normal(1, 3, (2, 10)), axis=1)], axis=1)
    exact = np.array([[True, False, True, False], [False, True, False, False]])

    found = monotone(positions, starts, exact)

    ends = np.append(starts[1:], 10)
    assert (np.diff(found, axis=1) >= -1e-12).all()
    for line in range(2):
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            inside = positions[line, start + 1 : end + 1] - positions[line, start]
            own = np.append(0.0, inside)[None, :]
            alone = monotone(own, np.array([0]), exact[line : line + 1, number : number + 1])[0]
            assert found[line, start : end + 1] - found[line, start] == pytest.approx(alone)
            if exact[line, number] and end - start > 1:
                assert alone[-1] == pytest.approx(max(inside[-1], 0))


def test_what_is_right_stays():
    """A rising sequence from 0 is its own nearest."""
    positions = np.array([[0.0, 1, 1, 4, 9]])

    assert monotone(positions, np.array([0]), np.array([[True]])).tolist() == positions.tolist()
    assert monotone(positions, np.arange(4), np.full((1, 4), False)).tolist() == positions.tolist()


def test_weights_of_each_line():
    """Weights by line are those of every line by itself."""
    draw = np.random.default_rng(9)
    positions = np.concatenate([np.zeros((3, 1)), np.cumsum(draw.normal(0.5, 2, (3, 8)), axis=1)], axis=1)
    weights, starts, exact = draw.uniform(0.2, 3, (3, 9)), np.array([0, 5]), np.zeros((3, 2), dtype=bool)

    together = monotone(positions, starts, exact, weights)

    for line in range(3):
        alone = monotone(positions[line : line + 1], starts, exact[:1], weights[line])
        assert np.array_equal(together[line], alone[0])
