"""More questions to an earlier release: counts, ranges, quantiles, all free. Sees released frames only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.arrangement import SORTED, lengthen, schema_order
from pandas_blowfish.books.receipt import reading, require_parts
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DeclaredValueError, FrameError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.frequency import find_begins, frequency_text
from pandas_blowfish.exact.instant import constant_ns, date_end, from_ns
from pandas_blowfish.plan.scales import CLIQUES, ESTIMATE, derived_terms
from pandas_blowfish.plan.shape.covariance import range_variances, regroup
from pandas_blowfish.plan.shape.monotone import monotone
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.queries.call.ordered_column import listed_bounds
from pandas_blowfish.queries.quantile import RISING, curves_of, frame_of, inside_of, shares_of
from pandas_blowfish.release import (
    SHARES,
    Facts,
    count_columns,
    facts_of,
    is_shifted,
    unshaped_of,
    with_receipt,
)

Ints = NDArray[np.int64]
MOST_SAID = 50  # ranges that a receipt spells out
MOST_COUNTED = 1e30  # no count, with its noise, is as large
MOST_CELLS = 1_400  # whose every range, a million, can be listed


@dataclass(frozen=True, eq=False)
class Lines:
    """A released histogram, or cumulative one, read as cumulative counts.

    Attributes:
        positions: Unshaped cumulative counts, lines x (cells + 1).
        shown: The same of the counts as released.
        spread: The standard error of each position.
        cell_errors: Those of the answers as released: of single counts, or of cumulative ones.
        cells: The index of one line.
        groups: The index of the lines, None for a single one.
        facts: Those of its receipt.
        summed: Whether the counts were released cumulatively.
    """

    positions: Floats
    shown: Floats
    spread: Floats
    cell_errors: Floats
    cells: pd.Index[Any]
    groups: pd.Index[Any] | None
    facts: Facts
    summed: bool

    @property
    def is_exact(self) -> bool:
        """Tell whether the receipt states how errors go together, so that those of sums are known exactly."""
        return self.facts.get("covariance") is not None

    def errors(self, starts: Ints, stops: Ints) -> Floats:
        """Return the standard errors of sums of cells start..stop-1, lines x ranges; or upper bounds."""
        if self.is_exact:
            many, size = len(self.positions), len(self.cells)
            with reading():
                return np.sqrt(range_variances(self.facts["covariance"], many, size, starts, stops))
        low, high = self.spread[:, starts], self.spread[:, stops]
        if self.summed:
            together = self.facts["strategy"] in RISING
            return np.asarray(np.sqrt(low**2 + high**2) if together else low + high)
        if self.facts["strategy"] in RISING[:4]:
            return np.asarray(np.sqrt(np.maximum(high**2 - low**2, 0.0)))
        return np.asarray(high - low)


def lines_of(release: pd.DataFrame, *, ordered: bool = True) -> Lines:
    """Return a released `hist` or `cumhist` as cumulative counts, refusing one that was changed."""
    with reading():
        return _lines(release, ordered)


def in_line(release: pd.DataFrame, facts: Facts) -> tuple[pd.DataFrame, Facts]:
    """Return a release that was laid out as one label per row, in the order of the schema, and its facts."""
    release = lengthen(release)
    release = schema_order(release) if facts.get("layout") == SORTED else release
    return release, {key: value for key, value in facts.items() if key != "layout"}


def _lines(release: pd.DataFrame, ordered: bool) -> Lines:
    facts = facts_of(release)
    if facts.get("verb") not in ("hist", "cumhist", "marginal"):
        raise FrameError("only a hist or a cumhist answers more questions", fix="release one of them first.")
    if facts.get("values_are") == SHARES:
        raise FrameError("these are shares of counts", fix="release the counts, without normalize=True.")
    if not is_shifted(facts):
        require_parts(facts, ("post",))
    release, facts = in_line(release, facts)
    answers = facts.get("table_answers", facts.get("answers"))
    if len(release) != answers or not {"count", "std"} <= set(release.columns):
        raise FrameError("rows or columns are not as they were released", fix="ask the release itself.")
    index = release.index
    cells: pd.Index[Any] = index.levels[-1] if isinstance(index, pd.MultiIndex) else index
    missing = not isinstance(index, pd.MultiIndex) and bool(index.isna().any())
    size = len(cells)
    if isinstance(index, pd.MultiIndex):
        missing = bool((index.codes[-1] == -1).any())
        size += missing
        cells = index.get_level_values(-1)[:size]
    _check_order(index, cells, size, facts)
    listed = [release["count"].to_numpy(dtype=float), release["std"].to_numpy(dtype=float)]
    listed.append(listed[0] if is_shifted(facts) else unshaped_of(release, facts))
    if (listed[1] < 0).any() or not all((abs(each) < MOST_COUNTED).all() for each in listed[::2]):
        raise FrameError("counts or errors are not as they were released", fix="ask the release itself.")
    count, std, unshaped = (each.reshape(-1, size) for each in listed)
    if missing:
        count, std, unshaped, cells = count[:, :-1], std[:, :-1], unshaped[:, :-1], cells[:-1]
        cells = cells.astype("int64") if _whole(cells) else cells
    if ordered and not _has_order(cells):
        last = index.names[-1]
        fix = "ask for the counts themselves"
        if index.nlevels > 1:
            fix += ", or first for a sub-table that ends with an ordered column: .blowfish.marginal([...])"
        raise FrameError(
            f"{f'values of {last!r}' if last else 'the released values'} have no order", fix=f"{fix}."
        )
    summed = facts["verb"] == "cumhist"
    groups = index.droplevel(-1)[::size] if isinstance(index, pd.MultiIndex) else None
    positions, shown = (
        _from_start(each if summed else np.cumsum(each, axis=1)) for each in (unshaped, count)
    )
    spread = _from_start(std if summed else _added(facts, std))
    lines = Lines(positions, shown, spread, std, cells, groups, facts, summed)
    if summed or not lines.is_exact:
        return lines
    ends = np.arange(len(cells) + 1)
    return replace(lines, spread=lines.errors(0 * ends, ends))


def _from_start(each: Floats) -> Floats:
    """Return values by line with a 0 before the first."""
    return np.concatenate([np.zeros((len(each), 1)), each], axis=1)


def _check_order(index: pd.Index[Any], cells: pd.Index[Any], size: int, facts: Facts) -> None:
    """Refuse a release whose rows are in another order, or carry other labels."""
    names = list(index.names)
    same = names == facts.get("table", facts["columns"][: len(names)]) and not bool(cells.duplicated().any())
    if isinstance(index, pd.MultiIndex) and same:
        *outer, last = (np.asarray(codes).reshape(-1, size) for codes in index.codes)
        same = bool((last == last[:1]).all()) and all(bool((each == each[:, :1]).all()) for each in outer)
    known = cells[~np.asarray(cells.isna())]
    if same and isinstance(known, pd.CategoricalIndex):
        same = bool((np.diff(known.codes.astype(np.int64)) > 0).all())
    elif same and facts["verb"] == "cumhist":
        same = bool(known.is_monotonic_increasing)
    if not same:
        raise FrameError("rows are not in the order they were released in", fix="ask the release itself.")


def hist_again(release: pd.DataFrame, bins: Any = None) -> pd.DataFrame:
    """Return the counts of cells, or of coarser bins, that a release determines, from its unshaped counts.

    Args:
        release: A released hist or cumhist.
        bins: None, a number of bins, or a list of edges of released cells as in `numpy.histogram`.
    """
    lines = lines_of(release, ordered=bins is not None)
    size = len(lines.cells)
    if bins is None:
        found = _counts(lines, np.arange(size), np.arange(size) + 1, lines.cells, "hist()")
        return found.assign(count=np.diff(lines.shown, axis=1).ravel())
    starts, stops = _bins_again(lines, bins)
    if (stops <= starts).any() or (starts[1:] < stops[:-1]).any():
        raise ArgumentError("bins", "an edge repeats or falls, or bins overlap", allowed="rising edges")
    text = f"hist(bins={bins!r})" if len(starts) <= MOST_SAID else f"hist of {len(starts):,} bins"
    return _counts(lines, starts, stops, _labels(lines.cells, starts, stops), text)


def _bins_again(lines: Lines, bins: Any) -> tuple[Ints, Ints]:
    """Return the released cells at which bins start, and before which they stop."""
    cells, size = lines.cells, len(lines.cells)
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and 1 <= bins <= size:
        edges = np.array([size * number // int(bins) for number in range(int(bins) + 1)])
        return edges[:-1], edges[1:]
    text = frequency_text(bins)
    begins = cells.left if isinstance(cells, pd.IntervalIndex) else cells
    if text is not None and isinstance(begins, pd.DatetimeIndex):
        return _periods(lines, begins, text)
    listed = list(bins) if isinstance(bins, (list, tuple, np.ndarray, pd.Index)) else []
    if listed and all(isinstance(each, pd.Interval) for each in listed):
        closed = cells.closed if isinstance(cells, pd.IntervalIndex) else "both"
        if any(each.closed != closed for each in listed):
            raise ArgumentError(
                "bins", f"intervals closed {listed[0].closed!r}", allowed=f"closed={closed!r}"
            )
        starts = [_place(cells, each.left, last=False) for each in listed]
        return np.array(starts), np.array([_place(cells, each.right, last=True) for each in listed])
    if len(listed) > 1:
        first, last = (_is_open(each) for each in (listed[0], listed[-1]))
        begin = 0 if first else _place(cells, listed[0], last=False)
        inner = [_place(cells, value, last=False) for value in listed[1:-1]]
        edges = np.array([begin, *inner, size if last else _end(lines, listed[-1])])
        return edges[:-1], edges[1:]
    number = isinstance(bins, (int, np.integer)) and not isinstance(bins, bool)
    problem = f"{bins} bins of {size:,} released cells" if number else ""
    problem = problem or f"a {type(bins).__name__} is neither a number nor a list of two or more edges"
    allowed = f"1 to {size:,}, a list of edges of released cells, intervals, or a frequency of instants"
    raise ArgumentTypeError("bins", problem, allowed=allowed)


def _periods(lines: Lines, begins: pd.DatetimeIndex, text: str) -> tuple[Ints, Ints]:
    """Return the cells of each period of a frequency: the first and the last may be cut."""
    zone = None if begins.tz is None else str(begins.tz)
    end = lines.cells.right[-1] if isinstance(lines.cells, pd.IntervalIndex) else begins[-1]
    low, high = (constant_ns(each, zone) for each in (begins[0], end))
    found = [from_ns(each, zone) for each in find_begins(text, low, high, zone)]
    inner = [_place(lines.cells, each, last=False) for each in found if each < end or end == begins[-1]]
    edges = np.array([0, *inner, len(lines.cells)])
    return edges[:-1], edges[1:]


def _is_open(edge: Any) -> bool:
    """Return whether a first or last edge stands for the end of the domain."""
    return (
        edge is None or edge is pd.NaT or (isinstance(edge, (float, np.floating)) and not np.isfinite(edge))
    )


def cumhist_again(release: pd.DataFrame) -> pd.DataFrame:
    """Return the cumulative counts of a released hist, with `cdf`."""
    lines = lines_of(release)
    size = len(lines.cells)
    found = _counts(lines, np.zeros(size, dtype=np.int64), np.arange(size) + 1, lines.cells, "cumhist()")
    shown = lines.shown
    if lines.facts["post"] and not is_shifted(lines.facts):
        weights = 1 / np.maximum(lines.spread, 1e-6 * lines.spread.max(initial=1e-9)) ** 2
        nowhere = np.zeros((len(shown), 1), dtype=bool)
        with reading():
            shown = monotone(lines.positions, np.array([0]), nowhere, weights)
        found["count"] = shown[:, 1:].ravel()
    total = shown[:, -1:]
    cdf = np.divide(shown[:, 1:], total, out=np.full((len(total), size), np.nan), where=total > 0)
    found.insert(2, "cdf", cdf.ravel())
    return found


def range_again(release: pd.DataFrame, bounds: Any) -> pd.DataFrame:
    """Return the counts of ranges that a release determines, from its unshaped counts."""
    lines = lines_of(release)
    if isinstance(bounds, str) and bounds == "all" and len(lines.cells) <= MOST_CELLS:
        low, high = np.triu_indices(len(lines.cells))
        return _counts(lines, low, high + 1, _labels(lines.cells, low, high + 1), "range('all')")
    given = bounds if isinstance(bounds, (list, tuple)) else [bounds]
    wanted = lines.cells.closed if isinstance(lines.cells, pd.IntervalIndex) else "both"
    for each in given:
        if isinstance(each, (pd.Interval, pd.IntervalIndex)) and each.closed != wanted:
            raise ArgumentError("bounds", f"intervals closed {each.closed!r}", allowed=f"closed={wanted!r}")
    pairs = listed_bounds(bounds)
    starts = np.array([_place(lines.cells, low, last=False) for low, _ in pairs])
    stops = np.array([_place(lines.cells, high, last=True) for _, high in pairs])
    if (stops <= starts).any():
        low, high = pairs[int(np.flatnonzero(stops <= starts)[0])]
        raise ArgumentError("bounds", f"({low!r}, {high!r}) is empty or reversed", allowed="low before high")
    text = repr(pairs) if len(pairs) <= MOST_SAID else f"{len(pairs):,} ranges"
    return _counts(lines, starts, stops, _labels(lines.cells, starts, stops), f"range({text})")


def quantile_again(release: pd.DataFrame, q: Any, interpolation: Any = "linear") -> pd.DataFrame:
    """Return the quantiles that a release determines."""
    lines, shares, inside = lines_of(release), shares_of(q), inside_of(interpolation)
    facts = {**lines.facts, "verb": "quantile", "derived": f"quantile({shares!r})"}
    rest, ends = None, np.arange(len(lines.cells) + 1)
    if lines.is_exact or (not lines.summed and facts["strategy"] in RISING[:3]):
        rest = lines.errors(ends, np.full(len(ends), ends[-1]))
    with reading():
        curves = curves_of(lines.positions, lines.spread, facts, rest=rest)
        return frame_of(curves, lines.cells, lines.groups, shares, facts, inside)


def _counts(lines: Lines, starts: Ints, stops: Ints, labels: pd.Index[Any], derived: str) -> pd.DataFrame:
    """Return sums of cells: unbiased ones, and as they are shown, which is no further from any truth."""
    unshaped, std = lines.positions[:, stops] - lines.positions[:, starts], lines.errors(starts, stops)
    index = labels
    if lines.groups is not None:
        pairs = lines.groups.repeat(len(labels)).to_frame(index=False)
        inner = pd.concat([labels.to_frame(index=False)] * len(lines.groups), ignore_index=True)
        index = pd.MultiIndex.from_frame(pd.concat([pairs, inner], axis=1))
    facts = {**lines.facts, "verb": derived.split("(")[0], "derived": derived, "answers": unshaped.size}
    if is_shifted(facts):
        if lines.summed:  # of a difference of two the shifts may add up
            wide = facts["highest_shift"] - facts["lowest_shift"]
            facts |= {"lowest_shift": -wide, "highest_shift": wide, "from_cumulative": True}
        return with_receipt({"count": unshaped.ravel(), "std": std.ravel()}, index, facts)
    facts |= _derived_errors(lines, starts, stops, facts["verb"])
    shown = unshaped
    if facts["post"]:
        most = facts.get("largest_answer")
        shown = np.where(std > 0, np.clip(unshaped, 0.0, np.inf if most is None else most), unshaped)
    solved = Solved(without_dust(shown.ravel()), without_dust(unshaped.ravel()))
    return with_receipt(count_columns(solved, std.ravel(), facts), index, facts)


def _derived_errors(lines: Lines, starts: Ints, stops: Ints, verb: str) -> Facts:
    """Return how errors of bins one after another, or of cumulative counts, go together; and their law."""
    if not lines.is_exact:
        return {"noise_terms": derived_terms(lines.facts.get("noise_terms"))}
    terms = {"noise_terms": ESTIMATE} if lines.facts.get("noise_terms") == CLIQUES else {}
    if verb == "range":
        return {**terms, "covariance": None}
    with reading():
        ends = np.append(starts[:1], stops)
        return {**terms, "covariance": regroup(lines.facts["covariance"], ends, len(lines.cells))}


def _added(facts: Facts, std: Floats) -> Floats:
    """Return at most how wrong running sums of counts are: their errors are independent, or may add up."""
    if facts["strategy"] in RISING[:4]:
        return np.sqrt(np.cumsum(std**2, axis=1))
    return np.cumsum(std, axis=1)


def _has_order(cells: pd.Index[Any]) -> bool:
    if isinstance(cells, pd.CategoricalIndex):
        return bool(cells.ordered)
    return bool(cells.is_monotonic_increasing)


def _whole(cells: pd.Index[Any]) -> bool:
    return cells.dtype == np.float64 and bool((cells == np.floor(cells)).all())


def _place(cells: pd.Index[Any], value: Any, *, last: bool, dates: bool = True) -> int:
    """Return the cell that begins at a bound, or one past the cell that ends there.

    An upper date holds its day if `dates`, and is its first instant else.
    """
    if value is None:
        return len(cells) if last else 0
    ends: pd.Index[Any] = cells
    if isinstance(cells, pd.IntervalIndex):
        ends = cells.right if last else cells.left
    try:
        found = ends.get_loc(_instant(cells, ends, value, whole=dates and last))
    except (KeyError, TypeError, ValueError, ArgumentError, pd.errors.InvalidIndexError):
        near = ", ".join(str(ends[place]) for place in _near(ends, value))
        side = "the end of " if dates and last and ends is not cells and _is_date(value) else ""
        problem = f"{side}{value!r} is not the edge of a released cell"
        raise DeclaredValueError(str(cells.name), problem, allowed=f"for instance {near}") from None
    return int(np.arange(len(ends))[found]) + last


def _is_date(value: Any) -> bool:
    try:
        return date_end(value, None) is not None
    except ArgumentError:
        return False


def _instant(cells: pd.Index[Any], ends: pd.Index[Any], value: Any, *, whole: bool) -> Any:
    """Return a bound of instants as one, read as `range` of a frame does: an upper date holds its day.

    Where only its beginning is an edge that is taken if it begins a cell longer than a day, or is the end.
    """
    if not isinstance(ends, pd.DatetimeIndex):
        return value
    zone = None if ends.tz is None else str(ends.tz)
    begin = from_ns(constant_ns(value, zone), zone)
    end = date_end(value, zone) if whole else None
    if end is None or not isinstance(cells, pd.IntervalIndex):
        return begin
    after, longer = from_ns(end, zone), cells.length[cells.left == begin] > pd.Timedelta(days=1)
    return begin if after not in ends and (begin == ends[-1] or longer.any()) else after


def _end(lines: Lines, value: Any) -> int:
    """Return one past the last cell of a last bin, which holds its right edge as in numpy.histogram."""
    cells, ends = lines.cells, lines.facts.get("declared_ends")
    if ends is not None and isinstance(cells, pd.IntervalIndex):
        last, greatest = cells[-1], ends[1]
        if isinstance(cells.left, pd.DatetimeIndex):
            greatest = from_ns(greatest, None if cells.left.tz is None else str(cells.left.tz))
            value = _instant(cells, cells.left, value, whole=False)
        if value == greatest and last.left <= greatest <= last.right:
            return len(cells)
    try:
        return _place(cells, value, last=True, dates=False)
    except DeclaredValueError:
        return _place(cells, value, last=False)


def _near(ends: pd.Index[Any], value: Any) -> list[int]:
    """Return the places of the two ends around a value, or the first and the last."""
    if np.ndim(value):
        return [0, len(ends) - 1]
    try:
        place = int(ends.searchsorted(value))
    except (TypeError, ValueError, pd.errors.InvalidIndexError):
        return [0, len(ends) - 1]
    return sorted({min(max(place - 1, 0), len(ends) - 1), min(place, len(ends) - 1)})


def _labels(cells: pd.Index[Any], starts: Ints, stops: Ints) -> pd.Index[Any]:
    """Return the names of ranges of released cells."""
    if isinstance(cells, pd.IntervalIndex):
        low, high, closed = cells.left[starts], cells.right[stops - 1], cells.closed
    elif isinstance(cells, pd.CategoricalIndex) or cells.dtype == bool:
        names = [
            f"{a}..{b}" if a != b else str(a) for a, b in zip(cells[starts], cells[stops - 1], strict=True)
        ]
        return pd.CategoricalIndex(names, categories=list(dict.fromkeys(names)), name=cells.name)
    else:
        low, high, closed = cells[starts], cells[stops - 1], "both"
    return pd.IntervalIndex.from_arrays(low, high, closed=closed, name=cells.name)
