"""The numerical search: it finds better rows than it is given."""

import numpy as np
import pytest

from pandas_blowfish.plan.linear import optimise as module
from pandas_blowfish.plan.linear.optimise import optimise


def all_ranges(cells):
    """Return every range of a line, ranges x cells."""
    low, high = np.triu_indices(cells)
    return ((low[:, None] <= np.arange(cells)) & (np.arange(cells) <= high[:, None])).astype(np.int64)


def near(cells, theta):
    """Return pairs of cells up to a distance."""
    pairs = np.column_stack(np.triu_indices(cells, 1))
    return pairs[pairs[:, 1] - pairs[:, 0] <= theta]


def error(rows, gram, pairs, parts):
    """Return the mean squared error at epsilon 1, by dense algebra."""
    padded = np.append(rows, np.zeros((len(rows), 1)), axis=1)
    change = np.abs(padded[:, pairs[:, 0]] - padded[:, pairs[:, 1]]).sum(axis=0).max()
    totals = np.array([parts == part for part in np.unique(parts[parts >= 0])], dtype=float)
    free = np.eye(len(parts)) - (np.linalg.pinv(totals) @ totals if len(totals) else 0)
    return 2 * change**2 * np.trace(gram @ np.linalg.pinv((rows @ free).T @ (rows @ free), rcond=1e-9))


@pytest.mark.parametrize(("theta", "most"), [(1, 1.0), (3, 0.95), (8, 1.0)])
def test_finds_better_rows_than_single_cells_and_prefix_sums(theta, most):
    """The rows found are whole, and their error is below that of every start."""
    queries, pairs, parts = all_ranges(16), near(16, theta), np.zeros(16, dtype=np.int64)
    gram = queries.T @ queries / len(queries)
    starts = [np.eye(16), np.tril(np.ones((16, 16)))[:-1]]

    found = optimise(gram, pairs, parts, starts)

    assert found.dtype == np.int64
    before = min(error(start, gram, pairs, parts) for start in starts)
    assert error(found, gram, pairs, parts) <= most * before * 1.001


@pytest.mark.parametrize("seed", range(12))
def test_rows_answer_the_queries(seed, monkeypatch):
    """Queries that are few are combinations of the rounded rows, with whatever totals and pairs."""
    monkeypatch.setattr(module, "MOST", 20)
    draw = np.random.default_rng(seed)
    cells = int(draw.integers(3, 9))
    queries = draw.integers(-5, 6, (int(draw.integers(1, cells)), cells))
    parts = draw.choice([-1, 0, 3], cells)
    pairs = np.array([(a, b) for a, b in np.column_stack(np.triu_indices(cells, 1)) if parts[a] == parts[b]])
    away = np.array([(a, cells) for a in range(cells) if parts[a] < 0], dtype=np.int64)
    pairs = np.concatenate([pairs.reshape(-1, 2), away.reshape(-1, 2)]).astype(np.int64)
    gram = queries.T @ queries / len(queries)

    found = optimise(gram, pairs, parts, [np.eye(cells)], queries)

    totals = np.array([parts == part for part in np.unique(parts[parts >= 0])]).reshape(-1, cells)
    known = np.concatenate([found, totals])
    assert np.linalg.matrix_rank(np.concatenate([known, queries])) == np.linalg.matrix_rank(known)
    assert optimise(gram, pairs, parts, [np.eye(cells)], queries) is found
