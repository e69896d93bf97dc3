"""Of people with many rows as many as are allowed, the same ones on every engine: this module sees rows.

Which rows of a person are kept is decided by a keyed hash of the person and the row's own cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from numbers import Integral
from operator import or_
from typing import Any

import numpy as np
import pandas as pd
import xxhash
from numpy.typing import NDArray

from pandas_blowfish.count.fingerprint import chunks, numbers_of
from pandas_blowfish.count.readers.pieces import Answer, Pieces, Plus, Work, merge
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.arrays import Bools
from pandas_blowfish.exact.digest import seal_digest
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.attribute import Attribute

Hashes = NDArray[np.uint64]
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # odd numbers without a pattern
TABLE = 1 << 20  # cells of a column whose hashes are listed
WORD = 1 << 64
NAMES = ("unit hash", "row hash")


@dataclass(frozen=True)
class Kept:
    """The rows that are kept, and a keyed digest of all rows with whom each is about."""

    rows: Frame
    digest: str


def keep_rows(
    frame: Frame, attributes: Sequence[Attribute], unit: str, max_rows: int, key: str, *, clip: bool
) -> Kept:
    """Return a table with at most `max_rows` rows of each unit.

    Args:
        frame: The rows.
        attributes: All declared columns.
        unit: The column that names who a row is about.
        max_rows: How many rows of each are kept.
        key: The dataset's seal key.
        clip: Put numbers beyond the bounds into the nearest cell.

    Raises:
        FrameError: Some row names nobody, or by a value that is no plain key.

    Proof note:
        Requires: no two units have the same keyed hash of 64 bits. Whole numbers never do; of n others two do
                  with a probability of n^2 / 2^65.
        Ensures:  a unit's kept rows are a function of its own rows alone, whatever their order and engine.
        Because:  they are those with the least hashes of unit and cells, all of them where they are no more
                  than `max_rows`; rows of one hash have the same cells, so it does not matter which of them
                  are kept. Hashes are of values and cells, not of storage.
        Checked:  tests/count/test_units.py::test_nobody_changes_which_rows_of_another_are_kept
    """
    hashing = Hashing(key, unit, tuple(sorted(attributes, key=lambda each: each.name)), clip)
    if isinstance(frame, pd.DataFrame):
        units, usable = hash_units(frame[unit], hashing.seed)
        require_usable(unit, usable)
        rows = hashing.rows(frame, units)
        chosen = choose(units, rows, max_rows)
        kept = frame if chosen.all() else frame[chosen]
        return Kept(kept, _digest(key, sums_of(rows, hashing.seed), len(frame)))
    names = [unit, *(each.name for each in attributes)]
    census: Census = frame.merge(names, hashing.count, Census.plus)
    require_usable(unit, census.usable)
    over = census.units[census.counts > max_rows]
    more = _crowded(frame, names, hashing, over, max_rows) if len(over) else pd.DataFrame(columns=names)
    many = int(np.minimum(census.counts, max_rows).sum())
    table = KeptTable(frame.native, frame.attrs, frame, hashing, over, more, many)
    return Kept(table, _digest(key, census.sums, int(census.counts.sum())))


def _crowded(table: Pieces, names: list[str], hashing: Hashing, over: Hashes, most: int) -> pd.DataFrame:
    """Return the kept rows of units that have too many: the only rows that leave their engine."""

    def cut(rows: pd.DataFrame) -> pd.DataFrame:
        units, own = (rows[name].to_numpy(dtype=np.uint64) for name in NAMES)
        return rows[choose(units, own, most)].reset_index(drop=True)

    def look(part: pd.DataFrame) -> pd.DataFrame:
        units, _ = hash_units(part[hashing.unit], hashing.seed)
        many = is_among(units, over)
        rows, own = part[many].reset_index(drop=True), units[many]
        return cut(rows.assign(**dict(zip(NAMES, (own, hashing.rows(rows, own)), strict=True))))

    def plus(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
        if not (len(one) and len(other)):
            return one if len(one) else other
        return cut(pd.concat([_plain(one), _plain(other)], ignore_index=True))

    return table.merge(names, look, plus).drop(columns=list(NAMES))


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose categories are values: those of two parts may differ."""
    texts = [name for name in rows.columns if isinstance(rows[name].dtype, pd.CategoricalDtype)]
    return rows.astype(dict.fromkeys(texts, object)) if texts else rows


@dataclass(frozen=True, eq=False)
class KeptTable(Pieces):
    """A table of another engine without the rows that are too many.

    Attributes:
        table: All rows.
        hashing: By what units are found.
        over: The hashes of units that have too many, in order.
        more: The rows of these that are kept.
        many: How many rows are kept in all.
    """

    table: Any = None
    hashing: Any = None
    over: Any = None
    more: Any = field(default=None, repr=False)
    many: int = 0

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        found: list[str] = self.table.columns
        return found

    @property
    def dtypes(self) -> dict[str, Any]:
        """Return how pandas would keep each column."""
        found: dict[str, Any] = self.table.dtypes
        return found

    @property
    def rows(self) -> int:
        """Return the number of kept rows."""
        return self.many

    def merge(self, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]) -> Answer:
        """Return what some work finds in the kept rows of every part, merged."""
        hashing, over = self.hashing, self.over

        def look(part: pd.DataFrame) -> Answer:
            few = ~is_among(hash_units(part[hashing.unit], hashing.seed)[0], over)
            return work(part if few.all() else part[few].reset_index(drop=True))

        found: Answer = self.table.merge([*columns, hashing.unit], look, plus)
        return plus(found, work(self.more)) if len(self.more) else found

    def is_unique(self, name: str) -> bool:
        """Return whether every row of the whole table has a value of a column that no other row has."""
        return bool(self.table.is_unique(name))


@dataclass(frozen=True)
class Census:
    """How often each unit occurs, what all rows' hashes add up to, and whether each row names somebody."""

    units: Hashes
    counts: NDArray[np.int64]
    sums: tuple[int, int]
    usable: Usable

    def plus(self, other: Census) -> Census:
        """Return the census of both."""
        units, place = np.unique(np.concatenate([self.units, other.units]), return_inverse=True)
        counts = np.zeros(len(units), dtype=np.int64)
        np.add.at(counts, place.reshape(-1), np.concatenate([self.counts, other.counts]))
        one, two = ((a + b) % WORD for a, b in zip(self.sums, other.sums, strict=True))
        return Census(units, counts, (one, two), self.usable.plus(other.usable))


@dataclass(frozen=True)
class Usable:
    """Whether all rows name somebody, by plain values."""

    named: bool = True
    plain: bool = True

    def plus(self, other: Usable) -> Usable:
        """Return whether both do."""
        return Usable(self.named and other.named, self.plain and other.plain)


def require_usable(unit: str, usable: Usable) -> None:
    """Refuse units that are missing, or no plain keys."""
    if not usable.named:
        raise FrameError(
            f"the unit column {unit!r} is missing in some rows",
            columns=[unit],
            fix="say who each row is about, or leave out rows of nobody.",
        )
    if not usable.plain:
        raise FrameError(
            f"the unit column {unit!r} holds values that are no plain keys",
            columns=[unit],
            fix="name units by numbers, text or dates, such as df[unit].astype(str).",
        )


@dataclass(frozen=True, eq=False)
class Hashing:
    """Keyed hashes of units, and of rows."""

    key: str
    unit: str
    attributes: tuple[Attribute, ...]
    clip: bool

    @property
    def seed(self) -> int:
        """Return the secret number that hashes of units begin with."""
        return seed_of(self.key, "unit")

    def rows(self, part: pd.DataFrame, units: Hashes) -> Hashes:
        """Return the hash of each row: of its unit and of the cells of all columns."""
        seeds = [seed_of(self.key, f"column {each.name}") for each in self.attributes]
        tables = [
            mix(np.arange(-2, each.size, dtype=np.int64).view(np.uint64), seed)
            if each.bounded and each.size <= TABLE
            else None
            for each, seed in zip(self.attributes, seeds, strict=True)
        ]
        found, start = units.copy(), 0
        for codes in chunks(part, self.attributes, clip=self.clip):
            into = found[start : start + len(codes[0])] if codes else found
            for own, each, seed, table in zip(codes, self.attributes, seeds, tables, strict=True):
                into += mix(numbers_of(own, each).view(np.uint64), seed) if table is None else table[own + 2]
            start += len(into)
        return mix(found, seed_of(self.key, "row"))

    def count(self, part: pd.DataFrame) -> Census:
        """Return the census of a part of the rows."""
        units, usable = hash_units(part[self.unit], self.seed)
        distinct, counts = np.unique(units, return_counts=True)
        return Census(distinct, counts.astype(np.int64), sums_of(self.rows(part, units), self.seed), usable)


def choose(units: Hashes, rows: Hashes, most: int) -> Bools:
    """Return which rows are kept: of each unit those with the least hashes, of equal ones the first.

    Examples:
        >>> choose(np.array([7, 7, 3, 7], dtype="u8"), np.array([5, 2, 9, 3], dtype="u8"), 2).tolist()
        [False, True, True, True]
    """
    place, distinct = pd.factorize(units)
    counts = np.bincount(place, minlength=len(distinct))
    crowded = counts > most
    kept = ~crowded[place]
    if kept.all():
        return kept
    among = np.flatnonzero(~kept)
    number = np.cumsum(crowded) - 1  # of units that have too many
    own, ranks = number[place[among]].astype(np.uint64), rows[among]
    bits = np.uint64(max(int(crowded.sum()).bit_length(), 1))
    short = (own << (np.uint64(64) - bits)) | (ranks >> bits)
    ends = np.cumsum(counts[crowded])
    least = np.sort(short)[ends - counts[crowded] + most - 1]  # the last that is kept of each unit
    first = short <= least[own]
    often = np.bincount(own[first].astype(np.int64), minlength=len(ends))
    if (often > most).any():  # the first bits of two hashes are the same, or two rows are
        tied = np.flatnonzero(first & (often > most)[own])
        order = tied[np.lexsort((ranks[tied], own[tied]))]
        begins = np.flatnonzero(np.diff(own[order], prepend=np.uint64(len(ends))))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
        first[order[rank >= most]] = False
    kept[among[first]] = True
    return kept


def hash_units(values: pd.Series[Any], seed: int) -> tuple[Hashes, Usable]:
    """Return a keyed hash of whom each row is about, by value and whatever the storage."""
    dtype: Any = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "bi":
        return mix(values.to_numpy().astype(np.int64).view(np.uint64), seed), Usable()
    try:
        place, found = pd.factorize(values)
    except TypeError:  # a list or a dict names nobody
        return np.zeros(len(values), dtype=np.uint64), Usable(plain=False)
    codes, plain = _hash_distinct(found, seed)
    place = np.asarray(place)
    return np.append(codes, np.uint64(0))[place], Usable(not bool((place < 0).any()), plain)


def _hash_distinct(found: Any, seed: int) -> tuple[Hashes, bool]:
    """Return the hashes of different values, and whether all are plain keys."""
    if pd.api.types.is_signed_integer_dtype(found.dtype):
        return mix(np.asarray(found, dtype=np.int64).view(np.uint64), seed), True
    codes, whole, plain = np.zeros(len(found), dtype=np.uint64), np.zeros(len(found), dtype=bool), True
    for number, value in enumerate(found):
        parts = _plain_key(value)
        plain = plain and parts is not None
        if isinstance(parts, int):
            codes[number], whole[number] = parts % WORD, True
        elif parts is not None:
            codes[number] = xxhash.xxh3_64_intdigest(parts, seed)
    codes[whole] = mix(codes[whole], seed)
    return codes, plain


def _plain_key(value: Any) -> int | bytes | None:
    """Return a unit as a whole number of 64 bits or as bytes, the same for equal values; None for no key."""
    if isinstance(value, str):
        return b"text" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, (Integral, float, np.floating, Decimal, np.bool_)):
        if not math.isfinite(value):
            return None
        over, under = (int(value), 1) if isinstance(value, (Integral, np.bool_)) else value.as_integer_ratio()
        return over if under == 1 and -(2**63) <= over < 2**63 else f"number{over}/{under}".encode()
    if isinstance(value, (date, np.datetime64)):
        stamp = pd.Timestamp(value)
        instant = int(stamp.asm8.view("int64")) * NS_PER_UNIT[stamp.unit]
        return f"time{stamp.tz is None}{instant}".encode()
    return None


def is_among(units: Hashes, some: Hashes) -> Bools:
    """Return which units are among some, which are in order."""
    if not len(some):
        return np.zeros(len(units), dtype=bool)
    place = np.minimum(np.searchsorted(some, units), len(some) - 1)
    found: Bools = some[place] == units
    return found


def mix(numbers: Hashes, seed: int) -> Hashes:
    """Return numbers of 64 bits mixed with a secret one; different ones stay different."""
    first, second, third = (np.uint64(each) for each in MIX)
    found = (numbers ^ np.uint64(seed)) * first
    found ^= found >> np.uint64(30)
    found *= second
    found ^= found >> np.uint64(27)
    found *= third
    found ^= found >> np.uint64(31)
    return found


def seed_of(key: str, what: str) -> int:
    """Return a secret number of 64 bits for one purpose."""
    return int(seal_digest(key, "units", what)[:16], 16)


def sums_of(rows: Hashes, seed: int) -> tuple[int, int]:
    """Return two sums of all rows' hashes, whatever their order."""
    return int(rows.sum(dtype=np.uint64)), int(mix(rows, seed).sum(dtype=np.uint64))


def _digest(key: str, sums: tuple[int, int], many: int) -> str:
    return seal_digest(key, "units", "rows", *(f"{each:016x}" for each in sums), str(many))


def count_rows(frame: Frame, unit: str) -> NDArray[np.int64]:
    """Return how many rows each unit has, in no order."""

    def work(part: pd.DataFrame) -> Census:
        units, usable = hash_units(part[unit], 0)
        distinct, counts = np.unique(units, return_counts=True)
        return Census(distinct, counts.astype(np.int64), (0, 0), usable)

    found = merge(frame, [unit], work, Census.plus)
    require_usable(unit, found.usable)
    return found.counts


def require_unit(frame: Frame, unit: str) -> None:
    """Refuse a frame in which one unit has several rows, or a row has none."""
    once = False
    try:
        once = bool(frame[unit].is_unique) if isinstance(frame, pd.DataFrame) else frame.is_unique(unit)
    except TypeError:  # a list or a dict names nobody
        require_usable(unit, Usable(plain=False))
    require_usable(unit, Usable(not merge(frame, [unit], lambda part: bool(part[unit].isna().any()), or_)))
    if not once:
        raise FrameError(
            f"the unit column {unit!r} repeats: somebody has several rows",
            columns=[unit],
            fix="state how many rows a person may have, protect(..., max_rows=3), or keep one row of each.",
        )
