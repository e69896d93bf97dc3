"""Codes of rows, or of groups of rows, to the bins of a table: this module sees rows as codes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.count.place import Ints
from pandas_blowfish.plan.tally import Tally


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
