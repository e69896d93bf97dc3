"""What a receipt must look like before anything is worked out from it. Never sees rows, only receipts.

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

MAX_SCALE = 2**50  # of noise that can be drawn, as in kernel/noise.py
MAX_DIGITS = 4_000  # of a fraction, as long as Python prints
MAX_ITEMS = 2_000_000  # in all lists of a receipt together
MAX_DEPTH = 8
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


def _scale(value: Any) -> bool:
    found = fraction_of(value)
    return found is not None and 0 <= found <= MAX_SCALE


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


def _counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_text(key) and _whole(each) for key, each in value.items())


BLANK: tuple[str, ...] = (
    "name",
    "rule",
    "expected_squared_error",
    "at_most",
    "rows",
    "unit",
    "strategy",
    "sensitivity",
    "noise",
)
BLANK += (
    "scale",
    "scale_low",
    "std_low",
    "std_high",
    "shift_low",
    "shift_high",
    "answers",
    "moved",
    "least",
    "most",
)
FORM: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("verb", "query", "dataset", "policy", "strategy", "noise", "proof"), (_text, "text")),
    **dict.fromkeys(("unit", "outside", "rule", "name", "version", "time", "hash", "of"), (_text, "text")),
    **dict.fromkeys(("scale", "scale_low"), (_scale, "a fraction from 0 to 2^50, as text")),
    **dict.fromkeys(("sensitivity", "epsilon", "spent", "remaining"), (_exact, "a fraction, as text")),
    **dict.fromkeys(("std_low", "std_high", "expected_squared_error"), (_size, "a number of at least 0")),
    **dict.fromkeys(("shift_low", "shift_high", "at_most"), (_number, "a finite number")),
    **dict.fromkeys(("answers", "moved", "rows", "entry"), (_whole, "a whole number of at least 0")),
    **dict.fromkeys(
        ("columns", "groupby", "coordinates", "asked", "facts"), (_list(_text), "a list of texts")
    ),
    **dict.fromkeys(("least", "most"), (_either(_number, _list(_exact, blank=True)), "bounds")),
    **dict.fromkeys(
        ("scales", "count_scales"), (_list(_scale, blank=True), "scales from 0 to 2^50, as text")
    ),
    **dict.fromkeys(("origins", "rounding", "lightest"), (_list(_exact), "fractions, as text")),
    "units": (_either(_list(_positive), _list(_number)), "positive numbers"),
    "post": (_either(_flag, _text), "true or false"),
    "by_column": (_flag, "true or false"),
    "checked": (_text, "text"),
    "counted": (_counts, "whole numbers by label"),
}
PER_COLUMN = ("units", "origins", "scales", "count_scales", "least", "most", "rounding", "lightest")


def require_form(record: Any) -> None:
    """Refuse a receipt with a part that no release has there: a wrong type, a number out of range.

    Examples:
        >>> require_form({"verb": "hist", "scale": "2"})

    Raises:
        ReceiptError: Naming the part; its value is not shown.
    """
    if not all(isinstance(key, str) for key in record):
        raise ReceiptError("a part has no name")
    if _items(record, 0) > MAX_ITEMS:
        raise ReceiptError("it is too large or too deep")
    for key, (holds, allowed) in FORM.items():
        value = record.get(key)
        if key in record and not (value is None and key in BLANK) and not holds(value):
            raise ReceiptError(f"`{key}` is not {allowed}")
    asked = record.get("asked")
    if asked is not None and record.get("verb") in ("sum", "mean"):
        for key in PER_COLUMN:
            if key in record and (
                not isinstance(record[key], (list, tuple)) or len(record[key]) != len(asked)
            ):
                raise ReceiptError(f"`{key}` is not one for each of `asked`")
        if not _list(_positive)(record.get("units", [])):
            raise ReceiptError("`units` are not positive fractions, as text")


def require_parts(record: Mapping[str, Any], parts: tuple[str, ...]) -> None:
    """Refuse a receipt that lacks a part, or leaves it blank, that is about to be read."""
    for key in parts:
        if record.get(key) is None:
            raise ReceiptError(f"`{key}` is missing")


@contextmanager
def reading() -> Iterator[None]:
    """Let what fails while a release is read be told as what it is: it does not fit its receipt."""
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
