"""Chooses what to measure: the smallest expected error of every candidate, data-free.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import UnknownStrategyError
from pandas_blowfish.plan.line import Line, line
from pandas_blowfish.plan.measurement import Measurement
from pandas_blowfish.plan.nest import Layout
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.search import search
from pandas_blowfish.plan.spans import Spans
from pandas_blowfish.plan.strategy import cells, haar, hierarchical, ordered, ordered_hierarchical
from pandas_blowfish.plan.strategy.dawa import Dawa
from pandas_blowfish.plan.strategy.identity import Identity
from pandas_blowfish.plan.strategy.nested import Nested
from pandas_blowfish.plan.strategy.tree import Tree
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.policy import Policy

NESTED: dict[str, Callable[[Line], list[Layout]]] = {
    cells.NAME: cells.layouts,
    ordered.NAME: ordered.layouts,
    ordered_hierarchical.NAME: ordered_hierarchical.layouts,
    hierarchical.NAME: hierarchical.layouts,
    haar.NAME: haar.layouts,
}
STRATEGIES = (*NESTED, Tree.name, Dawa.name)
LONG = 1_024  # atoms beyond which single cells are not measured by runs of cells
KEPT = 1.02  # plain counts, whole numbers with exact intervals, are kept unless something is this much better
Asked = Tally | Spans


def choose(
    policy: Policy,
    asked: Sequence[Asked],
    epsilon: Fraction,
    *,
    query: Mapping[str, Any],
    strategy: str = "auto",
) -> Plan:
    """Return the plan of least expected squared error, or the one that was named.

    Args:
        policy: The promise; refused here if no verb can keep it yet.
        asked: What is asked, in one or several ways that have the same answers.
        epsilon: What may be lost.
        query: The question as plain data, for the receipt.
        strategy: "auto" or a strategy's name.
    """
    names = _names(asked[0])
    if strategy != "auto" and strategy not in names:
        raise UnknownStrategyError(strategy, ["auto", *names])
    policy.require_supported()
    built = [
        (each, way) for way, one in enumerate(asked) for each in _candidates(policy, one, epsilon, strategy)
    ]
    if not built:
        raise UnknownStrategyError(strategy, ["auto"])
    best, way = min(built, key=lambda pair: pair[0].mse)
    if isinstance(built[0][0], Identity) and built[0][0].mse <= KEPT * best.mse:
        best, way = built[0]
    return Plan(policy, epsilon, best, dict(query), tuple(each for each, _ in built), tuple(asked), way)


def reread(plan: Plan, strategy: str, way: int, form: Mapping[str, Any]) -> Plan:
    """Return the plan with the measurement that an earlier release made, to read its stored answer.

    What `auto` finds best may change with the version of an optimiser; what was measured does not.
    """
    asked = plan.asked[way]
    tally = asked if isinstance(asked, Tally) else asked.tally
    graph = plan.policy.graph.project(tally.domain.columns)
    found: Measurement
    if isinstance(asked, Tally) or (strategy == Identity.name and not form):
        found = Identity.build(graph, tally, plan.epsilon)
    elif strategy == Tree.name:
        found = Tree(asked, line(graph, tally), plan.epsilon)
    elif strategy == Dawa.name:
        found = Dawa(Tree(asked, line(graph, tally), plan.epsilon))
    else:
        found = Nested.from_form(strategy, asked, line(graph, tally), plan.epsilon, form)
    return replace(plan, measurement=found, way=way)


def _names(asked: Asked) -> tuple[str, ...]:
    """Return the strategies that can answer a question."""
    return (Identity.name,) if isinstance(asked, Tally) else STRATEGIES


def _candidates(policy: Policy, asked: Asked, epsilon: Fraction, strategy: str) -> Iterator[Measurement]:
    """Yield what can be measured for a question, the simplest first."""
    tally = asked if isinstance(asked, Tally) else asked.tally
    graph = policy.graph.project(tally.domain.columns)
    auto = strategy == "auto"
    counts = isinstance(asked, Tally) or asked.kind == "cells"
    if counts and (auto or strategy == Identity.name):
        plain = Identity.build(graph, tally, epsilon)
        yield plain
        if not auto or plain.sensitivity == 0:
            return
    if isinstance(asked, Tally):
        return
    axis = line(graph, tally)
    # totals of pieces that are no runs are kept by trees (and by counts of cells) alone
    pieces = int(axis.pieces.max(initial=0)) + 1 > len(axis.starts)
    for name, layouts in NESTED.items():
        if (auto and (pieces or (counts and _hopeless(name, axis)))) or strategy not in ("auto", name):
            continue
        if found := layouts(axis):
            layout, weights = search(axis, asked, found)
            yield Nested(name, asked, axis, layout, weights, epsilon)
    if strategy in ("auto", Tree.name):
        yield Tree(asked, axis, epsilon)
    if strategy == Dawa.name:
        yield Dawa(Tree(asked, axis, epsilon))


def _hopeless(name: str, axis: Line) -> bool:
    """Tell whether a strategy of runs is not worth trying for the counts of single cells."""
    return name == cells.NAME or (name != ordered.NAME and axis.size > LONG)
