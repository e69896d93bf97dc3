"""Some cells of some columns by their codes: a few of many, or all of a few. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints

NO_VALUE = int(np.iinfo(np.int64).min)  # the missing cell of a column without bounds, which has no last cell


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a product of columns; "absent", a record that is not there, among them.

    Attributes:
        codes: For each column the code of each cell; the number of its cell for a column without bounds.
        absent: Which of the cells are "absent": their codes mean nothing.
    """

    codes: Mapping[str, Ints]
    absent: NDArray[np.bool_]

    @classmethod
    def present(cls, codes: Mapping[str, Ints], many: int) -> Cells:
        """Return `many` cells, none of them absent."""
        return cls(codes, np.zeros(many, dtype=bool))

    @classmethod
    def every(cls, names: Sequence[str], shape: Sequence[int]) -> Cells:
        """Return all cells of some columns, in C order."""
        many = math.prod(shape)
        codes = np.unravel_index(np.arange(many), shape) if names else ()
        return cls.present(dict(zip(names, codes, strict=True)), many)

    def __len__(self) -> int:
        return len(self.absent)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice | list[int]) -> Cells:
        """Return some of the cells."""
        return Cells({name: codes[rows] for name, codes in self.codes.items()}, self.absent[rows])

    def concat(self, other: Cells) -> Cells:
        """Return these cells, then the others, of the same columns."""
        codes = {name: np.concatenate([own, other.codes[name]]) for name, own in self.codes.items()}
        return Cells(codes, np.concatenate([self.absent, other.absent]))
