"""Secrets, as column metadata: plain dicts that say which values must stay indistinguishable.

Never sees rows. A secret is written by its constructor (`full`, `threshold`, ...), travels as a
plain dict in a pandera column's metadata, and becomes a graph once the column's cells are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeclaredValueError,
    DomainTooLargeError,
    SecretError,
)
from pandas_blowfish.exact.instant import distance, from_ns, is_span, span_ns, span_text
from pandas_blowfish.exact.number import canonical, canonical_value, exact, plain
from pandas_blowfish.policy.attribute import (
    MAX_CELLS,
    Attribute,
    Grid,
    Values,
    cell_of,
    is_missing,
)
from pandas_blowfish.policy.domain import Unlisted
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.partition import group_cells, is_grid, is_width, plain_groups, width_of
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph
from pandas_blowfish.policy.margin import MARGINS, as_threshold, normalise_margin, ratio_ball

__all__ = ["absolute_error", "build", "canonical_value", "edges", "fit", "full", "partition", "public"]
__all__ += ["relative_error", "threshold"]

Metadata = dict[str, dict[str, Any]]
METRICS = ("l1", "l2", "linf")
PUBLIC, PROTECTED = "public", "protected"
ROWS = "rows"  # where the keys of a public column may come from
ALLOWED = '"public", "protected", or a declared value that missing ones are kept like'


def full(step: Any = None, *, missing: Any = None, other: str | None = None) -> Metadata:
    """Protect every pair of values: the bounded-DP promise, and the default.

    Args:
        step: Width of a cell, in the column's own units.
        missing: "public", "protected" or a value; see `threshold`.
        other: Of a column with listed values without an order, the name of one more value, last, which every
            value that is not listed falls into; without it such a value is refused.

    Examples:
        >>> full(step=10)
        {'blowfish': {'secret': 'full', 'step': 10}}
        >>> full(other="elsewhere")
        {'blowfish': {'secret': 'full', 'other': 'elsewhere'}}
    """
    return _metadata("full", step, missing, other)


def threshold(
    theta: Any,
    step: Any = None,
    metric: str = "l1",
    scale: Mapping[str, Any] | None = None,
    *,
    missing: Any = None,
) -> Metadata:
    """Protect values up to a distance `theta` apart.

    Args:
        theta: The distance, in the column's own units; positions for an ordered category; anything
            `pandas.Timedelta` takes for datetimes. Cells are joined up to ceil(theta / step) apart.
        step: Width of a cell, in the column's own units.
        metric: "l1", "l2" or "linf", for joint distances on several columns.
        scale: Units for joint distances, such as km per degree: {"lat": 111.2, "lon": 71.5}.
        missing: Of a column with missing values. "protected", the default: a missing value may be any other,
            so that sums and cumulative counts need as much noise as under `full`. A declared value: it is
            kept as if it were that value, from those within theta of it and from it. "public": it is
            known to all which are missing.

    Examples:
        >>> threshold(5)
        {'blowfish': {'secret': 'threshold', 'theta': 5}}
    """
    if metric not in METRICS:
        raise ArgumentError("metric", f"unknown metric {metric!r}", allowed=", ".join(METRICS))
    _require_positive(theta, "theta")
    extra: dict[str, Any] = {"theta": distance(theta, "theta")}
    if metric != "l1":
        extra["metric"] = metric
    if scale is not None:
        if not isinstance(scale, Mapping) or any(exact(value, "scale") <= 0 for value in scale.values()):
            raise ArgumentError(
                "scale", "not positive numbers by column", allowed='{"lat": 111.2, "lon": 71.5}'
            )
        extra["scale"] = {str(column): canonical(exact(value)) for column, value in scale.items()}
    return _metadata("threshold", step, missing, None, **extra)


def absolute_error(k: Any, step: Any = None, *, missing: Any = None) -> Metadata:
    """Protect values from being inferred to better than plus or minus `k`; no bounds are needed.

    Nobody can decide whether a value is within k of x or in the interval of the same width beside it. It is
    built as the threshold 4 k.

    Args:
        k: The error, in the column's own units; anything `pandas.Timedelta` takes for datetimes.
        step: Width of a cell, in the column's own units.
        missing: "public", "protected" or a value; see `threshold`.

    Examples:
        >>> absolute_error(1000, step=1)
        {'blowfish': {'secret': 'absolute_error', 'k': 1000, 'step': 1}}
    """
    _require_positive(k, "k")
    return _metadata("absolute_error", step, missing, None, k=distance(k, "k"))


def relative_error(c: Any, step: Any = None, *, missing: Any = None) -> Metadata:
    """Protect positive numbers from being inferred to better than a factor `c`; no bounds are needed.

    Nobody can decide if a value is between c y and y / c, or in the interval beside it, up to y / c^3. It is
    built as the threshold 4 ln(1 / c) on natural logarithms.

    Args:
        c: The factor, between 0 and 1: within 10% is 0.9.
        step: Width of a cell: of natural logarithms without bounds, of values with them.
        missing: "public", "protected" or a value; see `threshold`.

    Examples:
        >>> relative_error("0.9")
        {'blowfish': {'secret': 'relative_error', 'c': '0.9'}}
    """
    if not 0 < exact(c, "c") < 1:
        raise ArgumentError("c", f"{c} is not between 0 and 1", fix="within 10% is c=0.9.")
    return _metadata("relative_error", step, missing, None, c=distance(c, "c"))


def partition(
    groups: Any,
    step: Any = None,
    *,
    missing: Any = None,
    other: str | None = None,
    keys: str | None = None,
) -> Metadata:
    """Protect values of the same group from each other; the group itself is disclosed.

    Args:
        groups: {"name": [values], ...}, {value: "name", ...}, [[values], ...] (a `range` or
            `pandas.Interval` stands for its values), or a number: the width of even groups. For a
            joint secret the widths by column: {"lat": 0.5, "lon": 1}.
        step: Width of a cell, in the column's own units.
        missing: "public", "protected" or a value; see `threshold`.
        other: The name of the value that unlisted ones fall into, see `full`: a group may hold it, else it is
            a group of its own, and it is disclosed who falls into it.
        keys: None. Groups are listed, never read from rows as keys of `public` are: a public fact recorded
            later lets records change groups, and nothing would have been charged for naming those that occur.
            Their totals, exact and free, are how to learn which do.

    Examples:
        >>> partition({"lung": ["flu", "asthma"], "heart": ["angina"]})["blowfish"]["groups"]
        {'lung': ['flu', 'asthma'], 'heart': ['angina']}
    """
    if keys is not None:
        why = "groups that occur are not read from rows: public facts, recorded later too, let records change"
        fix = "list all groups; `hist` by group is exact and free where no fact is touched."
        raise ArgumentError("keys", f"{why} groups", fix=fix)
    if is_grid(groups):  # read by column for a joint secret, as {value: group number} for one column
        widths = {name: distance(width, "width") for name, width in groups.items()}
        return _metadata("partition", step, missing, other, groups=widths)
    return _metadata("partition", step, missing, other, groups=plain_groups(groups))


def public(step: Any = None, *, other: str | None = None, keys: str | None = None) -> Metadata:
    """Declare a column known to everyone, the same in every possible table.

    Args:
        step: Width of a cell, in the column's own units.
        other: The name of the value that unlisted ones fall into; see `full`.
        keys: "rows" for a column of text or whole numbers whose values nobody lists: those that occur are
            read from the rows when they are protected, and disclosed. Not where presence is secret.

    Examples:
        >>> public()
        {'blowfish': {'secret': 'public'}}
    """
    if keys is None:
        return _metadata("public", step, None, other)
    if keys != ROWS:
        raise ArgumentError("keys", "not where keys are read from", allowed='"rows", or leave it out')
    if other is not None:
        raise ArgumentError("other", "keys of rows are all listed", fix="leave keys= or other= out.")
    return _metadata("public", step, None, None, keys=ROWS)


def edges(
    pairs: Iterable[Any], step: Any = None, *, missing: Any = None, other: str | None = None
) -> Metadata:
    """Protect just the listed pairs of values.

    Args:
        pairs: Pairs of declared values.
        step: Width of a cell, in the column's own units.
        missing: "public", "protected" or a value; see `threshold`.
        other: The name of the value that unlisted ones fall into, see `full`; pairs may name it.

    Examples:
        >>> edges([("flu", "cold")])
        {'blowfish': {'secret': 'edges', 'pairs': [['flu', 'cold']]}}
    """
    listed = list(pairs) if isinstance(pairs, Iterable) else [()]
    if any(isinstance(pair, str) or not isinstance(pair, Collection) or len(pair) != 2 for pair in listed):
        raise ArgumentError("pairs", "an edge has two ends", allowed="a list of pairs of values")
    return _metadata(
        "edges", step, missing, other, pairs=[[canonical_value(v) for v in pair] for pair in listed]
    )


def fit(secret: Mapping[str, Any], attribute: Attribute) -> dict[str, Any]:
    """Return a column's secret in its one plain form (5, 5.0 and "5" are one theta), or raise.

    What belongs to the column's domain is left out: the step, and the name of the cell of unlisted values.
    """
    kind = secret.get("secret")
    if not isinstance(kind, str) or kind not in _MAKERS:
        raise SecretError(attribute.name, f"unknown kind {kind!r}", fix=f"one of {', '.join(_MAKERS)}.")
    out = {key: value for key, value in secret.items() if key not in ("step", "other")}
    if unknown := set(out) - keys_of(kind):
        raise SecretError(
            attribute.name, f"{kind} takes no {', '.join(sorted(map(str, unknown)))}", fix="leave it out."
        )
    out = fit_missing(out, attribute)
    if isinstance(attribute, Unlisted) != ("keys" in out) or out.get("keys", ROWS) != ROWS:
        fix = 'list its values, or say bf.public(keys="rows") of one without values or bounds.'
        raise SecretError(attribute.name, "keys= and the column's values do not agree", fix=fix)
    if kind == "threshold":
        _theta(out, attribute)
        times = attribute.kind == "datetime"
        out["theta"] = span_text(span_ns(out["theta"], "theta")) if times else plain(exact(out["theta"]))
    if kind in MARGINS:
        out = normalise_margin(out, attribute)
    if kind == "partition":
        out["groups"] = plain_groups(out.get("groups"))
    if kind == "edges":
        out["pairs"] = edges(out.get("pairs", ()))["blowfish"]["pairs"]
    if not attribute.bounded and kind in ("partition", "edges"):
        raise SecretError(attribute.name, "its values have no bounds", fix="add Check.in_range(low, high).")
    if attribute.bounded and attribute.size > MAX_CELLS and kind in ("partition", "edges"):
        raise DomainTooLargeError(
            f"column {attribute.name!r}", attribute.size, MAX_CELLS, fix="declare a wider step."
        )
    return out


def keys_of(kind: str) -> set[str]:
    """Return what a secret of a kind may state."""
    return {"secret", "missing", *_MAKERS[kind][1]}


def build(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    """Return the graph a secret puts on the cells of a column."""
    secret = fit(secret, attribute)
    graph = _MAKERS[secret["secret"]][0](secret, attribute)
    if not attribute.nullable:
        return graph
    return WithMissing(graph, joined=joins_all(secret), like=stand_in(secret, attribute))


def _metadata(secret: str, step: Any, missing: Any, other: Any, **extra: Any) -> Metadata:
    out: dict[str, Any] = {"secret": secret, **extra}
    if step is not None:
        out["step"] = distance(step, "step")
    if missing is not None:
        out["missing"] = read_missing(missing)
    if other is not None:
        if not isinstance(other, str):
            raise ArgumentTypeError("other", "not a name", allowed='text, as other="other"')
        out["other"] = str.__str__(other)
    return {"blowfish": out}


def _require_positive(value: Any, argument: str) -> None:
    """Refuse a distance that is not one; of text nobody knows yet whether it is a number or a span."""
    known = not isinstance(value, str)
    if known and (span_ns(value, argument) if is_span(value) else exact(value, argument)) <= 0:
        raise ArgumentError(argument, "the distance is not positive", fix="bf.public() protects no pair.")


def _full(_: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    return Cliques.full(attribute.cells)


def _public(_: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    return Cliques.none(attribute.cells)


def _threshold(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    """Join cells when some value of one is within theta of some value of the other."""
    name, theta = attribute.name, _theta(secret, attribute)
    if isinstance(attribute, Grid):
        return Ball.even(attribute.cells, math.ceil(theta / attribute.step))
    if isinstance(attribute, Values) and attribute.numeric:
        return _uneven(attribute.positions, theta)
    if not attribute.ordered:
        raise SecretError(
            name,
            "its values have no distances",
            fix="declare pa.Column(pd.CategoricalDtype([...], ordered=True)), or use bf.partition.",
        )
    if theta.denominator != 1:
        raise SecretError(name, "theta counts positions of an ordered category", fix="give a whole number.")
    return Ball.even(attribute.cells, int(theta))


def _absolute(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    return _threshold(as_threshold(secret, attribute), attribute)


def _theta(secret: Mapping[str, Any], attribute: Attribute) -> Fraction:
    """Return the distance in the column's own units (nanoseconds for instants)."""
    name, times = attribute.name, attribute.kind == "datetime"
    if secret.get("metric", "l1") not in METRICS:
        raise SecretError(name, f"unknown metric {secret['metric']!r}", fix=f"one of {', '.join(METRICS)}.")
    try:
        theta = span_ns(secret["theta"], "theta") if times else exact(secret["theta"], "theta")
        scale = exact((secret.get("scale") or {}).get(name, 1), "scale")
        if strange := [column for column in secret.get("scale") or {} if column != name]:
            raise ArgumentError("scale", f"{strange[0]!r} is not a column of this secret", allowed=repr(name))
    except (KeyError, ArgumentError, AttributeError) as error:
        fix = "give a distance in the column's units."
        raise SecretError(name, f"theta or scale cannot be read ({error})", fix=fix) from None
    if theta <= 0 or scale <= 0:
        raise SecretError(name, "the distance is not positive", fix="bf.public() protects no pair.")
    return theta / scale


def _uneven(positions: tuple[Fraction, ...], theta: Fraction) -> Ball:
    """Return the ball graph of explicit numbers, in exact integers."""
    unit = math.lcm(theta.denominator, *(place.denominator for place in positions))
    places = [int(place * unit) for place in positions]
    order = sorted(range(len(places)), key=places.__getitem__)
    line, reach, upper, top = [places[i] for i in order], int(theta * unit), [], 0
    for rank, place in enumerate(line):
        top = max(top, rank)
        while top + 1 < len(line) and line[top + 1] - place <= reach:
            top += 1
        upper.append(top)
    return Ball(np.array(upper, dtype=np.int64), np.array(order, dtype=np.int64))


def _partition(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    groups: Any = secret.get("groups")
    if is_width(groups):
        each = width_of(groups["width"], attribute)
        return Cliques(lambda: np.arange(attribute.cells, dtype=np.int64) // each, attribute.cells)
    return Cliques(group_cells(groups, attribute))


def _edges(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    try:
        codes = [[attribute.code(value) for value in pair] for pair in secret.get("pairs", ())]
    except DeclaredValueError as error:
        raise SecretError(attribute.name, str(error), fix="edges join declared values.") from None
    return Explicit(attribute.cells, np.array(codes, dtype=np.int64).reshape(-1, 2))


def joins_all(secret: Mapping[str, Any]) -> bool:
    """Return whether a secret joins missing cells to every other cell: unless it states something else."""
    return secret["secret"] != "public" and secret.get("missing") in (None, PROTECTED)


def has_stand_in(secret: Mapping[str, Any]) -> bool:
    """Return whether a secret keeps missing values as if they were one of the declared ones."""
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
        raise SecretError(name, f"missing={value!r} in a public column", fix="leave it out.")
    try:
        cell = cell_of(attribute, read_missing(value))
    except (ArgumentError, DeclaredValueError) as error:
        raise SecretError(name, f"missing={value!r}: {error}", fix=f"missing= is {ALLOWED}.") from None
    if cell is None or not attribute.nullable:
        fix = "say nullable=True, or leave missing= out."
        raise SecretError(name, f"missing={value!r}, and no value of it may be missing", fix=fix)
    return {**secret, "missing": _plain(attribute, value, cell)}


def _plain(attribute: Attribute, value: Any, cell: int) -> Any:
    """Return a stand-in as it is written: 5, 5.0 and "5" are one."""
    if isinstance(attribute, Values):
        return canonical_value(attribute.values[cell])
    if attribute.kind == "datetime":
        if not isinstance(attribute, Grid):
            return canonical_value(value)
        return str(from_ns(int(attribute.place(value)), attribute.tz))  # fingerprints depend on this form
    number = exact(value)
    return int(number) if number.denominator == 1 else canonical_value(value)


_MAKERS: dict[str, tuple[Callable[[Mapping[str, Any], Attribute], SecretGraph], tuple[str, ...]]] = {
    "full": (_full, ()),
    "threshold": (_threshold, ("theta", "metric", "scale")),
    "partition": (_partition, ("groups",)),
    "public": (_public, ("keys",)),
    "edges": (_edges, ("pairs",)),
    "absolute_error": (_absolute, ("k",)),
    "relative_error": (ratio_ball, ("c",)),
}
KINDS_OF_SECRET = tuple(_MAKERS)
