"""df.blowfish: reads arguments, delegates. No maths, no state, and no row is touched here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Self

import pandas as pd

from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.errors import FrameError
from pandas_blowfish.explain.glance import frame_html, frame_text
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.frames.protect import Opened, opened, protect
from pandas_blowfish.queries.kmeans import assign
from pandas_blowfish.queries.planner import Planner
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.release import Receipt, interval, receipt_of
from pandas_blowfish.types import Columns, Epsilon, Number
from pandas_blowfish.verbs import Verbs


@pd.api.extensions.register_dataframe_accessor("blowfish")
class BlowfishAccessor(Verbs):
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
        epsilon: Epsilon,
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
        marked: pd.DataFrame = protect(
            self._frame, policy, epsilon=epsilon, dataset=dataset, ledger=ledger, outside=outside, unit=unit
        )
        return marked

    def where(self, expression: str) -> Self:
        """Ask the verbs that follow about the rows that satisfy an expression.

        The row count of the answer is public only if no secret can lead a row in or out.

        Args:
            expression: A column against constants, chained comparisons, `in`, `and`, `or`, `not`;
                `@name` is a variable, backticks quote a column's name. It is parsed, never evaluated;
                constants lie on cell edges; a missing value satisfies nothing. Chained ones all hold.
        """
        caller = sys._getframe(1)
        variables = {**caller.f_globals, **caller.f_locals}
        return self._within(self._scope.where(self.policy, expression, variables))

    def groupby(self, columns: Columns) -> Self:
        """Ask the verbs that follow once for each combination of some columns' values, in one release.

        Args:
            columns: One column or several; every declared combination is a group, in schema order.
        """
        return self._within(self._scope.groupby(self.policy, columns))

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        source = self._opened()
        rows = source.dataset.binding["rows"] if source.policy.rows_public else None
        return Planner(source.policy, self._scope, rows)

    @property
    def policy(self) -> Policy:
        """Return the policy this frame is protected by."""
        return self._opened().policy

    @property
    def budget(self) -> Budget:
        """Return total, spent and remaining epsilon, as exact fractions, and why it is closed if it is."""
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

    def interval(self, level: Number = 0.95) -> pd.DataFrame:
        """Return `low` and `high` for each count, value or size of a released frame.

        Args:
            level: The probability with which each pair, by itself, holds the true answer.
        """
        return interval(self._frame, level)

    def assign(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Return for each row of a frame the number of the nearest centre of a released `kmeans`, free.

        What comes back is about each row: it is no release, and as private as the rows are.

        Args:
            frame: Any rows, protected or not, that have the coordinates as numbers; of centres by group also
                the columns grouped by, whose values pick the group (missing ones theirs, if it was released).

        Returns:
            A Series `cluster` of Int64, missing where a coordinate is, or the group has no centres.
        """
        return assign(self._frame, frame)

    def plot(self, *, ax: Any = None, level: Number = 0.95, columns: Columns | None = None) -> Any:
        """Draw a released frame: error bars, bands of cumulative counts, heat maps of two columns, clusters.

        Args:
            ax: The matplotlib Axes to draw on; None for new ones.
            level: The probability that the bars, or the band, hold the true answer.
            columns: What to draw of it. Of a `kmeans`: one or two coordinates. Of counts of two columns (a
                heat map): both, the one along the bottom first. Of a `sum` or `mean`: some columns.

        Returns:
            The Axes.
        """
        from pandas_blowfish.explain.release.plot import plot

        return plot(self._frame, ax=ax, level=level, columns=columns)

    def report(self, path: Any, *, releases: Any = ()) -> Path:
        """Write one page for the privacy officer: the promise, the budget, every release, the ledger checked.

        Named releases are read back from the ledger, free; others are shown by their entry alone, unless they
        are given. Nothing is spent, and no row is read.

        Args:
            path: Where to; ends in .html.
            releases: Released frames to show too, each compared with the ledger.

        Returns:
            The file written.
        """
        from pandas_blowfish.explain.report.account import account
        from pandas_blowfish.explain.report.page import page_path, write_page

        source, target = self._opened(), page_path(path)
        return write_page(account(source.ledger, source.dataset.name, of, releases), target)

    def _within(self, scope: Scope) -> Self:
        return type(self)(self._frame, scope)

    def _opened(self) -> Opened:
        return opened(self._frame.attrs.get("blowfish"))

    def __repr__(self) -> str:
        return frame_text(self._frame.attrs.get("blowfish"), self._scope)

    def _repr_html_(self) -> str:
        return frame_html(self._frame.attrs.get("blowfish"), self._scope)


def of(frame: pd.DataFrame) -> BlowfishAccessor:
    """Return `frame.blowfish`, typed: type checkers see the plain attribute as a Series."""
    return BlowfishAccessor(frame)
