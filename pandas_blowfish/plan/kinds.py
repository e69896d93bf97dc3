"""Kinds of cells that known counts tell apart, and the sums of counts that bins can tell. Never sees rows.

Bins of a column that hold the same classes of cells are of one type, so a million bins are a small table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.expression import truth
from pandas_blowfish.policy.fact import Fact
from pandas_blowfish.policy.graph import Ints

MAX_TABLE = 10**7  # numbers of any one table here
MAX_PART = 64  # of the denominators that sums of counts are looked for with


def told(facts: Iterable[Fact], columns: list[str], classes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return which combinations of classes each known count holds, and the counts."""
    shape = [int(each.max(initial=-1)) + 1 for each in classes]
    told, answers = [], []
    for fact in facts:
        assert fact.answer is not None
        if fact.condition is not None:
            told.append(np.broadcast_to(truth(fact.condition, columns, classes), shape).reshape(1, -1))
        else:
            cell = np.zeros([1] * len(shape), dtype=np.int64)
            for size, column in zip(fact.shape, fact.columns, strict=True):
                axis = columns.index(column)
                own = np.empty(shape[axis], dtype=np.int64)
                own[classes[axis]] = np.arange(size)
                cell = cell * size + own.reshape([-1 if n == axis else 1 for n in range(len(shape))])
            told.append(np.broadcast_to(cell, shape).reshape(1, -1) == np.arange(fact.counts)[:, None])
        answers.append(fact.answer.reshape(-1))
    return np.concatenate(told).astype(np.int8), np.concatenate(answers)


def counted(tally: Tally, columns: list[str], classes: Sequence[Ints]) -> NDArray[np.bool_]:
    """Return which combinations of classes are counted in some bin."""
    shape = [int(each.max(initial=-1)) + 1 for each in classes]
    found = np.ones(shape, dtype=bool)
    if tally.condition is not None:
        found &= truth(tally.condition, columns, classes)
    for axis, marks in enumerate(tally.marks):
        kept = np.zeros(shape[axis], dtype=bool)
        kept[classes[axis][marks >= 0]] = True
        found &= kept.reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return found


def held(
    tally: Tally, classes: Sequence[Ints], kind_of: Ints, kinds: int
) -> tuple[NDArray[np.bool_], Ints] | None:
    """Return which kinds of cells types of bins hold, types x kinds, and the type of each bin.

    Bins of a column are of one type where they hold the same classes.
    """
    has = np.zeros((*kind_of.shape, kinds + 1), dtype=np.float32)
    if has.size > MAX_TABLE:
        return None
    np.put_along_axis(has, kind_of[..., None], 1.0, axis=-1)
    type_of = np.zeros(1, dtype=np.int64)
    for axis, each in enumerate(classes):
        inside = np.ones((1, kind_of.shape[axis]), dtype=np.float32)
        if axis < len(tally.binnings):
            found = _types(tally.marks[axis], each, tally.shape[axis])
            if found is None:
                return None
            inside, own = found
            type_of = (type_of[:, None] * len(inside) + own).ravel()
        if has.size // max(has.shape[axis], 1) * len(inside) > MAX_TABLE:
            return None
        has = (np.moveaxis(np.tensordot(inside, has, axes=(1, axis)), 0, axis) > 0).astype(np.float32)
    return has.reshape(-1, kinds + 1)[:, :kinds] > 0, type_of


def _types(marks: Ints, classes: Ints, bins: int) -> tuple[NDArray[np.float32], Ints] | None:
    """Return which classes each type of a column's bins holds, types x classes, and the type of each bin."""
    many = int(classes.max(initial=-1)) + 1
    kept = marks >= 0
    pairs = np.unique(marks[kept] * many + classes[kept])
    own, each = np.divmod(pairs, max(many, 1))
    number = np.bincount(own, minlength=bins)
    type_of = np.full(bins, many, dtype=np.int64)  # a bin without cells
    single = number[own] == 1
    type_of[own[single]] = each[single]
    mixed = np.flatnonzero(number > 1)
    if len(mixed) * many > MAX_TABLE:
        return None
    table = np.zeros((len(mixed), many), dtype=np.float32)
    table[np.searchsorted(mixed, own[~single]), each[~single]] = 1.0
    different, of_mixed = np.unique(table, axis=0, return_inverse=True)
    type_of[mixed] = many + 1 + of_mixed.reshape(-1)
    return np.concatenate([np.eye(many + 1, many, dtype=np.float32), different]), type_of


def gathered(has: NDArray[np.bool_], type_of: Ints, parts: Ints) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Return the same for parts of several bins, and the kinds of cells that are in no part."""
    kept, count = parts >= 0, int(parts.max(initial=-1)) + 1
    pairs = np.unique(parts[kept] * len(has) + type_of[kept])
    part, own = np.divmod(pairs, len(has))
    gathered = np.zeros((count, has.shape[1]), dtype=bool)
    np.logical_or.at(gathered, part, has[own])
    dropped = has[np.unique(type_of[~kept])].any(axis=0)
    return gathered, np.arange(count), np.flatnonzero(dropped)


def sums(kinds: Ints, has: NDArray[np.bool_], outside: Ints) -> Ints:
    """Return whole-number sums of known counts, sums x counts, that are one number on every bin.

    They are 0 on kinds of cells that are outside; all sums are sums of multiples of these.
    """
    first = np.argmax(has, axis=1)
    of_type, kind = np.nonzero(has)
    apart = np.unique(np.column_stack([first[of_type], kind]), axis=0)
    differ = (kinds[:, apart[:, 1]] - kinds[:, apart[:, 0]]).T
    same = np.unique(np.concatenate([differ, kinds[:, outside].T]), axis=0)
    return _kernel(same[same.any(axis=1)], kinds.shape[0])


def _kernel(matrix: Ints, size: int) -> Ints:
    """Return whole-number rows that span all v with matrix @ v = 0, but for those of long fractions."""
    left = matrix.astype(np.float64)
    pivots: list[int] = []
    for column in range(size):
        row = len(pivots)
        if row == len(left):
            break
        best = row + int(np.argmax(np.abs(left[row:, column])))
        if abs(left[best, column]) < 1e-9:
            left[row:, column] = 0.0
            continue
        left[[row, best]] = left[[best, row]]
        left[row] /= left[row, column]
        others = np.flatnonzero(left[:, column])
        others = others[others != row]
        left[others] -= np.outer(left[others, column], left[row])
        pivots.append(column)
    free = np.setdiff1d(np.arange(size), pivots)
    found = np.zeros((len(free), size))
    found[np.arange(len(free)), free] = 1.0
    found[:, pivots] = -left[: len(pivots), free].T
    whole = np.array([_whole(each) for each in found], dtype=np.int64).reshape(-1, size)
    return whole[~(matrix @ whole.T).any(axis=0)] if len(matrix) else whole


def _whole(values: NDArray[np.float64]) -> list[int]:
    """Return numbers of short denominators times their common one, with a first sign of +."""
    parts = [Fraction(float(value)).limit_denominator(MAX_PART) for value in values]
    common = math.lcm(*(part.denominator for part in parts))
    sign = next((1 if part > 0 else -1 for part in parts if part), 1)
    return [int(part * common) * sign for part in parts]
