"""The question of the most frequent values: strategies, exact answers, and reading again."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UnknownStrategyError
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 4), integers("y", 0, 2)))


def test_one_value_is_picked_and_several_are_counted():
    """By the rows that may be missed; a name decides otherwise."""
    plan = bf.Policy(DOMAIN).plan

    assert plan.mode("x").strategy == "select"
    assert plan.top(1, "x").strategy == "select"
    assert plan.top(2, "x").strategy == "counts"
    assert plan.mode("x", strategy="counts").strategy == "counts"
    with pytest.raises(UnknownStrategyError):
        plan.mode("x", strategy="identity")


def test_two_of_two_need_one_choice():
    """The second is what is left: both at the price of one."""
    plan = bf.Policy(Domain((integers("x", 0, 1),))).plan.top(2, "x", epsilon=1)

    assert (plan.strategy, plan.scale) == ("select", 2)


def test_exact_counts_are_listed_where_they_cost_nothing():
    """They tell more than picks alone."""
    plan = bf.Policy(DOMAIN, secrets={"x": bf.public()}).plan.mode("x")

    assert plan.measurement.name == "counts"
    assert plan.cost == 0


def test_what_a_public_marginal_states_is_free():
    """The counts of the column are known: so are the most frequent."""
    plan = bf.Policy(DOMAIN, constraints=[bf.Marginal("x")]).plan

    assert plan.top(2, "x", strategy="select").cost == plan.top(2, "x").cost == 0
    assert plan.mode("y").cost == 1


def test_a_stored_answer_is_read_by_its_form():
    """What was not taken is stated too."""
    plan = bf.Policy(DOMAIN).plan.mode("x", epsilon=Fraction(1, 2))

    again = reread(plan, "select", 0, plan.measurement.form)

    assert again.measurement.instead == plan.measurement.instead
    assert again.scales == plan.scales
    assert reread(plan, "counts", 0, {}).strategy == "counts"
