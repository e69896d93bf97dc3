"""Frames to integer counts, a chunk at a time: this module sees rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.count.codes import CellCounts, Codes, Columns, join_codes
from pandas_blowfish.count.fingerprint import chunks
from pandas_blowfish.count.groups import group_cells
from pandas_blowfish.count.place import OUTSIDE, missing_code
from pandas_blowfish.count.readers.pieces import Pieces, merge
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.count.units import hash_units
from pandas_blowfish.count.weigh import clamp, total, total_groups
from pandas_blowfish.errors import FrameError, UnsoundPlanError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.fact import Fact
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.tally import People, Tally
from pandas_blowfish.plan.tally import tally as counts_of
from pandas_blowfish.policy.attribute import Attribute, Values, suggest
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.progress import show_progress

CHUNK = 1 << 16
FEW, JOINT = 1 << 24, 1 << 16  # cells that are counted one by one: of one column, and of several together
INSTANTS = (pd.DatetimeIndex, pd.PeriodIndex)


def count_cells(
    frame: Frame,
    asked: Sequence[Tally | Total],
    *,
    clip: bool,
    unit: str | None = None,
    kept: Mapping[str, Codes] | None = None,
) -> Ints:
    """Return the counts of every table, and the sums of every total, one after another.

    Args:
        frame: The rows.
        asked: What is counted; people by themselves.
        clip: Put numbers beyond the bounds into the nearest cell.
        unit: The column that names who a row is about.
        kept: The codes of some columns of a pandas frame, as they were read when the seal was checked.
    """
    if any(isinstance(each, People) for each in asked):
        return count_people(frame, asked, unit, clip=clip)
    if isinstance(frame, Pieces):
        return _whole(asked, _pieces(frame, asked, clip=clip))
    return _whole(asked, _raw(Columns(frame, clip=clip, kept=kept or {}), asked))


def count_people(frame: Frame, asked: Sequence[Tally | Total], unit: str | None, *, clip: bool) -> Ints:
    """Return how many people have at least one row in each bin of a tally."""
    people = asked[0]
    if len(asked) > 1 or unit is None or not isinstance(people, People):
        raise UnsoundPlanError("people are counted by themselves, by whom rows are about")

    def work(part: pd.DataFrame) -> pd.DataFrame:
        find, (units, _) = _bins(_columns(part, clip=clip), people), hash_units(part[unit], 0)
        bins = np.zeros(len(part), dtype=np.int64) if find is None else find(0, len(part))
        return pd.DataFrame({"unit": units, "bin": bins})[bins >= 0].drop_duplicates()

    def plus(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([one, other]).drop_duplicates()

    names = [*(binning.attribute.name for binning in people.binnings), unit]
    found = merge(frame, names, work, plus)
    return np.bincount(found["bin"], minlength=people.size).astype(np.int64)


def _columns(frame: pd.DataFrame, *, clip: bool) -> Columns:
    """Return the columns of a frame of which no codes are kept."""
    return Columns(frame, clip=clip, kept={})


def _raw(columns: Columns, asked: Sequence[Tally | Total]) -> list[Ints]:
    """Return the counts of every table, and the sums of every total in halves."""
    tables = [each for each in asked if isinstance(each, Tally)]
    counts = iter(_together(columns, tables) if len(tables) > 1 else [])
    parts = []
    for each in asked:
        if isinstance(each, Total):
            parts.append(total(columns, each, _bins(columns, each.tally)))
        else:
            parts.append(next(counts) if len(tables) > 1 else _tally(columns, each))
    return parts


def _whole(asked: Sequence[Tally | Total], parts: Sequence[Ints]) -> Ints:
    """Return counts and sums one after another."""
    each = zip(asked, parts, strict=True)
    return np.concatenate([clamp(part) if isinstance(one, Total) else part for one, part in each])


def _pieces(table: Pieces, asked: Sequence[Tally | Total], *, clip: bool) -> list[Ints]:
    """Return the counts and sums of a table in pieces: by groups where its engine has them, else by parts."""
    bar = show_progress(asked, "counting tables", len(asked)) if len(asked) > 1 else asked
    found = {at: part for at, each in enumerate(bar) if (part := _groups(table, each, clip=clip)) is not None}
    rest = [each for at, each in enumerate(asked) if at not in found]
    if rest:
        names = [attribute.name for each in rest for attribute in _attributes(each)]
        parts = table.merge(names, lambda part: _raw(_columns(part, clip=clip), rest), _plus)
        found |= dict(zip((at for at in range(len(asked)) if at not in found), parts, strict=True))
    return [found[at] for at in range(len(asked))]


def _attributes(asked: Tally | Total) -> list[Attribute]:
    """Return the columns that are read."""
    tally = asked.tally if isinstance(asked, Total) else asked
    more = asked.attributes if isinstance(asked, Total) else ()
    return [*(binning.attribute for binning in tally.binnings), *more]


def _groups(table: Pieces, asked: Tally | Total, *, clip: bool) -> Ints | None:
    """Return counts or sums from groups of rows that the engine counts; None where it has no such groups."""
    attributes = _attributes(asked)
    if not attributes:
        return np.array([table.rows], dtype=np.int64)
    groups = group_cells(table, attributes, clip=clip)
    if groups is None:
        return None
    codes, rows = groups
    if isinstance(asked, Total):
        bins = combine(asked.tally, [codes[b.attribute.name] for b in asked.tally.binnings], len(rows))
        return total_groups(asked, codes, bins, rows)
    return gather(asked, [codes[binning.attribute.name] for binning in asked.binnings], rows)


def _plus(found: list[Ints], more: list[Ints]) -> list[Ints]:
    return [one + other for one, other in zip(found, more, strict=True)]


def _together(columns: Columns, asked: Sequence[Tally]) -> list[Ints]:
    """Return the counts of several tables; a chunk of a column is coded once for all of them."""
    readers = {b.attribute.name: b.attribute for each in asked for b in each.binnings}
    once = {name: _once(columns.reader(own)) for name, own in readers.items()}
    counts = [np.zeros(each.size + 1, dtype=np.int64) for each in asked]
    step = int(np.clip(max(each.size for each in asked), CHUNK, 1 << 22))
    for start in range(0, len(columns), step):
        stop = min(start + step, len(columns))
        for each, found in zip(asked, counts, strict=True):
            own = [once[b.attribute.name] for b in each.binnings]
            codes = combine(each, (read(start, stop) for read in own), stop - start)
            if len(codes) and int(codes.min()) < 0:
                codes = np.where(codes < 0, each.size, codes)
            found += np.bincount(codes, minlength=each.size + 1)
    return [found[:-1] for found in counts]


def _once(read: Callable[[int, int], Ints]) -> Callable[[int, int], Ints]:
    """Return a reader that keeps the last chunk it read."""
    kept: dict[tuple[int, int], Ints] = {}

    def read_once(start: int, stop: int) -> Ints:
        if (start, stop) not in kept:
            kept.clear()
            kept[start, stop] = read(start, stop)
        return kept[start, stop]

    return read_once


def tally(frame: pd.DataFrame, asked: Tally, *, clip: bool) -> Ints:
    """Return how many rows lie in each bin, in C order.

    A row outside every bin, or (against the seal) outside the domain, is counted nowhere: no error
    depends on rows.
    """
    return _tally(_columns(frame, clip=clip), asked)


def _tally(columns: Columns, asked: Tally) -> Ints:
    rows, sizes = len(columns), [binning.attribute.size for binning in asked.binnings]
    if not sizes:
        return np.array([rows], dtype=np.int64)
    if math.prod(sizes) > min(FEW if len(sizes) == 1 else JOINT, rows):
        counts, find = CellCounts(asked.size), _bins(columns, asked)
        assert find is not None
        for start, stop in _cuts(rows):
            counts.add(find(start, stop))
        return counts.result()
    counts = CellCounts(math.prod(sizes))
    readers = [columns.narrow_reader(binning.attribute) for binning in asked.binnings]
    for start, stop in _cuts(rows):
        counts.add(join_codes([read(start, stop) for read in readers], sizes))
    return _gather_cells(asked, counts.result())


def _cuts(rows: int) -> Iterable[tuple[int, int]]:
    """Yield where each chunk of rows starts and stops."""
    return ((start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK))


def _gather_cells(asked: Tally, counts: Ints) -> Ints:
    """Return how many rows lie in each bin, given how many each cell has: filters are about cells."""
    if asked.condition is None and all(binning.labels is None for binning in asked.binnings):
        return counts
    bins = np.zeros(asked.size + 1, dtype=np.int64)
    np.add.at(bins, asked.labels(), counts)  # a cell that is not counted has label -1: the last slot
    return bins[:-1]


def combine(asked: Tally, codes: Iterable[Ints], rows: int) -> Ints:
    """Return one bin number per row, by Horner's rule; -1 where the filter, or the domain, leaves it out.

    Args:
        asked: The table.
        codes: Those of each column, which may be read one column after another.
        rows: How many rows they are of.
    """
    joint, kind = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    outside: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
    shape = asked.sieve.passes.shape
    parts = zip(asked.binnings, asked.marks, asked.sieve.classes, shape, codes, strict=True)
    for binning, marks, classes, count, own in parts:
        if rows and int(own.min()) < 0:
            outside |= own < 0
            own = np.maximum(own, 0)
        if binning.bins > 1:
            joint = joint * binning.bins + (own if binning.labels is None else np.maximum(marks, 0)[own])
        if count > 1:
            kind = kind * count + classes[own]
    if not asked.sieve.trivial:
        outside |= ~asked.sieve.passes.ravel()[kind]
    return np.where(outside, -1, joint) if outside.any() else joint


def gather(asked: Tally, codes: Iterable[Ints], rows: Ints) -> Ints:
    """Return how many rows lie in each bin, in C order, given groups of rows that share their codes."""
    counts = np.zeros(asked.size + 1, dtype=np.int64)
    np.add.at(counts, combine(asked, codes, len(rows)), rows)  # -1: the last slot
    return counts[:-1]


def mark(frame: Any, attrs: dict[str, Any]) -> Any:
    """Return a frame that shares the rows and has attrs of its own."""
    if not isinstance(frame, pd.DataFrame):
        return frame.mark(attrs)
    same: Any = frame.copy(deep=False)
    same.attrs = attrs
    return same


def require_columns(frame: object, names: Sequence[str]) -> None:
    """Refuse what is not a frame with each named column once."""
    if not isinstance(frame, Frame):
        raise FrameError("not a pandas DataFrame", fix="give a DataFrame.")
    if isinstance(frame.columns, pd.MultiIndex):
        raise FrameError("the columns have several levels", fix="flatten them to plain names.")
    absent = [name for name in names if name not in frame.columns]
    if absent:
        index = frame.index if isinstance(frame, pd.DataFrame) else pd.Index([], name="")
        labels = set(index.names)
        fix = "add them, or leave them out of the schema."
        if labels >= set(absent):
            fix = f"{', '.join(absent)} is the index: df.reset_index() makes it a column."
        elif len(absent) == 1 and labels == {None} and isinstance(index, INSTANTS):
            fix = f"if the index holds {absent[0]}, df.reset_index(names={absent[0]!r}) makes it a column."
        what = f"declared columns are not in the frame: {', '.join(absent)}"
        raise FrameError(what, columns=absent, fix=fix)
    often = Counter(frame.columns)
    twice = [name for name in names if often[name] > 1]
    if twice:
        raise FrameError(
            f"columns occur twice: {', '.join(twice)}", columns=twice, fix="give each its own name."
        )


def require_instants(frame: Frame, attributes: Iterable[Attribute]) -> None:
    """Refuse declared instants that are stored as periods, which have no one instant."""
    dtypes = frame.dtypes
    instants = [each.name for each in attributes if each.kind == "datetime"]
    periods = [name for name in instants if isinstance(dtypes[name], pd.PeriodDtype)]
    if periods:
        fix = f"df[{periods[0]!r}].dt.to_timestamp() makes instants of them."
        raise FrameError(f"columns are stored as periods: {', '.join(periods)}", columns=periods, fix=fix)


def require_unit_column(frame: Frame, unit: str) -> None:
    """Refuse a frame that does not have the column of units once."""
    if isinstance(frame, Frame) and unit not in frame.columns:
        indexed = isinstance(frame, pd.DataFrame) and unit in frame.index.names
        near = suggest(unit, [str(name) for name in frame.columns]).split("?")[0]
        fix = "df.reset_index() makes the index a column." if indexed else f"{near}?" if near else ""
        fix = fix or "name a column of the frame; the schema need not declare it."
        raise FrameError(f"unit={unit!r} names no column of the frame", columns=[unit], fix=fix)
    require_columns(frame, [unit])


def find_contradicted(frame: Frame, domain: Domain, facts: Iterable[Fact], *, clip: bool) -> list[Fact]:
    """Return the facts whose known answer the rows do not agree with."""
    found = compare_facts(frame, domain, [fact for fact in facts if fact.answer is not None], clip=clip)
    return [fact for fact, stated, part in found if not np.array_equal(stated, part)]


def compare_facts(
    frame: Frame, domain: Domain, known: Sequence[Fact], *, clip: bool
) -> list[tuple[Fact, Ints, Ints]]:
    """Return facts with the counts stated and those of the rows, all counted in one pass."""
    asked = [
        counts_of(domain, fact.columns if fact.condition is None else [], None, fact.condition)
        for fact in known
    ]
    counts = count_cells(frame, asked, clip=clip) if asked else np.empty(0, dtype=np.int64)
    parts = np.split(counts, np.cumsum([each.size for each in asked]))
    return [(fact, np.asarray(fact.answer).ravel(), part) for fact, part in zip(known, parts, strict=False)]


def count_unplaced(frame: Frame, attribute: Attribute, *, clip: bool = False) -> tuple[int, int, int]:
    """Return how many rows of a column are missing, outside its domain, and in its cell of all others."""
    other = attribute.cells - 1 if isinstance(attribute, Values) and attribute.other else None

    def work(part: pd.DataFrame) -> Ints:
        found = np.zeros(3, dtype=np.int64)
        for (codes,) in chunks(part, [attribute], clip=clip):
            found[:2] += [(codes == missing_code(attribute)).sum(), (codes == OUTSIDE).sum()]
            found[2] += 0 if other is None else (codes == other).sum()
        return found

    missing, outside, unlisted = merge(frame, [attribute.name], work, add).tolist()
    return missing, outside, unlisted


def _bins(columns: Columns, asked: Tally) -> Callable[[int, int], Ints] | None:
    """Return a function from rows start..stop-1 to their bins; None where all rows are one bin."""
    if not asked.binnings:
        return None
    readers = [columns.reader(binning.attribute) for binning in asked.binnings]
    return lambda start, stop: combine(asked, (read(start, stop) for read in readers), stop - start)
