"""Column and strategy names as a caller may write them. Touches no row itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError


def column_names(columns: Any) -> list[str]:
    """Return one or several column names as a list, each once.

    Examples:
        >>> column_names("age"), column_names(("age", "sex"))
        (['age'], ['age', 'sex'])
    """
    if isinstance(columns, str):
        return [columns]
    if columns is None:
        raise ArgumentTypeError("columns", "not given", allowed="a name or a list of names")
    if isinstance(columns, (pd.Index, np.ndarray)):
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or not all(isinstance(column, str) for column in columns):
        raise ArgumentTypeError("columns", "not column names", allowed="a name or a list of names")
    if not columns or len(set(columns)) != len(columns):
        raise ArgumentError("columns", "none, or one of them twice", allowed="one or more different names")
    return list(columns)


def strategy_name(strategy: Any) -> str:
    """Return the name of a strategy, refusing what is no name at all."""
    if not isinstance(strategy, str):
        raise ArgumentTypeError("strategy", "not a name", allowed='"auto" or the name of a strategy')
    return strategy
