"""More questions to an earlier release: counts, ranges, quantiles, all free. Sees released frames only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.errors import ArgumentError, DeclaredValueError, FrameError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.queries.ordered_column import listed_bounds
from pandas_blowfish.queries.quantile import RISING, curves_of, frame_of, inside_of, shares_of
from pandas_blowfish.release import Facts, facts_of, with_receipt

Ints = NDArray[np.int64]
MOST_SAID = 50  # ranges that a receipt spells out
MOST_CELLS = 1_400  # whose every range, a million, can be listed


@dataclass(frozen=True, eq=False)
class Lines:
    """A released histogram, or cumulative one, read as cumulative counts.

    Attributes:
        positions: lines x (cells + 1).
        spread: The standard error of each position.
        cells: The index of one line.
        groups: The index of the lines, None for a single one.
        facts: Those of its receipt.
        summed: Whether the counts were released cumulatively.
    """

    positions: Floats
    spread: Floats
    cells: pd.Index[Any]
    groups: pd.Index[Any] | None
    facts: Facts
    summed: bool


def lines_of(release: pd.DataFrame, *, ordered: bool = True) -> Lines:
    """Return a released `hist` or `cumhist` as cumulative counts, refusing one that was changed."""
    with reading():
        return _lines(release, ordered)


def _lines(release: pd.DataFrame, ordered: bool) -> Lines:
    facts = facts_of(release)
    if facts.get("verb") not in ("hist", "cumhist"):
        raise FrameError("only a hist or a cumhist answers more questions", fix="release one of them first.")
    if len(release) != facts.get("answers") or not {"count", "std"} <= set(release.columns):
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
    count, std = (release[name].to_numpy(dtype=float).reshape(-1, size) for name in ("count", "std"))
    if missing:
        count, std, cells = count[:, :-1], std[:, :-1], cells[:-1]
        cells = cells.astype("int64") if _whole(cells) else cells
    if ordered and not _has_order(cells):
        raise FrameError("the released values have no order", fix="ask for the counts themselves.")
    summed = facts["verb"] == "cumhist"
    start = np.zeros((len(count), 1))
    positions = np.concatenate([start, count if summed else np.cumsum(count, axis=1)], axis=1)
    spread = std if summed else _added(facts, std)
    groups = index.droplevel(-1)[::size] if isinstance(index, pd.MultiIndex) else None
    return Lines(positions, np.concatenate([start, spread], axis=1), cells, groups, facts, summed)


def _check_order(index: pd.Index[Any], cells: pd.Index[Any], size: int, facts: Facts) -> None:
    """Refuse a release whose rows are in another order, or carry other labels."""
    names = list(index.names)
    same = names == facts["columns"][: len(names)] and not bool(cells.duplicated().any())
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
    """Return the counts of cells, or of coarser bins, that a release determines; errors are at most these.

    Args:
        release: A released hist or cumhist.
        bins: None, a number of bins, or a list of edges of released cells as in `numpy.histogram`.
    """
    lines = lines_of(release, ordered=bins is not None)
    size = len(lines.cells)
    if bins is None:
        return _counts(lines, np.arange(size), np.arange(size) + 1, lines.cells, "hist()")
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and 1 <= bins <= size:
        edges = np.array([size * number // int(bins) for number in range(int(bins) + 1)])
    elif isinstance(bins, (list, tuple, np.ndarray, pd.Index)) and len(bins) > 1:
        edges = np.array([_place(lines.cells, value, last=False) for value in list(bins)[:-1]])
        edges = np.append(edges, _end(lines.cells, list(bins)[-1]))
    else:
        raise ArgumentError(
            "bins", "not bins", allowed="a number of bins, or a list of edges of released cells"
        )
    if (np.diff(edges) <= 0).any():
        raise ArgumentError("bins", "an edge repeats or falls", allowed="rising edges")
    return _counts(
        lines, edges[:-1], edges[1:], _labels(lines.cells, edges[:-1], edges[1:]), f"hist(bins={bins!r})"
    )


def cumhist_again(release: pd.DataFrame) -> pd.DataFrame:
    """Return the cumulative counts of a released hist, with `cdf`."""
    lines = lines_of(release)
    size = len(lines.cells)
    found = _counts(lines, np.zeros(size, dtype=np.int64), np.arange(size) + 1, lines.cells, "cumhist()")
    total = lines.positions[:, -1:]
    cdf = np.divide(lines.positions[:, 1:], total, out=np.full((len(total), size), np.nan), where=total > 0)
    found["cdf"] = cdf.ravel()
    return found


def range_again(release: pd.DataFrame, bounds: Any) -> pd.DataFrame:
    """Return the counts of ranges that a release determines, with standard errors that are at most these."""
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
    rest: Floats | None = None
    if not lines.summed and facts["strategy"] in RISING[:2]:  # counts that are off independently
        rest = np.sqrt(np.maximum(lines.spread[:, -1:] ** 2 - lines.spread**2, 0.0))
    curves = curves_of(lines.positions, lines.spread, facts, rest=rest)
    return frame_of(curves, lines.cells, lines.groups, shares, facts, inside)


def _counts(lines: Lines, starts: Ints, stops: Ints, labels: pd.Index[Any], derived: str) -> pd.DataFrame:
    count = lines.positions[:, stops] - lines.positions[:, starts]
    low, high = lines.spread[:, starts], lines.spread[:, stops]
    if lines.summed:
        together = lines.facts["strategy"] in RISING
        std = np.sqrt(low**2 + high**2) if together else low + high
    elif lines.facts["strategy"] in RISING[:3]:
        std = np.sqrt(np.maximum(high**2 - low**2, 0.0))
    else:
        std = high - low
    index = labels
    if lines.groups is not None:
        pairs = lines.groups.repeat(len(labels)).to_frame(index=False)
        inner = pd.concat([labels.to_frame(index=False)] * len(lines.groups), ignore_index=True)
        index = pd.MultiIndex.from_frame(pd.concat([pairs, inner], axis=1))
    facts = {**lines.facts, "verb": derived.split("(")[0], "derived": derived, "answers": count.size}
    if lines.summed:  # of a difference of two the shifts may add up
        wide = facts["highest_shift"] - facts["lowest_shift"]
        facts |= {"lowest_shift": -wide, "highest_shift": wide, "from_cumulative": True}
    return with_receipt({"count": count.ravel(), "std": std.ravel()}, index, facts)


def _added(facts: Facts, std: Floats) -> Floats:
    """Return at most how wrong running sums of counts are: their errors are independent, or may add up."""
    if facts["strategy"] in RISING[:3]:
        return np.sqrt(np.cumsum(std**2, axis=1))
    return np.cumsum(std, axis=1)


def _has_order(cells: pd.Index[Any]) -> bool:
    if isinstance(cells, pd.CategoricalIndex):
        return bool(cells.ordered)
    return bool(cells.is_monotonic_increasing)


def _whole(cells: pd.Index[Any]) -> bool:
    return cells.dtype == np.float64 and bool((cells == np.floor(cells)).all())


def _place(cells: pd.Index[Any], value: Any, *, last: bool) -> int:
    """Return the cell that begins at a bound, or one past the cell that ends there."""
    if value is None:
        return len(cells) if last else 0
    ends: pd.Index[Any] = cells
    if isinstance(cells, pd.IntervalIndex):
        ends = cells.right if last else cells.left
    try:
        found = ends.get_loc(pd.Timestamp(value) if isinstance(ends, pd.DatetimeIndex) else value)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        near = ", ".join(str(ends[place]) for place in _near(ends, value))
        raise DeclaredValueError(
            str(cells.name), f"{value!r} is not the edge of a released cell", allowed=f"for instance {near}"
        ) from None
    return int(np.arange(len(ends))[found]) + last


def _end(cells: pd.Index[Any], value: Any) -> int:
    """Return one past the last cell of a last bin, which holds its right edge as in numpy.histogram."""
    try:
        return _place(cells, value, last=True)
    except DeclaredValueError:
        return _place(cells, value, last=False)


def _near(ends: pd.Index[Any], value: Any) -> list[int]:
    """Return the places of the two ends around a value, or the first and the last."""
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
