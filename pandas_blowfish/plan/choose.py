"""Chooses what to measure: the smallest expected error of every candidate, data-free.

Never sees rows.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.policy.policy import Policy

MAX_PLANS, MAX_KEPT = 32, 2_000_000  # plans kept, and the answers of all of them together
_plans: OrderedDict[Any, Plan] = OrderedDict()


def choose(
    policy: Policy,
    asked: Sequence[Question],
    epsilon: Fraction,
    *,
    query: Mapping[str, Any],
    strategy: str = "auto",
    kind: type[Plan] = Plan,
    rows: int | None = None,
) -> Plan:
    """Return the plan of least expected squared error, or the one that was named.

    Args:
        policy: The promise, with what is public about the table.
        asked: What is asked, in one or several ways that have the same answers.
        epsilon: What may be lost.
        query: The question as plain data, for the receipt.
        strategy: "auto" or a strategy's name.
        kind: What the plan is: under a promise beyond one record a kind of its own.
        rows: The number of rows, where it is public and known: facts move no more records than that.
    """
    kind.require(policy)
    asked, query = tuple(asked), dict(query)
    names = asked[0].strategies
    if strategy != "auto" and strategy not in names:
        raise UnknownStrategyError(strategy, ["auto", *names])
    key = (policy.fingerprint, json.dumps(query, sort_keys=True, default=str), epsilon, rows)
    if key in _plans:
        _plans.move_to_end(key)
        return _plans[key]

    prices = [each.price(policy).cap(rows) for each in asked]
    ways = [way for way, each in enumerate(prices) if each.settled] or list(range(len(asked)))
    paid = prices[ways[0]]  # ways that follow from the facts are exact: then no other is looked at
    share = kind.rate(policy, epsilon) / paid.moved

    def build(every: bool) -> list[tuple[Strategy, int]]:
        found = [(asked[way].candidates(paid.policy, share, strategy, every=every), way) for way in ways]
        return [(each, way) for some, way in found for each in some]

    tried = build(False)
    if not tried:
        raise ArgumentError("strategy", f"{strategy} {asked[0].why_not(strategy)}", fix='"auto"')
    best, way = tried[pick_best([each for each, _ in tried])]
    plan = kind(
        policy,
        epsilon,
        best,
        query,
        lambda: [each for each, _ in build(True)],
        asked,
        way,
        paid,
        partial(choose, policy, asked, query=query, strategy=strategy, kind=kind, rows=rows),
    )
    _keep(key, plan)
    return plan


def pick_best(tried: Sequence[Strategy]) -> int:
    """Return the place of the strategy of least error; of equals the first, which is the simplest."""
    if len(tried) == 1:
        return 0
    least = min(each.mse for each in tried)
    best = next((place for place, each in enumerate(tried) if each.mse <= least * (1 + 1e-9)), 0)
    simple = tried[0].tolerance > 1 and tried[0].mse <= tried[0].tolerance * tried[best].mse
    return 0 if simple else best


def _keep(key: Any, plan: Plan) -> None:
    """Keep a plan for the next time it is asked for, as long as those kept are not too large together."""
    _plans[key] = plan
    while sum(len(each.index) for each in _plans.values()) > MAX_KEPT or len(_plans) > MAX_PLANS:
        if len(_plans) == 1:
            break
        _plans.popitem(last=False)


def reread(plan: Plan, strategy: str, way: int, form: Mapping[str, Any]) -> Plan:
    """Return the plan with the strategy that an earlier release measured, to read its stored answer.

    What `auto` finds best may change with the version of an optimiser; what was measured does not.
    """
    epsilon = plan.rate(plan.policy, plan.epsilon) / plan.price.moved
    found = plan.asked[way].reread(plan.price.policy, epsilon, strategy, form)
    return replace(plan, measurement=found, way=way)
