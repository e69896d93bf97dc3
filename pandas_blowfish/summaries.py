"""The verbs that sum rows up in a few numbers: sum, mean, logsum, geomean, kmeans. Mixed into `Verbs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pandas_blowfish.plan.clusters.centres import require_clusters
from pandas_blowfish.queries.frames.answer import answer
from pandas_blowfish.queries.frames.protect import Opened
from pandas_blowfish.queries.kmeans import kmeans_frame, plan_kmeans
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.queries.totals import plan_geomean, plan_logsum, plan_mean, plan_sum, total_frame
from pandas_blowfish.types import Columns, Epsilon, Number, Strategy


class Summaries:
    """What can be asked of a protected frame besides counts."""

    _frame: pd.DataFrame
    _scope: Scope

    def _opened(self) -> Opened:
        raise TypeError("verbs are asked of df.blowfish")

    def sum(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release what the values of one or several columns add up to, missing ones left out.

        A value counts as itself, that of a bin as the bin's middle; True counts 1. A column without bounds
        may be summed where its secret is a threshold and no secret leads a row out of the filter or group.
        `std` is that of the noise; `interval()` allows for middles too, for all rows the sum can be of.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            post: True to keep sums within what the declared bounds allow; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, in the column's own units, by group and column.
        """
        source = self._opened()
        plan = plan_sum(source.policy, columns, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name, build=total_frame)

    def mean(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release the mean of one or several columns over the rows where they are not missing.

        The sum is divided by the row count where that is public, else by a noisy one that is part of the
        same release. The mean of instants is one, and its error a time span.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            post: True to keep means within the declared bounds.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` (missing where there are surely no rows) and `std`, by group and column.
        """
        source = self._opened()
        rows = source.dataset.binding["rows"] if source.policy.rows_public else None
        plan = plan_mean(
            source.policy, columns, epsilon=epsilon, strategy=strategy, scope=self._scope, rows=rows
        )
        return answer(plan, self._frame, source, post=post, name=name, build=total_frame)

    def logsum(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release what the natural logarithms of one or several columns add up to.

        The columns have a relative error for a secret, and no bounds: what one row changes is then a matter
        of factors. A logarithm counts as the middle of its cell; `interval()` allows for that.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            post: Nothing, as there are no bounds to keep to.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, in natural logarithms, by group and column.
        """
        source = self._opened()
        plan = plan_logsum(source.policy, columns, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name, build=total_frame)

    def geomean(
        self,
        columns: Columns,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release the geometric mean of one or several columns: exp of the mean of their logarithms.

        The columns have a relative error for a secret, and no bounds, as for `logsum`. `interval()` is that
        of the mean of logarithms, so it reaches farther up than down.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            post: Nothing, as there are no bounds to keep to.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` (missing where there are surely no rows) and `std`, to first order, in the
            column's own units, by group and column.
        """
        source = self._opened()
        rows = source.dataset.binding["rows"] if source.policy.rows_public else None
        plan = plan_geomean(
            source.policy, columns, epsilon=epsilon, strategy=strategy, scope=self._scope, rows=rows
        )
        return answer(plan, self._frame, source, post=post, name=name, build=total_frame)

    def kmeans(
        self,
        columns: Columns,
        k: int,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        scale: bool | Mapping[str, Number] = True,
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release the centres of k clusters of rows, and how many rows are in each.

        A synopsis of the columns is measured once, with noise sized by the policy; centres are found on it
        with as many restarts as help, which costs nothing. Rows in which a column is missing are left out.

        Args:
            columns: Columns of numbers with declared bounds, up to 12.
            k: The number of clusters, in each group.
            epsilon: What the release may cost.
            strategy: "auto", "grid" (counts of bins), "soft" (of soft bins, for thresholds), "adaptive"
                (boxes halved where rows are, for many columns) or "whole" (partition groups as they are).
            scale: True to let the declared ranges of all columns count alike in distances, False to let
                their units do, or {column: what one unit counts}.
            rows: About how many rows there are, where that is not public (after a `where`, say); None to
                measure it first, at a twentieth of epsilon (the plan then says "counted").
            post: True for sizes of non-negative counts that add up; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by cluster (groups outermost), the largest first: a column a coordinate in its own units,
            `size`, and `std`, what noise alone may change the size by. `assign(frame)`, `plot()` are free.
        """
        require_clusters()
        source = self._opened()
        known = source.dataset.binding["rows"] if source.policy.rows_public else None
        asked: dict[str, Any] = {"epsilon": epsilon, "strategy": strategy, "scale": scale, "rows": rows}
        plan = plan_kmeans(source.policy, columns, k, **asked, known=known, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name, build=kmeans_frame)
