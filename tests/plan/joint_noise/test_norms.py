"""Norms of noise that query rows draw together: they are norms, and their points are counted."""

import itertools
import random

import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.joint_noise import (
    APART,
    BOX,
    CLIQUE,
    Block,
    Joint,
    box,
    clique,
)

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
def test_norms_are_norms(joint):
    """0 has norm 0 and no other point; signs do not matter; no detour is shorter."""
    found, norms = points(joint, 3)
    known = norms != APART
    draw = np.random.default_rng(1)
    first, second = (draw.choice(np.flatnonzero(known), 3_000) for _ in range(2))

    assert (found[norms == 0] == 0).all()
    assert np.array_equal(joint.measure(-found), norms)
    sums = joint.measure(found[first] + found[second])
    assert (sums >= 0).all()
    assert (sums <= norms[first] + norms[second]).all()
    apart = np.flatnonzero(~known)[:50]
    assert (joint.measure(found[apart] + found[known][0]) == APART).all()


def test_entries_have_the_norms_of_changes():
    """Norms of sparse changes are those of the same changes in full, of any size of numbers."""
    draw = random.Random(3)
    for _ in range(300):
        joint = draw.choice(JOINTS)
        rows = draw.sample(range(7), len(joint.rows))
        numbers = np.array(rows + [each for each in range(7) if each not in rows])
        moved = joint.renumber(numbers[: len(joint.rows)])
        full = np.array([[draw.choice([0, 0, 1, -1, 2, -3]) for _ in range(7)] for _ in range(9)])
        full = full.astype(object) * 2 ** draw.choice([1, 70]) if draw.random() < 0.5 else full
        change, row = np.nonzero(full)

        sparse = moved.measure_entries(row, change, full[change, row], len(full))

        assert sparse.tolist() == moved.measure(full).tolist()


def test_narrow_changes_are_measured_in_full():
    """A reach that a narrow type of number has no room for is none the less."""
    changes = np.array([[100, 7], [-100, 0]], dtype=np.int16)

    assert box([0, 1], [10**9, 1]).measure(changes).tolist() == [7, 1]
    assert clique([0, 1]).measure(changes).tolist() == [APART, APART]


def test_what_is_no_norm_is_refused():
    """Each row has one reach of at least 1, in one block."""
    with pytest.raises(ArgumentError, match="no norm"):
        Block("ball", [0])
    with pytest.raises(ArgumentError, match="one for each"):
        box([0, 1], [1])
    with pytest.raises(ArgumentError, match="out of range"):
        box([0, 1], [1, 0])
    with pytest.raises(ArgumentError, match="at least one"):
        clique([])
    with pytest.raises(ArgumentError, match="in two of them"):
        Joint((Block(CLIQUE, [0, 1]), Block(BOX, [1], (1,))))
    with pytest.raises(ArgumentError, match="in two of them"):
        Joint(())


def test_norms_are_compared_by_what_they_are():
    """The same blocks of the same rows are the same; other rows, reaches or blocks are not."""
    assert box([0, 1], [1, 2]).is_same(box([0, 1], [1, 2]))
    assert not box([0, 1], [1, 2]).is_same(box([0, 1], [2, 1]))
    assert not clique([0, 1]).is_same(clique([0, 2]))
    assert clique([0, 1]).renumber(np.array([4, 2])).rows.tolist() == [4, 2]
