"""Sums and means from noisy totals, with how wrong they may be. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import FrameError
from pandas_blowfish.infer.logs import as_logs, from_logs
from pandas_blowfish.infer.middles import SLACK, widened
from pandas_blowfish.infer.solved import Solved
from pandas_blowfish.plan.lattice import LIMIT
from pandas_blowfish.plan.law import reach, variance
from pandas_blowfish.plan.strategy.total import Column, Sums
from pandas_blowfish.policy.exact import exact
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
FEW = 10_000  # answers that are worked out as fractions


@dataclass(frozen=True, eq=False)
class Estimated(Solved):
    """Answers, their standard errors, how far from their column's origin, and exact row counts (or NaN)."""

    std: Floats = None  # type: ignore[assignment]
    offsets: Floats = None  # type: ignore[assignment]
    counts: Floats = None  # type: ignore[assignment]


def solve_totals(measurement: Sums, values: Ints, post: bool | str) -> Estimated:
    """Return sums or means from the measured totals, groups outermost.

    A mean is the origin and the centred sum over the count. The count is taken for 1 where noise left less;
    with `post` answers are moved into what the declared bounds allow. The error of a mean by a noisy count
    is that of its first-order expansion at the released numbers.
    """
    size, sums = measurement.tally.size, len(measurement.summed)
    by_total = values.reshape(len(measurement.totals), size)
    noise = [variance(scale) for scale in measurement.total_scales]
    answers, std, offsets, counts = (np.zeros((size, sums)) for _ in range(4))
    for place, column in enumerate(measurement.summed):
        sum_, count = by_total[place], None if column.count is None else by_total[sums + column.count]
        if measurement.verb == "sum":
            found = _sum(column, sum_, count, bool(post))
            spread = np.full(size, np.sqrt(noise[place]) * float(column.lattice.unit))
            moved = found
        else:
            assert count is not None
            assert column.count is not None
            counting = 0.0 if column.exact else noise[sums + column.count]
            moved, spread = _mean(column, sum_, count, (noise[place], counting), bool(post))
            moved = np.where(measurement.occupied, moved, np.nan)
            found = float(column.lattice.origin) + moved
        spread = np.where(measurement.occupied, spread, np.where(np.isnan(found), np.nan, 0.0))
        far = LIMIT - 64 * measurement.total_scales[place]
        spread = np.where(np.abs(sum_) >= int(far), np.inf, spread)  # how large it is was cut off
        answers[:, place], std[:, place], offsets[:, place] = found, spread, moved
        counts[:, place] = count if column.exact and count is not None else np.nan
    parts = (part.ravel() for part in (std, offsets, counts))
    return Estimated(answers.ravel(), (0.0, 0.0), None, *parts)


def _sum(column: Column, sums: Ints, count: Ints | None, post: bool) -> Floats:
    """Return sums in the column's own units."""
    unit, origin = column.lattice.unit, column.lattice.origin
    counts = np.zeros(len(sums), dtype=np.int64) if count is None else count
    if len(sums) <= FEW:
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        found = np.array([float(unit * weight + origin * many) for weight, many in pairs], dtype=np.float64)
    else:
        found = float(unit) * sums + float(origin) * counts
    if not post or column.bounds is None:
        return found
    low, high = (float(bound) for bound in column.bounds)
    if count is not None:
        return np.clip(found, low * counts, high * counts)
    return np.clip(found, 0.0 if low >= 0 else -np.inf, 0.0 if high <= 0 else np.inf)


def _mean(
    column: Column, sums: Ints, count: Ints, noise: tuple[float, float], post: bool
) -> tuple[Floats, Floats]:
    """Return how far means lie from the origin, and their standard errors; NaN for no rows."""
    lattice, known = column.lattice, column.exact or noise[1] == 0
    many = np.where(count > 0, count, np.nan) if known else np.maximum(count, 1).astype(np.float64)
    unit = float(lattice.unit)
    moved = unit * (sums / many)
    if post and column.bounds is not None:
        low, high = (float(bound - lattice.origin) for bound in column.bounds)
        moved = np.clip(moved, low, high)
    return moved, unit * np.sqrt(noise[0] + (moved / unit) ** 2 * noise[1]) / many


def total_interval(receipt: Mapping[str, Any], release: pd.DataFrame, level: Any) -> tuple[Any, Any]:
    """Return low and high of each released sum or mean.

    Proof note:
        Requires: rows of a release as its verb returned it.
        Ensures:  P(low <= true answer <= high) >= level, row by row; of a mean, where it has any rows. The
                  truth is that of the values themselves, not of the middles of their cells.
        Because:  a sum is off by unit times the noise, and moving it into bounds that hold the truth brings
                  it no further away. A mean's count is exact, or with its sum it follows from value and
                  error; each lies within its noise's reach at 1 - (1 - level) / 2, both then do at
                  `level`, and the mean between the extreme quotients, within the declared bounds. What
                  reading values as the middles of their cells adds to that is in the note of `widened`.
        Checked:  tests/infer/test_total.py::test_intervals_cover,
                  tests/infer/test_middles.py::test_intervals_cover_the_values_themselves
    """
    release = as_logs(receipt, release)
    asked = list(receipt["asked"])
    codes = np.zeros(len(release), dtype=np.int64)
    if receipt["by_column"]:
        codes = pd.Index(asked).get_indexer(release.index.get_level_values(-1))
    if (codes < 0).any() or release["std"].dtype.kind not in "fm":
        raise _changed()
    origins = [Fraction(text) for text in receipt["origins"]]
    dated = pd.api.types.is_datetime64_any_dtype(release["value"].dtype)
    value = _from_origin(release["value"], origins, codes) if dated else _numbers(release["value"])
    std = _numbers(release["std"])
    low, high = value.copy(), value.copy()
    low[np.isinf(std)], high[np.isinf(std)] = -np.inf, np.inf
    for number in np.unique(codes).tolist():
        rows = (codes == number) & (std > 0) & np.isfinite(std)
        column = {key: receipt[key][number] for key in ("units", "scales", "count_scales", "least", "most")}
        origin = origins[number]
        if receipt["verb"] == "sum":
            low[rows], high[rows] = _sum_bounds(column, value[rows], std[rows], level, receipt["post"])
            continue
        start = 0.0 if dated else float(origin)
        moved, rounding = value[rows] - start, 1 / std[rows] if dated else np.zeros(int(rows.sum()))
        ends = _mean_bounds(column, origin, moved, std[rows], rounding, level, receipt["post"])
        low[rows], high[rows] = (start + end for end in ends)
    low, high = widened(receipt, release.index, codes, origins if dated else None, (low, high))
    if not dated:
        return from_logs(receipt, low, high)
    like = release["value"]
    return _stamps(low, origins, codes, like), _stamps(high, origins, codes, like)


def _sum_bounds(
    column: Mapping[str, Any], value: Floats, std: Floats, level: Any, post: bool
) -> tuple[Floats, Floats]:
    unit, scale = float(Fraction(column["units"])), Fraction(column["scales"])
    if not np.allclose(std, unit * np.sqrt(variance(scale)), rtol=1e-9, atol=0):
        raise _changed()
    spread = unit * reach(scale, level) + SLACK * np.abs(value)
    low, high = value - spread, value + spread
    if post and column["least"] is not None:
        low = np.maximum(low, 0.0) if Fraction(column["least"]) >= 0 else low
        high = np.minimum(high, 0.0) if Fraction(column["most"]) <= 0 else high
    return low, high


def _mean_bounds(
    column: Mapping[str, Any],
    origin: Fraction,
    moved: Floats,
    std: Floats,
    rounding: Floats,
    level: Any,
    post: bool,
) -> tuple[Floats, Floats]:
    """Return how far below and above the origin the true mean may lie."""
    unit, scale, counting = (Fraction(column[key]) for key in ("units", "scales", "count_scales"))
    one, two = variance(scale), variance(counting)
    many = float(unit) * np.sqrt(one + (moved / float(unit)) ** 2 * two) / std
    within = exact(level, "level") if not counting else 1 - (1 - exact(level, "level")) / 2
    near, far = reach(scale, within), reach(counting, within)
    loose = SLACK + rounding
    fewest, most = np.maximum(np.rint(many * (1 - loose)) - far, 1.0), np.rint(many * (1 + loose)) + far
    total = moved * many / float(unit)
    below, above = (total + sign * (near + np.abs(total) * loose) for sign in (-1, 1))
    low = float(unit) * below / np.where(below <= 0, fewest, most)
    high = float(unit) * above / np.where(above >= 0, fewest, most)
    if column["least"] is None:
        return low, high
    ends = [float(Fraction(column[key]) - origin) for key in ("least", "most")]
    unknown = np.rint(many) <= 1 if counting else np.zeros(len(many), dtype=bool)
    low = np.where(unknown, np.minimum(ends[0], moved), low)
    high = np.where(unknown, np.maximum(ends[1], moved), high)
    return (np.clip(low, ends[0], ends[1]), np.clip(high, ends[0], ends[1])) if post else (low, high)


def _from_origin(value: pd.Series[Any], origins: list[Fraction], codes: Ints) -> Floats:
    """Return instants as nanoseconds after their column's origin, NaN for none."""
    plain = value.dt.tz_convert("UTC").dt.tz_localize(None) if value.dt.tz is not None else value
    stamps = plain.to_numpy(dtype="datetime64[ns]").view(np.int64)
    starts = np.array([int(origin) for origin in origins])[codes]
    return np.where(value.isna().to_numpy(), np.nan, (stamps - starts).astype(np.float64))


def _stamps(moved: Floats, origins: list[Fraction], codes: Ints, like: pd.Series[Any]) -> pd.Series[Any]:
    starts = np.array([int(origin) for origin in origins])[codes]
    return pd.Series(instants(starts, moved, like.dt.tz), index=like.index)


def instants(starts: Ints, moved: Floats, zone: Any) -> pd.DatetimeIndex:
    """Return instants so many nanoseconds after others, NaT for NaN, within what pandas can hold."""
    known = ~np.isnan(moved)
    room = np.clip(np.where(known, moved, 0.0), -(2.0**62), 2.0**62)
    ends = np.clip(np.rint(room) + starts.astype(np.float64), -(2.0**63) * 0.999, 2.0**63 * 0.999)
    near = np.abs(ends) < 2.0**62.9
    whole = np.where(near, starts + np.rint(room).astype(np.int64), ends.astype(np.int64))
    stamps = pd.DatetimeIndex(pd.to_datetime(whole, unit="ns", utc=True).where(known))
    return stamps.tz_convert(zone) if zone is not None else stamps.tz_localize(None)


def _numbers(std: pd.Series[Any]) -> Floats:
    if std.dtype.kind == "m":
        found = std.to_numpy(dtype="timedelta64[ns]").view(np.int64).astype(np.float64)
        return np.where(std.isna().to_numpy(), np.nan, found)
    return std.to_numpy(dtype=np.float64)


def _changed() -> FrameError:
    return FrameError(
        "these are not the values that were released", fix="ask for the interval before you sum or scale."
    )
