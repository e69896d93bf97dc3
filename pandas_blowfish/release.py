"""A noisy frame and its receipt: error bars, intervals, views. Never sees rows, only releases."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import FrameError, NotReleasedError
from pandas_blowfish.plan.law import reach, variance
from pandas_blowfish.plan.plan import Plan

RECORD = "blowfish"


class Receipt(dict[str, Any]):
    """What an outsider needs to use the numbers: a flat, JSON-able dict with a readable view."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(["Receipt", *(f"  {key.ljust(width)}  {value}" for key, value in self.items())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for key, value in self.items()
        )
        return f"<table><caption>Receipt</caption>{rows}</table>"


def receipt_of(frame: pd.DataFrame) -> Receipt:
    """Return the receipt a released frame carries, or raise NotReleasedError."""
    record = frame.attrs.get(RECORD)
    if not isinstance(record, Mapping) or record.get("kind") != "release":
        raise NotReleasedError()
    return Receipt(record)


def released(plan: Plan, answers: NDArray[np.float64], receipt: Mapping[str, Any]) -> pd.DataFrame:
    """Return the answers as a frame: `count`, `std`, the full declared domain, the receipt in attrs."""
    frame = pd.DataFrame({"count": answers, "std": plan.std}, index=plan.index)
    frame.attrs[RECORD] = dict(receipt)
    return frame


def interval(frame: pd.DataFrame, level: Any = 0.95) -> pd.DataFrame:
    """Return `low` and `high` that hold the true count with at least this probability, row by row.

    Proof note:
        Requires: a release as a verb returned it, or some of its rows; what was summed, scaled or
                  rounded shows in `std` and is refused.
        Ensures:  P(low <= true count <= high) >= level for each row.
        Because:  |noise| <= t with that probability (`law.reach`). A shaped count is max(0, noisy - s)
                  with s between the receipt's shifts, so a positive one is within t of the truth after
                  adding s back, and a zero one says only that the noisy answer was at most s.
        Checked:  tests/test_release.py::test_shaped_intervals_cover
    """
    receipt = receipt_of(frame)
    if not {"scale", "post", "shift_low", "shift_high"} <= set(receipt):
        raise NotReleasedError()
    for column in ("count", "std"):
        if column not in frame.columns:
            raise FrameError(
                f"the release has no column {column!r} any more", fix="ask it of the release as returned."
            )
    scale = Fraction(receipt["scale"])
    spread = reach(scale, level)
    count, std = (frame[column].to_numpy(dtype=float) for column in ("count", "std"))
    noisy = std > 0
    if not np.isclose(std[noisy], math.sqrt(variance(scale)), rtol=1e-12, atol=0).all():
        raise FrameError(
            "these are not the counts that were released",
            fix="ask for the interval before you sum, scale or round.",
        )
    if not receipt["post"]:
        low, high = count - spread * noisy, count + spread * noisy
    else:
        least, most = receipt["shift_low"], receipt["shift_high"]
        low = np.where(noisy, np.maximum(np.where(count > 0, count + least - spread, 0.0), 0.0), count)
        high = np.where(noisy, np.maximum(count + most + spread, 0.0), count)
    bounds = pd.DataFrame({"low": low, "high": high}, index=frame.index)
    bounds.attrs = dict(frame.attrs)  # so that release.join(release.blowfish.interval()) keeps its receipt
    return bounds
