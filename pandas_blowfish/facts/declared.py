"""Public facts: counts the world already knows about the table, as they are stated. Never sees rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.number import canonical_value

MOST = 2**53  # rows, more than any table has


class KnownCell(NamedTuple):
    """One known count of a marginal: the values that name it, and how many rows have them."""

    cell: tuple[Any, ...]
    rows: int


@dataclass(frozen=True, init=False, repr=False)
class Constraint:
    """One public fact about the table.

    Args:
        kind: count, marginal or box.
        columns: The columns it speaks of; empty for an expression, which names its own.
        detail: The rest, as plain data.
        answer: The counts, when they are known here: a number, nested tuples or `Known` cells.
    """

    kind: str
    columns: tuple[str, ...]
    detail: Any = None
    answer: Any = None

    def _set(self, kind: str, columns: Sequence[Any], detail: Any, answer: Any) -> None:
        if not all(isinstance(column, str) for column in columns):
            raise ArgumentError(kind, "a column's name is not text")
        fields = {"kind": kind, "columns": tuple(columns), "detail": detail, "answer": _answer(answer)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain data."""
        out: dict[str, Any] = {"fact": self.kind}
        if self.kind == "marginal":
            out["columns"] = list(self.columns)
        elif self.kind == "count":
            out["where"] = self.detail
        else:
            out["bounds"] = {column: list(pair) for column, pair in self.detail}
        if self.answer is not None:
            out["answer"] = _thaw(self.answer)
        return out

    def __repr__(self) -> str:
        known = "" if self.answer is None else f", answer={_shown(self.answer)})"
        return f"bf.{self.describe()[:-1]}{known or ')'}"

    def describe(self) -> str:
        """Return the fact as it is written, without its answer."""
        if self.kind == "count":
            return f"Count({self.detail!r})"
        if self.kind == "marginal":
            return f"Marginal({', '.join(map(repr, self.columns))})"
        if not all(column.isidentifier() and column != "answer" for column in self.columns):
            return f"Box({dict(self.detail)!r})"
        return f"Box({', '.join(f'{column}={pair!r}' for column, pair in self.detail)})"


class Count(Constraint):
    """How many rows satisfy an expression is known: bf.Count("sex == 'F' and age < 18").

    Args:
        where: The expression, as `where` takes it; constants lie on cell edges, missing satisfies nothing.
        answer: How many they are, if that may be used here; it is compared with the rows by `protect`.
    """

    def __init__(self, where: str, *, answer: int | None = None) -> None:
        if not isinstance(where, str) or not where.strip():
            raise ArgumentError("where", "not an expression", allowed="text such as \"sex == 'F'\"")
        self._set("count", (), where, answer)


class Marginal(Constraint):
    """The counts of some columns are known: bf.Marginal("region", "sex").

    Args:
        columns: The columns, all cells of which are counted.
        answer: The counts, if they may be used here: a dict of value (or tuple of values) -> count, a Series
            or a crosstab, read by its labels, or a list (of lists) in schema order, a missing cell last.
    """

    def __init__(self, *columns: str, answer: Any = None) -> None:
        if len(columns) == 1 and isinstance(columns[0], (list, tuple)):
            columns = tuple(columns[0])
        if not columns or any(columns.count(column) > 1 for column in columns):
            raise ArgumentError("columns", "a marginal names one or more different columns")
        self._set("marginal", columns, None, _in_order(answer, columns))


class Box(Constraint):
    """How many rows lie in a box is known: bf.Box(lat=(30, 35), lon=(-125, -120)).

    Args:
        sides: The same as a dict, for columns whose names are no Python names.
        answer: How many they are, if that may be used here; it is compared with the rows by `protect`.
        bounds: One (low, high) pair per column, read as `range` reads them, but a date is its first instant:
            ("2013-01-01", "2014-01-01") is a year; None is the end of the domain.
    """

    def __init__(
        self,
        sides: Mapping[str, tuple[Any, Any]] | None = None,
        /,
        *,
        answer: int | None = None,
        **bounds: tuple[Any, Any],
    ) -> None:
        if isinstance(answer, (tuple, list)):
            fix = 'bf.Box({"answer": (low, high)}) for a column of that name.'
            raise ArgumentError("answer", "not one whole number", fix=fix)
        if sides is not None and not isinstance(sides, Mapping):
            raise ArgumentError("bounds", "a box gives one (low, high) pair per column")
        bounds = {**(sides or {}), **bounds}
        pairs = list(bounds.values())
        if not pairs or any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
            raise ArgumentError("bounds", "a box gives one (low, high) pair per column")
        frozen = tuple(
            (column, tuple(canonical_value(end) for end in pair)) for column, pair in bounds.items()
        )
        self._set("box", tuple(bounds), frozen, answer)


def constraint_from_dict(spec: Any) -> Constraint:
    """Return the fact that plain data describes.

    Examples:
        >>> constraint_from_dict({"fact": "marginal", "columns": ["region"]}) == Marginal("region")
        True
    """
    rest = dict(spec) if isinstance(spec, Mapping) else {}
    kind, answer = rest.pop("fact", None), rest.pop("answer", None)
    if kind == "count" and set(rest) == {"where"}:
        return Count(rest["where"], answer=answer)
    if kind == "marginal" and set(rest) == {"columns"} and isinstance(rest["columns"], (list, tuple)):
        return Marginal(*rest["columns"], answer=answer)
    if (
        kind == "box"
        and set(rest) == {"bounds"}
        and isinstance(rest["bounds"], Mapping)
        and all(isinstance(column, str) for column in rest["bounds"])
    ):
        return Box(rest["bounds"], answer=answer)
    raise ArgumentError(
        "constraints",
        "not a fact",
        allowed="{fact: count, where: ...}, {fact: marginal, columns: [...]}, {fact: box, bounds: {...}}",
    )


def facts_of(constraints: Any) -> tuple[Constraint, ...]:
    """Return a list of facts as a tuple, refusing anything else."""
    facts = tuple(constraints) if isinstance(constraints, Iterable) else (None,)
    if not all(isinstance(fact, Constraint) for fact in facts):
        allowed = "a list of bf.Count, bf.Marginal, bf.Box"
        raise ArgumentError("constraints", "not a list of facts", allowed=allowed)
    return facts


def _answer(answer: Any) -> Any:
    """Return known answers hashable: a whole number, nested tuples of them, or known cells."""
    answer = _whole(answer)
    if answer is None or (isinstance(answer, numbers.Integral) and not isinstance(answer, bool)):
        if answer is not None and not 0 <= int(answer) <= MOST:
            raise ArgumentError("answer", "not a number of rows", allowed="0 or more")
        return None if answer is None else int(answer)
    if hasattr(answer, "stack") and hasattr(answer, "columns"):  # a DataFrame such as pd.crosstab makes
        rows = zip(answer.index, answer.to_numpy().tolist(), strict=True)
        pairs = (
            ((row, column), count) for row, line in rows for column, count in zip(answer, line, strict=True)
        )
        return tuple(_known(_joined(*key), count) for key, count in pairs)
    if hasattr(answer, "items"):  # a dict, or a Series such as value_counts() makes
        return tuple(_known(key, count) for key, count in answer.items())
    listed = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(listed, (list, tuple)) and all(isinstance(item, Mapping) for item in listed) and listed:
        return tuple(_known(item.get("cell"), item.get("rows")) for item in listed)
    if isinstance(listed, (list, tuple)):
        return tuple(_answer(item) for item in listed)
    raise ArgumentError("answer", "not a whole number or a table of them")


def _known(cell: Any, count: Any) -> KnownCell:
    count = _whole(count)
    if not isinstance(count, numbers.Integral) or isinstance(count, bool) or not 0 <= int(count) <= MOST:
        raise ArgumentError("answer", "a count is not a whole number of rows")
    values = cell if isinstance(cell, (tuple, list)) else (cell,)
    return KnownCell(tuple(_value(value) for value in values), int(count))


def _whole(value: Any) -> Any:
    """Return a float that is a whole number as one; anything else as it is."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Integral))
    return int(value) if real and float(value).is_integer() else value


def _in_order(answer: Any, columns: Sequence[str]) -> Any:
    """Return a labelled answer with its labels in the order of the columns, where its names say another."""
    if hasattr(answer, "stack") and hasattr(answer, "columns"):
        names = [*answer.index.names, *answer.columns.names]
        known = _answer(answer)
    else:
        names = list(getattr(getattr(answer, "index", None), "names", ()))
        known = _answer(answer) if len(names) > 1 else answer
    if len(names) < 2 or set(names) != set(columns) or names == list(columns):
        return answer
    order = [names.index(column) for column in columns]
    return {tuple(each.cell[place] for place in order): each.rows for each in known}


def _shown(answer: Any) -> str:
    """Return an answer in short."""
    text = str(answer) if isinstance(answer, int) else str(_thaw(answer))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _value(value: Any) -> Any:
    """Return what names a cell as plain data: a bin by its low end, a missing value as None."""
    if hasattr(value, "left") and hasattr(value, "closed"):
        value = value.left
    if value is None or str(value) in ("nan", "NaT", "<NA>"):
        return None
    return canonical_value(value)


def _joined(row: Any, column: Any) -> tuple[Any, ...]:
    """Return the labels of a crosstab's row and column, which may themselves be tuples, as one."""
    return (
        *(row if isinstance(row, tuple) else (row,)),
        *(column if isinstance(column, tuple) else (column,)),
    )


def _thaw(answer: Any) -> Any:
    if isinstance(answer, KnownCell):
        return {"cell": list(answer.cell), "rows": answer.rows}
    return [_thaw(item) for item in answer] if isinstance(answer, tuple) else answer
