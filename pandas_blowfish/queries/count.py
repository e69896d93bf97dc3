"""count: how many rows there are, or pass a filter, or are in each group. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tables.question import Counts
from pandas_blowfish.plan.tally import People
from pandas_blowfish.plan.totals.people import PeopleQuestion
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.scope import Scope, ask, strategy_name


def plan_count(
    policy: Policy,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    units: Any = False,
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of the row count: exact and free while the policy leaves it public.

    Of people instead of rows with `units`; where everyone has one row these are the same.
    """
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    scope = scope or Scope()
    if not isinstance(units, bool):
        raise ArgumentError("units", "not True or False", allowed="True, False")
    if units and policy.max_rows > 1:
        query = {"verb": "count", "columns": [], "units": True, "strategy": chosen, **scope.facts()}
        asked = PeopleQuestion(People.passing(scope.tally(policy, [], None)))
        return ask(policy, [asked], spend, query=query, strategy=chosen)
    query = {"verb": "count", "columns": [], "strategy": chosen, **scope.facts()}
    return ask(policy, [Counts(scope.tally(policy, [], None))], spend, query=query, strategy=chosen)
