"""Tables of fewer columns, and frequent values, of an earlier release, free. Sees released frames only.

What is summed up are the unshaped counts, so the sums are unbiased. Their errors follow from what the receipt
states of how errors go together; where it states nothing, they are upper bounds: errors may all add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading, require_parts
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, FrameError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.scales import derived_terms
from pandas_blowfish.plan.shape.covariance import keep_columns, table_variances
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.queries.call.scope import column_names
from pandas_blowfish.queries.frames.free import hist_again, in_line, lines_of
from pandas_blowfish.release import (
    UNSHAPED,
    Facts,
    count_columns,
    facts_of,
    is_shifted,
    label_text,
    with_receipt,
)

NOISY = "read off noisy counts, of which the largest are more often too large than too small"


@dataclass(frozen=True, eq=False)
class CountTable:
    """A released table of counts, in the order that it was released in.

    Attributes:
        frame: The counts.
        labels: Those of each column.
        facts: Those of the receipt.
    """

    frame: pd.DataFrame
    labels: list[pd.Index[Any]]
    facts: Facts

    @property
    def names(self) -> list[str]:
        """Return the columns."""
        return [str(each) for each in self.frame.index.names]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many labels each column has."""
        return tuple(len(each) for each in self.labels)

    @property
    def groups(self) -> list[str]:
        """Return the columns that were grouped by."""
        return [name for name in self.facts["groupby"] if name in self.names]


def table_of(release: pd.DataFrame) -> CountTable:
    """Return a released hist, cumhist or marginal as a table, refusing one that was changed."""
    facts = facts_of(release)
    if facts.get("verb") not in ("hist", "cumhist", "marginal"):
        raise FrameError("only tables of counts answer more", fix="release a hist, cumhist or marginal.")
    if is_shifted(facts):
        raise FrameError("this release keeps no unshaped counts", fix="release it again.")
    if facts["verb"] == "cumhist":
        return table_of(hist_again(release))
    require_parts(facts, ("groupby",))
    with reading():
        release, facts = in_line(release, facts)
        ordered = _in_order(release, facts)
        lines_of(ordered, ordered=False)  # refuses rows and columns that are not as they were
        levels = [ordered.index.get_level_values(level) for level in range(ordered.index.nlevels)]
        labels = [pd.Index(level.unique(), name=level.name) for level in levels]
        codes = [pd.factorize(level, use_na_sentinel=False)[0] for level in levels]
        shape = [len(each) for each in labels]
        if len(ordered) != math.prod(shape) or not np.array_equal(
            codes, np.indices(shape).reshape(len(shape), -1)
        ):
            raise FrameError("rows are not in the order they were released in", fix="ask the release itself.")
        return CountTable(ordered, labels, facts)


def _in_order(release: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Return a table of a `marginal` whose columns were named in another order as it was released."""
    wanted, names = facts.get("table"), list(release.index.names)
    if wanted is None or wanted == names or sorted(wanted) != sorted(map(str, names)):
        return release
    order = [names.index(name) for name in wanted]
    codes = [pd.factorize(release.index.get_level_values(level), use_na_sentinel=False)[0] for level in order]
    return release.reorder_levels(order).iloc[np.lexsort(codes[::-1])]


def marginal_again(release: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Return the table of some columns that a released one determines; groups stay outermost.

    Proof note:
        Requires: a release of counts as its verb returned it.
        Ensures:  unbiased sums, with standard errors that are exact or upper bounds; intervals that cover.
        Because:  unshaped counts are unbiased and so are their sums; errors are those of `table_variances`,
                  and where nothing is stated at most the sum of the cells' own, of independent counts the
                  root of the sum of squares.
        Checked:  tests/queries/frames/test_free_tables.py::test_intervals_of_sub_tables_cover
    """
    table = table_of(release)
    facts, names, wanted = table.facts, table.names, column_names(columns)
    own = [name for name in names if name not in table.groups]
    for name in wanted:
        if name in table.groups:
            raise ArgumentError(
                "columns", f"{name!r} is grouped by already", allowed=", ".join(map(repr, own))
            )
        if name not in own:
            raise ArgumentError(
                "columns", f"{name!r} is no column of this release", allowed=", ".join(map(repr, own))
            )
    asked = [names.index(name) for name in [*table.groups, *wanted]]
    kept = sorted(asked)
    out = tuple(n for n in range(len(names)) if n not in kept)
    turned = [kept.index(n) for n in asked]
    with reading():
        counts = without_dust(table.frame[_free_counts(table)].to_numpy(dtype=float))
        unshaped = counts.reshape(table.shape).sum(axis=out).transpose(turned).ravel()
        spread = _errors(table, kept, out)
        std = spread.reshape([table.shape[n] for n in kept]).transpose(turned).ravel()
        record = facts.get("covariance")
        record = keep_columns(record, table.shape, kept) if record is not None and asked == kept else None
    labels = [table.labels[n] for n in asked]
    index = labels[0] if len(labels) == 1 else pd.MultiIndex.from_product(labels)
    listed = [names[n] for n in asked]
    facts = {key: value for key, value in facts.items() if key not in ("table", "table_answers")}
    if facts["verb"] == "marginal":
        facts |= {"table": listed, "table_answers": len(index)}
    facts |= {
        "columns": [*listed, *(name for name in facts["columns"] if name not in listed)],
        "derived": f"marginal({wanted!r})",
        "answers": len(index),
        "noise_terms": derived_terms(facts.get("noise_terms")),
        "covariance": record,
    }
    most = facts.get("largest_answer")
    if most is not None and facts["verb"] != "marginal":  # of one line
        most = facts["largest_answer"] = most * math.prod(table.shape[n] for n in out)
    shown = unshaped
    if facts["post"] not in (False, "signed"):
        shown = np.where(std > 0, np.clip(unshaped, 0.0, np.inf if most is None else most), unshaped)
    return with_receipt(count_columns(Solved(shown, unshaped), std, facts), index, facts)


def _free_counts(table: CountTable) -> str:
    return UNSHAPED if UNSHAPED in table.frame else "count"


def _errors(table: CountTable, kept: list[int], out: tuple[int, ...]) -> Floats:
    """Return standard errors of sums over the columns left out, exact or upper bounds."""
    record, std = table.facts.get("covariance"), table.frame["std"].to_numpy(dtype=float)
    if record is not None:
        return np.sqrt(table_variances(record, table.shape, kept))
    if table.facts["strategy"] in ("identity", "exact", "cliques"):
        return np.asarray(np.sqrt((std.reshape(table.shape) ** 2).sum(axis=out)).ravel())
    return np.asarray(std.reshape(table.shape).sum(axis=out).ravel())


def value_counts_again(
    release: pd.DataFrame,
    *,
    normalize: Any = False,
    sort: Any = True,
    ascending: Any = False,
    dropna: Any = True,
) -> pd.DataFrame:
    """Return released counts as `value_counts` lists them: the largest first, in each group."""
    for name, flag in (
        ("normalize", normalize),
        ("sort", sort),
        ("ascending", ascending),
        ("dropna", dropna),
    ):
        if not isinstance(flag, (bool, np.bool_)):
            raise ArgumentTypeError(name, "not True or False", allowed="True or False")
    table = table_of(release)
    kept = _listed(table, dropna=bool(dropna))
    order = _largest_first(table, kept, ascending=bool(ascending)) if sort else kept
    stated = {"normalize": False, "sort": True, "ascending": False, "dropna": True}
    given = {"normalize": normalize, "sort": sort, "ascending": ascending, "dropna": dropna}
    text = ", ".join(f"{key}={bool(given[key])}" for key in stated if bool(given[key]) != stated[key])
    found = _rows(table, order, "value_counts", f"value_counts({text})")
    with reading():
        return _shares(table, found, kept) if normalize else found


def top_again(release: pd.DataFrame, k: Any, verb: str = "top") -> pd.DataFrame:
    """Return the k values with the largest released counts, in each group; of one `mode` is the name."""
    table = table_of(release)
    kept = _listed(table, dropna=True)
    groups = math.prod(table.shape[table.names.index(name)] for name in table.groups)
    most = len(kept) // groups
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise ArgumentTypeError("k", "not a number of values", allowed=f"1 to {most:,}")
    if not 1 <= k <= most:
        raise ArgumentError("k", f"{k} of {most:,} values", allowed=f"1 to {most:,}")
    order = _largest_first(table, kept, ascending=False)
    group = _group_of(table)[order]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    call = "mode()" if verb == "mode" else f"top({int(k)})"
    return _rows(table, order[rank < k], verb, f"{call}, {NOISY}", candidates=most)


def _listed(table: CountTable, *, dropna: bool) -> Ints:
    """Return the rows of a table, without those of missing values if asked; missing groups stay."""
    missing = np.zeros(len(table.frame), dtype=bool)
    for name in table.names if dropna else ():
        if name not in table.groups:
            missing |= np.asarray(table.frame.index.get_level_values(name).isna())
    return np.flatnonzero(~missing)


def _group_of(table: CountTable) -> Ints:
    places = [table.names.index(name) for name in table.groups]
    codes = np.unravel_index(np.arange(len(table.frame)), table.shape)
    found = np.zeros(len(table.frame), dtype=np.int64)
    for place in places:
        found = found * table.shape[place] + codes[place]
    return found


def _largest_first(table: CountTable, kept: Ints, *, ascending: bool) -> Ints:
    """Return rows by group and count; of equal counts by their unshaped ones."""
    shown, free = (table.frame[name].to_numpy(dtype=float)[kept] for name in ("count", _free_counts(table)))
    sign = 1 if ascending else -1
    return np.asarray(kept[np.lexsort((sign * free, sign * shown, _group_of(table)[kept]))])


def _rows(table: CountTable, order: Ints, verb: str, derived: str, **more: int) -> pd.DataFrame:
    facts = {key: value for key, value in table.facts.items() if key not in ("table", "table_answers")}
    facts |= {"verb": verb, "derived": derived, "answers": len(order), "covariance": None, **more}
    columns = {
        name: table.frame[name].to_numpy(dtype=float)
        for name in ("count", "std", UNSHAPED)
        if name in table.frame
    }
    return with_receipt(
        {name: each[order] for name, each in columns.items()}, table.frame.index[order], facts
    )


def _shares(table: CountTable, found: pd.DataFrame, kept: Ints) -> pd.DataFrame:
    """Return counts as shares of their group's total, with at most how wrong they are."""
    free, names = table.frame[_free_counts(table)].to_numpy(dtype=float), table.groups
    group, places = _group_of(table), [table.names.index(name) for name in table.groups]
    many = math.prod(table.shape[place] for place in places)
    total = np.bincount(group[kept], free[kept], many)
    if len(kept) == len(free):
        errors = _errors(table, places, tuple(n for n in range(len(table.names)) if n not in places))
    else:
        spread = table.frame["std"].to_numpy(dtype=float)[kept]
        errors = np.asarray(np.bincount(group[kept], spread, many), dtype=np.float64)
    labels: list[Any] = [()]
    if places:
        labels = list(pd.MultiIndex.from_product([table.labels[place] for place in places]))
    levels = [found.index.get_level_values(name) for name in names]
    number = {label_text(label): place for place, label in enumerate(labels)}
    listed = list(zip(*levels, strict=True)) if names else [()] * len(found)
    of = np.array([number[label_text(label)] for label in listed], dtype=np.int64)
    whole = np.where(total > 0, total, np.nan)[of]
    columns = {"proportion": found["count"].to_numpy() / whole}
    free_share = found[UNSHAPED if UNSHAPED in found else "count"].to_numpy() / whole
    columns["std"] = (found["std"].to_numpy() + np.abs(free_share) * errors[of]) / whole
    columns |= {UNSHAPED: np.asarray(free_share)} if UNSHAPED in found else {}
    facts = {**facts_of(found), "values_are": "shares", "share_levels": names}
    facts["share_totals"] = {
        label_text(label): f"{float(total[place])!r} {float(errors[place])!r}"
        for place, label in enumerate(labels)
    }
    return with_receipt(columns, found.index, facts)
