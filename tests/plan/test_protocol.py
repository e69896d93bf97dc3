"""Measurements in rounds: values are read in the rounds they were measured in, or refused."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.protocol import rounds
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.policy.domain import Domain, integers


class Round:
    """A round of some rows."""

    tallies = ()

    def __init__(self, many):
        self.scales = Scales([Fraction(1)], np.zeros(many, dtype=np.int8))

    def apply(self, counts):
        """Return nothing of interest."""
        return counts


class Doubling:
    """Rounds of 1, 2, 4, ... rows while the first value of the last round is positive."""

    in_rounds, largest = True, 1

    def next_round(self, values):
        """Return the next round."""
        if values and values[-1][0] <= 0:
            return None
        return Round(2 ** len(values))


def test_rounds_are_read_back():
    """Each round takes as many values as it has rows; what follows is asked of the values before."""
    assert Doubling().in_rounds
    values = np.array([5, 1, 7, 0, 9, 9, 9])

    found = rounds(Doubling(), values)

    assert [own.tolist() for _, own in found] == [[5], [1, 7], [0, 9, 9, 9]]
    assert [len(step.scales) for step, _ in found] == [1, 2, 4]


@pytest.mark.parametrize("values", [[], [5], [5, 1], [5, 0, 0, 1], [0, 0], [5, 1, 7, 1, 0, 0, 0]])
def test_values_of_something_else_are_refused(values):
    """Too few, too many, or ending in the midst of a round."""
    with pytest.raises(ArgumentError, match="values"):
        rounds(Doubling(), np.array(values, dtype=np.int64))


@pytest.mark.parametrize("seed", range(10))
def test_what_the_kernel_would_measure_is_read_back(seed, make_clusters):
    """Adaptive, whole and counted synopses hand out rounds that read back to the same steps."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    for strategy in ("adaptive", "whole", "auto"):
        try:
            plan = found.policy.plan.kmeans(found.columns, 1, strategy=strategy)
        except ArgumentError:
            continue
        if not plan.measurement.in_rounds:
            continue
        values = []
        while (step := plan.measurement.next_round(values)) is not None:
            values.append(np.array([draw.randint(0, 40) for _ in range(len(step.scales))], dtype=np.int64))

        again = rounds(plan.measurement, np.concatenate(values))

        assert [own.tolist() for _, own in again] == [own.tolist() for own in values]
        assert plan.values is None


def test_a_grid_is_one_round():
    """What is measured at once has as many values as rows."""
    plan = bf.Policy(Domain((integers("x", 0, 9),))).plan.kmeans("x", 2, strategy="grid")

    assert not plan.measurement.in_rounds
    assert plan.values == len(plan.scales)
