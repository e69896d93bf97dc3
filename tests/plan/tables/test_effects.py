"""Scales of weighted tables: the worst edge loses exactly epsilon."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.effects import EffectTables


@dataclass(frozen=True, eq=False)
class Made(EffectTables):
    """Two tables and three exact rows."""

    losses: np.ndarray
    weights: list[int]
    rows: list[int]
    epsilon: Fraction
    question: object = None


@pytest.mark.parametrize("weights", [[1, 1], [3, 1], [2, 7]])
def test_the_worst_edge_loses_epsilon(weights):
    """Whatever the weights, the largest loss is epsilon, and scales are inverses of the weights."""
    losses = np.array([[2, 0], [2, 2], [1, 1]])
    made = Made(losses, weights, [4, 2, 3], Fraction(1, 3))

    lost = [sum(Fraction(int(c)) / b for c, b in zip(row, made.table_scales, strict=True)) for row in losses]

    assert max(lost) == Fraction(1, 3)
    assert made.table_scales[0] * weights[0] == made.table_scales[1] * weights[1]
    assert made.sensitivity == 4
    assert list(made.scales) == [made.table_scales[0]] * 4 + [made.table_scales[1]] * 2 + [Fraction(0)] * 3
    assert made.variances_of_tables == [variance(scale) for scale in made.table_scales]
    assert "loses exactly 1/3" in made.proof


def test_no_tables_lose_nothing():
    """Where all is exact there is nothing to pay."""
    made = Made(np.zeros((0, 0), dtype=np.int64), [], [5], Fraction(1))

    assert made.sensitivity == 0
    assert list(made.scales) == [Fraction(0)] * 5
    assert "released exactly" in made.proof
