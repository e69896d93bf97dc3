"""df.blowfish: reads arguments, delegates. No maths, no state, and no row is touched here."""

from __future__ import annotations

import html
import os
import sys
from contextlib import suppress
from typing import Any

import pandas as pd

from pandas_blowfish.errors import ArgumentError, BlowfishError, FrameError, NotReleasedError
from pandas_blowfish.kernel.ledger import Budget, Ledger
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.again import cumhist_again, hist_again, quantile_again, range_again
from pandas_blowfish.queries.answer import answer
from pandas_blowfish.queries.count import plan_count
from pandas_blowfish.queries.cumhist import cumulative, plan_cumhist
from pandas_blowfish.queries.hist import plan_hist
from pandas_blowfish.queries.planner import Planner
from pandas_blowfish.queries.protect import Opened, opened, protect
from pandas_blowfish.queries.quantile import plan_quantile, quantile_frame
from pandas_blowfish.queries.range import plan_range
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.release import Receipt, interval, receipt_of


@pd.api.extensions.register_dataframe_accessor("blowfish")
class BlowfishAccessor:
    """Blowfish privacy on a DataFrame: protect it, then release noisy answers from it.

    Examples:
        >>> import pandas_blowfish as bf
        >>> patients = bf.datasets.patients(1_000)
        >>> df = patients.blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
        >>> ages = df.blowfish.hist("age", epsilon="0.25")
        >>> ages.shape, df.blowfish.budget
        ((100, 2), Budget(total=1, spent=1/4, remaining=3/4))
    """

    def __init__(self, frame: pd.DataFrame, scope: Scope | None = None) -> None:
        if not isinstance(frame, pd.DataFrame):
            raise FrameError("not a pandas DataFrame", fix="give a DataFrame.")
        self._frame = frame
        self._scope = scope or Scope()

    def protect(
        self,
        policy: Any,
        *,
        epsilon: Any,
        dataset: str | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        outside: str = "error",
        unit: str | None = None,
    ) -> pd.DataFrame:
        """Return this frame bound to a policy, a budget and a ledger; every release starts here.

        Args:
            policy: A `bf.Policy`, or a pandera schema to make one of.
            epsilon: The total that all releases together may lose; 0.1 means exactly 1/10.
            dataset: The name the budget is kept under. Protecting the same rows under the same name
                continues the same budget. Required with a file ledger.
            ledger: A path or a `bf.Ledger`; None keeps the budget in this process's memory.
            outside: "error" refuses values outside the declared domain, "clip" puts numbers beyond
                the bounds into the nearest cell (the promise then concerns the clipped values).
            unit: A column that names who a row is about; repeats are refused.

        Raises:
            OutsideDomainError: Some row is outside the declared domain (names columns only).
            StaleFrameError, PolicyMismatchError, BudgetMismatchError: The name is bound to other rows,
                another policy, another total.
        """
        return protect(
            self._frame, policy, epsilon=epsilon, dataset=dataset, ledger=ledger, outside=outside, unit=unit
        )

    def where(self, expression: str) -> BlowfishAccessor:
        """Ask the verbs that follow about the rows that satisfy an expression.

        The row count of the answer is public only if no secret can lead a row in or out.

        Args:
            expression: A column against constants, chained comparisons, `in`, `and`, `or`, `not`;
                `@name` is a variable, backticks quote a column's name. It is parsed, never evaluated;
                constants lie on cell edges; a missing value satisfies nothing. Chained ones all hold.
        """
        caller = sys._getframe(1)
        variables = {**caller.f_globals, **caller.f_locals}
        return BlowfishAccessor(self._frame, self._scope.where(self.policy, expression, variables))

    def groupby(self, columns: Any) -> BlowfishAccessor:
        """Ask the verbs that follow once for each combination of some columns' values, in one release."""
        return BlowfishAccessor(self._frame, self._scope.groupby(self.policy, columns))

    def hist(
        self,
        columns: Any = None,
        *,
        epsilon: Any = None,
        bins: Any = None,
        strategy: str = "auto",
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
            strategy: "auto", or the name of what to measure.
            post: True for non-negative counts consistent with the public row count and with totals
                the policy leaves exact; False for the unbiased answers.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `count` and `std` (standard error before shape constraints), its receipt in
            `attrs["blowfish"]` and at `.blowfish.receipt`.
        """
        if columns is None and epsilon is None:
            _only_the_question(strategy, post, name)
            return hist_again(self._frame, bins)
        source = self._opened()
        plan = plan_hist(
            source.policy, columns, epsilon=epsilon, bins=bins, strategy=strategy, scope=self._scope
        )
        return answer(plan, self._frame, source, post=post, name=name)

    def cumhist(
        self,
        column: Any = None,
        *,
        epsilon: Any = None,
        strategy: str = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows lie at or below each value of an ordered column.

        On a released `hist`, without arguments: what it tells, free. Rows with a missing value are left
        out. The frame has `count` (never falling, ending at the row count where that is public), `std`, and
        `cdf`, the share of the release's own total.
        """
        if column is None and epsilon is None:
            _only_the_question(strategy, post, name)
            return cumhist_again(self._frame)
        source = self._opened()
        plan = plan_cumhist(source.policy, column, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name, build=cumulative)

    def quantile(
        self,
        column: Any = None,
        q: Any = None,
        *,
        epsilon: Any = None,
        strategy: str = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release the values below which shares q of the rows lie; 0.5, the median, by default.

        On a released `cumhist` or `hist`, with the shares alone: what it tells, free.

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
        columns: Any = None,
        bounds: Any = None,
        *,
        epsilon: Any = None,
        strategy: str = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> pd.DataFrame:
        """Release how many rows lie in each of some ranges of an ordered column.

        On a released `cumhist` or `hist`, with the ranges alone: what it tells, free.

        Args:
            columns: The column.
            bounds: (low, high) pairs: inclusive values for whole numbers and ordered categories, [low,
                high) on cell edges for bins of floats and datetimes; None is the end of the domain; "all"
                asks for every range.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure.
            post: True for counts that agree with each other and with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.
        """
        if epsilon is None and (bounds is None or columns is None):
            _only_the_question(strategy, post, name)
            return range_again(self._frame, columns if bounds is None else bounds)
        source = self._opened()
        plan = plan_range(
            source.policy, columns, bounds, epsilon=epsilon, strategy=strategy, scope=self._scope
        )
        return answer(plan, self._frame, source, post=post, name=name)

    def count(
        self, *, epsilon: Any, strategy: str = "auto", post: bool = True, name: str | None = None
    ) -> pd.DataFrame:
        """Release how many rows there are, or pass the filter, or are in each group.

        Exact and free where the policy lets no row be led in or out.
        """
        source = self._opened()
        plan = plan_count(source.policy, epsilon=epsilon, strategy=strategy, scope=self._scope)
        return answer(plan, self._frame, source, post=post, name=name)

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        return Planner(self.policy, self._scope)

    @property
    def policy(self) -> Policy:
        """Return the policy this frame is protected by."""
        return self._opened().policy

    @property
    def budget(self) -> Budget:
        """Return total, spent and remaining epsilon, as exact fractions."""
        source = self._opened()
        return source.ledger.budget(source.dataset.name)

    @property
    def ledger(self) -> Ledger:
        """Return the ledger this frame is charged to."""
        return self._opened().ledger

    @property
    def receipt(self) -> Receipt:
        """Return the receipt of a released frame."""
        return receipt_of(self._frame)

    def interval(self, level: Any = 0.95) -> pd.DataFrame:
        """Return `low` and `high` for each count of a released frame."""
        return interval(self._frame, level)

    def plot(self, *, ax: Any = None, level: Any = 0.95) -> Any:
        """Draw a released frame with its error bars, or a cumulative one with its band.

        Args:
            ax: The matplotlib Axes to draw on; None for new ones.
            level: The probability that the bars, or the band, hold the true answer.

        Returns:
            The Axes.
        """
        from pandas_blowfish.explain.plot import plot

        return plot(self._frame, ax=ax, level=level)

    def _opened(self) -> Opened:
        return opened(self._frame.attrs.get("blowfish"))

    def __repr__(self) -> str:
        try:
            with suppress(NotReleasedError):
                return repr(self.receipt)
            source = self._opened()
        except BlowfishError as error:
            return f"BlowfishAccessor: {error}"
        budget = source.ledger.budget(source.dataset.name)
        used = round(20 * budget.spent / budget.total)
        bar = "#" * used + "-" * (20 - used)
        lines = [f"dataset {source.dataset.name!r} in ledger {source.ledger.location}"]
        lines.append(f"budget [{bar}] spent {budget.spent} of {budget.total}, remaining {budget.remaining}")
        lines += [f"{key} {value}" for key, value in self._scope.facts().items()]
        return "\n".join([*lines, repr(source.policy)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def _only_the_question(strategy: str, post: bool, name: str | None) -> None:
    """Refuse what only a new release can be told."""
    if strategy != "auto" or post is not True or name is not None:
        raise ArgumentError(
            "strategy, post, name", "an earlier release is asked, nothing is measured", fix="leave them out"
        )


def of(frame: pd.DataFrame) -> BlowfishAccessor:
    """Return `frame.blowfish`, typed: type checkers see the plain attribute as a Series."""
    return BlowfishAccessor(frame)
