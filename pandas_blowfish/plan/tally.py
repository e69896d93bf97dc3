"""Questions as linear maps over cells: counts of cells gathered into bins. Never sees rows."""

from __future__ import annotations

import bisect
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DeclaredValueError, DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.exact.frequency import find_begins, frequency_text, shared_step
from pandas_blowfish.policy.attribute import Attribute, Grid, Values, is_missing, with_missing
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Condition, Sieve, columns_of, sieve
from pandas_blowfish.policy.secret import canonical_value

MAX_ANSWERS = 10**8
ALLOWED = "a number, edges, intervals, a frequency of instants, or {name: [values]}"
INTERVAL = re.compile(r"([\[(])\s*(.+?)\s*,\s*(.+?)\s*([\])])")  # as pandas prints one
MAX_LISTED = 200  # bins that the ledger spells out
MAX_TABLES = 20_000  # tables asked for together
MAX_TOGETHER = 10  # columns of a table that is asked for together with others


@dataclass(frozen=True, eq=False)
class Binning:
    """One column's cells, each counted in one bin or (-1) in none; labels None: each cell by itself."""

    attribute: Attribute
    labels: Ints | None
    index: pd.Index[Any]

    @classmethod
    def single(cls, attribute: Attribute) -> Binning:
        """Return one bin for all cells of a column."""
        return cls(attribute, np.zeros(attribute.size, dtype=np.int64), pd.RangeIndex(1))

    @property
    def bins(self) -> int:
        """Return the number of bins."""
        return len(self.index)

    def join(self) -> Binning:
        """Return one bin for all cells that are in some."""
        if self.labels is None:
            return Binning.single(self.attribute)
        return Binning(self.attribute, frozen(np.minimum(self.labels, 0)), pd.RangeIndex(1))


@dataclass(frozen=True, eq=False)
class Tally:
    """How many rows lie in each bin of a product of columns, bins in C order.

    Attributes:
        binnings: The columns that are looked at; those of a filter alone are last, with one bin.
        shown: How many of them index the answers.
        condition: What a row must satisfy to be counted.
    """

    binnings: tuple[Binning, ...]
    shown: int | None = None
    condition: Condition | None = None

    @property
    def levels(self) -> int:
        """Return how many columns index the answers."""
        return len(self.binnings) if self.shown is None else self.shown

    def rebin(self, axis: int, labels: Ints, bins: int) -> Tally:
        """Return the counts with the cells of one column in other bins, labelled by their numbers."""
        own = Binning(self.binnings[axis].attribute, frozen(labels), pd.RangeIndex(bins))
        return replace(self, binnings=(*self.binnings[:axis], own, *self.binnings[axis + 1 :]))

    @property
    def domain(self) -> Domain:
        """Return the cells that are looked at."""
        return Domain(tuple(binning.attribute for binning in self.binnings))

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of bins of each column."""
        return tuple(binning.bins for binning in self.binnings)

    @property
    def size(self) -> int:
        """Return the number of bins."""
        return math.prod(self.shape)

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: levels in the order asked, the full declared domain."""
        shown = self.binnings[: self.shown]
        if not shown:
            return pd.RangeIndex(1)
        if len(shown) == 1:
            return shown[0].index
        return pd.MultiIndex.from_product([binning.index for binning in shown])

    @cached_property
    def marks(self) -> tuple[Ints, ...]:
        """Return for each column the bin of each cell, -1 for none."""
        return tuple(np.arange(b.attribute.size) if b.labels is None else b.labels for b in self.binnings)

    @cached_property
    def sieve(self) -> Sieve:
        """Return which cells are counted: those the condition holds for, and that have a bin."""
        return sieve(self.condition, self.domain.columns, self.marks)

    @cached_property
    def occupied(self) -> NDArray[np.bool_]:
        """Return whether each bin, in C order, holds a cell that is counted."""
        return self.sieve.find_occupied(self.marks, self.shape)

    def find_passing(self, axis: int) -> NDArray[np.bool_]:
        """Return which cells of a column are counted for some values of the others."""
        others = tuple(place for place in range(len(self.binnings)) if place != axis)
        return np.asarray(np.asarray(self.sieve.passes.any(axis=others))[self.sieve.classes[axis]])

    def labels(self) -> Ints:
        """Return the bin of every cell of the domain in C order, -1 for none."""
        flat = np.zeros(1, dtype=np.int64)
        for binning, each in zip(self.binnings, self.marks, strict=True):
            flat = (flat[:, None] * binning.bins + np.maximum(each, 0)).ravel()
        return np.where(self.sieve.cells(), flat, -1)

    def bins_at(self, cells: Cells) -> Ints:
        """Return the bin of each of some cells, of these columns and perhaps others; -1 for none."""
        flat, classes = np.zeros(len(cells), dtype=np.int64), []
        for binning, marks, own in zip(self.binnings, self.marks, self.sieve.classes, strict=True):
            codes = np.where(cells.absent, 0, cells.codes[binning.attribute.name])
            flat = flat * binning.bins + np.maximum(marks[codes], 0)
            classes.append(own[codes])
        counted = self.sieve.passes[tuple(classes)] & ~cells.absent
        return np.where(counted, flat, -1)


class People(Tally):
    """How many people have at least one row in each bin; each is counted once there."""

    @classmethod
    def passing(cls, counted: Tally) -> People:
        """Return the counts of people with a row that a tally counts."""
        return cls(counted.binnings, counted.shown, counted.condition)


def tally(domain: Domain, columns: Sequence[str], bins: Any, condition: Condition | None = None) -> Tally:
    """Return the histogram of some columns, refusing what has too many bins.

    Args:
        domain: The declared cells.
        columns: The columns, in the order asked.
        bins: None for the cells themselves; for one column a number of bins, a list of edges (as
            `numpy.histogram` reads them: [low, next low), the last one closed; None for an end of the
            domain), intervals, a frequency of instants or {name: [values]}; for several a dict by column.
        condition: What a row must satisfy to be counted.
    """
    chosen = domain.select(columns)
    by_column = bins_by_column(columns, bins)
    shown = [bin_column(attribute, by_column.get(attribute.name)) for attribute in chosen]
    others = [] if condition is None else [c for c in columns_of(condition) if c not in columns]
    hidden = [Binning.single(each) for each in domain.select(others)]
    result = Tally((*shown, *hidden), len(shown), condition)
    if result.size > MAX_ANSWERS:
        fix = "ask for fewer columns, or coarser bins."
        if bins is None:
            fix = feasible(chosen)
        raise DomainTooLargeError("this histogram", result.size, MAX_ANSWERS, fix=fix)
    return result


def feasible(domain: Domain) -> str:
    """Return what could be asked of some columns together: the widest tables of all of them that fit.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> feasible(Domain(tuple(integers(name, 0, 99) for name in "abcdef")))
        'marginal([...], order=3) of these columns has 20,000,000 answers; or use fewer columns.'
    """
    sizes = domain.shape
    total = [1] + [0] * len(sizes)  # total[k]: the cells of all tables of k columns
    for size in sizes:
        for order in range(len(sizes), 0, -1):
            total[order] += total[order - 1] * size
    orders = range(1, min(len(sizes), MAX_TOGETHER) + 1)
    fits = [k for k in orders if total[k] <= MAX_ANSWERS and math.comb(len(sizes), k) <= MAX_TABLES]
    if not fits:
        return "declare wider steps, or ask for fewer columns."
    asked = f"marginal([...], order={fits[-1]})"
    return f"{asked} of these columns has {total[fits[-1]]:,} answers; or use fewer columns."


def listed_bins(bins: Any) -> Any:
    """Return bins that can be read twice: generators, arrays and sets become lists, missing is None.

    Intervals, infinite ends, offsets and time spans become text, as queries that are text write them.

    Examples:
        >>> listed_bins([-np.inf, 18, np.inf]), listed_bins(pd.offsets.MonthBegin())
        (['-inf', 18, 'inf'], 'MS')
        >>> listed_bins(pd.interval_range(0, 20, periods=2, closed="left"))
        ['[0, 10)', '[10, 20)']
    """
    if isinstance(bins, Mapping):
        return {key: listed_bins(values) for key, values in bins.items()}
    if (frequency := frequency_text(bins)) is not None:
        return frequency
    if isinstance(bins, pd.Interval):
        bins = [bins]
    if isinstance(bins, np.generic) or (isinstance(bins, np.ndarray) and not bins.ndim):
        return bins.item()
    if isinstance(bins, (set, frozenset)):
        bins = sorted(bins, key=repr)
    if isinstance(bins, (str, bytes)) or not hasattr(bins, "__iter__"):
        return bins
    return [_listed(value) for value in bins]


def _listed(value: Any) -> Any:
    """Return an edge or a value of a list: intervals and infinite ones as text, missing as None."""
    if isinstance(value, pd.Interval):
        left, right = (_listed(end) for end in (value.left, value.right))
        sides = "[" if value.closed_left else "(", "]" if value.closed_right else ")"
        return f"{sides[0]}{canonical_value(left)}, {canonical_value(right)}{sides[1]}"
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return None if is_missing(value) else value


def describe_bins(bins: Any) -> Any:
    """Return listed bins as plain data for the ledger: a dict as pairs, a long list as its hash."""
    if isinstance(bins, Mapping):
        return [[str(key), describe_bins(value)] for key, value in bins.items()]
    if not isinstance(bins, list):
        return bins
    return shorten([canonical_value(value) for value in bins])


def shorten(values: Any) -> Any:
    """Return plain data as it is, a long list as its hash."""
    if not isinstance(values, list) or len(values) <= MAX_LISTED:
        return values
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
    return f"{len(values):,} values, sha256 {digest}"


def bins_by_column(columns: Sequence[str], bins: Any) -> dict[str, Any]:
    """Return bins by column: a dict of them as it is, others of the one column there is."""
    if bins is None:
        return {}
    if isinstance(bins, Mapping) and bins and set(bins) <= set(columns):
        return dict(bins)
    if len(columns) == 1:
        return {columns[0]: bins}
    if isinstance(bins, Mapping) and bins:
        strange = ", ".join(repr(key) for key in bins if key not in columns)
        raise ArgumentError(
            "bins", f"{strange} is not a column that was asked for", allowed=", ".join(columns)
        )
    raise ArgumentError(
        "bins", "several columns need a dict", allowed=f"bins={{column: ...}} with {', '.join(columns)}"
    )


def bin_column(attribute: Attribute, bins: Any) -> Binning:
    """Return the cells of a column in bins: None for each by itself, else what `tally` takes of one."""
    if bins is None:
        return Binning(attribute, None, attribute.index())
    if isinstance(bins, Binning):
        return bins
    if isinstance(bins, Mapping):
        return _groups(attribute, bins)
    if not attribute.ordered:
        raise ArgumentError(
            "bins",
            f"{attribute.name!r} has no order to cut",
            fix='group its values: bins={"name": [values], ...}',
        )
    starts, stops = _cuts(attribute, bins)
    labels = np.full(attribute.size, -1, dtype=np.int64)
    for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        labels[start:stop] = number
    return _with_missing(attribute, labels, attribute.name_runs(starts, stops))


def _cuts(attribute: Attribute, bins: Any) -> tuple[list[int], list[int]]:
    """Return where each bin starts and stops, in cells."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        if not 1 <= bins <= attribute.cells:
            raise ArgumentError(
                "bins", f"{bins} bins", allowed=f"1 to {attribute.cells} for {attribute.name!r}"
            )
        edges = [attribute.cells * number // int(bins) for number in range(int(bins) + 1)]
        return edges[:-1], edges[1:]
    if isinstance(bins, str) and attribute.kind == "datetime":
        edges = _periods(attribute, bins)
        return edges[:-1], edges[1:]
    if isinstance(bins, (str, bytes, bool)) or not hasattr(bins, "__iter__"):
        problem = f"a {type(bins).__name__} is neither a number nor a list of edges nor a dict"
        raise ArgumentTypeError("bins", problem, allowed=ALLOWED)
    listed = list(bins)
    given = [each for each in listed if each is not None]  # missing values have a bin of their own
    if given and all(isinstance(each, str) and INTERVAL.fullmatch(each) for each in given):
        return _intervals(attribute, given)
    if len(listed) < 2:
        raise ArgumentError("bins", "fewer than two edges", allowed="a list of at least two rising edges")
    opens = _is_open(listed[0], "-inf"), _is_open(listed[-1], "inf")
    edges = [attribute.edge(value) for value in listed[opens[0] : len(listed) - opens[1]]]
    edges = [*[0] * opens[0], *edges, *[attribute.cells] * opens[1]]
    if any(a >= b for a, b in pairwise(edges)):
        raise ArgumentError("bins", "an edge repeats, falls or leaves an empty bin", allowed="rising edges")
    if not opens[1] and (isinstance(attribute, Values) or (isinstance(attribute, Grid) and attribute.single)):
        edges[-1] = _closed_end(attribute, listed[-1], edges[-1])
    return edges[:-1], edges[1:]


def _is_open(edge: Any, infinite: str) -> bool:
    """Return whether a first or last edge stands for the end of the domain."""
    return edge is None or (isinstance(edge, str) and edge == infinite)


def _periods(attribute: Attribute, text: str) -> list[int]:
    """Return the cells at which periods of a frequency begin, and the end: the first and last may be cut."""
    if isinstance(attribute, Values):
        places = [int(place) for place in attribute.positions]
        begins = find_begins(text, places[0], places[-1], attribute.tz)
        found = {0, *(bisect.bisect_left(places, each) for each in begins), len(places)}
        return sorted(found)  # periods without a declared value are left out
    assert isinstance(attribute, Grid)
    low, high, step = int(attribute.low), int(attribute.high) - attribute.open_high, int(attribute.step)
    begins = find_begins(text, low, high, attribute.tz)
    if any((each - low) % step for each in begins):
        raise ArgumentError(
            "bins",
            f"periods of {text!r} begin inside of cells of {attribute.name!r}",
            allowed=f"{attribute.describe()}, on cell edges",
            fix=f"declare step={shared_step(low, step, begins)!r}, or give edges on cells.",
        )
    return [0, *((each - low) // step for each in begins), attribute.cells]


def _intervals(attribute: Attribute, listed: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return intervals, as text, as runs of cells; what lies between them is in none."""
    runs = [_run(attribute, text) for text in listed]
    if not runs or any(stop <= start for start, stop in runs):
        raise ArgumentError("bins", "an interval holds no declared value", allowed=attribute.describe())
    if any(one[1] > two[0] for one, two in pairwise(runs)):
        raise ArgumentError("bins", "intervals overlap or fall", allowed="rising intervals")
    return [start for start, _ in runs], [stop for _, stop in runs]


def _run(attribute: Attribute, text: str) -> tuple[int, int]:
    """Return an interval as the run of cells start..stop-1: clipped to the domain, on cell edges inside."""
    match = INTERVAL.fullmatch(text)
    assert match is not None
    low, high = (None if end in ("inf", "-inf") else end for end in match.group(2, 3))
    closed = match[1] == "[", match[4] == "]"
    if isinstance(attribute, Values):
        if not attribute.numeric:
            fix = 'group its values: bins={"name": [values], ...}'
            raise ArgumentError("bins", f"{attribute.name!r} has no axis to cut", fix=fix)
        left = bisect.bisect_left if closed[0] else bisect.bisect_right
        right = bisect.bisect_right if closed[1] else bisect.bisect_left
        start = 0 if low is None else left(attribute.positions, attribute.place(low))
        return start, attribute.cells if high is None else right(attribute.positions, attribute.place(high))
    assert isinstance(attribute, Grid)
    if attribute.kind == "integer":  # the whole numbers from first to last, whichever sides are closed
        first = attribute.low if low is None else attribute.place(low)
        last = attribute.high if high is None else attribute.place(high)
        begin = math.ceil(first) if closed[0] or low is None else math.floor(first) + 1
        end = math.floor(last) if closed[1] or high is None else math.ceil(last) - 1
        stop = attribute.cells if end >= attribute.high else attribute.edge(end + 1, closed=False)
        return attribute.edge(begin, closed=False), stop
    if (low is not None and not closed[0]) or (high is not None and closed[1]):
        raise ArgumentError(
            "bins",
            f"the interval {text} has other sides than the cells of {attribute.name!r}",
            allowed="[low, high), closed on the left",
            fix='pd.IntervalIndex.from_breaks(edges, closed="left"), or the list of edges.',
        )
    start = 0 if low is None else attribute.edge(low, closed=False)
    return start, attribute.cells if high is None else attribute.edge(high, closed=False)


def _closed_end(attribute: Attribute, value: Any, edge: int) -> int:
    """Return the end of the last bin, which holds its right edge as in numpy.histogram."""
    try:
        return max(edge, attribute.code(value) + 1)
    except DeclaredValueError:
        return edge


def _groups(attribute: Attribute, groups: Mapping[Any, Any]) -> Binning:
    labels = np.full(attribute.size, -1, dtype=np.int64)
    names = [str(name) for name in groups]
    for number, values in enumerate(groups.values()):
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise ArgumentTypeError(
                "bins", "a group is not a list of values", allowed="{name: [values], ...}"
            )
        for value in values:
            code = attribute.cells if attribute.nullable and is_missing(value) else attribute.code(value)
            if labels[code] >= 0:
                raise ArgumentError("bins", f"a cell of {attribute.name!r} is in two groups")
            labels[code] = number
    if not names or len(set(names)) != len(names) or len(set(labels[labels >= 0])) != len(names):
        raise ArgumentError("bins", "groups are empty or share a name", allowed="{name: [values], ...}")
    return _with_missing(attribute, labels, pd.CategoricalIndex(names, categories=names, name=attribute.name))


def _with_missing(attribute: Attribute, labels: Ints, index: pd.Index[Any]) -> Binning:
    """Give missing values a bin of their own, last, unless a group took them."""
    if not attribute.nullable or labels[-1] >= 0:
        return Binning(attribute, frozen(labels), index)
    labels[-1] = len(index)
    return Binning(attribute, frozen(labels), with_missing(index))
