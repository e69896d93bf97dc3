"""What all strategies along lines share: sums of atoms on every line, then exact totals. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LONG, LineGraph
from pandas_blowfish.plan.loss import MANY, WorstCase
from pandas_blowfish.plan.protocol import OneTable
from pandas_blowfish.plan.query_rows import exact_rows, exact_totals, row_matrix, sparse_from
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.line.question import Spans
    from pandas_blowfish.plan.shape.solved import Solved

Entry = tuple[Ints, Ints, Ints]  # column, query row and value of entries of a sparse matrix
End = tuple[Ints, Ints, Ints, Ints]  # column, first query row of the line, atom and sign of counted records


class LineStrategy(OneTable, ABC):
    """The same query rows on every line, then the totals of parts of lines that no edge changes.

    Attributes:
        asked: The questions.
        line: The axis and what edges do on it.
        epsilon: What may be lost.
    """

    asked: Spans
    line: LineGraph
    epsilon: Fraction

    @property
    @abstractmethod
    def parts(self) -> tuple[Ints, ExactParts]:
        """Return the part of its line that each atom belongs to, and which totals of parts are exact."""

    @property
    @abstractmethod
    def line_scales(self) -> Scales:
        """Return the noise scales of the query rows of one line."""

    @property
    @abstractmethod
    def nonzeros(self) -> int:
        """Return how many atoms the query rows of one line count, each as often as it is counted."""

    @abstractmethod
    def sum_atoms(self, by_line: Ints) -> Ints:
        """Return the query rows of each line from its counts: lines x atoms to lines x rows."""

    @abstractmethod
    def entries(self, ends: Sequence[End]) -> Iterable[Entry]:
        """Return the entries of the query rows that count some atoms."""

    @abstractmethod
    def estimate(self, noisy: NDArray[Any], exact: Floats) -> Floats:
        """Return the cumulative counts, lines x (size + 1), from noisy query rows and exact totals.

        Args:
            noisy: The query rows, lines x rows.
            exact: The exact totals: of single parts, then of those that several parts share.
        """

    @abstractmethod
    def range_variances(self, asked: Spans) -> Floats:
        """Return the variance of each answer to some questions about these lines."""

    @property
    @abstractmethod
    def mean_range_variance(self) -> float:
        """Return the mean variance of the answers where every range is asked for."""

    @property
    def is_in_runs(self) -> bool:
        """Return whether the parts with exact totals are runs of atoms."""
        return True

    @property
    def is_even(self) -> bool:
        """Return whether all cumulative counts of a line count the same when they are shaped."""
        return True

    @property
    def tally(self) -> Tally:
        """Return what is counted."""
        return self.asked.tally

    @property
    def index(self) -> pd.Index[Any]:
        return self.asked.index

    @cached_property
    def scales(self) -> Scales:
        one, (_, exact) = self.line_scales, self.parts
        free = np.full(int(exact.alone.sum()) + exact.totals, len(one.values), dtype=one.codes.dtype)
        codes = np.concatenate([np.tile(one.codes, self.line.groups), free])
        return Scales([*one.values, Fraction(0)], codes)

    @cached_property
    def variances(self) -> Floats:
        return self.range_variances(self.asked)

    @cached_property
    def mse(self) -> float:
        return self.mean_range_variance if self.asked.kind == "all" else float(self.variances.mean())

    def apply(self, counts: Ints) -> Ints:
        by_line = counts.reshape(self.line.groups, -1)
        return np.concatenate([self.sum_atoms(by_line).ravel(), exact_totals(by_line, *self.parts)])

    def columns(self, cells: Cells) -> Any:
        bins = self.tally.bins_at(cells)
        return self.add_columns([(np.arange(len(bins)), bins, 1)], len(bins))

    def changes(self, before: Cells, after: Cells) -> Any:
        one, two = (self.tally.bins_at(cells) for cells in (before, after))
        edges = np.arange(len(before))
        return self.add_columns([(edges, one, -1), (edges, two, 1)], len(before))

    def add_columns(
        self, ends: Sequence[tuple[Ints, Ints, int]], many: int, more: Iterable[Entry] = ()
    ) -> Any:
        """Return sums of the columns of some bins, and more entries, as a matrix of `many` columns.

        Args:
            ends: The column that each of some bins (-1 for none) is added to, and with which sign.
            many: How many columns there are.
            more: Other entries.
        """
        rows, (part_of, exact) = len(self.line_scales), self.parts
        counted: list[End] = []
        totals: list[Entry] = []
        for column, bins, sign in ends:
            at, signs = column[bins >= 0], np.full(int((bins >= 0).sum()), sign)
            group, atom = np.divmod(bins[bins >= 0], self.line.size)
            part = group * (int(part_of.max(initial=-1)) + 1) + part_of[atom]
            totals.append((at, exact_rows(part, exact, self.line.groups * rows), signs))
            counted.append((at, group * rows, atom, signs))
        return sparse_from([*self.entries(counted), *totals, *more], (len(self.scales), many))

    def positions(self, values: Ints) -> Floats:
        """Return the best cumulative counts, lines x (size + 1), that measured values lead to."""
        rows = self.line.groups * len(self.line_scales)
        return self.estimate(values[:rows].reshape(self.line.groups, -1), values[rows:].astype(np.float64))

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        from pandas_blowfish.plan.line.solve import solve_lines  # here: planning does not need it

        return solve_lines(self, values, post, known)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        return WorstCase(None, MANY) if self.domain.size > LONG else super().worst_case(graph)

    def matrix(self) -> Any:
        return row_matrix(self.tally, self.sum_atoms, *self.parts, self.nonzeros)
