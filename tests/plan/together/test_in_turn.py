"""Questions that are answered in rounds: what is measured at once first, then picks, each for its share."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.protocol import LAPLACE, PLACES
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 4999), integers("g", 0, 2))))


def test_sums_are_measured_at_once_and_quantiles_picked_after_them():
    """One round of sums, then those of each pick; shares add up to epsilon."""
    plan = POLICY.plan.agg({"x": ["mean", "median"], "g": "median"}, epsilon=1)
    measured, values, kinds = plan.measurement, [], []

    while (step := measured.next_round(values)) is not None:
        kinds.append(step.mechanism)
        values.append(np.zeros(len(step.targets.shares) or len(step.scales), dtype=np.int64))

    assert kinds == [LAPLACE, PLACES]
    assert sum(measured.shares) == 1
    assert sum(map(len, values)) == measured.values
    assert [len(part) for part in measured.split(np.concatenate(values))] == [
        each.values for each in measured.members
    ]


def test_medians_alone_are_picked():
    """No sums: the first round is a pick; three quartiles take two rounds by halves."""
    measured = POLICY.plan.describe("x", percentiles=[0.25, 0.5, 0.75], epsilon=1).measurement
    alone = POLICY.plan.agg({"x": "median"}, epsilon=1).measurement

    assert alone.at_once is None
    assert alone.next_round([]).mechanism == PLACES
    assert measured.at_once.epsilon == Fraction(1, 2)
    assert measured.next_round([np.zeros(len(measured.at_once.scales), dtype=np.int64)]).mechanism == PLACES


def test_columns_that_change_one_at_a_time_are_counted():
    """Each has all of epsilon there, so that rounds would add up to more."""
    policy = bf.Policy(Domain((integers("x", 0, 4999), integers("y", 0, 4999))), neighbors="attribute")
    plan = policy.plan.agg({"x": "median", "y": "median"}, epsilon=1)

    assert not plan.measurement.in_rounds
    assert plan.measurement.shares == (1, 1)


def test_values_of_another_release_are_refused():
    """One number too many is no answer."""
    measured = POLICY.plan.describe("x", epsilon=1).measurement

    with pytest.raises(ArgumentError, match="not the values"):
        measured.split(np.zeros(measured.values + 1, dtype=np.int64))


def test_an_answer_under_a_name_is_read_again():
    """What was picked in rounds is kept and read by the form that was measured."""
    rows = POLICY.domain.columns
    frame = pd.DataFrame({rows[0]: np.arange(900) * 5, rows[1]: np.arange(900) % 3})
    df = frame.blowfish.protect(POLICY, epsilon=2)

    first = df.blowfish.describe("x", epsilon=1, name="kept")
    again = df.blowfish.describe("x", epsilon=1, name="kept")

    assert first.equals(again)
    assert df.blowfish.budget.spent == 1
    assert (first.blowfish.interval()["low"] <= first["value"]).all()
