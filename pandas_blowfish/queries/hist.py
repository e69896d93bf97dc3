"""hist: how many rows lie in each cell, or bin, of one or several columns. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.workload import describe_bins, listed_bins
from pandas_blowfish.policy.exact import epsilon_of
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.axis import cells
from pandas_blowfish.queries.names import column_names, strategy_name
from pandas_blowfish.queries.scope import Scope


def plan_hist(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    bins: Any = None,
    strategy: str = "auto",
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of a histogram; see `df.blowfish.hist`."""
    names = column_names(columns)
    spend, chosen, cuts = epsilon_of(epsilon), strategy_name(strategy), listed_bins(bins)
    scope = scope or Scope()
    asked = cells(scope.tally(policy, names, cuts))
    query = {"verb": "hist", "columns": names, "bins": describe_bins(cuts), "strategy": chosen}
    return choose(policy, [asked], spend, query={**query, **scope.facts()}, strategy=chosen)
