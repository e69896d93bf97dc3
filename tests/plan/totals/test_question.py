"""The question behind sums and means: its index, its origins, its one strategy."""

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UnknownStrategyError
from pandas_blowfish.plan.totals.question import Totals
from pandas_blowfish.policy.domain import Domain, from_dict, integers

POLICY = bf.Policy(
    Domain(
        (
            integers("x", 10, 19),
            integers("y", 0, 4, nullable=True),
            from_dict("g", {"type": "category", "values": ["a", "b"]}),
        )
    )
)


def test_index():
    """A name has the groups' index, or its own name; a list has an innermost level."""
    plan = POLICY.plan

    assert plan.sum("x").index.tolist() == ["x"]
    assert plan.sum("x").index.name == "column"
    assert plan.sum(["x", "y"]).index.tolist() == ["x", "y"]
    assert plan.groupby("g").sum("x").index.tolist() == ["a", "b"]
    assert plan.groupby("g").sum(["x"]).index.tolist() == [("a", "x"), ("b", "x")]
    assert plan.groupby("g").sum(["x", "y"]).index.names == ["g", "column"]


def test_origins():
    """Near 0 where counts are exact, 0 for noisy sums, midway between what passes for noisy means."""
    plan = POLICY.plan

    def origin(found):
        return found.measurement.summed[0].lattice.origin

    assert origin(plan.sum("x")) == 10
    assert origin(plan.where("g == 'a'").sum("x")) == 0
    assert origin(plan.where("g == 'a'").mean("x")) == 15
    assert origin(plan.where("x >= 16").mean("x")) == 18  # full: from all of 16..19 rows can leave
    assert origin(plan.mean("y")) == 2


def test_counts_are_shared_unless_values_may_be_missing():
    """Columns without missing values have one count together."""
    found = POLICY.plan.mean(["x", "y"]).measurement

    assert [column.count for column in found.summed] == [0, 1]
    assert [column.exact for column in found.summed] == [True, False]
    assert len(POLICY.plan.sum(["x", "y"]).measurement.totals) == 3


def test_strategies():
    """There is one, and it can be named."""
    plan = POLICY.plan.sum("x", strategy="total")

    assert plan.strategy == "total"
    assert isinstance(plan.asked[0], Totals)
    assert plan.candidates["strategy"].tolist() == ["total"]
    with pytest.raises(UnknownStrategyError):
        POLICY.plan.sum("x", strategy="identity")
