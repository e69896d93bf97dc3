"""The identity strategy measures what its matrix says."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import tally


@pytest.mark.parametrize("seed", range(80))
def test_measured_rows_are_those_of_the_matrix(seed, make_policy, make_bins):
    """Applying the strategy to counts of bins equals its matrix on counts of cells."""
    draw = random.Random(seed)
    policy = make_policy(draw, draw.randint(1, 3))
    columns = list(policy.domain.columns)
    bins = {
        column: made for column in columns if (made := make_bins(draw, policy.domain[column])) is not None
    }
    asked = tally(policy.domain, columns, bins or None)
    strategy = Identity.build(policy.graph.project(columns), asked, Fraction(1))
    cells = np.array([draw.randint(0, 9) for _ in range(asked.domain.size)])
    labels = asked.labels()

    counts = np.bincount(labels[labels >= 0], weights=cells[labels >= 0], minlength=asked.size).astype(
        np.int64
    )

    assert strategy.apply(counts).tolist() == (strategy.matrix() @ cells).tolist()
    assert len(strategy.scales) == strategy.matrix().shape[0]
    assert set(strategy.scales) <= {strategy.scale, Fraction(0)}
