"""What a release about rows that follow each other may cost a row: Markov quilts; never sees rows.

A quilt of row i is a pair of rows before and after it. Given their values what lies beyond does not depend on
row i, so only the `card` rows between them can reveal it, besides what the pair itself reveals: `influence`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.beyond.markov import Markov
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.enclosure import log
from pandas_blowfish.exact.number import epsilon_of

Objects = np.ndarray[Any, np.dtype[np.object_]]
_BITS = 64  # of a logarithm
_LONG, _KEPT = 512, 256  # bits of a power's denominator: where it is rounded, and to what
_NEVER = Fraction(-1)  # stands for a ratio without bound


@dataclass(frozen=True)
class Active:
    """A quilt in use: rows `before` and `after` places away; both None if it is all rows."""

    before: int | None
    after: int | None
    card: int
    influence: Fraction


@dataclass(frozen=True)
class Quilt:
    """How strongly a table of rows in order may be measured, and why.

    Attributes:
        chain: What everybody knows about the rows.
        length: How many rows there are.
        epsilon: What may be lost about the value of any one row.
        largest: An upper bound of card / (epsilon - influence), the worst over rows.
        rate: What may be lost if every row could be any value and rows were independent: 1 / largest at most.
        quilts: What it rests on: near the ends of the table one side of it is enough.
    """

    chain: Markov
    length: int
    epsilon: Fraction
    largest: Fraction
    rate: Fraction
    quilts: tuple[Active, ...]

    def loss(self, rate: Fraction) -> Fraction:
        """Return a bound of what releases lose whose rates add up to this.

        Examples:
            >>> chain = Markov("state", [["0.9", "0.1"], ["0.2", "0.8"]])
            >>> once = find_quilt(chain, 10**6, Fraction(1))
            >>> once.loss(once.rate) <= 1, once.loss(2 * once.rate) <= 2
            (True, True)

        Proof note:
            Requires: releases that lose rate_1, ..., rate_K when one row becomes any other, each perhaps
                      chosen after seeing those before; one chain and length.
            Ensures:  together they lose at most this about the value of any row; if each rate is that of
                      `find_quilt` at its epsilon_j, at most epsilon_1 + ... + epsilon_K, for any quilts.
            Because:  together they lose rate_1 + ... + rate_K when one row changes, so any quilt of row i
                      gives card (rate_1 + ... + rate_K) + influence. Take, of the K quilts row i has in the
                      K plans, the one of least card, of plan j: its own release costs at most epsilon_j,
                      influence included, and any other card rate_m <= card_m rate_m <= epsilon_m.
            Checked:  tests/beyond/test_quilt.py::test_releases_add_up
        """
        return min(self.length * rate, *(one.card * rate + one.influence for one in self.quilts))


def find_quilt(chain: Markov, length: int, epsilon: Any) -> Quilt:
    """Return the rate at which rows that follow a chain may be measured.

    Args:
        chain: What everybody knows about the rows.
        length: The public number of rows.
        epsilon: What may be lost about the value of any one row.

    Examples:
        >>> chain = Markov("state", [["0.9", "0.1"], ["0.2", "0.8"]])
        >>> round(float(find_quilt(chain, 10**6, 1).largest), 2), float(find_quilt(chain, 10, 1).largest)
        (22.3, 10.0)

    Proof note:
        Requires: rows follow the chain; a release loses at most `rate` when one row becomes any other.
        Ensures:  the release loses at most epsilon between any two possible values of any row.
        Because:  given the values of its quilt, row i and the rows between are independent of the rest. So
                  two values of row i differ by the law of the quilt, exp(influence) at most, and for each
                  of its values by `card` rows at most, exp(card rate). A quilt of two sides has a law that
                  is a product given row i: its influence adds up the worst of each side, for the same pair
                  of values. Every row has a quilt: where one side does not fit, the other alone has no
                  larger influence (a side's worst ratio is 1 or more) and spans no more rows; where neither
                  fits, all rows together are no more. Floats choose quilts, enclosures certify them.
        Checked:  tests/beyond/test_quilt.py::test_exact_loss_is_at_most_epsilon
    """
    total = epsilon_of(epsilon)
    if not isinstance(length, (int, np.integer)) or isinstance(length, bool) or length < 1:
        raise ArgumentError("length", "the number of rows is not a whole number from 1")
    sides, found = _Sides(chain), Active(None, None, int(length), Fraction(0))
    for before, after in _chosen(sides, int(length), float(total)):
        influence = sides.influence(before, after)
        if influence is not None and influence < total:
            quilt = Active(before, after, before + after - 1, influence)
            found = min(found, quilt, key=lambda one: _sigma(one, total))
    largest = _sigma(found, total)
    return Quilt(chain, int(length), total, largest, _short(1 / largest), (found,))


def _sigma(quilt: Active, epsilon: Fraction) -> Fraction:
    """Return card / (epsilon - influence)."""
    return quilt.card / (epsilon - quilt.influence)


def _short(rate: Fraction) -> Fraction:
    """Return a fraction rounded down to six digits, unless it is short already."""
    if rate.denominator <= 10**6:
        return rate
    digits = 6
    while rate * 10**digits < 10**6:
        digits += 1
    return Fraction(rate * 10**digits // 1, 10**digits)


class _Sides:
    """The two sides of quilts of one chain, enclosed."""

    def __init__(self, chain: Markov) -> None:
        alive = {x for x in range(chain.cells) if chain.start[x]}
        while more := {y for x in alive for y in range(chain.cells) if chain.transition[x][y]} - alive:
            alive |= more
        places = sorted(alive)  # the values that occur at all
        self.size = len(places)
        rows = [[chain.transition[x][y] for y in places] for x in places]
        unit = math.lcm(*(p.denominator for row in rows for p in row))
        whole = np.array([[int(p * unit) for p in row] for row in rows], dtype=object)
        self._powers: dict[int, tuple[Objects, Objects, int]] = {1: _shortened(whole, whole, unit)}
        self.matrix = np.array([[float(p) for p in row] for row in rows])
        self.law = tuple(chain.start[x] for x in places) if chain.stationary else ()  # of every row

    def power(self, width: int) -> tuple[Objects, Objects, int]:
        """Enclose the transition over so many rows: lower and upper ends over a unit."""
        if width not in self._powers:
            (a, b, u), (c, d, v) = self.power(width // 2), self.power(width - width // 2)
            self._powers[width] = _shortened(a.dot(c), b.dot(d), u * v)
        return self._powers[width]

    def ratios(self, width: int, *, back: bool) -> Objects:
        """Return upper bounds of max_y p(x, y) / p(x', y), or of p(y, x) / p(y, x'), for all x, x'."""
        low, up, _ = self.power(width)
        low, up = (low.T, up.T) if back else (low, up)
        return np.array([_ratio(row, low) for row in up], dtype=object)

    def influence(self, before: int, after: int) -> Fraction | None:
        """Return an upper bound of a quilt's influence on any row that has one; None if there is none.

        Proof note:
            Requires: before >= 1 and after >= 1.
            Ensures:  between any two possible values x, x' of a row the law of the rows so far before and
                      after it changes by at most exp of this.
            Because:  the row after has law p(x, y); the row before law(y) p(y, x) / law(x). Where rows have
                      different laws, law(x') / law(x) <= max_y p(y, x') / p(y, x), as both are mixtures over
                      the row before. Powers are enclosed, numerators from above, denominators from below.
            Checked:  tests/beyond/test_quilt.py::test_influence_is_the_largest_ratio
        """
        back = self.ratios(before, back=True)
        parts = [self.ratios(after, back=False), back, *([] if self.law else [back.T])]
        worst = Fraction(1)
        for x in range(self.size):
            for y in range(self.size):
                factors = [part[x, y] for part in parts]
                if x != y and _NEVER in factors:
                    return None
                if x != y:
                    scale = self.law[y] / self.law[x] if self.law else Fraction(1)
                    worst = max(worst, math.prod(factors, start=scale))
        return Fraction(log(worst, _BITS)[1], 1 << _BITS)


def _shortened(low: Objects, up: Objects, unit: int) -> tuple[Objects, Objects, int]:
    """Return an enclosure with a denominator that is not too long, rounded outwards."""
    if unit.bit_length() <= _LONG:
        return low, up, unit
    return (low << _KEPT) // unit, -((-up << _KEPT) // unit), 1 << _KEPT


def _ratio(up: Objects, low: Objects) -> list[Fraction]:
    """Return the largest up / low over columns, for each row of low."""
    found = []
    for row in low:
        top, below = 0, 1
        for p, q in zip(up, row, strict=True):
            if p * below > top * q:
                top, below = p, q
        found.append(Fraction(top, below) if below else _NEVER)
    return found


def _spread(power: Floats) -> Floats:
    """Return ln max_y p(x, y) / p(x', y) for all x, x', in floats; inf where it has no bound."""
    with np.errstate(all="ignore"):
        logs = np.log(power)
        return np.array([np.max(np.where(row == -np.inf, -np.inf, row - logs), axis=1) for row in logs])


def _chosen(sides: _Sides, length: int, epsilon: float) -> Iterator[tuple[int, int]]:
    """Yield the widths, if any, that floats find best; wider ones than could be better are not tried."""
    widths, lefts, rights, best = [], [], [], length / epsilon
    logs = np.log([float(p) for p in sides.law])
    pairs = ~np.eye(sides.size, dtype=bool)
    for width in _widths(length - 1, sides.size):
        if width > best * epsilon:
            break
        power = np.linalg.matrix_power(sides.matrix, width)
        back = _spread(power.T)
        with np.errstate(all="ignore"):
            left = back + (logs[None, :] - logs[:, None] if sides.law else back.T)
        widths.append(width)
        lefts.append(np.nan_to_num(left, nan=np.inf, posinf=np.inf, neginf=0.0)[pairs])
        rights.append(_spread(power)[pairs])
        room = epsilon - float(np.max(lefts[-1] + rights[-1], initial=0.0))
        best = min(best, (2 * width - 1) / room) if room > 0 else best
    choices = []
    for before, left in zip(widths, lefts, strict=True):
        rooms = epsilon - np.max(np.array(rights) + left, axis=1, initial=0.0)
        with np.errstate(all="ignore"):
            value = np.where(rooms > 0, (np.array(widths) + before - 1) / rooms, np.inf)
        choices.append((float(np.min(value)), before, widths[int(np.argmin(value))]))
    if choices and min(choices)[0] < np.inf:
        yield min(choices)[1:]


def _widths(most: int, size: int) -> Iterator[int]:
    """Yield widths to try: all short ones, then ever fewer."""
    width = 1
    while width <= most:
        yield width
        width = max(width + 1, int(width * (1.07 if size <= 32 else 1.4)))
