"""Rows under a second name: a misspelt name would be a new budget for the same people. Hands rows on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pandas_blowfish.books import sealkey
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.books.reprice import policy_of
from pandas_blowfish.count import seal
from pandas_blowfish.errors import EngineError, FrameError, LedgerNotFoundError


def find_first_name(frame: Any, book: Ledger, dataset: str) -> str | None:
    """Return the first named dataset of a ledger, other than this one, that was sealed from the same rows.

    Rows are compared by the columns that the other dataset declares, whatever their order and engine, under
    its own key. Only where the number of rows is the same are values read, and the rest of the columns only
    where the first is the same. Two processes that bind the same rows at the same time may both succeed.
    """
    names: list[str] = []
    if not seal.row_count(frame):  # no rows are about nobody
        return None
    with suppress(LedgerNotFoundError):
        names = book.datasets
    for name in names:
        other = book.dataset(name)
        if name == dataset or not other.binding.get("named") or "count" not in other.binding:
            continue
        binding = sealkey.with_key(book.location, name, other.binding)
        try:
            if seal.is_same(frame, policy_of(other, 0).domain, binding):
                return name
        except EngineError:
            raise
        except FrameError:  # no values of the other's columns can be read from these
            continue
    return None
