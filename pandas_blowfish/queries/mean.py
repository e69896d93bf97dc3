"""mean: the average of the values of columns that are not missing. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.queries.sum import plan_totals


def plan_mean(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of means; see `df.blowfish.mean`.

    The sum is divided by the row count where no edge changes that, else by a noisy one that is part of the
    same release.
    """
    return plan_totals(
        "mean", policy, columns, epsilon=epsilon, strategy=strategy, scope=scope or Scope(), rows=rows
    )
