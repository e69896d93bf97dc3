"""Tables of at most two columns fitted to their sums: whatever the noise, they agree and are not negative."""

import itertools
import math

import numpy as np
import pytest

from pandas_blowfish.plan.shape import nonnegative
from pandas_blowfish.plan.shape.nonnegative import Agreement, TableLimits, lift
from pandas_blowfish.plan.shape.pairs import fit_pairs

SIZES = (2, 3, 5, 4)
PAIRS = tuple(itertools.combinations(range(4), 2))
ORDERS = (((0, 1), (1, 2), (0, 2), (2, 3)), ((0,), (0, 3), (1, 3)), PAIRS)


def _case(seed):
    """Return tables, groups or None, and counts that agree, with the totals of counts of people."""
    draws = np.random.default_rng(seed)
    order = ORDERS[seed % 3]
    groups = None
    if seed % 2:
        groups = tuple(np.unique(draws.integers(0, 3, n), return_inverse=True)[1] for n in SIZES)
    joint = draws.integers(0, 6, SIZES) * (draws.random(SIZES) < 0.4)
    if groups is not None and seed % 4 == 1:
        joint = np.where(groups[2][None, None, :, None] == 0, 0, joint)  # some totals are 0
    truth = np.concatenate([np.ravel(_marginal(joint, places)) for places in order]).astype(float)
    noise = draws.normal(scale=10.0 ** (seed % 5 - 1), size=len(truth))
    return order, groups, truth, truth + Agreement(SIZES, order, groups, 1.0, ((),)).move(noise)


def _marginal(joint, places):
    return joint.sum(axis=tuple(place for place in range(4) if place not in places))


def _tables(order, listed):
    shapes = [[SIZES[place] for place in places] for places in order]
    parts = np.split(listed, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _sums(order, listed):
    """Return for each column its sums, as every table that has it determines them."""
    found = {place: [] for place in range(4)}
    for places, table in zip(order, _tables(order, listed), strict=True):
        for axis, place in enumerate(places):
            found[place].append(table.sum(axis=tuple(n for n in range(table.ndim) if n != axis)))
    return {place: np.array(each) for place, each in found.items() if each}


def _totals(order, groups, listed):
    found = []
    for places, table in zip(order, _tables(order, listed), strict=True):
        own = [np.zeros(SIZES[place], dtype=int) if groups is None else groups[place] for place in places]
        found.append(np.bincount(nonnegative.number_products(own), table.ravel()))
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(60))
def test_sums_totals_and_signs_hold(seed):
    """Nothing is negative, tables agree, totals stay, and so do sums of columns that are not negative."""
    order, groups, truth, start = _case(seed)
    close = 1e-9 * max(1.0, np.abs(start).max())

    found = fit_pairs(start, SIZES, order, groups)

    assert found.min() >= 0
    assert np.allclose(_totals(order, groups, found), _totals(order, groups, truth), atol=close)
    before = _sums(order, start)
    for place, each in _sums(order, found).items():
        assert np.allclose(each, each[0], atol=close)
        if before[place].min() >= 0:
            assert np.allclose(each, before[place], atol=close)


@pytest.mark.parametrize("seed", range(10))
def test_tables_that_are_not_negative_stay(seed):
    """There is nothing to fit."""
    order, groups, truth, _ = _case(seed)

    assert np.allclose(fit_pairs(truth, SIZES, order, groups), truth, atol=1e-12)


@pytest.mark.parametrize("quick", [0.0, 1e12])
@pytest.mark.parametrize("seed", range(12))
def test_lifted_pairs_end_near_the_least_move(seed, quick, monkeypatch):
    """Fitted tables are about as near to the start as those of as many steps as it takes."""
    order, groups, truth, start = _case(4 * seed + 2 * (seed % 2))  # without groups
    agreement = Agreement(SIZES, order, groups, 0.5, ((),))
    limits = TableLimits(np.full(len(start), 0.1))
    monkeypatch.setattr(nonnegative, "QUICK", quick)

    found = lift(start, agreement, limits)
    monkeypatch.setattr(nonnegative, "ENOUGH", nonnegative.ROUNDS)
    longer = lift(start, agreement, limits)

    assert found.min() >= 0
    assert np.allclose(_totals(order, groups, found), _totals(order, groups, truth), atol=1e-7)
    assert np.linalg.norm(found - start) <= 1.05 * np.linalg.norm(longer - start) + 1e-6
