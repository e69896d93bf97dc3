"""How closely a value may be inferred, as a secret: absolute and relative error, and their graphs.

Never sees rows. Both are Blowfish thresholds, so they compose like any other secret: an absolute error k is
the threshold 4 k, a relative error c the threshold 4 ln(1 / c) on natural logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, DomainTooLargeError, SecretError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import span_ns, span_text
from pandas_blowfish.exact.logarithm import FINEST, log_reach, log_step
from pandas_blowfish.exact.number import exact, plain
from pandas_blowfish.policy.attribute import MAX_CELLS, Attribute, Grid, Unbounded, Values
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.ball import Ball

ABSOLUTE, RELATIVE = "absolute_error", "relative_error"
MARGINS = (ABSOLUTE, RELATIVE)
WIDTH = 4  # interval widths' worth of k that two neighbouring intervals span together
SLACK = 2.0**-46  # of a quotient: more than floats may be off by, so that what is in doubt is joined
INDEPENDENT = (
    "records are taken to be independent: if other rows tell about this one (relatives, repeated visits), or "
    "other columns tell about the value, more may be inferred than that"
)


def normalise_margin(secret: Mapping[str, Any], attribute: Attribute) -> dict[str, Any]:
    """Return an absolute or relative error in its one plain form, or raise where it does not fit."""
    if secret["secret"] == ABSOLUTE:
        k = _k(secret, attribute)
        if isinstance(attribute, Unbounded) and attribute.kind == "float" and attribute.step > k:
            what = f"its cells of {plain(attribute.step)} are wider than the error {plain(k)}"
            raise SecretError(attribute.name, what, fix=f"bf.absolute_error({plain(k)!r}, step=...)")
        return {**secret, "k": span_text(k) if attribute.kind == "datetime" else plain(k)}
    c, name = c_of(secret, attribute.name), attribute.name
    if attribute.kind not in ("integer", "float"):
        what = "it holds instants" if attribute.kind == "datetime" else "its values are no numbers"
        raise SecretError(name, f"{what}: a relative error is a factor", fix="bf.absolute_error(...)")
    if attribute.bounded:
        places = attribute.positions if isinstance(attribute, Values) else (_grid(attribute).low,)
        if min(places) <= 0:
            fix = "let the lower bound be positive, or use bf.absolute_error(...)."
            raise SecretError(name, "0 and negative numbers are no factor away from others", fix=fix)
        if attribute.size > MAX_CELLS:
            fix = "declare a wider step, or no bounds (then logsum and geomean)."
            raise DomainTooLargeError(f"column {name!r}", attribute.size, MAX_CELLS, fix=fix)
    return {**secret, "c": plain(c)}


def as_threshold(secret: Mapping[str, Any], attribute: Attribute) -> Mapping[str, Any]:
    """Return the threshold that a secret is, where it is one; the secret itself elsewhere.

    Examples:
        >>> as_threshold({"secret": "absolute_error", "k": 1000}, Unbounded("income", "float", False))
        {'secret': 'threshold', 'theta': 4000}

    Proof note:
        Requires: records that are independent, whatever the law of each, and in a record a value that its
                  other columns reveal nothing about; a release that loses at most epsilon between any two
                  tables that differ in one value by 4 k at most (a factor c^-4).
        Ensures:  the odds of "the value is in [x - k, x + k)" against "it is in [x + k, x + 3 k)", and of
                  "[c y, y / c)" against "[y / c, y / c^3)", change by a factor of exp(epsilon) at most, for
                  all x, y > 0 and all such laws.
        Because:  two values of neighbouring intervals lie less than 4 k apart. Given all other values,
                  which are as likely under both statements, what is released is as likely within
                  exp(epsilon) for each of these pairs, so it is for mixtures over either interval.
                  Logarithms make factors distances; their cells are those of `log_reach`.
        Checked:  tests/policy/test_margin.py::test_absolute_error_by_enumeration,
                  tests/policy/test_margin.py::test_relative_error_by_enumeration
    """
    rest = {key: value for key, value in secret.items() if key not in ("secret", "k", "c")}
    if secret["secret"] == ABSOLUTE:
        theta = WIDTH * _k(secret, attribute)
        stated = span_text(theta) if attribute.kind == "datetime" else plain(theta)
        return {"secret": "threshold", "theta": stated, **rest}
    if secret["secret"] == RELATIVE and isinstance(attribute, Unbounded):
        cells = log_reach(c_of(secret, attribute.name), attribute.step)
        return {"secret": "threshold", "theta": plain(cells * attribute.step), **rest}
    return secret


def ratio_ball(secret: Mapping[str, Any], attribute: Attribute) -> Ball:
    """Return the graph of a relative error on declared numbers: cells some of whose values are that near.

    Proof note:
        Requires: positive numbers.
        Ensures:  two cells are joined wherever a value of one and a value of the other are within a factor
                  c^-4 of each other, and few others are.
        Because:  the nearest values are the upper end of the lower cell and the lower end of the other, and
                  c is a fraction, so c^4 is: listed numbers are compared exactly. The last cell that an end
                  reaches is a quotient of floats, moved outwards by more than their rounding, that of a
                  cell's edges included.
        Checked:  tests/policy/test_margin.py::test_ratio_ball_matches_enumeration
    """
    ratio = c_of(secret, attribute.name) ** -4
    if isinstance(attribute, Values):
        return _listed(attribute.positions, ratio)
    grid = _grid(attribute)
    return Ball(lambda: _reached(grid, ratio), size=grid.cells)


def alone(
    own: Mapping[str, Mapping[str, Any]], overrides: Mapping[tuple[str, ...], Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the secret that each column has by itself: none where it shares one with others."""
    shared = {column for keys in overrides if len(keys) > 1 for column in keys}
    single = {keys[0]: secret for keys, secret in overrides.items() if len(keys) == 1}
    return {column: secret for column, secret in {**own, **single}.items() if column not in shared}


def use_logarithms(domain: Domain, secrets: Mapping[str, Mapping[str, Any]]) -> Domain:
    """Return the domain with logarithms for cells where a column without bounds has a relative error.

    Args:
        domain: The declared columns.
        secrets: The secret that each column has by itself, with the step it states, if any.
    """
    found = tuple(_logs(each, secrets.get(each.name, {})) for each in domain)
    return domain if found == tuple(domain) else replace(domain, attributes=found)


def c_of(secret: Mapping[str, Any], name: str) -> Fraction:
    """Return the c of a relative error: within 10% is 0.9."""
    try:
        c = exact(secret["c"], "c")
    except (KeyError, ArgumentError) as error:
        raise SecretError(name, f"c cannot be read ({error})", fix="within 10% is c=0.9.") from None
    if not 0 < c < 1:
        raise SecretError(name, f"c is {plain(c)}, not between 0 and 1", fix="within 10% is c=0.9.")
    return c


def _k(secret: Mapping[str, Any], attribute: Attribute) -> Fraction:
    """Return the k of an absolute error in the column's own units (nanoseconds for instants)."""
    try:
        times = attribute.kind == "datetime"
        k = span_ns(secret["k"], "k") if times else exact(secret["k"], "k")
    except (KeyError, ArgumentError) as error:
        fix = "give a distance in the column's units."
        raise SecretError(attribute.name, f"k cannot be read ({error})", fix=fix) from None
    if k <= 0:
        raise SecretError(attribute.name, "the error is not positive", fix="bf.public() protects no pair.")
    return k


def _logs(attribute: Attribute, secret: Mapping[str, Any]) -> Attribute:
    """Return a column without bounds as one of logarithms, if its secret is a relative error."""
    if not isinstance(attribute, Unbounded):
        return attribute
    if secret.get("secret") != RELATIVE:
        if attribute.log:
            what = "its cells are those of logarithms, which a relative error made"
            raise SecretError(attribute.name, what, fix="begin with the schema, not with that domain.")
        return attribute
    if attribute.log:
        return attribute
    name, c = attribute.name, c_of(secret, attribute.name)
    if attribute.kind == "datetime":
        return attribute  # refused when the secret is fitted
    stated = secret.get("step", None if attribute.step == 1 else attribute.step)
    try:
        step = log_step(c) if stated is None else exact(stated, "step")
    except ArgumentError as error:
        raise SecretError(name, str(error), fix="leave step= out.") from None
    if step < FINEST or log_reach(c, step) == 1:
        what = "finer than logarithms can be decided" if step < FINEST else "wider than what is protected"
        fix = "leave step= out, or state the width of a cell of natural logarithms, such as 0.0001."
        raise SecretError(name, f"a step of {plain(step)} in logarithms is {what}", fix=fix)
    return Unbounded(name, "float", attribute.nullable, step, log=True)


def _grid(attribute: Attribute) -> Grid:
    assert isinstance(attribute, Grid)
    return attribute


def _listed(positions: tuple[Fraction, ...], ratio: Fraction) -> Ball:
    order = sorted(range(len(positions)), key=positions.__getitem__)
    line, upper, top = [positions[place] for place in order], [], 0
    for rank, place in enumerate(line):
        top = max(top, rank)
        while top + 1 < len(line) and line[top + 1] <= place * ratio:
            top += 1
        upper.append(top)
    return Ball(np.array(upper, dtype=np.int64), np.array(order, dtype=np.int64))


def _reached(grid: Grid, ratio: Fraction) -> Ints:
    """Return the last cell that holds a number within the ratio of one of each cell."""
    low, step, cells = float(grid.low), float(grid.step), np.arange(grid.cells, dtype=np.int64)
    ends = low + (cells + 1) * step - (grid.kind == "integer")
    with np.errstate(over="ignore"):
        far = np.minimum(ends, float(grid.high)) * _float(ratio)
        last = (far - low) / step + SLACK * ((far + low) / step + 1)
    return np.asarray(np.maximum(np.minimum(last, grid.cells - 1).astype(np.int64), cells))


def _float(ratio: Fraction) -> float:
    try:
        return float(ratio)
    except OverflowError:
        return float("inf")
