"""hist: how many rows lie in each cell, or bin, of one or several columns. Touches no row itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.plan.tables.question import Marginals
from pandas_blowfish.plan.tally import describe_bins, listed_bins
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.ordered_column import cells
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name

MAX_COLUMNS, MAX_CELLS = 6, 10**5  # of tables for which differences of two values are considered


def plan_hist(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    bins: Any = None,
    strategy: str = "auto",
    scope: Scope | None = None,
    spelt: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the plan of a histogram; see `df.blowfish.hist`."""
    names = column_names(columns)
    spend, chosen, cuts = epsilon_of(epsilon), strategy_name(strategy), listed_bins(bins)
    scope = scope or Scope()
    asked: list[Question] = [cells(scope.tally(policy, names, cuts))]
    asked += _differences(policy, scope, names) if cuts is None else []
    query: dict[str, Any] = {
        "verb": "hist",
        "columns": names,
        "bins": describe_bins(cuts),
        "strategy": chosen,
    }
    query |= scope.facts() | ({} if spelt is None else {"spelt": spelt})
    return ask(policy, asked, spend, query=query, strategy=chosen)


def _differences(policy: Policy, scope: Scope, names: list[str]) -> list[Question]:
    """Return the same table once more where columns of two values may be measured by their differences."""
    table = [*scope.groups, *names]
    cut = {name: binning.bins for name, binning in scope.binned.items()}
    sizes = [cut.get(each.name) or each.size for each in policy.domain.select(table)]
    if not 2 <= len(table) <= MAX_COLUMNS or 2 not in sizes or math.prod(sizes) > MAX_CELLS:
        return []
    return [replace(Marginals.over(policy.domain, [table], scope.condition, scope.binned), plain=False)]
