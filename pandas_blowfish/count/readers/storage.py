"""How another engine keeps a column, and a table there that columns are added to: rows as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pandas_blowfish.errors import BlowfishError, EngineError, FrameError

Expr = Any  # narwhals.Expr, which is imported where it is used
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Storage:
    """How an engine keeps a column.

    Attributes:
        name: The column.
        kind: "integer", "float", "bool", "text", or "instant", which dates are too.
        unit: Of instants: s, ms, us or ns.
        zone: Whether instants have a time zone.
        narrow: Whether floats have 32 bits.
        wide: Whether whole numbers may exceed 63 bits, or numbers are decimals.
        unsigned: Whether such whole numbers are never negative.
    """

    name: str
    kind: str
    unit: str = ""
    zone: bool = False
    narrow: bool = False
    wide: bool = False
    unsigned: bool = False


def storage_of(name: str, dtype: Any) -> Storage:
    """Return how a column is kept, from its narwhals dtype.

    Raises:
        FrameError: No declared value is kept so (lists, structs, times of day, bytes, ...).
    """
    import narwhals as nw

    if dtype.is_integer():
        unsigned = dtype in (nw.UInt64, nw.UInt128)
        return Storage(name, "integer", wide=unsigned or dtype == nw.Int128, unsigned=unsigned)
    if dtype.is_float() or dtype.is_decimal():
        return Storage(name, "float", narrow=dtype == nw.Float32, wide=dtype.is_decimal())
    if dtype == nw.Boolean:
        return Storage(name, "bool")
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return Storage(name, "text")
    if dtype == nw.Date:
        return Storage(name, "instant", unit="us")
    if dtype == nw.Datetime:
        return Storage(name, "instant", unit=dtype.time_unit, zone=dtype.time_zone is not None)
    raise FrameError(
        f"column {name!r} is stored as {dtype}, which holds no declared value",
        columns=[name],
        fix="cast it in the engine to numbers, text, booleans, dates or timestamps.",
    )


class Steps:
    """A frame to which columns are added one after another: no expression is ever written out twice."""

    def __init__(self, frame: Any, engine: str) -> None:
        self.frame, self.engine = frame, engine
        self._made = 0

    def let(self, expression: Expr) -> Expr:
        """Add a column, and return it by its name."""
        import narwhals as nw

        name = f"blowfish step {self._made}"
        self._made += 1
        self.frame = self.frame.with_columns(expression.alias(name))
        return nw.col(name)

    def divisor(self, number: float, finite: Expr) -> Expr:
        """Return a constant to divide by; polars would multiply by the inverse of a plain one."""
        import narwhals as nw

        return self.let(finite * 0.0 + number) if self.engine == "polars" else nw.lit(number)


def absent(kept: Storage) -> Expr:
    """Return whether a value is missing: null, or of floats not a number."""
    import narwhals as nw

    column = nw.col(kept.name)
    return column.is_null() | column.is_nan() if kept.kind == "float" and not kept.wide else column.is_null()


def answered(engine: str, what: str, ask: Callable[[], Answer]) -> Answer:
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
