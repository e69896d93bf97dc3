"""logsum and geomean: sums and means of the logarithms of columns. Touches no row itself."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.queries.sum import plan_totals


def plan_logsum(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of sums of natural logarithms; see `df.blowfish.logsum`.

    Examples:
        >>> from pandas_blowfish.policy.attribute import Unbounded
        >>> from pandas_blowfish.policy.domain import Domain
        >>> from pandas_blowfish.policy.secret import relative_error
        >>> prices = Domain((Unbounded("price", "float", False),))
        >>> policy = Policy(prices, secrets={"price": relative_error("0.9", step="0.001")})
        >>> plan = plan_logsum(policy, "price")
        >>> plan.sensitivity, plan.call  # 4 ln(1 / 0.9) = 0.4214...
        (Fraction(422, 1), "logsum('price', strategy='auto', epsilon='1')")
    """
    return plan_totals(
        "logsum", policy, columns, epsilon=epsilon, strategy=strategy, scope=scope or Scope(), rows=rows
    )


def plan_geomean(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of geometric means; see `df.blowfish.geomean`.

    Its errors are those of the means of logarithms: as shares of the geometric means.
    """
    return plan_totals(
        "geomean", policy, columns, epsilon=epsilon, strategy=strategy, scope=scope or Scope(), rows=rows
    )
