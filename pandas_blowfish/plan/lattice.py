"""Whole weights of a column's values: what its rows are added up by, exactly. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import span_text
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values
from pandas_blowfish.policy.cells import NO_VALUE, Cells

LIMIT = 2**61  # no row weighs more: clamping moves two weights no further apart
FINEST = 2**10  # parts of a step: a finer unit would leave too few bits for sums and their noise


@dataclass(frozen=True)
class Lattice:
    """Cell i of a column stands for origin + unit * weight(i); a missing value weighs nothing.

    Attributes:
        attribute: The column.
        unit: What a weight of 1 is worth.
        origin: What a weight of 0 stands for.
        first: The weight of cell 0.
        each: How much more each further cell weighs.
        last: The weight of the last cell, which bounds may cut; None without bounds.
        table: The weights of listed values; None where cells are even.
        clip: The least and the greatest weight that a value is added up by: values beyond count as that.
    """

    attribute: Attribute
    unit: Fraction
    origin: Fraction
    first: int
    each: int
    last: int | None
    table: tuple[int, ...] | None = None
    clip: tuple[int, int] | None = None

    @cached_property
    def ends(self) -> tuple[int, int] | None:
        """Return the least and the greatest weight; None without bounds."""
        if self.table is None and self.last is None:
            return None
        low, high = (min(self.table), max(self.table)) if self.table else (self.first, self.last or 0)
        if self.clip is None:
            return low, high
        return min(max(low, self.clip[0]), self.clip[1]), min(max(high, self.clip[0]), self.clip[1])

    @property
    def largest(self) -> int:
        """Return the largest absolute weight."""
        assert self.ends is not None
        return max(abs(self.ends[0]), abs(self.ends[1]))

    @property
    def span(self) -> int:
        """Return the greatest weight less the least."""
        assert self.ends is not None
        return self.ends[1] - self.ends[0]

    @property
    def clipped_cells(self) -> Ints:
        """Return the cells of even ones next to which clipping begins; nothing where it does not."""
        if self.clip is None or self.table is not None or not self.each:
            return np.empty(0, dtype=np.int64)
        return np.array([(end - self.first) // self.each for end in self.clip], dtype=np.int64)

    def weights(self) -> Ints:
        """Return the weight of every cell, the missing one (last) included."""
        return self.weights_at(np.arange(self.attribute.size))

    def weights_at(self, codes: Ints) -> Ints:
        """Return the weight of each of some cells; a missing one weighs nothing."""
        if not self.attribute.bounded:
            valued = codes != NO_VALUE
            number = np.where(valued, codes, 0)
            most = (LIMIT - abs(self.first)) // max(abs(self.each), 1)
            weights = self.first + self.each * np.clip(number, -most, most)
            return np.where(valued, weights, 0)
        valued = codes < self.attribute.cells
        number = np.where(valued, codes, 0)
        if self.table is not None:
            weights = np.array(self.table, dtype=np.int64)[number]
        else:
            assert self.last is not None
            weights = np.where(number == self.attribute.cells - 1, self.last, self.first + self.each * number)
        return np.where(valued, np.clip(weights, *(self.clip or (-LIMIT, LIMIT))), 0)


@dataclass(frozen=True, eq=False)
class Total:
    """The weights of one column, or products of several, added up over the rows of each group of a tally.

    Attributes:
        tally: The groups and the filter.
        lattice: What a row weighs.
        times: What that is multiplied by: the same weights again for squares, those of other columns for
            products. A row in which any of these columns is missing weighs nothing.
    """

    tally: Tally
    lattice: Lattice
    times: tuple[Lattice, ...] = ()

    @property
    def factors(self) -> tuple[Lattice, ...]:
        """Return all weights that are multiplied."""
        return (self.lattice, *self.times)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Return the columns whose values are weighed, each once."""
        return tuple({each.attribute.name: each.attribute for each in self.factors}.values())

    def weights_at(self, codes: Mapping[str, Ints]) -> Ints:
        """Return the weight of each of some cells, given by the codes of the columns."""
        weights = self.lattice.weights_at(codes[self.lattice.attribute.name])
        for each in self.times:
            weights = weights * each.weights_at(codes[each.attribute.name])
        return weights

    def entries(self, cells: Cells) -> tuple[Ints, Ints]:
        """Return the group that each of some cells is added up in, -1 for none, and its weight."""
        codes = {each.name: np.where(cells.absent, 0, cells.codes[each.name]) for each in self.attributes}
        return self.tally.bins_at(cells), self.weights_at(codes)


@dataclass(frozen=True)
class InUnits:
    """One measured total in the units of its column, for people; the matrix has whole steps instead.

    Attributes:
        name: The column; "rows" for a count that is measured besides.
        step: What a weight of 1 is worth (nanoseconds for instants).
        sensitivity: The most that one moved record changes it.
        scale: That of its noise.
        error: The standard error of its answer; NaN where that depends on rows, or there is none.
        kind: "number", "datetime" or "logarithm".
    """

    name: str
    step: Fraction
    sensitivity: Fraction
    scale: Fraction
    error: float
    kind: str

    def show(self, amount: Fraction | float) -> str:
        """Return an amount in these units, as a person writes it."""
        if self.kind == "datetime":
            return markup.span_words(float(amount))
        if isinstance(amount, Fraction):
            return markup.decimal(amount).removeprefix("about ")
        return markup.digits(amount, 3)

    def text(self, amount: Fraction) -> str:
        """Return an exact amount as a receipt states it."""
        return span_text(Fraction(round(amount))) if self.kind == "datetime" else str(amount)


def lattice(attribute: Attribute, centre: tuple[int, int] | None = None, limit: int = LIMIT) -> Lattice:
    """Return the weights of a column's cells on the coarsest lattice that holds their representatives.

    A representative is the value itself for whole numbers and listed ones, the middle of a bin within the
    bounds otherwise. Where the lattice would be finer than 2^-10 of a step, or need more than 61 bits, the
    step is cut into 2^10 or fewer and representatives are moved by less than one of those (`rounding`).

    Args:
        attribute: A column of numbers, instants or truth values.
        centre: Two cells: the origin is put midway between them; None for an origin of 0.
        limit: What weights stay below where a coarser cut of the step can do that; less for squares.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> ages = lattice(integers("age", 0, 29, 10))
        >>> ages.unit, ages.weights().tolist()
        (Fraction(1, 2), [9, 29, 49])
    """
    if isinstance(attribute, Unbounded):
        return Lattice(attribute, attribute.step, representative(attribute, 0), 0, 1, None)
    if isinstance(attribute, Values):
        return _listed(attribute, centre)
    assert isinstance(attribute, Grid)
    low, high = representative(attribute, 0), representative(attribute, attribute.cells - 1)
    steps = [attribute.step] if attribute.cells > 2 else []
    middle = Fraction(0)
    unit = common([high - low, *steps] if centre else [low, high, *steps])
    largest = max(abs(low), abs(high), high - low)
    part = attribute.step if steps else min(attribute.step, largest) or attribute.step
    if part / unit > FINEST or largest / unit >= limit:
        cut = FINEST
        while cut > 1 and largest * cut / part >= limit:
            cut //= 2
        unit = part / cut
    if centre is not None:
        ends = [representative(attribute, cell) for cell in centre]
        middle = low + unit * _near((ends[0] + ends[1] - 2 * low) / (2 * unit))
    first, last = _near((low - middle) / unit), _near((high - middle) / unit)
    each = int(attribute.step / unit) if attribute.cells > 2 else last - first
    return Lattice(attribute, unit, middle, first, each, last)


def clip_lattice(
    found: Lattice, low: Fraction, high: Fraction, centre: tuple[Fraction, Fraction] | None = None
) -> Lattice:
    """Return a bounded column's weights with values beyond low and high counting as these.

    Args:
        found: The weights of all values.
        low: What lower values count as; moved to the lattice.
        high: What higher values count as.
        centre: The origin is put midway between these; None leaves it.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> ages = lattice(integers("age", 0, 99, 20))
        >>> clip_lattice(ages, Fraction(0), Fraction(40)).weights().tolist()
        [19, 59, 80, 80, 80]
    """
    ends = [_near((end - found.origin) / found.unit) for end in (low, high)]
    middle = _near((centre[0] + centre[1] - 2 * found.origin) / (2 * found.unit)) if centre else 0
    return replace(
        found,
        origin=found.origin + found.unit * middle,
        first=found.first - middle,
        last=None if found.last is None else found.last - middle,
        table=None if found.table is None else tuple(weight - middle for weight in found.table),
        clip=(max(ends[0] - middle, -LIMIT), min(ends[1] - middle, LIMIT)),
    )


def ones(attribute: Attribute) -> Lattice:
    """Return a weight of 1 for every value: what counts the rows in which a column is not missing."""
    last = 1 if attribute.bounded else None
    return Lattice(attribute, Fraction(1), Fraction(0), 1, 0, last)


def representative(attribute: Attribute, cell: int) -> Fraction:
    """Return the number that stands for the values of a cell (nanoseconds for instants).

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> representative(integers("age", 0, 25, 10), 2)
        Fraction(45, 2)
    """
    if isinstance(attribute, Values):
        return attribute.positions[cell] if attribute.numeric else Fraction(int(bool(attribute.values[cell])))
    assert isinstance(attribute, (Grid, Unbounded))
    low = (attribute.low if isinstance(attribute, Grid) else 0) + cell * attribute.step
    high = low + attribute.step - (attribute.kind == "integer")
    return Fraction(low + (min(high, attribute.high) if isinstance(attribute, Grid) else high)) / 2


def rounding(found: Lattice) -> Fraction:
    """Return the most by which a value differs from what its cell is added up as (nanoseconds for instants).

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> rounding(lattice(integers("age", 0, 29, 10))), rounding(lattice(integers("age", 0, 29)))
        (Fraction(9, 2), Fraction(0, 1))
    """
    attribute = found.attribute
    if isinstance(attribute, Unbounded):
        return Fraction(attribute.step - (attribute.kind == "integer")) / 2
    if not isinstance(attribute, Grid):
        return Fraction(0)
    assert found.last is not None
    most = Fraction(0)
    for cell, weight in ((0, found.first), (attribute.cells - 1, found.last)):  # the last may be shorter
        middle = representative(attribute, cell)
        half = middle - (attribute.low + cell * attribute.step)
        most = max(most, half + abs(found.origin + found.unit * weight - middle))
    return most


def lightest(found: Lattice, bounds: tuple[Fraction, Fraction] | None) -> Fraction:
    """Return the least absolute number that a row is added up as; 0 where some cells lie on either side of 0.

    Args:
        found: The weights.
        bounds: The representatives of the cells that can be counted; None without bounds.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> found = lattice(integers("age", 10, 29, 10))
        >>> lightest(found, (Fraction(29, 2), Fraction(49, 2)))
        Fraction(29, 2)
    """
    attribute = found.attribute
    if bounds is None or found.last is None:
        return Fraction(0)
    moved = Fraction(0)
    if isinstance(attribute, Grid):
        ends = ((0, found.first), (attribute.cells - 1, found.last))  # the last may be shorter
        moved = max(abs(found.origin + found.unit * w - representative(attribute, cell)) for cell, w in ends)
    return max(bounds[0] - moved, -bounds[1] - moved, Fraction(0))


def extremes(attribute: Attribute, kept: NDArray[np.bool_] | None = None) -> tuple[int, int]:
    """Return the cells with the least and the greatest representative, of all cells or of those kept."""
    if not isinstance(attribute, Values) and kept is None:
        return 0, attribute.cells - 1
    cells = range(attribute.cells) if kept is None else np.flatnonzero(kept[: attribute.cells]).tolist()
    if not len(cells):
        return 0, 0
    if not isinstance(attribute, Values):
        return cells[0], cells[-1]
    places = [representative(attribute, cell) for cell in cells]
    return cells[places.index(min(places))], cells[places.index(max(places))]


def nearest(attribute: Attribute) -> int:
    """Return the cell that holds 0, or the one next to it: from there sums stay smallest."""
    if isinstance(attribute, Grid):
        return min(max((-attribute.low / attribute.step).__floor__(), 0), attribute.cells - 1)
    places = [abs(representative(attribute, cell)) for cell in range(attribute.cells)]
    return places.index(min(places))


def common(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest number that all are whole multiples of; 1 where all are 0.

    Examples:
        >>> common([Fraction(9, 2), Fraction(10)])
        Fraction(1, 2)
    """
    scale = math.lcm(*(each.denominator for each in numbers))
    return Fraction(math.gcd(*(int(each * scale) for each in numbers)), scale) or Fraction(1)


def _listed(attribute: Values, centre: tuple[int, int] | None) -> Lattice:
    places = [representative(attribute, cell) for cell in range(attribute.cells)]
    start = places[0] if centre else Fraction(0)
    unit = common([place - start for place in places])
    if centre is not None:
        ends = [places[cell] for cell in centre]
        start += unit * _near((ends[0] + ends[1] - 2 * start) / (2 * unit))
    found = Lattice(attribute, unit, start, 0, 0, 0)
    table = tuple(int((place - start) / unit) for place in places)
    if max(map(abs, table)) >= LIMIT:
        raise ArgumentError(
            "columns",
            f"the listed values of {attribute.name!r} are too far apart for how finely they are written",
            fix="list values that are multiples of a coarser step.",
        )
    return replace(found, table=table)


def _near(number: Fraction) -> int:
    """Return the nearest whole number, halves upward, so that rounding and whole shifts commute."""
    return (number + Fraction(1, 2)).__floor__()
