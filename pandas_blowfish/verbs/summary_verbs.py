"""Verbs that sum columns up in a few numbers: signatures and docstrings, part of `verbs.Verbs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from pandas_blowfish.types import Columns, Epsilon, Shares, Strategy

Answer = TypeVar("Answer")  # a frame; a Plan on `plan`


class SummaryVerbs(ABC, Generic[Answer]):
    """How widely values lie, how they go together, and several such questions in one charge."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Answer:
        """Answer a verb, or plan it; `given` holds its arguments, and this object, by name."""

    def var(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        ddof: int = 1,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the variance of one or several columns over the rows where they are not missing.

        Sums and squares of the values, and the row count where it is not public, are measured together. A
        value counts as itself, that of a bin as the bin's middle; `interval()` allows for that.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            ddof: What is taken off the number of rows before it divides; 0 for that of all rows.
            strategy: "auto", or "moments", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            post: True for variances that are not negative and within the bounds; False for unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, to first order, in the squared units of the column.
        """
        return self._ask("var", locals())

    def std(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        ddof: int = 1,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the standard deviation of one or several columns: the root of `var`.

        That of instants is a length of time.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            ddof: What is taken off the number of rows before it divides; 0 for that of all rows.
            strategy: "auto", or "moments", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            post: True to read 0 where noise left less; False for a missing value there.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, its own standard error to first order, in units of the column.
        """
        return self._ask("std", locals())

    def cov(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        ddof: int = 1,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the covariance of every two of some columns, and their variances.

        Each is over the rows where both columns are present.

        Args:
            columns: A list of columns, or one.
            epsilon: What the release may cost.
            ddof: What is taken off the number of rows before it divides; 0 for that of all rows.
            strategy: "auto", or "moments", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            post: True to keep to what the bounds allow; False for unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A table with a row and a column for each, as in pandas, below `value` and below `std`.
        """
        return self._ask("cov", locals())

    def corr(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the correlation of every two of some columns.

        Each is over the rows where both columns are present; that of a column with itself is 1.

        Args:
            columns: A list of columns, or one.
            epsilon: What the release may cost.
            strategy: "auto", or "moments", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            post: True to keep to [-1, 1].
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A table with a row and a column for each, as in pandas, below `value` (missing where noise left
            a variance of 0) and below `std`, to first order.
        """
        return self._ask("corr", locals())

    def describe(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        percentiles: Shares | None = None,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release count, mean, standard deviation and quantiles of some columns, in one charge.

        Count, mean and deviation are read off one measurement of all columns, the quantiles of a column off
        one more. The least and the greatest value depend on single rows: they are left out.

        Args:
            columns: A column of numbers, or a list of them; all of them by default.
            epsilon: What the release may cost.
            percentiles: The shares of the quantiles; 0.25, 0.5 and 0.75 by default.
            strategy: "auto", or "together", the one way there is.
            rows: The public number of rows. A protected frame knows it.
            post: True to keep answers within what declared bounds allow.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            Of one column `value` and `std` by `statistic`. Of several a table as in pandas, statistics by
            columns, below `value` and below `std`; by groups the statistics of one column are the columns.
        """
        return self._ask("describe", locals())

    def agg(
        self,
        functions: Mapping[str, str | Sequence[str]] | str | Sequence[str],
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release several statistics of several columns, in one charge.

        What counts, sums, means, variances and deviations need is measured together; the median of a column
        is read off one further measurement of it.

        Args:
            functions: {column: name, or names} out of "count", "size", "sum", "mean", "var", "std" and
                "median"; of selected columns a name or names alone.
            epsilon: What the release may cost.
            strategy: "auto", or "together", the one way there is.
            rows: The public number of rows. A protected frame knows it.
            post: True to keep answers within what declared bounds allow.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by group, `column` and `statistic`, with `value` and `std`.
        """
        return self._ask("agg", locals())
