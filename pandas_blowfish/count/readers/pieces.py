"""Tables of which a part at a time is a pandas frame, looked at where it lies: sees rows.

What some work finds in each part is merged, and is all that comes back: work gives counts, never rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

Answer = TypeVar("Answer")
Self = TypeVar("Self", bound="Pieces")


@dataclass(frozen=True, eq=False)
class Pieces(ABC):
    """A table of pandas frames.

    Attributes:
        native: The table, as it was given.
        attrs: The record of its dataset, where pandas frames have theirs.
    """

    native: Any = field(repr=False)
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Return the names of the columns."""

    @property
    @abstractmethod
    def dtypes(self) -> dict[str, Any]:
        """Return how pandas keeps each column."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def merged(
        self,
        columns: Sequence[str],
        work: Callable[[pd.DataFrame], Answer],
        merge: Callable[[Answer, Answer], Answer],
    ) -> Answer:
        """Return what some work finds in some columns of every part, there is one at least, merged."""

    @abstractmethod
    def each_once(self, name: str) -> bool:
        """Tell whether every row has a value of a column that no other row has."""

    def marked(self: Self, attrs: dict[str, Any]) -> Self:
        """Return the same table with attrs of its own."""
        return replace(self, attrs=attrs)


def merged(
    frame: pd.DataFrame | Pieces,
    columns: Sequence[str],
    work: Callable[[pd.DataFrame], Answer],
    merge: Callable[[Answer, Answer], Answer],
) -> Answer:
    """Return what some work finds in a frame, or in every part of a table, merged."""
    return frame.merged(columns, work, merge) if isinstance(frame, Pieces) else work(frame)


def told_apart(values: pd.Series[Any]) -> bool:
    """Tell whether every value of a column is there, and once."""
    try:
        return bool(values.is_unique) and not bool(values.isna().any())
    except TypeError:  # a list or a dict names nobody
        return False
