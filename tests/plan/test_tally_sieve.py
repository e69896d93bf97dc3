"""Filters as small tables: the same cells as testing each one, and bins that hold any."""

import itertools
import random

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.expression import MAX_CLASSES, parse, sieve, truth


def instance(draw, make_full_policy, make_filter):
    """Return a random domain, a filter of it, and random bins (some cells in none) of each column."""
    domain = make_full_policy(draw, draw.randint(1, 3)).domain
    condition = parse(make_filter(draw, domain), domain, {}) if draw.random() < 0.8 else None
    bins = [draw.randint(1, 3) for _ in domain]
    labels = [
        np.array([draw.randint(-1, count - 1) for _ in range(attribute.size)], dtype=np.int64)
        for attribute, count in zip(domain, bins, strict=True)
    ]
    return domain, condition, bins, labels


def test_cells_and_bins_match_enumeration(make_full_policy, make_filter):
    """A cell is counted when the condition holds and each column has a bin for it."""
    draw = random.Random(1)
    for _ in range(300):
        domain, condition, bins, labels = instance(draw, make_full_policy, make_filter)
        apart = [np.arange(size) for size in domain.shape]
        holds = (
            np.ones(domain.shape, dtype=bool)
            if condition is None
            else truth(condition, domain.columns, apart)
        )
        slow = np.zeros(domain.shape, dtype=bool)
        held = np.zeros(bins, dtype=bool)
        for cell in itertools.product(*(range(size) for size in domain.shape)):
            marks = tuple(int(each[code]) for each, code in zip(labels, cell, strict=True))
            slow[cell] = holds[cell] and min(marks) >= 0
            if slow[cell]:
                held[marks] = True

        found = sieve(condition, domain.columns, labels)

        assert found.cells().tolist() == slow.ravel().tolist()
        assert found.find_occupied(labels, bins).tolist() == held.ravel().tolist()
        assert found.trivial == slow.all()
        assert found.passes.size <= slow.size


def test_a_filter_of_a_million_cells_is_a_small_table():
    """Cells that no comparison tells apart share a class."""
    domain = Domain((integers("x", 0, 999), integers("y", 0, 999)))
    condition = parse("100 <= x < 200 or y == 5", domain, {})

    found = sieve(condition, domain.columns, [np.arange(1_000)] * 2)

    assert found.passes.shape == (2, 2)
    assert int(found.cells().sum()) == 100 * 1_000 + 900


def test_nothing_asked_is_trivial():
    """Without a condition everything is counted; without columns there is one cell."""
    whole = sieve(None, ["x"], [np.arange(5)])
    none = sieve(None, [], [])

    assert whole.trivial
    assert whole.passes.shape == (1,)
    assert none.trivial
    assert none.cells().tolist() == [True]


def test_a_filter_with_too_many_classes_is_refused():
    """A table that would be too large is a typed error."""
    domain = Domain((integers("x", 0, 99), integers("y", 0, 99)))
    text = " or ".join(f"(x == {i} and y == {i})" for i in range(80))

    with pytest.raises(DomainTooLargeError, match="filter") as caught:
        sieve(parse(text, domain, {}), domain.columns, [np.arange(100)] * 2)

    assert caught.value.limit == MAX_CLASSES
