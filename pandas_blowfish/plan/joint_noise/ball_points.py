"""How many whole points have a norm of at most a radius, in exact numbers. Never sees rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def list_points(shape: Shape, many: int) -> NDArray[Any]:
    """Return `count_points` for every radius below `many`, much sooner than one by one.

    Examples:
        >>> list_points(((CLIQUE, 3, ()),), 3).tolist()
        [1, 7, 19]

    Proof note:
        Requires: many > 0.
        Ensures:  the exact numbers.
        Because:  as of `count_points`; a series divided by 1 - x is the list of its partial sums, once for
                  each cell of a clique.
        Checked:  tests/plan/joint_noise/test_ball_points.py::test_lists_are_of_single_counts
    """
    radius, points = np.arange(many).astype(object), np.ones(many, dtype=object)
    for (kind, cells, reaches), often in Counter(shape).items():
        if kind == BOX:
            own = np.ones(many, dtype=object)
            for reach, rows in Counter(reaches).items():
                own = own * (2 * reach * radius + 1) ** rows
        else:
            own = np.zeros(many, dtype=object)
            own[:cells] = [math.comb(cells - 1, j) ** 2 for j in range(min(cells, many))]
            for _ in range(cells):
                own = np.add.accumulate(own)
        points = points * own**often
    return points


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
    found = difference(list_points(shape, dimension + 1).tolist(), dimension + 1)
    if min(found) < 0:
        raise UnsoundPlanError("numbers of points are no polynomial")
    return found


def difference(values: Sequence[int], times: int) -> list[int]:
    """Return the coefficients of (1 - x)^times sum_r values[r] x^r, as many as there are values."""
    found = np.array(values, dtype=object)
    for _ in range(times):
        found[1:] = found[1:] - found[:-1]
    return [int(each) for each in found]
