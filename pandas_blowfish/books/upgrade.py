"""Moves the seal keys of an old ledger out of it, without breaking its chain. Never sees rows.

Versions before 0.2 kept the key of a dataset's seals, and the number of rows even where presence is secret,
in its first entry. The entry's content is replaced, its hash stays, and a new entry of kind "upgrade" vouches
for the new content. The old content is kept in it, encrypted with the seal key: whoever has that can check
the first hash too.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from sqlite3 import Connection
from typing import Any

from pandas_blowfish.books import database, sealkey
from pandas_blowfish.books import log as chain
from pandas_blowfish.books.log import UNREADABLE, Entry
from pandas_blowfish.errors import LedgerTamperedError, SealKeyError
from pandas_blowfish.exact.digest import seal_digest

PROBLEM = "its content is not what it was before the upgrade"


def upgrade(location: str) -> list[str]:
    """Return the datasets whose seal key was moved out of a ledger; do nothing where it is out.

    The key's file is on the disk before anything is changed, all entries are changed in one transaction, and
    the file is then written anew, so that no free page of it holds an old key.
    """
    with database.transaction(location, "IMMEDIATE") as connection:
        known = key_id(connection)
        found = list(_holding(connection))
        written = bool(found) or chain.select(connection, "kind = 'upgrade'") is not None
        if found:
            master = sealkey.begin_key(location, known)
            connection.execute("PRAGMA secure_delete = ON")
        for entry in found:
            _redact(connection, entry, master)
    if written and not database.is_in_memory(location):  # also where the last upgrade ended before this
        database.scrub(location)
        with suppress(OSError):  # older versions left it readable for others
            os.chmod(location, 0o600)
    return [entry.dataset for entry in found]


def key_id(connection: Connection) -> str | None:
    """Return the fingerprint of the seal key that the datasets of a ledger state; None where none does."""
    for entry in chain.select_all(connection, "kind = 'open' ORDER BY id"):
        binding = entry.body.get("binding")
        stated = binding.get("seal_key") if isinstance(binding, dict) else None
        if isinstance(stated, dict) and isinstance(stated.get("id"), str):
            return str(stated["id"])
    return None


def require_moved(connection: Connection, location: str) -> None:
    """Raise SealKeyError where a ledger still holds a key of its seals."""
    for entry in _holding(connection):
        sealkey.stated_key(location, entry.body["binding"])


def check(connection: Connection, location: str, first: Entry, entry: Entry) -> None:
    """Raise unless an "upgrade" entry vouches for the first entry of its dataset as it is now.

    Proof note:
        Requires: `chain.replay`; the seal key at hand for more than the first sentence.
        Ensures:  the content of the first entry is that which the upgrade wrote; with the seal key, also that
                  it is the old one but for the key, the seals' form and a secret number of rows.
        Because:  the entry's own hash covers the digest of the new content; the old content, which nobody can
                  change without the key, has the hash that the chain goes on from.
        Checked:  tests/books/test_upgrade.py::test_edits_of_an_upgraded_entry_are_found
    """
    text = chain.canonical(first.body)
    digest = chain.redaction(first.id, first.dataset, first.time, text, first.hash)
    if (entry.body.get("entry"), entry.body.get("digest")) != (first.id, digest):
        raise LedgerTamperedError(entry.id, "it vouches for no first entry of its dataset")
    try:
        master = sealkey.read_key(location)
    except SealKeyError:  # the ledger alone: its own entries vouch for it
        return
    if sealkey.fingerprint(master) != first.body["binding"]["seal_key"]["id"]:
        return
    original = _original(master, first.dataset, first.body["binding"], first.id)
    before = connection.execute("SELECT hash FROM entries WHERE id = ?", (first.id - 1,)).fetchone()
    if not chain.follows_hash(before[0] if before else "", first, original):
        raise LedgerTamperedError(first.id, PROBLEM)


def old_key(master: bytes, dataset: str, binding: Mapping[str, Any]) -> str:
    """Return the key that an upgraded dataset was sealed with."""
    original = _original(master, dataset, binding, None)
    return str(json.loads(original)["binding"]["key"])


def _original(master: bytes, dataset: str, binding: Mapping[str, Any], number: int | None) -> str:
    """Return the old content of an entry, once the new one is seen to follow from it."""
    try:
        stated = binding["seal_key"]
        text = sealkey.unwrap(master, stated["salt"], dataset, stated["original"])
        if _redacted(json.loads(text)["binding"], stated) == binding:
            return text
    except UNREADABLE:
        pass
    raise LedgerTamperedError(number, PROBLEM)


def _holding(connection: Connection) -> Iterator[Entry]:
    """Yield the first entries that hold a key."""
    key = "CASE WHEN json_valid(body) THEN json_extract(body, '$.binding.key') END"
    yield from chain.select_all(connection, f"kind = 'open' AND {key} IS NOT NULL ORDER BY id")


def _redact(connection: Connection, entry: Entry, master: bytes) -> None:
    """Take the key out of an entry, and append one that vouches for it."""
    salt, text = secrets.token_hex(16), chain.canonical(entry.body)
    stated = {"id": sealkey.fingerprint(master), "salt": salt}
    stated["original"] = sealkey.wrap(master, salt, entry.dataset, text)
    try:
        binding = _redacted(entry.body["binding"], stated)
    except UNREADABLE:
        raise LedgerTamperedError(entry.id, "its binding cannot be read") from None
    body = chain.canonical({**entry.body, "binding": binding})
    last = chain.select(connection, "dataset = ? ORDER BY id DESC", entry.dataset)
    sums = {key: (last or entry).body.get(key) for key in ("total", "spent", "closed", "facts")}
    digest = chain.redaction(entry.id, entry.dataset, entry.time, body, entry.hash)
    more = {"entry": entry.id, "digest": digest, "facts": sums.pop("facts") or 0}
    chain.append(connection, entry.dataset, "upgrade", {**sums, **more})  # after the entry as it was
    connection.execute("UPDATE entries SET body = ? WHERE id = ?", (body, entry.id))


def _redacted(binding: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, Any]:
    """Return an old binding as it is written now: seals of cryptographic form, no key, no secret count."""
    key, found = binding["key"], {name: value for name, value in binding.items() if name != "key"}
    if "seal" in found:
        ordered = found["seal"].items()
        found["seal"] = {name: seal_digest(key, "rows in order", name, old) for name, old in ordered}
    if "spread" in found:
        columns, rows = found["spread"]["columns"].items(), found["spread"]["rows"]
        cells = {name: seal_digest(key, "cells", name, old) for name, old in columns}
        found["spread"] = {"columns": cells, "rows": seal_digest(key, "cells", "", rows)}
    found["count"] = seal_digest(key, "count", str(found["rows"]))
    if json.loads(found["policy"]).get("presence"):
        found["rows"] = None
    return {**found, "seal_key": dict(stated)}
