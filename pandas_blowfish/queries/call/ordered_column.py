"""An ordered column as the axis of a question: its cells, its prefixes, its ranges. Touches no row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.exact.instant import from_ns
from pandas_blowfish.exact.number import canonical_value, exact, number, plain
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.linear.listed_ranges import ListedRanges
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.plan.tables.question import Counts
from pandas_blowfish.plan.tally import MAX_LISTED, Binning, Tally
from pandas_blowfish.policy.attribute import (
    Attribute,
    Grid,
    Values,
    half_open,
    high_cell,
    is_missing,
    low_cell,
)
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, column_names

NONE: tuple[Ints, Ints] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
MAX_LINES = 10**7  # bins beyond which only plain counts are considered
MAX_RANGES = 10**7


def cells(tally: Tally) -> Question:
    """Return the histogram of a tally as a question along its last column, where there is one."""
    shown = len(tally.binnings) if tally.shown is None else tally.shown
    if not shown or tally.size > MAX_LINES or tally.binnings[shown - 1].bins < 2:
        return Counts(tally)
    return Spans(tally, "cells", NONE, lambda: tally.binnings[shown - 1].index)


def prefixes(policy: Policy, scope: Scope, column: str) -> Spans:
    """Return the question for every prefix of an ordered column's values, missing ones left out."""
    attribute = ordered_attribute(policy, column)
    labels: Ints | None = None
    if attribute.nullable:
        labels = frozen(np.append(np.arange(attribute.cells), -1))
    binning = Binning(attribute, labels, attribute.labels())
    return Spans(scope.tally(policy, [column], {column: binning}), "prefixes", NONE, lambda: binning.index)


def ranges(policy: Policy, scope: Scope, column: str, bounds: Any) -> list[Question]:
    """Return the question for some ranges of an ordered column, in ways that have the same answers.

    Cells that no range distinguishes are one atom. Cells in no range are atoms too, so that the whole line is
    counted, or left out, which may need less noise. The last way is a workload of these ranges alone.
    """
    attribute = ordered_attribute(policy, column)
    if isinstance(bounds, str) and bounds == "all":
        return [_every(policy, scope, attribute)]
    starts, stops = read_bounds(attribute, bounds)
    edges, places = np.unique(np.concatenate([[0, attribute.cells], starts, stops]), return_inverse=True)
    low, high = np.split(places.reshape(-1)[2:], 2)
    atom = np.searchsorted(edges, np.arange(attribute.size), "right") - 1
    atom[attribute.cells :] = -1
    inside = np.zeros(len(edges), dtype=np.int64)
    np.add.at(inside, low, 1)
    np.add.at(inside, high, -1)
    covered = np.cumsum(inside)[:-1] > 0
    whole = _ways(policy, scope, attribute, atom, low, high, (starts, stops))
    found: list[Question] = [whole]
    if not covered.all():
        number = np.append(np.where(covered, np.cumsum(covered) - 1, -1), -1)
        last = number[high - 1] + 1
        found.append(_ways(policy, scope, attribute, number[atom], number[low], last, (starts, stops)))
    return [*found, ListedRanges.of(whole)]


def ordered_attribute(policy: Policy, column: str) -> Attribute:
    """Return a declared column whose values have an order, or raise."""
    attribute = policy.domain.select([column])[column]  # refuses what has no cells, or too many to list
    if not attribute.ordered:
        raise ArgumentError(
            "column",
            f"the values of {column!r} have no order",
            fix="declare pa.Column(pd.CategoricalDtype([...], ordered=True)), or list numbers as they rise.",
        )
    return attribute


def one_column(columns: Any, verb: str) -> str:
    """Return the single column that a verb is about."""
    names = column_names(columns)
    if len(names) > 1:
        fix = "agg({column: names}) and describe(columns) are about several, in one charge."
        raise ArgumentError("columns", f"{verb} of several columns", allowed="one ordered column", fix=fix)
    return names[0]


def describe_bounds(attribute: Attribute, bounds: Any) -> Any:
    """Return ranges as plain data, the same however they were spelt: very many as a hash of their cells."""
    if isinstance(bounds, str):
        return bounds
    starts, stops = read_bounds(attribute, bounds)
    if len(starts) > MAX_LISTED:
        cells = np.column_stack([starts, stops]).astype("<i8")
        return f"{len(starts):,} ranges of cells, sha256 {hashlib.sha256(cells.tobytes()).hexdigest()}"
    return [describe_run(attribute, a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def describe_run(attribute: Attribute, start: int, stop: int) -> list[Any]:
    """Return the run of cells start..stop-1 as a pair that asks for it; an end of the domain is None."""
    if isinstance(attribute, Values):
        ends = [attribute.values[start], attribute.values[stop - 1]]
        text = [canonical_value(end) for end in ends]
    else:
        assert isinstance(attribute, Grid)
        places = [attribute.low + start * attribute.step, attribute.low + stop * attribute.step]
        if attribute.kind == "integer":
            places[1] -= 1
        text = [_edge_text(attribute, each) for each in places]
    return [None if start == 0 else text[0], None if stop == attribute.cells else text[1]]


def _edge_text(attribute: Grid, place: Fraction) -> Any:
    """Return an edge so that it reads back as it: an instant with its time, since a date is a day."""
    return str(from_ns(int(place), attribute.tz)) if attribute.kind == "datetime" else _number(place)


def _number(place: Fraction) -> Any:
    """Return an edge as a number that reads back as it, or, where no float does, as text."""
    shown = canonical_value(number(place))
    return shown if exact(shown) == place else plain(place)


def listed_bounds(bounds: Any) -> list[tuple[Any, Any]]:
    """Return ranges as pairs: one pair, a list or array of pairs, intervals."""
    if isinstance(bounds, pd.Interval):
        return [(bounds.left, bounds.right)]
    if isinstance(bounds, pd.IntervalIndex):
        bounds = list(bounds)
    if isinstance(bounds, (np.ndarray, pd.DataFrame)):
        array = np.asarray(bounds)
        dates = array.dtype.kind == "M"  # numpy's own list of instants would be of whole numbers
        bounds = [[pd.Timestamp(end) for end in pair] for pair in array] if dates else array.tolist()
    if not isinstance(bounds, Sequence) or isinstance(bounds, (str, bytes)) or not len(bounds):
        raise ArgumentTypeError("bounds", "not ranges", allowed='[(low, high), ...] or "all"')
    if len(bounds) == 2 and not any(_is_pair(each) for each in bounds):
        bounds = [bounds]
    if not all(_is_pair(each) for each in bounds):
        raise ArgumentTypeError("bounds", "a range is not a pair", allowed="(low, high), None for an end")
    pairs = [(e.left, e.right) if isinstance(e, pd.Interval) else tuple(e) for e in bounds]
    return [(_scalar(low), _scalar(high)) for low, high in pairs]


def read_bounds(attribute: Attribute, bounds: Any) -> tuple[Ints, Ints]:
    """Return ranges as runs of cells start..stop-1.

    Whole numbers, listed values and ordered categories are inclusive; float and datetime bins are
    [low, high) on cell edges, where a date as the upper end holds its day; None is the end of the domain.
    """
    _check_closed(attribute, bounds)
    whole = _whole_numbers(bounds)
    if whole is not None and isinstance(attribute, Grid) and attribute.single:
        if whole.min() < attribute.low or whole.max() > attribute.high or attribute.open_low:
            _ = [attribute.code(int(value)) for value in np.unique(whole)]  # raises for the one outside
        starts, stops = whole[:, 0] - int(attribute.low), whole[:, 1] - int(attribute.low) + 1
    else:
        pairs, lows, highs = listed_bounds(bounds), dict[Any, int](), dict[Any, int]()
        low_of, high_of = partial(low_cell, attribute), partial(high_cell, attribute, dates=True)
        starts = np.array([0 if low is None else _once(lows, low_of, low) for low, _ in pairs])
        last = attribute.cells
        stops = np.array([last if high is None else _once(highs, high_of, high) for _, high in pairs])
    if (stops <= starts).any():
        low, high = listed_bounds(bounds)[int(np.flatnonzero(stops <= starts)[0])]
        raise ArgumentError("bounds", f"({low!r}, {high!r}) is empty or reversed", allowed="low before high")
    return frozen(starts.astype(np.int64)), frozen(stops.astype(np.int64))


def _whole_numbers(bounds: Any) -> Ints | None:
    """Return bounds that are all whole numbers as an array of pairs; else None."""
    if not isinstance(bounds, (np.ndarray, list)) or not len(bounds):
        return None
    try:
        found = np.asarray(bounds)
    except ValueError:
        return None
    if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2:
        return None
    if found.dtype.kind == "u" and found.max() > np.iinfo(np.int64).max:
        return None
    return found.astype(np.int64)


def _once(known: dict[Any, Any], read: Callable[[Any], Any], value: Any) -> Any:
    """Return what is read from a value, remembered for the next time; 1, 1.0 and True stay distinct."""
    key = (type(value), value)
    try:
        if key not in known:
            known[key] = read(value)
    except TypeError:  # a value that cannot be looked up is no bound either
        return read(value)
    return known[key]


def _check_closed(attribute: Attribute, bounds: Any) -> None:
    wanted = "left" if half_open(attribute) else "both"
    given = bounds if isinstance(bounds, (list, tuple)) else [bounds]
    for each in given:
        if isinstance(each, (pd.Interval, pd.IntervalIndex)) and each.closed != wanted:
            raise ArgumentError(
                "bounds",
                f"intervals closed {each.closed!r}",
                allowed=f"closed={wanted!r} for {attribute.name!r}",
            )


def _ways(
    policy: Policy,
    scope: Scope,
    attribute: Attribute,
    atom: Ints,
    low: Ints,
    high: Ints,
    cut: tuple[Ints, Ints],
) -> Spans:
    binning = Binning(attribute, frozen(atom), pd.RangeIndex(int(atom.max()) + 1))
    tally = scope.tally(policy, [attribute.name], {attribute.name: binning})
    return Spans(tally, "ranges", (frozen(low), frozen(high)), lambda: range_labels(attribute, *cut))


def _every(policy: Policy, scope: Scope, attribute: Attribute) -> Spans:
    asked = prefixes(policy, scope, attribute.name)
    made = Spans(asked.tally, "all", NONE, lambda: range_labels(attribute, *made.ends))
    if made.per_line * made.groups > MAX_RANGES:
        raise DomainTooLargeError(
            "every range of this column",
            made.per_line * made.groups,
            MAX_RANGES,
            fix="list the ranges you need.",
        )
    return made


def range_labels(attribute: Attribute, starts: Ints, stops: Ints) -> pd.Index[Any]:
    """Return the names of ranges of cells, which may overlap or repeat."""
    if isinstance(attribute, Grid) or attribute.kind in ("integer", "float", "datetime"):
        return attribute.name_runs(starts.tolist(), stops.tolist())
    names = [str(name) for name in attribute.labels().tolist()]
    shown = [
        names[a] if b - a == 1 else f"{names[a]}..{names[b - 1]}" for a, b in zip(starts, stops, strict=True)
    ]
    return pd.CategoricalIndex(shown, categories=list(dict.fromkeys(shown)), name=attribute.name)


def _is_pair(value: Any) -> bool:
    if isinstance(value, pd.Interval):
        return True
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) == 2


def _scalar(value: Any) -> Any:
    return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value
