"""Whether a ledger is what was written: every hash, sum, answer and upgrade. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from sqlite3 import Connection
from typing import Any

from pandas_blowfish.books import log as chain
from pandas_blowfish.books import named_answers as answers
from pandas_blowfish.books import upgrade
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.state import Sums, differs, following
from pandas_blowfish.errors import LedgerTamperedError

OTHER = "was the receipt changed, or is it of another ledger? If neither, restore the ledger from a copy."


def verify(connection: Connection, location: str, head: str | Mapping[str, Any] | None = None) -> None:
    """Raise unless every entry and answer is what was written, and a receipt, if given, is of one of them."""
    first: dict[str, Entry] = {}
    last: dict[str, Sums] = {}
    costs: dict[str, dict[int, Fraction]] = {}
    named: dict[int, tuple[str, bool]] = {}
    stated: dict[int, Any] = {}
    vouched: Entry | None = None
    for entry in chain.replay(connection):
        name = entry.dataset
        if name not in first:
            first[name], costs[name] = entry, {}
        last[name] = following(entry, last.get(name), costs[name])
        if entry.kind in ("charge", "apart"):
            named[entry.id] = entry.hash, not entry.body.get(answers.ATTESTED)
        elif entry.kind == "answer":
            _note(entry, named, stated)
        elif entry.kind == "upgrade":
            upgrade.check(connection, location, first[name], entry)
        if head is not None and _is_of(head, entry):
            vouched = entry
    answers.check_all(connection, named, stated)
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise LedgerTamperedError(None, "the file's indexes do not hold what its tables do")
    if head is not None:
        _vouch(head, vouched, first)


def vouch(connection: Connection, receipt: Mapping[str, Any]) -> None:
    """Raise unless a receipt is that of an entry; the entry alone is looked at (see `verify`)."""
    known = 0 < receipt["entry"] < 2**63  # SQLite takes no larger number
    entry = chain.select(connection, "id = ?", receipt["entry"]) if known else None
    found = entry if entry is not None and _is_of(receipt, entry) else None
    first = {}
    if found is not None:
        opened = chain.select(connection, "dataset = ? ORDER BY id", found.dataset)
        first = {found.dataset: opened or found}
    _vouch(receipt, found, first)


def _note(entry: Entry, named: Mapping[int, object], stated: dict[int, Any]) -> None:
    """Remember what an entry says of an answer, which must be that of one charge."""
    charge, digest = entry.body.get("charge"), entry.body.get("digest")
    if type(charge) is not int or charge not in named or charge in stated or not isinstance(digest, str):
        raise LedgerTamperedError(entry.id, "it vouches for no charge's answer")
    stated[charge] = digest


def _is_of(head: str | Mapping[str, Any] | None, entry: Entry) -> bool:
    if isinstance(head, Mapping):
        return bool(head["entry"] == entry.id and head["hash"] == entry.hash)
    return head == entry.hash


def _vouch(head: str | Mapping[str, Any], entry: Entry | None, first: Mapping[str, Entry]) -> None:
    if entry is None:
        number = head["entry"] if isinstance(head, Mapping) else None
        raise LedgerTamperedError(number, "the receipt's entry was cut off or rewritten", OTHER)
    if isinstance(head, Mapping) and (wrong := differs(head, entry, first[entry.dataset])):
        raise LedgerTamperedError(entry.id, f"the receipt states another {wrong} than the ledger", OTHER)
