"""Whether a ledger is what was written: every hash, sum, answer and upgrade. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from pandas_blowfish.books import log as chain
from pandas_blowfish.books import named_answers as answers
from pandas_blowfish.books import upgrade
from pandas_blowfish.books.balance import Balance, Replay, balance_of, require_following
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.pools import Due
from pandas_blowfish.books.receipt import is_receipt, translate
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, LedgerTamperedError

OTHER = "was the receipt changed, or is it of another ledger? If neither, restore the ledger from a copy."
COMPARED = (  # parts of a receipt that its entry, or the first of its dataset, states too
    *("dataset", "epsilon", "spent", "remaining", "query", "verb", "columns", "strategy", "sensitivity"),
    *("scale", "noise", "name", "time", "policy", "unit", "outside", "guarantee", "weaker_guarantee"),
    "checked",
)


def verify(connection: Connection, location: str, head: str | Mapping[str, Any] | None = None) -> None:
    """Raise unless every entry and answer is what was written, and a receipt, if given, is of one of them."""
    first: dict[str, Entry] = {}
    last: dict[str, Balance] = {}
    replays: dict[str, Replay] = {}
    named: dict[int, tuple[str, bool]] = {}
    stated: dict[int, Any] = {}
    vouched: Entry | None = None
    due = Due()
    for entry in chain.replay(connection):
        name = entry.dataset
        if name not in first:
            first[name], replays[name] = entry, Replay()
        was = last.get(name)
        last[name] = require_following(entry, was, replays[name])
        due.follow(entry, was.spent if was else last[name].spent, last[name].spent)
        if entry.kind in ("charge", "apart"):
            named[entry.id] = entry.hash, not entry.body.get(answers.ATTESTED)
        elif entry.kind == "answer":
            _note(entry, named, stated)
        elif entry.kind == "upgrade":
            upgrade.check(connection, location, first[name], entry)
        if head is not None and _is_of(head, entry):
            vouched = entry
    due.finish()
    answers.check_all(connection, named, stated)
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise LedgerTamperedError(None, "the file's indexes do not hold what its tables do")
    if head is not None:
        _vouch(head, vouched, first)


def vouch(connection: Connection, receipt: Mapping[str, Any]) -> None:
    """Raise unless a receipt is that of an entry; the entry alone is read (see `verify`)."""
    known = 0 < receipt["entry"] < 2**63  # SQLite takes no larger number
    entry = chain.select(connection, "id = ?", receipt["entry"]) if known else None
    found = entry if entry is not None and _is_of(receipt, entry) else None
    first = {}
    if found is not None:
        opened = chain.select(connection, "dataset = ? ORDER BY id", found.dataset)
        first = {found.dataset: opened or found}
    _vouch(receipt, found, first)


def _note(entry: Entry, named: Mapping[int, object], stated: dict[int, Any]) -> None:
    """Remember what an entry states of an answer, which must be that of one charge."""
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
    if isinstance(head, Mapping) and (wrong := find_difference(head, entry, first[entry.dataset])):
        raise LedgerTamperedError(entry.id, f"the receipt states another {wrong} than the ledger", OTHER)


def check_head(head: object) -> None:
    """Refuse what is neither None, nor a receipt, nor the hash of one."""
    fix = "the file of a receipt is read by json.loads(Path(...).read_text())."
    if isinstance(head, Mapping) and not is_receipt(head):
        raise ArgumentError("head", "not a receipt", allowed="a hash, or a receipt", fix=fix)
    if isinstance(head, str) and not head.startswith(("sha256:", "hmac-sha256:")):
        raise ArgumentError("head", "not the hash of a receipt", allowed="a hash, or a receipt", fix=fix)
    if head is not None and not isinstance(head, (str, Mapping)):
        raise ArgumentTypeError("head", "not a receipt", allowed="a hash, or a receipt", fix=fix)


def find_difference(receipt: Mapping[str, Any], entry: Entry, first: Entry) -> str:
    """Return the first thing a receipt states otherwise than its entry and its dataset's first; else ""."""
    body, binding = entry.body, first.body.get("binding", {})
    binding = binding if isinstance(binding, dict) else {}
    stated = {**body, "dataset": entry.dataset, "time": entry.time}
    stated |= {key: binding[key] for key in ("unit", "outside") if key in binding}
    stated["query"] = body.get("call", body.get("query"))
    stated["remaining"] = str(balance_of(entry).total - balance_of(entry).spent)
    stated["unit"] = stated.get("unit") or "row-level"
    stated["noise"] = "none" if body.get("sensitivity") == "0" else body.get("noise")
    if "derived" not in receipt and isinstance(body.get("query"), dict):
        stated["verb"] = body["query"].get("verb")
    if not body.get("facts"):  # else it is the first policy with facts recorded since
        stated["policy"] = binding.get("fingerprint")
    stated["weaker_guarantee"] = entry.kind == "apart"
    facts = {"weaker_guarantee": False, "guarantee": None, **translate(receipt)}
    if ("beside" in body) != ("weaker_release" in facts):
        return "weaker release"
    both = [key for key in COMPARED if key in facts and key in stated]
    return next((key for key in both if facts[key] != stated[key]), "")
