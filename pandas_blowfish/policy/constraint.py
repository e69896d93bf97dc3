"""Public facts: counts the world already knows about the table. Never sees rows.

A fact is stated and serialised here; until a verb can price one, a policy with a fact that any
secret touches is refused by every verb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.secret import canonical_value


@dataclass(frozen=True, init=False)
class Constraint:
    """One public fact about the table.

    Args:
        kind: count, marginal or box.
        columns: The columns it speaks of; empty for an expression, which names its own.
        detail: The rest, as plain data.
    """

    kind: str
    columns: tuple[str, ...]
    detail: Any = None
    answer: Any = None

    def _set(self, kind: str, columns: Sequence[str], detail: Any, answer: Any) -> None:
        if not all(isinstance(column, str) for column in columns):
            raise ArgumentError(kind, "a column's name is not text")
        for name, value in zip(
            ("kind", "columns", "detail", "answer"),
            (kind, tuple(columns), detail, _answer(answer)),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain data."""
        out: dict[str, Any] = {"fact": self.kind}
        if self.kind == "marginal":
            out["columns"] = list(self.columns)
        else:
            out["where" if self.kind == "count" else "bounds"] = _thaw(self.detail)
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
        if not columns or len(set(columns)) != len(columns):
            raise ArgumentError("columns", "a marginal names one or more different columns")
        self._set("marginal", columns, None, answer)


class Box(Constraint):
    """How many rows lie in a box is known: bf.Box(lat=(30, 35), lon=(-125, -120))."""

    def __init__(self, *, answer: int | None = None, **bounds: tuple[Any, Any]) -> None:
        if not bounds or any(
            not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in bounds.values()
        ):
            raise ArgumentError("bounds", "a box gives a (low, high) pair a column")
        frozen = tuple(
            (column, tuple(canonical_value(end) for end in pair)) for column, pair in bounds.items()
        )
        self._set("box", tuple(bounds), frozen, answer)


def constraint_from_dict(spec: Mapping[str, Any]) -> Constraint:
    """Return the fact that plain data describes."""
    kind, answer = spec.get("fact"), spec.get("answer")
    if kind == "count":
        return Count(spec["where"], answer=answer)
    if kind == "marginal":
        return Marginal(*spec["columns"], answer=answer)
    if kind == "box":
        return Box(answer=answer, **{column: tuple(pair) for column, pair in spec["bounds"].items()})
    raise ArgumentError("constraints", f"unknown fact {kind!r}", allowed="count, marginal, box")


def _answer(answer: Any) -> Any:
    """Return known answers hashable: a whole number, or nested tuples of them."""
    if answer is None or (isinstance(answer, int) and not isinstance(answer, bool)):
        return answer
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, Mapping):
        return tuple((canonical_value(key), _answer(value)) for key, value in answer.items())
    if isinstance(answer, (list, tuple)):
        return tuple(item if isinstance(item, str) else _answer(item) for item in answer)
    raise ArgumentError("answer", "not a whole number or a table of them")


def _thaw(value: Any) -> Any:
    if isinstance(value, tuple) and value and all(isinstance(v, tuple) and len(v) == 2 for v in value):
        if all(isinstance(v[0], str) for v in value):
            return {key: _thaw(item) for key, item in value}
    return [_thaw(item) for item in value] if isinstance(value, tuple) else value
