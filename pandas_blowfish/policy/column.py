"""What every declared column answers about its cells, whatever they are. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_blowfish.errors import DeclaredValueError


@dataclass(frozen=True)
class Attribute(ABC):
    """A column and its cells 0..cells-1, in schema order; a nullable one has a missing cell, last."""

    name: str
    kind: str  # integer, float, datetime, bool, category, string
    nullable: bool

    bounded: ClassVar[bool] = True

    @property
    @abstractmethod
    def cells(self) -> int:
        """Return how many cells hold values."""

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Tell whether cell order means something."""

    @property
    def size(self) -> int:
        """Return how many cells there are, the missing one included."""
        return self.cells + self.nullable

    @abstractmethod
    def labels(self) -> pd.Index[Any]:
        """Return the names of the value cells, as they index a result."""

    @abstractmethod
    def code(self, value: object) -> int:
        """Return the cell of a declared constant, or raise DeclaredValueError."""

    @abstractmethod
    def edge(self, value: object, *, closed: bool = True) -> int:
        """Return i when `value` is where cell i begins (`cells` for the end), or raise.

        Args:
            value: A constant; beyond the domain it is clipped to its ends.
            closed: Whether the largest value of bins stands for the end, as in `numpy.histogram`.
        """

    @abstractmethod
    def merged(self, starts: Sequence[int], stops: Sequence[int]) -> pd.Index[Any]:
        """Return the names of runs of cells start..stop-1."""

    @abstractmethod
    def describe(self) -> str:
        """Return the declared values in a few words, for messages."""

    def cell(self, value: object) -> int:
        """Return the cell of a constant, None or NaN standing for the missing one."""
        return self.cells if self.nullable and is_missing(value) else self.code(value)

    def index(self) -> pd.Index[Any]:
        """Return the names of all cells; missing is NaN, last."""
        return with_missing(self.labels()) if self.nullable else self.labels()

    def refuse(self, value: object) -> DeclaredValueError:
        """Return the error for a constant that is not declared."""
        return DeclaredValueError(self.name, f"{value!r} is not a declared value", allowed=self.describe())


def is_missing(value: object) -> bool:
    """Tell whether one value is a null, however it is written: None, NaN, NA, NaT.

    Examples:
        >>> [is_missing(value) for value in (None, float("nan"), pd.NA, pd.NaT, Decimal("sNaN"), "nan")]
        [True, True, True, True, True, False]
    """
    if isinstance(value, Decimal):
        return value.is_nan()  # pandas compares it with itself, and a signalling NaN raises then
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))  # type: ignore[call-overload]


def with_missing(labels: pd.Index[Any]) -> pd.Index[Any]:
    """Return an index with one more, missing, entry: whole numbers become floats, bools objects."""
    if isinstance(labels, (pd.CategoricalIndex, pd.IntervalIndex, pd.DatetimeIndex)):
        return labels.insert(len(labels), np.nan if not isinstance(labels, pd.DatetimeIndex) else pd.NaT)
    kind = "float64" if labels.dtype.kind in "if" else "object"
    return pd.Index([*labels.tolist(), np.nan], dtype=kind, name=labels.name)


def meant(column: object, declared: Sequence[str]) -> str:
    """Return which declared name a misspelt one is nearest to, as a fix; "" where none is near.

    Examples:
        >>> meant("Nigts", ["nights", "arrival"])
        "did you mean 'nights'? Else add it to the schema."
    """
    from difflib import get_close_matches

    names = {name.casefold(): name for name in declared}
    near = get_close_matches(str(column).casefold(), names, n=1)
    return f"did you mean {names[near[0]]!r}? Else add it to the schema." if near else ""
