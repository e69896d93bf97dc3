"""What a search for rows minimises: its slopes, and whole numbers that stay small."""

import numpy as np
import pytest

from pandas_blowfish.plan.linear.problem import Problem


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


def test_even_columns_have_equal_norms_and_less_error():
    """No two columns are further apart than 1, and the error falls."""
    size = 12
    pairs, parts = near(size, size), np.zeros(size, dtype=np.int64)
    problem = Problem.of(np.minimum.outer(np.arange(size, 0, -1.0), np.arange(size, 0, -1.0)), pairs, parts)
    start = np.concatenate([np.eye(size), np.kron(np.eye(4), np.ones((1, 3)))])

    found = problem.even_columns(start, 60)

    assert problem.complete
    assert problem.changes(found).max() == pytest.approx(1)
    assert problem.error(found) < 0.95 * problem.error(problem.normalise(problem.values(start)))


def test_some_pairs_stand_for_all():
    """Those of before and those that change most are looked at, however few are wanted."""
    pairs, parts = near(40, 30), np.zeros(40, dtype=np.int64)
    problem = Problem.of(np.eye(40), pairs, parts)
    values = problem.values(np.tril(np.ones((40, 40))))
    before = np.zeros(len(pairs), dtype=bool)
    before[0] = True

    some = problem.widest(values, before, 20)

    changes = problem.changes(values)
    assert some[0]
    assert some[changes == changes.max()].all()
    assert some.sum() < len(pairs) / 2
    assert problem.widest(values, before, len(pairs)).all()
