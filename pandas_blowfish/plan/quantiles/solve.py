"""From picks to places along lines. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.quantiles.line_cells import LineCells
from pandas_blowfish.plan.shape.solved import Solved

WRONG = "these are not the values of this measurement"


@dataclass(frozen=True, eq=False)
class Placed(Solved):
    """The cells that quantiles were picked in.

    Attributes:
        cells: Which cell of its line each is in, lines x quantiles; -1 on lines that can hold no row.
        inside: How far inside, 0 to 1.
    """

    cells: Ints = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    inside: Floats = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Marks:
    """Where quantiles were picked: live lines x quantiles, then two columns for the ends of the lines.

    Attributes:
        cells: The place among the candidates of the line.
        inside: How far inside the cell, in parts of `unit`.
        unit: Parts of a cell.
    """

    cells: Ints
    inside: Ints
    unit: int

    @classmethod
    def empty(cls, lines: LineCells, many: int, unit: int) -> Marks:
        """Return marks of lines before anything was picked."""
        cells, inside = (np.zeros((len(lines.live), many + 2), dtype=np.int64) for _ in range(2))
        cells[:, -1], inside[:, -1] = lines.sizes - 1, unit
        return cls(cells, inside, unit)

    def ends(self, low: Ints, high: Ints) -> tuple[Any, Any, Any, Any]:
        """Return cells and parts where runs begin and end, line after line; -1 for the ends of the line."""
        many = self.cells.shape[1] - 2
        low, high = np.where(low < 0, many, low), np.where(high < 0, many + 1, high)
        found = (self.cells[:, low], self.inside[:, low], self.cells[:, high], self.inside[:, high])
        return tuple(each.ravel() for each in found)  # type: ignore[return-value]

    def add(self, at: Ints, cells: Ints, inside: Ints) -> Marks:
        """Return the marks with further quantiles."""
        new = [self.cells.copy(), self.inside.copy()]
        for table, each in zip(new, (cells, inside), strict=True):
            table[:, at] = each.reshape(len(table), len(at))
        return Marks(new[0], new[1], self.unit)


def solve_marks(lines: LineCells, marks: Marks, order: Ints) -> Placed:
    """Return the places of quantiles as they were asked for; where picks are out of order they are sorted.

    Args:
        lines: The candidates.
        marks: Where each quantile was picked.
        order: The number of each quantile that was asked for, among these.
    """
    places = np.sort(marks.cells[:, :-2] * marks.unit + marks.inside[:, :-2], axis=1)[:, order]
    places = np.minimum(places, (lines.sizes * marks.unit)[:, None] - 1)
    found, inside = np.divmod(places, marks.unit)
    cells = np.full((lines.many, len(order)), -1, dtype=np.int64)
    parts = np.full(cells.shape, np.nan)
    cells[lines.live] = lines.bins[lines.first[:, None] + found] % lines.atoms
    parts[lines.live] = inside / marks.unit
    shown = np.where(cells < 0, np.nan, cells).ravel()
    return Placed(shown, shown, cells=cells, inside=parts)


def read_picks(values: Ints, begins: Ints, sizes: Ints, parts: int) -> tuple[Ints, Ints]:
    """Return the query row and the part that each choice picked, or raise where these are no picks."""
    rows, part = np.divmod(values, parts)
    if len(values) != len(begins) or (rows < begins).any() or (rows >= begins + sizes).any():
        raise ArgumentError("values", WRONG)
    return rows, part
