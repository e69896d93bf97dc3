"""The numerical search: its slopes, and that it finds better rows than it is given."""

import numpy as np
import pytest

from pandas_blowfish.plan.linear import optimise as module
from pandas_blowfish.plan.linear.optimise import Problem, optimise


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


@pytest.mark.parametrize("parts", [[0] * 6, [-1] * 6, [0, 0, 0, 2, 2, -1]])
@pytest.mark.parametrize("narrow", [False, True])
def test_slopes_match_differences(parts, narrow):
    """The gradient is that of the smooth error."""
    draw = np.random.default_rng(1)
    queries = draw.integers(-2, 3, (3 if narrow else 9, 6))
    pairs = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [5, 6]])
    problem = Problem.of(queries.T @ queries / len(queries), pairs, np.array(parts))
    problem = problem.narrow_to(queries) if narrow else problem
    values = problem.normalise(problem.values(draw.normal(size=(8, 6))))

    _, slope = problem.smooth(values, 0.01, 20.0)

    for place in [(0, 0), (1, 3), (-1, -1)]:
        step = np.zeros_like(values)
        step[place] = 1e-6
        high, low = (problem.smooth(values + sign * step, 0.01, 20.0)[0] for sign in (1, -1))
        assert slope[place] == pytest.approx((high - low) / 2e-6, rel=1e-3, abs=1e-4)


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


def test_numbers_stay_small():
    """Combinations of large queries that edges hardly change are taken on a coarser lattice, up to 2^31."""
    draw, cells = np.random.default_rng(0), 60
    queries = np.array([np.arange(cells) * 17_000 + draw.integers(0, 40, cells) for _ in range(3)])
    pairs, parts = near(cells, 1), np.zeros(cells, dtype=np.int64)
    gram = queries.T @ queries / len(queries)

    problem = Problem.of(gram, pairs, parts).narrow_to(queries)
    mixed = draw.normal(size=(3, 3)) @ queries
    rows = problem.whole_rows(problem.normalise(problem.values(mixed)))

    assert 2**29 < np.abs(rows).max() <= 2**31
    assert np.gcd.reduce(rows, axis=None) == 1
    assert np.gcd.reduce(problem.whole_rows(problem.values(queries)), axis=None) == 1
    goal = error(mixed, gram, pairs, parts)
    assert error(rows, gram, pairs, parts) == pytest.approx(goal, rel=2e-2)
