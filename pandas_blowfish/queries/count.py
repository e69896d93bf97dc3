"""count, size: how many rows there are, or pass a filter, or are in each group. Touches no row itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.call_text import spell
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tables.question import Counts
from pandas_blowfish.plan.tally import People
from pandas_blowfish.plan.totals.people import PeopleQuestion
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, strategy_name


def plan_count(
    policy: Policy,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    units: Any = False,
    scope: Scope | None = None,
    spelt: Mapping[str, Any] | None = None,
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
    query |= {} if spelt is None else {"spelt": spelt}
    return ask(policy, [Counts(scope.tally(policy, [], None))], spend, query=query, strategy=chosen)


def plan_size(policy: Policy, *, epsilon: Any, strategy: str, scope: Scope) -> Plan:
    """Return the plan of the row count by group; see `df.blowfish.size`."""
    spelt = spell("size", strategy=strategy)
    return plan_count(policy, epsilon=epsilon, strategy=strategy, scope=scope, spelt=spelt)
