"""Every verb declared once: signatures and docstrings of `df.blowfish`, its views, other engines and `plan`.

`accessor.Protected` answers them from rows, `queries.call.planner.Planner` plans them without.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.types import Bins, Bounds, Clip, Columns, Epsilon, Inside, Number, Shares, Strategy
from pandas_blowfish.verbs.arguments import check_call
from pandas_blowfish.verbs.pandas_names import name_error
from pandas_blowfish.verbs.pandas_verbs import Answer, Answers, PandasVerbs
from pandas_blowfish.verbs.summary_verbs import SummaryVerbs


class Verbs(PandasVerbs[Answer, Answers], SummaryVerbs[Answer]):
    """What can be asked about rows: of a protected frame, which answers, or of `plan`, which only plans.

    On `plan` epsilon is 1 unless stated, `post` and `name` change nothing, and what comes back is a `Plan`
    (under a weaker promise an `WeakerPlan`, which reads alike): a call can be copied from one to the other.
    """

    @abstractmethod
    def _narrow(self, step: str, *given: Any) -> Self:
        """Return the same verbs about fewer rows, or by group, or about some columns."""

    @abstractmethod
    def _expects_column(self, first: Any) -> bool:
        """Return whether the first argument of a verb names its columns, or whether these are selected."""

    __iter__ = None  # columns are selected by name, not listed

    def __getitem__(self, columns: Columns) -> Self:
        """Select columns: the verbs that follow are about these and need not name them.

        Args:
            columns: A column, as in `df.blowfish["age"].mean(epsilon=0.1)`, or a list of them.
        """
        return self._narrow("select", columns)

    if not TYPE_CHECKING:  # to a type checker there is nothing else

        def __getattr__(self, name: str) -> Any:
            """Say what to use here instead of a name of pandas, or which verb was meant."""
            raise name_error(self, name)

    @check_call
    def where(self, expression: str) -> Self:
        """Ask the verbs that follow about the rows that satisfy an expression.

        The row count of the answer is public only if no secret can lead a row in or out.

        Args:
            expression: A column against constants, chained comparisons, `in`, `between ... and ...`, `and`,
                `or`, `not`, & | ~; `.isin`, `.between`, `.startswith`, `.endswith`; `@name` is a variable,
                backticks quote a column's name. It is parsed, never evaluated; constants lie on cell edges,
                instants are read in the column's time zone. A missing value satisfies `age is missing`
                (or `.isna()`) alone, and no comparison. Chained ones all hold.
        """
        caller = sys._getframe(2)  # beyond the check of the call
        return self._narrow("where", expression, {**caller.f_globals, **caller.f_locals})

    @check_call
    def groupby(self, columns: Columns, bins: Bins | None = None) -> Self:
        """Ask the verbs that follow once for each combination of some columns' values, in one release.

        Args:
            columns: One column or several; every declared combination is a group, in schema order.
            bins: Groups of several values, as in `hist`: a number, edges, intervals, a frequency of instants
                or {"name": [values]}; for several columns a dict by column. Rows in no bin are left out.
        """
        return self._narrow("groupby", columns, bins)

    def hist(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        bins: Bins | None = None,
        strategy: Strategy = "auto",
        prior: Shares | Mapping[Any, Any] | None = None,
        alpha: Epsilon | None = None,
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows lie in each cell of one or several columns.

        Args:
            columns: A column, or a list of them: the index lists their full declared domain.
            epsilon: What the release may cost.
            bins: Coarser bins on cell edges: a number, a list of edges as in `numpy.histogram` (None for an
                end of the domain), intervals, a frequency of instants such as "MS", or
                {"name": [values], ...}; for several columns a dict of those by column.
            strategy: "auto", or the name of what to measure. "single_prior" and "hedging" keep a weaker
                promise than the policy's, which the receipt states in words; the ledger keeps their one
                release per dataset separate from the budget.
            prior: For these: the share of rows that everybody expects in each bin; a list, dict or Series.
            alpha: For "hedging": the weight that everybody gives the prior at least, 0.001 by default.
            rows: For these, on `plan`: the number of rows. A protected frame knows it.
            post: True for non-negative counts consistent with the public row count and with totals
                the policy leaves exact; False for the unbiased answers.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `count`, `std` and, unless `post` is False, `unshaped`: the unbiased estimate that
            the count was shaped from, whose standard error `std` is. Its receipt is in `attrs["blowfish"]`
            and at `.blowfish.receipt`. `exact` too, where counts may be exact.
        """
        return self._ask("hist", locals())

    def cumhist(
        self,
        column: str | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows lie at or below each value of an ordered column.

        Rows with a missing value are left out.

        Args:
            column: A column of numbers, datetimes or ordered categories.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure: prefix sums, trees, wavelets.
            post: True for counts that never fall and agree with what is exact; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by value with `count` (never falling, ending at the row count where that is public),
            `std`, `cdf`, the share of the release's own total, and `unshaped`, the unbiased estimate.
        """
        return self._ask("cumhist", locals())

    def quantile(
        self,
        column: str | Shares | None = None,
        q: Shares = 0.5,
        *,
        epsilon: Epsilon,
        interpolation: Inside = "linear",
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the values below which shares q of the rows lie; 0.5, the median, by default.

        Args:
            column: A column of numbers, datetimes or ordered categories.
            q: A share between 0 and 1, or several.
            epsilon: What the release may cost.
            interpolation: Which value of the bin it lies in: "linear" as if rows were spread evenly, "lower"
                where values are multiples of the step, "midpoint" or "higher".
            strategy: "select" picks cells by their rank and releases nothing else, so that intervals are not
                known; the names of `cumhist` read quantiles off noisy counts; "auto" picks where that is
                expected to be at least twice as near.
            post: True to read the shares off counts that never fall; False off the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by q with `value` (that of the first cell reaching q, linear inside bins) and `std`: how
            far it moves when the cumulative count there is off by its standard error, and where in its bin
            it may be. `interval()` holds the whole bin. Of picked values `std` is not known; the receipt
            states how many rows may lie between each and its quantile.
        """
        return self._ask("quantile", locals())

    def range(
        self,
        columns: Columns | Bounds | None = None,
        bounds: Bounds | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows lie in each of some ranges of an ordered column, or boxes of several.

        Args:
            columns: The column, or a list of columns: each box then has one pair per column, in that order.
            bounds: (low, high) pairs: inclusive values for whole numbers and ordered categories, [low,
                high) on cell edges for bins of floats and datetimes, where a date as the upper end holds its
                day ("2013-12-31" ends with that day, a Timestamp before itself); None is the end of the
                domain; "all" asks for every range.
            epsilon: What the release may cost.
            strategy: "auto", or the name of what to measure.
            post: True for counts that agree with each other and with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by range, or by the sides of the boxes, with `count` and `std`.
        """
        return self._ask("range", locals())

    @overload
    def marginal(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        order: None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> Answer: ...

    @overload
    def marginal(
        self,
        columns: Columns | Sequence[Columns] | None = None,
        *,
        epsilon: Epsilon,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> Answers: ...

    def marginal(
        self,
        columns: Columns | Sequence[Columns] | None = None,
        *,
        epsilon: Epsilon,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> Answer | Answers:
        """Release tables of counts over one or several sets of columns, in one charge.

        Args:
            columns: A list of columns: one table, as a frame. A list of such lists: a dict of frames that
                agree with each other on every shared part, each found by its columns in any order.
            epsilon: What the release may cost.
            order: Asks for all tables of that many of the columns.
            strategy: "auto" finds the tables to measure and their noise that make the mean squared error over
                all counts least; "even" measures just those asked for, all alike; "joint" one over all;
                "residual" tables whose counts have a noise each, "shared" tables that draw it together.
            post: True (or "nonnegative") for tables that agree and are not negative, which lifts empty
                cells a little; "signed" for several that agree and may be negative; False for unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.
        """
        return self._ask("marginal", locals())

    def workload(
        self,
        matrix: Any,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
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
        return self._ask("workload", locals())

    def count(
        self,
        *,
        epsilon: Epsilon,
        units: bool = False,
        strategy: Strategy = "auto",
        scenario: Scenario | None = None,
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release how many rows there are, or pass the filter, or are in each group.

        Exact and free where the policy lets no row be led in or out.

        Args:
            epsilon: What the release may cost.
            units: Count people, named by the `unit` column, with at least one row that passes, instead of
                rows: one person changes it by at most 1, however many rows they have. Not by groups.
            strategy: "auto", or the name of what to measure. "wasserstein" sizes the noise by a scenario,
                a weaker promise than the policy's, which the ledger keeps separate from the budget.
            scenario: For that: the tables that are possible, what is believed of them, and what is secret.
            rows: For that, on `plan`: the number of rows. A protected frame knows it.
            post: True for a count that is not negative and agrees with what is exact.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame of one row, or one per group, with `count` and `std`.
        """
        return self._ask("count", locals())

    def sum(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        clip: Clip | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release what the values of one or several columns add up to, missing ones left out.

        A value counts as itself, that of a bin as the bin's middle; True counts 1. A column without bounds
        may be summed where its secret is a threshold and no secret leads a row out of the filter or group.
        Columns that one record can change at once have their noise drawn together: ask for them in one call.
        `std` is that of the noise; `interval()` allows for middles too, for all rows the sum can be of.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            rows: The public number of rows; it changes nothing here.
            clip: "auto" where declared bounds are far too wide: a quarter of epsilon finds narrower ones, and
                values beyond count as these, which makes the noise smaller and may bias the answer; bounds
                that you state, (low, high), do so at once. None adds up values as they are.
            post: True to keep sums within what the declared bounds allow; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, in the column's own units, by group and column; with
            `clip="auto"` also `clip_low`, `clip_high` and `outside`, the noisy share of rows beyond them.
        """
        return self._ask("sum", locals())

    def mean(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        clip: Clip | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the mean of one or several columns over the rows where they are not missing.

        The sum is divided by the row count where that is public, else by a noisy one that is part of the
        same release. The mean of instants is one, and its error a time span.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            clip: "auto" where declared bounds are far too wide: a quarter of epsilon finds narrower ones, and
                values beyond count as these, which makes the noise smaller and may bias the answer; bounds
                that you state, (low, high), do so at once. None adds up values as they are.
            post: True to keep means within the declared bounds.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` (missing where there are surely no rows) and `std`, by group and column;
            with `clip="auto"` also `clip_low`, `clip_high` and `outside`, the noisy share of rows beyond.

        Examples:
            >>> import numpy as np, pandas as pd, pandera.pandas as pa
            >>> import pandas_blowfish as bf
            >>> pay = pa.Column(int, pa.Check.in_range(0, 1_000_000), metadata=bf.full())
            >>> rows = pd.DataFrame({"pay": np.repeat([1_000, 3_000], 10_000)})
            >>> df = rows.blowfish.protect(bf.Policy(pa.DataFrameSchema({"pay": pay})), epsilon=2)
            >>> found = df.blowfish.mean("pay", epsilon=1, clip="auto")
            >>> float(found["clip_high"].iloc[0]), bool(abs(found["value"].iloc[0] - 2_000) < 10)
            (4096.0, True)
            >>> bool(found["std"].iloc[0] < df.blowfish.plan.mean("pay", epsilon=1).std[0] / 100)
            True
        """
        return self._ask("mean", locals())

    def logsum(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release what the natural logarithms of one or several columns add up to.

        The columns have a relative error for a secret, and no bounds: what one row changes is then a matter
        of factors. A logarithm counts as the middle of its cell; `interval()` allows for that.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            rows: The public number of rows; it changes nothing here.
            post: Nothing, as there are no bounds to keep to.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` and `std`, in natural logarithms, by group and column.
        """
        return self._ask("logsum", locals())

    def geomean(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
        """Release the geometric mean of one or several columns: exp of the mean of their logarithms.

        The columns have a relative error for a secret, and no bounds, as for `logsum`. `interval()` is that
        of the mean of logarithms, so it reaches farther up than down.

        Args:
            columns: A column, or a list of them: then the index has an innermost level `column`.
            epsilon: What the release may cost.
            strategy: "auto", or "total", the one way there is.
            rows: The public number of rows, on which the error depends. A protected frame knows it.
            post: Nothing, as there are no bounds to keep to.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame with `value` (missing where there are surely no rows) and `std`, to first order, in the
            column's own units, by group and column.
        """
        return self._ask("geomean", locals())

    def kmeans(
        self,
        columns: Columns | int | None = None,
        k: int | None = None,
        *,
        epsilon: Epsilon,
        strategy: Strategy = "auto",
        scale: bool | Mapping[str, Number] = True,
        rows: int | None = None,
        post: bool = True,
        name: str | None = None,
    ) -> Answer:
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
                measure it first, at a twentieth of epsilon (the plan then says "counted"). A policy's own
                `plan` takes 10,000 for None.
            post: True for sizes of non-negative counts that add up; False for the unbiased ones.
            name: Keeps the noisy answer: the same query under the same name is free ever after.

        Returns:
            A frame by cluster (groups outermost), the largest first: a column per coordinate in its own
            units, `size`, and `std`, what noise alone may change the size by. `assign(frame)`, `plot()` are
            free.
        """
        return self._ask("kmeans", locals())
