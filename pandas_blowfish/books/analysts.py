"""Who charges: the operating system's user, the analyst that is stated, and what analysts may charge.

Never sees rows. Names are as stated, not proved: limits are an agreement among people who share a budget.
"""

from __future__ import annotations

import getpass
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from pandas_blowfish.books.log import UNREADABLE, Entry, parse_fraction
from pandas_blowfish.errors import AnalystLimitError, ArgumentError, ArgumentTypeError, LedgerTamperedError
from pandas_blowfish.exact.number import exact

MAX_LIMITS = 1_000  # analysts with a limit: each entry states them all
Limits = dict[str, tuple[Fraction, Fraction]]  # what an analyst may charge, and has charged


def is_name(value: Any) -> bool:
    """Return whether a value is text that can name something, in one way only.

    Blanks around it, invisible characters and other spellings of the same letters would make names
    that look alike stand for different budgets.
    """
    return (
        isinstance(value, str)
        and value.isprintable()
        and value == unicodedata.normalize("NFC", value.strip()) != ""
    )


@cache
def operating_user() -> str | None:
    """Return the operating system's name of who runs this; None where it has none."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # such as a container without a user of this number
        return None


def check_analyst(value: Any) -> str | None:
    """Return the name of an analyst, or None, or raise."""
    if value is not None and not is_name(value):
        raise ArgumentError("analyst", "not a name", allowed="printable text without blanks around it")
    return None if value is None else str(value)


def read_limits(stated: Any) -> dict[str, Fraction]:
    """Return limits as `protect` takes them, or raise."""
    if not isinstance(stated, Mapping):
        raise ArgumentTypeError("limits", "not limits by name", allowed='such as {"ana": "1/2"}')
    if len(stated) > MAX_LIMITS:
        raise ArgumentError("limits", f"{len(stated):,} analysts", allowed=f"up to {MAX_LIMITS:,}")
    if None in stated:
        raise ArgumentError("limits", "a name is missing", allowed='such as {"ana": "1/2"}')
    return {str(check_analyst(name)): check_limit(limit) for name, limit in stated.items()}


def check_limit(value: Any) -> Fraction:
    """Return a limit as an exact fraction of at least 0, or raise."""
    limit = exact(value, "limit")
    if limit < 0:
        raise ArgumentError("limit", f"{limit} is negative", allowed="0 or more")
    return limit


def limits_of(entry: Entry | None) -> Limits:
    """Return the limits that an entry states, each with what was charged under it."""
    stated = {} if entry is None else entry.body.get("limits", {})
    try:
        return {name: (parse_fraction(most), parse_fraction(spent)) for name, (most, spent) in stated.items()}
    except UNREADABLE:
        raise LedgerTamperedError(entry.id if entry else None, "its limits cannot be read") from None


def state_limits(limits: Limits) -> dict[str, Any]:
    """Return limits as an entry states them; nothing where there are none."""
    return {"limits": {name: list(both) for name, both in limits.items()}} if limits else {}


def charge_limit(limits: Limits, dataset: str, analyst: str | None, epsilon: Fraction) -> Limits:
    """Return the limits after a charge, or raise where its analyst may not charge so much."""
    if analyst not in limits:
        return limits
    most, spent = limits[analyst]
    if epsilon and spent + epsilon > most:
        raise AnalystLimitError(dataset, analyst, epsilon, most - spent, most)
    return {**limits, analyst: (most, spent + epsilon)}


class LimitReplay:
    """What the entries of a dataset come to for its analysts, read one after another."""

    def __init__(self) -> None:
        self.charged: dict[str, Fraction] = {}
        self.limits: dict[str, Fraction] = {}

    def follows(self, entry: Entry) -> bool:
        """Return whether an entry states the limits that follow from those before it.

        Proof note:
            Requires: entries come in their order (`chain.replay`).
            Ensures:  of a dataset whose entries all follow, no analyst has charged more than the limit that
                      stood at the time, and each entry states all limits and what was charged under them.
            Because:  limits change by entries of kind "open" and "limit" alone, and a charge adds its epsilon
                      to what its analyst has charged.
            Checked:  tests/books/test_analysts.py::test_edited_limits_are_found
        """
        body, stated = entry.body, entry.body.get("limits", {})
        analyst = body.get("analyst")
        if entry.kind == "open":
            self.limits = {name: parse_fraction(most) for name, (most, _) in stated.items()}
        elif entry.kind == "limit":
            self.limits[str(analyst)] = parse_fraction(body["limit"])
        elif entry.kind == "charge" and analyst is not None:
            epsilon = parse_fraction(body["epsilon"])
            self.charged[analyst] = self.charged.get(analyst, Fraction(0)) + epsilon
            if epsilon and analyst in self.limits and self.charged[analyst] > self.limits[analyst]:
                return False
        if not self.limits and not stated:
            return True
        known = {name: [str(most), str(self.charged.get(name, 0))] for name, most in self.limits.items()}
        return bool(stated == known)
