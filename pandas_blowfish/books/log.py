"""An append-only chain of entries in SQLite, each vouching for all before it. Never sees rows."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pandas_blowfish.books.database import close, locate, memory, transaction
from pandas_blowfish.errors import LedgerKeyError, LedgerTamperedError

__all__ = ["Entry", "append", "canonical", "close", "locate", "memory", "replay", "select", "select_all"]
__all__ += ["body_of", "confirm", "follows_hash", "redaction", "seal_answer", "transaction"]


LARGEST = 14_000  # bits of a number: Python writes no longer ones
FRACTION = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?")
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Entry:
    """One line of a ledger; its body states what its dataset has come to."""

    id: int  # 1, 2, 3, ...
    dataset: str
    kind: str  # "open", "charge", "apart", "answer", "raise", "fact", "limit", "upgrade", "pool" or "share"
    time: str  # UTC
    body: dict[str, Any] = field(repr=False)  # that of an "open" entry holds the seal
    hash: str


def select(connection: sqlite3.Connection, clause: str, *values: object) -> Entry | None:
    """Return the first entry of a clause, if any, once its hash is seen to follow from the one before."""
    return next(select_all(connection, f"{clause} LIMIT 1", *values), None)


def select_all(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[Entry]:
    """Yield the entries of a clause, each once its hash is seen to follow from the one before it."""
    key = _key()
    for row in connection.execute(f"SELECT * FROM entries WHERE {clause}", values).fetchall():
        try:
            yield _read(connection, row, _hash_before(connection, row), key)
        except LedgerTamperedError:
            _blame_key(connection, key)
            raise


def append(connection: sqlite3.Connection, dataset: str, kind: str, body: Mapping[str, Any]) -> Entry:
    """Write the next entry, after a look at the one before it, and read it back."""
    last = select(connection, "id = (SELECT MAX(id) FROM entries)")
    number, previous = (last.id, last.hash) if last else (0, "")
    text, time = canonical(body), datetime.now(UTC).isoformat(timespec="milliseconds")
    row = (number + 1, dataset, kind, time, text)
    given = _hash(canonical([previous, *row]).encode())
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, given))
    entry = Entry(number + 1, dataset, kind, time, json.loads(text), given)
    confirm(connection, entry)
    return entry


def confirm(connection: sqlite3.Connection, entry: Entry) -> None:
    """Raise unless an entry that was written is in the file, as it was written."""
    row = connection.execute("SELECT * FROM entries WHERE id = ?", (entry.id,)).fetchone()
    with suppress(AttributeError, IndexError, TypeError, ValueError):
        number, dataset, kind, time, text, given = row
        if Entry(number, dataset, kind, time, body_of(text), given) == entry:
            return
    raise LedgerTamperedError(entry.id, "it was written, and is not in the file as it was written")


def replay(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Yield every entry in order, having redone its hash.

    Raises:
        LedgerTamperedError: An entry is missing, out of place or edited.
        LedgerKeyError: The key is missing or wrong, or set for a ledger begun without one.

    Proof note:
        Requires: no collision of SHA-256; against one who can redo every hash, a key or a receipt's hash; for
                  an entry that was upgraded, what `upgrade.check` ensures.
        Ensures:  the entries are those appended, in their order, up to some last one.
        Because:  ids are 1, 2, 3, ..., and each hash covers the entry's content and the hash before it.
        Checked:  tests/books/test_ledger.py::test_verify_finds
    """
    previous, key = "", _key()
    for number, row in enumerate(connection.execute("SELECT * FROM entries ORDER BY id"), 1):
        if row[0] != number:
            raise LedgerTamperedError(number, "it is missing")
        entry = _read(connection, row, previous, key)
        previous = entry.hash
        yield entry


def seal_answer(given: str, answer: object) -> str:
    """Return the digest that binds a stored noisy answer to the hash of its entry."""
    return _hash(f"answer {given} {answer.hex() if isinstance(answer, bytes) else None}".encode())


def redaction(number: int, dataset: str, time: str, text: str, given: str) -> str:
    """Return the digest of an "open" entry whose seal key was taken out, and which keeps its hash."""
    return _hash(canonical(["redacted", number, dataset, time, text, given]).encode())


def follows_hash(previous: str, entry: Entry, text: str) -> bool:
    """Return whether an entry with some text as its body has its hash."""
    content = [entry.id, entry.dataset, entry.kind, entry.time, text]
    return entry.hash == _hash(canonical([previous, *content]).encode())


def canonical(value: object) -> str:
    """Return the one JSON text of a value; a Fraction is written as "1/10"."""
    return _JSON.encode(value)


def body_of(text: object) -> dict[str, Any]:
    """Return the body that a text states, or raise ValueError."""
    if not isinstance(text, str):
        raise ValueError("not text")
    try:
        body, end = _SCAN(text)
    except RecursionError:
        raise ValueError("too deep") from None
    if end != len(text) or not isinstance(body, dict):
        raise ValueError("not an object")
    if "\\ud" in text:
        json.dumps(body, ensure_ascii=False).encode()  # half a character is a UnicodeEncodeError
    return body


@lru_cache(maxsize=4_096, typed=True)
def parse_fraction(value: Any) -> Fraction:
    """Return a number as an entry writes it, such as "1/10"; raise ValueError for any other text."""
    if type(value) is int:
        value = str(value)
    if type(value) is not str or not FRACTION.fullmatch(value):
        raise ValueError("not a fraction")
    numerator, _, denominator = value.partition("/")
    found = Fraction(int(numerator), int(denominator or 1))
    if found.numerator.bit_length() - found.denominator.bit_length() > LARGEST:
        raise ValueError("too large")
    return found


def _read(connection: sqlite3.Connection, row: tuple[Any, ...], previous: str, key: bytes) -> Entry:
    """Return a row as an entry, or raise unless it follows the hash before (and, if first, the key fits)."""
    number, dataset, kind, time, text, given = row
    try:
        if _matches(row, previous, key) or (kind == "open" and _attested(connection, row)):
            if number == 1:
                _check_beginning(given, key)
            return Entry(number, dataset, kind, time, body_of(text), given)
    except (AttributeError, TypeError, ValueError):
        raise LedgerTamperedError(number, "it cannot be read") from None
    if number == 1:
        _blame_key(connection, key)
    raise LedgerTamperedError(number, "its hash does not follow from its content and the entry before it")


def _matches(row: tuple[Any, ...], previous: str, key: bytes) -> bool:
    """Return whether a row has the hash of its content and the hash before; raise TypeError if not text."""
    number, dataset, kind, time, text, given = row
    words = f"{_QUOTE(dataset)},{_QUOTE(kind)},{_QUOTE(time)},{_QUOTE(text)}"  # as `canonical` writes them
    return bool(given == _hash(f"[{_QUOTE(previous)},{number},{words}]".encode(), key))


def _hash_before(connection: sqlite3.Connection, row: tuple[Any, ...]) -> str:
    before = connection.execute("SELECT hash FROM entries WHERE id = ?", (row[0] - 1,)).fetchone()
    return before[0] if before else ""


def _check_beginning(given: object, key: bytes) -> None:
    """Raise LedgerKeyError where a ledger was begun with a key and there is none, or the other way round."""
    if isinstance(given, str) and not given.startswith("hmac-" if key else "sha256:"):
        raise LedgerKeyError(f"the ledger was begun with{'out a' if key else ' a'} key")


def _blame_key(connection: sqlite3.Connection, key: bytes) -> None:
    """Raise LedgerKeyError where the key fits neither the first entry nor the first upgrade."""
    first = connection.execute("SELECT * FROM entries WHERE id = 1").fetchone()
    if first is None:
        return
    _check_beginning(first[5], key)
    clause = "SELECT * FROM entries WHERE kind = 'upgrade' ORDER BY id LIMIT 1"
    later = connection.execute(clause).fetchone()
    with suppress(TypeError):
        if not key or any(_matches(row, _hash_before(connection, row), key) for row in (first, later) if row):
            return
        problem = "the key is not the one the ledger was begun with, or its first entry was edited"
        raise LedgerKeyError(problem)


def _attested(connection: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    """Return whether a later entry vouches for an "open" entry whose hash is that of its first content."""
    number, dataset, _, time, text, given = row
    clause = "dataset = ? AND kind = 'upgrade' ORDER BY id"
    later = select(connection, clause, dataset)
    digest = redaction(number, dataset, time, text, given)
    return later is not None and (later.body.get("entry"), later.body.get("digest")) == (number, digest)


def _key() -> bytes:
    return os.environ.get("BLOWFISH_LEDGER_KEY", "").encode()


def _hash(message: bytes, key: bytes | None = None) -> str:
    """Return the hash of a message, keyed whenever there is a key; `key` where it was looked up before."""
    if key := _key() if key is None else key:
        return "hmac-sha256:" + hmac.new(key, message, hashlib.sha256).hexdigest()
    return "sha256:" + hashlib.sha256(message).hexdigest()


def _text(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be written to a ledger")


_QUOTE = json.encoder.encode_basestring_ascii  # raises TypeError for what is not text
_SCAN = json.JSONDecoder().raw_decode
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_text)
