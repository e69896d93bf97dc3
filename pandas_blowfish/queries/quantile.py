"""quantile: the values below which given shares of the rows lie. Touches no row itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.plan.line.quantile_curve import Axis, quantiles
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.monotone import monotone
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.ordered_column import one_column, prefixes
from pandas_blowfish.queries.scope import Scope, ask, strategy_name
from pandas_blowfish.release import Facts, with_receipt


def plan_quantile(
    policy: Policy,
    column: Any,
    q: Any = 0.5,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of quantiles: that of the cumulative histogram they are read off."""
    name = one_column(column, "quantile")
    spend, chosen, shares = epsilon_of(epsilon), strategy_name(strategy), shares_of(q)
    scope = scope or Scope()
    query = {"verb": "quantile", "columns": [name], "q": shares, "strategy": chosen, **scope.facts()}
    return ask(policy, [prefixes(policy, scope, name)], spend, query=query, strategy=chosen)


def shares_of(q: Any) -> list[float]:
    """Return one or several shares between 0 and 1 as a list."""
    listed = list(q) if isinstance(q, (list, tuple, np.ndarray, pd.Series, pd.Index, range)) else [q]
    shares = [exact(each, "q") for each in listed]
    if not shares or not all(0 <= share <= 1 for share in shares):
        wrong = [str(share) for share in shares if not 0 <= share <= 1]
        problem = f"{wrong[0]} is not between 0 and 1" if wrong else "no shares"
        raise ArgumentError("q", problem, allowed="shares such as 0.5 (the median) or [0.25, 0.75]")
    return [float(share) for share in shares]


def quantile_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return the quantiles of released cumulative counts."""
    inner = plan.domain[plan.query["columns"][0]].labels()
    counts, errors = (each.reshape(-1, len(inner)) for each in (solved.answers, plan.std))
    start = np.zeros((len(counts), 1))
    positions, spread = (np.concatenate([start, each], axis=1) for each in (counts, errors))
    outer = plan.index.droplevel(-1)[:: len(inner)] if isinstance(plan.index, pd.MultiIndex) else None
    return frame_of(positions, spread, inner, outer, plan.query["q"], facts)


def frame_of(
    positions: Floats,
    spread: Floats,
    cells: pd.Index[Any],
    groups: pd.Index[Any] | None,
    q: list[float],
    facts: Facts,
) -> pd.DataFrame:
    """Return `value` and `std` by share, groups outermost."""
    everywhere = np.zeros((len(positions), 1), dtype=bool)
    rising = monotone(positions, np.array([0]), everywhere)
    axis = Axis.of(cells, facts.get("declared_ends"))
    values, std = quantiles(rising, spread, axis, np.array(q))
    facts = {**facts, "smallest_value": axis.ends[0], "largest_value": axis.ends[1]}
    index: pd.Index[Any] = pd.Index(q, dtype="float64", name="q")
    if groups is not None:
        pairs = groups.repeat(len(q)).to_frame(index=False)
        pairs["q"] = np.tile(q, len(groups))
        index = pd.MultiIndex.from_frame(pairs)
    return with_receipt({"value": values, "std": std}, index, facts)
