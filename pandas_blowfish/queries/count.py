"""count: how many rows there are. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.exact import epsilon_of
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.hist import strategy_name


def plan_count(policy: Policy, *, epsilon: Any = 1, strategy: str = "auto") -> Plan:
    """Return the plan of the row count: exact and free while the row count is public."""
    query = {"verb": "count", "columns": [], "strategy": strategy_name(strategy)}
    return choose(policy, Tally(()), epsilon_of(epsilon), query=query, strategy=strategy)
