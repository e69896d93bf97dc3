"""How far apart two values of a column without bounds are, in steps of its secret. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.column import is_missing
from pandas_blowfish.policy.exact import exact
from pandas_blowfish.policy.instant import span_ns, to_ns
from pandas_blowfish.policy.logs import log_cell
from pandas_blowfish.policy.margin import reduced


def steps_between(attribute: Unbounded, secret: Mapping[str, Any], a: Any, b: Any) -> int | float:
    """Return how many edges of a column's secret separate two of its values, infinite when none lead there.

    Examples:
        >>> income = Unbounded("income", "float", False)
        >>> steps_between(income, {"secret": "absolute_error", "k": 1000}, 50_000, 59_000)
        3

    Proof note:
        Requires: the secret is one of this column alone.
        Ensures:  the graph distance of the two values' cells, where cells are joined up to
                  ceil(theta / step) apart.
        Because:  each step leads that far at most, and as far as that where the gap allows it; by way of a
                  missing value, where that is secret, it is two.
        Checked:  tests/policy/test_endless.py::test_steps_match_a_long_bounded_column
    """
    secret = reduced(secret, attribute)
    one, two = (cell_of(attribute, value) for value in (a, b))
    if one == two:
        return 0
    kind = secret["secret"]
    hidden = attribute.nullable and kind != "public" and secret.get("missing") != "public"
    if one is None or two is None:
        return 1 if hidden else math.inf
    if kind in ("full", "public"):
        return 1 if kind == "full" else math.inf
    theta = span_ns(secret["theta"], "theta") if attribute.kind == "datetime" else exact(secret["theta"])
    theta /= exact((secret.get("scale") or {}).get(attribute.name, 1))
    steps = -(-abs(one - two) // math.ceil(theta / attribute.step))
    return min(steps, 2) if hidden else steps


def cell_of(attribute: Unbounded, value: Any) -> int | None:
    """Return the number of a value's cell, None for a missing one, or raise where it is none of the column.

    Examples:
        >>> cell_of(Unbounded("price", "float", False, Fraction(1, 10), log=True), 20)
        29
    """
    if attribute.nullable and is_missing(value):
        return None
    try:
        place = Fraction(to_ns(value, None)) if attribute.kind == "datetime" else exact(value, attribute.name)
    except ArgumentError:
        raise attribute.refuse(value) from None
    if (attribute.kind == "integer" and place.denominator != 1) or (attribute.log and place <= 0):
        raise attribute.refuse(value)
    return log_cell(place, attribute.step) if attribute.log else (place / attribute.step).__floor__()
