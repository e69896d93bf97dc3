"""Kinds of cells and sums of known counts: everything there is, by brute force."""

import numpy as np
import pytest

from pandas_blowfish.plan.given import _types, find_sums, gather_parts
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers


def test_sums_are_one_number_on_a_bin():
    """Two counts that part a bin in opposite ways tell its total together."""
    kinds = np.array([[1, 0, 0], [0, 1, 0]])  # counts x kinds of cells
    has = np.array([[True, True, False], [False, False, True]])  # bins x kinds

    assert find_sums(kinds, has, np.array([], dtype=np.int64)).tolist() == [[1, 1]]
    assert find_sums(kinds, has, np.array([1])).tolist() == []
    assert find_sums(kinds, np.eye(3, dtype=bool), np.array([2])).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("seed", range(20))
def test_types_of_bins_hold_the_classes_of_their_cells(seed):
    """Each bin's type holds just the classes of the cells in it."""
    random_numbers = np.random.default_rng(seed)
    marks = random_numbers.integers(-1, 5, 14)
    classes = np.unique(random_numbers.integers(0, 4, 14), return_inverse=True)[1]

    found = _types(marks, classes, 5)

    assert found is not None
    table, type_of = found
    for number in range(5):
        assert set(np.flatnonzero(table[type_of[number]])) == set(classes[marks == number])


def test_parts_of_several_bins_hold_all_their_kinds():
    """Kinds of bins in no part are told, too: nothing known may count them."""
    has = np.array([[True, False, False], [False, True, False], [False, False, True]])

    whole, type_of, dropped = gather_parts(has, np.array([0, 1, 2, 1]), np.array([0, 0, -1, 1]))

    assert whole.tolist() == [[True, True, False], [False, True, False]]
    assert type_of.tolist() == [0, 1]
    assert dropped.tolist() == [2]


def test_a_million_bins_are_few_types():
    """A column of a million bins of one cell each has as many types as classes."""
    ages = tally(Domain((integers("age", 0, 999_999),)), ["age"], None)
    classes = (np.arange(1_000_000) >= 500_000).astype(np.int64)

    found = _types(ages.marks[0], classes, 1_000_000)

    assert found is not None
    assert found[0].shape == (3, 2)
    assert np.array_equal(found[1], classes)
