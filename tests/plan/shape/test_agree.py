"""Counts that agree with known sums: the nearest ones, exactly, and no worse than without."""

import random

import numpy as np
import pytest
from scipy.optimize import linprog

from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.shape import agree as module
from pandas_blowfish.plan.shape.agree import agree, settle_counts


def _dense(families, size):
    """Return known sums x counts."""
    rows = []
    for family in families:
        groups = np.zeros((len(family.totals) if family.rows is None else family.rows.shape[1], size))
        inside = np.flatnonzero(family.labels >= 0)
        groups[family.labels[inside], inside] = 1
        rows.append(groups if family.rows is None else family.rows @ groups)
    return np.concatenate(rows)


def _random_families(draw, truth):
    """Return known sums of a table: labels, and sums of overlapping groups."""
    size, families = len(truth), []
    for _ in range(draw.randint(1, 3)):
        groups = draw.randint(1, size)
        labels = np.array([draw.randint(-1, groups - 1) for _ in range(size)])
        sums = np.bincount(labels[labels >= 0], truth[labels >= 0], groups).astype(np.int64)
        if draw.random() < 0.5:
            families.append(Family(labels, sums))
        else:
            rows = np.array([[draw.randint(-1, 2) for _ in range(groups)] for _ in range(2)])
            families.append(Family(labels, rows @ sums, rows))
    return families


@pytest.mark.parametrize("seed", range(150))
def test_matches_a_quadratic_programme(seed):
    """The result has the known sums, and prices of sums exist that make it the nearest such counts."""
    draw = random.Random(seed)
    size = draw.randint(1, 12)
    truth = np.array([draw.choice([0, 0, 1, 5, 40]) for _ in range(size)])
    families = _random_families(draw, truth)
    counts = truth + np.array([draw.gauss(0, 4) for _ in range(size)])
    spread = np.array([draw.choice([0.5, 1.0, 3.0]) for _ in range(size)]) if seed % 2 else np.ones(size)
    if seed % 3 == 0:
        fixed = np.array([draw.random() < 0.2 for _ in range(size)])
        counts[fixed], spread[fixed] = truth[fixed], 0.0
    rows = _dense(families, size)
    totals = np.concatenate([family.totals for family in families])

    for positive in (True, False):
        found = agree(counts, families, positive=positive, spread=spread)

        assert np.allclose(rows @ found, totals, rtol=0, atol=1e-9 * max(1, truth.sum()))
        assert np.array_equal(found[spread == 0], counts[spread == 0])
        moves = spread > 0
        moved = (found - counts)[moves] / spread[moves]
        up = (found > 1e-9)[moves] if positive else np.ones(int(moves.sum()), dtype=bool)
        lifts = rows[:, moves].T  # moved = lifts @ prices where a count is positive, else at least that
        near = 1e-7 * max(1.0, float(np.abs(moved).max(initial=0)))
        above = np.concatenate([lifts, -lifts[up]])
        most = np.concatenate([moved + near, -moved[up] + near])
        priced = linprog(np.zeros(len(rows)), A_ub=above, b_ub=most, bounds=(None, None))
        assert priced.status == 0


@pytest.mark.parametrize("positive", [True, False])
def test_agreed_counts_stay_as_they_are(positive):
    """What has the known sums already is not moved."""
    truth = np.arange(20)
    families = [Family(np.arange(20) % 3, np.bincount(np.arange(20) % 3, truth).astype(int))]

    assert np.allclose(agree(truth.astype(float), families, positive=positive), truth, atol=1e-12)


def test_two_marginals_of_many_cells():
    """A quarter of a million cells with both marginals known, zeros among them: by conjugate gradients."""
    random_numbers = np.random.default_rng(1)
    truth = random_numbers.poisson(0.3, (500, 500))
    truth[:50] = 0
    cells = np.arange(500 * 500)
    families = [Family(cells // 500, truth.sum(axis=1)), Family(cells % 500, truth.sum(axis=0))]
    noisy = truth.ravel() + random_numbers.laplace(0, 2, truth.size)

    for positive in (True, False):
        found = agree(noisy, families, positive=positive).reshape(500, 500)

        assert np.allclose(found.sum(axis=1), truth.sum(axis=1), rtol=0, atol=1e-7)
        assert np.allclose(found.sum(axis=0), truth.sum(axis=0), rtol=0, atol=1e-7)
        assert not positive or found.min() >= 0


def test_what_is_settled_is_whole():
    """Counts known one by one, and what they leave of a known sum, are exactly whole."""
    counts = np.array([2.3, -1.0, 8.8, 0.1])
    labels = [[0, -1, 1, -1], [0, 0, 0, 0], [0, 0, 0, -1]]
    totals = [[3, 7], [12], [10]]
    known = [Family(np.array(own), np.array(each)) for own, each in zip(labels, totals, strict=True)]

    assert agree(counts, known, positive=True).tolist() == [3.0, 0.0, 7.0, 2.0]
    assert settle_counts(known, 4).tolist() == [3.0, 0.0, 7.0, 2.0]


@pytest.mark.parametrize("positive", [True, False])
def test_contradictions_do_not_raise(positive):
    """Answers that no table has lead to something near, and not to an error."""
    labels = np.array([0, 0, 0])
    families = [Family(labels, np.array([5])), Family(np.array([0, 0, 1]), np.array([9, -3]))]
    more = [Family(labels, np.array([1, 2]), np.array([[1], [1]]))]

    for each in (families, more, [*families, *more]):
        assert np.isfinite(agree(np.array([1.0, 2.0, 3.0]), each, positive=positive)).all()


def test_where_newton_stops_early(monkeypatch):
    """Without its last steps a linear programme finds counts with the known sums."""
    random_numbers = np.random.default_rng(4)
    truth = random_numbers.poisson(0.4, (12, 15))
    cells = np.arange(truth.size)
    families = [Family(cells // 15, truth.sum(axis=1)), Family(cells % 15, truth.sum(axis=0))]
    noisy = truth.ravel() + random_numbers.laplace(0, 50, truth.size)
    monkeypatch.setattr(module, "STEPS", 1)

    found = agree(noisy, families, positive=True).reshape(truth.shape)

    assert found.min() >= 0
    assert np.allclose(found.sum(axis=1), truth.sum(axis=1), rtol=0, atol=1e-7)
    assert np.allclose(found.sum(axis=0), truth.sum(axis=0), rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_noise_far_above_the_counts(seed):
    """Counts of a few rows under noise of thousands: sums still are the known ones, nothing is negative."""
    random_numbers = np.random.default_rng(seed)
    truth = random_numbers.poisson(0.5, 150)
    families = []
    for _ in range(3):
        labels = random_numbers.integers(-1, 40, 150)
        kept = labels >= 0
        families.append(Family(labels, np.bincount(labels[kept], truth[kept], 40).astype(np.int64)))

    found = agree(truth + random_numbers.laplace(0, 5_000, 150), families, positive=True)

    totals = np.concatenate([family.totals for family in families])
    assert found.min() >= 0
    assert np.allclose(_dense(families, 150) @ found, totals, rtol=0, atol=1e-7)


def test_known_sums_do_not_make_counts_worse():
    """Over a hundred noises the squared error falls, most of all with the most known."""
    random_numbers = np.random.default_rng(3)
    truth = random_numbers.poisson(1.5, 60)
    cells, errors = np.arange(60), {}
    ways = {
        "total": [Family(cells * 0, np.array([truth.sum()]))],
        "tens": [Family(cells // 10, truth.reshape(6, 10).sum(axis=1))],
        "twos": [Family(cells // 2, truth.reshape(30, 2).sum(axis=1))],
    }
    noises = random_numbers.laplace(0, 2, (100, 60))

    for positive in (True, False):
        for name, families in ways.items():
            found = np.array([agree(truth + each, families, positive=positive) for each in noises])
            errors[name] = float(((found - truth) ** 2).mean())
        assert errors["twos"] < errors["tens"] < errors["total"] < (noises**2).mean()
