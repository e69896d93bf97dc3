"""Picked quantiles: what is picked, how near it is, and that a cell with very many rows spoils nothing."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 199),
        from_dict("pay", {"type": "float", "min": 0, "max": 100, "step": 10}),
        from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"}),
        from_dict("size", {"type": "category", "values": ["s", "m", "l"], "ordered": True, "nullable": True}),
    )
)
POLICY = bf.Policy(DOMAIN)
ROWS = pd.DataFrame(
    {
        "x": np.arange(2000) % 100 + 50,
        "pay": np.arange(2000) % 100 + 0.5,
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(2000) % 10, unit="D"),
        "size": pd.Categorical(
            ["s"] * 200 + ["m"] * 1500 + ["l"] * 200 + [None] * 100, ["s", "m", "l"], ordered=True
        ),
    }
)
Q = [0.75, 0.25, 0.5, 0.25]


@pytest.fixture(scope="module")
def protected():
    """Return the rows, protected."""
    return ROWS.blowfish.protect(POLICY, epsilon=10**9)


@pytest.mark.parametrize("by", [None, "size"])
def test_values_are_those_of_the_column(protected, by):
    """Numbers, values inside bins, instants and categories; as they were asked for, by group too."""
    asked = protected.blowfish if by is None else protected.blowfish.groupby(by)

    def find(column):
        found = asked.quantile(column, Q, epsilon=10**5, strategy="select")
        assert found.attrs["blowfish"]["strategy"] == "select"
        return found if by is None else found.loc["m"]

    assert find("x")["value"].tolist() == pytest.approx([124, 74, 99, 74], abs=1)
    assert find("pay")["value"].tolist() == pytest.approx([75, 25, 50, 25], abs=0.5)
    days = find("day")["value"].dt.normalize()
    assert [(day - pd.Timestamp("2026-01-01")).days for day in days] == pytest.approx([7, 2, 4, 2], abs=1)
    if by is None:
        assert find("size")["value"].tolist() == ["m"] * 4
        assert find("size")["std"].isna().all()


def test_places_inside_bins_are_as_asked(protected):
    """Ends and middles of cells without parts."""
    plan = protected.blowfish.plan
    for inside, value in (("lower", 70), ("midpoint", 75), ("higher", 80)):
        named = {"epsilon": 10**5, "strategy": "select", "interpolation": inside}
        assert protected.blowfish.quantile("pay", 0.71, **named)["value"].tolist() == [value]
        assert plan.quantile("pay", 0.71, **named).measurement.targets.parts == 1


def test_one_heavy_value_does_not_bend_what_is_picked_beside_it():
    """Six tenths of the rows have one value: quartiles between it and others are where they are."""
    values = np.concatenate([np.full(6000, 40), np.arange(4000) % 200])
    df = pd.DataFrame({"x": values}).blowfish.protect(
        bf.Policy(Domain((integers("x", 0, 199),))), epsilon=10**6
    )
    q = [0.1, 0.5, 0.9]
    counts = np.bincount(values, minlength=200)
    upper = np.cumsum(counts)

    with bf.testing.replay(1):
        cells = [df.blowfish.quantile("x", q, epsilon=1, strategy="select")["value"] for _ in range(30)]

    at = np.array(cells).astype(int)
    away = np.maximum(
        np.maximum(upper[at] - counts[at] - np.array(q) * 10_000, np.array(q) * 10_000 - upper[at]), 0
    )
    assert df.blowfish.plan.quantile("x", q, epsilon=1, strategy="select").measurement.in_rounds
    assert away.mean() < 15


def test_equal_tables_are_answered_again_under_a_name(protected):
    """Stored picks are read by what was measured; nothing more is spent."""
    asked = {"epsilon": "1/3", "name": "thirds", "strategy": "select"}
    first = protected.blowfish.quantile("pay", [0.2, 0.4, 0.9], **asked)
    spent = protected.blowfish.budget.spent

    again = protected.blowfish.quantile("pay", [0.2, 0.4, 0.9], **asked)

    pd.testing.assert_frame_equal(first, again)
    assert protected.blowfish.budget.spent == spent


def test_what_a_plan_states():
    """Ranks, not values: how many rows may lie between."""
    policy = bf.Policy(Domain((integers("x", 0, 4999),)))
    plan = policy.plan.quantile("x", [0.25, 0.5, 0.75], epsilon="0.1")

    assert plan.strategy == "select"
    assert plan.measurement.distance_scale == 40
    assert plan.facts()["answers"] == "3, picked among 5,000 cells"
    assert "40 rows" in plan.facts()["noise"]
    assert plan.facts()["accuracy"].startswith("with 95% probability at most ")
    assert plan.privacy_loss() == plan.cost == Fraction(1, 10)
    assert plan.candidates["strategy"][0] == "select"
    assert "hierarchical" in plan.candidates["strategy"].tolist()
    assert "2 rounds" in plan.proof
