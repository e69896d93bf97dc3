"""value_counts, crosstab: a `hist` that is listed otherwise. Touches no row itself.

Without missing values, as shares, sorted, or as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.arrangement import SORTED, line_size, schema_order
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.call_text import spell
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.covariance import range_variances
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tally import describe_bins, listed_bins
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, column_names
from pandas_blowfish.queries.hist import plan_hist
from pandas_blowfish.release import SHARES, UNSHAPED, Facts, count_columns, label_text, with_receipt


def plan_value_counts(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any,
    normalize: Any,
    sort: Any,
    ascending: Any,
    dropna: Any,
    bins: Any,
    strategy: str,
    scope: Scope,
) -> Plan:
    """Return the plan of counts by value: that of the histogram; see `df.blowfish.value_counts`."""
    flags = {"normalize": normalize, "sort": sort, "ascending": ascending, "dropna": dropna}
    _check_flags(flags)
    cuts, names = listed_bins(bins), column_names(columns)
    stated: dict[str, Any] = {"bins": describe_bins(cuts), **_unusual(flags), "strategy": strategy}
    spelt = spell("value_counts", names[0] if len(names) == 1 else names, **stated)
    asked: dict[str, Any] = {"epsilon": epsilon, "bins": cuts, "strategy": strategy, "scope": scope}
    return plan_hist(policy, names, **asked, spelt=spelt)


def plan_crosstab(
    policy: Policy,
    index: Any,
    columns: Any,
    *,
    epsilon: Any,
    normalize: Any,
    dropna: Any,
    bins: Any,
    strategy: str,
    scope: Scope,
) -> Plan:
    """Return the plan of a table: that of the histogram of all its columns; see `df.blowfish.crosstab`."""
    sides = column_names(index), column_names(columns)
    if repeated := [name for name in sides[0] if name in sides[1]]:
        raise ArgumentError("columns", f"{repeated[0]!r} is on both sides", allowed="different columns")
    if not isinstance(normalize, bool) and normalize not in WITHIN:
        allowed = ", ".join(map(repr, (False, True, *WITHIN)))
        raise ArgumentError("normalize", "not a way to divide a table", allowed=allowed)
    _check_flags({"dropna": dropna})
    cuts, flags = (
        listed_bins(bins),
        {"normalize": "all" if normalize is True else normalize, "dropna": dropna},
    )
    stated: dict[str, Any] = {"bins": describe_bins(cuts), **_unusual(flags), "strategy": strategy}
    spelt = spell("crosstab", *(side[0] if len(side) == 1 else side for side in sides), **stated)
    asked: dict[str, Any] = {"epsilon": epsilon, "bins": cuts, "strategy": strategy, "scope": scope}
    return plan_hist(policy, [*sides[0], *sides[1]], **asked, spelt=spelt)


WITHIN = ("all", "index", "columns")  # what a crosstab's shares are of
USUAL = {"normalize": False, "sort": True, "ascending": False, "dropna": True}


def _unusual(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that a call states because they are not the default."""
    return {key: value for key, value in flags.items() if value is not USUAL[key]}


def _check_flags(flags: Mapping[str, Any]) -> None:
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise ArgumentError(key, "not True or False", allowed="True, False")


def value_counts_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return the counts of values, or their shares, the most frequent first inside groups."""
    named = {**USUAL, **plan.query["spelt"]["named"]}
    groups = list(plan.query.get("groupby", ()))
    table, facts = _listed(plan, solved, facts, groups if named["normalize"] else None)
    if not named["sort"]:
        return _released(table, facts)
    sign = 1 if named["ascending"] else -1
    group, _ = _classes(table.index, groups)
    found = table.iloc[np.lexsort((sign * table.iloc[:, 0].to_numpy(), group))]
    if schema_order(found).index.equals(table.index):
        facts |= {"layout": SORTED}
    else:  # values that are declared in an order of their own: nobody could tell whose errors go together
        facts = {key: value for key, value in facts.items() if key != "covariance"}
    return _released(found, facts)


def crosstab_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return the counts of pairs of values, or their shares, as a long frame."""
    (index, columns), groups = plan.query["spelt"]["given"], list(plan.query.get("groupby", ()))
    sides = {"all": [], "index": column_names(index), "columns": column_names(columns)}
    asked = plan.query["spelt"]["named"].get("normalize")
    table, facts = _listed(plan, solved, facts, None if asked is None else groups + sides[asked])
    return _released(table, facts)


def _released(table: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    return with_receipt({str(name): table[name].to_numpy() for name in table}, table.index, facts)


def _listed(plan: Plan, solved: Solved, facts: Facts, within: list[str] | None) -> tuple[pd.DataFrame, Facts]:
    """Return released counts without missing values, if these are dropped, as shares if `within` is given.

    Args:
        plan: Of the histogram.
        solved: Its answers.
        facts: Those of the receipt.
        within: The columns whose every combination is divided by its own total; None for counts.
    """
    table = pd.DataFrame(count_columns(solved, plan.std, facts), index=plan.index)
    keep, places = np.ones(len(table), dtype=bool), range(table.index.nlevels)
    if plan.query["spelt"]["named"].get("dropna", True):
        asked = list(places)[len(plan.query.get("groupby", ())) :]
        gaps = [np.asarray(table.index.get_level_values(level).isna()) for level in asked]
        keep = ~np.logical_or.reduce(gaps)
        if any(gap.any() for gap in gaps[:-1]):
            facts = {key: value for key, value in facts.items() if key != "covariance"}
    if within is not None:
        table, more = _shares(plan, table, keep, facts, within)
        facts |= more
    found = table[keep]
    attribute = plan.domain[str(plan.index.names[-1])]
    if found.index.nlevels == 1 and not keep.all() and plan.query["bins"] is None:
        found = found.set_axis(found.index.astype(attribute.labels().dtype))
    return found, {**facts, "answers": len(found)}


def _shares(
    plan: Plan, table: pd.DataFrame, keep: Any, facts: Facts, within: list[str]
) -> tuple[pd.DataFrame, Facts]:
    """Return counts as shares of totals, and what the receipt states of these.

    Proof note:
        Requires: `std` of the counts; a total that is public, or the sum of the counts that are listed.
        Ensures:  to first order the standard error of a share is at most `std`.
        Because:  d(x / t) = (dx - (x / t) dt) / t, and the deviation of a sum is at most that of its parts.
        Checked:  tests/queries/test_value_counts.py::test_errors_of_shares_are_honest
    """
    codes, labels = _classes(table.index, within)
    count, unshaped = table["count"].to_numpy(), table.get(UNSHAPED, table["count"]).to_numpy()
    many = len(labels)
    totals, shown = (np.bincount(codes[keep], each[keep], many) for each in (unshaped, count))
    errors = _total_errors(plan, keep, codes, many, facts)
    whole = not within and not plan.query.get("where") and bool(keep.all())
    if whole and facts.get("rows") is not None:
        totals, shown, errors = (
            np.array([float(facts["rows"])]),
            np.array([float(facts["rows"])]),
            np.zeros(1),
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        own, seen = (np.where(each > 0, each, np.nan)[codes] for each in (totals, shown))
        share = unshaped / own
        std = (table["std"].to_numpy() + np.abs(share) * errors[codes]) / own
        found = {"proportion": count / seen, "std": std}
    found |= {UNSHAPED: share} if UNSHAPED in table else {}
    pairs = zip(labels, totals.tolist(), errors.tolist(), strict=True)
    stated = {label_text(label): f"{total!r} {error!r}" for label, total, error in pairs}
    more = {"values_are": SHARES, "share_levels": within, "share_totals": stated}
    return pd.DataFrame(found, index=table.index), more


def _classes(index: pd.Index[Any], names: list[str]) -> tuple[Ints, list[Any]]:
    """Return which combination of some levels' labels each row has, and the combinations, in order."""
    if not names:
        return np.zeros(len(index), dtype=np.int64), [()]
    rest: Any = [level for level, name in enumerate(index.names) if name not in names]
    codes, labels = pd.factorize(index.droplevel(rest) if rest else index, use_na_sentinel=False)
    return codes.astype(np.int64), [each if isinstance(each, tuple) else (each,) for each in labels]


def _total_errors(plan: Plan, keep: Any, codes: Ints, many: int, facts: Facts) -> Floats:
    """Return at most how wrong the sum of the counts of each class is."""
    std, size = np.where(keep, plan.std, 0.0), line_size(plan.index)
    record, lines = facts.get("covariance"), codes.reshape(-1, size)
    kept = keep.reshape(-1, size)
    if record is not None and bool((lines == lines[:, :1]).all()) and bool((kept == kept[:1]).all()):
        stop = int(kept[0].sum())
        ends = np.array([0]), np.array([stop])
        std, codes = np.sqrt(range_variances(record, len(lines), stop, *ends))[:, 0], lines[:, 0]
    if plan.strategy in ("exact", "identity", "cliques"):  # independent, or falling where another rises
        return np.sqrt(np.bincount(codes, std**2, many))
    return np.bincount(codes, std, many).astype(np.float64)
