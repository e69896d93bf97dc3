"""Edges that a range cuts: counted range by range and over all ranges, against trying each edge."""

import numpy as np
import pytest

from pandas_blowfish.plan.line.tree import Crossing


@pytest.mark.parametrize("seed", range(60))
def test_matches_enumeration(seed):
    """The sum of weights with just one end inside, for every range and in total."""
    draw = np.random.default_rng(seed)
    size, many = int(draw.integers(1, 20)), int(draw.integers(0, 25))
    crossing = Crossing(draw.integers(0, size, many), draw.integers(0, size, many), draw.random(many), size)
    low, high = np.triu_indices(size)

    slow = []
    for a, b in zip(low, high, strict=True):
        ends = zip(crossing.one, crossing.two, crossing.weight, strict=True)
        slow.append(sum(weight for one, two, weight in ends if (a <= one <= b) != (a <= two <= b)))

    assert crossing.variances(low, high + 1) == pytest.approx(np.array(slow, dtype=float))
    assert crossing.all_ranges() == pytest.approx(sum(slow))
