"""policy.plan: every verb without data, what it would cost and how wrong it would be."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pandas_blowfish import markup
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.describe import policy_html
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.count import plan_count
from pandas_blowfish.queries.cumhist import plan_cumhist
from pandas_blowfish.queries.hist import plan_hist
from pandas_blowfish.queries.kmeans import plan_kmeans
from pandas_blowfish.queries.marginal import plan_marginal
from pandas_blowfish.queries.quantile import plan_quantile
from pandas_blowfish.queries.range import plan_range
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.queries.totals import plan_geomean, plan_logsum, plan_mean, plan_sum
from pandas_blowfish.queries.weaker_promise import is_sized, is_told, plan_told, plan_wasserstein
from pandas_blowfish.queries.workload import plan_workload
from pandas_blowfish.types import Bins, Bounds, Columns, Epsilon, Number, Shares, Strategy

VERBS = (
    *("hist", "cumhist", "quantile", "range", "marginal", "workload", "count", "sum", "mean", "kmeans"),
    *("logsum", "geomean", "where", "groupby"),
)


@dataclass(frozen=True)
class Planner:
    """The verbs of one policy, planned: no data, no spend.

    Examples:
        >>> import pandas_blowfish as bf
        >>> plan = bf.datasets.patients_policy().plan
        >>> plan.where("region == 'north'").groupby("sex").count(epsilon=0.1).sensitivity
        Fraction(2, 1)
    """

    policy: Policy
    scope: Scope = field(default_factory=Scope, repr=False, compare=False)
    rows: int | None = None  # of the protected frame, where that is public

    def where(self, expression: str) -> Planner:
        """Plan verbs on the rows that satisfy an expression."""
        caller = sys._getframe(1)
        variables = {**caller.f_globals, **caller.f_locals}
        return replace(self, scope=self.scope.where(self.policy, expression, variables))

    def groupby(self, columns: Columns) -> Planner:
        """Plan verbs for each combination of some columns' values."""
        return replace(self, scope=self.scope.groupby(self.policy, columns))

    def hist(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        bins: Bins | None = None,
        strategy: Strategy = "auto",
        prior: Shares | Mapping[Any, Any] | None = None,
        alpha: Epsilon | None = None,
        rows: int | None = None,
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Any:
        """Plan `df.blowfish.hist`; `post` and `name` change nothing, `rows` only where a prior is given.

        Returns:
            A `Plan`; under a weaker promise, with a prior, an `Apart`, which reads alike.
        """
        asked: dict[str, Any] = {"epsilon": epsilon, "bins": bins, "strategy": strategy, "scope": self.scope}
        if is_told(strategy, prior=prior, alpha=alpha):
            asked |= {"prior": prior, "alpha": alpha, "rows": self.rows if rows is None else rows}
            return plan_told(self.policy, columns, **asked)
        return plan_hist(self.policy, columns, **asked)

    def cumhist(
        self,
        column: str,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.cumhist`; `post` and `name` change nothing here."""
        return plan_cumhist(self.policy, column, epsilon=epsilon, strategy=strategy, scope=self.scope)

    def quantile(
        self,
        column: str,
        q: Shares = 0.5,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.quantile`: the cumulative counts that quantiles are read off."""
        return plan_quantile(self.policy, column, q, epsilon=epsilon, strategy=strategy, scope=self.scope)

    def range(
        self,
        columns: Columns,
        bounds: Bounds,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.range`; `post` and `name` change nothing here."""
        return plan_range(self.policy, columns, bounds, epsilon=epsilon, strategy=strategy, scope=self.scope)

    def marginal(
        self,
        columns: Columns | Sequence[Columns],
        *,
        epsilon: Epsilon = 1,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.marginal`; `post` and `name` change nothing here."""
        return plan_marginal(
            self.policy, columns, epsilon=epsilon, order=order, strategy=strategy, scope=self.scope
        )

    def workload(
        self,
        matrix: Any,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.workload`; `post` and `name` change nothing here."""
        return plan_workload(
            self.policy, matrix, columns, epsilon=epsilon, strategy=strategy, scope=self.scope
        )

    def count(
        self,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        scenario: Scenario | None = None,
        rows: int | None = None,
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Any:
        """Plan `df.blowfish.count`; `post` and `name` change nothing, `rows` only with a scenario.

        Returns:
            A `Plan`; under a weaker promise, with a scenario, an `Apart`, which reads alike.
        """
        if is_sized(strategy, scenario=scenario):
            many, scope = self.rows if rows is None else rows, self.scope
            return plan_wasserstein(self.policy, scenario, epsilon=epsilon, scope=scope, rows=many)
        return plan_count(self.policy, epsilon=epsilon, strategy=strategy, scope=self.scope)

    def sum(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
        rows: int | None = None,
    ) -> Plan:
        """Plan `df.blowfish.sum`; `post`, `name` and `rows` change nothing here."""
        return plan_sum(self.policy, columns, epsilon=epsilon, strategy=strategy, scope=self.scope, rows=rows)

    def mean(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
        rows: int | None = None,
    ) -> Plan:
        """Plan `df.blowfish.mean`; its error is known where `rows` is and all of them are averaged."""
        many = self.rows if rows is None else rows
        return plan_mean(
            self.policy, columns, epsilon=epsilon, strategy=strategy, scope=self.scope, rows=many
        )

    def logsum(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
        rows: int | None = None,
    ) -> Plan:
        """Plan `df.blowfish.logsum`; `post`, `name` and `rows` change nothing here."""
        return plan_logsum(
            self.policy, columns, epsilon=epsilon, strategy=strategy, scope=self.scope, rows=rows
        )

    def geomean(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
        rows: int | None = None,
    ) -> Plan:
        """Plan `df.blowfish.geomean`; its error, a share of the answer, is known where `rows` is."""
        many = self.rows if rows is None else rows
        return plan_geomean(
            self.policy, columns, epsilon=epsilon, strategy=strategy, scope=self.scope, rows=many
        )

    def kmeans(
        self,
        columns: Columns,
        k: int,
        *,
        epsilon: Epsilon = 1,
        strategy: Strategy = "auto",
        scale: bool | Mapping[str, Number] = True,
        rows: int | None = None,
        post: bool = True,  # noqa: ARG002  taken so that a call can be copied
        name: str | None = None,  # noqa: ARG002
    ) -> Plan:
        """Plan `df.blowfish.kmeans`; how fine it is depends on `rows`, 10,000 where nobody says."""
        asked: dict[str, Any] = {"epsilon": epsilon, "strategy": strategy, "scale": scale, "rows": rows}
        return plan_kmeans(self.policy, columns, k, **asked, known=self.rows, scope=self.scope)

    def __repr__(self) -> str:
        scope = f" {markup.one_line(self.scope.facts())}" if self.scope.facts() else ""
        return f"Planner({', '.join(VERBS)}){scope} for\n{self.policy!r}"

    def _repr_html_(self) -> str:
        facts = {"verbs": ", ".join(VERBS), **self.scope.facts()}
        shown = markup.folded("Policy", markup.Html(policy_html(self.policy)))
        return markup.card("Planner: what a query would cost", markup.facts_table(facts), shown)


Policy.planner = Planner
