"""Known: numbers of rows that no edge changes."""

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from pandas_blowfish.plan.clusters.known import Known
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.query_rows import every_column
from pandas_blowfish.plan.sensitivity import ExactParts, exact_parts


@pytest.mark.parametrize("seed", range(60))
def test_no_edge_changes_them(seed, make_clusters):
    """Of groups, or of any bins: their rows are the same at both ends of every edge by definition."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    tally = found.space.cut([draw.randint(1, cells) for cells in found.space.cells])

    for each in (found.space.whole, tally):
        known = Known((each,), exact_parts(found.graph, each))
        rows = every_column(known, found.space.domain, 0).toarray()

        assert (rows == found.rows(known)).all()
        assert len(rows) == len(known.scales)
        assert not any(known.scales)
        assert edge_loss(csr_array(rows), [Fraction(1)] * len(rows), found.edges).value == 0


def test_counts_then_totals():
    """Single bins first, then the totals of those that are joined; -1 belongs to none."""
    exact = ExactParts(np.array([True, False, False, False]), np.array([-1, 0, -1, 0]), 1)
    known = Known((None,), exact)

    assert known.apply(np.array([5, 1, 100, 2])).tolist() == [5, 3]
    assert list(known.scales) == [0, 0]


def test_nothing_known():
    """No rows at all are a round too."""
    known = Known((None,), ExactParts(np.zeros(2, dtype=bool), np.full(2, -1), 0))

    assert known.apply(np.array([3, 4])).tolist() == []
    assert len(known.scales) == 0
