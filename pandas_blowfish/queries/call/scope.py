"""What all verbs share: where and groupby, names of columns, and the way to a plan. Touches no row itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.beyond.total_plan import plan_type
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.number import canonical_value
from pandas_blowfish.plan.choose import choose
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.plan.tally import (
    Binning,
    Tally,
    bin_column,
    bins_by_column,
    describe_bins,
    listed_bins,
    tally,
)
from pandas_blowfish.policy.expression import MARKS, Condition, Junction, parse
from pandas_blowfish.policy.policy import Policy


def column_names(columns: Any) -> list[str]:
    """Return one or several column names as a list, each once.

    Examples:
        >>> column_names("age"), column_names(("age", "sex"))
        (['age'], ['age', 'sex'])
    """
    if isinstance(columns, str):
        return [columns]
    if columns is None:
        fix = (
            'name them in the call: hist("age", epsilon=0.1), or before: df.blowfish["age"].hist(epsilon=0.1)'
        )
        raise ArgumentTypeError("columns", "not given", allowed="a name or a list of names", fix=fix)
    if isinstance(columns, pd.Index) or (isinstance(columns, np.ndarray) and columns.dtype.kind != "b"):
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or not all(isinstance(column, str) for column in columns):
        fix = 'some of the rows are asked about by where("age >= 18").' if hasattr(columns, "dtype") else ""
        raise ArgumentTypeError("columns", "not column names", allowed="a name or a list of names", fix=fix)
    if not columns or len(set(columns)) != len(columns):
        raise ArgumentError("columns", "none, or one of them twice", allowed="one or more different names")
    return list(columns)


def strategy_name(strategy: Any) -> str:
    """Return the name of a strategy, refusing what is no name at all."""
    if not isinstance(strategy, str):
        raise ArgumentTypeError("strategy", "not a name", allowed='"auto" or the name of a strategy')
    return strategy


@dataclass(frozen=True, eq=False)
class Scope:
    """Conditions that a row must satisfy, all of them, columns that answers are grouped by, columns selected.

    Attributes:
        texts: The conditions as they were written.
        conditions: The same, parsed.
        groups: The columns grouped by, outermost first.
        selected: What verbs that name no column are about: a name, a tuple of names, or None. It changes
            no question, so records state the columns as if the verb had named them.
        bins: How those groups are cut that are not grouped by each value.
        binned: Their cells in these bins.
    """

    texts: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    groups: tuple[str, ...] = ()
    selected: str | tuple[str, ...] | None = None
    bins: Mapping[str, Any] = field(default_factory=dict)
    binned: Mapping[str, Binning] = field(default_factory=dict)

    def where(self, policy: Policy, expression: Any, variables: Mapping[str, Any]) -> Scope:
        """Return the scope narrowed by an expression; chained ones must all hold."""
        condition = parse(expression, policy.domain, variables)
        text = _spell_out(expression, variables)
        return replace(self, texts=(*self.texts, text), conditions=(*self.conditions, condition))

    def groupby(self, policy: Policy, columns: Any, bins: Any = None) -> Scope:
        """Return the scope grouped by columns too, outermost first, or by bins of them."""
        names = column_names(columns)
        domain, cuts = policy.domain.select(names), bins_by_column(names, listed_bins(bins))
        if repeated := [name for name in names if name in self.groups]:
            raise ArgumentError("columns", f"already grouped by {', '.join(map(repr, repeated))}")
        rest = self.selected
        if isinstance(rest, tuple):  # what is grouped by is no longer asked about, as in pandas
            rest = tuple(name for name in rest if name not in names) or rest
        cuts = {name: own for name, own in cuts.items() if own is not None}
        binned = {name: bin_column(domain[name], own) for name, own in cuts.items()}
        return replace(
            self,
            groups=(*self.groups, *names),
            selected=rest,
            bins={**self.bins, **cuts},
            binned={**self.binned, **binned},
        )

    def select(self, policy: Policy, columns: Any) -> Scope:
        """Return the scope whose verbs are about some columns: of those selected before, if there are any."""
        names = column_names(columns)
        for name in names:
            policy.domain[name]  # refuses what is not declared
        before = None if self.selected is None else column_names(self.selected)
        if before is not None and not set(names) <= set(before):
            raise ArgumentError("columns", "not among those selected before", allowed=", ".join(before))
        return replace(self, selected=columns if isinstance(columns, str) else tuple(names))

    def expects_column(self, policy: Policy, first: Any) -> bool:
        """Return whether the first argument of a verb is its column: it names some, or none is selected."""
        if self.selected is None:
            return True
        try:
            return set(column_names(first)) <= set(policy.domain.columns)
        except ArgumentError:
            return False

    def fill_columns(self, policy: Policy, verb: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a verb with its columns filled in, or raise where others are selected."""
        if self.selected is None:
            return asked
        own = self.selected if isinstance(self.selected, str) else list(self.selected)
        key = next((key for key in ("columns", "column") if key in asked), None)
        if key is None:
            blank = [name for name in column_names(own) if policy.domain[name].nullable]
            if verb == "count" and blank:
                problem = f"counts rows, also those where {blank[0]!r} is missing"
                raise ArgumentError("count()", problem, fix="select no column, or ask for value_counts.")
            return asked
        if asked[key] is None:
            return {**asked, key: own}
        if not self.expects_column(policy, asked[key]) or column_names(asked[key]) != column_names(own):
            problem = f"{own!r} is selected, and the call names others"
            raise ArgumentError(key, problem, fix="name the columns once: select them, or give them.")
        return asked

    def tally(self, policy: Policy, columns: list[str], bins: Any) -> Tally:
        """Return the counts that a verb on some columns asks for in this scope."""
        self.refuse_grouped(columns)
        if self.groups and len(columns) == 1 and bins is not None:
            named = isinstance(bins, Mapping) and bins and set(bins) <= {*self.groups, *columns}
            bins = bins if named else {columns[0]: bins}
        if self.binned:
            bins = {**bins_by_column([*self.groups, *columns], bins), **self._cut(bins)}
        return tally(policy.domain, [*self.groups, *columns], bins, self.condition)

    def _cut(self, bins: Any) -> Mapping[str, Binning]:
        """Return the groups' bins, refusing others of the same columns."""
        if twice := [name for name in self.binned if isinstance(bins, Mapping) and name in bins]:
            raise ArgumentError("bins", f"{twice[0]!r} is grouped by bins already", fix="give its bins once.")
        return self.binned

    @property
    def condition(self) -> Condition | None:
        """Return all conditions as one; None for none."""
        return Junction(True, self.conditions) if self.conditions else None

    def refuse_grouped(self, columns: Sequence[str]) -> None:
        """Refuse columns that answers are grouped by already."""
        if repeated := [name for name in columns if name in self.groups]:
            fix = "leave it out of groupby; hist(..., bins=) counts in bins, where(...) keeps some of them."
            raise ArgumentError("columns", f"{', '.join(map(repr, repeated))} is grouped by already", fix=fix)

    def facts(self) -> dict[str, Any]:
        """Return the scope as plain data, for the ledger and the receipt."""
        out: dict[str, Any] = {}
        if self.texts:
            out["where"] = list(self.texts)
        if self.groups:
            out["groupby"] = list(self.groups)
        if self.bins:
            out["group_bins"] = describe_bins(self.bins)
        return out

    def describe(self) -> dict[str, str]:
        """Return the scope in words, for people: filters, groups, selected columns."""
        named = column_names(self.selected) if self.selected is not None else []
        return {
            **({"where": " and ".join(self.texts)} if self.texts else {}),
            **({"groupby": ", ".join(self.groups)} if self.groups else {}),
            **({"selected": ", ".join(named)} if named else {}),
        }


def _spell_out(expression: str, variables: Mapping[str, Any]) -> str:
    """Return the expression with the values of its variables, so that the record states what was asked."""

    def value(match: re.Match[str]) -> str:
        if match.group(2) is None:
            return match.group(0)
        found = variables[match.group(2)]
        if not isinstance(found, Iterable) or isinstance(found, (str, bytes)):
            return repr(canonical_value(found))
        listed = [canonical_value(each) for each in found]
        return repr(sorted(listed, key=repr) if isinstance(found, (set, frozenset)) else listed)

    return MARKS.sub(value, expression.strip())


def ask(
    policy: Policy,
    asked: Sequence[Question],
    epsilon: Fraction,
    *,
    query: Mapping[str, Any],
    strategy: str = "auto",
) -> Plan:
    """Return the plan of least expected squared error, or the one that was named; see `choose`."""
    kind = plan_type(policy, asked) if policy.chain or policy.aggregates else Plan
    return choose(policy, asked, epsilon, query=query, strategy=strategy, kind=kind)
