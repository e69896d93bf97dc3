"""Noisy answers that a ledger keeps by name, each with an entry that vouches for it. Never sees rows.

An entry of kind "answer" states the digest of the stored answer. So an answer that was edited or deleted is
found, and is distinguished from one that a crash between the charge and the storing has lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from pandas_blowfish.books import log as chain
from pandas_blowfish.books.database import CHARGE, NAME
from pandas_blowfish.books.log import Entry
from pandas_blowfish.errors import LedgerTamperedError

ATTESTED = "attested"  # the body of a charge states whether its answer will have an entry, as of version 0.2
EDITED, MISSING = "its stored answer was edited", "its stored answer is missing"


def put(connection: Connection, entry: Entry, answer: bytes) -> str | None:
    """Keep the answer of a charge and return its digest; None where its name has an answer already."""
    if chain.select(connection, "id = ?", entry.id) != entry:
        raise LedgerTamperedError(entry.id, "it is not the charge that was made")
    kept = find(connection, entry.dataset, entry.body.get("name"))
    if kept is not None and kept[0] != entry:
        return None
    digest = chain.seal_answer(entry.hash, answer)
    connection.execute("INSERT INTO answers VALUES (?, ?, ?)", (entry.id, answer, digest))
    if _stored(connection, entry.id) != (answer, digest):
        raise LedgerTamperedError(entry.id, "its answer was written, and is not in the file")
    return digest


def find(connection: Connection, dataset: str, name: object) -> tuple[Entry, bytes] | None:
    """Return the first charge under a name whose answer is kept, with the answer."""
    clause = f"dataset = ? AND {NAME} = ? AND kind IN ('charge', 'apart') ORDER BY id"
    for entry in chain.select_all(connection, clause, dataset, name):
        stored = _stored(connection, entry.id)
        check(entry.id, entry.hash, _digest(connection, entry), stored, old=not entry.body.get(ATTESTED))
        if stored is not None:
            return entry, stored[0]
    return None


def check(number: int, given: str, stated: object, stored: tuple[Any, Any] | None, *, old: bool) -> None:
    """Raise unless a stored answer is the one that an entry vouches for.

    Args:
        number: The charge.
        given: Its hash.
        stated: The digest that an entry states; None where there is no such entry.
        stored: The answer and its digest as they are stored; None where there is none.
        old: Whether the charge was made by a version that wrote no such entries.
    """
    if stored is None:
        if stated is not None:
            raise LedgerTamperedError(number, MISSING)
        return
    vouched = old if stated is None else stated == stored[1]
    if not vouched or stored[1] != chain.seal_answer(given, stored[0]):
        raise LedgerTamperedError(number, EDITED)


def check_all(
    connection: Connection, charges: Mapping[int, tuple[str, bool]], stated: Mapping[int, Any]
) -> None:
    """Raise unless the stored answers are those that entries vouch for.

    Args:
        connection: The ledger.
        charges: The hash of every named charge, and whether it was made by a version that wrote no entries.
        stated: The digest that an entry states of a charge's answer, by the charge's number.
    """
    left = set(stated)
    for number, answer, digest in connection.execute("SELECT * FROM answers ORDER BY entry"):
        if number not in charges:
            raise LedgerTamperedError(number, EDITED)
        given, old = charges[number]
        check(number, given, stated.get(number), (answer, digest), old=old)
        left.discard(number)
    if left:
        raise LedgerTamperedError(min(left), MISSING)


def _stored(connection: Connection, number: int) -> tuple[bytes, str] | None:
    query = "SELECT answer, digest FROM answers WHERE entry = ?"
    found: tuple[bytes, str] | None = connection.execute(query, (number,)).fetchone()
    return found


def _digest(connection: Connection, entry: Entry) -> object:
    """Return the digest that an entry states of a charge's answer; None where there is no such entry."""
    later = chain.select(connection, f"{CHARGE} = ? AND kind = 'answer'", entry.id)
    return None if later is None else later.body.get("digest")
