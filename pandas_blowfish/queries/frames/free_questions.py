"""What a release can be asked, free, as `df.blowfish` of it has it. Sees released frames only."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pandas_blowfish.queries.frames import free, free_averages, free_clusters, free_tables
from pandas_blowfish.types import Bins, Bounds, Columns, Inside, Shares
from pandas_blowfish.verbs.arguments import check_free_call


class FreeQuestions:
    """More questions to a released frame: nothing is measured, nothing is spent."""

    _frame: Any

    @check_free_call
    def hist(self, *, bins: Bins | None = None) -> pd.DataFrame:
        """Return the counts that a released `cumhist` or `hist` determines, free.

        Args:
            bins: None for the released cells, a number of bins, a list of edges of released cells as in
                `numpy.histogram` (None: an open end), intervals, or a frequency of instants such as "MS".
        """
        return free.hist_again(self._frame, bins)

    @check_free_call
    def cumhist(self) -> pd.DataFrame:
        """Return the cumulative counts, with `cdf`, that a released `hist` determines, free."""
        return free.cumhist_again(self._frame)

    @check_free_call
    def quantile(self, q: Shares = 0.5, *, interpolation: Inside = "linear") -> pd.DataFrame:
        """Return the values below which shares q of the rows lie, from a released `cumhist` or `hist`, free.

        Args:
            q: A share between 0 and 1, or several; the median by default.
            interpolation: Which value of the bin it lies in: "linear", "lower", "midpoint" or "higher".
        """
        return free.quantile_again(self._frame, q, interpolation)

    @check_free_call
    def range(self, bounds: Bounds) -> pd.DataFrame:
        """Return the counts of ranges that a released `cumhist` or `hist` determines, free.

        Args:
            bounds: (low, high) pairs of released cells, None for an end of the domain; "all" for every range.
                A date as the upper end holds its day, as in a `range` of protected rows.
        """
        return free.range_again(self._frame, bounds)

    @check_free_call
    def median(self, *, interpolation: Inside = "linear") -> pd.DataFrame:
        """Return the median of a released `cumhist` or `hist`, by group, free.

        Args:
            interpolation: Which value of the bin it lies in: "linear", "lower", "midpoint" or "higher".
        """
        return free_averages.median_again(self._frame, interpolation)

    @check_free_call
    def mean(self) -> pd.DataFrame:
        """Return the mean of the last column of a released `cumhist` or `hist`, by group, free.

        Counts are read at the middles of their cells; `std` is about the noise, and `interval()` also allows
        for values that lie elsewhere in their cells. Missing values are left out.
        """
        return free_averages.mean_again(self._frame)

    @check_free_call
    def var(self, *, ddof: int = 1) -> pd.DataFrame:
        """Return the variance of the last column of a released `cumhist` or `hist`, by group, free.

        Args:
            ddof: Taken off the number of rows that it is divided by: 1, as in pandas, or 0.
        """
        return free_averages.var_again(self._frame, ddof)

    @check_free_call
    def std(self, *, ddof: int = 1) -> pd.DataFrame:
        """Return the standard deviation of the last column of a released `cumhist` or `hist`, free.

        `value` is the deviation of the values, `std` how wrong that is.

        Args:
            ddof: Taken off the number of rows, as in `var`.
        """
        return free_averages.std_again(self._frame, ddof)

    @check_free_call
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

    @check_free_call
    def top(self, k: int) -> pd.DataFrame:
        """Return the k values with the largest noisy counts of a released `hist` or `marginal`, free.

        They are picked by their noisy counts, so these are more often too large than too small; intervals are
        so wide that those of all values of a group hold at once.

        Args:
            k: How many, in each group.

        Returns:
            As `value_counts`, cut to k rows per group: by value, `count`, `std` (and `unshaped`).
        """
        return free_tables.top_again(self._frame, k)

    @check_free_call
    def mode(self) -> pd.DataFrame:
        """Return the value with the largest noisy count, in each group, as `top(1)` does, free."""
        return free_tables.top_again(self._frame, 1, "mode")

    @check_free_call
    def marginal(self, columns: Columns) -> pd.DataFrame:
        """Return the table of some columns of a released `marginal`, or `hist` of several, free.

        It is a release again: of one ordered column it answers `quantile`, `mean`, ... too.

        Args:
            columns: A name, or a list of them; groups stay outermost.
        """
        return free_tables.marginal_again(self._frame, columns)

    @check_free_call
    def kmeans(self, k: int) -> pd.DataFrame:
        """Return another number of clusters, of what a released `kmeans` measured, free.

        How fine it was measured was planned for the number that was released.

        Args:
            k: The number of clusters.
        """
        return free_clusters.kmeans_again(self._frame, k)
