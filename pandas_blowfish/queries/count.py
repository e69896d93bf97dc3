"""count: how many rows there are, or pass a filter, or are in each group. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tables.question import Counts
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.scope import Scope, ask, strategy_name


def plan_count(
    policy: Policy, *, epsilon: Any = 1, strategy: str = "auto", scope: Scope | None = None
) -> Plan:
    """Return the plan of the row count: exact and free while the policy leaves it public."""
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    scope = scope or Scope()
    query = {"verb": "count", "columns": [], "strategy": chosen, **scope.facts()}
    return ask(policy, [Counts(scope.tally(policy, [], None))], spend, query=query, strategy=chosen)
