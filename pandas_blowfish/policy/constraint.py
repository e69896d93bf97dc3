"""Public facts: counts the world already knows about the table. Never sees rows.

A fact is stated and serialised here; until a verb can price one, a policy with a fact that any
secret touches is refused by every verb.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.exact import canonical_value


class Known(NamedTuple):
    """One known count of a marginal: the values that name it, and how many rows have them."""

    cell: tuple[Any, ...]
    rows: int


@dataclass(frozen=True, init=False)
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


class Count(Constraint):
    """How many rows satisfy an expression is known: bf.Count("sex == 'F' and age < 18")."""

    def __init__(self, where: str, *, answer: int | None = None) -> None:
        if not isinstance(where, str) or not where.strip():
            raise ArgumentError("where", "not an expression", allowed="text such as \"sex == 'F'\"")
        self._set("count", (), where, answer)


class Marginal(Constraint):
    """The counts of some columns are known: bf.Marginal("region", "sex")."""

    def __init__(self, *columns: str, answer: Any = None) -> None:
        if not columns or any(columns.count(column) > 1 for column in columns):
            raise ArgumentError("columns", "a marginal names one or more different columns")
        self._set("marginal", columns, None, answer)


class Box(Constraint):
    """How many rows lie in a box is known: bf.Box(lat=(30, 35), lon=(-125, -120))."""

    def __init__(self, *, answer: int | None = None, **bounds: tuple[Any, Any]) -> None:
        pairs = list(bounds.values())
        if not pairs or any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
            raise ArgumentError("bounds", "a box gives a (low, high) pair a column")
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
        return Box(answer=answer, **rest["bounds"])
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
    if answer is None or (isinstance(answer, numbers.Integral) and not isinstance(answer, bool)):
        if answer is not None and answer < 0:
            raise ArgumentError("answer", "a count below 0")
        return None if answer is None else int(answer)
    if hasattr(answer, "items"):  # a dict, or a Series such as value_counts() makes
        return tuple(_known(key, count) for key, count in answer.items())
    listed = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(listed, (list, tuple)) and all(isinstance(item, Mapping) for item in listed) and listed:
        return tuple(_known(item.get("cell"), item.get("rows")) for item in listed)
    if isinstance(listed, (list, tuple)):
        return tuple(_answer(item) for item in listed)
    raise ArgumentError("answer", "not a whole number or a table of them")


def _known(cell: Any, count: Any) -> Known:
    if not isinstance(count, numbers.Integral) or isinstance(count, bool) or count < 0:
        raise ArgumentError("answer", "a count is not a whole number of rows")
    values = cell if isinstance(cell, (tuple, list)) else (cell,)
    return Known(tuple(canonical_value(value) for value in values), int(count))


def _thaw(answer: Any) -> Any:
    if isinstance(answer, Known):
        return {"cell": list(answer.cell), "rows": answer.rows}
    return [_thaw(item) for item in answer] if isinstance(answer, tuple) else answer
