"""The verbs of df.blowfish: each reads its arguments, plans, and answers. No row is touched here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import pandas as pd

from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.queries.count import plan_count
from pandas_blowfish.queries.cumhist import cumulative, plan_cumhist
from pandas_blowfish.queries.frames.answer import answer, answers
from pandas_blowfish.queries.frames.free import cumhist_again, hist_again, quantile_again, range_again
from pandas_blowfish.queries.hist import plan_hist
from pandas_blowfish.queries.marginal import is_single, marginal_frames, plan_marginal
from pandas_blowfish.queries.quantile import plan_quantile, quantile_frame
from pandas_blowfish.queries.range import plan_range
from pandas_blowfish.queries.weaker_promise import (
    answer_apart,
    is_sized,
    is_told,
    plan_told,
    plan_wasserstein,
)
from pandas_blowfish.queries.workload import plan_workload
from pandas_blowfish.release import released
from pandas_blowfish.summaries import Summaries
from pandas_blowfish.types import Bins, Bounds, Columns, Epsilon, Shares, Strategy, Tables


class Verbs(Summaries):
    """What can be asked of a protected frame, and (a few) of a released one."""

    def hist(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon | None = None,
        bins: Bins | None = None,
        strategy: Strategy = "auto",
        prior: Shares | Mapping[Any, Any] | None = None,
        alpha: Epsilon | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows lie in each cell of one or several columns.

        On a released `cumhist` or `hist`, with `bins` or nothing: the counts it tells, free.

        Args:
            columns: A column, or a list of them: the index lists their full declared domain.
            epsilon: What the release may cost.
            bins: Coarser bins on cell edges: a number, a list of edges as in `numpy.histogram`, or
                {"name": [values], ...}; for several columns a dict of those by column.
            strategy: "auto", or the name of what to measure. "single_prior" and "hedging" keep a weaker
                promise than the policy's, which the receipt says in words; the ledger keeps their one
                release a dataset apart from the budget.
            prior: For these: the share of rows that everybody expects in each bin; a list, dict or Series.
            alpha: For "hedging": the weight that everybody gives the prior at least, 0.001 by default.
            post: True for non-negative counts consistent with the public row count and with totals
                the policy leaves exact; False for the unbiased answers.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `count` and `std` (standard error before shape constraints), its receipt in
            `attrs["blowfish"]` and at `.blowfish.receipt`; `exact` too, where counts may be told exactly.
        """
        if columns is None and epsilon is None:
            _only_the_question(strategy, post, name)
            return hist_again(self._frame, bins)
        source = self._opened()
        asked: dict[str, Any] = {"epsilon": epsilon, "bins": bins, "strategy": strategy, "scope": self._scope}
        if is_told(strategy, prior=prior, alpha=alpha):
            asked |= {"prior": prior, "alpha": alpha, "rows": source.dataset.binding["rows"]}
            told = plan_told(source.policy, columns, **asked)
            return answer_apart(told, self._frame, source, post=post, name=name)
        plan = plan_hist(source.policy, columns, **asked)
        return answer(plan, self._frame, source, post=post, name=name)

    def cumhist(
        self,
        column: str | None = None,
        *,
        epsilon: Epsilon | None = None,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows lie at or below each value of an ordered column.

        On a released `hist`, without arguments: what it tells, free. Rows with a missing value are left out.

        Args:
            column: A column of numbers, datetimes or ordered categories.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure: prefix sums, trees, wavelets.
            post: True for counts that never fall and agree with what is exact; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by value with `count` (never falling, ending at the row count where that is public),
            `std`, and `cdf`, the share of the release's own total.
        """
        if column is None and epsilon is None:
            _only_the_question(strategy, post, name)
            return cumhist_again(self._frame)
        source = self._opened()
        plan = plan_cumhist(source.policy, column, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name, build=cumulative)

    def quantile(
        self,
        column: str | None = None,
        q: Shares | None = None,
        *,
        epsilon: Epsilon | None = None,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release the values below which shares q of the rows lie; 0.5, the median, by default.

        On a released `cumhist` or `hist`, with the shares alone: what it tells, free.

        Args:
            column: A column of numbers, datetimes or ordered categories.
            q: A share between 0 and 1, or several.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure, as for `cumhist`.
            post: True to read the shares off counts that never fall; False off the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by q with `value` (that of the first cell reaching q, linear inside bins) and `std`: how
            far it moves when the cumulative count there is off by its standard error.
        """
        if epsilon is None and (q is None or column is None):
            shares = column if q is None else q
            _only_the_question(strategy, post, name)
            return quantile_again(self._frame, 0.5 if shares is None else shares)
        source, shares = self._opened(), 0.5 if q is None else q
        plan = plan_quantile(
            source.policy, column, shares, epsilon=epsilon, strategy=strategy, scope=self._scope
        )
        return answer(plan, self._frame, source, post=post, name=name, build=quantile_frame)

    def range(
        self,
        columns: Columns | None = None,
        bounds: Bounds | None = None,
        *,
        epsilon: Epsilon | None = None,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows lie in each of some ranges of an ordered column, or boxes of several.

        On a released `cumhist` or `hist`, with the ranges alone: what it tells, free.

        Args:
            columns: The column, or a list of columns: each box then has one pair a column, in that order.
            bounds: (low, high) pairs: inclusive values for whole numbers and ordered categories, [low,
                high) on cell edges for bins of floats and datetimes; None is the end of the domain; "all"
                asks for every range.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure.
            post: True for counts that agree with each other and with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by range, or by the sides of the boxes, with `count` and `std`.
        """
        if epsilon is None and (bounds is None or columns is None):
            _only_the_question(strategy, post, name)
            return range_again(self._frame, columns if bounds is None else bounds)
        source = self._opened()
        plan = plan_range(
            source.policy, columns, bounds, epsilon=epsilon, strategy=strategy, scope=self._scope
        )
        return answer(plan, self._frame, source, post=post, name=name)

    @overload
    def marginal(  # type: ignore[overload-overlap]  # a str is a sequence of columns to a type checker
        self,
        columns: Columns,
        *,
        epsilon: Epsilon,
        order: None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> pd.DataFrame: ...

    @overload
    def marginal(
        self,
        columns: Columns | Sequence[Columns],
        *,
        epsilon: Epsilon,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> Tables: ...

    def marginal(
        self,
        columns: Columns | Sequence[Columns],
        *,
        epsilon: Epsilon,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> pd.DataFrame | Tables:
        """Release tables of counts over one or several sets of columns, in one charge.

        Args:
            columns: A list of columns: one table, as a frame. A list of such lists: a dict of frames, keyed
                by tuples of columns, that agree with each other on every shared part.
            epsilon: What the release may cost.
            order: Asks for all tables of that many of the columns.
            strategy: "auto" finds the tables to measure and their noise that make the mean squared error over
                all counts least; "even" measures just those asked for, all alike; "joint" one over all.
            post: True for tables that agree (a single one is also made non-negative), "nonnegative" for
                tables that agree and are not negative, which lifts small counts a little; False for the
                unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.
        """
        source = self._opened()
        plan = plan_marginal(
            source.policy, columns, epsilon=epsilon, order=order, strategy=strategy, scope=self._scope
        )
        build = released if is_single(columns, order) else marginal_frames
        tables: pd.DataFrame | Tables = answers(
            plan, self._frame, source, post=post, name=name, build=build, shapes=("nonnegative",)
        )
        return tables

    def workload(
        self,
        matrix: Any,
        columns: Columns,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release any linear counting queries: sums of cells' counts times whole numbers.

        Args:
            matrix: Queries x cells: an array, lists, a DataFrame or scipy sparse, of whole numbers. Cells are
                in C order, values in schema order, the missing cell last of its column; a DataFrame's
                columns may be named by the cells, in any order.
            columns: The column, or columns, whose cells these are.
            epsilon: What the release may cost.
            strategy: "auto", "identity" (counts of cells), "direct" (the queries themselves), "optimised"
                (rows searched for numerically, a few hundred cells), or a strategy of an ordered column.
            post: True for the answers of non-negative counts consistent with exact totals; False for the
                unbiased answers.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by the number of the query (groups outermost) with `count` and `std`.
        """
        source = self._opened()
        plan = plan_workload(
            source.policy, matrix, columns, epsilon=epsilon, strategy=strategy, scope=self._scope
        )
        return answer(plan, self._frame, source, post=post, name=name)

    def count(
        self,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        scenario: Scenario | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows there are, or pass the filter, or are in each group.

        Exact and free where the policy lets no row be led in or out.

        Args:
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure. "wasserstein" sizes the noise by a scenario,
                a weaker promise than the policy's, which the ledger keeps apart from the budget.
            scenario: For that: the tables that are possible, what is believed of them, and what is secret.
            post: True for a count that is not negative and agrees with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame of one row, or one a group, with `count` and `std`.
        """
        source = self._opened()
        if is_sized(strategy, scenario=scenario):
            rows, scope = source.dataset.binding["rows"], self._scope
            sized = plan_wasserstein(source.policy, scenario, epsilon=epsilon, scope=scope, rows=rows)
            return answer_apart(sized, self._frame, source, post=post, name=name)
        plan = plan_count(source.policy, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name)


def _only_the_question(strategy: str, post: bool, name: str | None) -> None:
    """Refuse what only a new release can be told."""
    if strategy != "auto" or post is not True or name is not None:
        raise ArgumentError(
            "strategy, post, name", "an earlier release is asked, nothing is measured", fix="leave them out"
        )
