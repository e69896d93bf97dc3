"""Which tables share noise: errors of unit balls, groups by enumeration, weights, limits."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.joint_noise import CLIQUE, Block, Joint
from pandas_blowfish.plan.joint_noise.joint_law import joint_variances
from pandas_blowfish.plan.tables.shared import joint_search
from pandas_blowfish.plan.tables.shared.joint_search import (
    Parts,
    ball_spread,
    choose_apart,
    find_joint,
    find_largest,
)
from pandas_blowfish.policy.domain import Domain, integers


def choice_of(sizes, **options):
    """Return the tables of single columns of such sizes, and their cover."""
    domain = Domain(tuple(integers(f"c{n}", 0, size - 1) for n, size in enumerate(sizes)))
    policy = bf.Policy(domain, **options)
    question = policy.plan.marginal([[name] for name in domain.columns]).asked[0]
    parts = [Parts(np.array([size]), np.zeros(1, dtype=np.int64)) for size in sizes]
    return choose_apart(question.sets, (), parts, question.cover(policy))


def partitions(items):
    """Yield all ways to put items into groups."""
    if not items:
        yield ()
        return
    first, *rest = items
    for many in range(len(rest) + 1):
        for some in itertools.combinations(rest, many):
            for others in partitions([each for each in rest if each not in some]):
                yield ((first, *some), *others)


@pytest.mark.parametrize("cells", [2, 3, 8, 40])
def test_unit_balls_have_the_error_of_large_scales(cells):
    """(d + 1) (d + 2) scale^2 times the mean squared length in the unit ball, in the limit."""
    joint = Joint((Block(CLIQUE, np.arange(cells)),))

    found = joint_variances(joint, Fraction(1_000)).sum() / 1_000**2

    assert found == pytest.approx(cells * (cells + 1) * ball_spread(cells), rel=1e-4)


@pytest.mark.parametrize(
    "sizes", [[2, 2, 2, 9], [2, 3, 5, 16, 40], [7, 7, 7], [3, 4, 250, 5], [30, 31, 32, 2]]
)
def test_groups_are_nearly_the_best_of_all(sizes):
    """Of all partitions, not just those into neighbours by size."""
    choice = choice_of(sizes)

    found = min(choice.weigh(each)[0] for each in choice.groupings())

    best = min(choice.weigh(each)[0] for each in partitions(list(range(len(sizes)))))
    assert found <= best * 1.005


@pytest.mark.parametrize(("neighbors", "groups"), [("record", 1), ("attribute", 6)])
def test_columns_that_change_one_at_a_time_share_nothing(neighbors, groups):
    """Under attribute neighbours every table pays for itself alone."""
    found = find_joint([choice_of([2] * 6, neighbors=neighbors)])

    assert len(found.together) == groups
    assert found.plain == ()


def test_groups_have_limited_dimensions(monkeypatch):
    """Alike or not, a group beyond the limit is cut; a table alone is never."""
    monkeypatch.setattr(joint_search, "MAX_WIDE", 10)
    for sizes in ([2] * 25, [3, 4, 5, 6, 7, 8], [40, 2, 2]):
        choice = choice_of(sizes)
        for together in choice.groupings():
            wide = [sum(sizes[table] - 1 for table in group) for group in together]

            assert sorted(table for group in together for table in group) == list(range(len(sizes)))
            assert all(many <= 10 or len(group) == 1 for many, group in zip(wide, together, strict=True))


def test_tables_within_others_are_left_out():
    """Sets of columns that are part of none."""
    assert find_largest([(0,), (0, 1), (2,), (1, 2, 3)], 4) == [(0, 1), (1, 2, 3)]
