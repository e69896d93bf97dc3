"""What a release can be asked, free, as `df.blowfish` of it has it. Sees released frames only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

import pandas as pd

from pandas_blowfish.errors import ArgumentError, NotProtectedError
from pandas_blowfish.plan.clusters.centres import require_clusters
from pandas_blowfish.queries.frames import free, free_averages, free_clusters, free_tables
from pandas_blowfish.types import Bins, Bounds, Columns, Inside, Shares
from pandas_blowfish.verbs import call_error

Given = ParamSpec("Given")


def _free(question: Callable[Given, pd.DataFrame]) -> Callable[Given, pd.DataFrame]:
    """Refuse by its role, in a question to a release, what only a new release can be told."""
    signature = inspect.signature(question)

    @functools.wraps(question)
    def asked(*given: Given.args, **named: Given.kwargs) -> pd.DataFrame:
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            if "epsilon" in named or (given[1:] and not named):
                raise NotProtectedError("release") from None
            if named.keys() & {"strategy", "post", "name"}:
                problem = "an earlier release is asked, nothing is measured"
                raise ArgumentError("strategy, post, name", problem, fix="leave them out") from None
            raise call_error(question.__name__, signature, named, error) from None
        return question(*given, **named)

    return asked


class FreeQuestions:
    """More questions to a released frame: nothing is measured, nothing is spent."""

    _frame: Any

    @_free
    def hist(self, *, bins: Bins | None = None) -> pd.DataFrame:
        """Return the counts that a released `cumhist` or `hist` determines, free.

        Args:
            bins: None for the released cells, a number of bins, or a list of edges of released cells as in
                `numpy.histogram`.
        """
        return free.hist_again(self._frame, bins)

    @_free
    def cumhist(self) -> pd.DataFrame:
        """Return the cumulative counts, with `cdf`, that a released `hist` determines, free."""
        return free.cumhist_again(self._frame)

    @_free
    def quantile(self, q: Shares = 0.5, *, interpolation: Inside = "linear") -> pd.DataFrame:
        """Return the values below which shares q of the rows lie, from a released `cumhist` or `hist`, free.

        Args:
            q: A share between 0 and 1, or several; the median by default.
            interpolation: Which value of the bin it lies in: "linear", "lower", "midpoint" or "higher".
        """
        return free.quantile_again(self._frame, q, interpolation)

    @_free
    def range(self, bounds: Bounds) -> pd.DataFrame:
        """Return the counts of ranges that a released `cumhist` or `hist` determines, free.

        Args:
            bounds: (low, high) pairs of released cells, None for an end of the domain; "all" for every range.
                A date as the upper end holds its day, as in a `range` of protected rows.
        """
        return free.range_again(self._frame, bounds)

    @_free
    def median(self, *, interpolation: Inside = "linear") -> pd.DataFrame:
        """Return the median of a released `cumhist` or `hist`, by group, free.

        Args:
            interpolation: Which value of the bin it lies in: "linear", "lower", "midpoint" or "higher".
        """
        return free_averages.median_again(self._frame, interpolation)

    @_free
    def mean(self) -> pd.DataFrame:
        """Return the mean of the last column of a released `cumhist` or `hist`, by group, free.

        Counts are read at the middles of their cells; `std` is about the noise, and `interval()` also allows
        for values that lie elsewhere in their cells. Missing values are left out.
        """
        return free_averages.mean_again(self._frame)

    @_free
    def var(self, *, ddof: int = 1) -> pd.DataFrame:
        """Return the variance of the last column of a released `cumhist` or `hist`, by group, free.

        Args:
            ddof: Taken off the number of rows that it is divided by: 1, as in pandas, or 0.
        """
        return free_averages.var_again(self._frame, ddof)

    @_free
    def std(self, *, ddof: int = 1) -> pd.DataFrame:
        """Return the standard deviation of the last column of a released `cumhist` or `hist`, free.

        `value` is the deviation of the values, `std` how wrong that is.

        Args:
            ddof: Taken off the number of rows, as in `var`.
        """
        return free_averages.std_again(self._frame, ddof)

    @_free
    def value_counts(
        self, *, normalize: bool = False, sort: bool = True, ascending: bool = False, dropna: bool = True
    ) -> pd.DataFrame:
        """Return the counts of a released `hist`, `cumhist` or `marginal`, the largest first, free.

        Args:
            normalize: True for shares of each group's own total, in a column `proportion`.
            sort: False for the values in the order of the release.
            ascending: True for the smallest first.
            dropna: False to list missing values too.
        """
        flags: dict[str, Any] = {"sort": sort, "ascending": ascending, "dropna": dropna}
        return free_tables.value_counts_again(self._frame, normalize=normalize, **flags)

    @_free
    def top(self, k: int) -> pd.DataFrame:
        """Return the k values with the largest noisy counts of a released `hist` or `marginal`, free.

        They are picked by their noisy counts, so these are more often too large than too small: an interval
        holds the count of a value that was chosen beforehand.

        Args:
            k: How many, in each group.

        Returns:
            As `value_counts`, cut to k rows per group: by value, `count`, `std` (and `unshaped`).
        """
        return free_tables.top_again(self._frame, k)

    @_free
    def mode(self) -> pd.DataFrame:
        """Return the value with the largest noisy count, in each group, as `top(1)` does, free."""
        return free_tables.top_again(self._frame, 1, "mode")

    @_free
    def marginal(self, columns: Columns) -> pd.DataFrame:
        """Return the table of some columns of a released `marginal`, or `hist` of several, free.

        It is a release again: of one ordered column it answers `quantile`, `mean`, ... too.

        Args:
            columns: A name, or a list of them; groups stay outermost.
        """
        return free_tables.marginal_again(self._frame, columns)

    @_free
    def kmeans(self, k: int) -> pd.DataFrame:
        """Return another number of clusters, of what a released `kmeans` measured, free.

        How fine it was measured was planned for the number that was released.

        Args:
            k: The number of clusters.
        """
        require_clusters()
        return free_clusters.kmeans_again(self._frame, k)
