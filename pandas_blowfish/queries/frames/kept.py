"""Named answers read back from a ledger alone: no row is touched, nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from pandas_blowfish.books.ledger import Dataset, Ledger
from pandas_blowfish.errors import ArgumentError, UnknownAnswerError
from pandas_blowfish.queries.call.call_reader import parse_call

HASHED = "the ledger names its matrix, bins, bounds, prior or scenario by their hash alone"


def empty_frame(ledger: Ledger, dataset: str, bound: Dataset | None) -> pd.DataFrame:
    """Return a protected frame without rows or columns, of which kept releases can be asked."""
    frame, stated = pd.DataFrame(), bound.binding.get("fingerprint") if bound is not None else None
    record = {"kind": "protected", "dataset": dataset, "policy": stated, "ledger": ledger.location}
    frame.attrs["blowfish"] = record
    return frame


def read_kept(query: Any, name: str, post: Any, ask: Callable[[], Any]) -> Any:
    """Return what is kept under a name, asked of a frame without rows; only once it was found to be there.

    Args:
        query: The call that the entry states.
        name: What the answer is kept under.
        post: Whether to shape it, as its verb takes it.
        ask: Gives the verbs of the frame.
    """
    call = parse_call(query).with_name(name).but(post=post if post is not True else None)
    if not call.replayable:
        raise ArgumentError(
            "name", HASHED, fix="ask the same query in Python, under the same name: it is free."
        )
    return call.on(ask())


def find_answer(
    ledger: Ledger, dataset: str, name: str, post: Any, ask: Callable[[pd.DataFrame], Any]
) -> Any:
    """Return the frame, or the dict of frames, kept under a name; see `Ledger.answer`.

    Proof note:
        Requires: `measure` returns the answer kept under a name before it looks at rows or charges.
        Ensures:  nothing is charged, and no row is read.
        Because:  it is asked only by a name under which `find` has just found an answer, and answers are
                  never taken back; the frame it is asked of has no rows and no columns.
        Checked:  tests/queries/frames/test_kept.py::test_an_answer_changes_nothing
    """
    bound, found = ledger.dataset(dataset), ledger.find(dataset, name)
    if found is None:
        entries = ledger.entries
        own = entries[(entries["dataset"] == dataset) & entries["name"].notna()]
        raise UnknownAnswerError(dataset, name, list(dict.fromkeys(own["name"])))
    return read_kept(found[0].body.get("call"), name, post, lambda: ask(empty_frame(ledger, dataset, bound)))
