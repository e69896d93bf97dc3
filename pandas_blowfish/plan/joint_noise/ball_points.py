"""How many whole points have a norm of at most a radius, in exact numbers. Never sees rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.plan.joint_noise.norms import BOX, CLIQUE, Shape


def count_points(shape: Shape, radius: int) -> int:
    """Return how many whole points have a norm of at most `radius`.

    Examples:
        >>> count_points(((CLIQUE, 3, ()),), 1), count_points(((BOX, 2, (1, 3)),), 1)
        (7, 21)

    Proof note:
        Requires: radius >= 0.
        Ensures:  the exact number.
        Because:  a block does not depend on the others. In a clique of k cells z = g - g' + m - m, g and g'
                  sums of whole parts of n each and m >= 0 in common, is each z with (1 - x)^-k x^N(z) of
                  the generating function sum_n C(n + k - 1, n)^2 x^n; that is
                  (1 - x)^(1 - 2k) sum_j C(k - 1, j)^2 x^j (Euler), so sum_z x^N(z) is
                  (1 - x)^(1 - k) sum_j C(k - 1, j)^2 x^j, and a further 1 / (1 - x) adds up over radii.
        Checked:  tests/plan/joint_noise/test_ball_points.py::test_points_are_counted
    """
    found = 1
    for kind, cells, reaches in shape:
        if kind == BOX:
            found *= math.prod(2 * reach * radius + 1 for reach in reaches)
        else:
            found *= sum(clique_weights(cells, radius))
    return found


def clique_weights(cells: int, radius: int) -> list[int]:
    """Return C(k - 1, j)^2 C(radius + k - 1 - j, k - 1) for each j: the points of a clique, in shares."""
    return [
        math.comb(cells - 1, j) ** 2 * math.comb(radius + cells - 1 - j, cells - 1) if j <= radius else 0
        for j in range(cells)
    ]


def numerator(shape: Shape) -> list[int]:
    """Return h with sum_r V(r) x^r = sum_j h_j x^j / (1 - x)^(d + 1), V(r) as `count_points`, d dimensions.

    Examples:
        >>> numerator(((CLIQUE, 3, ()),)), numerator(((BOX, 2, (1, 1)),))
        ([1, 4, 1], [1, 6, 1])

    Proof note:
        Requires: nothing.
        Ensures:  d + 1 whole numbers of at least 0, the first 1.
        Because:  the points of norm at most r are those of r P, P a polytope whose corners are whole points
                  (of a box its corners, of a clique e_i - e_j), so V is a polynomial of degree d (Ehrhart),
                  h are the differences of order d + 1 of its values at 0..d, none below 0 (Stanley).
        Checked:  tests/plan/joint_noise/test_ball_points.py::test_numerators_are_those_of_counted_points
    """
    dimension = sum(cells - (kind == CLIQUE) for kind, cells, _ in shape)
    radius, points = np.arange(dimension + 1).astype(object), np.ones(dimension + 1, dtype=object)
    for (kind, cells, reaches), many in Counter(shape).items():
        if kind == BOX:
            own = np.prod([2 * reach * radius + 1 for reach in reaches], axis=0)
        else:  # its own numerator, divided by 1 - x once for each cell
            own = np.zeros(dimension + 1, dtype=object)
            own[:cells] = [math.comb(cells - 1, j) ** 2 for j in range(cells)]
            for _ in range(cells):
                own = np.add.accumulate(own)
        points = points * own**many
    found = difference(points.tolist(), dimension + 1)
    if min(found) < 0:
        raise UnsoundPlanError("numbers of points are no polynomial")
    return found


def difference(values: Sequence[int], times: int) -> list[int]:
    """Return the coefficients of (1 - x)^times sum_r values[r] x^r, as many as there are values."""
    found = np.array(values, dtype=object)
    for _ in range(times):
        found[1:] = found[1:] - found[:-1]
    return [int(each) for each in found]
