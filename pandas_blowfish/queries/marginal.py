"""marginal: tables over one or several sets of columns that agree with each other. Touches no row itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tables.question import Marginals
from pandas_blowfish.plan.tally import MAX_ANSWERS, MAX_TABLES, MAX_TOGETHER, feasible
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.release import Facts, count_columns, with_receipt
from pandas_blowfish.table_set import Tables


def plan_marginal(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    order: int | None = None,
    strategy: str = "auto",
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of marginals; see `df.blowfish.marginal`."""
    scope = scope or Scope()
    tables = read_tables(columns, order)
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    grouped = [[*scope.groups, *table] for table in tables]
    for table in tables:
        scope.refuse_grouped(table)
    single = is_single(columns, order)
    _check_size(policy.domain.select(list(dict.fromkeys(itertools.chain(*grouped)))), grouped, single, scope)
    asked = Marginals.over(policy.domain, grouped, scope.condition, scope.binned)
    stated: Any = tables[0] if single else tables
    query: dict[str, Any] = {"verb": "marginal", "columns": stated, "strategy": chosen, **scope.facts()}
    if order is not None:
        query |= {"columns": column_names(columns), "order": int(order)}
    return ask(policy, [asked], spend, query=query, strategy=chosen)


def marginal_frames(plan: Plan, solved: Solved, facts: Facts) -> Tables:
    """Return one frame per table, keyed by its columns, each with the receipt of the whole release."""
    asked: Any = plan.asked[plan.way]
    measured: Any = plan.measurement
    cuts = np.cumsum(asked.answers)[:-1]
    split = {name: np.split(each, cuts) for name, each in count_columns(solved, plan.std, facts).items()}
    frames = Tables()
    for number, (key, places) in enumerate(zip(_keys(plan, asked), asked.asked, strict=True)):
        record = {**facts, "table": [asked.domain.columns[place] for place in places]}
        record["table_answers"] = len(split["count"][number])
        record["covariance"] = measured.table_covariance(places)
        columns = {name: parts[number] for name, parts in split.items()}
        frames[key] = with_receipt(columns, asked.labels(places), record)
    return frames


def table_keys(plan: Plan) -> list[tuple[str, ...]]:
    """Return the keys of the dict that a plan's release will be; none where it will be a frame."""
    query = plan.query
    if query["verb"] != "marginal" or is_single(query["columns"], query.get("order")):
        return []
    asked: Any = plan.asked[plan.way]
    return _keys(plan, asked)


def _keys(plan: Plan, asked: Marginals) -> list[tuple[str, ...]]:
    """Return the columns of each table, without the groups that all have."""
    groups = len(plan.query.get("groupby", ()))
    return [tuple(asked.domain.columns[place] for place in places)[groups:] for places in asked.asked]


def is_single(columns: Any, order: int | None) -> bool:
    """Return whether one table is asked for, which comes as a frame and not in a dict."""
    return order is None and (isinstance(columns, str) or all(isinstance(each, str) for each in columns))


def read_tables(columns: Any, order: int | None) -> list[list[str]]:
    """Return the columns of every table: of one flat list, of each nested one, or of all k-way ones."""
    if isinstance(columns, (pd.Index, np.ndarray)):
        columns = columns.tolist()
    if order is not None:
        names = column_names(columns)
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)):
            raise ArgumentTypeError("order", "not a whole number", allowed=f"1 to {len(names)}")
        if not 1 <= order <= len(names):
            raise ArgumentError("order", f"{order} of {len(names)} columns", allowed=f"1 to {len(names)}")
        many = math.comb(len(names), int(order))
        if many > MAX_TABLES:
            raise DomainTooLargeError("the tables", many, MAX_TABLES, fix="name fewer columns.")
        return [list(each) for each in itertools.combinations(names, int(order))]
    if isinstance(columns, str) or (isinstance(columns, Sequence) and columns and is_single(columns, None)):
        return [column_names(columns)]
    if not isinstance(columns, Sequence) or not columns:
        raise ArgumentTypeError("columns", "not tables", allowed="names, or lists of names")
    tables = [column_names(each) for each in columns]
    if len({tuple(table) for table in tables}) != len(tables):
        raise ArgumentError("columns", "a table is asked for twice", fix="ask for each once.")
    return tables


def _check_size(domain: Domain, tables: Sequence[Sequence[str]], single: bool, scope: Scope) -> None:
    """Refuse answers that are too many, saying what would fit."""
    widest = max(len(table) for table in tables)
    if not single and widest > MAX_TOGETHER:
        raise ArgumentError(
            "columns",
            f"a table of {widest} columns among several",
            allowed=f"{MAX_TOGETHER} columns per table",
            fix="ask for it alone.",
        )
    cut = {name: binning.bins for name, binning in scope.binned.items()}
    many = sum(math.prod(cut.get(name) or domain[name].size for name in table) for table in tables)
    if many <= MAX_ANSWERS:
        return
    what = "this table" if len(tables) == 1 else f"these {len(tables):,} tables"
    raise DomainTooLargeError(what, many, MAX_ANSWERS, fix=feasible(domain))
