"""Where a range of an ordered column begins and ends, in cells. Never sees rows.

Whole numbers, listed values and ordered categories are inclusive; float and datetime bins are
[low, high) on cell edges; None is the end of the domain.
"""

from __future__ import annotations

from typing import Any

from pandas_blowfish.errors import ArgumentError, DeclaredValueError
from pandas_blowfish.policy.attribute import Attribute, Grid


def half_open(attribute: Attribute) -> bool:
    """Tell whether ranges are [low, high) on cell edges, and not inclusive values."""
    return isinstance(attribute, Grid) and attribute.kind != "integer"


def run_of(attribute: Attribute, low: Any, high: Any) -> tuple[int, int]:
    """Return a range as the run of cells start..stop-1.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> run_of(integers("age", 0, 99), 18, None)
        (18, 100)
    """
    start = 0 if low is None else low_cell(attribute, low)
    stop = attribute.cells if high is None else high_cell(attribute, high)
    if stop <= start:
        raise ArgumentError("bounds", f"({low!r}, {high!r}) is empty or reversed", allowed="low before high")
    return start, stop


def low_cell(attribute: Attribute, value: Any) -> int:
    """Return the cell that begins at a value."""
    code = attribute.code(value)
    if isinstance(attribute, Grid) and attribute.edge(value, closed=False) != code:
        raise DeclaredValueError(
            attribute.name, f"{value!r} is not the edge of a cell", allowed=attribute.describe()
        )
    return code


def high_cell(attribute: Attribute, value: Any) -> int:
    """Return one past the cell that ends at a value."""
    if not half_open(attribute):
        code = attribute.code(value)
        if isinstance(attribute, Grid) and not attribute.single and code + 1 < attribute.cells:
            attribute.edge(attribute.place(value) + 1)  # the last whole number of its cell
        return code + 1
    assert isinstance(attribute, Grid)
    steps = (attribute.place(value) - attribute.low) / attribute.step
    if steps.denominator != 1 or not 0 <= steps <= attribute.cells:
        raise DeclaredValueError(
            attribute.name,
            f"{value!r} is not the edge of a cell",
            allowed=f"{attribute.describe()}, on edges",
        )
    return int(steps)
