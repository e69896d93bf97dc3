"""A noisy frame and its receipt: error bars, intervals, views. Never sees rows, only releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.arrangement import lengthen, widen
from pandas_blowfish.books.receipt import (
    COMBINED,
    MOMENTS,
    OWN_UNITS,
    RANKS,
    TECHNICAL,
    TOTALS,
    read_receipt,
    reading,
    require_parts,
    show_facts,
    translate,
    write_receipt,
)
from pandas_blowfish.errors import FrameError, NotReleasedError, ReceiptError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.joint_noise.widening import find_far, find_spread, find_terms
from pandas_blowfish.plan.line.quantile_curve import LEVELS
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.scales import (
    ONE,
    widest,
)
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.totals.moment_solve import MomentReader
from pandas_blowfish.plan.totals.solve import numbers_of, total_interval

RECORD = "blowfish"
Facts = dict[str, Any]  # of a receipt, on one level: see `books.receipt.translate`
SIGNED = (False, "signed")  # what `post` is where counts may be negative
SHARES = "shares"  # what `values_are` where counts are divided by totals
UNSHAPED = "unshaped"  # the column of estimates that counts were shaped from
INTERVAL_FACTS = ("scale", "smallest_scale", "post", "std_low", "std_high")
READ_OFF = ("quantile", "median", "var", "std")  # verbs whose receipts state the bounds of their values


PARTS = {  # of a receipt, as its views group them
    "question": ("query", "verb", "columns", "groupby", "table", "derived", "name", "dataset", "answers"),
    "cost": ("epsilon", "spent", "remaining"),
    "noise": (
        *("noise", "strategy", "sensitivity", "scale", *OWN_UNITS, "expected_squared_error"),
        *("typical_error", "std_low", "std_high", "post", "values_are", "accuracy", "chosen", "left_out"),
        "clip",
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
        return self._grouped(translate(self))

    def show_parts(self) -> dict[str, dict[str, Any]]:
        """Return `parts` as people read them: decimals, in the columns' own units, typical errors."""
        with reading():
            return self._grouped(show_facts(read_receipt(self)))

    @staticmethod
    def _grouped(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
        groups = {part: {key: facts[key] for key in keys if key in facts} for part, keys in PARTS.items()}
        known = {"kind", "lattice", *TECHNICAL, *(key for keys in PARTS.values() for key in keys)}
        groups["more"] = {str(key): value for key, value in facts.items() if key not in known}
        groups["technical"] = {key: facts[key] for key in ("lattice", *TECHNICAL) if key in facts}
        return {part: stated for part, stated in groups.items() if stated}

    def __repr__(self) -> str:
        lines, parts = ["Receipt"], self._views()
        width = max((len(markup.one_line(key, 40)) for part in parts.values() for key in part), default=0)
        for part, stated in parts.items():
            shown = {markup.one_line(key, 40).ljust(width): value for key, value in stated.items()}
            lines += [f" {part}", markup.text_facts(shown)]
        return "\n".join(lines)

    def _views(self) -> dict[str, dict[str, Any]]:
        """Return what a view shows: of an edited receipt its parts as they stand."""
        try:
            return self.show_parts()
        except ReceiptError:
            return self.parts()

    def _repr_html_(self) -> str:
        parts = self._views()
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
    return with_receipt(count_columns(solved, plan.std, facts), plan.index, facts)


def count_columns(solved: Solved, std: Floats, facts: Mapping[str, Any], **more: Floats) -> dict[str, Floats]:
    """Return the columns of released counts: `unshaped` is there where `count` is another number.

    Args:
        solved: The answers, and the estimates that they were shaped from.
        std: The standard error of each estimate.
        facts: Those of the receipt.
        more: Columns between the two.
    """
    columns = {"count": solved.answers, "std": std, **more}
    if facts["post"] in SIGNED and np.array_equal(solved.answers, solved.unshaped):
        return columns
    return {**columns, UNSHAPED: solved.unshaped}


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
    exact are covered with this probability over both kinds of answers. Counts of a `mode` or `top` were
    listed for being large: theirs are so wide that those of all candidates of a group hold at once.
    Quantiles have the whole cells that the noisy counts leave possible (`cell_bounds`), at the next of ten
    levels from 0.5 to 0.9999 that their receipt states, beyond it all cells. Picked ones lie between the
    cells of others that were picked, where the number of rows is public; else anywhere. There is one
    exception. Sizes of a `kmeans` are about the noise in the bins of a cluster, `widest` standard errors of
    it: where a border of two clusters cuts bins, or many small counts are shaped, the rows that `assign`
    finds may lie outside, the more often the more rows there are.

    Proof note:
        Requires: a release as a verb returned it, or some of its rows; what was summed, scaled or
                  rounded shows in `std` and is refused.
        Ensures:  P(low <= true count <= high) >= level for each row, with this exception.
        Because:  of an unshaped answer that is a sum of whole noises, |noise| <= t with that probability
                  (`reach_of_sum`; `concave_reach`); of an estimate t is `widest` errors. Truth lies between 0
                  and the public number of rows: what is impossible is cut off, and an estimate moved to
                  the nearest that is not. Earlier versions kept max(0, noisy - s), and the ends of s.
        Checked:  tests/test_release.py::test_shaped_intervals_cover
    """
    widest(level)  # refuses what is no probability, whatever the frame
    with reading():
        release = lengthen(frame)
        low, high = _answer_ends(release, level)
        bounds = pd.DataFrame({"low": low, "high": high}, index=release.index)
        bounds = bounds if release is frame else widen(bounds)
    bounds.attrs = dict(frame.attrs)  # so that release.join(release.blowfish.interval()) keeps its receipt
    return bounds


def _answer_ends(frame: pd.DataFrame, level: Any) -> tuple[Any, Any]:
    """Return low and high of each answer of a long frame."""
    facts = facts_of(frame)
    if facts.get("values_are") == SHARES:
        return _share_ends(frame, facts, level)
    facts = _usable(frame)
    if facts["verb"] in RANKS:
        level = 1 - (1 - exact(level, "level")) / max(facts["candidates"], 1)
    low, high = _ends(frame, facts, level)
    return _whole_ends(low, high) if value_of(facts["verb"]) == "count" else (low, high)


def _share_ends(frame: pd.DataFrame, facts: Facts, level: Any) -> tuple[Floats, Floats]:
    """Return low and high of shares: ends of the count divided by those of its total.

    Proof note:
        Requires: counts and totals as `_shares` wrote them; a total of error 0 is exact.
        Ensures:  P(low <= true share <= high) >= level for each row.
        Because:  of a noisy total both intervals hold with probability 1 - (1 - level) / 2, so both together
                  with `level`; x / t rises with x and falls with t, and a share lies between 0 and 1.
        Checked:  tests/queries/test_value_counts.py::test_intervals_of_shares_cover
    """
    names = list(facts["share_levels"])
    levels = [frame.index.get_level_values(name) for name in names]
    labels = list(zip(*levels, strict=True)) if names else [()] * len(frame)
    stated = [facts["share_totals"][label_text(label)].split() for label in labels]
    totals, errors = (np.array([float(pair[side]) for pair in stated]) for side in (0, 1))
    share = frame[UNSHAPED if UNSHAPED in frame else "proportion"].to_numpy(dtype=float)
    std = frame["std"].to_numpy(dtype=float) * totals - np.abs(share) * errors
    counts = {"count": share * totals, "std": np.where(std > 1e-6, std, 0.0), UNSHAPED: share * totals}
    known = np.isfinite(share)
    inner = pd.DataFrame(counts, index=frame.index)[known]
    inner.attrs[RECORD] = write_receipt({**facts, "values_are": "counts"})
    sure = 1 - (1 - exact(level, "level")) / (2 if errors.any() else 1)
    low, high = np.zeros(len(frame)), np.ones(len(frame))
    low[known], high[known] = _answer_ends(inner, sure)
    spread = find_far(facts, sure) * errors + (errors > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        below, above = low / (totals + spread), high / (totals - spread)
    least = 0.0 if facts["post"] not in SIGNED else -np.inf
    most = 1.0 if facts["post"] not in SIGNED else np.inf
    sure_total = known & (totals > spread)
    return np.where(sure_total, np.clip(below, least, most), least), np.where(
        sure_total, np.clip(above, least, most), most
    )


def _whole_ends(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the whole numbers that an interval of counts begins and ends with, which are all it can hold."""
    first, last = np.ceil(low - 1e-9) + 0.0, np.floor(high + 1e-9) + 0.0
    empty = first > last  # no whole number is in it: the next ones are around it
    return np.where(empty, last, first), np.where(empty, first, last)


def _ends(frame: pd.DataFrame, facts: Facts, level: Any) -> tuple[Any, Any]:
    """Return low and high of each answer, by the verb that released it."""
    if facts["verb"] in COMBINED:
        return _member_ends(facts, frame, level)
    if "moments" in facts:
        return _moment_ends(facts["verb"], facts["moments"], frame, level, post=bool(facts["post"]))
    value = frame[value_of(facts["verb"])]
    if facts["verb"] in READ_OFF or "cell_bounds" in facts:
        return _around(facts, value, level)
    if facts["verb"] in TOTALS:
        return total_interval(facts, frame, level)
    std = frame["std"].to_numpy(dtype=float)
    if is_shifted(facts):
        return _shifted_bounds(facts, value.to_numpy(dtype=float), std, level)
    return _bounds(facts, unshaped_of(frame, facts), std, level)


def value_of(verb: Any, values_are: Any = None) -> str:
    """Return the column that holds the answers of a verb."""
    if values_are == SHARES:
        return "proportion"
    valued = dict.fromkeys((*READ_OFF, *TOTALS, *MOMENTS, *COMBINED), "value")
    return {**valued, "kmeans": "size"}.get(str(verb), "count")


def _usable(frame: pd.DataFrame) -> Facts:
    """Return the facts of a frame whose errors are still those that were released."""
    facts = facts_of(frame)
    if not set(INTERVAL_FACTS) <= set(facts):
        raise NotReleasedError()
    require_parts(facts, ("verb", "strategy", "scale", "smallest_scale", "post"))
    if facts["verb"] in RANKS and "count" not in frame.columns:
        what = f"values were released, and no counts: {facts.get('accuracy')}"
        raise FrameError(what, fix='release top(..., strategy="counts"), or a hist.')
    for column in (value_of(facts.get("verb")), "std"):
        if column not in frame.columns:
            raise FrameError(
                f"the release has no column {column!r} any more", fix="ask it of the release as returned."
            )
    if facts["strategy"] == "dawa":
        raise FrameError("how wrong these answers are depends on the rows", fix="use another strategy.")
    if value_of(facts["verb"]) == "value":
        return facts
    if is_shifted(facts) and facts.get("derived") and facts["post"] and "from_cumulative" not in facts:
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


def is_shifted(facts: Facts) -> bool:
    """Return whether a receipt is of a version that kept by how much answers were moved, not the unshaped."""
    return "lowest_shift" in facts


def unshaped_of(frame: pd.DataFrame, facts: Facts) -> Floats:
    """Return the estimates that a release was shaped from; of one that was not shaped, the answers."""
    if UNSHAPED in frame.columns:
        return frame[UNSHAPED].to_numpy(dtype=float)
    shown = value_of(facts["verb"])
    if shown == "count" and facts["post"] not in SIGNED:
        raise FrameError(
            f"the release has no column {UNSHAPED!r} any more", fix="ask it of the release as returned."
        )
    return frame[shown].to_numpy(dtype=float)


def _bounds(facts: Facts, unshaped: Floats, std: Floats, level: Any) -> tuple[Floats, Floats]:
    """Return low and high: the unshaped answer, or the nearest possible one, give or take."""
    spread = find_spread(facts, std, level)
    spread += np.where(unshaped == np.rint(unshaped), 0.0, 1e-9 * np.maximum(np.abs(unshaped), 1.0))
    spread *= std > 0
    if facts["post"] in SIGNED or facts["verb"] == "workload":  # sums with negative weights may be negative
        return unshaped - spread, unshaped + spread
    most = facts.get("largest_answer")
    ends = (0.0, np.inf if most is None else most)
    middle = np.where(std > 0, np.clip(unshaped, *ends), unshaped)
    low, high = np.clip(middle - spread, *ends), np.clip(middle + spread, *ends)
    return np.where(std > 0, low, middle), np.where(std > 0, high, middle)


def _shifted_bounds(facts: Facts, count: Floats, std: Floats, level: Any) -> tuple[Floats, Floats]:
    """Return low and high of earlier versions: the unshaped answer is the shaped one and a shift."""
    noisy, plain = std > 0, find_terms(facts) == ONE
    spread = find_spread(facts, std, level)
    spread += np.where(count == np.rint(count), 0.0, 1e-9 * np.maximum(np.abs(count), 1.0))  # sums of floats
    least, most = facts["lowest_shift"], facts["highest_shift"]
    low, high = count + (least - spread) * noisy, count + (most + spread) * noisy
    if not facts["post"] or facts["verb"] == "workload":
        return low, high
    if plain:
        low = np.where(noisy & (count <= 0), 0.0, low)
    most = facts.get("largest_answer")
    high = np.clip(high, 0.0, np.inf if most is None else most)
    return np.where(noisy, np.clip(low, 0.0, high), count), np.where(noisy, high, count)


def label_text(label: Any) -> str:
    """Return the name under which a receipt keeps what belongs to one answer, whatever stores its label.

    Examples:
        >>> label_text(("F", np.float64(0.5))), label_text(0.5)
        ("('F', 0.5)", '0.5')
    """
    parts = label if isinstance(label, tuple) else (label,)
    plain = tuple(part.item() if isinstance(part, np.generic) else part for part in parts)
    return repr(plain if isinstance(label, tuple) else plain[0])


def _around(facts: Facts, value: pd.Series[Any], level: Any) -> tuple[Any, Any]:
    """Return the bounds of values that a receipt states, at the next level that it states them for.

    Of quantiles they are where the cells begin and end that may hold them.
    """
    if "cell_bounds" not in facts:
        raise FrameError("its receipt does not state cells", fix="ask under its name again, which is free.")
    reached = [place for place, each in enumerate(LEVELS) if each >= exact(level, "level")]
    stated = [facts["cell_bounds"].get(label_text(label)) for label in value.index]
    if reached:
        pairs = [None if text is None else text.split()[2 * reached[0] :][:2] for text in stated]
    else:  # beyond the last
        whole = [str(facts["smallest_value"]), str(facts["largest_value"])]
        pairs = [None if text is None else whole for text in stated]
    low, high = (
        _values_like(value, [None if pair is None else pair[end] for pair in pairs]) for end in (0, 1)
    )
    slack: Any = pd.Timedelta(seconds=1) if value.dtype.kind in "mM" else 0
    if not isinstance(value.dtype, pd.CategoricalDtype):
        slack = slack or 1e-9 * (1 + value.abs())
        low_enough, high_enough = value >= low - slack, value <= high + slack
    else:
        low_enough, high_enough = value.cat.codes >= low.cat.codes, value.cat.codes <= high.cat.codes
    if not (value.isna() | (low_enough & high_enough)).all():
        raise FrameError("these are not the values that were released", fix="ask the release itself.")
    return low, high


def _moment_ends(verb: str, stated: Facts, frame: pd.DataFrame, level: Any, *, post: bool) -> tuple[Any, Any]:
    """Return low and high of variances, deviations, covariances or correlations, from the noisy totals."""
    many, names = int(stated["levels"]), {name: place for place, name in enumerate(stated["columns"])}
    listed = list(enumerate(stated["pairs"]))  # rows that a column may be missing in are counted last
    listed = listed if verb == "size" else listed[::-1]
    pairs = {(int(one), int(two)): place for place, (one, two, *_) in listed}
    totals, numbers = [], []
    for label in frame.index:
        parts = label if isinstance(label, tuple) else (label,)
        outer, inner = parts[: len(parts) - many], parts[len(parts) - many :]
        text = label_text(outer[0] if len(outer) == 1 else outer) if outer else ""
        totals.append([int(each) for each in stated["totals"][text].split()])
        asked = sorted(names[each] for each in inner) or [0]
        numbers.append(pairs[asked[0], asked[-1]])
    shown, spans = numbers_of(frame["value"]), frame["value"].dtype.kind == "m"
    low, high = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    table, places = np.array(totals, dtype=np.float64), np.array(numbers)
    some = ~(np.isnan(shown) & (table == 0).all(axis=1)) if len(table) else np.zeros(0, dtype=bool)
    for number in np.unique(places[some]).tolist():
        own = np.flatnonzero((places == number) & some)  # the others are of groups that no row can be in
        reader = MomentReader(stated, number, verb, table[own])
        then, _ = reader.estimate(post)
        if not np.allclose(shown[own], then, rtol=1e-6, atol=float(spans), equal_nan=True):
            raise FrameError("these are not the values that were released", fix="ask the release itself.")
        low[own], high[own] = reader.bound(level)
    if not spans:
        return low, high
    room = [np.clip(end, 0, 2.0**62) for end in (np.floor(low), np.ceil(high))]
    return pd.to_timedelta(room[0], unit="ns"), pd.to_timedelta(room[1], unit="ns")


def _member_ends(facts: Facts, frame: pd.DataFrame, level: Any) -> tuple[Floats, Floats]:
    """Return low and high of statistics of several questions, each as its own question has them."""
    low, high = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    names = [str(key) for key in frame.index.names]
    label = {key: frame.index.get_level_values(key) for key in ("column", "statistic") if key in names}
    groups = [key for key in names if key not in label]
    for column, statistic, member, inner in facts["sources"]:
        own = np.asarray(label["statistic"] == statistic)
        own &= np.asarray(label["column"] == column) if "column" in label else True
        if not own.any():
            continue
        rows = frame[own]
        keys = [rows.index.get_level_values(key) for key in groups]
        tuples = [(*outer, inner) for outer in zip(*keys, strict=True)] if keys else [inner] * len(rows)
        rows.index = pd.MultiIndex.from_tuples(tuples) if keys else pd.Index(tuples)
        stated = read_receipt(facts["members"][member])
        verb = statistic if "moments" in stated else stated["verb"]
        low[own], high[own] = _ends(rows, {**stated, "verb": verb}, level)
    return low, high


def _values_like(value: pd.Series[Any], texts: list[str | None]) -> pd.Series[Any]:
    """Return places as receipts write them as values of a column; None is missing."""
    if isinstance(value.dtype, pd.CategoricalDtype):
        codes = [-1 if text is None else int(float(text)) for text in texts]
        return pd.Series(pd.Categorical.from_codes(codes, dtype=value.dtype), index=value.index)
    if value.dtype.kind == "M":
        stamps = pd.DatetimeIndex([pd.NaT if text is None else pd.Timestamp(int(text)) for text in texts])
        zone = value.dt.tz
        stamps = stamps.as_unit("ns") if zone is None else stamps.tz_localize("UTC").tz_convert(zone)
        return pd.Series(stamps, index=value.index)
    if value.dtype.kind == "m":
        spans = [pd.NaT if text is None else pd.Timedelta(int(float(text))) for text in texts]
        return pd.Series(pd.TimedeltaIndex(spans).as_unit("ns"), index=value.index)
    numbers = [np.nan if text is None else float(text) for text in texts]
    return pd.Series(numbers, index=value.index, dtype="float64")
