"""cumhist: how many rows lie at or below each value of an ordered column. Touches no row itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.ordered_column import one_column, prefixes
from pandas_blowfish.queries.call.scope import Scope, ask, strategy_name
from pandas_blowfish.release import Facts, count_columns, with_receipt


def plan_cumhist(
    policy: Policy, column: Any, *, epsilon: Any = 1, strategy: str = "auto", scope: Scope | None = None
) -> Plan:
    """Return the plan of a cumulative histogram; see `df.blowfish.cumhist`."""
    name = one_column(column, "cumhist")
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    scope = scope or Scope()
    query = {"verb": "cumhist", "columns": [name], "strategy": chosen, **scope.facts()}
    return ask(policy, [prefixes(policy, scope, name)], spend, query=query, strategy=chosen)


def cumulative(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return the answers with their share of each line's own total: NaN where that is not positive."""
    lines = solved.answers.reshape(-1, plan.domain[plan.query["columns"][0]].cells)
    total = lines[:, -1:]
    cdf = np.divide(lines, total, out=np.full(lines.shape, np.nan), where=total > 0)
    return with_receipt(count_columns(solved, plan.std, facts, cdf=cdf.ravel()), plan.index, facts)
