"""An append-only chain of entries in SQLite, each vouching for all before it. Never sees rows."""

from __future__ import annotations

import atexit
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from pandas_blowfish.errors import (
    ArgumentError,
    LedgerError,
    LedgerKeyError,
    LedgerNotFoundError,
    LedgerTamperedError,
)


@dataclass(frozen=True)
class Entry:
    """One line of a ledger; its body states what its dataset has come to."""

    id: int  # 1, 2, 3, ...
    dataset: str
    kind: str  # "open", "charge", "raise" or "fact"
    time: str  # UTC
    body: dict[str, Any] = field(repr=False)  # that of an "open" entry holds the seal
    hash: str


def located(path: str | os.PathLike[str] | None) -> str:
    """Return where a chain is: a new one in memory, a known one in memory, or a file's absolute path."""
    where = memory() if path is None else str(os.fspath(path))
    if where == ":memory:":
        fix = "leave the ledger out, or say bf.Ledger()."
        raise ArgumentError("ledger", "':memory:' would be a file of that name", fix=fix)
    return where if where.startswith("memory:") else os.path.abspath(where)


def memory() -> str:
    """Return the location of a new chain in this process's memory, which lives as long as the process."""
    location = f"memory:{secrets.token_hex(8)}"
    connection = _connect(":memory:")
    for statement in _TABLES:
        connection.execute(statement)
    _OPEN[location] = connection, _identity(location)
    return location


@contextmanager
def transaction(
    location: str, mode: str = "DEFERRED", *, create: bool = False
) -> Iterator[sqlite3.Connection]:
    """Give a connection to a block that is committed as a whole or, on any exception, not at all."""
    with _LOCK:
        connection = None
        try:
            connection = _connection(location, create)
            connection.execute(f"BEGIN {mode}")
            for statement in _TABLES if create else ():
                connection.execute(statement)
            yield connection
            connection.execute("COMMIT")
            if mode == "IMMEDIATE":  # so that the file alone, moved without its -wal, has this entry too
                with suppress(sqlite3.Error):
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            raise LedgerError(f"{location!r} cannot be used as a ledger: {error}.\n{_FIX}") from error
        finally:
            if connection is not None and connection.in_transaction:
                connection.execute("ROLLBACK")


def select(connection: sqlite3.Connection, clause: str, *values: object) -> Entry | None:
    """Return the first entry of a clause, if any, once its hash is seen to follow from the one before."""
    return next(every(connection, f"{clause} LIMIT 1", *values), None)


def every(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[Entry]:
    """Yield the entries of a clause, each once its hash is seen to follow from the one before it."""
    for row in connection.execute(f"SELECT * FROM entries WHERE {clause}", values).fetchall():
        before = connection.execute("SELECT hash FROM entries WHERE id = ?", (row[0] - 1,)).fetchone()
        try:
            yield _read(row, before[0] if before else "")
        except LedgerTamperedError:
            if row[0] > 1:
                select(connection, "id = 1")  # says so if it is the key that does not fit
            raise


def append(connection: sqlite3.Connection, dataset: str, kind: str, body: Mapping[str, Any]) -> Entry:
    """Write the next entry, after a look at the one before it."""
    last = select(connection, "TRUE ORDER BY id DESC")
    number, previous = (last.id, last.hash) if last else (0, "")
    text, time = canonical(body), datetime.now(UTC).isoformat(timespec="milliseconds")
    row = (number + 1, dataset, kind, time, text)
    given = _hash(canonical([previous, *row]).encode())
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, given))
    return Entry(*row[:4], json.loads(text), given)


def replay(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Yield every entry in order, having redone its hash.

    Raises:
        LedgerTamperedError: An entry is missing, out of place or edited.
        LedgerKeyError: The key is missing or wrong, or set for a ledger begun without one.

    Proof note:
        Requires: no collision of SHA-256; against one who can redo every hash, a key or a receipt's hash.
        Ensures:  the entries are those appended, in their order, up to some last one.
        Because:  ids are 1, 2, 3, ..., and each hash covers the entry's content and the hash before it.
        Checked:  tests/kernel/test_ledger.py::test_verify_finds
    """
    previous = ""
    for number, row in enumerate(connection.execute("SELECT * FROM entries ORDER BY id"), 1):
        if row[0] != number:
            raise LedgerTamperedError(number, "it is missing")
        entry = _read(row, previous)
        previous = entry.hash
        yield entry


def seal_answer(entry: Entry, answer: bytes) -> str:
    """Return the digest that binds a stored noisy answer to its entry."""
    return _hash(f"answer {entry.hash} {answer.hex() if isinstance(answer, bytes) else None}".encode())


def canonical(value: object) -> str:
    """Return the one JSON text of a value; a Fraction is written as "1/10"."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_text)


def close(location: str) -> None:
    """Close a file until it is used again; what is in memory stays."""
    with _LOCK:
        if location in _OPEN and not location.startswith("memory:"):
            _OPEN.pop(location)[0].close()


_LOCK = threading.RLock()  # one thread at a time uses SQLite, and none does while the process forks
_OPEN: dict[str, tuple[sqlite3.Connection, tuple[int, int] | None]] = {}  # location: connection, identity
_FIX = "  fix: check that the path leads to a ledger, or to no file in a directory that can be written."
_MARK = 0x424C4F57  # the SQLite application_id of a ledger
_TABLES = (
    f"PRAGMA application_id = {_MARK}",
    "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, dataset TEXT NOT NULL,"
    " kind TEXT NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS entries_of_dataset ON entries (dataset, id)",
    "CREATE INDEX IF NOT EXISTS facts_of_dataset ON entries (dataset, id) WHERE kind = 'fact'",
    "CREATE TABLE IF NOT EXISTS answers"
    " (entry INTEGER PRIMARY KEY, answer BLOB NOT NULL, digest TEXT NOT NULL)",
)


def _connection(location: str, create: bool) -> sqlite3.Connection:
    """Return a connection to what is there now; what is missing or was replaced is not found."""
    now, (held, identity) = _identity(location), _OPEN.get(location, (None, None))
    if held is None or identity != now:
        close(location)
        if location.startswith("memory:") or (not create and (held is not None or now is None)):
            raise LedgerNotFoundError(location)
        held = _connect_file(location, create)
        _OPEN[location] = held, _identity(location)
    if held.in_transaction:  # an interrupt came between an exception and its rollback
        held.execute("ROLLBACK")
    return held


def _identity(location: str) -> tuple[int, int] | None:
    """Return what is at a location now: a file, this process's memory (not its parent's), or None."""
    if location.startswith("memory:"):
        return 0, os.getpid()
    with suppress(OSError):
        status = os.stat(location)
        return status.st_dev, status.st_ino
    return None


def _connect_file(location: str, create: bool) -> sqlite3.Connection:
    """Return a connection to a ledger file, or to an empty one to `create` it in; harm no other file."""
    how = "rwc" if create else "rw"
    if (
        not create
        and not os.access(os.path.dirname(location), os.W_OK)
        and not os.path.exists(f"{location}-wal")
    ):
        how = "ro&immutable=1"  # a copy on read-only media, which nobody changes
    connection = _connect(f"{Path(location).as_uri()}?mode={how}")
    try:
        if os.stat(location).st_nlink > 1:  # each name would have a -wal of its own
            raise LedgerError(f"{location!r} is one of several hard links to a ledger.\n{_FIX}")
        scrap = 0 < os.path.getsize(location) < 512  # SQLite would take it for an empty database
        empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        if scrap or not (empty or mark == _MARK):
            raise LedgerError(f"{location!r} is not a ledger; it was left as it is.\n{_FIX}")
        if empty and not create:  # whoever made it was killed before the first entry
            raise LedgerNotFoundError(location)
        connection.execute("PRAGMA synchronous = FULL")
        with suppress(sqlite3.OperationalError):  # another process is making it; WAL only makes it faster
            connection.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(target: str) -> sqlite3.Connection:
    return sqlite3.connect(target, uri=True, timeout=60, isolation_level=None, check_same_thread=False)


def _read(row: tuple[Any, ...], previous: str) -> Entry:
    """Return a row as an entry, or raise unless it follows the hash before (and, if first, the key fits)."""
    *content, given = row
    key = _key()
    try:
        if row[0] == 1 and not given.startswith("hmac-" if key else "sha256:"):
            raise LedgerKeyError(f"the ledger was begun with{'out a' if key else ' a'} key")
        if given == _hash(canonical([previous, *content]).encode()):
            number, dataset, kind, time, text = content
            return Entry(number, dataset, kind, time, json.loads(text), given)
    except (AttributeError, TypeError, ValueError):
        raise LedgerTamperedError(row[0], "it cannot be read") from None
    if row[0] == 1 and key:
        raise LedgerKeyError(
            "the key is not the one the ledger was begun with, or its first entry was edited"
        )
    raise LedgerTamperedError(row[0], "its hash does not follow from its content and the entry before it")


def _key() -> bytes:
    return os.environ.get("BLOWFISH_LEDGER_KEY", "").encode()


def _hash(message: bytes) -> str:
    """Return the hash of a message, keyed whenever there is a key."""
    if key := _key():
        return "hmac-sha256:" + hmac.new(key, message, hashlib.sha256).hexdigest()
    return "sha256:" + hashlib.sha256(message).hexdigest()


def _text(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be written to a ledger")


def _before_fork() -> None:
    """Close every file: in a child, SQLite would believe in locks that it did not inherit."""
    _LOCK.acquire()
    for location in list(_OPEN):
        close(location)


def _at_exit() -> None:
    for connection, _ in _OPEN.values():
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
atexit.register(_at_exit)
