"""hist: how many rows lie in each cell, or bin, of one or several columns. Touches no row itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.workload import describe_bins, listed_bins, tally
from pandas_blowfish.policy.exact import epsilon_of
from pandas_blowfish.policy.policy import Policy


def plan_hist(
    policy: Policy, columns: Any, *, epsilon: Any = 1, bins: Any = None, strategy: str = "auto"
) -> Plan:
    """Return the plan of a histogram; see `df.blowfish.hist`."""
    names = column_names(columns)
    spend = epsilon_of(epsilon)
    chosen = strategy_name(strategy)
    cuts = listed_bins(bins)
    asked = tally(policy.domain, names, cuts)
    query = {"verb": "hist", "columns": names, "bins": describe_bins(cuts), "strategy": chosen}
    return choose(policy, asked, spend, query=query, strategy=chosen)


def column_names(columns: Any) -> list[str]:
    """Return one or several column names as a list, each once."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, (pd.Index, np.ndarray)):
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or not all(isinstance(column, str) for column in columns):
        raise ArgumentTypeError("columns", "not column names", allowed="a name or a list of names")
    if not columns or len(set(columns)) != len(columns):
        raise ArgumentError("columns", "none, or one of them twice", allowed="one or more different names")
    return list(columns)


def strategy_name(strategy: Any) -> str:
    """Return the name of a strategy, refusing what is no name at all."""
    if not isinstance(strategy, str):
        raise ArgumentTypeError("strategy", "not a name", allowed='"auto" or the name of a strategy')
    return strategy
