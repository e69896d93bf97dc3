"""sum, mean, logsum, geomean: totals and averages of the values of columns. Touches no row itself.

A mean divides the sum by the row count where no edge changes that, else by a noisy count that is part of the
same release. `logsum` and `geomean` are the sum and the mean of natural logarithms; the error of a geometric
mean is that of the mean of logarithms, a share of the geometric mean.

>>> from pandas_blowfish.policy.attribute import Unbounded
>>> from pandas_blowfish.policy.domain import Domain
>>> from pandas_blowfish.policy.policy import Policy
>>> from pandas_blowfish.policy.secret import relative_error
>>> prices = Domain((Unbounded("price", "float", False),))
>>> policy = Policy(prices, secrets={"price": relative_error("0.9", step="0.001")})
>>> plan = plan_logsum(policy, "price")
>>> plan.sensitivity, plan.call  # 4 ln(1 / 0.9) = 0.4214...
(Fraction(422, 1), "logsum('price', strategy='auto', epsilon='1')")
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, UnboundedColumnError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.totals.clipped import ClippedQuestion
from pandas_blowfish.plan.totals.question import Totals
from pandas_blowfish.plan.totals.solve import LOGS, Estimated, exponentials, instants, logs_of
from pandas_blowfish.plan.totals.solve import facts as column_facts
from pandas_blowfish.policy.attribute import Attribute, Unbounded
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.queries.clip import (
    AUTO,
    clip_columns,
    clip_facts,
    describe_clips,
    read_clips,
    require_clippable,
)
from pandas_blowfish.release import Facts, with_receipt


def plan_totals(
    verb: str,
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scope: Scope | None = None,
    rows: Any = None,
    clip: Any = None,
) -> Plan:
    """Return the plan of sums or means of columns in a scope.

    Args:
        verb: "sum" or "mean", or "logsum" or "geomean", which are those of logarithms.
        policy: The promise.
        columns: A name, or a list of them.
        epsilon: What it may cost.
        strategy: "auto" or "total".
        scope: The filter and the groups.
        rows: The number of rows, where it is public; a mean's error depends on it.
        clip: None, "auto", or the bounds beyond which values count as the nearest one.
    """
    names, scope = column_names(columns), scope or Scope()
    spend, chosen, many = epsilon_of(epsilon), strategy_name(strategy), rows_of(rows)
    scope.refuse_grouped([name for name in names if name not in scope.binned])
    attributes = tuple(policy.domain[name] for name in names)
    for attribute in attributes:
        _check(verb, attribute)
    if len({(each.kind == "datetime", getattr(each, "tz", None)) for each in attributes}) > 1:
        raise ArgumentError(
            "columns",
            "numbers and instants, or instants in several time zones",
            fix="ask for them separately.",
        )
    listed = not isinstance(columns, str)
    query: dict[str, Any] = {"verb": verb, "columns": names, "strategy": chosen, **scope.facts()}
    query |= {"by_column": listed} if len(names) == 1 else {}
    added = LOGS.get(verb, verb)
    query |= {"rows": many} if added == "mean" and many is not None and policy.rows_public else {}
    asked = Totals(added, scope.tally(policy, [], None), attributes, listed, query.get("rows"))
    if clip is None:
        return ask(policy, [asked], spend, query=query, strategy=chosen)
    require_clippable(policy, attributes)
    if isinstance(clip, str) and clip == AUTO:
        question: Question = ClippedQuestion(asked)
        return ask(policy, [question], spend, query={**query, "clip": AUTO}, strategy=chosen)
    clips = read_clips(attributes, clip)
    asked = replace(asked, clips=tuple(clips.get(name) for name in names))
    return ask(policy, [asked], spend, query={**query, "clip": describe_clips(clips, names)}, strategy=chosen)


plan_sum = partial(plan_totals, "sum")  # see `df.blowfish.sum`
plan_mean = partial(plan_totals, "mean")  # see `df.blowfish.mean`
plan_logsum = partial(plan_totals, "logsum")  # see `df.blowfish.logsum`
plan_geomean = partial(plan_totals, "geomean")  # see `df.blowfish.geomean`


def total_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return `value` and `std` by group and column; where bounds were found, these and what lies outside."""
    assert isinstance(solved, Estimated)
    measured: Any = solved.measured or plan.measurement
    value: Any = solved.answers
    std: Any = solved.std
    groups = measured.tally.size
    if measured.summed[0].attribute.kind == "datetime":
        starts = np.array([int(column.lattice.origin) for column in measured.summed])
        zone = getattr(measured.summed[0].attribute, "tz", None)
        value = instants(np.tile(starts, groups), solved.offsets, zone)
        std = pd.to_timedelta(np.rint(np.minimum(std, 2.0**62)), unit="ns")
    if plan.query["verb"] == "geomean":
        value, std = exponentials(value, std)
    errors = std if plan.query["verb"] == "geomean" else solved.std
    errors = errors[(errors > 0) & np.isfinite(errors)]
    own, moved = measured.in_units(), plan.price.moved
    more = {
        **column_facts(measured, solved.counts),
        **logs_of(plan.query["verb"]),
        **clip_facts(measured, solved.outside),
        "sensitivity_in_units": {each.name: each.text(moved * each.sensitivity) for each in own},
        "scale_in_units": {each.name: each.text(each.scale) for each in own},
        "labelled_by_column": bool(plan.query.get("by_column", len(measured.summed) > 1)),
        "std_low": float(errors.min(initial=np.inf)) if len(errors) else 0.0,
        "std_high": float(errors.max(initial=0.0)),
    }
    columns = {"value": value, "std": std, **clip_columns(measured, solved.outside)}
    return with_receipt(columns, plan.index, {**facts, **more})


def rows_of(rows: Any) -> int | None:
    """Return a number of rows, or None where it is not stated."""
    if rows is None:
        return None
    if isinstance(rows, (bool, np.bool_)) or not isinstance(rows, (int, np.integer)):
        raise ArgumentTypeError("rows", "not a number of rows", allowed="None or a whole number")
    if rows < 0:
        raise ArgumentError("rows", f"{rows} is negative", allowed="None or a whole number from 0")
    return int(rows)


def _check(verb: str, attribute: Attribute) -> None:
    """Refuse columns that cannot be added up."""
    logs = isinstance(attribute, Unbounded) and attribute.log
    if verb in LOGS and not logs:
        raise ArgumentError(
            "columns",
            f"the logarithms of {attribute.name!r} have no bound that its secret gives",
            fix="declare metadata=bf.relative_error(...), and no bounds; or ask for its sum or mean.",
        )
    if logs and verb not in LOGS:
        other = {"sum": "logsum", "mean": "geomean"}[verb]
        raise UnboundedColumnError(
            attribute.name,
            "and its secret is a relative error: the larger a value, the more its row could change the "
            f"answer; ask for its {other}, or declare bounds",
        )
    if attribute.kind in ("category", "string"):
        raise ArgumentError(
            "columns",
            f"{attribute.name!r} holds categories, which have no {verb}",
            fix="ask for their hist, or declare the column as numbers.",
        )
    if attribute.kind == "datetime" and verb == "sum":
        raise ArgumentError("columns", f"{attribute.name!r} holds instants, which do not add up", fix="mean")
    if attribute.kind == "datetime" and isinstance(attribute, Unbounded):
        raise ArgumentError(
            "columns",
            f"{attribute.name!r} holds instants without bounds",
            fix="add Check.in_range(first, last) to its schema column, and step= to its secret.",
        )
