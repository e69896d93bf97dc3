"""Sums and means from noisy totals, with how wrong they may be. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.lattice import LIMIT
from pandas_blowfish.plan.scales import divisor
from pandas_blowfish.plan.shape.agree import settle_counts
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.plan.totals.law import BoxLaw, read_law, state_laws
from pandas_blowfish.plan.totals.sums import NoisySums, SummedColumn
from pandas_blowfish.policy.attribute import Attribute, Grid

LOGS = {"logsum": "sum", "geomean": "mean"}  # what is added up of logarithms for each verb
LOGARITHMS, EXPONENTIALS = "logarithms", "exponentials of logarithms"  # what a receipt says values are
PER_COLUMN = ("column_units", "column_origins", "smallest_value", "largest_value")
SLACK = 1e-12  # of a bound, for what rounding to floats may move it


def logs_of(verb: str) -> dict[str, str]:
    """Return what a receipt states of values that are not those of the columns themselves."""
    if verb not in LOGS:
        return {}
    return {"values_are": LOGARITHMS if verb == "logsum" else EXPONENTIALS}


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
    if receipt.get("values_are") != EXPONENTIALS:
        return release
    value, std = (release[name].to_numpy(dtype=np.float64) for name in ("value", "std"))
    if (value < 0).any():
        raise _changed()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, errors = np.log(value), np.where(np.isinf(std), np.inf, std / value)
    return pd.DataFrame({"value": logs, "std": errors}, index=release.index)


def from_logs(receipt: Mapping[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Return bounds of geometric means from those of the means of logarithms; others as they are.

    Proof note:
        Requires: bounds that hold the mean of the logarithms.
        Ensures:  then the returned ones hold the geometric mean.
        Because:  the exponential rises; its rounding is allowed for.
        Checked:  tests/plan/totals/test_solve_logs.py::test_intervals_cover_geometric_means
    """
    if receipt.get("values_are") != EXPONENTIALS:
        return low, high
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(low) * (1 - SLACK), np.exp(high) * (1 + SLACK)


LISTED = 100  # answers whose public row counts a receipt lists


def facts(measurement: NoisySums, counts: Floats) -> dict[str, Any]:
    """Return what the interval of a released sum or mean is read by, as plain data, column by column.

    Args:
        measurement: What was measured.
        counts: How many rows each answer is of, where that is exact and public; else NaN.
    """
    columns, scales = measurement.summed, measurement.total_scales
    boxes, own = state_laws(measurement.laws)
    of_counts = [None if c.count is None or c.exact else own[len(columns) + c.count] for c in columns]
    drawn = {"box_reaches": boxes, "column_boxes": own[: len(columns)], "count_boxes": of_counts}
    bounds = [_edges(*pair) for pair in zip(columns, measurement.rounding, strict=True)]
    counting = [
        None if column.count is None else str(0 if column.exact else scales[len(columns) + column.count])
        for column in columns
    ]
    return {
        "total_columns": [column.attribute.name for column in columns],
        "column_units": [str(column.lattice.unit) for column in columns],
        "column_origins": [str(column.lattice.origin) for column in columns],
        "column_scales": [str(scale) for scale in scales[: len(columns)]],
        "count_scales": counting,
        **(drawn if boxes else {}),
        "smallest_value": [None if low is None else str(low) for low, _ in bounds],
        "largest_value": [None if high is None else str(high) for _, high in bounds],
        "column_rounding": [str(most) for most in measurement.rounding],
        "smallest_weights": [str(least) for least in measurement.lightest],
        "public_counts": _counted(measurement, counts),
    }


def _edges(column: SummedColumn, rounding: Fraction) -> tuple[Fraction | None, Fraction | None]:
    """Return the least and the greatest value that can be counted, of the cells that can be."""
    if column.bounds is None:
        return None, None
    low, high = column.bounds[0] - rounding, column.bounds[1] + rounding
    if isinstance(column.attribute, Grid):
        return max(low, column.attribute.low), min(high, column.attribute.high)
    return low, high


def _counted(measurement: NoisySums, counts: Floats) -> dict[str, int]:
    """Return how many rows each sum is of where that is public, by its label; of many sums the most."""
    known = np.flatnonzero(~np.isnan(counts)).tolist()
    if measurement.verb != "sum" or not any(measurement.rounding) or not known:
        return {}
    if len(measurement.index) > LISTED:
        return {"": int(np.nanmax(counts))}
    return {str(measurement.index[number]): int(counts[number]) for number in known}


def widen_interval(
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
        Checked:  tests/plan/totals/test_solve_middles.py::test_intervals_cover_the_values_themselves,
                  tests/plan/totals/test_solve_middles.py::test_sums_of_secret_numbers_of_rows_are_covered
    """
    if "column_rounding" not in receipt:
        raise FrameError("this receipt does not say how values were read", fix="release it again.")
    rounding = [Fraction(text) for text in receipt["column_rounding"]]
    low, high = ends
    if not any(rounding):
        return low, high
    off = np.array([float(most) * (1 + SLACK) for most in rounding])[codes]
    outer = [
        [np.nan if text is None else Fraction(text) for text in receipt[key]]
        for key in ("smallest_value", "largest_value")
    ]
    if LOGS.get(receipt["verb"], receipt["verb"]) == "sum":
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

    Older receipts, without the table's rows, state nothing of sums whose own number is not public.
    """
    counted = receipt["public_counts"]
    most = max(counted.values(), default=0)
    public = np.array([text == "0" for text in receipt["count_scales"]])[codes]
    known = np.array([counted.get(str(label), most) for label in index], dtype=np.float64)
    least = np.array(
        [
            float(Fraction(text))
            for text in receipt.get("smallest_weights", ["0"] * len(receipt["total_columns"]))
        ]
    )[codes]
    bound = np.divide(largest * (1 + SLACK), least, out=np.full(len(codes), np.nan), where=least > 0)
    rows = receipt.get("rows")
    return np.where(public, known, np.fmin(bound, np.nan if rows is None else float(rows)))


FEW = 10_000  # answers that are worked out as fractions


@dataclass(frozen=True, eq=False)
class Estimated(Solved):
    """Answers, their standard errors, how far from their column's origin, and exact row counts (or NaN).

    Where values were clipped to bounds that were found first: the sums that were measured then, and for each
    column the share of rows outside with its standard error.
    """

    std: Floats = None  # type: ignore[assignment]
    offsets: Floats = None  # type: ignore[assignment]
    counts: Floats = None  # type: ignore[assignment]
    measured: NoisySums | None = None
    outside: tuple[tuple[float, float], ...] = ()


def solve_totals(measurement: NoisySums, values: Ints, post: bool | str) -> Estimated:
    """Return sums or means from the measured totals, groups outermost.

    A mean is the origin and the centred sum over the count. The count is taken for 1 where noise left less;
    where it surely is 0 there is no mean. With `post` answers are moved into what the declared bounds allow.
    The error of a mean by a noisy count is that of its first-order expansion at the released numbers.
    """
    size, sums = measurement.tally.size, len(measurement.summed)
    by_total = values.reshape(len(measurement.totals), size)
    laws = measurement.laws
    answers, std, offsets, counts = (np.zeros((size, sums)) for _ in range(4))
    for place, column in enumerate(measurement.summed):
        sum_, count = by_total[place], None if column.count is None else by_total[sums + column.count]
        if measurement.verb == "sum":
            found = _sum(column, sum_, count, bool(post))
            spread = np.full(size, np.sqrt(laws[place].variance) * float(column.lattice.unit))
            moved = found
        else:
            assert count is not None
            assert column.count is not None
            own = BoxLaw(Fraction(0)) if column.exact else laws[sums + column.count]
            noise = laws[place].variance, own.variance
            moved, spread = _mean(column, sum_, divisor(count, own.sure), noise, bool(post))
            moved = np.where(measurement.occupied, moved, np.nan)
            found = float(column.lattice.origin) + moved
        spread = np.where(measurement.occupied, spread, np.where(np.isnan(found), np.nan, 0.0))
        far = LIMIT - laws[place].limit
        spread = np.where(np.abs(sum_) >= int(far), np.inf, spread)  # how large it is was cut off
        answers[:, place], std[:, place], offsets[:, place] = found, spread, moved
        counts[:, place] = count if column.exact and count is not None else np.nan
    parts = std.ravel(), offsets.ravel(), counts.ravel()
    return Estimated(answers.ravel(), answers.ravel(), None, *parts)


def _sum(column: SummedColumn, sums: Ints, count: Ints | None, post: bool) -> Floats:
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
    column: SummedColumn, sums: Ints, many: Floats, noise: tuple[float, float], post: bool
) -> tuple[Floats, Floats]:
    """Return how far means lie from the origin, and their standard errors; NaN for no rows."""
    lattice = column.lattice
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
                  `level`, drawn together or not, and the mean between the extreme quotients, within the
                  declared bounds. The note of `widen_interval` covers what reading values as the middles of
                  their cells adds.
        Checked:  tests/plan/totals/test_solve.py::test_intervals_cover,
                  tests/plan/totals/test_solve_middles.py::test_intervals_cover_the_values_themselves
    """
    if any(end is not None for key in ("clip_low", "clip_high") for end in receipt.get(key, ())):
        raise FrameError(
            "values were clipped, and how far that moves these answers is not known",
            fix="take std for the noise alone; or ask without clip=.",
        )
    release = as_logs(receipt, release)
    asked = list(receipt["total_columns"])
    codes = np.zeros(len(release), dtype=np.int64)
    if receipt["labelled_by_column"]:
        codes = pd.Index(asked).get_indexer(release.index.get_level_values(-1))
    if (codes < 0).any() or release["std"].dtype.kind not in "fm":
        raise _changed()
    origins = [Fraction(text) for text in receipt["column_origins"]]
    dated = pd.api.types.is_datetime64_any_dtype(release["value"].dtype)
    value = _from_origin(release["value"], origins, codes) if dated else numbers_of(release["value"])
    std = numbers_of(release["std"])
    low, high = value.copy(), value.copy()
    low[np.isinf(std)], high[np.isinf(std)] = -np.inf, np.inf
    for number in np.unique(codes).tolist():
        rows = (codes == number) & (std > 0) & np.isfinite(std)
        column = _Column.of(receipt, number)
        if LOGS.get(receipt["verb"], receipt["verb"]) == "sum":
            low[rows], high[rows] = _sum_bounds(column, value[rows], std[rows], level, receipt["post"])
            continue
        start = 0.0 if dated else float(column.origin)
        moved, rounding = value[rows] - start, 1 / std[rows] if dated else np.zeros(int(rows.sum()))
        ends = _mean_bounds(column, moved, std[rows], rounding, level, receipt["post"])
        low[rows], high[rows] = (start + end for end in ends)
    low, high = widen_interval(receipt, release.index, codes, origins if dated else None, (low, high))
    if not dated:
        return from_logs(receipt, low, high)
    like = release["value"]
    return _stamps(low, origins, codes, like), _stamps(high, origins, codes, like)


@dataclass(frozen=True)
class _Column:
    """What a receipt states of a column: its unit and origin, the noise of sum and count, its bounds."""

    unit: Fraction
    origin: Fraction
    noise: BoxLaw
    counting: BoxLaw | None
    bounds: tuple[Fraction, Fraction] | None

    @classmethod
    def of(cls, receipt: Mapping[str, Any], number: int) -> _Column:
        unit, origin, low, high = (receipt[key][number] for key in PER_COLUMN)
        laws = []
        for kind in ("column", "count"):  # receipts without boxes are of independent noise
            scale, boxes = receipt[f"{kind}_scales"][number], receipt.get(f"{kind}_boxes")
            own = boxes[number] if boxes else None
            laws.append(None if scale is None else read_law(scale, own, receipt.get("box_reaches", ())))
        bounds = None if low is None else (Fraction(low), Fraction(high))
        assert laws[0] is not None
        return cls(Fraction(unit), Fraction(origin), laws[0], laws[1], bounds)


def _sum_bounds(column: _Column, value: Floats, std: Floats, level: Any, post: bool) -> tuple[Floats, Floats]:
    unit = float(column.unit)
    if not np.allclose(std, unit * np.sqrt(column.noise.variance), rtol=1e-9, atol=0):
        raise _changed()
    spread = unit * column.noise.within(level) + SLACK * np.abs(value)
    low, high = value - spread, value + spread
    if post and column.bounds is not None:
        low = np.maximum(low, 0.0) if column.bounds[0] >= 0 else low
        high = np.minimum(high, 0.0) if column.bounds[1] <= 0 else high
    return low, high


def _mean_bounds(
    column: _Column, moved: Floats, std: Floats, rounding: Floats, level: Any, post: bool
) -> tuple[Floats, Floats]:
    """Return how far below and above the origin the true mean may lie."""
    unit, counting = float(column.unit), column.counting or BoxLaw(Fraction(0))
    one, two, noisy = column.noise.variance, counting.variance, counting.scale > 0
    many = unit * np.sqrt(one + (moved / unit) ** 2 * two) / std
    within = exact(level, "level") if not noisy else 1 - (1 - exact(level, "level")) / 2
    near, far = column.noise.within(within), counting.within(within)
    loose = SLACK + rounding
    fewest, most = np.maximum(np.rint(many * (1 - loose)) - far, 1.0), np.rint(many * (1 + loose)) + far
    total = moved * many / unit
    below, above = (total + sign * (near + np.abs(total) * loose) for sign in (-1, 1))
    low = unit * below / np.where(below <= 0, fewest, most)
    high = unit * above / np.where(above >= 0, fewest, most)
    if column.bounds is None:
        return low, high
    ends = [float(end - column.origin) for end in column.bounds]
    unknown = np.rint(many) <= 1 if noisy else np.zeros(len(many), dtype=bool)
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


def numbers_of(std: pd.Series[Any]) -> Floats:
    """Return numbers as floats, spans of time in nanoseconds."""
    if std.dtype.kind == "m":
        found = std.to_numpy(dtype="timedelta64[ns]").view(np.int64).astype(np.float64)
        return np.where(std.isna().to_numpy(), np.nan, found)
    return std.to_numpy(dtype=np.float64)


def _changed() -> FrameError:
    return FrameError(
        "these are not the values that were released", fix="ask for the interval before you sum or scale."
    )


def solve_sums(measurement: NoisySums, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return sums and means: means over known numbers of rows, sums within what these allow."""
    found = solve_totals(measurement, values, post)
    if not given:
        return found
    size, sums = measurement.tally.size, len(measurement.summed)
    by_total, answers = values.reshape(-1, size).copy(), found.answers.reshape(size, sums).copy()
    for place, column in enumerate(measurement.summed):
        rows = _rows_known(measurement.tally, column.attribute, given)
        known = ~np.isnan(rows)
        if column.exact or not known.any():
            continue
        if column.count is not None:
            by_total[sums + column.count, known] = rows[known]
        elif post and column.bounds is not None:
            low, high = (float(bound) for bound in column.bounds)
            answers[known, place] = np.clip(answers[known, place], low * rows[known], high * rows[known])
    if measurement.verb == "mean":
        return solve_totals(measurement, by_total.ravel(), post)
    return replace(found, answers=answers.ravel(), offsets=answers.ravel())


def _rows_known(tally: Tally, attribute: Attribute, given: Given) -> Floats:
    """Return in how many rows of each group a column is not missing, NaN where facts do not determine it."""
    if attribute.nullable and not attribute.bounded:
        return np.full(tally.size, np.nan)
    if attribute.nullable:
        seen = list(tally.binnings)
        place = next((n for n, each in enumerate(seen) if each.attribute.name == attribute.name), len(seen))
        own = seen[place] if place < len(seen) else Binning.single(attribute)
        labels = np.arange(attribute.size) if own.labels is None else own.labels.copy()
        labels[attribute.cells :] = -1
        seen[place : place + 1] = [Binning(attribute, frozen(labels), own.index)]
        tally = Tally(tuple(seen), tally.shown, tally.condition)
    return settle_counts(given.over(tally), tally.size)
