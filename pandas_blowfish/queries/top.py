"""mode, top: which values, or combinations of values, are most frequent. Touches no row itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.arrays import frozen
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.ranks.candidates import Candidates
from pandas_blowfish.plan.ranks.question import MostFrequent
from pandas_blowfish.plan.ranks.solve import Ranked
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tally import Binning
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.release import count_columns, with_receipt

MAX_RANKS = 1_000  # values that are listed, for each group
TAKEN = ("rank", "count", "std", "unshaped")  # names of the result


def plan_mode(policy: Policy, columns: Any = None, **asked: Any) -> Plan:
    """Return the plan of the most frequent value; see `df.blowfish.mode`."""
    return _plan_ranks("mode", policy, 1, columns, **asked)


def plan_top(policy: Policy, k: Any, columns: Any = None, **asked: Any) -> Plan:
    """Return the plan of the k most frequent values; see `df.blowfish.top`."""
    return _plan_ranks("top", policy, _ranks(k), columns, **asked)


def _plan_ranks(
    verb: str,
    policy: Policy,
    k: int,
    columns: Any,
    *,
    epsilon: Any = 1,
    dropna: Any = True,
    strategy: str = "auto",
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of the most frequent values of some columns together."""
    names, scope = column_names(columns), scope or Scope()
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    if not isinstance(dropna, (bool, np.bool_)):
        raise ArgumentTypeError("dropna", "not True or False", allowed="True, False")
    if taken := [name for name in (*scope.groups, *names) if name in TAKEN]:
        raise ArgumentError("columns", f"{taken[0]!r} is a name in the result", fix="rename the column.")
    bins = {name: _present(policy, name) for name in names if dropna and policy.domain[name].nullable}
    among = Candidates(scope.tally(policy, names, bins or None), len(scope.groups), k)
    if not among.most:
        raise ArgumentError("columns", "the filter leaves nothing to choose from", fix="widen the filter.")
    if k > (least := int(among.sizes.min())):
        each = " in some group" if scope.groups else ""
        allowed = f"up to {least:,}, the number of values{each}"
        raise ArgumentError("k", f"{k:,} values", allowed=allowed)
    query: dict[str, Any] = {"verb": verb, "columns": names, "k": k} if verb == "top" else {"verb": verb}
    query |= {"columns": names, "strategy": chosen} | ({} if dropna else {"dropna": False})
    return ask(policy, [MostFrequent(among)], spend, query={**query, **scope.facts()}, strategy=chosen)


def _present(policy: Policy, name: str) -> Binning:
    """Return the cells of a column without that for missing values."""
    own = policy.domain.select([name])[name]
    return Binning(own, frozen(np.append(np.arange(own.cells), -1)), own.labels())


def _ranks(k: Any) -> int:
    """Return how many values are asked for."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise ArgumentTypeError("k", "not a number of values", allowed=f"1 to {MAX_RANKS:,}")
    if not 1 <= k <= MAX_RANKS:
        raise ArgumentError("k", f"{k} values", allowed=f"1 to {MAX_RANKS:,}")
    return int(k)


def rank_frame(plan: Plan, solved: Solved, facts: Mapping[str, Any]) -> pd.DataFrame:
    """Return a column per column asked for, by group and rank; counts too where they were released."""
    assert isinstance(solved, Ranked)
    measured: Any = plan.measurement
    among = measured.candidates
    columns: dict[str, Any] = dict(among.values(solved.picks))
    if solved.counted:
        columns |= count_columns(solved, plan.std, facts)
    more = {"gap": measured.gap, "accuracy": measured.accuracy, **measured.reason, "candidates": among.most}
    return with_receipt(columns, plan.index, {**facts, **more})
