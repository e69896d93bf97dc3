"""Groups of a partition, in every form a person may write, as the group of each cell. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeclaredValueError,
    DomainTooLargeError,
    SecretError,
)
from pandas_blowfish.exact.instant import distance, is_span, span_ns
from pandas_blowfish.exact.number import canonical_value, exact
from pandas_blowfish.policy.attribute import Attribute, Grid, Values

MOST_GROUPED = 2 * 10**7  # cells whose groups are listed; those of a width are worked out


def plain_groups(groups: Any) -> Any:
    """Return groups as plain data: lists of values by name or in a list, or {"width": ...}.

    Examples:
        >>> plain_groups({"flu": "lung", "asthma": "lung", "angina": "heart"})
        {'lung': ['flu', 'asthma'], 'heart': ['angina']}
    """
    if isinstance(groups, (int, float, str, Fraction)) or is_span(groups):
        return {"width": distance(groups, "width")}
    if is_width(groups):
        return {"width": distance(groups["width"], "width")}
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


def group_cells(groups: Any, attribute: Attribute) -> NDArray[np.int64]:
    """Return the group of each cell of a column; each cell must be in one."""
    name = attribute.name
    if is_width(groups):
        return np.asarray(np.arange(attribute.cells) // width_of(groups["width"], attribute))
    if attribute.cells > MOST_GROUPED:
        fix = "group by a width, as in bf.partition(10), or declare a wider step."
        what = f"column {name!r}, grouped value by value,"
        raise DomainTooLargeError(what, attribute.cells, MOST_GROUPED, fix=fix)
    labels = np.full(attribute.cells, -1, dtype=np.int64)
    number = -1
    for number, group in enumerate(groups.values() if isinstance(groups, Mapping) else groups):
        cells = _members(group, attribute)
        if ((labels[cells] >= 0) & (labels[cells] != number)).any():
            raise SecretError(name, "a cell is in two groups", fix="put each cell in one group.")
        labels[cells] = number
    if isinstance(attribute, Values) and attribute.other and labels[-1] < 0:
        labels[-1] = number + 1  # a group of its own, where it is in none
    if (labels < 0).any():
        missed = attribute.labels()[labels < 0][:3].tolist()
        fix = "list every declared value in a group."
        raise SecretError(name, f"values such as {missed} are in no group", fix=fix)
    return labels


def is_grid(groups: Any) -> bool:
    """Return whether groups are widths by column name, the form of a joint partition."""
    if not isinstance(groups, Mapping) or set(groups) == {"width"} or not groups:
        return False
    widths = [
        (isinstance(w, (int, float, Fraction)) and not isinstance(w, bool)) or is_span(w)
        for w in groups.values()
    ]
    return all(isinstance(name, str) for name in groups) and all(widths)


def is_width(groups: Any) -> bool:
    """Return whether plain groups are all of one width."""
    return isinstance(groups, Mapping) and set(groups) == {"width"} and not _is_group(groups["width"])


def _is_group(group: Any) -> bool:
    return isinstance(
        group, (list, tuple, set, frozenset, range, pd.Interval, pd.Index, pd.Series, np.ndarray, Mapping)
    )


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


def _members(group: Any, attribute: Attribute) -> slice | NDArray[np.int64]:
    """Return the cells of a group, a run of them as a slice."""
    try:
        if isinstance(group, Mapping):
            low, high = (attribute.edge(group[end], closed=False) for end in ("low", "high"))
            return slice(low, high)
        return np.array([attribute.code(value) for value in group], dtype=np.int64)
    except (ArgumentError, DeclaredValueError) as error:
        raise SecretError(
            attribute.name, str(error), fix="groups hold declared values, whole cells."
        ) from None


def width_of(width: Any, attribute: Attribute) -> int:
    """Return how many cells a group of this width has."""
    if not isinstance(attribute, Grid):
        raise SecretError(attribute.name, "a width needs evenly spaced numbers", fix="list the groups.")
    try:
        span = span_ns(width, "width") if attribute.kind == "datetime" else exact(width, "width")
    except ArgumentError as error:
        raise SecretError(attribute.name, str(error), fix="give a width in the column's units.") from None
    cells = span / attribute.step
    if cells < 1 or cells.denominator != 1:
        raise SecretError(
            attribute.name, "the width is not a multiple of the step", fix="groups are whole cells."
        )
    return min(int(cells), attribute.cells)
