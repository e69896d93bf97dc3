"""Rows found numerically: the least expected error of rows with Laplace noise, as far as descent finds it.

The error of measuring rows A is 2 L^2 tr(G (A^T A)^-1), with G = W^T W of the questions and L the largest L1
change of the rows along an edge. `by_columns` is for the policy whose every pair is joined, where L is at
most twice the largest L1 norm of a column: with A = u |u|, divided by column sums of u^2, that is a smooth
function of u without constraints. Rows for that policy serve every other. `by_edges` has any list of edges,
with the largest loss and absolute values made smooth, sharper from round to round. Both are checked against
plain formulas, and what they return is computed by these.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import csr_array

OPTIONS = {"gtol": 1e-9, "ftol": 1e-8, "maxcor": 20}
RIDGE = 1e-9  # of the diagonal: rows may leave directions out that nothing is asked about


def range_gram(cells: int) -> np.ndarray:
    """Return W^T W of all ranges, over cells, as a mean over the ranges."""
    place = np.arange(1, cells + 1)
    gram = np.minimum.outer(place, place) * (cells + 1.0 - np.maximum.outer(place, place))
    return gram / (cells * (cells + 1) / 2)


def prefix_gram(cells: int) -> np.ndarray:
    """Return W^T W of the prefix sums, over cells, as a mean; the last is public, and left out of it."""
    place = np.arange(cells)
    return (cells - 1.0 - np.maximum.outer(place, place)) / cells


def list_gram(queries: np.ndarray) -> np.ndarray:
    """Return W^T W of listed queries over cells, as a mean."""
    return queries.T @ queries / len(queries)


def tree(cells: int, branching: int) -> np.ndarray:
    """Return the rows of a tree: runs of cells, each cut into `branching` shorter ones."""
    size, rows = cells, []
    while size > 1:
        size = max(size // branching, 1)
        starts = np.arange(0, cells, size)
        rows.append((np.arange(cells) // size == starts[:, None] // size).astype(float))
    return np.vstack(rows)


def error_of(rows: np.ndarray, gram: np.ndarray, edges: np.ndarray) -> float:
    """Return the expected error of measuring some rows, by definition; the row count is public."""
    loss = max(
        np.abs(rows[:, part[:, 0]] - rows[:, part[:, 1]]).sum(axis=0).max()
        for part in np.array_split(edges, max(len(edges) // 4_096, 1))
    )
    return float(2 * loss**2 * np.trace(gram @ spread_of(rows)))


def spread_of(rows: np.ndarray) -> np.ndarray:
    """Return (A^T A)^-1 where the sum of all cells is public: errors never change it."""
    cells = rows.shape[1]
    square = rows.T @ rows
    square[np.diag_indices(cells)] += RIDGE * np.trace(square) / cells
    inverse = cho_solve(cho_factor(square), np.eye(cells))
    whole = inverse.sum(axis=1)
    return np.asarray(inverse - np.outer(whole, whole) / whole.sum())


def edges_of(cells: int, theta: int) -> np.ndarray:
    """Return the pairs of cells up to theta apart."""
    low, high = np.triu_indices(cells, 1)
    near = high - low <= theta
    return np.column_stack([low[near], high[near]])


def by_columns(gram: np.ndarray, start: np.ndarray, steps: int) -> np.ndarray:
    """Return rows near a start that do well where every pair of cells is joined."""
    shape = start.shape

    def goal(flat: np.ndarray) -> tuple[float, np.ndarray]:
        u = flat.reshape(shape)
        signed, norm = u * np.abs(u), 2 * (u * u).sum(axis=0)
        rows = signed / norm
        spread = spread_of(rows)
        pulled = gram @ spread
        error = np.trace(pulled)
        slope = -2 * rows @ (spread @ pulled) / error
        slope = 2 * np.abs(u) * slope / norm - (slope * signed).sum(axis=0) / norm**2 * 4 * u
        return float(np.log(error)), slope.ravel()

    u = np.sign(start) * np.sqrt(np.abs(start) / np.abs(start).sum(axis=0))
    found = minimize(goal, u.ravel(), method="L-BFGS-B", jac=True, options={**OPTIONS, "maxiter": steps})
    u = found.x.reshape(shape)
    return np.asarray(u * np.abs(u) / (2 * (u * u).sum(axis=0)))


def by_edges(
    gram: np.ndarray, edges: np.ndarray, start: np.ndarray, *, rounds: int = 5, steps: int = 60
) -> np.ndarray:
    """Return rows near a start that do well for a list of edges.

    Args:
        gram: W^T W over cells.
        edges: Pairs of cells.
        start: Rows x cells.
        rounds: How often the largest loss and absolute values are made sharper.
        steps: Descent steps in each.
    """
    shape, many = start.shape, len(edges)
    signs = np.concatenate([-np.ones(many), np.ones(many)])
    ends = csr_array((signs, (np.tile(np.arange(many), 2), edges.T.ravel())), shape=(many, shape[1]))

    def largest(rows: np.ndarray) -> float:
        return float(np.abs(ends @ rows.T).sum(axis=1).max())

    def goal(flat: np.ndarray, sharp: float, soft: float, size: float) -> tuple[float, np.ndarray]:
        rows = flat.reshape(shape)
        change = ends @ rows.T
        smooth = np.sqrt(change**2 + soft**2)
        losses = smooth.sum(axis=1)
        top = losses.max()
        powers = (losses / top) ** sharp
        spread = spread_of(rows)
        pulled = gram @ spread
        error, squares = np.trace(pulled), (rows**2).sum()
        drift = np.log(squares / size)  # scale means nothing: it stays where absolute values are smooth
        value = np.log(error) + 2 * (np.log(top) + np.log(powers.sum()) / sharp) + drift**2 / 2
        slope = -2 * rows @ (spread @ pulled) / error + 2 * drift * rows / squares
        slope += (ends.T @ (change / smooth * (2 * powers / powers.sum() / losses)[:, None])).T
        return float(value), slope.ravel()

    rows = start / largest(start)
    best = (error_of(rows, gram, edges), rows)
    for number in range(rounds):
        given = (40.0 * 2.5**number, 0.003 / 3.0**number, (rows**2).sum())
        options = {**OPTIONS, "maxiter": steps}
        found = minimize(goal, rows.ravel(), given, "L-BFGS-B", jac=True, options=options)
        rows = found.x.reshape(shape)
        rows = rows / largest(rows)
        best = min(best, (error_of(rows, gram, edges), rows), key=lambda each: each[0])
    return best[1]


def check() -> None:
    """Compare errors with plain formulas in small cases, and optima with known ones."""
    random, cells = np.random.default_rng(3), 6
    runs = itertools.combinations(range(cells + 1), 2)
    queries = np.array([[float(low <= cell < high) for cell in range(cells)] for low, high in runs])
    assert np.allclose(range_gram(cells), list_gram(queries))
    prefixes = np.tril(np.ones((cells, cells)))[:-1]
    near = edges_of(cells, 1)
    ordered = error_of(prefixes, list_gram(prefixes), near)
    assert np.isclose(ordered, 2, rtol=1e-5)  # scale 1 for each prefix sum: nothing is better
    assert np.isclose(error_of(prefixes, prefix_gram(cells), near), 2 * (cells - 1) / cells, rtol=1e-5)
    noisy = prefixes + random.normal(0, 0.05, prefixes.shape)
    found = by_edges(list_gram(prefixes), near, noisy)
    assert 1.999 < error_of(found, list_gram(prefixes), near) < 2.02
    every = edges_of(cells, cells)
    start = np.vstack([np.eye(cells), random.random((2, cells))])
    rows = by_columns(range_gram(cells), start, 200)
    assert np.abs(rows).sum(axis=0).max() < 0.5 + 1e-9
    # by definition: the sum of all cells is measured as good as exactly
    whole = np.vstack([rows, np.full(cells, 1e3)])
    plain = 2 * np.trace(range_gram(cells) @ np.linalg.inv(whole.T @ whole))
    loss = max(np.abs(rows[:, x] - rows[:, y]).sum() for x, y in every)
    assert np.isclose(error_of(rows, range_gram(cells), every), plain * loss**2, rtol=1e-4)
    single = 8 * np.trace(range_gram(cells) @ spread_of(np.eye(cells)))
    assert plain < 1.05 * single, (plain, single)
