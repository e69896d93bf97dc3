"""Means, variances and medians of an earlier release of counts, free. Sees released frames only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.errors import ArgumentError, FrameError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.joint_noise.widening import widening_of
from pandas_blowfish.plan.line.quantile_curve import LEVELS, Axis
from pandas_blowfish.plan.scales import derived_terms
from pandas_blowfish.plan.shape.averages import Averages, bound_error, exact_error, powers
from pandas_blowfish.plan.shape.covariance import sum_variances
from pandas_blowfish.queries.frames.free import Lines, lines_of, quantile_again
from pandas_blowfish.release import Facts, is_shifted, label_text, with_receipt


def mean_again(release: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the last column of a released hist or cumhist, by line."""
    read = _Read.of(release, "mean")
    place, error = read.averages.means()
    low, high = read.averages.mean_bounds(LEVELS)
    values = read.middle + read.unit * place
    ends = read.middle + read.unit * low, read.middle + read.unit * high
    return read.frame(values, read.unit * error, ends, read.axis.ends, "mean()")


def var_again(release: pd.DataFrame, ddof: Any = 1) -> pd.DataFrame:
    """Return the variances of the last column of a released hist or cumhist, by line."""
    many, read = _ddof(ddof), _Read.of(release, "var")
    if read.dates:
        raise FrameError("squares of time spans have no unit", fix="ask for the std.")
    found, error = read.averages.variances(many)
    square = read.unit**2
    low, high = read.averages.deviation_bounds(LEVELS, many)
    ends = square * low**2, square * high**2
    return read.frame(square * found, square * error, ends, (0.0, 2 * read.wide**2), f"var(ddof={many})")


def std_again(release: pd.DataFrame, ddof: Any = 1) -> pd.DataFrame:
    """Return the standard deviations of the last column of a released hist or cumhist, by line."""
    many, read = _ddof(ddof), _Read.of(release, "std")
    square, error = read.averages.variances(many)
    found = np.sqrt(np.maximum(square, 0.0))
    least = np.sqrt(np.maximum(error, 0.0))  # what the root of so wrong a variance may be
    error = np.minimum(np.divide(error, 2 * found, out=least.copy(), where=found > 0), least)
    low, high = read.averages.deviation_bounds(LEVELS, many)
    ends = read.unit * low, read.unit * high
    whole = (0.0, float(np.sqrt(2)) * read.wide)
    return read.frame(read.unit * found, read.unit * error, ends, whole, f"std(ddof={many})")


def median_again(release: pd.DataFrame, interpolation: Any = "linear") -> pd.DataFrame:
    """Return the medians that a release determines: its quantiles of 0.5, by line."""
    found = quantile_again(release, 0.5, interpolation)
    lines = lines_of(release)
    facts, index = {**lines.facts, **_stated(found)}, _index(lines)
    bounds = facts.get("cell_bounds", {})
    labels = zip(found.index, index, strict=True)
    kept = {label_text(new): bounds[label_text(old)] for old, new in labels if label_text(old) in bounds}
    facts |= {"verb": "median", "derived": "median()", "answers": len(index), "covariance": None}
    facts |= {"cell_bounds": kept} if "cell_bounds" in facts else {}
    columns: Any = {"value": found["value"].array, "std": found["std"].array}
    return with_receipt(columns, index, facts)


def _stated(found: pd.DataFrame) -> Facts:
    inner: Facts = found.attrs["blowfish"]["technical"]
    return {key: inner[key] for key in ("smallest_value", "largest_value", "cell_bounds") if key in inner}


class _Read:
    """A release of counts as averages along the axis of its last column."""

    def __init__(self, lines: Lines, axis: Axis, verb: str) -> None:
        self.lines, self.axis, self.verb = lines, axis, verb
        low, top = axis.low, axis.tops
        middles = (low + top) / 2
        self.wide = float(top.max() - low.min()) / 2
        self.unit = self.wide or 1.0
        self.middle = float(low.min()) + self.wide
        places = (middles - self.middle) / self.unit
        counts = np.diff(lines.positions, axis=1)
        each = powers(places, (top - low) / 2 / self.unit)
        ends = np.array([0]), np.array([len(places)])
        public = lines.errors(*ends)[:, 0] == 0
        if lines.is_exact:
            record, (many, size) = lines.facts["covariance"], counts.shape
            error = exact_error(lambda weights: sum_variances(record, many, size, weights), each)
        else:
            error = bound_error(lines.cell_errors, each, summed=lines.summed)
        within = (float(low.min()) - self.middle) / self.unit, (float(top.max()) - self.middle) / self.unit
        self.averages = Averages(
            counts @ each.T,
            error,
            (float(places[0]), float(places[-1])),
            float((top - low).max()) / 2 / self.unit,
            within,
            lines.is_exact,
            public,
            Fraction(lines.facts["smallest_scale"]),
            bool(lines.facts["post"]),
            widening_of(lines.facts),
            derived_terms(lines.facts.get("noise_terms")),
        )

    @classmethod
    def of(cls, release: pd.DataFrame, verb: str) -> _Read:
        """Return a release read for averages, refusing values that have none."""
        lines = lines_of(release)
        if isinstance(lines.cells, pd.CategoricalIndex):
            raise FrameError(f"categories have no {verb}", fix="ask for the median, or for counts.")
        if is_shifted(lines.facts):
            raise FrameError("this release keeps no unshaped counts", fix="release it again.")
        with reading():
            axis = Axis.of(lines.cells, lines.facts.get("declared_ends"))
            if not (np.isfinite(axis.low).all() and np.isfinite(axis.tops).all()):
                raise FrameError("a released cell has no end", fix="release bins that end.")
            return cls(lines, axis, verb)

    @property
    def dates(self) -> bool:
        """Return whether the values are instants."""
        cells: Any = self.lines.cells
        return isinstance(cells.left if isinstance(cells, pd.IntervalIndex) else cells, pd.DatetimeIndex)

    def frame(
        self,
        values: Floats,
        std: Floats,
        ends: tuple[Floats, Floats],
        whole: tuple[Any, Any],
        derived: str,
    ) -> pd.DataFrame:
        """Return `value` and `std` by line, with the bounds of each level in the receipt."""
        index = _index(self.lines)
        known = ~np.isnan(values) & ~np.isnan(std)
        facts = {**self.lines.facts, "verb": self.verb, "derived": derived, "answers": len(index)}
        facts |= {"covariance": None, "smallest_value": whole[0], "largest_value": whole[1]}
        low, high = np.minimum(ends[0], values), np.maximum(ends[1], values)
        if known.any() or not len(index):
            facts["cell_bounds"] = {
                label_text(label): _text(low[:, number], high[:, number], whole=self.dates)
                for number, label in enumerate(index)
                if known[number]
            }
        shown: Any = values
        errors: Any = std
        if self.dates:
            errors = self.axis.distance(np.rint(std))
            at = np.zeros(len(values), dtype=np.int64)
            shown = self.axis.value(values, at) if self.verb == "mean" else self.axis.distance(values)
        return with_receipt({"value": shown, "std": errors}, index, facts)


def _index(lines: Lines) -> pd.Index[Any]:
    """Return the groups, or, where there are none, the name of the column."""
    return pd.Index([str(lines.cells.name)], name="column") if lines.groups is None else lines.groups


def _text(low: Floats, high: Floats, *, whole: bool) -> str:
    """Return the bounds of each level as a receipt writes them: instants in whole nanoseconds."""
    pairs = [(np.floor(a), np.ceil(b)) if whole else (a, b) for a, b in zip(low, high, strict=True)]
    return " ".join(f"{int(a)} {int(b)}" if whole else f"{float(a)!r} {float(b)!r}" for a, b in pairs)


def _ddof(ddof: Any) -> int:
    """Return by how much fewer than its rows a variance is divided by."""
    if isinstance(ddof, (bool, np.bool_)) or not isinstance(ddof, (int, np.integer)) or ddof not in (0, 1):
        raise ArgumentError("ddof", "not 0 or 1", allowed="1 (of a sample) or 0 (of all rows)")
    return int(ddof)
