"""policy.plan: every verb without data, what it would cost and how wrong it would be.

`VERBS` lists, for each verb, the function that plans it and the one that makes a frame of its answers.
"""

# ruff: noqa: D102  (signatures for type checkers, whose docstrings are those of Verbs)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pandas_blowfish import markup
from pandas_blowfish.arrangement import WIDE, widen
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.weaker import WeakerPlan
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.describe import policy_html
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope
from pandas_blowfish.queries.count import plan_count, plan_size
from pandas_blowfish.queries.cumhist import cumulative, plan_cumhist
from pandas_blowfish.queries.hist import plan_hist
from pandas_blowfish.queries.kmeans import kmeans_frame, plan_kmeans
from pandas_blowfish.queries.marginal import is_single, marginal_frames, plan_marginal
from pandas_blowfish.queries.quantile import plan_median, plan_quantile, quantile_frame
from pandas_blowfish.queries.range import plan_range
from pandas_blowfish.queries.statistics.deviation import moment_frame, plan_corr, plan_cov, plan_std, plan_var
from pandas_blowfish.queries.statistics.summary import plan_agg, plan_describe, summary_frame
from pandas_blowfish.queries.top import plan_mode, plan_top, rank_frame
from pandas_blowfish.queries.totals import plan_geomean, plan_logsum, plan_mean, plan_sum, total_frame
from pandas_blowfish.queries.value_counts import (
    crosstab_frame,
    plan_crosstab,
    plan_value_counts,
    value_counts_frame,
)
from pandas_blowfish.queries.weaker_promise import EXACT_AT_TIMES, plan_exact_at_times, plan_wasserstein
from pandas_blowfish.queries.workload import plan_workload
from pandas_blowfish.release import count_frame
from pandas_blowfish.types import Bins, Bounds, Clip, Columns, Epsilon, Inside, Number, Shares, Strategy
from pandas_blowfish.verbs.arguments import specialise
from pandas_blowfish.verbs.core_verbs import Verbs


def _plan_hist(policy: Policy, columns: Any, *, prior: Any, alpha: Any, rows: Any, **asked: Any) -> Any:
    strategy = asked["strategy"]
    if isinstance(strategy, str) and strategy in EXACT_AT_TIMES:
        return plan_exact_at_times(policy, columns, prior=prior, alpha=alpha, rows=rows, **asked)
    if prior is not None or alpha is not None:
        fix = 'give strategy="single_prior" or "hedging", whose guarantee is weaker.'
        raise ArgumentError("prior, alpha", f"strategy={strategy!r} takes none", fix=fix)
    return plan_hist(policy, columns, **asked)


def _plan_count(policy: Policy, *, scenario: Any, rows: Any, **asked: Any) -> Any:
    strategy = asked["strategy"]
    if isinstance(strategy, str) and strategy == "wasserstein":
        if asked["units"] is not False:
            raise ArgumentError("units", "'wasserstein' counts rows", fix="leave units= out.")
        return plan_wasserstein(policy, scenario, epsilon=asked["epsilon"], scope=asked["scope"], rows=rows)
    if scenario is not None:
        raise ArgumentError("scenario", f"strategy={strategy!r} takes none", fix='strategy="wasserstein"')
    return plan_count(policy, **asked)


def _marginal_frames(plan: Plan, *solved: Any) -> Any:
    single = is_single(plan.query["columns"], plan.query.get("order"))
    return count_frame(plan, *solved) if single else marginal_frames(plan, *solved)


@dataclass(frozen=True)
class Verb:
    """How a verb is answered.

    Attributes:
        plan: Plans it: takes the policy, then what the verb takes, and the scope.
        frame: Makes a frame, or several, of the plan, the solved answers and the receipt.
        shapes: What `post` may be besides True and False.
        wide: Whether the last level of the frame's index is laid out as columns.
    """

    plan: Callable[..., Any]
    frame: Callable[..., Any] = count_frame
    shapes: tuple[str, ...] = ()
    wide: bool = False

    def build(self, plan: Plan, solved: Any, facts: dict[str, Any]) -> Any:
        """Return the frame of some answers, laid out as the verb shows it."""
        if not self.wide:
            return self.frame(plan, solved, facts)
        return widen(self.frame(plan, solved, {**facts, "layout": WIDE}))


VERBS = {
    "hist": Verb(_plan_hist),
    "cumhist": Verb(plan_cumhist, cumulative),
    "quantile": Verb(plan_quantile, quantile_frame),
    "range": Verb(plan_range),
    "marginal": Verb(plan_marginal, _marginal_frames, shapes=("signed", "nonnegative")),
    "workload": Verb(plan_workload),
    "count": Verb(_plan_count),
    "sum": Verb(plan_sum, total_frame),
    "mean": Verb(plan_mean, total_frame),
    "kmeans": Verb(plan_kmeans, kmeans_frame),
    "logsum": Verb(plan_logsum, total_frame),
    "geomean": Verb(plan_geomean, total_frame),
    "value_counts": Verb(plan_value_counts, value_counts_frame),
    "size": Verb(plan_size),
    "median": Verb(plan_median, quantile_frame),
    "crosstab": Verb(plan_crosstab, crosstab_frame, wide=True),
    "mode": Verb(plan_mode, rank_frame),
    "top": Verb(plan_top, rank_frame),
    "var": Verb(plan_var, moment_frame),
    "std": Verb(plan_std, moment_frame),
    "cov": Verb(plan_cov, moment_frame, wide=True),
    "corr": Verb(plan_corr, moment_frame, wide=True),
    "describe": Verb(plan_describe, summary_frame, wide=True),
    "agg": Verb(plan_agg, summary_frame),
}


def plan_verb(
    verb: str, given: Mapping[str, Any], policy: Policy, scope: Scope, known: int | None
) -> Plan | WeakerPlan:
    """Return the plan of a verb.

    Args:
        verb: Its name.
        given: Its arguments by name.
        policy: The promise.
        scope: The filter, the groups and the selected columns.
        known: The number of rows, where it is public.
    """
    asked = {name: value for name, value in given.items() if name not in ("self", "post", "name")}
    asked = scope.fill_columns(policy, verb, asked)
    if verb == "kmeans":
        asked["known"] = known
    elif "rows" in asked and asked["rows"] is None:
        asked["rows"] = known
    plan: Plan | WeakerPlan = VERBS[verb].plan(policy=policy, scope=scope, **asked)
    stated = known if verb == "kmeans" else asked.get("rows", known)  # those of kmeans may be a guess
    return plan.with_rows(stated) if isinstance(plan, Plan) else plan


@specialise(Plan, Plan, epsilon=1)
@dataclass(frozen=True, repr=False)
class Planner(Verbs[Plan, Plan]):
    """The verbs of one policy, planned: no data, no spend.

    They take what those of protected rows take; epsilon is 1 unless it is stated.

    Examples:
        >>> import pandas_blowfish as bf
        >>> plan = bf.datasets.patients_policy().plan
        >>> plan.where("region == 'north'").groupby("sex").count(epsilon=0.1).sensitivity
        Fraction(2, 1)
    """

    policy: Policy
    scope: Scope = field(default_factory=Scope, compare=False)
    rows: int | None = None  # of the protected frame, where that is public

    if TYPE_CHECKING:  # as in Verbs but for epsilon=1, which no type can say of an inherited parameter
        # fmt: off
        def hist(self, columns: Columns | None = None, *, epsilon: Epsilon = 1, bins: Bins | None = None,
                 strategy: Strategy = "auto", prior: Shares | Mapping[Any, Any] | None = None,
                 alpha: Epsilon | None = None, rows: int | None = None, post: bool = True,
                 name: str | None = None) -> Plan: ...
        def cumhist(self, column: str | None = None, *, epsilon: Epsilon = 1, strategy: Strategy = "auto",
                    post: bool = True, name: str | None = None) -> Plan: ...
        def quantile(self, column: str | Shares | None = None, q: Shares = 0.5, *, epsilon: Epsilon = 1,
                     interpolation: Inside = "linear", strategy: Strategy = "auto", post: bool = True,
                     name: str | None = None) -> Plan: ...
        def range(self, columns: Columns | Bounds | None = None,
                  bounds: Bounds | None = None, *, epsilon: Epsilon = 1,
                  strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        def marginal(self, columns: Columns | Sequence[Columns] | None = None, *, epsilon: Epsilon = 1,
                     order: int | None = None, strategy: Strategy = "auto", post: bool | str = True,
                     name: str | None = None) -> Plan: ...
        def workload(self, matrix: Any, columns: Columns | None = None, *, epsilon: Epsilon = 1,
                     strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        def count(self, *, epsilon: Epsilon = 1, units: bool = False, strategy: Strategy = "auto",
                  scenario: Scenario | None = None, rows: int | None = None, post: bool = True,
                  name: str | None = None) -> Plan: ...
        def sum(self, columns: Columns | None = None, *, epsilon: Epsilon = 1, strategy: Strategy = "auto",
                rows: int | None = None, clip: Clip | None = None, post: bool = True,
                name: str | None = None) -> Plan: ...
        mean = sum
        def logsum(self, columns: Columns | None = None, *, epsilon: Epsilon = 1,
                   strategy: Strategy = "auto", rows: int | None = None, post: bool = True,
                   name: str | None = None) -> Plan: ...
        geomean = logsum
        def var(self, columns: Columns | None = None, *, epsilon: Epsilon = 1, ddof: int = 1,
                strategy: Strategy = "auto", rows: int | None = None, post: bool = True,
                name: str | None = None) -> Plan: ...
        std = cov = var
        def corr(self, columns: Columns | None = None, *, epsilon: Epsilon = 1,
                 strategy: Strategy = "auto", rows: int | None = None, post: bool = True,
                 name: str | None = None) -> Plan: ...
        def describe(self, columns: Columns | None = None, *, epsilon: Epsilon = 1,
                     percentiles: Shares | None = None, strategy: Strategy = "auto",
                     rows: int | None = None, post: bool = True, name: str | None = None) -> Plan: ...
        def agg(self, functions: Mapping[str, str | Sequence[str]] | str | Sequence[str], *,
                epsilon: Epsilon = 1, strategy: Strategy = "auto", rows: int | None = None,
                post: bool = True, name: str | None = None) -> Plan: ...
        def kmeans(self, columns: Columns | int | None = None,
                   k: int | None = None, *, epsilon: Epsilon = 1, strategy: Strategy = "auto",
                   scale: bool | Mapping[str, Number] = True, rows: int | None = None, post: bool = True,
                   name: str | None = None) -> Plan: ...
        def value_counts(self, columns: Columns | None = None, *, epsilon: Epsilon = 1,
                         normalize: bool = False, sort: bool = True, ascending: bool = False,
                         dropna: bool = True, bins: Bins | None = None, strategy: Strategy = "auto",
                         post: bool = True, name: str | None = None) -> Plan: ...
        def size(self, *, epsilon: Epsilon = 1, strategy: Strategy = "auto", post: bool = True,
                 name: str | None = None) -> Plan: ...
        def median(self, column: str | None = None, *, epsilon: Epsilon = 1, interpolation: Inside = "linear",
                   strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        def crosstab(self, index: Columns, columns: Columns, *, epsilon: Epsilon = 1,
                     normalize: bool | str = False, dropna: bool = True, bins: Bins | None = None,
                     strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        def mode(self, columns: Columns | None = None, *, epsilon: Epsilon = 1, dropna: bool = True,
                 strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        def top(self, k: int, columns: Columns | None = None, *, epsilon: Epsilon = 1, dropna: bool = True,
                strategy: Strategy = "auto", post: bool = True, name: str | None = None) -> Plan: ...
        # fmt: on

    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        return plan_verb(verb, given, self.policy, self.scope, self.rows)

    def _narrow(self, step: str, *given: Any) -> Planner:
        return replace(self, scope=getattr(self.scope, step)(self.policy, *given))

    def _expects_column(self, first: Any) -> bool:
        return self.scope.expects_column(self.policy, first)

    def __repr__(self) -> str:
        scope = f" {markup.one_line(self.scope.describe())}" if self.scope.describe() else ""
        return f"Planner({', '.join([*VERBS, 'where', 'groupby'])}){scope} for\n{self.policy!r}"

    def _repr_html_(self) -> str:
        facts = {"verbs": ", ".join([*VERBS, "where", "groupby"]), **self.scope.describe()}
        shown = markup.fold("Policy", markup.Html(policy_html(self.policy)))
        return markup.card("Planner: what a query would cost", markup.facts_table(facts), shown)


Policy.planner = Planner
