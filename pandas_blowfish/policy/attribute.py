"""One declared column: its values as cells, what they are called, and where a range begins and ends.

In a range whole numbers, listed values and ordered categories are inclusive; float and datetime bins are
[low, high) on cell edges; None is the end of the domain. In the verb `range` a date as the upper end holds
its day: "2013-12-31" ends with that day, "2013-12" with that month, a Timestamp before itself. No rows here.
"""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import (
    ArgumentError,
    DeclaredValueError,
    UnboundedColumnError,
)
from pandas_blowfish.exact.instant import (
    DAY_NS,
    constant_ns,
    date_end,
    from_ns,
    span_text,
    stamp_index,
    to_ns,
)
from pandas_blowfish.exact.logarithm import log_cell
from pandas_blowfish.exact.number import exact, number

MAX_CELLS = 10**8  # of one column; more are declared and encoded, but not counted


@dataclass(frozen=True)
class Attribute(ABC):
    """A column and its cells 0..cells-1, in schema order; a nullable one has a missing cell, last."""

    name: str
    kind: str  # integer, float, datetime, bool, category, string
    nullable: bool

    bounded: ClassVar[bool] = True

    @property
    @abstractmethod
    def cells(self) -> int:
        """Return how many cells hold values."""

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Return whether cell order means something."""

    @property
    def size(self) -> int:
        """Return how many cells there are, the missing one included."""
        return self.cells + self.nullable

    @abstractmethod
    def labels(self) -> pd.Index[Any]:
        """Return the names of the value cells, as they index a result."""

    @abstractmethod
    def code(self, value: object) -> int:
        """Return the cell of a declared constant, or raise DeclaredValueError."""

    @abstractmethod
    def edge(self, value: object, *, closed: bool = True) -> int:
        """Return i when `value` is where cell i begins (`cells` for the end), or raise.

        Args:
            value: A constant; beyond the domain it is clipped to its ends.
            closed: Whether the largest value of bins stands for the end, as in `numpy.histogram`.
        """

    @abstractmethod
    def name_runs(self, starts: Sequence[int], stops: Sequence[int]) -> pd.Index[Any]:
        """Return the names of runs of cells start..stop-1."""

    @abstractmethod
    def describe(self) -> str:
        """Return the declared values in a few words, for messages."""

    def cell(self, value: object) -> int:
        """Return the cell of a constant, None or NaN standing for the missing one."""
        return self.cells if self.nullable and is_missing(value) else self.code(value)

    def index(self) -> pd.Index[Any]:
        """Return the names of all cells; missing is NaN, last."""
        return with_missing(self.labels()) if self.nullable else self.labels()

    def refuse(self, value: object) -> DeclaredValueError:
        """Return the error for a constant that is not declared."""
        return DeclaredValueError(self.name, f"{value!r} is not a declared value", allowed=self.describe())


def is_missing(value: object) -> bool:
    """Return whether one value is a null, however it is written: None, NaN, NA, NaT.

    Examples:
        >>> [is_missing(value) for value in (None, float("nan"), pd.NA, pd.NaT, Decimal("sNaN"), "nan")]
        [True, True, True, True, True, False]
    """
    if isinstance(value, Decimal):
        return value.is_nan()  # pandas compares it with itself, and a signalling NaN raises then
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))  # type: ignore[call-overload]


def integer_dtype(values: Sequence[Any]) -> str | None:
    """Return the integer type that holds all of some whole numbers: int64, else uint64; None for neither.

    Examples:
        >>> [integer_dtype(values) for values in ([-1, 5], [5, 2**63], [-1, 2**63])]
        ['int64', 'uint64', None]
    """
    for dtype in ("int64", "uint64"):
        if all(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in values):
            return dtype
    return None


def with_missing(labels: pd.Index[Any]) -> pd.Index[Any]:
    """Return an index with one more, missing, entry: whole numbers become floats, bools objects."""
    if isinstance(labels, (pd.CategoricalIndex, pd.IntervalIndex, pd.DatetimeIndex)):
        return labels.insert(len(labels), np.nan if not isinstance(labels, pd.DatetimeIndex) else pd.NaT)
    kind = "float64" if labels.dtype.kind in "if" else "object"
    return pd.Index([*labels.tolist(), np.nan], dtype=kind, name=labels.name)


def suggest(column: object, declared: Sequence[str]) -> str:
    """Return which declared name a misspelt one is nearest to, as a fix; "" where none is near.

    Examples:
        >>> suggest("Nigts", ["nights", "arrival"])
        "did you mean 'nights'? Else add it to the schema."
    """
    from difflib import get_close_matches

    names = {name.casefold(): name for name in declared}
    near = get_close_matches(str(column).casefold(), names, n=1)
    return f"did you mean {names[near[0]]!r}? Else add it to the schema." if near else ""


@dataclass(frozen=True)
class Values(Attribute):
    """Explicit values, in the order they were declared."""

    values: tuple[Hashable, ...]
    ranked: bool = False  # an ordered categorical
    other: bool = False  # the last value stands for every value that is not among these

    @property
    def cells(self) -> int:
        """Return how many values there are."""
        return len(self.values)

    @property
    def listed(self) -> tuple[Hashable, ...]:
        """Return the values that stand for themselves."""
        return self.values[:-1] if self.other else self.values

    @property
    def numeric(self) -> bool:
        """Return whether distances between values mean something."""
        return self.kind in ("integer", "float", "datetime")

    @property
    def ordered(self) -> bool:
        """Return whether values rise in the order declared, or are an ordered category."""
        return self.ranked or self.kind == "bool" or (self.numeric and self._rising)

    @cached_property
    def positions(self) -> tuple[Fraction, ...]:
        """Return where the values lie on their axis (instants in nanoseconds)."""
        return tuple(self.place(value) for value in self.values)

    @cached_property
    def _rising(self) -> bool:
        return all(a < b for a, b in zip(self.positions, self.positions[1:], strict=False))

    @cached_property
    def tz(self) -> str | None:
        """Return the time zone of declared instants, if they have one."""
        zone = getattr(self.values[0], "tzinfo", None) if self.values else None
        return None if zone is None else str(zone)

    @cached_property
    def codes(self) -> dict[Hashable, int]:
        """Return the cell of each value, by what identifies it."""
        return {self._key(value): code for code, value in enumerate(self.values)}

    def _key(self, value: object) -> Hashable:
        """Return what identifies a value: its exact place, or itself apart from True == 1."""
        return self.place(value) if self.numeric else (isinstance(value, (bool, np.bool_)), value)

    def place(self, value: object) -> Fraction:
        """Return where a constant lies on the column's axis (instants in nanoseconds)."""
        return Fraction(constant_ns(value, self.tz)) if self.kind == "datetime" else exact(value, self.name)

    def labels(self) -> pd.Index[Any]:
        """Return the values: a CategoricalIndex for categories and strings."""
        if self.kind in ("category", "string"):
            dtype = pd.CategoricalDtype(pd.Index(list(self.values)), ordered=self.ranked)
            return pd.CategoricalIndex(list(self.values), dtype=dtype, name=self.name)
        if self.kind == "datetime":
            places = np.array([int(place) for place in self.positions], dtype=object)
            return stamp_index(places, self.tz).rename(self.name)
        kinds = {"integer": integer_dtype(self.values), "float": "float64", "bool": "bool"}
        return pd.Index(list(self.values), dtype=kinds[self.kind], name=self.name)

    def code(self, value: object) -> int:
        """Return the position of a declared value; True is not 1."""
        try:
            return self.codes[self._key(value)]
        except (KeyError, TypeError, ArgumentError):
            raise self.refuse(value) from None

    def edge(self, value: object, *, closed: bool = True) -> int:  # noqa: ARG002
        """Return how many values lie below a number."""
        if not (self.numeric and self.ordered):
            raise ArgumentError(
                "bins", f"{self.name!r} has no axis to cut", fix="give groups of values instead"
            )
        return bisect.bisect_left(self.positions, self.place(value))

    def name_runs(self, starts: Sequence[int], stops: Sequence[int]) -> pd.Index[Any]:
        """Return runs of values named by their first and last."""
        pairs = [(self.values[a], self.values[b - 1]) for a, b in zip(starts, stops, strict=True)]
        if self.numeric:
            return pd.IntervalIndex.from_tuples(pairs, closed="both", name=self.name)  # type: ignore[no-any-return,call-overload]
        names = [str(a) if a == b else f"{a}..{b}" for a, b in pairs]
        return pd.CategoricalIndex(names, categories=names, ordered=True, name=self.name)

    def describe(self) -> str:
        """Return the values, shortened."""
        shown = ", ".join(repr(value) for value in self.listed[:12])
        shown += f", ... ({len(self.listed)} values)" if len(self.listed) > 12 else ""
        return f"{shown}, and {self.values[-1]!r} for every other value" if self.other else shown


@dataclass(frozen=True)
class Grid(Attribute):
    """Evenly cut numbers or instants: cell i is [low + i step, low + (i + 1) step).

    Bounds and step are exact; instants are nanoseconds. Whole numbers have closed integer bins.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    open_low: bool = False
    open_high: bool = False
    tz: str | None = None

    @cached_property
    def cells(self) -> int:
        """Return floor((high - low) / step) + 1, less an excluded last edge."""
        steps = (self.high - self.low) / self.step
        return steps.__floor__() + (0 if self.open_high and steps.denominator == 1 else 1)

    @property
    def ordered(self) -> bool:
        """Return True: a grid is an axis."""
        return True

    @property
    def single(self) -> bool:
        """Return whether each cell is one whole number."""
        return self.kind == "integer" and self.step == 1

    def lows(self, count: int | None = None) -> NDArray[Any]:
        """Return the first value of each cell, correctly rounded from the exact edge.

        Integers come as int64, floats as float64, instants as int64 nanoseconds.
        """
        many = self.cells if count is None else count
        if self.kind != "float" and int(self.low) + many * int(self.step) < 2**63:
            end = int(self.low) + many * int(self.step)
            return np.arange(int(self.low), end, int(self.step), dtype=np.int64)
        steps = np.arange(many, dtype=np.int64)
        if self.kind != "float":
            return int(self.low) + steps * int(self.step)
        scale = math.lcm(self.low.denominator, self.step.denominator)
        first, each = int(self.low * scale), int(self.step * scale)
        if max(scale, abs(first) + each * (len(steps) + 1)) < 2**53:
            # both operands are exact floats, so IEEE division rounds the exact edge once
            return np.asarray((first + steps * each) / np.float64(scale))
        return np.array([float(self.low + i * self.step) for i in range(len(steps))])

    def labels(self) -> pd.Index[Any]:
        """Return whole numbers, or an IntervalIndex of bins."""
        if self.single:
            whole: pd.Index[Any] = pd.Index(self.lows(), dtype="int64", name=self.name)
            return whole
        return self.name_runs(range(self.cells), range(1, self.cells + 1))

    def code(self, value: object) -> int:
        """Return the cell a constant falls in."""
        try:
            place = self.place(value)
        except ArgumentError:
            raise self.refuse(value) from None
        inside = self.low <= place <= self.high
        inside &= not (self.open_low and place == self.low) and not (self.open_high and place == self.high)
        if not inside or (self.kind == "integer" and place.denominator != 1):
            raise self.refuse(value)
        cell = ((place - self.low) / self.step).__floor__()
        if self.kind == "float" and isinstance(value, float) and cell + 1 < self.cells:
            # a float is counted by the rounded edges: 0.3333333333333333 begins the cell of 1/3
            cell += float(self.low + (cell + 1) * self.step) <= value
        return cell

    def edge(self, value: object, *, closed: bool = True) -> int:
        """Return the cell that begins at a value; ends beyond the domain are clipped to it."""
        place = self.place(value)
        steps = (place - self.low) / self.step
        if steps <= 0:
            return 0
        if place > self.high or (place == self.high and closed and not self.open_high and not self.single):
            return self.cells
        if steps.denominator != 1:
            raise DeclaredValueError(
                self.name, f"{value!r} is not the edge of a cell", allowed=f"{self.describe()}, on cell edges"
            )
        return min(int(steps), self.cells)

    def name_runs(self, starts: Sequence[int], stops: Sequence[int]) -> pd.Index[Any]:
        """Return runs of cells as intervals: closed for whole numbers, [low, high) otherwise."""
        edges = self.lows(self.cells + 1)
        left, right = edges[np.asarray(starts, dtype=np.int64)], edges[np.asarray(stops, dtype=np.int64)]
        if self.kind == "integer":
            right = np.minimum(right - 1, int(self.high))
            return pd.IntervalIndex.from_arrays(left, right, closed="both", name=self.name)
        start: Any = stamp_index(left, self.tz) if self.kind == "datetime" else left
        stop: Any = stamp_index(right, self.tz) if self.kind == "datetime" else right
        return pd.IntervalIndex.from_arrays(start, stop, closed="left", name=self.name)

    def describe(self) -> str:
        """Return the bounds and the step."""
        low, high = self.show(self.low), self.show(self.high)
        by = (
            ""
            if self.single
            else f" by {span_text(self.step) if self.kind == 'datetime' else number(self.step)}"
        )
        return f"{'(' if self.open_low else '['}{low}, {high}{')' if self.open_high else ']'}{by}"

    def show(self, place: Fraction) -> str:
        """Return an exact place as the user writes it: the beginning of a day as its date."""
        if self.kind != "datetime":
            return str(number(place))
        stamp = from_ns(int(place), self.tz)
        return f"{stamp:%Y-%m-%d}" if self.tz is None and stamp == stamp.normalize() else str(stamp)

    def place(self, value: object) -> Fraction:
        """Return where a constant lies on the column's axis (instants in nanoseconds)."""
        return Fraction(constant_ns(value, self.tz)) if self.kind == "datetime" else exact(value, self.name)


@dataclass(frozen=True)
class Uncounted(Attribute):
    """A column without cells."""

    bounded: ClassVar[bool] = False

    @abstractmethod
    def refuse_cells(self) -> Exception:
        """Return the error for a query that needs its cells."""

    @property
    def cells(self) -> NoReturn:
        """Refuse: there are no cells."""
        raise self.refuse_cells()

    @property
    def ordered(self) -> bool:
        """Return True: numbers are ordered."""
        return True

    def _refuse_all(self, *_: object, **__: object) -> NoReturn:
        raise self.refuse_cells()

    labels = code = edge = name_runs = _refuse_all


@dataclass(frozen=True)
class Unbounded(Uncounted):
    """A numeric column without bounds: it has no cells, only `sum` and `mean` may take it.

    With `log` it holds positive numbers and the step is one of their natural logarithms, which `logsum` and
    `geomean` add up.
    """

    step: Fraction = Fraction(1)
    log: bool = False

    def refuse_cells(self) -> UnboundedColumnError:
        """Return the error that names the bounds."""
        return UnboundedColumnError(self.name)

    def describe(self) -> str:
        """Return that there are no bounds."""
        return "any positive number" if self.log else "any number"


def cell_of(attribute: Attribute, value: Any) -> int | None:
    """Return the number of a value's cell, None for a missing one, or raise where it is none of the column.

    Examples:
        >>> cell_of(Unbounded("price", "float", False, Fraction(1, 10), log=True), 20)
        29
    """
    if attribute.nullable and is_missing(value):
        return None
    if not isinstance(attribute, Unbounded):
        return attribute.code(value)
    try:
        place = Fraction(to_ns(value, None)) if attribute.kind == "datetime" else exact(value, attribute.name)
    except ArgumentError:
        raise attribute.refuse(value) from None
    if (attribute.kind == "integer" and place.denominator != 1) or (attribute.log and place <= 0):
        raise attribute.refuse(value)
    return log_cell(place, attribute.step) if attribute.log else (place / attribute.step).__floor__()


def half_open(attribute: Attribute) -> bool:
    """Return whether ranges are [low, high) on cell edges, and not inclusive values."""
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
        raise _off_edge(attribute, value)
    return code


def high_cell(attribute: Attribute, value: Any, *, dates: bool = False) -> int:
    """Return one past the cell that ends at a value.

    Args:
        attribute: A column with an order.
        value: Where the range ends.
        dates: Let a date stand for its whole day, month or year, and not for its first instant, but where
            only that is an edge: it begins a cell longer than a day, or is the end of the domain.
    """
    if not half_open(attribute):
        code = attribute.code(value)
        if isinstance(attribute, Grid) and not attribute.single and code + 1 < attribute.cells:
            attribute.edge(attribute.place(value) + 1)  # the last whole number of its cell
        return code + 1
    assert isinstance(attribute, Grid)
    end = date_end(value, attribute.tz) if dates and attribute.kind == "datetime" else None
    begin = (attribute.place(value) - attribute.low) / attribute.step
    after = begin if end is None else (end - attribute.low) / attribute.step
    if after.denominator == 1 and 0 <= after <= attribute.cells:
        return int(after)
    may_end_before = end is not None and (attribute.step > DAY_NS or begin == attribute.cells)
    if may_end_before and begin.denominator == 1 and 0 <= begin <= attribute.cells:
        return int(begin)
    raise _off_edge(attribute, value, "the end of " if end is not None else "")


def _off_edge(attribute: Grid, value: Any, side: str = "") -> DeclaredValueError:
    """Return the error of a range that would begin or end inside a cell."""
    allowed = f"{attribute.describe()}, on edges"
    if attribute.tz is not None:
        allowed += "; steps have one length, also where clocks change"
    return DeclaredValueError(attribute.name, f"{side}{value!r} is not the edge of a cell", allowed=allowed)
