"""describe, agg: several statistics of several columns in one charge. Touches no row itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import translate
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tally import Binning
from pandas_blowfish.plan.together.question import Member, SeveralQuestions
from pandas_blowfish.plan.together.stacked import LEFT_OUT
from pandas_blowfish.plan.totals.moments import COUNTED, SEVERAL, STATISTICS, Moments
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.queries.quantile import ask_quantiles, quantile_frame, shares_of
from pandas_blowfish.queries.statistics.deviation import state_totals
from pandas_blowfish.queries.totals import rows_of
from pandas_blowfish.release import RECORD, Facts, with_receipt

MEDIAN = "median"
ENDS = "it depends on single rows; describe(percentiles=[0.01, 0.99]) shows the ends of a column."
INSTEAD = {  # what pandas computes too
    **dict.fromkeys(("min", "max", "first", "last", "idxmin", "idxmax"), ENDS),
    "nunique": "it depends on single rows; value_counts shows what values are frequent.",
    "mode": "ask for the mode by itself.",
    "quantile": "describe(percentiles=[0.1, 0.9]) has quantiles, of several columns too.",
}
NAMES = (*STATISTICS, MEDIAN)
QUARTILES = [0.25, 0.5, 0.75]
ALLOWED = f"{', '.join(map(repr, NAMES))}, such as {{'age': ['mean', 'std'], 'income': 'median'}}"


@dataclass(frozen=True)
class StatisticSource:
    """Where one statistic of a column is read off.

    Attributes:
        column: The column.
        statistic: What it is called.
        member: The number of the question that answers it.
        inner: What answers of that question are labelled by, innermost: a share, or the column.
    """

    column: str
    statistic: str
    member: int
    inner: float | str


def plan_agg(
    policy: Policy,
    functions: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of several statistics of several columns in a scope; see `df.blowfish.agg`."""
    scope = scope or Scope()
    asked = functions_of(functions, None if scope.selected is None else column_names(scope.selected))
    query: dict[str, Any] = {
        "verb": "agg",
        "columns": [],
        "functions": {name: list(own) for name, own in asked.items()},
    }
    return _plan(policy, scope, query, epsilon, strategy, rows)


def plan_describe(
    policy: Policy,
    columns: Any = None,
    *,
    epsilon: Any = 1,
    percentiles: Any = None,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of count, mean, deviation and quantiles in a scope; see `df.blowfish.describe`."""
    scope = scope or Scope()
    names = column_names(_numbers(policy, scope) if columns is None else columns)
    shares = QUARTILES if percentiles is None else sorted(shares_of(percentiles, "percentiles"))
    if len(set(shares)) < len(shares):
        raise ArgumentError("percentiles", "one of them twice", allowed="different shares between 0 and 1")
    query: dict[str, Any] = {"verb": "describe", "columns": names}
    query |= {"by_column": not isinstance(columns, str)} if len(names) == 1 else {}
    query |= {"percentiles": shares} if shares != QUARTILES else {}
    return _plan(policy, scope, query, epsilon, strategy, rows)


def functions_of(functions: Any, selected: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return what is asked of each column, by name.

    Examples:
        >>> functions_of({"age": "median", "income": ["mean", "std"]})
        {'age': ['median'], 'income': ['mean', 'std']}
    """
    if not isinstance(functions, Mapping):
        if not selected:
            what = "no columns are named"
            fix = 'agg({"age": "mean"}, ...), or select columns first: df.blowfish["age"].agg("mean", ...)'
            raise ArgumentTypeError(
                "functions", what, allowed="{column: name, or names of statistics}", fix=fix
            )
        functions = dict.fromkeys(selected, functions)
    found = {}
    for column, own in functions.items():
        names = [own] if isinstance(own, str) else list(own) if isinstance(own, (list, tuple)) else None
        if not isinstance(column, str) or not names or not all(isinstance(each, str) for each in names):
            raise ArgumentTypeError("functions", "not names of statistics by column", allowed=ALLOWED)
        if strange := [each for each in names if each not in NAMES]:
            fix = INSTEAD.get(strange[0], "")
            raise ArgumentError("functions", f"{strange[0]!r} is unknown", allowed=ALLOWED, fix=fix)
        if len(set(names)) < len(names):
            raise ArgumentError("functions", f"{column!r} is asked for one statistic twice", allowed=ALLOWED)
        found[column] = names
    if not found:
        raise ArgumentError("functions", "nothing is asked for", allowed=ALLOWED)
    return found


def _share(statistic: str) -> float | None:
    return 0.5 if statistic == MEDIAN else None


def _numbers(policy: Policy, scope: Scope) -> list[str]:
    """Return all columns of numbers with bounds that answers are not grouped by."""
    return [
        each.name
        for each in policy.domain
        if each.bounded and each.kind in ("integer", "float") and each.name not in scope.groups
    ]


def _plan(
    policy: Policy,
    scope: Scope,
    query: dict[str, Any],
    epsilon: Any,
    strategy: str,
    rows: Any,
) -> Plan:
    """Return the plan of statistics, some of which are quantiles."""
    wanted = _wanted(query)
    spend, chosen, many = epsilon_of(epsilon), strategy_name(strategy), rows_of(rows)
    scope.refuse_grouped(list(wanted))
    for name, own in wanted.items():
        _check(
            policy.domain[name],
            [of for of, share in own if share is None],
            any(s is not None for _, s in own),
        )
    query |= {"strategy": chosen, **scope.facts()}
    query |= {"rows": many} if many is not None and policy.rows_public else {}
    members = members_of(policy, scope, wanted, query)
    return ask(policy, [SeveralQuestions(members)], spend, query=query, strategy=chosen)


def members_of(
    policy: Policy,
    scope: Scope,
    wanted: Mapping[str, list[tuple[str, float | None]]],
    query: Mapping[str, Any],
) -> tuple[Member, ...]:
    """Return the questions that statistics are read off: one of all sums, then one per column's quantiles."""
    sums = {name: tuple(of for of, share in own if share is None) for name, own in wanted.items()}
    sums = {name: own for name, own in sums.items() if own}
    members: list[Member] = []
    if sums:
        attributes = tuple(policy.domain[name] for name in sums)
        tally = scope.tally(policy, [], None)
        asked = Moments(SEVERAL, tally, attributes, True, 1, query.get("rows"), tuple(sums.values()))
        stated: dict[str, Any] = {
            "verb": SEVERAL,
            "columns": list(sums),
            "statistics": [list(own) for own in sums.values()],
        }
        members.append(
            Member(stated, asked, ", ".join(dict.fromkeys(of for own in sums.values() for of in own)))
        )
    for name, own in wanted.items():
        if shares := [share for _, share in own if share is not None]:
            stated = {"verb": "quantile", "columns": [name], "q": shares, **scope.facts()}
            members.append(Member(stated, ask_quantiles(policy, scope, name, shares), f"quantiles of {name}"))
    return tuple(members)


def _wanted(query: Mapping[str, Any]) -> dict[str, list[tuple[str, float | None]]]:
    """Return what a query asks of each column."""
    if query["verb"] == "agg":
        return {name: [(of, _share(of)) for of in own] for name, own in query["functions"].items()}
    shares = query.get("percentiles", QUARTILES)
    own: list[tuple[str, float | None]] = [(of, None) for of in ("count", "mean", "std")]
    own += [(f"{share * 100:.10g}%", share) for share in shares]
    return dict.fromkeys(query["columns"], own)


def summary_frame(plan: Plan, solved: Any, facts: Facts) -> pd.DataFrame:
    """Return `value` and `std` by group, column and statistic; of a description by statistic, then column."""
    found: list[tuple[Floats, ...]] = []
    receipts: list[Facts] = []
    places: dict[tuple[Any, ...], int] = {}
    for number, (each, own, stated) in enumerate(
        zip(plan.members, solved.members, facts["members"], strict=True)
    ):
        if each.query["verb"] == SEVERAL:
            measured: Any = each.measurement
            wide = (-1, len(measured.reads))
            found.append((own.answers.reshape(wide), own.std.reshape(wide)))
            receipts.append({**stated, "moments": state_totals(measured, own, 1)})
            labels = [(measured.weighed[measured.pairs[at].columns[0]].name, of) for at, of in measured.reads]
            places |= {(number, *label): place for place, label in enumerate(labels)}
            continue
        shares = each.query["q"]
        curve = quantile_frame(each, own, stated)
        pair = (curve[key].to_numpy(dtype=np.float64) for key in ("value", "std"))
        found.append(tuple(part.reshape(-1, len(shares)) for part in pair))
        receipts.append(translate(curve.attrs[RECORD]))
        places |= {(number, each.query["columns"][0], share): place for place, share in enumerate(shares)}
    sources = _sources(plan.query)
    columns = [
        (found[one.member][0][:, at], found[one.member][1][:, at])
        for one in sources
        for at in [places[one.member, one.column, one.statistic if isinstance(one.inner, str) else one.inner]]
    ]
    value, std = (np.stack([pair[end] for pair in columns], axis=1).ravel() for end in (0, 1))
    errors = std[(std > 0) & np.isfinite(std)]
    more = {
        "members": receipts,
        "sources": [[one.column, one.statistic, one.member, one.inner] for one in sources],
        "std_low": float(errors.min(initial=np.inf)) if len(errors) else 0.0,
        "std_high": float(errors.max(initial=0.0)),
        **({"left_out": LEFT_OUT} if plan.query["verb"] == "describe" else {}),
    }
    return with_receipt({"value": value, "std": std}, _index(plan, sources), {**facts, **more})


def _sources(query: Mapping[str, Any]) -> list[StatisticSource]:
    """Return where each statistic is read off, in the order they are shown."""
    found, quantiles = [], 0
    wanted = _wanted(query)
    first = int(any(share is None for own in wanted.values() for _, share in own))
    for name, own in wanted.items():
        number = first + quantiles
        quantiles += any(share is not None for _, share in own)
        found += [
            StatisticSource(name, of, 0 if s is None else number, name if s is None else s) for of, s in own
        ]
    if query["verb"] == "describe":
        order = list(dict.fromkeys(one.statistic for one in found))
        found.sort(key=lambda one: order.index(one.statistic))
    return found


def _index(plan: Plan, sources: Sequence[StatisticSource]) -> pd.Index[Any]:
    """Return the index: groups, then statistics and columns in the order of their verb."""
    groups = plan.query.get("groupby", ())
    pairs = pd.DataFrame({"column": [o.column for o in sources], "statistic": [o.statistic for o in sources]})
    if plan.query["verb"] == "describe":
        alone = len(plan.query["columns"]) == 1 and not plan.query.get("by_column")
        pairs = pairs[["statistic"] if alone else ["statistic", "column"]]
    if not groups:
        return pd.Index(pairs["statistic"]) if pairs.shape[1] == 1 else pd.MultiIndex.from_frame(pairs)
    own = _groups(plan)
    table = own.repeat(len(pairs)).to_frame(index=False)
    for name in pairs.columns:
        table[name] = np.tile(pairs[name].to_numpy(dtype=object), len(own))
    return pd.MultiIndex.from_frame(table)


def _groups(plan: Plan) -> pd.Index[Any]:
    """Return the groups of the answers."""
    measured: Any = plan.members[0].measurement
    binnings: Sequence[Binning] = measured.tally.binnings[: len(plan.query["groupby"])]
    if len(binnings) == 1:
        return binnings[0].index
    return pd.MultiIndex.from_product([each.index for each in binnings])


def _check(attribute: Attribute, statistics: Sequence[str], quantiles: bool) -> None:
    """Refuse statistics that a column's values do not have, or that are no numbers."""
    if attribute.kind in ("integer", "float", "bool") or (not quantiles and set(statistics) <= set(COUNTED)):
        return
    what = "instants" if attribute.kind == "datetime" else "categories"
    why = "whose mean and quantiles are no numbers" if what == "instants" else "which have none of these"
    named = attribute.name
    separately = f"ask separately: mean({named!r}, ...) and quantile({named!r}, [0.25, 0.5, 0.75], ...)."
    fix = separately if what == "instants" else "ask for its hist, value_counts or mode."
    raise ArgumentError("columns", f"{attribute.name!r} holds {what}, {why}", fix=fix)
