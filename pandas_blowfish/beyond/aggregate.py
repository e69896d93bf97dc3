"""A secret of the whole table: what a column's values add up to. Never sees rows.

It is no Blowfish secret: releases do not add up, and only functions of the total itself are known to keep it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, SecretError
from pandas_blowfish.exact.number import exact, plain
from pandas_blowfish.exact.syntax import UnreadableTextError, parse_text
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values
from pandas_blowfish.policy.domain import Domain

FARTHEST = 3  # deltas between a total within delta of x and one at most 2 delta away
ALLOWED = 'such as "sales.sum()", "`net sales`.sum()" or \'["net sales"].sum()\''
MEAN = "a mean is the total over the number of rows, which is public"
_MARKED = re.compile(r"`([^`]+)`\s*\.\s*(\w+)\s*\(\s*\)")


@dataclass(frozen=True, init=False)
class Aggregate:
    """The total of a column, secret to within `delta`.

    Nobody can decide, for any x, whether the total is within delta of x or between delta and 2 delta away.

    Attributes:
        column: The column whose values are added up.
        delta: How closely the total may not be inferred, in the column's own units.

    Examples:
        >>> Aggregate("sales.sum()", delta=50_000)
        Aggregate('sales.sum()', delta=50000)
    """

    column: str
    delta: Fraction

    def __init__(self, text: str, delta: Any) -> None:
        found = exact(delta, "delta")
        if found <= 0:
            raise ArgumentError("delta", f"{plain(found)} is not positive", allowed="a positive number")
        object.__setattr__(self, "column", _column(text))
        object.__setattr__(self, "delta", found)

    @property
    def text(self) -> str:
        """Return the total as it is written."""
        if self.column.isidentifier():
            return f"{self.column}.sum()"
        return f"[{self.column!r}].sum()"

    def distance(self, unit: Fraction) -> int:
        """Return how many units apart two totals can lie that must look alike, rounded up.

        Proof note:
            Requires: a release that is a function of the total, and noise under which totals so many units
                      apart lose at most epsilon.
            Ensures:  the odds of "the total is within delta of x" against "it is more than delta, and at
                      most 2 delta, away from x" change by a factor of exp(epsilon) at most, for every x and
                      all laws of the table, those of independent records among them.
            Because:  totals that satisfy the one and the other lie at most delta + 2 delta apart. Given the
                      total a release is independent of the rows, so its probability under a statement is a
                      mixture over totals that satisfy it. Of a second release, or of one that depends on
                      the rows by more than their total, nothing is claimed.
            Checked:  tests/beyond/test_aggregate.py::test_three_deltas_by_enumeration
        """
        return math.ceil(FARTHEST * self.delta / unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the secret as plain JSON-able data."""
        return {"total": self.text, "delta": plain(self.delta)}

    @classmethod
    def from_dict(cls, spec: Any) -> Aggregate:
        """Return the secret that plain data describe."""
        if not isinstance(spec, Mapping) or set(spec) != {"total", "delta"}:
            raise ArgumentError("aggregates", "not understood", allowed='{"total": "x.sum()", "delta": 10}')
        return cls(spec["total"], spec["delta"])

    def describe(self) -> str:
        """Return what stays indistinguishable, in words."""
        return f"{self.text} to within +-{plain(self.delta)} (of values as cells read them)"

    def __repr__(self) -> str:
        return f"Aggregate({self.text!r}, delta={plain(self.delta)!r})"


def split_aggregates(constraints: Any, aggregates: Any) -> tuple[Any, Any]:
    """Return facts, and secret totals: those too that were listed among the facts."""
    if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Iterable):
        return constraints, aggregates
    listed = list(constraints)
    among = [each for each in listed if isinstance(each, Aggregate)]
    rest = [each for each in listed if not isinstance(each, Aggregate)]
    return rest, [*aggregates, *among] if among else aggregates


def aggregates_of(
    aggregates: Any, domain: Domain, public: Collection[str], *, presence: bool, facts: bool
) -> tuple[Aggregate, ...]:
    """Return a policy's secrets of the whole table, or raise where nothing is proved about them."""
    if isinstance(aggregates, (str, Aggregate, Mapping)) or not isinstance(aggregates, Iterable):
        raise ArgumentTypeError("aggregates", "not a list", allowed='[bf.Aggregate("x.sum()", delta=10)]')
    found = tuple(aggregates)
    if not all(isinstance(each, Aggregate) for each in found):
        raise ArgumentTypeError("aggregates", "not all of it bf.Aggregate", allowed="a list of bf.Aggregate")
    if not found:
        return ()
    if len(found) > 1:
        why = "more than one total: columns may depend on each other, so one's release reveals the other's"
        raise ArgumentError("aggregates", why, fix="one policy, and one dataset, for each.")
    _require_fit(domain[found[0].column], public)
    if presence:
        why = "presence is secret: a total then depends on who is there, and nothing is proved of that"
        raise ArgumentError("aggregates", why, fix="presence=False, which makes the row count public.")
    if facts:
        why = "public facts may reveal the total, and nothing is proved of both together"
        raise ArgumentError("aggregates", why, fix="leave out constraints=.")
    return found


def is_contained(fewer: Iterable[Aggregate], more: Iterable[Aggregate]) -> bool:
    """Return whether each of some secret totals is secret to within as much in another list."""
    wide = {each.column: each.delta for each in more}
    return all(each.delta <= wide.get(each.column, 0) for each in fewer)


def _require_fit(attribute: Attribute, public: Collection[str]) -> None:
    """Refuse a column whose total is not one number that a release could be a function of."""
    name = attribute.name
    listed = isinstance(attribute, Values) and not attribute.numeric
    if attribute.kind not in ("integer", "float") or listed:
        raise SecretError(name, "a total is one of numbers", fix="name a column of numbers.")
    if isinstance(attribute, Unbounded) and attribute.log:
        raise SecretError(name, "its cells are those of logarithms, which add up to no total", fix="bounds.")
    if name in public:
        raise SecretError(name, "its values are public, so everyone knows the total", fix="another secret.")
    if attribute.nullable:
        fix = "fill in the missing values before protect()."
        raise SecretError(name, "which values are missing would reveal the total", fix=fix)


def _column(text: Any) -> str:
    """Return the column of "<column>.sum()", read and never evaluated."""
    if not isinstance(text, str):
        raise ArgumentTypeError("aggregate", f"a {type(text).__name__} is not text", allowed=ALLOWED)
    marked = _MARKED.fullmatch(text.strip())
    name, verb = (marked.group(1), marked.group(2)) if marked else _parsed(text)
    if verb == "mean":
        fix = f'Aggregate("{name}.sum()", delta=...): its delta times the number of rows.'
        raise ArgumentError("aggregate", MEAN, allowed=ALLOWED, fix=fix)
    if verb != "sum" or not name:
        raise ArgumentError("aggregate", f"{text[:80]!r} is not the sum of a column", allowed=ALLOWED)
    return name


def _parsed(text: str) -> tuple[str, str]:
    """Return the column and the verb of a call; "" where it is none."""
    try:
        call = parse_text(text.strip())
    except UnreadableTextError:
        return "", ""
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return "", ""
    if not isinstance(call.func, ast.Attribute):
        return "", ""
    owner: Any = call.func.value
    if isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Name):  # df["sales"]
        owner = owner.slice
    elif isinstance(owner, ast.List) and len(owner.elts) == 1:
        owner = owner.elts[0]
    elif isinstance(owner, ast.Name):
        return owner.id, call.func.attr
    else:
        return "", ""
    return (owner.value if isinstance(getattr(owner, "value", None), str) else ""), call.func.attr
