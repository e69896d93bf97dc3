"""Tables of which a part at a time is a pandas frame, looked at where it lies: sees rows.

What some work finds in each part is merged, and is all that comes back: work gives counts, never rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from pandas_blowfish.errors import BlowfishError, EngineError, FrameError

Answer = TypeVar("Answer")
Self = TypeVar("Self", bound="Pieces")
Work = Callable[[pd.DataFrame], Answer]  # what is done with each part of a table
Plus = Callable[[Answer, Answer], Answer]  # merges what it gave


@dataclass(frozen=True)
class Key:
    """By what an engine groups rows: each stored value of a column, or stretches of about one step.

    Attributes:
        name: The column.
        low: Where the first stretch begins.
        step: How long a stretch is; 0 where each stored value is a group of its own.
        many: How many groups there are of declared values.
    """

    name: str
    low: float = 0.0
    step: float = 0.0
    many: int = 0


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
        """Return how pandas would keep each column; object for what it has no dtype for."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def merge(self, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]) -> Answer:
        """Return what some work finds in some columns of every part, there is one at least, merged."""

    @abstractmethod
    def is_unique(self, name: str) -> bool:
        """Return whether every row has a value of a column that no other row has."""

    def group(self, keys: Sequence[Key], most: int) -> pd.DataFrame | None:  # noqa: ARG002
        """Return groups of rows, counted by the engine; None where it does not group, or there are too many.

        Args:
            keys: What they are grouped by.
            most: How many groups may come back.

        Returns:
            A row per group: of key number i the least and the greatest value, "least i" and "greatest i" (one
            column for both, "least i", where each value is a group of its own), and "rows", how many it has.
        """
        return None

    def mark(self: Self, attrs: dict[str, Any]) -> Self:
        """Return the same table with attrs of its own."""
        return replace(self, attrs=attrs)


def merge(
    frame: pd.DataFrame | Pieces, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]
) -> Answer:
    """Return what some work finds in a frame, or in every part of a table, merged."""
    return frame.merge(columns, work, plus) if isinstance(frame, Pieces) else work(frame)


def has_class(frame: Any, package: str, *names: str) -> bool:
    """Return whether a table is of one of some classes of a package; nothing is imported."""
    kinds = {(kind.__module__.split(".")[0].lstrip("_"), kind.__name__) for kind in type(frame).__mro__}
    return any((package, name) in kinds for name in names)


def require_once(names: Sequence[str]) -> None:
    """Refuse names that several columns have."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        fix = "give each its own name."
        raise FrameError(f"columns occur twice: {', '.join(twice)}", columns=twice, fix=fix)


def ask_engine(engine: str, what: str, ask: Callable[[], Answer]) -> Answer:
    """Return what an engine answers; whatever it raises becomes an error that shows nothing of its rows.

    The engine's own error is no cause or context of ours either: tools that log errors would write it down.
    """
    try:
        return ask()
    except (BlowfishError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of polars too: its text may hold a value of a row
        kind = type(error).__name__
    raise EngineError(engine, what, kind)
