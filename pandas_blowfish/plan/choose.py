"""Chooses what to measure: the smallest expected error of every candidate, data-free.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import UnknownStrategyError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.strategy.identity import Identity
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.policy import Policy

STRATEGIES = {Identity.name: Identity}


def choose(
    policy: Policy, tally: Tally, epsilon: Fraction, *, query: Mapping[str, Any], strategy: str = "auto"
) -> Plan:
    """Return the plan of least expected squared error, or the one that was named.

    Args:
        policy: The promise; refused here if no verb can keep it yet.
        tally: What is asked.
        epsilon: What may be lost.
        query: The question as plain data, for the receipt.
        strategy: "auto" or a strategy's name.
    """
    if strategy != "auto" and strategy not in STRATEGIES:
        raise UnknownStrategyError(strategy, ["auto", *STRATEGIES])
    policy.require_supported()
    graph = policy.graph.project(tally.domain.columns)
    wanted = STRATEGIES if strategy == "auto" else {strategy: STRATEGIES[strategy]}
    built = [kind.build(graph, tally, epsilon) for kind in wanted.values()]
    best = min(built, key=lambda candidate: float(candidate.variances.mean()))
    return Plan(policy, epsilon, best, dict(query), tuple(built))
