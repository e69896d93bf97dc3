"""ledger, report, demo: what was spent, for whoever must answer for it. Never sees rows."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.books.analysts import read_limits
from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.books.receipt import is_receipt
from pandas_blowfish.cli import exits, outputs
from pandas_blowfish.cli.screen import Screen, format_table
from pandas_blowfish.errors import ArgumentError, DataFileError, LedgerTamperedError
from pandas_blowfish.markup import decimal, spent_text
from pandas_blowfish.release import receipt_of

SHOWN = ["dataset", "kind", "time", "epsilon", "spent", "total", "name", "query", "reason"]
MAX_QUERY = 70  # characters of a query that the table shows


def ledger(given: Namespace, screen: Screen) -> int:
    """Show a ledger; raise a budget, limit an analyst, verify."""
    if given.ledger[0] == "upgrade" and len(given.ledger) == 2:
        return _upgrade(given, screen)
    if len(given.ledger) != 1:
        raise exits.UsageError("ledger takes one file", "pandas-blowfish ledger FILE, or ledger upgrade FILE")
    book = Ledger.at(given.ledger[0])
    if given.total is None and given.reason:
        raise exits.UsageError("--reason without --raise", "--raise TOTAL --reason TEXT")
    if given.total is not None and not given.reason.strip():
        raise exits.UsageError(
            "--raise without --reason", "state who allowed it and why: it is on the record."
        )
    limits = _limits(given.limit)
    receipts = [_receipt(path) for path in given.receipt]  # before anything is written
    if given.dataset is not None:
        book.budget(given.dataset)  # one that is not there is refused; a pool is like a dataset
    if given.total is not None or limits:
        if given.dataset is None:
            option = "--raise" if given.total is not None else "--limit"
            raise exits.UsageError(f"{option} needs --dataset", "state whose total it is.")
        book.verify()
    if given.total is not None:
        book.raise_budget(given.dataset, given.total, given.reason)
    for analyst, limit in limits.items():
        book.set_limit(given.dataset, analyst, limit)
    verified: bool | None = None
    if given.verify or receipts:
        verified = book.verify() and all(book.verify(receipt) for receipt in receipts)
    with verify_on_failure(book):
        entries = book.entries
        if given.dataset is not None:
            entries = entries[entries["dataset"] == given.dataset]
        budgets = {name: book.budget(name) for name in dict.fromkeys(entries["dataset"])}
        limited = {name: book.limits(name) for name in budgets if name in book.datasets}
    for name, budget in budgets.items():
        screen.say(f"{name}: {spent_text(budget.spent, budget.total)}")
        for analyst, own in limited.get(name, {}).items():
            screen.say(f"  {analyst}: {spent_text(own.spent, own.total)}")
        if budget.closed is not None:
            screen.say(f"  closed: {budget.closed}")
    screen.say(f"\n{format_table(_lines(entries))}")
    if verified:
        agree = "1 receipt agrees" if len(receipts) == 1 else f"{len(receipts)} receipts agree"
        more = f", and {agree}" if receipts else ""
        screen.say(f"\nverified: no entry was edited, deleted or moved{more}")
    listed = [{"id": number, **entry} for number, entry in entries.to_dict("index").items()]
    sums = {name: _budget(each, limited.get(name, {})) for name, each in budgets.items()}
    found = {"ledger": book.location, "datasets": sums}
    screen.finish({**found, "verified": verified, "entries": listed})
    return exits.OK


def _upgrade(given: Namespace, screen: Screen) -> int:
    """Move the seal keys out of a ledger of an older version."""
    more = (given.dataset, given.verify, given.receipt, given.total, given.reason, given.limit)
    if any(each not in (None, False, "", []) for each in more):
        raise exits.UsageError("ledger upgrade takes a file and nothing else", "upgrade first, then look.")
    book = Ledger.at(given.ledger[1])
    moved = book.upgrade()
    text = (
        f"the seal keys of {', '.join(moved)} were moved out"
        if moved
        else "nothing to do: it holds no seal key"
    )
    screen.say(f"{book.location}: {text}")
    if moved:
        screen.say("copies made before still hold them: keep those where the rows are, or delete them")
    screen.finish({"ledger": book.location, "upgraded": moved})
    return exits.OK


def report(given: Namespace, screen: Screen) -> int:
    """Write the page for the privacy officer; exit with 7 if it reports tampering."""
    from pandas_blowfish.report import report as write  # here: it draws

    book = Ledger.at(given.ledger)
    if Path(given.out).suffix.lower() not in (".html", ".htm"):
        raise ArgumentError("out", f"unknown ending {Path(given.out).suffix!r}", allowed=".html")
    outputs.require_unused([Path(given.out)], {"the ledger": outputs.ledger_files(given.ledger)})
    outputs.require_writable(Path(given.out).parent)
    with screen.bar("drawing") as tick, verify_on_failure(book):
        made = write(book, given.out, dataset=given.dataset)
        tick(1.0)
    screen.say(made)
    try:
        book.verify()
    except LedgerTamperedError as error:
        if not screen.as_json:
            screen.note(f"pandas-blowfish: {exits.describe_error(error)}")
        screen.finish({"out": made, "verified": False, "error": exits.document(error)})
        return exits.code_of(error)
    screen.finish({"out": made, "verified": True})
    return exits.OK


def demo(given: Namespace, screen: Screen) -> int:  # noqa: ARG001  each command takes both
    """Run the demonstration on bundled synthetic data."""
    from pandas_blowfish.demo import main

    if not screen.as_json:
        main()
        return exits.OK
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main()
    screen.finish({"demo": printed.getvalue()})
    return exits.OK


@contextlib.contextmanager
def verify_on_failure(book: Ledger) -> Iterator[None]:
    """Let `verify` name the entry where a block fails because one cannot be read."""
    try:
        yield
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        book.verify()
        raise


def _limits(stated: list[str]) -> dict[str, Fraction]:
    """Return limits by analyst, from NAME=TOTAL."""
    pairs = [text.rpartition("=") for text in stated]
    if not all(between for _, between, _ in pairs):
        raise exits.UsageError("--limit is not NAME=TOTAL", "such as --limit ana=1/2")
    return read_limits({name: limit for name, _, limit in pairs})


def _budget(budget: Budget, limits: Mapping[str, Budget]) -> dict[str, Any]:
    sums = {"total": budget.total, "spent": budget.spent, "remaining": budget.remaining}
    own = {name: {"total": each.total, "spent": each.spent} for name, each in limits.items()}
    return {**sums, "closed": budget.closed, **({"limits": own} if own else {})}


def _lines(entries: pd.DataFrame) -> pd.DataFrame:
    """Return the entries as a terminal shows them."""
    table = entries[SHOWN].astype(object).where(entries[SHOWN].notna(), "")
    own = [name if name != query else "" for name, query in zip(table["name"], table["query"], strict=True)]
    short = [
        str(text) if len(str(text)) <= MAX_QUERY else f"{str(text)[:MAX_QUERY]}..." for text in table["query"]
    ]
    shown = table.assign(name=own, query=short, time=[str(time)[:19] for time in table["time"]])
    for column in ("epsilon", "spent", "total"):
        shown[column] = [value if value == "" else decimal(value) for value in table[column]]
    return shown if any(shown["reason"]) else shown.drop(columns="reason")  # of a raise, or of a closing


def _receipt(path: str) -> dict[str, Any]:
    """Return the receipt in a JSON file, or of a release in Parquet."""
    if path.endswith(".parquet"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return _checked(dict(receipt_of(pd.read_parquet(path))), path)
            except (ValueError, ImportError) as error:
                if isinstance(error, ArgumentError):
                    raise
                raise DataFileError(
                    f"{path!r} holds no release with a receipt", fix="give its file."
                ) from None
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError):
            raise DataFileError(
                f"{path!r} is not JSON", fix="give a .receipt.json that release wrote."
            ) from None
    return _checked(found, path)


def _checked(found: Any, path: str) -> dict[str, Any]:
    """Return a receipt that names its entry."""
    if not isinstance(found, dict) or not is_receipt(found):
        raise DataFileError(f"{path!r} is not a receipt", fix="give a .receipt.json that release wrote.")
    return found
