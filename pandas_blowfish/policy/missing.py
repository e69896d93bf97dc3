"""What a secret states about missing values: like any other, like one of them, or public. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError, DeclaredValueError, SecretError
from pandas_blowfish.exact.instant import to_ns
from pandas_blowfish.exact.logarithm import log_cell
from pandas_blowfish.exact.number import canonical_value, exact
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values, is_missing

PUBLIC, PROTECTED = "public", "protected"
ALLOWED = '"public", "protected", or a declared value that missing ones are kept like'


def joins_all(secret: Mapping[str, Any]) -> bool:
    """Tell whether a secret joins missing cells to every other cell: unless it states something else.

    Examples:
        >>> [joins_all({"secret": "full", **more}) for more in ({}, {"missing": "public"}, {"missing": 0})]
        [True, False, False]
    """
    return secret["secret"] != "public" and secret.get("missing") in (None, PROTECTED)


def has_stand_in(secret: Mapping[str, Any]) -> bool:
    """Tell whether a secret keeps missing values as if they were one of the declared ones."""
    return secret["secret"] != "public" and secret.get("missing") not in (None, PROTECTED, PUBLIC)


def stand_in(secret: Mapping[str, Any], attribute: Attribute) -> int | None:
    """Return the cell of the value that stands in for missing ones; None where none does."""
    if not (has_stand_in(secret) and attribute.nullable):
        return None
    return cell_of(attribute, secret["missing"])


def read_missing(missing: Any) -> Any:
    """Return what is stated about missing values as plain data, or raise where it can be no value."""
    if is_missing(missing) or isinstance(missing, (Mapping, list, tuple, set, frozenset)):
        raise ArgumentError("missing", "not a value", allowed=ALLOWED)
    return canonical_value(missing)


def fit_missing(secret: Mapping[str, Any], attribute: Attribute) -> dict[str, Any]:
    """Return a column's secret with its stand-in in one plain form, or raise where that is not declared."""
    if secret.get("missing") in (None, PROTECTED, PUBLIC):
        return dict(secret)
    name, value = attribute.name, secret["missing"]
    if secret["secret"] == "public":
        raise SecretError(name, f"missing={value!r} in a public column", fix="leave missing= out.")
    try:
        cell = cell_of(attribute, read_missing(value))
    except (ArgumentError, DeclaredValueError) as error:
        raise SecretError(name, f"missing={value!r}: {error}", fix=f"missing= is {ALLOWED}.") from None
    if cell is None or not attribute.nullable:
        fix = "say nullable=True in its schema column, or leave missing= out."
        raise SecretError(name, f"missing={value!r}, and no value of it may be missing", fix=fix)
    return {**secret, "missing": _plain(attribute, value, cell)}


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


def _plain(attribute: Attribute, value: Any, cell: int) -> Any:
    """Return a stand-in as it is written: 5, 5.0 and "5" are one."""
    if isinstance(attribute, Values):
        return canonical_value(attribute.values[cell])
    if attribute.kind == "datetime":
        return (
            attribute.show(attribute.place(value)) if isinstance(attribute, Grid) else canonical_value(value)
        )
    number = exact(value)
    return int(number) if number.denominator == 1 else canonical_value(value)
