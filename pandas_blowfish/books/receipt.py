"""Receipts: how their facts are written, and read again from any version. Never sees rows, only receipts.

A receipt states first what a reader asks: the question, its cost, the noise, the promise, where to verify it;
and in one record `technical` what intervals and later questions are computed from. Version 0.1 wrote all of
it on one level, some of it under other names. `translate` gives the same facts for both; nothing else in the
package reads technical parts of a receipt without it.

Receipts travel in `attrs`, in files and through other hands: an edited one must neither hang a reader nor
raise an error that nobody can catch by its type. What was edited within these limits is found by
`ledger.verify(receipt)`, which compares it with the ledger.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import BlowfishError, ReceiptError
from pandas_blowfish.markup import decimal, digits, show_call, span_words

MAX_CLIQUE = 256  # cells whose noise sums to 0, as in plan/joint_noise/
MAX_SCALE = 2**50  # of noise that can be drawn, as in kernel/noise.py
MAX_DIGITS = 4_000  # of a fraction, as long as Python prints
MAX_ITEMS = 2_000_000  # in all lists of a receipt together
MAX_DEPTH = 8
SPANS = {
    "D": 86_400e9,
    "h": 3_600e9,
    "min": 60e9,
    "s": 1e9,
    "ms": 1e6,
    "us": 1e3,
    "ns": 1.0,
}  # in nanoseconds
OWN_UNITS = ("sensitivity_in_units", "scale_in_units")  # of sums, by column
MOST_TOGETHER = 240  # totals that draw their noise together, as in plan/totals/sum_boxes.py
_OWN, _REACHES = (
    re.compile(text, re.ASCII) for text in (r"\d{1,3} [1-9]\d{0,15}", r"[1-9]\d{0,15}\*[1-9]\d{0,2}")
)
_FRACTION = re.compile(r"-?\d+(/\d+)?|-?\d+\.\d+", re.ASCII)


def fraction_of(text: Any) -> Fraction | None:
    """Return a number as receipts write them, exactly; None for anything else.

    Examples:
        >>> fraction_of("713/233"), fraction_of("1e99999999")
        (Fraction(713, 233), None)
    """
    if not isinstance(text, str) or len(text) > MAX_DIGITS or not _FRACTION.fullmatch(text):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def number_text(value: Any) -> str:
    """Return a number as receipts and entries write them, in decimals for a person; anything else as text.

    Examples:
        >>> number_text("1/10"), number_text(None)
        ('0.1', 'None')
    """
    found = fraction_of(value)
    return str(value) if found is None else decimal(found)


def show_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a receipt as people read them: decimals, and sums in their columns' own units.

    The lattice, of which a receipt's `sensitivity` and `scale` of sums are steps, is one line of its own.

    Examples:
        >>> show_facts({"epsilon": "1/10", "scale": "200", "scale_in_units": {"income": "10000"}})["scale"]
        '10,000'
    """
    shown = {key: value for key, value in facts.items() if key not in OWN_UNITS}
    for key in ("epsilon", "spent", "remaining", "sensitivity", "scale"):
        if key in shown:
            shown[key] = number_text(shown[key])
    shown |= {"query": show_call(facts["query"])} if "query" in facts else {}
    own, error = facts.get("scale_in_units"), facts.get("expected_squared_error")
    spans = isinstance(own, Mapping) and any(fraction_of(each) is None for each in own.values())
    if isinstance(own, Mapping) and own:
        steps = f"sensitivity {shown.get('sensitivity')}, scale {shown.get('scale')}"
        found = [fraction_of(each) for each in facts.get("column_units", ())]
        units = [span_words(float(each)) if spans else decimal(each) for each in found if each is not None]
        shown["lattice"] = f"in steps{' of ' * bool(units)}{', '.join(units)}: {steps}"
        shown |= {key.removesuffix("_in_units"): _own_text(facts[key]) for key in OWN_UNITS if key in facts}
    if "expected_squared_error" in facts:
        del shown["expected_squared_error"]
        alone = not isinstance(own, Mapping) or len(facts.get("total_columns", "x")) == 1
        if alone and error is not None:
            picked = "gap" in facts  # values picked by rank, whose error is counted in rows
            own_text = span_words(error**0.5) if spans and not picked else digits(error**0.5, 3)
            shown["typical_error"] = f"+-{own_text}{' rows at most' * picked}"
    for key in ("std_low", "std_high"):
        if isinstance(facts.get(key), float):
            shown[key] = span_words(facts[key]) if spans else digits(facts[key], 3)
    return shown


def _own_text(own: Mapping[str, str]) -> str:
    """Return amounts by column, each in its own units, named where there are several."""
    text = {
        name: _span_text(each) if fraction_of(each) is None else number_text(each)
        for name, each in own.items()
    }
    return ", ".join(text.values() if len(text) == 1 else [f"{name} {each}" for name, each in text.items()])


def _span_text(text: str) -> str:
    found = re.fullmatch(r"(\d{1,30})(D|h|min|s|ms|us|ns)", text)
    return span_words(int(found[1]) * SPANS[found[2]]) if found else text


def _scale(value: Any) -> bool:
    found = fraction_of(value)
    return found is not None and 0 <= found <= MAX_SCALE


def _reaches(value: Any) -> bool:
    """Return whether a text is of noise drawn together: reaches of rows, and how many rows have each."""
    parts = value.split(" ") if isinstance(value, str) and len(value) <= MAX_DIGITS else []
    if not parts or not all(map(_REACHES.fullmatch, parts)):
        return False
    return sum(int(part.split("*")[1]) for part in parts) <= MOST_TOGETHER


def _box(value: Any) -> bool:
    """Return whether a text is the number of a draw and the reach of a row in it."""
    return isinstance(value, str) and _OWN.fullmatch(value) is not None


def _positive(value: Any) -> bool:
    found = fraction_of(value)
    return found is not None and found > 0


def _exact(value: Any) -> bool:
    return fraction_of(value) is not None


def _number(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and abs(value) <= sys.float_info.max  # neither infinite nor NaN


def _size(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and value >= 0  # infinite where nothing is known


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _list(of: Callable[[Any], bool], *, blank: bool = False) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        return isinstance(value, (list, tuple)) and all(of(e) or (blank and e is None) for e in value)

    return holds


def _either(*of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(each(value) for each in of)


def _covariance(value: Any) -> bool:
    named = isinstance(value, Mapping) and all(map(_text, value))
    return (
        named
        and _list(_scale)(value.get("scales"))
        and value.get("of") in ("cells", "runs", "tree", "rows", "transport", "effects")
    )


def _clique_sizes(value: Any) -> bool:
    return _list(_whole)(value) and all(2 <= each <= MAX_CLIQUE for each in value)


def _synopsis(value: Any) -> bool:
    named = isinstance(value, Mapping) and all(_text(value.get(key)) for key in ("policy", "strategy"))
    return named and _list(_integer)(value.get("values")) and isinstance(value.get("form"), Mapping)


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _moments(value: Any) -> bool:
    named = isinstance(value, Mapping) and all(map(_text, value))
    parts = named and _list(_scale)(value.get("scales")) and _list(_positive)(value.get("units"))
    parts = parts and _list(_box, blank=True)(value.get("boxes", []))
    parts = parts and _list(_reaches)(value.get("box_reaches", []))
    return parts and _texts(value.get("totals")) and _whole(value.get("ddof")) and _whole(value.get("levels"))


def _source(value: Any) -> bool:
    plain = isinstance(value, (list, tuple)) and len(value) == 4
    return plain and _text(value[0]) and _text(value[1]) and _whole(value[2])


def _counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_text(key) and _whole(each) for key, each in value.items())


def _texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _text(key) and _text(each) and len(each) <= MAX_DIGITS for key, each in value.items()
    )


def _cut(value: Any) -> bool:
    """Tell whether a part states the bins of a group: their names, where runs of cells start, of which."""
    if not isinstance(value, Mapping) or set(value) != {"names", "shown", "starts", "bins"}:
        return False
    bins = value["bins"]
    listed = all(_list(_text, blank=True)(value[key]) for key in ("names", "shown"))
    listed = listed and _list(_whole)(value["starts"])
    return listed and isinstance(bins, (list, tuple)) and all(_whole(each) or each == -1 for each in bins)


OLD_NAMES = {  # what receipts of version 0.1 called a part: what it is called now
    "apart": "weaker_guarantee",
    "beside": "weaker_release",
    "of": "values_are",
    "scale_low": "smallest_scale",
    "shift_low": "lowest_shift",
    "shift_high": "highest_shift",
    "at_most": "largest_answer",
    "moved": "record_moves",
    "rule": "price_rule",
    "declared": "declared_ends",
    "cumulative": "from_cumulative",
    "least": "smallest_value",
    "most": "largest_value",
    "asked": "total_columns",
    "by_column": "labelled_by_column",
    "units": "column_units",
    "origins": "column_origins",
    "scales": "column_scales",
    "rounding": "column_rounding",
    "lightest": "smallest_weights",
    "counted": "public_counts",
    "groups": "group_domains",
}
ABOUT_THE_RELEASE = ("weaker_guarantee", "weaker_release", "values_are")  # renamed, and still at the top
TECHNICAL = (
    *(new for new in OLD_NAMES.values() if new not in ABOUT_THE_RELEASE),
    *("count_scales", "noise_terms", "covariance", "cell_bounds", "gap", "candidates", "group_bins"),
    *("box_reaches", "column_boxes", "count_boxes", "clique_sizes", "drawn_together"),
    *("layout", "table_answers", "share_levels", "share_totals", "synopsis", "moments", "members", "sources"),
    *("clip_low", "clip_high", "outside_share", "outside_std"),
)
OF_LOGARITHMS = {  # verbs of version 0.1 for values that are no plain sums and means: what was asked
    ("sum", "logarithms"): "logsum",
    ("mean", "exponentials of logarithms"): "geomean",
}
TOTALS = ("sum", "mean", "logsum", "geomean")
RANKS = ("mode", "top")  # verbs that list values
MOMENTS = ("var", "std", "cov", "corr")
COMBINED = ("describe", "agg")  # made of several questions
BLANK = (
    *("name", "price_rule", "expected_squared_error", "largest_answer", "rows", "unit", "strategy"),
    *("sensitivity", "noise", "scale", "smallest_scale", "std_low", "std_high", "lowest_shift"),
    *("highest_shift", "answers", "record_moves", "smallest_value", "largest_value", "covariance"),
)
FORM: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("verb", "query", "dataset", "policy", "strategy", "noise", "proof"), (_text, "text")),
    **dict.fromkeys(("unit", "outside", "price_rule", "name", "version", "time", "hash"), (_text, "text")),
    **dict.fromkeys(
        ("values_are", "weaker_release", "checked", "accuracy", "chosen", "left_out", "clip"), (_text, "text")
    ),
    **dict.fromkeys(("scale", "smallest_scale"), (_scale, "a fraction from 0 to 2^50, as text")),
    **dict.fromkeys(("sensitivity", "epsilon", "spent", "remaining"), (_exact, "a fraction, as text")),
    **dict.fromkeys(("std_low", "std_high", "expected_squared_error"), (_size, "a number of at least 0")),
    **dict.fromkeys(("lowest_shift", "highest_shift", "largest_answer"), (_number, "a finite number")),
    **dict.fromkeys(
        ("answers", "table_answers", "record_moves", "rows", "max_rows", "entry", "gap", "candidates"),
        (_whole, "a whole number of at least 0"),
    ),
    **dict.fromkeys(
        ("columns", "groupby", "coordinates", "total_columns", "facts"), (_list(_text), "a list of texts")
    ),
    **dict.fromkeys(
        ("smallest_value", "largest_value"), (_either(_number, _list(_exact, blank=True)), "bounds")
    ),
    **dict.fromkeys(
        ("column_scales", "count_scales"), (_list(_scale, blank=True), "scales from 0 to 2^50, as text")
    ),
    "box_reaches": (_list(_reaches), "reaches of rows that draw together"),
    **dict.fromkeys(("column_boxes", "count_boxes"), (_list(_box, blank=True), "numbers and reaches")),
    **dict.fromkeys(
        ("column_origins", "column_rounding", "smallest_weights"), (_list(_exact), "fractions, as text")
    ),
    **dict.fromkeys(("clip_low", "clip_high"), (_list(_exact, blank=True), "fractions, as text")),
    **dict.fromkeys(("outside_share", "outside_std"), (_list(_size), "numbers of at least 0")),
    "column_units": (_either(_list(_positive), _list(_number)), "positive numbers"),
    "post": (_either(_flag, _text), "true or false"),
    "noise_terms": (_text, "text"),
    "covariance": (_covariance, "a record of scales and runs"),
    "clique_sizes": (_clique_sizes, "whole numbers from 2 to 256"),
    "drawn_together": (_flag, "true or false"),
    "labelled_by_column": (_flag, "true or false"),
    **dict.fromkeys(("sensitivity_in_units", "scale_in_units"), (_texts, "texts by column")),
    "public_counts": (_counts, "whole numbers by label"),
    "moments": (_moments, "a record of scales and totals"),
    "members": (_list(lambda value: isinstance(value, Mapping)), "a list of records"),
    "sources": (_list(_source), "where each statistic is read off"),
    "cell_bounds": (_texts, "numbers by label, as text"),
    "share_totals": (_texts, "numbers by label, as text"),
    "share_levels": (_list(_text), "a list of texts"),
    "layout": (_text, "text"),
    "group_bins": (_list(_cut, blank=True), "names, starts and numbers of bins by group"),
    "synopsis": (_synopsis, "a record of values and how they were measured"),
}
PER_COLUMN = (
    *("column_units", "column_origins", "column_scales", "count_scales", "column_rounding"),
    *("smallest_value", "largest_value", "smallest_weights", "column_boxes", "count_boxes"),
    *("clip_low", "clip_high", "outside_share", "outside_std"),
)


def write_receipt(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a release as its receipt states them: for a reader, then the technical ones.

    Examples:
        >>> write_receipt({"verb": "hist", "largest_answer": 9})
        {'verb': 'hist', 'technical': {'largest_answer': 9}}
    """
    inner = {key: value for key, value in facts.items() if key in TECHNICAL}
    outer = {key: value for key, value in facts.items() if key not in TECHNICAL}
    return {**outer, "technical": inner} if inner else outer


def translate(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that a receipt of any version states, all on one level under today's names.

    Examples:
        >>> translate({"verb": "hist", "at_most": 9})
        {'verb': 'hist', 'largest_answer': 9}
        >>> translate({"verb": "hist", "technical": {"largest_answer": 9}})
        {'verb': 'hist', 'largest_answer': 9}
    """
    inner = record.get("technical")
    if isinstance(inner, Mapping):
        facts = {key: value for key, value in record.items() if key not in ("technical", *TECHNICAL)}
        facts |= {key: value for key, value in inner.items() if key in TECHNICAL}
    else:
        facts = {OLD_NAMES.get(key, key): value for key, value in record.items()}
    verb, values = facts.get("verb"), facts.get("values_are")
    if isinstance(verb, str) and isinstance(values, str):
        facts["verb"] = OF_LOGARITHMS.get((verb, values), verb)
    return facts


def read_receipt(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the facts of a receipt, refusing parts of a wrong type and numbers out of range.

    Examples:
        >>> read_receipt({"verb": "hist", "scale": "2"})
        {'verb': 'hist', 'scale': '2'}

    Raises:
        ReceiptError: Naming the part; its value is not shown.
    """
    if not all(isinstance(key, str) for key in record):
        raise ReceiptError("a part has no name")
    if _items(record, 0) > MAX_ITEMS:
        raise ReceiptError("it is too large or too deep")
    if not isinstance(record.get("technical", {}), Mapping):
        raise ReceiptError("`technical` is not a record")
    facts = translate(record)
    for key, (holds, allowed) in FORM.items():
        value = facts.get(key)
        if key in facts and not (value is None and key in BLANK) and not holds(value):
            raise ReceiptError(f"`{key}` is not {allowed}")
    if facts.get("total_columns") is not None and facts.get("verb") in TOTALS:
        _require_per_column(facts)
    return facts


def _require_per_column(facts: Mapping[str, Any]) -> None:
    """Refuse technical facts of sums and means that are not one for each column."""
    for key in PER_COLUMN:
        stated = facts.get(key, facts["total_columns"])
        if not isinstance(stated, (list, tuple)) or len(stated) != len(facts["total_columns"]):
            raise ReceiptError(f"`{key}` is not one for each of `total_columns`")
    if not _list(_positive)(facts.get("column_units", [])):
        raise ReceiptError("`column_units` are not positive fractions, as text")


def is_receipt(head: Mapping[Any, Any]) -> bool:
    """Return whether a mapping names the entry of a ledger that it is the receipt of."""
    return isinstance(head.get("entry"), int) and isinstance(head.get("hash"), str)


def require_parts(record: Mapping[str, Any], parts: tuple[str, ...]) -> None:
    """Refuse a receipt that lacks a part, or leaves it blank, that is about to be read."""
    for key in parts:
        if record.get(key) is None:
            raise ReceiptError(f"`{key}` is missing")


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever fails while a release is read into what it means: it does not fit its receipt."""
    try:
        yield
    except (BlowfishError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  a receipt may state anything
        raise ReceiptError(f"it does not fit the frame ({type(error).__name__})") from None


def _items(value: Any, depth: int) -> int:
    """Return how many values there are inside each other; more than are allowed where it is too deep."""
    if depth > MAX_DEPTH:
        return MAX_ITEMS + 1
    if isinstance(value, Mapping):
        return 1 + sum(_items(each, depth + 1) for each in value.values())
    if isinstance(value, (list, tuple)):
        return 1 + sum(_items(each, depth + 1) for each in value)
    return 1
