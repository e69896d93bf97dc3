"""From picks to places."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.quantiles.line_cells import LineCells
from pandas_blowfish.plan.quantiles.solve import Marks, read_picks, solve_marks
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 5), integers("y", 0, 2))))


def lines_of():
    """Return lines of which one has no candidates, and one three."""
    asked = POLICY.plan.where("(y == 0 and x > 2) or (y == 2)").groupby("y")
    return LineCells(asked.quantile("x", strategy="select", epsilon=1).measurement.tally)


def test_places_are_cells_of_the_line_in_order():
    """Sorted, as they were asked for; a line that can hold no row has none."""
    lines = lines_of()
    marks = Marks.empty(lines, 2, 8).add(np.array([0, 1]), np.array([2, 1, 0, 5]), np.array([3, 4, 0, 8]))

    found = solve_marks(lines, marks, np.array([1, 0, 0]))

    assert found.cells.tolist() == [[5, 4, 4], [-1, -1, -1], [5, 0, 0]]
    assert found.inside[0].tolist() == [3 / 8, 4 / 8, 4 / 8]
    assert found.inside[2].tolist() == [7 / 8, 0, 0]
    assert np.isnan(found.answers[3:6]).all()


@pytest.mark.parametrize("values", [[0], [5, 30], [6, 5], [-1, 6]])
def test_what_is_no_pick_is_refused(values):
    """A number of another choice, too few of them."""
    with pytest.raises(ArgumentError):
        read_picks(np.array(values), np.array([0, 3]), np.array([3, 4]), 2)


def test_answers_of_another_measurement_are_refused():
    """Too many values."""
    measured = POLICY.plan.quantile("x", [0.25, 0.5, 0.75], strategy="select", epsilon=1).measurement

    with pytest.raises(ArgumentError):
        measured.solve(np.zeros(7, dtype=np.int64), post=True)
