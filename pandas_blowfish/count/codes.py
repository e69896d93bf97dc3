"""Codes of cells in as few bytes as they need, kept and counted: this module sees rows.

A code below 0 (`place.OUTSIDE`, `place.MISSING`) names no cell in any of these types, and is never counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.attribute import Attribute

Codes = NDArray[np.signedinteger[Any]]
Kept = dict[str, Codes]  # by column, of all rows
KINDS = tuple(np.dtype(kind) for kind in (np.int8, np.int16, np.int32, np.int64))
PAIRED = 1 << 20  # codes of one byte that are counted at a time, two by two
DIRECT = 1 << 16  # cells up to which each chunk is counted by itself
MOST_KEPT = 1 << 28  # bytes of codes that are kept


def narrow(size: int) -> np.dtype[Any]:
    """Return the smallest type that holds the codes of so many cells, and those below 0.

    Examples:
        >>> [str(narrow(size)) for size in (128, 129, 2**31 + 1)]
        ['int8', 'int16', 'int64']
    """
    return next(kind for kind in KINDS if size <= 1 << (8 * kind.itemsize - 1))


class CellCounts:
    """How many codes there are of each cell."""

    def __init__(self, size: int) -> None:
        self._found = np.zeros(size, dtype=np.int64)
        self._kind = narrow(size)
        self._room = PAIRED if self._kind.itemsize == 1 else min(size, 1 << 24) if size > DIRECT else 0
        self._few: list[Codes] = []  # in that type, until there are enough to be counted
        self._waiting = 0

    def add(self, codes: Codes) -> None:
        """Count some more; the array is not kept."""
        if not self._room:
            self._found += self._count(codes)
            return
        self._few.append(codes.astype(self._kind))
        self._waiting += len(codes)
        if self._waiting >= self._room:
            self._settle()

    def result(self) -> Ints:
        """Return how many there are of each."""
        self._settle()
        return self._found

    def _settle(self) -> None:
        if self._few:
            self._found += self._count(np.concatenate(self._few))
            self._few, self._waiting = [], 0

    def _count(self, codes: Codes) -> Ints:
        size = len(self._found)
        if codes.dtype.itemsize == 1 and len(codes) >= PAIRED // 4:
            return _count_pairs(codes)[:size]
        if len(codes) and int(codes.min()) < 0:
            codes = codes[codes >= 0]
        return np.bincount(codes, minlength=size)


def _count_pairs(codes: Codes) -> Ints:
    """Return how many codes of one byte there are of each: two neighbours are one number of two bytes.

    Half as many numbers are counted, and each code is in one pair, at one of its two ends.
    """
    even = codes[: len(codes) // 2 * 2]
    pairs = np.bincount(even.view(np.uint16), minlength=1 << 16).reshape(256, 256)
    found: Ints = pairs.sum(axis=0) + pairs.sum(axis=1)
    found[codes[len(even) :].view(np.uint8)] += 1
    return found[:128]  # the others are below 0


def join_codes(codes: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the number of each row's cell of several columns, in C order; -1 where it has none.

    Args:
        codes: Those of each column; one at least.
        sizes: How many cells each has.
    """
    if len(codes) == 1:
        return codes[0]
    kind = narrow(math.prod(sizes))
    joint = codes[0].astype(kind)
    for own, size in zip(codes[1:], sizes[1:], strict=True):
        joint *= kind.type(size)
        joint += own.astype(kind, copy=False)
    if len(joint) and min(int(own.min()) for own in codes) < 0:  # what they became may have wrapped
        joint[np.logical_or.reduce([own < 0 for own in codes])] = -1
    return joint


class Columns:
    """Columns of a frame as codes, a chunk of rows at a time; some may have been read before."""

    def __init__(self, frame: pd.DataFrame, *, clip: bool, kept: Mapping[str, Codes]) -> None:
        self.frame, self.clip, self._kept = frame, clip, kept

    def __len__(self) -> int:
        return len(self.frame)

    def reader(self, attribute: Attribute) -> Callable[[int, int], Ints]:
        """Return a function that codes the rows start..stop-1 of a column."""
        read = self.narrow_reader(attribute)
        return lambda start, stop: read(start, stop).astype(np.int64, copy=False)

    def narrow_reader(self, attribute: Attribute) -> Callable[[int, int], Codes]:
        """Return a function like that, whose codes are of any type that holds them."""
        kept = self._kept.get(attribute.name)
        if kept is not None:
            return lambda start, stop: kept[start:stop]
        return encoder(self.frame[attribute.name], attribute, clip=self.clip)


def room_for(kept: Kept, attribute: Attribute, rows: int) -> Codes | None:
    """Return where the codes of a column can be kept beside others; None where they are too many.

    Args:
        kept: What is kept.
        attribute: The column.
        rows: How many codes there are.
    """
    kind = narrow(attribute.size) if attribute.bounded else KINDS[-1]
    used = sum(each.nbytes for each in kept.values()) + rows * kind.itemsize
    return None if kind == KINDS[-1] or used > MOST_KEPT else np.empty(rows, dtype=kind)
