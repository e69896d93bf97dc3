"""Exact linear algebra over whole numbers: rank, kernel, minimal zero sums. Never sees rows."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints

MAX_VECTORS = 12  # different moves of which the longest zero sum is looked for
MAX_WORK = 6_000_000  # vectors compared meanwhile: one to two seconds, and the same on every machine
PRIME = 2**31 - 1
MAX_ROWS = 300  # that are reduced modulo the prime to see whether they are independent
MOST = 24  # denominators that are tried
MAX_PART = 64  # of the denominators that a short kernel is looked for with


def independent(matrix: Ints) -> list[int]:
    """Return columns of a matrix that span all of its columns, found exactly.

    Examples:
        >>> independent(np.array([[1, 2, 0], [2, 4, 1]]))
        [0, 2]
    """
    return _echelon(matrix)[1]


def has_independent_rows(matrix: Ints) -> bool:
    """Return whether the rows of a matrix are seen to be independent; False also where that is too much work.

    Examples:
        >>> has_independent_rows(np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]]))
        True
        >>> has_independent_rows(np.array([[1, 0], [0, 1], [1, 1]]))
        False

    Proof note:
        Requires: whole numbers.
        Ensures:  rows of which it returns True are independent.
        Because:  a row that alone has a number in some column is in no vanishing sum of the rows, so it can
                  be left out; rows that are independent modulo a prime are independent.
        Checked:  tests/exact/test_integer_kernel.py::test_independent_rows_match_fractions
    """
    held = matrix != 0
    many, left = held.sum(axis=0), np.ones(len(matrix), dtype=bool)
    while len(alone := np.flatnonzero(many == 1)):
        gone = np.unique((held[:, alone] & left[:, None]).argmax(axis=0))
        left[gone] = False
        many = many - held[gone].sum(axis=0)
    rest = matrix[left][:, many > 0]
    if len(rest) > min(rest.shape[1], MAX_ROWS) or rest.shape[1] > 4 * MAX_ROWS:
        return not len(rest)
    return len(_modular(rest)[1]) == len(rest)


def only_direction(matrix: Ints) -> Ints | None:
    """Return the primitive whole vector that spans a kernel; empty for {0}, None where it is larger.

    Examples:
        >>> only_direction(np.array([[1, 1, 0], [0, 1, 1]])).tolist()
        [1, -1, 1]

    Proof note:
        Requires: whole numbers.
        Ensures:  what is returned is the kernel; None may also be returned for one that is too awkward.
        Because:  rows that are independent modulo a prime are independent, so the kernel is at most as
                  large as that modulo the prime, and a vector is returned only if it is in the kernel.
        Checked:  tests/exact/test_integer_kernel.py::test_only_direction_matches_fractions
    """
    rows, pivots = _modular(matrix)
    width = matrix.shape[1]
    if len(pivots) == width:
        return np.empty(0, dtype=np.int64)
    if len(pivots) < width - 1:
        return None
    free = next(column for column in range(width) if column not in set(pivots))
    found = np.zeros(width, dtype=np.int64)
    found[free] = 1
    found[pivots] = -rows[:, free] % PRIME
    for multiple in range(1, MOST):  # a small common denominator
        values = found * multiple % PRIME
        values = np.where(values > PRIME // 2, values - PRIME, values)
        if np.abs(values).max() < PRIME >> 12 and not (matrix @ values).any():
            first = 1 if values[np.flatnonzero(values)[0]] > 0 else -1
            return np.asarray(first * values // math.gcd(*values.tolist()))
    return None


def short_kernel(matrix: Ints, size: int) -> Ints:
    """Return whole-number rows that span all v with matrix @ v = 0, but for those of long fractions.

    Elimination in floats finds them quickly; only rows that are in the kernel exactly are returned.

    Args:
        matrix: Whole numbers, of `size` columns.
        size: How many columns there are, also where there is no row.

    Examples:
        >>> short_kernel(np.array([[1, 2, 0], [0, 0, 1]]), 3).tolist()
        [[2, -1, 0]]
    """
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


def _whole(values: Floats) -> list[int]:
    """Return numbers of short denominators times their common one, with a first sign of +."""
    parts = [Fraction(float(value)).limit_denominator(MAX_PART) for value in values]
    common = math.lcm(*(part.denominator for part in parts))
    sign = next((1 if part > 0 else -1 for part in parts if part), 1)
    return [int(part * common) * sign for part in parts]


def _modular(matrix: Ints) -> tuple[Ints, list[int]]:
    """Return the reduced rows modulo a prime, and the column of each one's pivot."""
    work = matrix % PRIME
    top, pivots = 0, []
    for column in range(work.shape[1]):
        live = top + np.flatnonzero(work[top:, column])
        if not len(live):
            continue
        work[[top, live[0]]] = work[[live[0], top]]
        work[top] = work[top] * pow(int(work[top, column]), -1, PRIME) % PRIME
        others = np.flatnonzero(work[:, column])
        others = others[others != top]
        work[others] = (work[others] - work[others, column][:, None] * work[top]) % PRIME
        pivots.append(column)
        top += 1
    return work[:top], pivots


def _echelon(matrix: Ints) -> tuple[list[Any], list[int]]:
    """Return the reduced rows, as whole numbers, and the column of each one's pivot."""
    rest = [row for row in np.unique(matrix, axis=0).astype(object) if any(row)]
    rows: list[Any] = []
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        place = next((n for n, row in enumerate(rest) if row[column]), None)
        if place is None:
            continue
        pivot = rest.pop(place)
        rest = [_without(row, pivot, column) for row in rest]
        rest = [row for row in rest if any(row)]
        rows = [_without(row, pivot, column) for row in rows]
        rows.append(pivot)
        pivots.append(column)
    return rows, pivots


def _without(row: Any, pivot: Any, column: int) -> Any:
    """Return a row with a multiple of another taken away, so that it is 0 in a column."""
    if not row[column]:
        return row
    found = row * pivot[column] - pivot * row[column]
    common = math.gcd(*found.tolist())
    return found // common if common > 1 else found


def longest_zero_sum(moves: Sequence[Sequence[int]]) -> int | None:
    """Return the longest sequence of moves that adds up to 0 while no part of it does.

    Args:
        moves: Vectors of whole numbers; each may also be taken the other way round.

    Returns:
        The number of moves; None where there are too many sequences to go through.

    Examples:
        >>> longest_zero_sum([(1, 0), (0, 1), (1, 1), (1, -1)])
        4

    Proof note:
        Requires: moves of one record change the known counts by these vectors or their negatives.
        Ensures:  no minimal zero sum has more moves.
        Because:  a minimal zero sum other than {v, -v} takes each vector one way only, so that it is a
                  vector of whole multiplicities in the kernel of the matrix of moves that is no sum of
                  two others of the same signs: an element of its Graver basis, which Pottier's completion
                  finds whole before this returns a number.
        Checked:  tests/exact/test_integer_kernel.py::test_longest_zero_sum_matches_enumeration
    """
    vectors = sorted({max(tuple(move), tuple(-each for each in move)) for move in moves if any(move)})
    if not vectors:
        return 1
    if len(vectors) > MAX_VECTORS:
        return None
    basis = _kernel_basis(np.array(vectors, dtype=np.int64).T)
    if not len(basis):
        return 2
    kept = _completed(basis)
    return None if kept is None else max(2, int(np.abs(_irreducible(kept)).sum(axis=1).max()))


def _completed(basis: Ints) -> Ints | None:
    """Return vectors of which all of a kernel are sums without cancelling, one of each two opposite ones.

    Sums of pairs are taken in turn, the shortest first, until each is made of what is there already. None
    where that takes more than `MAX_WORK` comparisons.
    """
    kept, work = basis[:0], 0
    waiting: list[tuple[int, int, int, int]] = []  # length, the later, the earlier, and its sign
    for each in basis:
        kept = _enter(waiting, kept, each)
    while waiting:
        _, later, earlier, sign = heapq.heappop(waiting)
        rest = kept[later] + sign * kept[earlier]
        while rest.any():
            work += len(kept)
            part = _part_of(rest, kept)
            if part is None:
                break
            rest = rest - part
        if work > MAX_WORK:
            return None
        if rest.any():
            kept = _enter(waiting, kept, rest)
    return kept


def _enter(waiting: list[tuple[int, int, int, int]], kept: Ints, vector: Ints) -> Ints:
    """Return the vectors with one more, whose sums with others wait, but for those that cancel nothing."""
    for sign in (1, -1):
        cancels = ((kept * vector) * sign < 0).any(axis=1)
        lengths = np.abs(vector + sign * kept).sum(axis=1).tolist()
        for other in np.flatnonzero(cancels).tolist():
            heapq.heappush(waiting, (lengths[other], len(kept), other, sign))
    return np.concatenate([kept, vector[None]])


def _part_of(vector: Ints, kept: Ints) -> Ints | None:
    """Return one of some vectors, or its opposite, that has the signs of another and is nowhere larger."""
    places = np.flatnonzero((np.abs(kept) <= np.abs(vector)).all(axis=1))
    signs = kept[places] * vector
    found = np.flatnonzero((signs >= 0).all(axis=1) | (signs <= 0).all(axis=1))
    if not len(found):
        return None
    part = kept[places[found[0]]]
    return np.asarray(part if (part * vector >= 0).all() else -part)


def _irreducible(kept: Ints) -> Ints:
    """Return the vectors that are not made of others among them."""
    whole = [
        vector
        for place, vector in enumerate(kept)
        if _part_of(vector, np.delete(kept, place, axis=0)) is None
    ]
    return np.array(whole if whole else kept, dtype=np.int64)


def _kernel_basis(matrix: Ints) -> Ints:
    """Return a basis of the whole vectors of a kernel: column steps that leave a triangle."""
    rows, width = matrix.shape
    work = np.concatenate([matrix.T, np.eye(width, dtype=np.int64)], axis=1).astype(object)
    top = 0
    for column in range(rows):
        while True:
            live = [n for n in range(top, width) if work[n, column]]
            if len(live) <= 1:
                break
            least = min(live, key=lambda n: abs(work[n, column]))
            for n in live:
                if n != least:
                    work[n] = work[n] - work[least] * (work[n, column] // work[least, column])
        if live:
            work[[top, live[0]]] = work[[live[0], top]]
            top += 1
    return work[top:, rows:].astype(np.int64)
