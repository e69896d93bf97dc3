"""logsum and geomean: sums and means of the natural logarithms of columns. Touches no row itself.

Errors of geometric means are those of the means of logarithms: shares of the geometric means.

>>> from pandas_blowfish.policy.attribute import Unbounded
>>> from pandas_blowfish.policy.domain import Domain
>>> from pandas_blowfish.policy.policy import Policy
>>> from pandas_blowfish.policy.secret import relative_error
>>> prices = Domain((Unbounded("price", "float", False),))
>>> policy = Policy(prices, secrets={"price": relative_error("0.9", step="0.001")})
>>> plan = plan_logsum(policy, "price")
>>> plan.sensitivity, plan.call  # 4 ln(1 / 0.9) = 0.4214...
(Fraction(422, 1), "logsum('price', strategy='auto', epsilon='1')")
"""

from __future__ import annotations

from functools import partial

from pandas_blowfish.queries.sum import plan_totals

plan_logsum = partial(plan_totals, "logsum")  # see `df.blowfish.logsum`
plan_geomean = partial(plan_totals, "geomean")  # see `df.blowfish.geomean`
