"""What strategies along lines share: rows, columns, changes and exact totals agree with one matrix."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.line.nest import Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.policy.cells import Cells


def _some(draw, lined, make_layout):
    """Return a tree, or a nest of any layout."""
    if draw.random() < 0.5:
        return Tree(lined.asked, lined.line, Fraction(1, 2))
    layout = make_layout(draw, lined.line)
    weights = tuple(draw.randint(1, 4) for _ in Nest(lined.line, layout).families)
    return Nested("nested", lined.asked, lined.line, layout, weights, Fraction(1, 2))


@pytest.mark.parametrize("seed", range(60))
def test_columns_and_changes_are_those_of_the_matrix(seed, make_lined, make_layout):
    """Cell by cell, and for records that move between any two cells or become absent."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    made = _some(draw, lined, make_layout)
    matrix = made.matrix().toarray()
    every = Cells.every(made.domain.columns, made.domain.shape)
    order = np.array(draw.sample(range(len(every)), len(every)))
    absent = Cells(every.codes, np.ones(len(every), dtype=bool))

    assert (made.columns(every).toarray() == matrix).all()
    assert (made.changes(every, every.take(order)).toarray() == matrix[:, order] - matrix).all()
    assert (made.changes(every, absent).toarray() == -matrix).all()
    assert matrix.shape == (len(made.scales), made.domain.size)


@pytest.mark.parametrize("seed", range(40))
def test_without_noise_the_cumulative_counts_come_back(seed, make_lined, make_layout):
    """Query rows and exact totals, taken apart by line, lead to the counts they were made of."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    made = _some(draw, lined, make_layout)
    _, bins = lined.counts(draw)

    found = made.positions(made.apply(bins))

    assert np.diff(found, axis=1).ravel() == pytest.approx(bins, abs=1e-6)


def test_exact_totals_come_last_and_have_no_noise(line_of):
    """A line that no record leaves has one exact total, after the query rows."""
    lined = line_of(6, 1)

    tree = Tree(lined.asked, lined.line, Fraction(1))

    assert [scale == 0 for scale in tree.scales] == [False] * 5 + [True]
    assert tree.apply(np.arange(6))[-1] == 15
