"""Secrets, as column metadata: plain dicts that say which values must stay indistinguishable.

Never sees rows. A secret is written by its constructor (`full`, `threshold`, ...), travels as a
plain dict in a pandera column's metadata, and becomes a graph once the column's cells are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DeclaredValueError, SecretError
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.ball import Ball
from pandas_blowfish.policy.exact import canonical, exact
from pandas_blowfish.policy.graph import Cliques, Explicit, SecretGraph
from pandas_blowfish.policy.instant import span_ns
from pandas_blowfish.policy.missing import WithMissing

Metadata = dict[str, dict[str, Any]]
METRICS = ("l1", "l2", "linf")


def full(step: Any = None, *, missing: str | None = None) -> Metadata:
    """Protect every pair of values: the bounded-DP promise, and the default.

    Args:
        step: Width of a cell, in the column's own units.
        missing: "public" leaves the missing cell of a nullable column unprotected.

    Examples:
        >>> full(step=10)
        {'blowfish': {'secret': 'full', 'step': 10}}
    """
    return _metadata("full", step, missing)


def threshold(
    theta: Any,
    step: Any = None,
    metric: str = "l1",
    scale: Mapping[str, Any] | None = None,
    *,
    missing: str | None = None,
) -> Metadata:
    """Protect values up to a distance `theta` apart.

    Args:
        theta: The distance, in the column's own units; positions for an ordered category; anything
            `pandas.Timedelta` takes for datetimes. Cells are joined up to ceil(theta / step) apart.
        step: Width of a cell, in the column's own units.
        metric: "l1", "l2" or "linf", for joint distances on several columns.
        scale: Units for joint distances, such as km per degree: {"lat": 111.2, "lon": 71.5}.
        missing: "public" leaves the missing cell of a nullable column unprotected.

    Examples:
        >>> threshold(5)
        {'blowfish': {'secret': 'threshold', 'theta': 5}}
    """
    if metric not in METRICS:
        raise ArgumentError("metric", f"unknown metric {metric!r}", allowed=", ".join(METRICS))
    if not isinstance(theta, (str, pd.Timedelta)) and not hasattr(theta, "total_seconds"):
        if exact(theta, "theta") <= 0:
            raise ArgumentError("theta", "the distance is not positive", fix="bf.public() protects no pair.")
    extra: dict[str, Any] = {"theta": _span(theta)}
    if metric != "l1":
        extra["metric"] = metric
    if scale is not None:
        extra["scale"] = {str(column): canonical(value) for column, value in scale.items()}
    return _metadata("threshold", step, missing, **extra)


def partition(groups: Any, step: Any = None, *, missing: str | None = None) -> Metadata:
    """Protect values of the same group from each other; the group itself is disclosed.

    Args:
        groups: {"name": [values], ...}, {value: "name", ...}, [[values], ...] (a `range` or
            `pandas.Interval` stands for its values), or a number: the width of even groups.
        step: Width of a cell, in the column's own units.
        missing: "public" leaves the missing cell of a nullable column unprotected.

    Examples:
        >>> partition({"lung": ["flu", "asthma"], "heart": ["angina"]})["blowfish"]["groups"]
        {'lung': ['flu', 'asthma'], 'heart': ['angina']}
    """
    return _metadata("partition", step, missing, groups=_groups(groups))


def public(step: Any = None) -> Metadata:
    """Declare a column known to everyone, the same in every possible table.

    Examples:
        >>> public()
        {'blowfish': {'secret': 'public'}}
    """
    return _metadata("public", step, None)


def edges(pairs: Iterable[Any], step: Any = None, *, missing: str | None = None) -> Metadata:
    """Protect just the listed pairs of values.

    Examples:
        >>> edges([("flu", "cold")])
        {'blowfish': {'secret': 'edges', 'pairs': [['flu', 'cold']]}}
    """
    listed = [list(pair) for pair in pairs]
    if any(len(pair) != 2 for pair in listed):
        raise ArgumentError("pairs", "an edge has two ends", allowed="a list of pairs of values")
    return _metadata("edges", step, missing, pairs=[[canonical_value(v) for v in pair] for pair in listed])


def build(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    """Return the graph a secret puts on the cells of a column."""
    maker = _MAKERS.get(secret.get("secret", ""))
    if maker is None:
        raise SecretError(
            attribute.name, f"unknown kind {secret.get('secret')!r}", fix=f"one of {', '.join(_MAKERS)}."
        )
    graph = maker(secret, attribute)
    if not attribute.nullable:
        return graph
    open_missing = secret["secret"] == "public" or secret.get("missing") == "public"
    return WithMissing(graph, joined=not open_missing)


def canonical_value(value: Any) -> Any:
    """Return a declared value as JSON keeps it (a float stays a float, an instant is ISO text)."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, float) else canonical(value)


def _metadata(secret: str, step: Any, missing: str | None, **extra: Any) -> Metadata:
    if missing not in (None, "public"):
        raise ArgumentError("missing", f"unknown choice {missing!r}", allowed='None or "public"')
    out: dict[str, Any] = {"secret": secret, **extra}
    if step is not None:
        out["step"] = _span(step)
    if missing is not None:
        out["missing"] = missing
    return {"blowfish": out}


def _span(value: Any) -> Any:
    """Return a distance as plain data: a time span as ISO text, a number as it was written."""
    if hasattr(value, "total_seconds") or type(value).__name__ == "timedelta64":
        return str(pd.Timedelta(value).isoformat())
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        exact(value, "distance")
        return value
    return canonical(exact(value, "distance"))


def _groups(groups: Any) -> Any:
    if isinstance(groups, (int, float, str, Fraction, pd.Timedelta)) and not isinstance(groups, bool):
        return {"width": _span(groups)}
    if (
        isinstance(groups, Mapping)
        and set(groups) == {"width"}
        and not isinstance(groups["width"], (list, range))
    ):
        return {"width": _span(groups["width"])}
    if isinstance(groups, Mapping) and all(_is_group(group) for group in groups.values()):
        return {str(name): _group(group) for name, group in groups.items()}
    if isinstance(groups, Mapping):
        by_name: dict[str, list[Any]] = {}
        for value, name in groups.items():
            by_name.setdefault(str(name), []).append(canonical_value(value))
        return by_name
    listed = list(groups) if isinstance(groups, Iterable) else []
    if listed and all(_is_group(group) for group in listed):
        return [_group(group) for group in listed]
    raise ArgumentTypeError("groups", "not groups of values", allowed="a dict or list of lists, or a width")


def _is_group(group: Any) -> bool:
    return isinstance(group, (list, tuple, set, frozenset, range, pd.Interval, pd.Index, np.ndarray, Mapping))


def _group(group: Any) -> Any:
    """Return one group as plain data: a list of values, or a half-open run {"low", "high"}."""
    if isinstance(group, Mapping):
        if set(group) != {"low", "high"}:
            raise ArgumentError(
                "groups", "a group is not a list of values", allowed="lists, or {'low', 'high'}"
            )
        return {"low": canonical_value(group["low"]), "high": canonical_value(group["high"])}
    if isinstance(group, range) and group.step == 1 and len(group):
        return {"low": group.start, "high": group.stop}
    if isinstance(group, pd.Interval):
        if group.closed != "left":
            raise ArgumentError("groups", "an interval is not closed on the left only", allowed="[low, high)")
        return {"low": canonical_value(group.left), "high": canonical_value(group.right)}
    values = [canonical_value(value) for value in group]
    return sorted(values, key=repr) if isinstance(group, (set, frozenset)) else values


def _full(_: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    return Cliques.full(attribute.cells)


def _public(_: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    return Cliques.none(attribute.cells)


def _threshold(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    """Join cells when some value of one is within theta of some value of the other."""
    name, times = attribute.name, attribute.kind == "datetime"
    if secret.get("metric", "l1") not in METRICS:
        raise SecretError(name, f"unknown metric {secret['metric']!r}", fix=f"one of {', '.join(METRICS)}.")
    try:
        theta = span_ns(secret["theta"], "theta") if times else exact(secret["theta"], "theta")
    except (KeyError, ArgumentError) as error:
        raise SecretError(
            name, f"theta cannot be read ({error})", fix="give a distance in the column's units."
        ) from None
    scale = exact((secret.get("scale") or {}).get(name, 1), "scale")
    if theta <= 0 or scale <= 0:
        raise SecretError(name, "the distance is not positive", fix="bf.public() protects no pair.")
    theta = theta / scale
    if isinstance(attribute, Grid):
        return Ball.even(attribute.cells, math.ceil(theta / attribute.step))
    if isinstance(attribute, Values) and attribute.numeric:
        return _uneven(attribute.positions, theta)
    if not attribute.ordered:
        raise SecretError(
            name, "its values have no distances", fix="use an ordered category, or bf.partition."
        )
    if theta.denominator != 1:
        raise SecretError(name, "theta counts positions of an ordered category", fix="give a whole number.")
    return Ball.even(attribute.cells, int(theta))


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
    groups = secret.get("groups")
    labels = np.full(attribute.cells, -1, dtype=np.int64)
    if isinstance(groups, Mapping) and set(groups) == {"width"}:
        return Cliques(np.arange(attribute.cells) // _width(groups["width"], attribute))
    if not isinstance(groups, (Mapping, list, tuple)):
        raise SecretError(
            attribute.name, "its groups are not a dict or a list", fix="see help(bf.partition)."
        )
    for number, group in enumerate(groups.values() if isinstance(groups, Mapping) else groups):
        for cells in _members(group, attribute):
            taken = labels[cells]
            if ((taken >= 0) & (taken != number)).any() if isinstance(cells, slice) else 0 <= taken != number:
                raise SecretError(
                    attribute.name, "a cell is in two groups", fix="put each cell in one group."
                )
            labels[cells] = number
    if (labels < 0).any():
        missed = attribute.labels()[labels < 0][:3].tolist()
        raise SecretError(
            attribute.name,
            f"values such as {missed} are in no group",
            fix="list every declared value in a group.",
        )
    return Cliques(labels)


def _members(group: Any, attribute: Attribute) -> Iterable[Any]:
    """Yield the cells of a group, a run of them as a slice."""
    try:
        if isinstance(group, Mapping):
            yield slice(attribute.edge(group["low"]), attribute.edge(group["high"]))
        else:
            yield from (attribute.code(value) for value in group)
    except (ArgumentError, DeclaredValueError) as error:
        raise SecretError(
            attribute.name, str(error), fix="groups hold declared values, whole cells."
        ) from None


def _width(width: Any, attribute: Attribute) -> int:
    if not isinstance(attribute, Grid):
        raise SecretError(attribute.name, "a width needs evenly spaced numbers", fix="list the groups.")
    span = span_ns(width, "width") if attribute.kind == "datetime" else exact(width, "width")
    cells = span / attribute.step
    if cells < 1 or cells.denominator != 1:
        raise SecretError(
            attribute.name, "the width is not a multiple of the step", fix="groups are whole cells."
        )
    return int(cells)


def _edges(secret: Mapping[str, Any], attribute: Attribute) -> SecretGraph:
    try:
        codes = [[attribute.code(value) for value in pair] for pair in secret.get("pairs", ())]
    except DeclaredValueError as error:
        raise SecretError(attribute.name, str(error), fix="edges join declared values.") from None
    return Explicit(attribute.cells, np.array(codes, dtype=np.int64).reshape(-1, 2))


_MAKERS: dict[str, Callable[[Mapping[str, Any], Attribute], SecretGraph]] = {
    "full": _full,
    "threshold": _threshold,
    "partition": _partition,
    "public": _public,
    "edges": _edges,
}
