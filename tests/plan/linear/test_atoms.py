"""Atoms hold cells that no query tells apart, and answers are sums over them."""

import random

import numpy as np
import pytest
from scipy.sparse import csr_array

from pandas_blowfish.plan.linear import atoms as module
from pandas_blowfish.plan.linear.atoms import column_classes, gather
from pandas_blowfish.queries.call.scope import Scope


@pytest.mark.parametrize("seed", range(30))
def test_classes_are_equal_columns(seed):
    """Two columns have one number exactly when they are equal; 0 is the zero column."""
    draw = np.random.default_rng(seed)
    matrix = draw.integers(-1, 2, (int(draw.integers(1, 5)), int(draw.integers(1, 30))))

    classes = column_classes(csr_array(matrix))

    same = (matrix[:, :, None] == matrix[:, None, :]).all(axis=0)
    assert ((classes[:, None] == classes[None, :]) == same).all()
    assert ((classes == 0) == (matrix == 0).all(axis=0)).all()


@pytest.mark.parametrize("split", [0, 1_024])
@pytest.mark.parametrize("seed", range(60))
def test_answers_are_those_of_the_matrix(seed, split, make_full_policy, make_filter, monkeypatch):
    """Answers from atoms are the matrix times the cells that pass the filter, group by group."""
    monkeypatch.setattr(module, "MAX_SPLIT", split)
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 3), 4)
    names = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
    scope = Scope().where(policy, make_filter(draw, policy.domain), {}) if draw.random() < 0.5 else Scope()
    tally = scope.tally(policy, names, None)
    cells = policy.domain[names[-1]].size
    matrix = np.array([[draw.randint(-1, 1) for _ in range(cells)] for _ in range(3)])
    counts = np.array([draw.randint(0, 9) for _ in range(tally.domain.size)])
    bins = tally.labels()
    by_bin = np.bincount(bins[bins >= 0], counts[bins >= 0], tally.size).astype(np.int64)

    found = gather(policy.graph.project(tally.domain.columns), tally, csr_array(matrix))

    atoms = found.counts(by_bin)
    assert (found.queries @ atoms).tolist() == (by_bin.reshape(-1, cells) @ matrix.T).ravel().tolist()
    assert found.totals(atoms).tolist() == (found.total_rows @ atoms).tolist()
    less = found.less_totals(found.queries)
    assert less.shape == found.queries.shape
    assert found.links.change(less) == found.links.change(found.queries)
    assert (found.links.changing(found.queries) == found.links.changing(less)).all()
    assert not found.links.changing(found.queries[:, :] * 0).any()
