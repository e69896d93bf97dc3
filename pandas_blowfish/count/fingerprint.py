"""Order-independent fingerprint of the rows, the same on every engine: this module sees rows.

Of each column how often each cell occurs, and how often each number below a prime that whole rows are mixed
into by the key does. A row added, dropped or edited changes one of them, and so does, all but surely, a
column whose values were put into other rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import xxhash

from pandas_blowfish.count.codes import CellCounts, join_codes
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.groups import group_cells
from pandas_blowfish.count.place import MISSING, OUTSIDE
from pandas_blowfish.count.readers.pieces import Pieces, merge
from pandas_blowfish.count.weigh import lattice_numbers
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values

SHIFT = 2**54  # the number of the step at 0 in a column without bounds: none is negative
BASE = 1 << 20  # cells that are counted one by one; more are counted digit by digit
PRIME = 1_048_573  # numbers that whole rows are mixed into
LOTS = 16  # of listed values, in them, as earlier versions sealed them
BY_VALUE, BY_LOT = "value", "lot"  # how listed values count in them
CHUNK = 1 << 16
JOINT = 1 << 16  # cells of all columns together that are counted at once
FEW = 16  # parts of all cells that rows must be before each cell is counted
LISTED = 1 << 14  # numbers that are sorted rather than counted
Found = tuple[Ints, Ints]  # numbers that occur, and how often each does


_NOTHING: Any = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Occurrences:
    """How often each cell of a column occurs, by number; where there are many, how often each digit does.

    Codes below 0, of rows outside the domain, are among them.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.digits = _count_digits(attribute, BASE)
        self._size = BASE if self.digits > 1 else _largest(attribute)
        self._few: list[Ints] = []  # numbers, as long as a table of all cells would be larger
        self._counts: list[Ints] = []

    def add(self, numbers: Ints) -> None:
        """Count some rows."""
        self._few.append(numbers)
        if sum(map(len, self._few)) > self._size // FEW:
            if not self._counts:
                self._counts = [np.zeros(self._size + 2, dtype=np.int64) for _ in range(self.digits)]
            for each, digit in zip(self._counts, self._digits(), strict=True):
                np.add.at(each, digit, 1)  # numbers below 0 are counted at the end
            self._few = []

    def _digits(self) -> list[Ints]:
        """Return the digits of the numbers that are not counted yet."""
        return split_digits(_concatenate(self._few), self.digits)

    def counts(self) -> list[Found]:
        """Return the cells, or digits, and how often each occurred."""
        rest = [add_rows(digit, np.ones(len(digit), dtype=np.int64)) for digit in self._digits()]
        if not self._counts:
            return rest
        kept = [np.flatnonzero(each) for each in self._counts]
        numbers = [np.where(cells < self._size, cells, cells - self._size - 2) for cells in kept]
        counted = [(own, each[cells]) for own, each, cells in zip(numbers, self._counts, kept, strict=True)]
        return [_plus(*both) for both in zip(counted, rest, strict=True)]


class Mixed:
    """A keyed number of each whole row, below a prime: sum of its cells' numbers times secret ones.

    Listed values count by numbers of their own, chosen by the key; for earlier versions by one of a few lots.
    Numbers beyond the prime count by all their digits; for earlier versions by the lowest.
    """

    def __init__(self, attributes: Sequence[Attribute], key: str, by: str = BY_VALUE) -> None:
        self.attributes = list(attributes)
        self._times, self._lots = [], []
        self._higher: list[list[int]] = []  # for each column what its higher digits count
        for each in self.attributes:
            secret = bytes.fromhex(key) + each.name.encode()
            digest = xxhash.xxh3_128(secret).intdigest()
            self._times.append(digest % (PRIME - 1) + 1)
            many = 0 if by == BY_LOT or isinstance(each, Values) else _count_digits(each, PRIME) - 1
            digits = [xxhash.xxh3_128(secret, seed=place + 1).intdigest() for place in range(many)]
            self._higher.append([digit % (PRIME - 1) + 1 for digit in digits])
            own = None
            if isinstance(each, Values):
                own = np.arange(each.size) * (digest // PRIME % (PRIME - 1) + 1) % PRIME
                own = (own % LOTS if by == BY_LOT else own) * self._times[-1]
                own = np.append(own, [0, 0])  # OUTSIDE and MISSING, -1 and -2, count for none
            self._lots.append(own)

    def mix(self, codes: Sequence[Ints]) -> Ints:
        """Return the numbers of rows, given the codes of every column."""
        mixed: Ints = np.zeros(len(codes[0]) if codes else 0, dtype=np.int64)
        parts = zip(codes, self.attributes, self._times, self._lots, self._higher, strict=True)
        for own, each, times, lots, higher in parts:
            if lots is not None:
                mixed += lots[own]
                continue
            numbers = numbers_of(own, each)
            mixed += (_remainder(numbers) if _largest(each) > PRIME else numbers) * times
            for more in higher:
                numbers = numbers // PRIME
                mixed += _remainder(numbers) * more
        return _remainder(mixed)


@dataclass(frozen=True)
class Fingerprint:
    """How often cells, and mixed rows, occur, whatever the order of the rows.

    Attributes:
        columns: Of each column its cells, or the digits of their numbers, and how often each occurs.
        rows: The numbers that whole rows are mixed into, and how often each occurs.
        outside: Of each column whether some row has no declared value.
    """

    columns: list[list[Found]]
    rows: Found
    outside: list[bool]

    def __add__(self, other: Fingerprint) -> Fingerprint:
        both = zip(self.columns, other.columns, strict=True)
        columns = [[_plus(*digits) for digits in zip(one, more, strict=True)] for one, more in both]
        outside = [one or more for one, more in zip(self.outside, other.outside, strict=True)]
        return Fingerprint(columns, _plus(self.rows, other.rows), outside)


def fingerprint(
    frame: pd.DataFrame | Pieces, attributes: Sequence[Attribute], mixed: Mixed, *, clip: bool
) -> Fingerprint:
    """Return what is seen of some columns, and of whole rows of others.

    Args:
        frame: The rows.
        attributes: The columns to look at one by one.
        mixed: Those to look at together; none where it has none.
        clip: Put numbers beyond the bounds into the nearest cell.
    """
    if not mixed.attributes and (found := _fingerprint_groups(frame, attributes, clip=clip)) is not None:
        return found
    names = [each.name for each in (*attributes, *mixed.attributes)]
    whole: Fingerprint = merge(
        frame, names, lambda part: fingerprint_part(part, attributes, mixed, clip=clip), add
    )
    return whole


def _fingerprint_groups(frame: Any, attributes: Sequence[Attribute], *, clip: bool) -> Fingerprint | None:
    """Return the fingerprint of a column from groups that an engine counts; None where it has none."""
    if len(attributes) != 1 or (groups := group_cells(frame, attributes, clip=clip)) is None:
        return None
    return _gather_groups(groups[0], groups[1], attributes, Mixed([], ""))


def _gather_groups(
    codes: Mapping[str, Ints], rows: Ints, attributes: Sequence[Attribute], mixed: Mixed
) -> Fingerprint:
    """Return the fingerprint of groups of rows that share their codes.

    Args:
        codes: Of each column those of the groups.
        rows: How many rows each group has.
        attributes: The columns to look at one by one.
        mixed: Those to look at together.
    """
    columns = [
        [add_rows(digit, rows) for digit in split_digits(codes[own.name], _count_digits(own, BASE))]
        for own in attributes
    ]
    numbers = mixed.mix([codes[own.name] for own in mixed.attributes])
    together = add_rows(numbers, rows) if mixed.attributes else _NOTHING
    return Fingerprint(columns, together, [bool((codes[own.name] < 0).any()) for own in attributes])


def fingerprint_part(
    part: pd.DataFrame,
    attributes: Sequence[Attribute],
    mixed: Mixed,
    *,
    clip: bool,
    each: Callable[[int, Ints], None] = lambda *_: None,
) -> Fingerprint:
    """Return what is seen of a pandas frame, in one pass.

    Args:
        part: The rows.
        attributes: The columns to look at one by one.
        mixed: Those to look at together.
        clip: Put numbers beyond the bounds into the nearest cell.
        each: Takes the place of each of the first columns, and its codes, a chunk at a time.
    """
    counts, outside = [Occurrences(own) for own in attributes], [False] * len(attributes)
    together = list({own.name: own for own in (*attributes, *mixed.attributes)}.values())
    places = [[own.name for own in together].index(own.name) for own in mixed.attributes]
    sizes = [_largest(own) for own in together]
    joint = CellCounts(math.prod(sizes)) if together and math.prod(sizes) <= JOINT else None

    def read_chunks() -> Iterator[Ints]:
        for chunk in chunks(part, together, clip=clip):
            low = [int(codes.min()) < 0 for codes in chunk]
            for at, (own, codes) in enumerate(zip(attributes, chunk, strict=False)):
                if low[at]:  # a number without cells is its own bits, which may be negative
                    outside[at] |= own.bounded or bool(np.isin(codes, (OUTSIDE, MISSING)).any())
                each(at, codes)
            if joint is not None and not any(low):
                joint.add(join_codes(chunk, sizes))
                continue
            for own, codes, found in zip(attributes, chunk, counts, strict=False):
                found.add(numbers_of(codes, own))
            yield mixed.mix([chunk[place] for place in places])

    rows = count_numbers(read_chunks())
    seen = Fingerprint([own.counts() for own in counts], rows, outside)
    if joint is None:
        return seen
    cells = np.flatnonzero(joint.result())
    codes = dict(zip((own.name for own in together), np.unravel_index(cells, sizes), strict=True))
    return seen + _gather_groups(codes, joint.result()[cells], attributes, mixed)


def count_numbers(parts: Iterable[Ints]) -> Found:
    """Return the numbers below the prime that occur in some parts, and how often each does."""
    few: list[Ints] = []
    counts: Ints | None = None
    for part in parts:
        if counts is not None:
            np.add.at(counts, part, 1)
            continue
        few.append(part)
        if sum(map(len, few)) > PRIME // FEW:  # more are sooner counted than sorted
            counts, few = np.bincount(np.concatenate(few), minlength=PRIME), []
    if counts is None:
        cells, often = np.unique(_concatenate(few), return_counts=True)
        return cells, often.astype(np.int64)
    cells = np.flatnonzero(counts)
    return cells, counts[cells]


def _concatenate(parts: Sequence[Ints]) -> Ints:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _remainder(numbers: Ints) -> Ints:
    """Return numbers modulo the prime: as `%` gives it, which numpy does one by one."""
    found: Ints = numbers // PRIME
    found *= -PRIME
    found += numbers
    return found


def chunks(part: pd.DataFrame, attributes: Sequence[Attribute], *, clip: bool) -> Iterator[list[Ints]]:
    """Yield the codes of some columns, chunk by chunk."""
    readers = [encoder(part[each.name], each, clip=clip) for each in attributes]
    for start in range(0, len(part), CHUNK):
        stop = min(start + CHUNK, len(part))
        yield [np.ascontiguousarray(read(start, stop)) for read in readers]


def numbers_of(codes: Ints, attribute: Attribute) -> Ints:
    """Return the numbers of cells that are counted: without bounds those of steps."""
    if not isinstance(attribute, Unbounded):
        return codes
    values: Any = np.ascontiguousarray(codes).view(np.float64)
    known = np.isfinite(values)
    number = np.zeros(len(codes), dtype=np.int64)
    if attribute.kind != "datetime":
        number = lattice_numbers(np.where(known, values, 0.0), attribute)
    outside = (codes == OUTSIDE) | (codes == MISSING)
    return np.where(known, number + SHIFT, np.where(outside, codes, 2 * SHIFT))


def _largest(attribute: Attribute) -> int:
    """Return a number beyond those of all cells."""
    return 2 * SHIFT + 1 if isinstance(attribute, Unbounded) else attribute.size


def _count_digits(attribute: Attribute, base: int) -> int:
    """Return how many digits to some base a cell's number has; of base 2^20, 1 where each cell is counted."""
    many = 1
    while base**many < _largest(attribute):
        many += 1
    return many


def split_digits(numbers: Ints, many: int) -> list[Ints]:
    """Return the digits of numbers, the lowest first; a number below 0 is each of its own."""
    if many == 1:
        return [numbers]
    return [np.where(numbers < 0, numbers, numbers // BASE**power % BASE) for power in range(many)]


def add_rows(codes: Ints, rows: Ints) -> Found:
    """Return distinct codes, and the rows of each."""
    if len(codes) < LISTED:
        cells, place = np.unique(codes, return_inverse=True)
        return cells, np.bincount(place.reshape(-1), rows, len(cells)).astype(np.int64)  # exact below 2^53
    counts = np.bincount(codes + 2, weights=rows)
    cells = np.flatnonzero(counts)
    return cells - 2, counts[cells].astype(np.int64)


def _plus(one: Found, more: Found) -> Found:
    return add_rows(np.concatenate([one[0], more[0]]), np.concatenate([one[1], more[1]]))
