"""Tables that agree, made non-negative: they agree as before, and moved hardly further than they had to."""

import itertools
import math
import random

import numpy as np
import pytest
from scipy.optimize import minimize

import pandas_blowfish as bf
from pandas_blowfish.plan.shape import nonnegative
from pandas_blowfish.plan.shape.nonnegative import Agreement, TableLimits, lift, settle
from pandas_blowfish.policy.domain import Domain, integers

SIZES = (2, 3, 4, 2)


def _groups(draw):
    return tuple(np.unique([draw.randint(0, 1) for _ in range(n)], return_inverse=True)[1] for n in SIZES)


def _agreeing(order, joint):
    parts = [joint.sum(axis=tuple(p for p in range(4) if p not in places)) for places in order]
    return np.concatenate([np.ravel(part) for part in parts])


def _case(seed):
    """Return some tables, groups or None, noise, and a matrix that takes a joint table to all of them."""
    draw = random.Random(seed)
    sets = [c for n in range(1, 4) for c in itertools.combinations(range(4), n)]
    order = tuple(draw.sample(sets, draw.randint(2, 6)))
    joint = np.random.default_rng(seed).integers(0, 5, SIZES).astype(float)
    groups = _groups(draw) if seed % 2 else None
    spans = np.array([_agreeing(order, each.reshape(SIZES)) for each in np.eye(math.prod(SIZES))]).T
    return order, groups, joint, spans


def _totals(order, groups, listed):
    """Return the totals of products of groups of every table."""
    if groups is None:
        return np.zeros(0)
    found, at = [], 0
    for places in order:
        label = nonnegative.number_products([groups[place] for place in places])
        found.append(np.bincount(label, listed[at : at + len(label)]))
        at += len(label)
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(40))
def test_moves_are_projections_on_what_agrees(seed):
    """With an ease of 1 a move is the nearest of those that a joint table makes, exact totals kept."""
    order, groups, _, spans = _case(seed)
    agreement = Agreement(SIZES, order, groups)
    wish = np.random.default_rng(seed).normal(size=spans.shape[0])

    found = agreement.move(wish)

    kept = np.array([_totals(order, groups, column) for column in spans.T]).T
    free = spans
    if kept.size:
        _, sizes, right = np.linalg.svd(kept)
        free = spans @ right[int((sizes > 1e-9).sum()) :].T
    basis, sizes, _ = np.linalg.svd(free, full_matrices=False)
    basis = basis[:, sizes > 1e-9]
    assert np.allclose(found, basis @ (basis.T @ wish), atol=1e-9)
    assert np.allclose(_totals(order, groups, found), 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("still", [((),), ((), (0, 1))])
def test_lifted_tables_agree_and_are_not_negative(seed, still):
    """What agreed agrees, totals and known tables stay, whatever the noise."""
    order, groups, joint, spans = _case(seed)
    noise = np.random.default_rng(seed).normal(scale=3.0 * 10 ** (seed % 3), size=SIZES)
    truth = _agreeing(order, joint)
    start = truth + Agreement(SIZES, order, groups, 1.0, still).move(_agreeing(order, noise))

    found = lift(start, Agreement(SIZES, order, groups, 0.5, still), TableLimits(np.maximum(truth, 1e-3)))

    assert found is not None
    assert found.min() >= 0
    left = found - spans @ np.linalg.lstsq(spans, found, rcond=None)[0]
    assert np.abs(left).max() <= 1e-9 * max(1.0, np.abs(start).max())
    assert np.allclose(_totals(order, groups, found), _totals(order, groups, truth), atol=1e-8)
    for places, other in ((p, o) for p in still for o in order if set(p) <= set(o)):
        at = int(sum(math.prod(SIZES[q] for q in each) for each in order[: order.index(other)]))
        shape = [SIZES[place] for place in other]
        table = found[at : at + math.prod(shape)].reshape(shape)
        rest = tuple(rank for rank, place in enumerate(other) if place not in places)
        true = joint.sum(axis=tuple(place for place in range(4) if place not in places))
        assert np.allclose(table.sum(axis=rest), true, atol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_nearly_the_nearest_of_a_quadratic_programme(seed, monkeypatch):
    """With an ease of 1 and hardly a floor tables are nearly the nearest that are not negative."""
    order, _, joint, spans = _case(2 * seed)
    monkeypatch.setattr(nonnegative, "FLOORS", (1e-9, 1e-9, 1e-9))
    monkeypatch.setattr(nonnegative, "WORK", 1e12)
    monkeypatch.setattr(nonnegative, "ROUNDS", 20_000)
    start = _agreeing(order, joint + np.random.default_rng(seed).normal(scale=4.0, size=SIZES))

    found = lift(start, Agreement(SIZES, order, None), TableLimits(np.ones(len(start))))

    basis, sizes, _ = np.linalg.svd(spans, full_matrices=False)
    basis = basis[:, sizes > 1e-9]
    programme = minimize(
        lambda at: (((basis @ at - start) ** 2).sum(), 2 * basis.T @ (basis @ at - start)),
        basis.T @ np.maximum(start, 0.0),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda at: basis @ at, "jac": lambda at: basis},
        options={"maxiter": 1_000, "ftol": 1e-12},
    )
    assert found is not None
    assert ((found - start) ** 2).sum() <= 1.01 * programme.fun + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_tables_that_are_not_negative_stay(seed):
    """Zeros stay zeros, to the last digit."""
    order, groups, joint, _ = _case(seed)
    start = _agreeing(order, np.where(joint < 3, 0.0, joint))

    found = lift(start, Agreement(SIZES, order, groups, 0.5, ((),)), TableLimits(np.ones(len(start))))

    assert np.array_equal(found, start)


def test_what_cannot_be_settles_at_nothing():
    """The nearest tables that agree and are 0 in some cells."""
    order = ((0, 1), (1, 2))
    start = _agreeing(order, np.random.default_rng(1).normal(size=SIZES))
    even = np.ones(len(start))
    even[:2] = 0.0

    found = settle(start, start, Agreement(SIZES, order, None), TableLimits(even))

    one, two = found[:6].reshape(2, 3), found[6:].reshape(3, 4)
    assert np.allclose(found[:2], 0, atol=1e-12)
    assert np.allclose(one.sum(axis=0), two.sum(axis=1))


def _pairs(**options):
    import pandas as pd

    domain = Domain(tuple(integers(name, 0, 9) for name in "abcdef"))
    draws = np.random.default_rng(2)
    rows = pd.DataFrame({name: np.minimum(draws.geometric(0.3, 2_000) - 1, 9) for name in domain.columns})
    return rows.blowfish.protect(bf.Policy(domain, **options), epsilon=1_000)


@pytest.mark.parametrize("options", [{}, {"presence": True}], ids=str)
def test_lifting_brings_sparse_tables_closer(options):
    """The squared error of all counts falls, that of sums of ten does not grow, the rows stay as many."""
    df = _pairs(**options)
    errors = {"signed": [], True: []}
    for seed, post in itertools.product(range(3), errors):
        with bf.testing.replay(seed):
            tables = df.blowfish.marginal(list("abcdef"), order=2, epsilon="0.5", post=post)
        for key, frame in tables.items():
            truth = df.groupby(list(key)).size().reindex(frame.index, fill_value=0)
            wrong = frame["count"] - truth
            errors[post].append([(wrong**2).sum(), (wrong.groupby(level=0).sum() ** 2).sum()])
    single, tens = (np.array(errors[True]).sum(axis=0) / np.array(errors["signed"]).sum(axis=0)).tolist()

    assert single < 0.7
    assert tens < 1.1


def test_intervals_of_lifted_tables_cover():
    """The receipt states how far counts moved, so that intervals hold the truth as often as they say."""
    df = _pairs()
    inside = []
    for seed in range(3):
        with bf.testing.replay(seed):
            tables = df.blowfish.marginal(list("abcdef"), order=2, epsilon="0.5")
        for key, frame in tables.items():
            truth = df.groupby(list(key)).size().reindex(frame.index, fill_value=0)
            ends = frame.blowfish.interval(0.95)
            inside.append(((ends["low"] <= truth) & (truth <= ends["high"])).mean())

    assert np.mean(inside) >= 0.95
