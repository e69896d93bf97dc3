"""bf.protect: the same verbs on tables of polars, PyArrow, DuckDB, Dask and Spark. No row is touched here."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from pandas_blowfish.accessor import BlowfishAccessor
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.count.readers.tables import open_table
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.errors import FrameError, NotProtectedError
from pandas_blowfish.queries.frames.protect import protect as bind
from pandas_blowfish.queries.scope import Scope
from pandas_blowfish.types import Epsilon

TAKEN = (
    "a frame of pandas or polars, a PyArrow table or dataset, a DuckDB relation, a Dask or Spark DataFrame"
)


class Protected(BlowfishAccessor):
    """A protected table of another engine, with every verb of `df.blowfish`.

    Rows stay where they are: an engine is asked for counts by cell, which get their noise here. Results are
    pandas frames with their receipts.
    """

    def __init__(self, table: Any, scope: Scope | None = None) -> None:
        if isinstance(table, pd.DataFrame) or not isinstance(table, Frame):
            raise FrameError(f"not a protected table of another engine but {TAKEN}", fix="use bf.protect.")
        self._frame: Any = table
        self._scope = scope or Scope()

    def protect(self, *_: Any, **__: Any) -> Any:
        """Refuse: the table is protected already."""
        raise FrameError("this table is protected already", fix="give bf.protect the table itself.")

    @property
    def native(self) -> Any:
        """Return the table as it was given: its rows are private."""
        return self._frame.native


def protect(
    frame: Any,
    policy: Any,
    *,
    epsilon: Epsilon,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    outside: str = "error",
    unit: str | None = None,
) -> BlowfishAccessor:
    """Bind a table of any engine to a policy, a budget and a ledger, and return its verbs.

    Rows outside the declared domain are looked for here, once; a release counts such rows nowhere and never
    fails because of one. Every table is sealed by how often its cells occur, whatever the order of rows (in
    pandas their order is checked besides): a dataset may be protected in pandas today and in another engine
    tomorrow, on one budget. Each release first counts the columns it reads once more, to see that they are
    still those (`StaleFrameError`).

    Args:
        frame: A frame of pandas or polars (lazy too), a PyArrow table or dataset, a DuckDB relation, a
            Dask or a `pyspark.sql` DataFrame.
        policy: A `bf.Policy`, or a pandera schema to make one of.
        epsilon: The total that all releases together may lose; 0.1 means exactly 1/10.
        dataset: The name the budget is kept under. Required with a file ledger.
        ledger: A path or a `bf.Ledger`; None keeps the budget in this process's memory.
        outside: "error" refuses values outside the declared domain, "clip" puts numbers beyond the bounds
            into the nearest cell.
        unit: A column that names who a row is about; repeats are refused.

    Returns:
        An object with every verb of `df.blowfish`, and `where`, `groupby`, `plan`, `budget`, `report`.

    Examples:
        >>> import pandas_blowfish as bf
        >>> patients = bf.protect(bf.datasets.patients(1_000), bf.datasets.patients_policy(), epsilon=1)
        >>> patients.hist("age", epsilon="0.25").shape, patients.budget.remaining
        ((100, 2), Fraction(3, 4))
    """
    stated: dict[str, Any] = {"epsilon": epsilon, "dataset": dataset, "ledger": ledger}
    stated |= {"outside": outside, "unit": unit}
    if isinstance(frame, pd.DataFrame):
        return BlowfishAccessor(bind(frame, policy, **stated))
    table = open_table(frame)
    if not isinstance(table, Frame):
        what = f"a {type(frame).__module__}.{type(frame).__qualname__} is no table that can be counted"
        raise FrameError(what, fix=f"give {TAKEN}; a path as pl.scan_parquet(path) or pd.read_csv(path).")
    return Protected(bind(table, policy, **stated))


class Unprotected:
    """`frame.blowfish` of a polars or Dask frame: what a curator may do before its rows are protected."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def protect(
        self,
        policy: Any,
        *,
        epsilon: Epsilon,
        dataset: str | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        outside: str = "error",
        unit: str | None = None,
    ) -> BlowfishAccessor:
        """Bind the frame to a policy, a budget and a ledger, and return its verbs; see `bf.protect`."""
        stated: dict[str, Any] = {"epsilon": epsilon, "dataset": dataset, "ledger": ledger}
        return protect(self._frame, policy, **stated, outside=outside, unit=unit)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(BlowfishAccessor, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotProtectedError(
            fix="protected = frame.blowfish.protect(policy, epsilon=1), then protected.hist(...)"
        )

    def __repr__(self) -> str:
        return "not protected yet: frame.blowfish.protect(policy, epsilon=1, ...) returns its verbs"
