"""How epsilon is shared between several questions: the worst edge loses all of it."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.together import question
from pandas_blowfish.plan.together.question import SeveralQuestions
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 9), integers("y", 0, 9), integers("z", 0, 9)))


def test_exact_questions_have_no_share():
    """A question about public columns is exact; all of epsilon is left for the others."""
    policy = bf.Policy(DOMAIN, secrets={"x": bf.public()})

    plan = policy.plan.agg({"x": "median", "y": "median"}, epsilon=1)

    assert plan.measurement.shares == (0, 1)
    assert plan.privacy_loss() == 1


def test_all_exact_costs_nothing():
    """Where no edge changes anything nothing is charged."""
    policy = bf.Policy(DOMAIN, secrets={name: bf.public() for name in "xyz"})

    assert policy.plan.describe(["x", "y"]).cost == 0


def test_shares_are_lifted_to_what_the_worst_edge_loses():
    """An edge of a ball moves either column, not both: each question may lose all of epsilon."""
    ball = {("x", "y"): bf.threshold(1, metric="l1")}
    plan = bf.Policy(DOMAIN, secrets=ball).plan.agg({"x": "median", "y": "median"}, epsilon=1)

    assert plan.measurement.shares == (1, 1)
    assert plan.privacy_loss() == 1


def test_without_trying_edges_shares_add_up(monkeypatch):
    """Too many cells to try: the shares of a group add up to what it may lose."""
    monkeypatch.setattr(question, "TRIED_ENTRIES", 0)
    policy = bf.Policy(DOMAIN, secrets={"x": bf.threshold(3)})
    plan = policy.plan.describe("x", epsilon=1)

    assert sum(plan.measurement.shares) == 1
    assert plan.privacy_loss() <= 1


@pytest.mark.parametrize(("neighbors", "at_once"), [("record", 3), (2, 2), ("attribute", 1)])
def test_as_many_groups_share_as_an_edge_may_change(neighbors, at_once):
    """An edge that moves few blocks changes few groups of questions."""
    policy = bf.Policy(DOMAIN, neighbors=neighbors)
    present = bf.Policy(DOMAIN, neighbors=neighbors, presence=True)
    asked = dict.fromkeys("xyz", "median")

    assert policy.plan.agg(asked, epsilon=1).measurement.shares == (Fraction(1, at_once),) * 3
    assert present.plan.agg(asked, epsilon=1).measurement.shares == (Fraction(1, 3),) * 3


def test_a_stored_form_is_read_back():
    """Strategies, shares and forms of all members, whatever is found best by now."""
    plan = bf.Policy(DOMAIN).plan.groupby("z").agg({"x": ["median", "std"], "y": "mean"}, epsilon="1/3")

    again = reread(plan, plan.measurement.name, plan.way, plan.measurement.form)

    assert again.measurement.scales == plan.measurement.scales
    assert again.measurement.form == plan.measurement.form


def test_columns_and_members_are_those_of_the_questions():
    """Filters and groups included, each once."""
    plan = bf.Policy(DOMAIN).plan.where("z > 3").agg({"x": ["median", "std"], "y": "mean"})
    (asked,) = plan.asked

    assert isinstance(asked, SeveralQuestions)
    assert set(asked.columns) == {"x", "y", "z"}
    assert [label.query["verb"] for label in asked.members] == ["agg", "quantile"]
    assert asked.strategies == ("together",)
