"""Which tables can be counted, and what they say of themselves. Touches no row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.readers.arrow import batches_of
from pandas_blowfish.count.readers.dask import partitions_of
from pandas_blowfish.count.readers.engine import Scan, scan_of
from pandas_blowfish.errors import FrameError


def opened(frame: Any) -> Any:
    """Return a table that another library holds so that it can be counted, and anything else as it is."""
    return batches_of(frame) or partitions_of(frame) or scan_of(frame) or frame


def dtypes(table: Any) -> dict[str, Any]:
    """Return dtypes that pandas has for the columns; object for what it has none for."""
    if not isinstance(table, Scan):
        return dict(table.dtypes)
    kinds = {"integer": "int64", "float": "float64", "bool": "bool", "text": "str"}
    found: dict[str, Any] = {}
    for name in table.columns:
        try:
            kept = table.storage(name)
        except FrameError:
            found[name] = np.dtype(object)
            continue
        zone = getattr(table.dtypes[name], "time_zone", None)
        stamp = f"datetime64[{kept.unit}{f', {zone}' if zone else ''}]"
        found[name] = pd.api.types.pandas_dtype(kinds.get(kept.kind, stamp))
    return found
