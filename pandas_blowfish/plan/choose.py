"""Chooses what to measure: the smallest expected error of every candidate, data-free.

Never sees rows.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from pandas_blowfish.beyond.chain_plan import rate_of
from pandas_blowfish.beyond.total_plan import plan_type
from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.facts.move_bound import KNOWN
from pandas_blowfish.plan.line import cells, haar, hierarchical, ordered, ordered_hierarchical
from pandas_blowfish.plan.line.axis import Line, line
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.search import VERY_LONG, search, shorter
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import Measurement, Question
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.mesh import Mesh
from pandas_blowfish.plan.tables.question import JOINT, RESIDUAL
from pandas_blowfish.plan.tally import MAX_TOGETHER, Tally
from pandas_blowfish.policy.policy import Policy

NESTED: dict[str, Callable[[Line], list[Layout]]] = {
    cells.NAME: cells.layouts,
    ordered.NAME: ordered.layouts,
    ordered_hierarchical.NAME: ordered_hierarchical.layouts,
    hierarchical.NAME: hierarchical.layouts,
    haar.NAME: haar.layouts,
}
STRATEGIES = (*NESTED, Tree.name, Dawa.name)
SHORT = 128  # atoms up to which every strategy is searched by itself
LONG = 1_024  # atoms beyond which single cells are not measured by runs of cells
MAX_PLANS, MAX_KEPT = 32, 2_000_000  # plans kept, and the answers of all of them together
_plans: OrderedDict[Any, Plan] = OrderedDict()
KEPT = 1.02  # plain counts, whole numbers with exact intervals, are kept unless something is this much better
WHY_NOT = {  # why a strategy may have no measurement
    Dawa.name: "needs lines that no row can leave or change",
    Mesh.name: "needs boxes of two columns, and edges that change nothing else and lead nowhere else",
    JOINT: "is one of the tables asked for, or has too many cells",
    RESIDUAL: f"splits tables of up to {MAX_TOGETHER} columns",
    "soft": "needs columns with more cells, or fewer clusters or groups",
    "adaptive": "needs columns with more cells, or fewer clusters or groups",
    "whole": "needs pieces (partition groups, say) that no edge leaves, as many as clusters or more",
}
Asked = Tally | Spans | Question


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
        policy: The promise, with what is public about the table.
        asked: What is asked, in one or several ways that have the same answers.
        epsilon: What may be lost.
        query: The question as plain data, for the receipt.
        strategy: "auto" or a strategy's name.
    """
    kind, names = plan_type(policy, asked), _names(asked[0])
    if strategy != "auto" and strategy not in names:
        raise UnknownStrategyError(strategy, ["auto", *names])
    key = (policy.fingerprint, json.dumps(query, sort_keys=True, default=str), epsilon)
    if key in _plans:
        _plans.move_to_end(key)
        return _plans[key]

    prices = [priced(policy, each) for each in asked]
    ways = [way for way, each in enumerate(prices) if each.found.rule == KNOWN] or list(range(len(asked)))
    paid = prices[ways[0]]  # ways that the facts tell are exact: then no other is looked at
    share = rate_of(policy, epsilon) / paid.moved

    def built(every: bool) -> list[tuple[Measurement, int]]:
        found = [(_candidates(paid.policy, asked[way], share, strategy, every), way) for way in ways]
        return [(each, way) for some, way in found for each in some]

    tried = built(False)
    if not tried:
        raise ArgumentError("strategy", f"{strategy} {WHY_NOT[strategy]}", fix='"auto"')
    best, way = tried[0]
    if len(tried) > 1:  # of equals the first, which is the simplest
        least = min(each.mse for each, _ in tried)
        best, way = next((pair for pair in tried if pair[0].mse <= least * (1 + 1e-9)), tried[0])
    if isinstance(tried[0][0], Identity) and tried[0][0].mse <= KEPT * best.mse:
        best, way = tried[0]
    considered = partial(_measurements, built)
    again = partial(_again, policy, tuple(asked), dict(query), strategy)
    plan = kind(policy, epsilon, best, dict(query), considered, tuple(asked), way, paid, again)
    _keep(key, plan)
    return plan


def priced(policy: Policy, asked: Asked) -> Price:
    """Return what facts cost a question asked in one way."""
    if isinstance(asked, Question):
        return price_of(policy, asked.columns)
    tally = asked if isinstance(asked, Tally) else asked.compact().tally
    return price_of(policy, tally.domain.columns, tally)


def _again(
    policy: Policy, asked: Sequence[Asked], query: Mapping[str, Any], strategy: str, epsilon: Fraction
) -> Plan:
    return choose(policy, asked, epsilon, query=query, strategy=strategy)


def _measurements(built: Callable[[bool], list[tuple[Measurement, int]]]) -> list[Measurement]:
    return [each for each, _ in built(True)]


def _keep(key: Any, plan: Plan) -> None:
    """Keep a plan for the next time it is asked for, as long as those kept are not too large together."""
    _plans[key] = plan
    while sum(len(each.index) for each in _plans.values()) > MAX_KEPT or len(_plans) > MAX_PLANS:
        if len(_plans) == 1:
            break
        _plans.popitem(last=False)


def reread(plan: Plan, strategy: str, way: int, form: Mapping[str, Any]) -> Plan:
    """Return the plan with the measurement that an earlier release made, to read its stored answer.

    What `auto` finds best may change with the version of an optimiser; what was measured does not.
    """
    asked, policy = plan.asked[way], plan.price.policy
    epsilon = rate_of(plan.policy, plan.epsilon) / plan.price.moved
    found: Measurement
    if isinstance(asked, Question):
        found = asked.reread(policy, epsilon, strategy, form)
        return replace(plan, measurement=found, way=way)
    tally = asked if isinstance(asked, Tally) else asked.tally
    graph = policy.graph.project(tally.domain.columns)
    if isinstance(asked, Tally) or (strategy == Identity.name and not form):
        return replace(plan, measurement=Identity.build(graph, tally, epsilon), way=way)
    asked = asked.compact()
    axis = line(graph, asked.tally)
    if strategy == Tree.name:
        found = Tree(asked, axis, epsilon)
    elif strategy == Dawa.name:
        found = Dawa(Tree(asked, axis, epsilon))
    else:
        found = Nested.from_form(strategy, asked, axis, epsilon, form)
    return replace(plan, measurement=found, way=way)


def _names(asked: Asked) -> tuple[str, ...]:
    """Return the strategies that can answer a question."""
    if isinstance(asked, Question):
        return asked.strategies
    return (Identity.name,) if isinstance(asked, Tally) else STRATEGIES


def _candidates(
    policy: Policy, asked: Asked, epsilon: Fraction, strategy: str, every: bool
) -> Iterator[Measurement]:
    """Yield what can be measured for a question, the simplest first.

    Unless every candidate is asked for, all layouts compete in one search, and of a long line that repeats
    itself just the best is yielded, found on a part of it: what measures runs of the whole line gets no
    better as the line gets longer.
    """
    if isinstance(asked, Question):
        yield from asked.candidates(policy, epsilon, strategy, every=every)
        return
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
    asked = asked.compact()
    axis = line(graph, asked.tally)
    names = [name for name in STRATEGIES if strategy == name or (auto and _worthwhile(name, axis, counts))]
    if not auto or every or axis.size <= SHORT:
        yield from _on_line(axis, asked, epsilon, names)
    else:
        yield from _contest(axis, asked, epsilon, names)


def _contest(axis: Line, asked: Spans, epsilon: Fraction, names: Sequence[str]) -> list[Measurement]:
    """Return the best of the nested layouts of all strategies together, and the tree of listed edges.

    Without listed edges a tree is prefix sums of blocks and single atoms: blocks with runs do better.
    """
    short = shorter(axis, asked)
    part, question = short or (axis, asked)
    layouts = {layout: name for name in names if name in NESTED for layout in NESTED[name](part)}
    found: list[Measurement] = []
    if layouts:
        layout, weights = search(part, question, list(layouts))
        found.append(Nested(layouts[layout], question, part, layout, weights, epsilon))
    if Tree.name in names and (axis.listed is not None or not layouts):
        found.append(Tree(question, part, epsilon))
    if short is None:
        return found
    best = min(found, key=lambda each: each.mse)
    if isinstance(best, Nested) and best.layout.spacing is not None:
        return [replace(best, asked=asked, line=axis)]
    return (
        [Tree(asked, axis, epsilon)]
        if isinstance(best, Tree)
        else list(_on_line(axis, asked, epsilon, names))
    )


def _on_line(axis: Line, asked: Spans, epsilon: Fraction, names: Sequence[str]) -> Iterator[Measurement]:
    """Yield the measurements of some strategies on a line."""
    for name in names:
        if name == Tree.name:
            yield Tree(asked, axis, epsilon)
        elif name == Dawa.name and (len(axis.away) or len(axis.across)):
            continue  # its tree would be as deep as the line is long
        elif name == Dawa.name:
            yield Dawa(Tree(asked, axis, epsilon))
        elif layouts := NESTED[name](axis) or (cells.layouts(axis) if len(names) == 1 else []):
            layout, weights = search(axis, asked, layouts)
            yield Nested(name, asked, axis, layout, weights, epsilon)


def _worthwhile(name: str, axis: Line, counts: bool) -> bool:
    """Tell whether a strategy may be the best.

    Totals of pieces that are no runs are kept by trees (and by counts of cells) alone. Single cells of
    long lines are not measured by runs of cells; the rows decide about dawa, so it must be asked for.
    """
    if name == Dawa.name or (counts and name == cells.NAME):
        return False
    if int(axis.pieces.max(initial=0)) + 1 > len(axis.starts):
        return name == Tree.name
    if axis.size > VERY_LONG and (len(axis.across) or 2 * len(axis.away) > axis.size):
        return name == hierarchical.NAME  # rows leave from everywhere: sums from one end cost the most
    return not counts or name in (ordered.NAME, Tree.name) or axis.size <= LONG
