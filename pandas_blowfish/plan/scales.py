"""Noise scales, one Fraction a measured row, kept as a few distinct values. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Scales(Sequence[Fraction]):
    """A read-only sequence of fractions: `values[codes[i]]` for row i.

    Examples:
        >>> list(Scales([Fraction(20), Fraction(0)], np.array([0, 0, 1])))
        [Fraction(20, 1), Fraction(20, 1), Fraction(0, 1)]
    """

    def __init__(self, values: Sequence[Fraction], codes: NDArray[np.integer]) -> None:
        self.values = tuple(values)
        self.codes = codes.view()
        self.codes.setflags(write=False)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, item: int) -> Fraction: ...

    @overload
    def __getitem__(self, item: slice) -> Scales: ...

    def __getitem__(self, item: int | slice) -> Fraction | Scales:
        if isinstance(item, slice):
            return Scales(self.values, self.codes[item])
        return self.values[int(self.codes[item])]

    def __iter__(self) -> Iterator[Fraction]:
        return (self.values[int(code)] for code in self.codes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Scales, list, tuple)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(str(scale) for scale in self[:6])
        return f"Scales([{shown}{', ...' if len(self) > 6 else ''}], rows={len(self):,})"

    def spread(self, per_value: Sequence[float]) -> NDArray[np.float64]:
        """Return one float a row from one float a distinct scale."""
        table = np.asarray(per_value, dtype=np.float64)
        return np.asarray(table[self.codes], dtype=np.float64)
