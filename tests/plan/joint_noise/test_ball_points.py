"""The points of a ball are as many as there are, one by one."""

import itertools

import numpy as np
import pytest

from pandas_blowfish.plan.joint_noise import (
    BOX,
    CLIQUE,
    Block,
    Joint,
    box,
    clique,
    count_points,
    numerator,
)
from pandas_blowfish.plan.joint_noise.ball_points import list_points

JOINTS = [
    clique([0]),
    clique([0, 1]),
    clique([2, 0, 1]),
    clique([0, 1, 2, 3]),
    box([0], [3]),
    box([0, 1], [1, 2]),
    box([2, 1, 0], [1, 3, 2]),
    Joint((Block(CLIQUE, [0, 2]), Block(CLIQUE, [1, 3]))),
    Joint((Block(BOX, [0], (2,)), Block(CLIQUE, [1, 3, 2]))),
]


def points(joint, far):
    """Return all whole points up to `far` in each row, and their norms."""
    found = np.array(list(itertools.product(range(-far, far + 1), repeat=len(joint.rows))))
    return found, joint.measure(found)


@pytest.mark.parametrize("joint", JOINTS)
def test_points_are_counted(joint):
    """As many points are counted as there are."""
    reach = max([1, *(each for block in joint.blocks for each in block.reaches)])
    for radius in range(3 if len(joint.rows) < 4 else 2):
        _, norms = points(joint, radius * reach)
        assert count_points(joint.shape, radius) == ((norms >= 0) & (norms <= radius)).sum()


@pytest.mark.parametrize("joint", [*JOINTS, clique(range(30)), box(range(12), [7] * 12)])
def test_numerators_are_those_of_counted_points(joint):
    """The series of a numerator are the numbers of points, beyond those that it was made of."""
    found, dimension = numerator(joint.shape), joint.dimension
    series = np.array([*found, *[0] * 5], dtype=object)
    for _ in range(dimension + 1):
        series = np.cumsum(series)

    assert len(found) == dimension + 1
    assert found[0] == 1
    assert min(found) >= 0
    assert series.tolist() == [count_points(joint.shape, radius) for radius in range(dimension + 6)]


@pytest.mark.parametrize(
    "shape", [((CLIQUE, 4, ()), (BOX, 3, (1, 2, 2)), (CLIQUE, 4, ())), ((BOX, 1, (5,)),), ()]
)
def test_lists_are_of_single_counts(shape):
    """Whatever radius the list ends at."""
    for many in (1, 2, 7):
        found = list_points(shape, many)

        assert found.tolist() == [count_points(shape, radius) for radius in range(many)]
