"""What reading values as the middles of their cells adds to the error of sums and means. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import FrameError
from pandas_blowfish.plan.strategy.total import Column, Sums
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
LISTED = 100  # answers whose public row counts a receipt lists
SLACK = 1e-12  # of an answer, for what rounding to floats may move it


def facts(measurement: Sums, counts: Floats) -> dict[str, Any]:
    """Return what the interval of a released sum or mean is read by, as plain data, column by column.

    Args:
        measurement: What was measured.
        counts: How many rows each answer is of, where that is exact and public; else NaN.
    """
    columns, scales = measurement.summed, measurement.total_scales
    bounds = [_edges(*pair) for pair in zip(columns, measurement.rounding, strict=True)]
    counting = [
        None if column.count is None else str(0 if column.exact else scales[len(columns) + column.count])
        for column in columns
    ]
    return {
        "asked": [column.attribute.name for column in columns],
        "units": [str(column.lattice.unit) for column in columns],
        "origins": [str(column.lattice.origin) for column in columns],
        "scales": [str(scale) for scale in scales[: len(columns)]],
        "count_scales": counting,
        "least": [None if low is None else str(low) for low, _ in bounds],
        "most": [None if high is None else str(high) for _, high in bounds],
        "rounding": [str(most) for most in measurement.rounding],
        "lightest": [str(least) for least in measurement.lightest],
        "counted": _counted(measurement, counts),
    }


def _edges(column: Column, rounding: Fraction) -> tuple[Fraction | None, Fraction | None]:
    """Return the least and the greatest value that can be counted, of the cells that can be."""
    if column.bounds is None:
        return None, None
    low, high = column.bounds[0] - rounding, column.bounds[1] + rounding
    if isinstance(column.attribute, Grid):
        return max(low, column.attribute.low), min(high, column.attribute.high)
    return low, high


def _counted(measurement: Sums, counts: Floats) -> dict[str, int]:
    """Return how many rows each sum is of where that is public, by its label; of many sums the most."""
    known = np.flatnonzero(~np.isnan(counts)).tolist()
    if measurement.verb != "sum" or not any(measurement.rounding) or not known:
        return {}
    if len(measurement.index) > LISTED:
        return {"": int(np.nanmax(counts))}
    return {str(measurement.index[number]): int(counts[number]) for number in known}


def widened(
    receipt: Mapping[str, Any],
    index: pd.Index[Any],
    codes: Ints,
    origins: list[Fraction] | None,
    ends: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return bounds of sums or means of the values themselves from those of what they are added up as.

    Args:
        receipt: What the release says.
        index: The labels of its answers.
        codes: Which of the receipt's columns each answer is of.
        origins: Where instants are measured from; None for numbers.
        ends: The low and high of the sums, or means, of what values are added up as.

    Proof note:
        Requires: bounds that hold the sum, or the mean, of what values are added up as.
        Ensures:  then the returned ones hold that of the values themselves; refused where none would.
        Because:  a value is off from what it is added up as by the receipt's `rounding` at most, so is a
                  mean, and a sum by that times its rows. Those are as many as the receipt counted; else at
                  most the table's, where these are public; and where all rows are added up as numbers on
                  one side of 0, at most what the sum can be over the least of these.
        Checked:  tests/infer/test_middles.py::test_intervals_cover_the_values_themselves,
                  tests/infer/test_middles.py::test_sums_of_secret_numbers_of_rows_are_covered
    """
    if "rounding" not in receipt:
        raise FrameError("this receipt does not say how values were read", fix="release it again.")
    rounding = [Fraction(text) for text in receipt["rounding"]]
    low, high = ends
    if not any(rounding):
        return low, high
    off = np.array([float(most) * (1 + SLACK) for most in rounding])[codes]
    outer = [
        [np.nan if text is None else Fraction(text) for text in receipt[key]] for key in ("least", "most")
    ]
    if receipt["verb"] == "sum":
        many = _rows(receipt, index, codes, np.maximum(np.abs(low), np.abs(high)))
        off = np.where(off > 0, off * many, 0.0)
        if np.isnan(off).any():
            raise FrameError(
                "the middles of cells were summed, of a secret number of rows",
                fix="ask for the mean; or declare whole numbers as int without a step, which are exact.",
            )
        outer = [
            [0 if end >= 0 else -np.inf for end in outer[0]],
            [0 if end <= 0 else np.inf for end in outer[1]],
        ]
    starts = origins or [Fraction(0)] * len(rounding)
    floor, ceiling = (
        np.array([float(end - start) for end, start in zip(line, starts, strict=True)])[codes]
        for line in outer
    )
    low, high = low - off, high + off
    if not receipt["post"]:
        return low, high
    held = (off > 0) & ~np.isnan(floor) & np.isfinite(low) & np.isfinite(high)
    low, high = (np.where(held, np.clip(end, floor, ceiling), end) for end in (low, high))
    return low, high


def _rows(receipt: Mapping[str, Any], index: pd.Index[Any], codes: Ints, largest: Floats) -> Floats:
    """Return how many rows each sum is of at most, NaN where nothing is known.

    Receipts of before the table's rows were told say nothing of sums whose own number is not public.
    """
    counted = receipt["counted"]
    most = max(counted.values(), default=0)
    public = np.array([text == "0" for text in receipt["count_scales"]])[codes]
    known = np.array([counted.get(str(label), most) for label in index], dtype=np.float64)
    least = np.array(
        [float(Fraction(text)) for text in receipt.get("lightest", ["0"] * len(receipt["asked"]))]
    )[codes]
    told = np.divide(largest * (1 + SLACK), least, out=np.full(len(codes), np.nan), where=least > 0)
    rows = receipt.get("rows")
    return np.where(public, known, np.fmin(told, np.nan if rows is None else float(rows)))
