"""The verbs that pandas users type first, declared once: `value_counts`, `size`, `median`, `crosstab`, ...

Most are another spelling, or layout, of one that `verbs` declares: same plan, same cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from pandas_blowfish.types import Bins, Columns, Epsilon, Inside, Strategy

Answer = TypeVar("Answer")  # a frame; a Plan on `plan`
Answers = TypeVar("Answers")  # several tables at once: a dict of frames; a Plan on `plan`


class PandasVerbs(ABC, Generic[Answer, Answers]):
    """Verbs under the names and with the arguments that they have in pandas."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Answer:
        """Answer a verb, or plan it; `given` holds its arguments, and this object, by name."""

    def value_counts(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        bins: Bins | None = None,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows have each value, the most frequent first: a `hist`, sorted.

        Args:
            columns: A column, or a list of them; every declared value is counted, also those without rows.
            epsilon: What the release may cost.
            normalize: True for shares of the rows that are listed, of each group by itself.
            sort: True to order by the released count, inside groups; False for the order of the schema.
            ascending: True for the least frequent first.
            dropna: True to leave rows with a missing value out of the table.
            bins: Coarser bins, as `hist` takes them.
            strategy: "auto", or the name of what to measure.
            post: True for non-negative counts consistent with what is exact; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `count` (`proportion` if `normalize`), `std` and `unshaped`, as `hist` returns it.
        """
        return self._ask("value_counts", locals())

    def size(
        self,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows are in each group: `count`, as `groupby(...).size()` in pandas.

        Args:
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure.
            post: True for counts that are not negative and agree with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame of one row, or one per group, with `count` and `std`.
        """
        return self._ask("size", locals())

    def median(
        self,
        column: str | None = None,
        *,
        epsilon: Epsilon,
        interpolation: Inside = "linear",
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the value below which half of the rows lie: `quantile` of 0.5, one row per group.

        Args:
            column: A column of numbers, datetimes or ordered categories.
            epsilon: What the release may cost.
            interpolation: Which value of the bin it lies in: "linear", "lower", "midpoint" or "higher".
            strategy: "auto", "select" or the name of what to measure, as for `quantile`.
            post: True to read it off counts that never fall.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame of one row, or one per group, with `value` and `std`, as `quantile` returns them.
        """
        return self._ask("median", locals())

    def crosstab(
        self,
        index: Columns,
        columns: Columns,
        *,
        epsilon: Epsilon,
        normalize: bool | str = False,
        dropna: bool = True,
        bins: Bins | None = None,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release a table of how many rows have each pair of values: the `hist` of both, laid out wide.

        Args:
            index: The column, or columns, whose values are the rows of the table.
            columns: The column whose values are its columns; of several the last, the others are rows.
            epsilon: What the release may cost.
            normalize: True or "all" for shares of all rows listed, "index" for shares of each row of the
                table, "columns" for shares of each of its columns.
            dropna: True to leave rows with a missing value out of the table.
            bins: Coarser bins, as `hist` takes them: a dict by column.
            strategy: "auto", or the name of what to measure.
            post: True for non-negative counts consistent with what is exact; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame whose columns have two levels: `table["count"]` is what `pd.crosstab` returns
            (`table["proportion"]` if `normalize`), `table["std"]` has the standard errors.
        """
        return self._ask("crosstab", locals())

    def mode(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        dropna: bool = True,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the most frequent value of a column, or combination of values of several.

        Args:
            columns: A column, or a list of them.
            epsilon: What the release may cost.
            dropna: True to leave rows out in which a column is missing.
            strategy: "auto", "select" or "counts", as for `top`.
            post: True for a count that is not negative.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame as `top` returns, with one row, or one per group.
        """
        return self._ask("mode", locals())

    def top(
        self,
        k: int,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        dropna: bool = True,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the k most frequent values of a column, or combinations of values of several.

        Args:
            k: How many, in each group.
            columns: A column, or a list of them.
            epsilon: What the release may cost.
            dropna: True to leave rows out in which a column is missing.
            strategy: "select" releases picks and no count; "counts" every value's count with noise, the
                largest of which are listed; "auto" what misses fewer rows: "select" for one value.
            post: True for counts that are not negative.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by `rank` (groups outermost) with the values by column; by "counts" also `count`, `std`,
            `unshaped`. The receipt's `accuracy` states how far off they may be.
        """
        return self._ask("top", locals())
