"""range: how many rows lie in each of some ranges of an ordered column. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.exact import epsilon_of
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.axis import describe_bounds, one_column, ranges
from pandas_blowfish.queries.names import strategy_name
from pandas_blowfish.queries.scope import Scope


def plan_range(
    policy: Policy,
    columns: Any,
    bounds: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of ranges; see `df.blowfish.range`."""
    name = one_column(columns, "range")
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    scope = scope or Scope()
    bounds = list(bounds) if hasattr(bounds, "__next__") else bounds
    asked = ranges(policy, scope, name, bounds)
    said = describe_bounds(policy.domain[name], bounds)
    query = {
        "verb": "range",
        "columns": [name],
        "bounds": said,
        "strategy": chosen,
    }
    return choose(policy, asked, spend, query={**query, **scope.facts()}, strategy=chosen)
