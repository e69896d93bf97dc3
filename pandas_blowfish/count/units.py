"""Of people with many rows as many as are allowed, the same ones on every engine: this module sees rows.

Which rows of a person are kept is decided by a keyed hash of the person, the row's own cells and, of equal
rows, a number.
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
from pandas_blowfish.exact.arrays import Bools, Ints
from pandas_blowfish.exact.digest import seal_digest
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.attribute import Attribute

Hashes = NDArray[np.uint64]
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # odd numbers without a pattern
TABLE = 1 << 20  # cells of a column whose hashes are listed
WORD = 1 << 64
NAME = "row hash"


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
                  Over the secret key, hashes of different numbers are as good as drawn.
        Ensures:  a unit's kept rows are a function of its own rows and the key alone, whatever their order
                  and engine. Of a unit with more rows than `max_rows` each choice of so many is as likely,
                  whatever the rows hold: all its rows, not just kept ones, may move along edges, and what is
                  released of them loses at most what `max_rows` edges do. Where rows of such a unit come or
                  go and others stay, each that does may replace one kept row, which is one that goes and
                  one that comes: at most `max_rows` edges more.
        Because:  kept are those with the least hashes of unit, cells and number among equal rows, 0, 1, ...;
                  equal rows are the same to all who look. No two rows of a unit have all three in common, so
                  each order of their hashes is as likely. Choose the same places in both tables: every
                  choice loses at most its edges, so the mixture over choices does, and so do several
                  releases, which share the choice. A row more or less changes the least of some hashes
                  in one place at most.
        Checked:  tests/count/test_units.py::test_nobody_changes_which_rows_of_another_are_kept,
                  tests/privacy/test_kept_rows_loss.py::test_all_rows_of_a_person_may_move,
                  tests/privacy/test_kept_rows_loss.py::test_rows_that_come_or_go_replace_kept_ones
    """
    hashing = Hashing(key, unit, tuple(sorted(attributes, key=lambda each: each.name)), clip)
    if isinstance(frame, pd.DataFrame):
        units, usable = hash_units(frame[unit], hashing.seed)
        require_usable(unit, usable)
        rows = hashing.rows(frame, units)
        chosen = choose(units, rows, max_rows, hashing.number_seed)
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
    """Return the kept rows of units that have too many: the only rows that leave their engine.

    Equal rows may lie in different parts, so hashes of all rows are counted first.
    """

    def find(part: pd.DataFrame) -> tuple[pd.DataFrame, Hashes, Hashes]:
        units, _ = hash_units(part[hashing.unit], hashing.seed)
        many = is_among(units, over)
        rows, own = part[many].reset_index(drop=True), units[many]
        return rows, own, hashing.rows(rows, own)

    def count(part: pd.DataFrame) -> Often:
        _, units, rows = find(part)
        return Often(rows, units, np.ones(len(rows), dtype=np.int64)).merge_equal()

    often = table.merge(names, count, Often.plus).keep(most, hashing.number_seed)

    def fetch(part: pd.DataFrame) -> pd.DataFrame:
        rows, _, own = find(part)
        rows = rows.assign(**{NAME: own})[is_among(own, often.rows)]
        return rows.drop_duplicates(NAME, ignore_index=True)

    def plus(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
        if not (len(one) and len(other)):
            return one if len(one) else other
        return pd.concat([_plain(one), _plain(other)], ignore_index=True)

    found = table.merge(names, fetch, plus).drop_duplicates(NAME, ignore_index=True)
    place = np.searchsorted(often.rows, found.pop(NAME).to_numpy(dtype=np.uint64))
    return found.take(np.repeat(np.arange(len(found)), often.counts[place])).reset_index(drop=True)


@dataclass(frozen=True)
class Often:
    """How often rows of some units occur: their hashes, and whose they are."""

    rows: Hashes
    units: Hashes
    counts: NDArray[np.int64]

    def merge_equal(self) -> Often:
        """Return the different rows, in order, with the counts of equal ones added up."""
        order = np.argsort(self.rows)
        begins = find_begins(self.rows[order])
        first = order[begins]
        counts = np.add.reduceat(self.counts[order], begins) if len(begins) else self.counts
        return Often(self.rows[first], self.units[first], counts)

    def plus(self, other: Often) -> Often:
        """Return how often rows occur in both; equal ones are merged at the end, all at once."""
        rows, units = (np.concatenate(pair) for pair in ((self.rows, other.rows), (self.units, other.units)))
        return Often(rows, units, np.concatenate([self.counts, other.counts]))

    def keep(self, most: int, seed: int) -> Often:
        """Return how often each different row is kept, if at all."""
        every = self.merge_equal()
        place = np.repeat(np.arange(len(every.rows)), every.counts)
        kept = choose(every.units[place], every.rows[place], most, seed)
        counts = np.bincount(place[kept], minlength=len(every.rows))
        some = counts > 0
        return Often(every.rows[some], every.units[some], counts[some])


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

    @property
    def number_seed(self) -> int:
        """Return the secret number that hashes of equal rows' numbers begin with."""
        return seed_of(self.key, "number")

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


def choose(units: Hashes, rows: Hashes, most: int, seed: int) -> Bools:
    """Return which rows are kept: of each unit those with the least ranks.

    Args:
        units: Whom each row is about.
        rows: The hash of each row.
        most: How many rows of each unit are kept.
        seed: A secret number that ranks of equal rows begin with.

    Examples:
        >>> choose(np.array([7, 7, 3, 7], dtype="u8"), np.array([5, 2, 9, 3], dtype="u8"), 2, 0).tolist()
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
    own, ranks = number[place[among]].astype(np.uint64), rank_rows(rows[among], seed)
    bits = np.uint64(max(int(crowded.sum()).bit_length(), 1))
    short = (own << (np.uint64(64) - bits)) | (ranks >> bits)
    ends = np.cumsum(counts[crowded])
    least = np.sort(short)[ends - counts[crowded] + most - 1]  # the last that is kept of each unit
    first = short <= least[own]
    often = np.bincount(own[first].astype(np.int64), minlength=len(ends))
    if (often > most).any():  # the first bits of two ranks are the same
        tied = np.flatnonzero(first & (often > most)[own])
        order = tied[np.lexsort((ranks[tied], own[tied]))]
        first[order[count_equal(own[order]) >= most]] = False
    kept[among[first]] = True
    return kept


def rank_rows(rows: Hashes, seed: int) -> Hashes:
    """Return a rank of each row: its hash, and of equal rows but one a hash of it and a number, 1, 2, ...

    Examples:
        >>> len(set(rank_rows(np.array([5, 2, 5, 5], dtype="u8"), 0).tolist()))
        4
    """
    ordered = np.sort(rows)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return rows
    bits = min(max(len(rows).bit_length(), 8), 24)
    marks, short = np.zeros(1 << bits, dtype=bool), np.uint64(64 - bits)
    marks[twice >> short] = True
    some = np.flatnonzero(marks[rows >> short])  # all that have an equal, and few others
    order = some[np.argsort(rows[some])]
    number, ranks = count_equal(rows[order]), rows.copy()
    more = order[number > 0]
    ranks[more] = mix(rows[more] + number[number > 0].astype(np.uint64), seed)
    return ranks


def find_begins(ordered: Hashes) -> Ints:
    """Return where each run of equal numbers begins, of numbers in order."""
    found: Ints = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return found


def count_equal(ordered: Hashes) -> Ints:
    """Return how many equal numbers come before each, of numbers in order.

    Examples:
        >>> count_equal(np.array([2, 5, 5, 5], dtype="u8")).tolist()
        [0, 0, 1, 2]
    """
    begins = find_begins(ordered)
    found: Ints = np.arange(len(ordered)) - np.repeat(begins, np.diff(np.append(begins, len(ordered))))
    return found


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
