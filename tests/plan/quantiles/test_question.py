"""Quantiles are picked where that is worth it, whatever the rows are, and read off counts elsewhere."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.domain import Domain, integers

WIDE = bf.Policy(Domain((integers("x", 0, 999),)))
LINE = bf.Policy(Domain((integers("x", 0, 999),)), secrets={"x": bf.threshold(1)})


@pytest.mark.parametrize(
    ("policy", "q", "strategy"),
    [
        (WIDE, 0.5, "select"),
        (WIDE, [0.25, 0.5, 0.75], "select"),
        (WIDE, [0, 0.5], "hierarchical"),  # of empty cells at an end none is nearer
        (WIDE, [1], "hierarchical"),
        (LINE, 0.5, "ordered"),  # cumulative counts are as near, and more is known of them
        (bf.Policy(Domain((integers("x", 0, 3),))), 0.5, "hierarchical"),
    ],
)
def test_what_is_chosen(policy, q, strategy):
    """Much nearer, or counts with their errors."""
    plan = policy.plan.quantile("x", q, epsilon="0.1")

    assert (plan.strategy == "select") == (strategy == "select")
    assert "select" in plan.candidates["strategy"].tolist()
    assert policy.plan.quantile("x", q, epsilon="0.1", strategy="select").strategy == "select"


def test_many_quantiles_are_read_off_one_curve():
    """A curve has them all for one charge."""
    many = [round(each / 40, 3) for each in range(1, 40)]

    assert WIDE.plan.quantile("x", many, epsilon=1).strategy != "select"


def test_what_nothing_changes_is_exact():
    """Cumulative counts are then free, and say more."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.public()})

    assert policy.plan.quantile("x", 0.5).measurement.name != "select"


def test_a_filter_that_leaves_no_value_has_no_places():
    """Nothing is picked from; counts are all 0, exactly."""
    asked = WIDE.plan.where("x < 5").where("x > 7")

    assert asked.quantile("x", 0.5, epsilon=1).cost == 0
    with pytest.raises(ArgumentError, match="leaves some value"):
        asked.quantile("x", 0.5, epsilon=1, strategy="select")


def test_intervals_of_places_are_what_was_picked_around_them():
    """How far a value is off depends on how densely rows lie; other picks show it, and counts do."""
    df = pd.DataFrame({"x": np.arange(5000) % 1000}).blowfish.protect(WIDE, epsilon=100)
    picked = df.blowfish.quantile("x", [0.25, 0.5, 0.75], epsilon=1)
    values, found = picked["value"].tolist(), picked.blowfish.interval()

    assert picked.attrs["blowfish"]["strategy"] == "select"
    assert found["low"].tolist() == [0, values[0], values[1]]
    assert found["high"].tolist() == [values[1], values[2], 999]
    filtered = df.blowfish.where("x < 900").median("x", epsilon=1, strategy="select").blowfish.interval()
    assert filtered.to_numpy().tolist() == [[0, 999]]  # of a number of rows that is not public
    counted = df.blowfish.quantile("x", [0.25, 0.5], epsilon=1, strategy="hierarchical").blowfish.interval()
    assert (counted["low"] <= counted["high"]).all()
