"""From a question to its plan, of the kind that the policy's promise needs. Touches no row itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pandas_blowfish.beyond.total_plan import plan_type
from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.policy.policy import Policy


def ask(
    policy: Policy,
    asked: Sequence[Question],
    epsilon: Fraction,
    *,
    query: Mapping[str, Any],
    strategy: str = "auto",
) -> Plan:
    """Return the plan of least expected squared error, or the one that was named; see `choose`."""
    kind = plan_type(policy, asked)
    return choose(policy, asked, epsilon, query=query, strategy=strategy, kind=kind)
