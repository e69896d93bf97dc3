"""Cumulative counts conditioned on known sums: the best linear estimates, by dense algebra."""

import random

import numpy as np
import pytest

from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.line import solve as module
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.solve import _pinned, condition_on, steady_inverse
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.shape.system import System


def _made(draw, lined, make_layout):
    """Return a measurement of every range: a tree, or a nest of any layout."""
    asked = lined.asked
    if draw.random() < 0.4:
        return Tree(asked, lined.line, 1)
    layout = make_layout(draw, lined.line)
    nest = Nested("made", asked, lined.line, layout, (1,), 1).nest
    weights = tuple(draw.randint(1, 4) for _ in nest.families)
    return Nested("made", asked, lined.line, layout, weights, 1)


@pytest.mark.parametrize("seed", range(60))
def test_equals_dense_conditioning(seed, line_of, make_layout, by_dense_bins):
    """Estimates and variances are the conditional ones of generalised least squares."""
    draw = random.Random(seed)
    size = draw.randint(2, 9)
    lined = line_of(size, draw.choice([0, 1, 3]))
    made = _made(draw, lined, make_layout)
    values = np.array([draw.randint(-9, 30) for _ in range(len(made.scales))])
    positions = _pinned(made.line, made.positions(values))
    groups = draw.randint(1, size)
    labels = np.array([draw.randint(-1, groups - 1) for _ in range(size)])
    system = System.build([Family(labels, np.array([draw.randint(0, 30) for _ in range(groups)]))], size)

    found = condition_on(made, positions, system)

    assert found is not None
    prefixes = lined.kind("prefixes")
    dense = by_dense_bins(made, prefixes)
    spread = (dense.estimator * dense.noise) @ dense.estimator.T
    ends = np.eye(size) - np.eye(size, k=-1)  # counts from cumulative ones
    rows = np.zeros((groups, size))
    rows[labels[labels >= 0], np.flatnonzero(labels >= 0)] = 1
    rows = rows[rows.any(axis=1)] @ ends
    values, vectors = np.linalg.eigh(rows @ spread @ rows.T)
    vectors, values = vectors[:, values > 1e-9 * spread.max()], values[values > 1e-9 * spread.max()]
    pull = spread @ rows.T @ (vectors / values) @ vectors.T
    wanted = positions[0, 1:] + pull @ (system.totals - rows @ positions[0, 1:])
    left = np.diag(spread - pull @ rows @ spread)
    assert np.allclose(found[0][0, 1:], wanted, atol=1e-6)
    assert np.allclose(found[1][0, 1:], left, atol=1e-6)


def test_too_much_to_look_at(line_of, monkeypatch):
    """Beyond a number of covariances the caller must do without."""
    lined = line_of(8, 0)
    made = Tree(lined.asked, lined.line, 1)
    system = System.build([Family(np.arange(8) % 2, np.array([3, 4]))], 8)
    monkeypatch.setattr(module, "MAX_PAIRS", 10)

    assert condition_on(made, np.zeros((1, 9)), system) is None


def test_what_does_not_vary_is_left_out():
    """Covariances of no length have no part in the inverse."""
    whole = np.array([[2.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 2.0]])

    assert np.allclose(steady_inverse(whole, 1.0), np.linalg.pinv(whole))
    assert steady_inverse(np.full((2, 2), 1e-16), 1.0).tolist() == [[0.0, 0.0], [0.0, 0.0]]
