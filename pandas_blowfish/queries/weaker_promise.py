"""Releases under a weaker promise than the policy's: some counts exact, or noise sized by priors.

Touches no row itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.beyond.certified import certify
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.weaker import WeakerPlan
from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DeclaredValueError
from pandas_blowfish.exact.number import epsilon_of, exact, plain
from pandas_blowfish.kernel.weaker_release import measure_weaker
from pandas_blowfish.plan.call_text import MAX_NUMBERS
from pandas_blowfish.plan.scales import ONE
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.tally import Tally, describe_bins, listed_bins
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, column_names
from pandas_blowfish.queries.frames.answer import describe_plan, describe_release
from pandas_blowfish.queries.frames.protect import Opened
from pandas_blowfish.queries.totals import rows_of
from pandas_blowfish.release import with_receipt

EXACT_AT_TIMES = ("single_prior", "hedging")
ALPHA = "0.001"


def plan_exact_at_times(
    policy: Policy,
    columns: Any,
    *,
    epsilon: Any,
    bins: Any,
    strategy: str,
    prior: Any,
    alpha: Any,
    scope: Scope,
    rows: Any,
) -> WeakerPlan:
    """Return the plan of a histogram whose counts may be exact; see `df.blowfish.hist`."""
    names, spend, cuts = column_names(columns), epsilon_of(epsilon), listed_bins(bins)
    many = _public_rows(policy, strategy, rows)
    if scope.texts or scope.groups:
        raise ArgumentError("strategy", f"{strategy!r} is about all rows", fix="leave where and groupby out")
    tally = scope.tally(policy, names, cuts)
    if int(tally.labels().min()) < 0:
        raise ArgumentError("bins", "they leave out some values, and a prior is about all rows")
    shares = _shares(prior, tally, many)
    weight = (ALPHA if alpha is None else alpha) if strategy == "hedging" else None
    certified = certify(strategy, shares, many, spend, weight)  # type: ignore[arg-type]
    query = {"verb": "hist", "columns": names, "bins": describe_bins(cuts), "prior": _stated(shares)}
    query |= {} if weight is None else {"alpha": plain(exact(weight, "alpha"))}
    return WeakerPlan(policy, tally, spend, {**query, "strategy": strategy, "rows": many}, certified)


def plan_wasserstein(policy: Policy, scenario: Any, *, epsilon: Any, scope: Scope, rows: Any) -> WeakerPlan:
    """Return the plan of a count with noise sized by the priors of a scenario; see `df.blowfish.count`."""
    if not isinstance(scenario, Scenario):
        raise ArgumentTypeError("scenario", "not a bf.scenario(...)", fix="give scenario=bf.scenario(...)")
    spend, first = epsilon_of(epsilon), next(iter(scenario.databases), ())
    known = len(first) if rows is None and isinstance(first, (tuple, list)) else rows
    many = _public_rows(policy, "wasserstein", known)
    tally = scope.tally(policy, [], None)
    if scope.groups or len(tally.binnings) != 1:
        fix = 'such as where("state == \'ill\'").count(strategy="wasserstein", scenario=...)'
        raise ArgumentError("strategy", "'wasserstein' counts rows by one column", fix=fix)
    column, passes = tally.binnings[0].attribute, tally.labels() >= 0

    def answer(table: Any) -> int:
        try:
            return sum(bool(passes[column.code(value)]) for value in table)
        except (DeclaredValueError, TypeError):
            problem = f"a table of it is no list of declared values of {column.name!r}"
            raise ArgumentError("scenario", problem) from None

    if wrong := [table for table in scenario.databases if not _has_rows(table, many)]:
        raise ArgumentError("scenario", f"{len(wrong)} of its tables have not {many:,} rows")
    mechanism = scenario.wasserstein(answer, spend)
    query: dict[str, Any] = {"verb": "count", "columns": [], "scenario": _digest(scenario)}
    query |= {"strategy": "wasserstein", "rows": many, **scope.facts()}
    return WeakerPlan(policy, tally, spend, query, mechanism)


def answer_weaker(
    plan: WeakerPlan, frame: Any, source: Opened, *, post: bool, name: str | None
) -> pd.DataFrame:
    """Return a release with a weaker guarantee, reported separately: `count`, `std`, and `exact`."""
    if not isinstance(post, bool):
        raise ArgumentError("post", "not True or False", allowed="True, False")
    if name is not None and not is_name(name):
        raise ArgumentError("name", "not a name", allowed="None or a non-empty str")
    measured = measure_weaker(plan, frame, source.ledger, source.dataset, describe_plan(plan), name=name)
    values, flags = np.split(measured.values, 2)
    certain, count = flags.astype(bool), values.astype(np.float64)
    unshaped, table = count.copy(), plan.query["verb"] == "hist"
    left = np.array([source.dataset.binding["rows"] - count[certain].sum()])
    if post and table and len(count) == certain.sum() + 1:  # what is left of all rows is exact, too
        count, certain = np.where(certain, count, left), np.ones_like(certain)
        unshaped = count.copy()
    if post and table and not certain.all():
        noisy = ~certain
        count[noisy] = shape(count[noisy], np.zeros(int(noisy.sum()), dtype=np.int64), left).counts
    elif post:
        count = np.clip(count, 0.0, source.dataset.binding["rows"])
    columns: dict[str, Any] = {"count": count, "std": np.where(certain, 0.0, plan.std), "exact": certain}
    columns |= {"unshaped": unshaped} if post else {}
    spread = float(plan.std[0])
    facts = {"proof": plan.proof_id, "std_low": spread, "std_high": spread, "smallest_scale": str(plan.scale)}
    facts |= {"noise_terms": ONE, "facts": [], "weaker_guarantee": True}
    facts |= {"largest_answer": float(source.dataset.binding["rows"]), "record_moves": 1, "price_rule": None}
    return with_receipt(columns, plan.index, describe_release(plan, measured, source, post=post, **facts))


def _public_rows(policy: Policy, strategy: str, rows: Any) -> int:
    """Return the public number of rows, or raise where the promise is not about such rows."""
    if policy.presence or policy.constraints or policy.aggregates or policy.chain:
        problem = f"{strategy!r} is about rows of public number, of which the policy states nothing else"
        fix = "use a policy without presence, constraints, aggregates and chain."
        raise ArgumentError("strategy", problem, fix=fix)
    if policy.max_rows > 1:
        problem = f"{strategy!r} is about single rows, and the policy about people with several"
        raise ArgumentError("strategy", problem, fix="use a policy with max_rows=1.")
    many = rows_of(rows)
    if many is None:
        raise ArgumentError("rows", f"{strategy!r} depends on the number of rows", fix="give rows=")
    return many


def _shares(prior: Any, tally: Tally, rows: int) -> list[Fraction]:
    """Return the share of each bin, in order; they add up to 1, and are written down for all to read."""
    if prior is None:
        fix = 'give prior= a positive share for each value, such as {"yes": "0.1", "no": "0.9"}'
        raise ArgumentError("prior", "not given", fix=fix)
    index = tally.index
    prior = prior.to_dict() if isinstance(prior, pd.Series) else prior
    if isinstance(prior, Mapping):
        missing = [each for each in index if each not in prior]
        if missing or len(prior) != len(index):
            named = ", ".join(map(str, index[:6])) + ", ..." * (len(index) > 6)
            problem = f"it names other values than the {len(index):,} bins"
            raise ArgumentError("prior", problem, allowed=f"one share for each of {named}")
        prior = [prior[each] for each in index]
    elif isinstance(prior, np.ndarray):
        prior = prior.ravel().tolist()
    if not isinstance(prior, Sequence) or isinstance(prior, (str, bytes)):
        allowed = "a list, a dict or a Series of positive numbers"
        raise ArgumentTypeError("prior", "not shares", allowed=allowed)
    if len(prior) != len(index):
        raise ArgumentError("prior", f"{len(prior):,} shares for {len(index):,} bins")
    shares = [exact(share, "prior") for share in prior]
    total = sum(shares)
    if len(shares) < 2 or min(shares) <= 0:
        raise ArgumentError("prior", "not two or more shares above 0: nobody may be sure of a value")
    if total == rows > 1 and all(share.denominator == 1 for share in shares):
        why = "whole numbers that add up to the number of rows: counts of these rows are no prior"
        raise ArgumentError("prior", why, fix="take what is known without them; the ledger writes it down.")
    return [share / total for share in shares]


def _stated(shares: Sequence[Fraction]) -> list[int | str] | str:
    """Return shares as the ledger names them: spelt out where they are few, else by their hash."""
    numbers = [plain(share) for share in shares]
    if len(numbers) <= MAX_NUMBERS:
        return numbers
    return f"{len(numbers):,} values, sha256 {hashlib.sha256(repr(numbers).encode()).hexdigest()}"


def _digest(scenario: Scenario) -> str:
    text = repr((scenario.databases, scenario.laws, scenario.cases))
    return f"{len(scenario.databases):,} values, sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _has_rows(table: Any, rows: int) -> bool:
    return isinstance(table, (tuple, list)) and len(table) == rows
