"""range: how many rows lie in ranges of an ordered column, or boxes of several. Touches no row itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tables.boxes import Boxes
from pandas_blowfish.plan.tally import MAX_LISTED, bin_column
from pandas_blowfish.policy.expression import columns_of
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.ordered_column import (
    describe_bounds,
    describe_run,
    ordered_attribute,
    range_labels,
    ranges,
    read_bounds,
)
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name


def plan_range(
    policy: Policy, columns: Any, bounds: Any, *, epsilon: Any, strategy: str, scope: Scope
) -> Plan:
    """Return the plan of ranges, or of boxes over several columns; see `df.blowfish.range`."""
    names = column_names(columns)
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    if bounds is None:
        raise ArgumentTypeError("bounds", "not given", allowed='[(low, high), ...] or "all"')
    bounds = list(bounds) if hasattr(bounds, "__next__") else bounds
    query: dict[str, Any] = {"verb": "range", "columns": names, "strategy": chosen, **scope.facts()}
    if len(names) == 1:
        asked = ranges(policy, scope, names[0], bounds)
        query["bounds"] = describe_bounds(policy.domain[names[0]], bounds)
        return ask(policy, asked, spend, query=query, strategy=chosen)
    boxes = _boxes(policy, scope, names, bounds)
    query["bounds"] = _described(policy, names, boxes)
    return ask(policy, [boxes], spend, query=query, strategy=chosen)


def _boxes(policy: Policy, scope: Scope, names: list[str], bounds: Any) -> Boxes:
    """Return the question for boxes: one pair per column each."""
    scope.refuse_grouped(names)
    attributes = [ordered_attribute(policy, name) for name in names]
    columns = _by_column(names, bounds)
    cuts = [read_bounds(attribute, own) for attribute, own in zip(attributes, columns, strict=True)]
    condition = scope.condition
    hidden = [] if condition is None else columns_of(condition)
    looked_at = list(dict.fromkeys([*scope.groups, *names, *hidden]))
    domain = policy.domain.select(looked_at)
    groups = len(scope.groups)

    def labels() -> pd.Index[Any]:
        pairs = zip(attributes, cuts, strict=True)
        levels = [range_labels(attribute, *cut) for attribute, cut in pairs]
        inner = pd.MultiIndex.from_arrays(levels, names=names)
        if not groups:
            return inner
        levels = [bin_column(domain[name], scope.binned.get(name)).index for name in scope.groups]
        outer = pd.MultiIndex.from_product(levels)
        rows = np.repeat(np.arange(len(outer)), len(inner))
        again = np.tile(np.arange(len(inner)), len(outer))
        parts = [outer.get_level_values(level)[rows] for level in range(outer.nlevels)]
        parts += [inner.get_level_values(level)[again] for level in range(inner.nlevels)]
        return pd.MultiIndex.from_arrays(parts, names=[*outer.names, *inner.names])

    starts, stops = (tuple(cut[side] for cut in cuts) for side in (0, 1))
    return Boxes(domain, groups, starts, stops, labels, condition, scope.binned)


def _by_column(names: Sequence[str], bounds: Any) -> list[Any]:
    """Return the pairs of each column, box by box."""
    pairs = ", ".join(["(low, high)"] * len(names))
    wanted = f"[({pairs}), ...]: one pair for each of {', '.join(names)}"
    if isinstance(bounds, str):
        raise ArgumentError("bounds", f"{bounds!r} of several columns", allowed=wanted)
    if isinstance(bounds, np.ndarray):
        if bounds.ndim != 3 or bounds.shape[1:] != (len(names), 2) or not len(bounds):
            raise ArgumentError("bounds", f"an array of shape {bounds.shape}", allowed=wanted)
        return [bounds[:, place] for place in range(len(names))]
    if not isinstance(bounds, Sequence) or not len(bounds):
        raise ArgumentTypeError("bounds", "not boxes", allowed=wanted)
    if len(bounds) == len(names) and all(_is_range(each) for each in bounds):
        bounds = [bounds]  # a single box
    for box in bounds:
        listed = isinstance(box, (Sequence, np.ndarray)) and not isinstance(box, (str, bytes))
        if not listed or len(box) != len(names):
            raise ArgumentTypeError("bounds", "a box has not one pair per column", allowed=wanted)
        if not all(_is_range(each) for each in box):
            raise ArgumentTypeError("bounds", "a box's side is not a pair", allowed=wanted)
    return [[box[place] for box in bounds] for place in range(len(names))]


def _is_range(value: Any) -> bool:
    """Return whether a value is one pair of ends, and not a box."""
    if isinstance(value, pd.Interval):
        return True
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) or len(value) != 2:
        return False
    return not any(isinstance(end, (tuple, list, np.ndarray, pd.Interval)) for end in value)


def _described(policy: Policy, names: Sequence[str], boxes: Boxes) -> Any:
    """Return boxes as plain data, the same however they were spelt: many as a hash of their cells."""
    cells = np.stack([np.column_stack(pair) for pair in zip(boxes.starts, boxes.stops, strict=True)], axis=1)
    if len(cells) > MAX_LISTED:
        digest = hashlib.sha256(np.ascontiguousarray(cells.astype("<i8")).tobytes()).hexdigest()
        return f"{len(cells):,} boxes of cells, sha256 {digest}"
    attributes = [policy.domain[name] for name in names]
    return [
        [
            describe_run(attribute, int(low), int(high))
            for attribute, (low, high) in zip(attributes, box, strict=True)
        ]
        for box in cells
    ]
