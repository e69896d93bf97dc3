"""Rows of lines and exact totals, as values and as a matrix, say the same."""

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.query_rows import exact_totals, row_matrix
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers

PARTS = np.array([0, 0, 1, 1, 1])
EXACT = ExactParts(np.array([True, False, False, False]), np.array([-1, 0, -1, 0]), 1)
TALLY = tally(Domain((integers("g", 0, 1), integers("x", 0, 4))), ["g", "x"], None)


def test_totals_come_alone_then_shared():
    """The first part of the first line is exact by itself, the second parts of both lines together."""
    counts = np.array([[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]])

    assert exact_totals(counts, PARTS, EXACT).tolist() == [3, 12 + 120]


def test_the_matrix_gives_the_values():
    """Rows of each line, then the exact totals."""
    counts = np.arange(10)

    matrix = row_matrix(TALLY, lambda lines: np.cumsum(lines, axis=1), PARTS, EXACT, 15)

    by_line = counts.reshape(2, 5)
    wanted = [*np.cumsum(by_line, axis=1).ravel(), *exact_totals(by_line, PARTS, EXACT)]
    assert (matrix @ counts).tolist() == wanted


def test_large_matrices_are_refused():
    """A matrix is for looking at."""
    with pytest.raises(DomainTooLargeError):
        row_matrix(TALLY, lambda lines: lines, PARTS, EXACT, 10**7)
