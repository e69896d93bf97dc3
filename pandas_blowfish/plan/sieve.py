"""Which cells are counted: classes of each column's cells, and the truth over their product.

Never sees rows. Cells that no comparison tells apart share a class, so a filter over a million cells
is a small table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.expression import Condition, signatures, truth

MAX_CLASSES = 3_000


@dataclass(frozen=True, eq=False)
class Sieve:
    """A filter over a product of columns.

    Attributes:
        classes: For each column the class of each cell.
        passes: Whether cells of a combination of classes are counted, one axis a column.
    """

    classes: tuple[Ints, ...]
    passes: NDArray[np.bool_]

    @property
    def trivial(self) -> bool:
        """Tell whether everything is counted."""
        return bool(self.passes.all())

    def cells(self) -> NDArray[np.bool_]:
        """Return whether each cell of the product, in C order, is counted."""
        return np.asarray(self.passes[np.ix_(*self.classes)]).ravel() if self.classes else self.passes.ravel()

    def occupied(self, labels: Sequence[Ints], bins: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each bin of a product, in C order, holds a cell that is counted."""
        found = self.passes
        for axis, (each, marks, count) in enumerate(zip(self.classes, labels, bins, strict=True)):
            if count == len(marks) and (marks == np.arange(count)).all():  # each cell is a bin
                found = np.take(found, each, axis=axis)
                continue
            has = np.zeros((count, self.passes.shape[axis]), dtype=np.int64)
            kept = marks >= 0
            has[marks[kept], each[kept]] = 1
            found = np.moveaxis(np.tensordot(has, found.astype(np.int64), axes=(1, axis)), 0, axis) > 0
        return found.ravel()


def sieve(condition: Condition | None, columns: Sequence[str], labels: Sequence[Ints]) -> Sieve:
    """Return the filter of a condition and of cells that no bin takes (label -1).

    Args:
        condition: What is asked of a row; None for nothing.
        columns: The columns of the product.
        labels: For each column the bin of each cell, -1 for none.
    """
    classes, dropped = [], []
    for column, marks in zip(columns, labels, strict=True):
        own = (
            np.zeros(len(marks), dtype=np.int64)
            if condition is None
            else signatures(condition, column, len(marks))
        )
        keys, each = np.unique(own * 2 + (marks < 0), return_inverse=True)
        classes.append(each.astype(np.int64).reshape(-1))
        dropped.append(keys % 2 == 1)
    size = math.prod(len(each) for each in dropped)
    if size > MAX_CLASSES:
        raise DomainTooLargeError(
            "the filter's table", size, MAX_CLASSES, fix="use fewer or simpler comparisons."
        )
    passes = np.ones([len(each) for each in dropped], dtype=bool)
    if condition is not None:
        passes &= truth(condition, list(columns), classes)
    for axis, gone in enumerate(dropped):
        view = [1] * len(dropped)
        view[axis] = -1
        passes &= ~gone.reshape(view)
    for axis in range(passes.ndim):  # classes that no combination tells apart are one
        rows = np.moveaxis(passes, axis, 0).reshape(passes.shape[axis], -1)
        _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        passes, classes[axis] = np.take(passes, first, axis=axis), same.reshape(-1)[classes[axis]]
    return Sieve(tuple(classes), passes)
