"""From picks and noisy counts to ranks."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.ranks.solve import solve_largest, solve_picks
from pandas_blowfish.policy.domain import Domain, integers

PLAN = bf.Policy(Domain((integers("x", 0, 3), integers("y", 0, 1)))).plan


def test_picks_are_numbered_among_who_was_left():
    """Round after round, group after group; the last of all follows."""
    among = PLAN.groupby("y").top(4, "x", strategy="select").measurement.candidates
    rounds = [np.array([1, 6]), np.array([0, 5]), np.array([1, 2])]

    found = solve_picks(among, np.concatenate(rounds))

    assert found.picks.tolist() == [1, 0, 3, 2, 6, 7, 4, 5]
    assert not found.counted


@pytest.mark.parametrize("values", [[], [1], [9], [-1], [0, 0, 0]])
def test_values_of_something_else_are_refused(values):
    """Too few, too many, or none that can be."""
    among = PLAN.top(2, "x", strategy="select").measurement.candidates

    with pytest.raises(ArgumentError):
        solve_picks(among, np.array(values, dtype=np.int64))


def test_the_largest_of_each_group_are_listed_in_order():
    """Of equal counts the first of the schema; without `post` counts may be negative."""
    among = PLAN.groupby("y").top(2, "x", strategy="counts").measurement.candidates
    values = np.array([3, 9, 9, 1, -5, -2, -7, -2])

    shaped, free = (solve_largest(among, values, post=post) for post in (True, False))

    assert shaped.picks.tolist() == [1, 2, 5, 7]
    assert shaped.answers.tolist() == [9, 9, 0, 0]
    assert free.answers.tolist() == shaped.unshaped.tolist() == [9, 9, -2, -2]
