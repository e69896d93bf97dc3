"""The audit of tables whose noise is drawn together: by definition, edge by edge, norm by norm."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.worst_case import closure, closure_graph
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 8, 50


def norm(kind, changes, reaches):
    """Return the norm of a block's change, infinite where its noise cannot make up for it."""
    if kind == "box":
        return max(-(-abs(int(each)) // reach) for each, reach in zip(changes, reaches, strict=True))
    return Fraction(int(np.abs(changes).sum()), 2) if changes.sum() == 0 else math.inf


def loss_of(change, scales):
    """Return what a change of all query rows loses, as the densities of their noise say."""
    lost = Fraction(0)
    for code, scale in enumerate(scales.values):
        if code in scales.joint:
            blocks = scales.joint[code].blocks
            length = max(norm(each.kind, change[each.rows], each.reaches) for each in blocks)
        else:
            length = int(np.abs(change[scales.codes == code]).sum())
        if length == math.inf or (length and not scale):
            return math.inf
        lost += Fraction(length) / scale if length else 0
    return lost


def worst_of(measured, edges):
    """Return the largest loss over edges; "absent" is a column of zeros."""
    matrix = measured.matrix().toarray()
    matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=matrix.dtype)])
    changes = np.unique((matrix[:, edges[:, 1]] - matrix[:, edges[:, 0]]).T, axis=0)
    return max((loss_of(change, measured.scales) for change in changes), default=Fraction(0))


def random_tables(draw, columns, *, apart):
    """Return some sets of columns, each once; where apart none that share a column."""
    if apart:
        names = draw.sample(columns, len(columns))
        cut = 2 if len(names) > 2 and draw.random() < 0.5 else 1
        return [names[:cut], *[[each] for each in names[cut:]]]
    every = [list(each) for n in (1, 2, 3) for each in itertools.combinations(columns, n)]
    return draw.sample(every, min(len(every), draw.randint(2, 5)))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_filter):
    """No instance loses more than epsilon; without a filter most lose all of it."""
    found = tight = 0
    for number in range(EACH):
        draw = random.Random(9_000 + chunk * EACH + number)
        policy = make_full_policy(draw, draw.randint(2, 3), 3)
        names, scope = list(policy.domain.columns), policy.plan
        filtered, grouped = draw.random() < 0.3, len(names) > 2 and draw.random() < 0.3
        if filtered:
            scope = scope.where(make_filter(draw, policy.domain))
        if grouped:
            scope, names = scope.groupby(names[0]), names[1:]
        tables = random_tables(draw, names, apart=draw.random() < 0.5)
        if len(tables) < 2:
            continue
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        try:
            plan = scope.marginal(tables, epsilon=epsilon, strategy="cliques")
        except ArgumentError:
            continue
        edges = definition_edges(policy, plan.domain.columns)

        loss = worst_of(plan.measurement, edges)

        assert loss <= epsilon
        assert loss <= plan.cost
        if plan.sensitivity and not filtered:
            found += 1
            tight += loss == epsilon

    assert found > EACH / 8
    assert tight / found >= 0.9
