"""var, std, cov, corr: how widely values of columns lie, and how they go together. Touches no row itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.totals.moment_solve import SolvedMoments, moment_facts
from pandas_blowfish.plan.totals.moments import CROSSED, Moments
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.queries.totals import rows_of
from pandas_blowfish.release import Facts, label_text, with_receipt

WORDS = {"var": "variance", "std": "standard deviation", "cov": "covariance", "corr": "correlation"}


def plan_moments(
    verb: str,
    policy: Policy,
    columns: Any = None,
    *,
    epsilon: Any = 1,
    ddof: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
) -> Plan:
    """Return the plan of variances, deviations, covariances or correlations in a scope.

    Args:
        verb: "var", "std", "cov" or "corr".
        policy: The promise.
        columns: A name, or a list of them.
        epsilon: What it may cost.
        ddof: What is taken off the number of rows before it divides.
        strategy: "auto" or "moments".
        scope: The filter and the groups.
        rows: The number of rows, where it is public; the error depends on it.
    """
    names, scope = column_names(columns), scope or Scope()
    spend, chosen, many, taken = epsilon_of(epsilon), strategy_name(strategy), rows_of(rows), ddof_of(ddof)
    scope.refuse_grouped(names)
    attributes = tuple(policy.domain[name] for name in names)
    for attribute in attributes:
        require_numbers(verb, attribute)
    if len({each.kind == "datetime" for each in attributes}) > 1:
        raise ArgumentError("columns", "numbers and instants", fix="ask for them separately.")
    listed = not isinstance(columns, str)
    query: dict[str, Any] = {"verb": verb, "columns": names, "strategy": chosen, **scope.facts()}
    query |= {"by_column": listed} if len(names) == 1 else {}
    query |= {"ddof": taken} if taken != 1 else {}
    query |= {"rows": many} if many is not None and policy.rows_public else {}
    asked = Moments(verb, scope.tally(policy, [], None), attributes, listed, taken, query.get("rows"))
    return ask(policy, [asked], spend, query=query, strategy=chosen)


plan_var = partial(plan_moments, "var")  # see `df.blowfish.var`
plan_std = partial(plan_moments, "std")  # see `df.blowfish.std`
plan_cov = partial(plan_moments, "cov")  # see `df.blowfish.cov`
plan_corr = partial(plan_moments, "corr")  # see `df.blowfish.corr`


def moment_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return `value` and `std` by group and column, of pairs by both columns."""
    measured: Any = plan.measurement
    assert isinstance(solved, SolvedMoments)
    value: Any = solved.answers
    std: Any = solved.std
    errors = std[(std > 0) & np.isfinite(std)]
    if plan.query["verb"] == "std" and measured.weighed[0].kind == "datetime":
        value, std = (pd.to_timedelta(np.rint(np.minimum(each, 2.0**62)), unit="ns") for each in (value, std))
    more = {
        "moments": state_totals(measured, solved, len(plan.index.names) - measured.tally.levels),
        "sensitivity_in_units": {each.name: each.text(each.sensitivity) for each in plan.in_units},
        "scale_in_units": {each.name: each.text(each.scale) for each in plan.in_units},
        "std_low": float(errors.min(initial=np.inf)) if len(errors) else 0.0,
        "std_high": float(errors.max(initial=0.0)),
    }
    return with_receipt({"value": value, "std": std}, plan.index, {**facts, **more})


def state_totals(measured: Any, solved: SolvedMoments, levels: int) -> dict[str, Any]:
    """Return what intervals are read off: the noisy totals of each group, by its label.

    Args:
        measured: What was measured.
        solved: The answers.
        levels: How many levels of the index name columns.
    """
    groups = [label_text(label) for label in measured.tally.index] if measured.tally.levels else [""]
    rows = zip(groups, solved.totals.tolist(), strict=True)
    totals = {label: " ".join(map(str, row)) for label, row in rows}
    return {**moment_facts(measured), "levels": levels, "totals": totals}


def ddof_of(ddof: Any) -> int:
    """Return what is taken off the number of rows."""
    allowed = "a whole number from 0, usually 1 or 0"
    if isinstance(ddof, (bool, np.bool_)) or not isinstance(ddof, (int, np.integer)):
        raise ArgumentTypeError("ddof", "not a whole number", allowed=allowed)
    if not 0 <= ddof < 2**31:
        raise ArgumentError("ddof", f"{ddof} is out of range", allowed=allowed)
    return int(ddof)


def require_numbers(verb: str, attribute: Attribute) -> None:
    """Refuse columns whose values have no squares."""
    if attribute.kind in ("category", "string"):
        raise ArgumentError(
            "columns",
            f"{attribute.name!r} holds categories, which have no {WORDS[verb]}",
            fix="ask for their hist, or declare the column as numbers.",
        )
    if attribute.kind == "datetime" and verb != "std":
        fix = "std, which is a length of time." if verb not in CROSSED else "declare the column as numbers."
        raise ArgumentError(
            "columns", f"{attribute.name!r} holds instants, which have no {WORDS[verb]}", fix=fix
        )
