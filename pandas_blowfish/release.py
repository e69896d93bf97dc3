"""A noisy frame and its receipt: error bars, intervals, views. Never sees rows, only releases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.books.receipt import (
    TECHNICAL,
    TOTALS,
    read_receipt,
    reading,
    require_parts,
    translate,
    write_receipt,
)
from pandas_blowfish.errors import FrameError, NotReleasedError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.scales import reach, reach_of_sum, variance, widest
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.totals.solve import total_interval

RECORD = "blowfish"
Facts = dict[str, Any]  # of a receipt, on one level: see `books.receipt.translate`
INTERVAL_FACTS = ("scale", "smallest_scale", "post", "lowest_shift", "highest_shift", "std_low", "std_high")
MOST_SUMMED = 64  # noises in one answer whose law is computed exactly


PARTS = {  # of a receipt, as its views group them
    "question": ("query", "verb", "columns", "groupby", "table", "derived", "name", "dataset", "answers"),
    "cost": ("epsilon", "spent", "remaining"),
    "noise": (
        *("noise", "strategy", "sensitivity", "scale", "expected_squared_error", "std_low", "std_high"),
        *("post", "values_are"),
    ),
    "promise": (
        *("guarantee", "weaker_guarantee", "weaker_release", "policy", "unit", "max_rows", "outside"),
        *("facts",),
        *("proof", "checked"),
    ),
    "where to verify": ("entry", "hash", "time", "version"),
}


class Receipt(dict[str, Any]):
    """What an outsider needs to use the numbers: a JSON-able dict with a readable view.

    `technical` holds what intervals and later questions are computed from.
    """

    def parts(self) -> dict[str, dict[str, Any]]:
        """Return its facts, grouped as a reader asks: the question, its cost, the noise, ..."""
        facts = translate(self)
        groups = {part: {key: facts[key] for key in keys if key in facts} for part, keys in PARTS.items()}
        known = {"kind", *TECHNICAL, *(key for keys in PARTS.values() for key in keys)}
        groups["more"] = {str(key): value for key, value in facts.items() if key not in known}
        groups["technical"] = {key: facts[key] for key in TECHNICAL if key in facts}
        return {part: stated for part, stated in groups.items() if stated}

    def __repr__(self) -> str:
        lines, parts = ["Receipt"], self.parts()
        width = max((len(markup.one_line(key, 40)) for part in parts.values() for key in part), default=0)
        for part, stated in parts.items():
            shown = {markup.one_line(key, 40).ljust(width): value for key, value in stated.items()}
            lines += [f" {part}", markup.text_facts(shown)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = self.parts()
        technical = parts.pop("technical", {})
        tables = [markup.facts_table(stated, part) for part, stated in parts.items()]
        tables += [markup.fold("technical", markup.facts_table(technical))] if technical else []
        verify = "ledger.verify(release.blowfish.receipt) compares it with the ledger."
        return markup.card("Receipt", *tables, markup.note(verify))


def receipt_of(frame: pd.DataFrame) -> Receipt:
    """Return the receipt a released frame carries; NotReleasedError without, ReceiptError if edited."""
    facts_of(frame)
    return Receipt(frame.attrs[RECORD])


def facts_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the facts of a released frame's receipt, all on one level; else raise as `receipt_of`."""
    record = frame.attrs.get(RECORD)
    if not isinstance(record, Mapping) or record.get("kind") != "release":
        raise NotReleasedError()
    return read_receipt(record)


def count_frame(plan: Plan, solved: Solved, facts: Mapping[str, Any]) -> pd.DataFrame:
    """Return the answers as a frame: `count`, `std`, the full declared domain, the receipt in attrs."""
    return with_receipt({"count": solved.answers, "std": plan.std}, plan.index, facts)


def with_receipt(
    columns: Mapping[str, NDArray[np.float64]], index: pd.Index[Any], facts: Mapping[str, Any]
) -> pd.DataFrame:
    """Return a released frame: named columns, an index, and its facts as the receipt in attrs."""
    frame = pd.DataFrame(dict(columns), index=index)
    frame.attrs[RECORD] = write_receipt(facts)
    return frame


def interval(frame: pd.DataFrame, level: Any = 0.95) -> pd.DataFrame:
    """Return `low` and `high` that hold the true answer with at least this probability, row by row.

    Sums and means are those of the values themselves, though these are read as the middles of their cells; a
    sum is refused where the number of its rows is secret and nothing bounds it. Counts that may be
    exact are covered with this probability over both kinds of answers. There are two exceptions.
    Quantiles have `widest` released errors around the released value, which are about the noise in the
    counts, not about where rows lie inside a bin. Sizes of a `kmeans` are about the noise in the bins of a
    cluster, `widest` standard errors of it: where the border of two clusters cuts bins, or many small
    counts are shaped, the rows that `assign` finds may lie outside, the more often the more rows there are.

    Proof note:
        Requires: a release as a verb returned it, or some of its rows; what was summed, scaled or
                  rounded shows in `std` and is refused.
        Ensures:  P(low <= true count <= high) >= level for each row, with these exceptions.
        Because:  of an answer that is a sum of whole noises, |noise| <= t with that probability
                  (`reach_of_sum`); of an estimate t is `widest` standard errors. A shaped count is
                  max(0, noisy - s) with s between the receipt's shifts, so a positive one is within t of
                  the truth after adding s back, and a zero one means only that the noisy answer was at
                  most s; a shaped sum is the unbiased one less a shift.
        Checked:  tests/test_release.py::test_shaped_intervals_cover
    """
    widest(level)  # refuses what is no probability, whatever the frame
    with reading():
        low, high = _ends(frame, _usable(frame), level)
        bounds = pd.DataFrame({"low": low, "high": high}, index=frame.index)
    bounds.attrs = dict(frame.attrs)  # so that release.join(release.blowfish.interval()) keeps its receipt
    return bounds


def _ends(frame: pd.DataFrame, facts: Facts, level: Any) -> tuple[Any, Any]:
    """Return low and high of each answer, by the verb that released it."""
    value = frame[value_of(facts["verb"])]
    if facts["verb"] in TOTALS:
        return total_interval(facts, frame, level)
    if facts["verb"] == "quantile":
        return _around(facts, value, frame["std"], level)
    return _bounds(facts, value.to_numpy(dtype=float), frame["std"].to_numpy(dtype=float), level)


def value_of(verb: Any) -> str:
    """Return the column that holds the answers of a verb."""
    return {**dict.fromkeys(("quantile", *TOTALS), "value"), "kmeans": "size"}.get(str(verb), "count")


def _usable(frame: pd.DataFrame) -> Facts:
    """Return the facts of a frame whose errors are still those that were released."""
    facts = facts_of(frame)
    if not set(INTERVAL_FACTS) <= set(facts):
        raise NotReleasedError()
    require_parts(facts, ("verb", "strategy", "scale", "smallest_scale", "post"))
    for column in (value_of(facts.get("verb")), "std"):
        if column not in frame.columns:
            raise FrameError(
                f"the release has no column {column!r} any more", fix="ask it of the release as returned."
            )
    if facts["strategy"] == "dawa":
        raise FrameError("how wrong these answers are depends on the rows", fix="use another strategy.")
    if value_of(facts["verb"]) == "value":
        return facts
    if facts.get("derived") and facts["post"] and "from_cumulative" not in facts:
        raise FrameError(
            "these answers are sums of counts that were shaped one by one",
            fix="ask a cumhist, or release the hist with post=False.",
        )
    std = frame["std"].to_numpy(dtype=float)
    inside = (std >= facts["std_low"] * (1 - 1e-9)) & (std <= facts["std_high"] * (1 + 1e-9))
    if "derived" not in facts and not (inside | (std == 0)).all():
        raise FrameError(
            "these are not the counts that were released",
            fix="ask for the interval before you sum, scale or round.",
        )
    return facts


def _bounds(facts: Facts, count: Floats, std: Floats, level: Any) -> tuple[Floats, Floats]:
    """Return low and high: the unshaped answer, which is the shaped one and a shift, give or take."""
    noisy, plain = std > 0, _plain(facts)
    spread = _spread(facts, std, level)
    spread += np.where(count == np.rint(count), 0.0, 1e-9 * np.maximum(np.abs(count), 1.0))  # sums of floats
    least, most = facts["lowest_shift"], facts["highest_shift"]
    low, high = count + (least - spread) * noisy, count + (most + spread) * noisy
    if not facts["post"] or facts["verb"] == "workload":  # sums with negative weights may be negative
        return low, high
    if plain:
        low = np.where(noisy & (count <= 0), 0.0, low)
    most = facts.get("largest_answer")
    high = np.clip(high, 0.0, np.inf if most is None else most)
    return np.where(noisy, np.clip(low, 0.0, high), count), np.where(noisy, high, count)


def _plain(facts: Facts) -> bool:
    """Return whether answers are counts with a noise each, moved by a shift."""
    one_each = facts["proof"] in ("identity", "units", "certified", "wasserstein")
    return bool(one_each and facts["verb"] in ("hist", "count"))


def _spread(facts: Facts, std: Floats, level: Any) -> Floats:
    """Return how far the noise of each answer goes: exactly for sums of whole noises, else at most.

    Counts have a noise each; prefix sums, and the sums of a tree, one scale: an answer is a sum of some.
    """
    scale, finest = Fraction(facts["scale"]), Fraction(facts["smallest_scale"])
    if _plain(facts) and "derived" not in facts:
        return np.full(len(std), float(reach(scale, level)))
    one = variance(scale)
    whole = facts["proof"] in ("ordered", "tree") and scale == finest and one > 0
    rounding = math.sqrt(float(2 * finest**2) / variance(finest)) if variance(finest) > 0 else 1.0
    spread = widest(level) * std * rounding + 1
    if facts["verb"] == "workload":  # weights of any size: a noise counts in steps of its weight
        return spread + std / math.sqrt(variance(finest)) if variance(finest) > 0 else spread
    if "derived" in facts or not whole:
        return spread
    many = std**2 / one
    for each in np.unique(np.rint(many[(many > 0.5) & (many < MOST_SUMMED)])).astype(int).tolist():
        exactly = reach_of_sum(scale, each, level)
        if exactly is not None:
            spread = np.where(np.isclose(many, each, rtol=1e-9, atol=0), exactly, spread)
    return spread


def _around(facts: Facts, value: pd.Series[Any], std: pd.Series[Any], level: Any) -> tuple[Any, Any]:
    """Return a quantile's bounds in its own units, within the declared ones."""
    if isinstance(value.dtype, pd.CategoricalDtype):
        raise FrameError("categories have no distances", fix="take the quantiles of the cumhist's interval.")
    if not pd.api.types.is_numeric_dtype(std.dtype) and std.dtype.kind != "m":
        raise FrameError("these are not the values that were released", fix="ask the release itself.")
    width: Any = widest(level) * std
    if pd.api.types.is_datetime64_any_dtype(value.dtype):
        step = width.fillna(pd.Timedelta(0))
        least, most = (np.datetime64(int(facts[end]), "ns") for end in ("smallest_value", "largest_value"))
        zone = value.dt.tz
        plain = value if zone is None else value.dt.tz_convert("UTC").dt.tz_localize(None)
        ends: list[Any] = [np.maximum(plain - step, least), np.minimum(plain + step, most)]
        if zone is None:
            return ends[0], ends[1]
        return tuple(end.dt.tz_localize("UTC").dt.tz_convert(zone) for end in ends)
    least, most = facts["smallest_value"], facts["largest_value"]
    return (value - width).clip(lower=least), (value + width).clip(upper=most)
