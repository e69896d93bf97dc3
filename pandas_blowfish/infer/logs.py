"""Sums and means of logarithms, read as such or as geometric means. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import FrameError

Floats = NDArray[np.float64]
LOGS = {"logsum": "sum", "geomean": "mean"}  # what is added up of logarithms for each verb
LOGARITHMS, EXPONENTIALS = "logarithms", "exponentials of logarithms"  # what a receipt says values are
SLACK = 1e-12  # of a bound, for what rounding to floats may move it


def logs_of(verb: str) -> dict[str, str]:
    """Return what a receipt says of values that are not those of the columns themselves.

    Its verb is the one by which intervals, pictures and tables read it; its query says what was asked.
    """
    if verb not in LOGS:
        return {}
    return {"verb": LOGS[verb], "of": LOGARITHMS if verb == "logsum" else EXPONENTIALS}


def exponentials(value: Any, std: Any) -> tuple[Floats, Floats]:
    """Return geometric means and their errors from means of logarithms and theirs, to first order.

    Where a mean is beyond what floats hold, nothing is known of its error.
    """
    logs = np.asarray(value, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = np.exp(logs)
        spread = found * np.asarray(std, dtype=np.float64)
    beyond = ~np.isnan(logs) & ((found == 0) | np.isinf(found) | np.isinf(spread))
    return found, np.where(beyond, np.inf, spread)


def as_logs(receipt: Mapping[str, Any], release: pd.DataFrame) -> pd.DataFrame:
    """Return a release of geometric means as the one of means of logarithms that it was made of."""
    if receipt.get("of") != EXPONENTIALS:
        return release
    value, std = (release[name].to_numpy(dtype=np.float64) for name in ("value", "std"))
    if (value < 0).any():
        fix = "ask for the interval before you sum or scale."
        raise FrameError("these are not the values that were released", fix=fix)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, errors = np.log(value), np.where(np.isinf(std), np.inf, std / value)
    return pd.DataFrame({"value": logs, "std": errors}, index=release.index)


def from_logs(receipt: Mapping[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Return bounds of geometric means from those of the means of logarithms; others as they are.

    Proof note:
        Requires: bounds that hold the mean of the logarithms.
        Ensures:  then the returned ones hold the geometric mean.
        Because:  the exponential rises; its rounding is allowed for.
        Checked:  tests/infer/test_logs.py::test_intervals_cover_geometric_means
    """
    if receipt.get("of") != EXPONENTIALS:
        return low, high
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(low) * (1 - SLACK), np.exp(high) * (1 + SLACK)
