"""What of rows does not depend on their order, the same on every engine: this module sees rows.

Of each column how often each cell occurs, and how often each number below a prime that whole rows are mixed
into by the key does. A row added, dropped or edited changes one of them, and so does, all but surely, a
column whose values were put into other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xxhash

from pandas_blowfish.kernel.batches import Batches, frames_of
from pandas_blowfish.kernel.cells import SHIFT, quotient, sure
from pandas_blowfish.kernel.encode import encoder
from pandas_blowfish.kernel.engine import ROWS, Key, Scan, grouped
from pandas_blowfish.kernel.keys import by_lists, cell_key, whole_numbers
from pandas_blowfish.kernel.place import MISSING, OUTSIDE, Ints
from pandas_blowfish.kernel.storage import Steps
from pandas_blowfish.kernel.total import lattice_numbers
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values

BASE = 1 << 20  # cells that are counted one by one; more are counted digit by digit
PRIME = 1_048_573  # numbers that whole rows are mixed into
LOTS = 16  # of listed values, in them
CHUNK = 1 << 17


class Occurrences:
    """How often each cell of a column occurs, by number; where there are many, how often each digit does.

    Codes below 0, of rows outside the domain, are among them.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.digits = _digits(attribute)
        size = BASE if self.digits > 1 else _largest(attribute)
        self._counts = [np.zeros(size + 2, dtype=np.int64) for _ in range(self.digits)]

    def add(self, numbers: Ints) -> None:
        """Count some rows."""
        for power, each in enumerate(self._counts):
            digit = numbers
            if self.digits > 1:
                digit = np.where(numbers < 0, numbers, numbers // BASE**power % BASE)
            each += np.bincount(digit + 2, minlength=len(each))

    def found(self) -> list[tuple[Ints, Ints]]:
        """Return the cells, or digits, and how often each occurred."""
        kept = [np.flatnonzero(each) for each in self._counts]
        return [(cells - 2, each[cells]) for cells, each in zip(kept, self._counts, strict=True)]


def column_spread(
    frame: pd.DataFrame | Batches | Scan, attribute: Attribute, *, clip: bool
) -> list[tuple[Ints, Ints]]:
    """Return the cells of a column, or the digits of their numbers, and how often each occurs."""
    if isinstance(frame, Scan) and isinstance(attribute, Values):
        return _listed(frame, attribute, clip=clip)
    if isinstance(frame, Scan):
        return [_scanned(frame, attribute, power, clip=clip) for power in range(_digits(attribute))]
    found = Occurrences(attribute)
    for (codes,) in chunks(frame, [attribute], clip=clip):
        found.add(numbers_of(codes, attribute))
    return found.found()


class Mixed:
    """A keyed number of each whole row, below a prime: sum of its cells' numbers times secret ones.

    Listed values count by one of a few lots, chosen by the key, so that an engine can tell them by lists.
    """

    def __init__(self, attributes: Sequence[Attribute], key: str) -> None:
        self.attributes = list(attributes)
        self._times, self._lots = [], []
        for each in self.attributes:
            digest = xxhash.xxh3_128(bytes.fromhex(key) + each.name.encode()).intdigest()
            self._times.append(digest % (PRIME - 1) + 1)
            own = None
            if isinstance(each, Values):
                own = np.arange(each.size) * (digest // PRIME % (PRIME - 1) + 1) % PRIME % LOTS
            self._lots.append(own)

    def of(self, codes: Sequence[Ints]) -> Ints:
        """Return the numbers of rows, given the codes of every column."""
        mixed: Ints = np.zeros(len(codes[0]) if codes else 0, dtype=np.int64)
        for own, each, times, lots in zip(codes, self.attributes, self._times, self._lots, strict=True):
            if lots is not None:
                mixed += np.where(own < 0, 0, lots[np.maximum(own, 0)]) * times
            else:
                numbers = numbers_of(own, each)
                mixed += (numbers % PRIME if _largest(each) > PRIME else numbers) * times
        return mixed % PRIME

    def counted(self, frame: pd.DataFrame | Batches | Scan, *, clip: bool) -> tuple[Ints, Ints]:
        """Return the numbers that occur, and how often each does."""
        if isinstance(frame, Scan):
            table = frame
            (numbers,), found = grouped(
                table, self.attributes, lambda steps: self._key(table, steps, clip), clip=clip
            )
            return _added(numbers, found[ROWS])
        return occurring(self.of(chunk) for chunk in chunks(frame, self.attributes, clip=clip))

    def _key(self, table: Scan, steps: Steps, clip: bool) -> list[Key]:
        mixed: Any = None
        for each, times, lots in zip(self.attributes, self._times, self._lots, strict=True):
            if isinstance(each, Values) and lots is not None:
                missing = int(lots[-1]) if each.nullable else 0
                own = by_lists(table, each, lots, missing, 0, clip=clip)
            else:
                code = cell_key(table, steps, each, clip=clip).expression
                own = code % PRIME if _largest(each) > PRIME else code
            mixed = own * times if mixed is None else steps.let(mixed + own * times)
        return [Key(steps.let(mixed) % PRIME, whole_numbers)]


def occurring(parts: Iterable[Ints]) -> tuple[Ints, Ints]:
    """Return the numbers below the prime that occur in some parts, and how often each does."""
    few: list[Ints] = []
    counts: Ints | None = None
    for part in parts:
        few.append(part)
        if sum(map(len, few)) > PRIME:  # from here on a table of all of them is smaller
            more = np.bincount(np.concatenate(few), minlength=PRIME)
            counts, few = more if counts is None else counts + more, []
    rest = np.concatenate(few) if few else np.zeros(0, dtype=np.int64)
    if counts is None:
        cells, often = np.unique(rest, return_counts=True)
        return cells, often.astype(np.int64)
    counts = counts + np.bincount(rest, minlength=PRIME)
    cells = np.flatnonzero(counts)
    return cells, counts[cells]


def chunks(
    frame: pd.DataFrame | Batches, attributes: Sequence[Attribute], *, clip: bool
) -> Iterator[list[Ints]]:
    """Yield the codes of some columns, chunk by chunk."""
    for part in frames_of(frame, [each.name for each in attributes]):
        readers = [encoder(part[each.name], each, clip=clip) for each in attributes]
        for start in range(0, len(part), CHUNK):
            stop = min(start + CHUNK, len(part))
            yield [np.ascontiguousarray(read(start, stop)) for read in readers]


def numbers_of(codes: Ints, attribute: Attribute) -> Ints:
    """Return the numbers of cells as other engines give them: without bounds those of steps."""
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


def _digits(attribute: Attribute) -> int:
    """Return how many digits to the base 2^20 a cell's number has; 1 where each cell is counted."""
    many = 1
    while BASE**many < _largest(attribute):
        many += 1
    return many


def _scanned(table: Scan, attribute: Attribute, power: int, *, clip: bool) -> tuple[Ints, Ints]:
    """Return how often each digit of the cells occurs in a table of another engine."""

    def keys(steps: Steps) -> list[Key]:
        import narwhals as nw

        key = cell_key(table, steps, attribute, clip=clip)
        if _digits(attribute) == 1:
            return [key]
        high = quotient(key.expression, BASE**power, _largest(attribute)) % BASE
        if sure(attribute, clip=clip):
            return [Key(high, whole_numbers)]
        return [Key(nw.when(key.expression < 0).then(key.expression).otherwise(high), whole_numbers)]

    (codes,), found = grouped(table, [attribute], keys, clip=clip)
    return _added(codes, found[ROWS])


def _listed(table: Scan, attribute: Values, *, clip: bool) -> list[tuple[Ints, Ints]]:
    """Return how often listed values occur, or digits of their numbers, from one query."""

    def keys(steps: Steps) -> list[Key]:
        return [cell_key(table, steps, attribute, clip=clip)]

    (codes,), found = grouped(table, [attribute], keys, clip=clip)
    many = _digits(attribute)
    digits = [np.where(codes < 0, codes, codes // BASE**power % BASE) for power in range(many)]
    return [_added(codes if many == 1 else digit, found[ROWS]) for digit in digits]


def _added(codes: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return distinct codes, and the rows of each."""
    cells, place = np.unique(codes, return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, place.reshape(-1), rows)
    return cells, counts
