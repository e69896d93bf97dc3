"""What arguments may be, named for editors, type checkers and `help()`; all are checked at run time too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

Number: TypeAlias = int | float | Decimal | Fraction | np.integer[Any] | np.floating[Any]
Epsilon: TypeAlias = Number | str  # a float means its shortest decimal, text a decimal or "1/3"
Columns: TypeAlias = str | Sequence[str] | pd.Index  # one column, or several in the order asked
Strategy: TypeAlias = (
    Literal[
        "auto",
        "identity",
        "cliques",
        "ordered",
        "ordered_hierarchical",
        "transport",
        "hierarchical",
        "haar",
        "tree",
        "inward",
        "mesh",
        "residual",
        "even",
        "joint",
        "shared",
        "total",
        "clipped",
        "moments",
        "together",
        "direct",
        "optimised",
        "dawa",
        "grid",
        "soft",
        "adaptive",
        "whole",
        "select",
        "counts",
    ]
    | str
)
Edges: TypeAlias = Sequence[Any] | pd.Index | np.ndarray[Any, Any]
Frequency: TypeAlias = str | pd.offsets.BaseOffset | timedelta | np.timedelta64  # "MS", "W", "15min", ...
Bins: TypeAlias = int | Edges | Frequency | Mapping[str, Any]  # how many, edges or intervals, {name: values}
Bounds: TypeAlias = Sequence[tuple[Any, Any] | Sequence[Any]] | Literal["all"]  # (low, high), or a box
Ends: TypeAlias = Sequence[Number | str | None]  # (low, high), None for the declared one
Clip: TypeAlias = Ends | Mapping[str, Ends] | Literal["auto"]  # bounds that values are moved to, by column
Shares: TypeAlias = Number | Sequence[Number] | pd.Index | np.ndarray[Any, Any]
Inside: TypeAlias = Literal["linear", "lower", "midpoint", "higher"]  # of the bin that holds a quantile
