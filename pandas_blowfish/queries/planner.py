"""policy.plan: every verb without data, what it would cost and how wrong it would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.count import plan_count
from pandas_blowfish.queries.hist import plan_hist


@dataclass(frozen=True)
class Planner:
    """The verbs of one policy, planned: no data, no spend."""

    policy: Policy

    def hist(
        self,
        columns: Any,
        *,
        epsilon: Any = 1,
        bins: Any = None,
        strategy: str = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.hist`; `post` and `name` change nothing here."""
        return plan_hist(self.policy, columns, epsilon=epsilon, bins=bins, strategy=strategy)

    def count(
        self,
        *,
        epsilon: Any = 1,
        strategy: str = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.count`; `post` and `name` change nothing here."""
        return plan_count(self.policy, epsilon=epsilon, strategy=strategy)

    def __repr__(self) -> str:
        return f"Planner(hist, count) for\n{self.policy!r}"


Policy.planner = Planner
