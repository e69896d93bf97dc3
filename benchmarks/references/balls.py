"""Noise that is uniform in a ball: boxes and cliques, their variances by exact series.

Noise z has P(z) proportional to exp(-epsilon N(z)) with N(z) whole. A clique of k cells has N(z) half the sum
of |z_i|, on sums of 0; several blocks at once the largest of their norms; a box row |z|. Drawn as a radius r
with weight exp(-epsilon r) times the number of points within r, then a uniform point within r.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

TAIL = 1e-13  # of the weights, beyond which radii are left out


def shell(cells: int, radius: int) -> tuple[int, float]:
    """Return how many points of a clique have norm `radius`, and the mean of their sums of squares.

    With j cells above 0 they are a composition of the radius into j parts, the other cells one into parts of
    at least 0; the mean of a sum of squares over compositions is known.
    """
    if radius == 0:
        return 1, 0.0
    many, squares = 0, 0.0
    for above in range(1, cells):
        below = cells - above
        points = math.comb(cells, above) * math.comb(radius - 1, above - 1)
        points *= math.comb(radius + below - 1, below - 1)
        extra = radius - above  # beyond 1 in each part above 0
        up = extra * (2 * extra + above - 1) / (above + 1) + 2 * extra + above
        down = radius * (2 * radius + below - 1) / (below + 1)
        many += points
        squares += points * (up + down)
    return many, squares / many


def blocks_error(cliques: Sequence[int], rows: int, epsilon: float = 1.0) -> float:
    """Return the mean squared error per cell and row of cliques and box rows that share one radius."""
    logs: list[float] = []
    errors: list[float] = []
    counted = {size: [0, 0.0] for size in cliques}
    radius, best = 0, -math.inf
    while True:
        log, error = -epsilon * radius + rows * math.log(2 * radius + 1), rows * radius * (radius + 1) / 3
        for size in counted:
            points, squares = shell(size, radius)
            counted[size][1] = (counted[size][0] * counted[size][1] + points * squares) / (
                counted[size][0] + points
            )
            counted[size][0] += points
        for size in cliques:
            log += math.log(counted[size][0])
            error += counted[size][1]
        logs.append(log)
        errors.append(error)
        best = max(best, log)
        if radius > 4 and log < best + math.log(TAIL):
            break
        radius += 1
    weights = [math.exp(log - best) for log in logs]
    answers = sum(cliques) + rows
    return sum(w * e for w, e in zip(weights, errors, strict=True)) / sum(weights) / answers


def box_error(rows: int, epsilon: float = 1.0) -> float:
    """Return the squared error of one of several counts that a record can all change by 1."""
    return blocks_error((), rows, epsilon)


def clique_error(cells: int, epsilon: float = 1.0) -> float:
    """Return the squared error of a cell of a histogram whose cells are all joined."""
    return blocks_error((cells,), 0, epsilon)


def check() -> None:
    """Compare both with every point of small cases, one by one."""
    reach, epsilon = 40, 1.3
    total = squares = 0.0
    for x, y in itertools.product(range(-reach, reach + 1), repeat=2):
        weight = math.exp(-epsilon * (abs(x) + abs(y) + abs(x + y)) / 2)
        total, squares = total + weight, squares + weight * x * x
    assert math.isclose(clique_error(3, epsilon), squares / total, rel_tol=1e-9)
    total = squares = 0.0
    for x, y in itertools.product(range(-reach, reach + 1), repeat=2):
        weight = math.exp(-epsilon * max(abs(x), abs(y)))
        total, squares = total + weight, squares + weight * x * x
    assert math.isclose(box_error(2, epsilon), squares / total, rel_tol=1e-9)
