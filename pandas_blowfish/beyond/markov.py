"""What everybody knows about rows in order of time: how one value follows another; never sees rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.number import canonical_value, exact, plain
from pandas_blowfish.policy.domain import Domain

Vector = tuple[Fraction, ...]
_NEARLY = Fraction(1, 10**9)  # what sums of floats may be off by
_MOST = 200  # values: the stationary law of more takes too long to solve exactly


@dataclass(frozen=True)
class Markov:
    """A column whose values, row by row, follow each other with public probabilities.

    Row t takes value y with a probability that depends only on the value of row t - 1.

    Attributes:
        column: The column's name.
        transition: One row per value: the probabilities of what follows it. Lists in the column's declared
            order, a mapping of mappings, or a table with values as index and columns. Each adds up to 1.
        initial: The law of the first row; None for the stationary one, which must then be unique.
        values: The values in the order of `transition`; None for the column's declared order. Read from a
            mapping or a table where not given.
        length: The public number of rows, which a policy needs.

    Examples:
        >>> Markov("state", [["0.9", "0.1"], ["0.2", "0.8"]]).start
        (Fraction(2, 3), Fraction(1, 3))
    """

    column: str
    transition: tuple[Vector, ...]
    initial: Vector | None = None
    values: tuple[Any, ...] | None = None
    length: int | None = None

    def __init__(
        self, column: str, transition: Any, initial: Any = None, values: Any = None, length: Any = None
    ) -> None:
        if not isinstance(column, str):
            raise ArgumentTypeError("column", "the name is not text")
        if values is not None and (isinstance(values, str) or not isinstance(values, Iterable)):
            raise ArgumentTypeError("values", "not a list of values")
        names, rows = _read(transition, None if values is None else tuple(values))
        size = len(rows)
        if not 2 <= size <= _MOST or any(len(row) != size for row in rows):
            raise ArgumentError("transition", f"it is not square, with 2 to {_MOST} values")
        labels = range(size) if names is None else names
        matrix = tuple(_law(row, "transition", f" of {at!r}") for at, row in zip(labels, rows, strict=True))
        first = None if initial is None else _initial(initial, names, size)
        many = None if length is None else _length(length)
        items = {"column": column, "transition": matrix, "initial": first, "values": names, "length": many}
        for name, item in items.items():
            object.__setattr__(self, name, item)
        if first is None:
            _ = self.start  # raises where it is not unique

    @property
    def cells(self) -> int:
        """Return how many values there are."""
        return len(self.transition)

    @property
    def stationary(self) -> bool:
        """Return whether every row has the same law."""
        return self.initial is None or self.step(self.initial) == self.initial

    @cached_property
    def start(self) -> Vector:
        """Return the law of the first row."""
        return self.initial if self.initial is not None else _stationary(self.transition)

    def step(self, law: Vector) -> Vector:
        """Return the law of the row after one with this law."""
        return tuple(
            sum((p * row[y] for p, row in zip(law, self.transition, strict=True)), Fraction(0))
            for y in range(self.cells)
        )

    def reorder(self, values: Sequence[Any]) -> Markov:
        """Return the same chain with its values in this order, or raise if they are others.

        Examples:
            >>> chain = Markov("x", {"a": {"a": "0.9", "b": "0.1"}, "b": {"a": "1/2", "b": "1/2"}})
            >>> chain.reorder(["b", "a"]).transition[0]
            (Fraction(1, 2), Fraction(1, 2))
        """
        names = list(values)
        if self.values is None and len(names) == self.cells:
            return Markov(self.column, self.transition, self.initial, names, self.length)
        if self.values is None or len(names) != self.cells or any(name not in names for name in self.values):
            raise ArgumentError(
                "transition",
                f"its {self.cells} values are not the {len(names)} declared ones of column {self.column!r}",
                fix="give one row and one column for each declared value",
            )
        places = [self.values.index(name) for name in names]
        first = None if self.initial is None else [self.initial[i] for i in places]
        rows = [[self.transition[i][j] for j in places] for i in places]
        return Markov(self.column, rows, first, names, self.length)

    def to_dict(self) -> dict[str, Any]:
        """Return the chain for JSON.

        Examples:
            >>> Markov.from_dict(Markov("x", [["1/2", "1/2"], ["1/3", "2/3"]]).to_dict()).start
            (Fraction(2, 5), Fraction(3, 5))
        """
        return {
            "column": self.column,
            "transition": [[plain(p) for p in row] for row in self.transition],
            "initial": None if self.initial is None else [plain(p) for p in self.initial],
            "values": None if self.values is None else [canonical_value(value) for value in self.values],
            "length": self.length,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Markov:
        """Return the chain that `to_dict`, or a person's YAML, describes."""
        known = {"column", "transition", "initial", "values", "length"}
        if not isinstance(given, Mapping) or not {"column", "transition"} <= set(given) <= known:
            raise ArgumentError("chain", "not understood", allowed=f"a dict of {', '.join(sorted(known))}")
        return cls(**given)

    def describe(self) -> str:
        """Return what is known about the rows, in words."""
        first = "each with the same law" if self.initial is None else "the first with a stated law"
        return f"{self.length:,} rows in order, {self.column!r} following the row before; {first}"


def chain_of(
    chain: Any, domain: Domain, secrets: Mapping[Any, Any], *, presence: bool, facts: bool, totals: bool
) -> Markov | None:
    """Return what a policy knows of its rows' order, or raise where nothing is proved about it."""
    if chain is None:
        return None
    if not isinstance(chain, Markov):
        raise ArgumentTypeError("chain", "not a bf.Markov", allowed="None or bf.Markov(...)")
    if presence or facts or totals:
        why = "rows that follow each other, and nothing is proved of presence, facts or a secret total there"
        raise ArgumentError("chain", why, fix="leave presence, constraints and aggregates out.")
    if chain.length is None:
        raise ArgumentError("chain", "it does not say how many rows there are", fix="bf.Markov(..., length=)")
    attribute = domain[chain.column]
    if not attribute.bounded or attribute.nullable or attribute.cells > _MOST:
        fix = f"declare up to {_MOST} values, none missing."
        raise ArgumentError("chain", f"column {chain.column!r} has no list of values to follow", fix=fix)
    if secrets.get((chain.column,), {}).get("secret") != "full":
        fix = f"secrets={{{chain.column!r}: bf.full()}}"
        raise ArgumentError("chain", f"the secret of {chain.column!r} is not full", fix=fix)
    names = range(chain.cells) if chain.values is None else chain.values
    codes = [code if chain.values is None else attribute.code(code) for code in names]
    if sorted(codes) != list(range(attribute.cells)):
        many = f"its {chain.cells} values are not the {attribute.cells} declared ones of {chain.column!r}"
        raise ArgumentError("chain", many, fix="give one row and one column for each declared value.")
    if chain.values is None:
        return chain
    same = chain.reorder([names[codes.index(code)] for code in sorted(codes)])
    return Markov(chain.column, same.transition, same.initial, None, chain.length)


def _length(length: Any) -> int:
    """Return a number of rows."""
    if isinstance(length, bool) or not isinstance(length, numbers.Integral) or length < 1:
        raise ArgumentError("length", "not a whole number from 1")
    return int(length)


def _read(transition: Any, values: tuple[Any, ...] | None) -> tuple[tuple[Any, ...] | None, list[list[Any]]]:
    """Return the values, where they are named, and the rows of numbers."""
    if hasattr(transition, "to_dict") and hasattr(transition, "columns"):  # a table
        index, columns = list(transition.index), list(transition.columns)
        if len(set(index)) != len(index) or len(set(columns)) != len(columns):
            raise ArgumentError("transition", "a value is named twice")
        transition = {a: {b: transition.at[a, b] for b in columns} for a in index}
    if isinstance(transition, Mapping):
        names = tuple(transition) if values is None else values
        if set(names) != set(transition) or not all(isinstance(row, Mapping) for row in transition.values()):
            raise ArgumentError("transition", "it is not a mapping of each value to a mapping")
        if any(set(row) - set(names) for row in transition.values()):
            raise ArgumentError("transition", "a value follows that has no row of its own")
        return names, [[transition[a].get(b, 0) for b in names] for a in names]
    try:
        rows = [list(row) for row in transition if not isinstance(row, str)]
    except TypeError:
        raise ArgumentTypeError("transition", "it is not rows of numbers, a mapping or a table") from None
    if values is not None and (
        len(values) != len(rows) or any(v in values[:i] for i, v in enumerate(values))
    ):
        raise ArgumentError("values", "they are not one different value for each row of the transition")
    return values, rows


def _initial(initial: Any, names: tuple[Any, ...] | None, size: int) -> Vector:
    """Return the law of the first row, given in order or by value."""
    if isinstance(initial, Mapping):
        if names is None or set(initial) - set(names):
            raise ArgumentError("initial", "it names a value the transition does not")
        initial = [initial.get(name, 0) for name in names]
    try:
        numbers = list(initial)
    except TypeError:
        raise ArgumentTypeError("initial", "it is not a list of numbers or a mapping") from None
    if len(numbers) != size:
        raise ArgumentError("initial", f"it has {len(numbers)} probabilities for {size} values")
    return _law(numbers, "initial")


def _law(numbers: Sequence[Any], argument: str, what: str = "") -> Vector:
    """Return probabilities as fractions that add up to 1, or raise; those that nearly do are scaled."""
    law = tuple(exact(number, argument) for number in numbers)
    total = sum(law, Fraction(0))
    if min(law) < 0 or abs(total - 1) > _NEARLY:
        problem = f"the probabilities{what} are negative, or add up to {float(total):.9g}, not 1"
        raise ArgumentError(argument, problem, fix='write them as text or fractions, such as ["1/3", "2/3"]')
    return law if total == 1 else tuple(each / total for each in law)


def _stationary(matrix: tuple[Vector, ...]) -> Vector:
    """Return the one law that stays the same from row to row, or raise if there are several.

    States are taken out one by one, and what led to each is led on to the rest (no subtraction occurs).

    Proof note:
        Requires: each row of the matrix is a law.
        Ensures:  the law times the matrix is the law, exactly, and no other law has this.
        Because:  laws that stay are mixtures of one per closed class of values, and there is one such class;
                  within it the chain watched outside some values has the same law up to a factor.
        Checked:  tests/beyond/test_markov.py::test_stationary_law_stays
    """
    size = len(matrix)
    reached = [{y for y in range(size) if row[y]} | {x} for x, row in enumerate(matrix)]
    for via in range(size):
        for x in range(size):
            if via in reached[x]:
                reached[x] |= reached[via]
    closed = {frozenset(reached[x]) for x in range(size) if all(x in reached[y] for y in reached[x])}
    if len(closed) != 1:
        raise ArgumentError(
            "initial",
            f"the chain has {len(closed)} groups of values that are never left, so no unique stationary law",
            fix="give initial=[...], the probabilities of the first row",
        )
    states = sorted(next(iter(closed)))
    flow = {x: {y: matrix[x][y] for y in states if y != x} for x in states}
    for place in range(len(states) - 1, 0, -1):
        gone, rest = states[place], states[:place]
        out = sum((flow[gone][y] for y in rest), Fraction(0))
        for x in rest:
            flow[x][gone] /= out
            for y in rest:
                if x != y:
                    flow[x][y] += flow[x][gone] * flow[gone][y]
    weights = {states[0]: Fraction(1)}
    for place in range(1, len(states)):
        weights[states[place]] = sum(
            (weights[x] * flow[x][states[place]] for x in states[:place]), Fraction(0)
        )
    total = sum(weights.values())
    return tuple(weights.get(x, Fraction(0)) / total for x in range(size))
