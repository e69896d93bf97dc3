"""One SQLite file per ledger, checked inside every transaction. Never sees rows.

The file is kept with a rollback journal: there is no shared memory that two processes could see differently,
and after a commit the one file holds everything.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from pandas_blowfish.errors import ArgumentError, LedgerError, LedgerNotFoundError, LedgerTamperedError

WAIT = 60.0  # seconds that another process may hold a lock
NAME = "CASE WHEN json_valid(body) THEN json_extract(body, '$.name') END"  # null where the text is no JSON
CHARGE = "CASE WHEN json_valid(body) THEN json_extract(body, '$.charge') END"


def locate(path: str | os.PathLike[str] | None) -> str:
    """Return where a chain is: a new one in memory, a known one in memory, or a file's absolute path."""
    where = memory() if path is None else str(os.fspath(path))
    if where == ":memory:":
        fix = "leave the ledger out, or give bf.Ledger()."
        raise ArgumentError("ledger", "':memory:' would be a file of that name", fix=fix)
    if is_in_memory(where):
        return where
    fakes, file = _FAKES.get(), os.path.abspath(where)
    if fakes is None:
        return file
    return fakes.get(file) or fakes.setdefault(file, memory())


@contextmanager
def fake_files() -> Iterator[dict[str, str]]:
    """Keep ledgers of any path in memory while a block runs, and give where each is; for tests."""
    fakes: dict[str, str] = {}
    token = _FAKES.set(fakes)
    try:
        yield fakes
    finally:
        _FAKES.reset(token)


def is_in_memory(location: str) -> bool:
    """Return whether a location is this process's memory."""
    return location.startswith("memory:")


def memory() -> str:
    """Return the location of a new chain in this process's memory, which lives as long as the process."""
    location = f"memory:{secrets.token_hex(8)}"
    connection = _connect(":memory:")
    for statement in _SCHEMA.values():
        connection.execute(statement)
    _OPEN[location] = connection, _identity(location)
    return location


@contextmanager
def transaction(
    location: str, mode: str = "DEFERRED", *, create: bool = False
) -> Iterator[sqlite3.Connection]:
    """Give a connection to a block that is committed as a whole or, on any exception, not at all.

    Args:
        location: The file, or a name in memory.
        mode: "IMMEDIATE" to write.
        create: Make the file if there is none.

    Proof note:
        Requires: the file system honours locks on a file, whatever path leads to it, and fsync.
        Ensures:  blocks of mode "IMMEDIATE" on one file run one after the other over all processes, each sees
                  what those before it committed, and a commit is in the file itself when the block ends.
        Because:  a rollback journal is used, checked under the lock, so that locks and content are those of
                  the file, which is the one that the path leads to; one that is reached by several paths
                  (hard links, a mount of its own) is refused, for each would have its own journal.
        Checked:  tests/books/test_database.py::test_a_budget_is_not_forked,
                  tests/books/test_database.py::test_a_charge_is_in_the_file_when_its_process_is_killed
    """
    with _LOCK:
        connection = None
        try:
            connection = _begun(location, mode, create)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if "Could not decode" in str(error):
                raise LedgerTamperedError(None, "an entry is not text") from None
            raise LedgerError(f"{location!r} cannot be used as a ledger: {error}.\n{_FIX}") from error
        finally:
            if connection is not None:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if _journal(connection) == "wal":  # held open, it would keep others from leaving that mode
                    close(location)


def close(location: str) -> None:
    """Close a file until it is used again; what is in memory stays."""
    with _LOCK:
        if location in _OPEN and not is_in_memory(location):
            _leave(location, *_OPEN.pop(location))


def scrub(location: str) -> None:
    """Write a file anew, so that no page or journal holds what was deleted from it."""
    with _LOCK:
        connection = _connection(location, create=False)
        try:
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise LedgerError(f"{location!r} cannot be written anew: {error}.\n{_FIX}") from error
        close(location)  # which removes the journal


_FAKES: ContextVar[dict[str, str] | None] = ContextVar("fakes", default=None)  # locations in memory by path
_LOCK = threading.RLock()  # one thread at a time uses SQLite, and none does while the process forks
_OPEN: dict[str, tuple[sqlite3.Connection, tuple[int, int] | None]] = {}  # location: connection, identity
_FIX = "  fix: check that the path leads to a ledger, or to no file in a directory that can be written."
_MARK = 0x424C4F57  # the SQLite application_id of a ledger
_SCHEMA = {  # all that a ledger's file may hold, by name
    "entries": "CREATE TABLE entries (id INTEGER PRIMARY KEY, dataset TEXT NOT NULL,"
    " kind TEXT NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "answers": "CREATE TABLE answers (entry INTEGER PRIMARY KEY, answer BLOB NOT NULL, digest TEXT NOT NULL)",
    "entries_of_dataset": "CREATE INDEX entries_of_dataset ON entries (dataset, id)",
    "facts_of_dataset": "CREATE INDEX facts_of_dataset ON entries (dataset, id) WHERE kind = 'fact'",
    "entries_of_kind": "CREATE INDEX entries_of_kind ON entries (dataset, kind, id)",
    "openings": "CREATE INDEX openings ON entries (id) WHERE kind = 'open'",
    "charges_of_name": f"CREATE INDEX charges_of_name ON entries (dataset, {NAME}, id)"
    " WHERE kind IN ('charge', 'apart')",
    "answers_of_charge": f"CREATE INDEX answers_of_charge ON entries ({CHARGE}) WHERE kind = 'answer'",
}
_TABLES = {"entries", "answers"}  # without an index, as older versions made it, a file can be read


def _begun(location: str, mode: str, create: bool) -> sqlite3.Connection:
    """Return a connection in a transaction, on a file that is seen to be what it should be."""
    connection = _connection(location, create)
    connection.execute(f"BEGIN {mode}")
    if mode == "IMMEDIATE" and _journal(connection) == "wal":  # an older version has used it
        connection.execute("ROLLBACK")
        _leave_wal(connection, location)
        connection.execute(f"BEGIN {mode}")
        if _journal(connection) == "wal":
            raise _in_wal(location)
    if not is_in_memory(location):
        _check_place(location)
    present = _present(connection)
    if mode == "IMMEDIATE":
        for name in [each for each in _SCHEMA if each not in present]:
            if name in _TABLES and not create:
                raise LedgerTamperedError(None, f"the table {name!r} is missing")
            connection.execute(_SCHEMA[name])
        if not present:
            connection.execute(f"PRAGMA application_id = {_MARK}")
    elif not present >= _TABLES:
        raise LedgerTamperedError(None, "a table is missing")
    return connection


def _present(connection: sqlite3.Connection) -> set[str]:
    """Return the names of what a file holds, each of which is a ledger's, of its kind, and there once.

    SQLite lets a trigger share the name of an index: what is there is compared one by one.
    """
    found: set[str] = set()
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        wanted = "table" if name in _TABLES else "index"
        owner = name if name in _TABLES else "entries"
        if name in found or (kind, table, sql) != (wanted, owner, _SCHEMA.get(name)):
            raise LedgerTamperedError(None, f"the file holds {_shown(name)}, which no ledger has")
        found.add(name)
    return found


def _shown(name: object) -> str:
    return f"{name[:60]!r}" if isinstance(name, str) else "a nameless thing"


def _journal(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _leave_wal(connection: sqlite3.Connection, location: str) -> None:
    """Give a file of an older version a rollback journal, once nobody else has it open."""
    until = time.monotonic() + WAIT
    while True:
        with suppress(sqlite3.OperationalError):
            if connection.execute("PRAGMA journal_mode = PERSIST").fetchone()[0] != "wal":
                return
        if time.monotonic() > until:
            raise _in_wal(location)
        time.sleep(0.02)


def _in_wal(location: str) -> LedgerError:
    what = f"{location!r} is still open in a process that uses an older version of this library"
    return LedgerError(f"{what}, in WAL mode.\n  fix: end that process, or upgrade it; then try again.")


def _check_place(location: str) -> None:
    """Refuse a file that is not the one at its path any more, or has another path too."""
    try:
        status = os.stat(location)
    except OSError:
        raise LedgerNotFoundError(location) from None
    if (status.st_dev, status.st_ino) != _OPEN[location][1]:
        raise LedgerNotFoundError(location)
    if status.st_nlink > 1:  # each name would have a journal of its own
        raise LedgerError(f"{location!r} is one of several hard links to a ledger.\n{_FIX}")


def _connection(location: str, create: bool) -> sqlite3.Connection:
    """Return a connection to what is there now; what is missing or was replaced is not found."""
    now, (kept, identity) = _identity(location), _OPEN.get(location, (None, None))
    if kept is None or identity != now:
        close(location)
        if is_in_memory(location) or (not create and (kept is not None or now is None)):
            raise LedgerNotFoundError(location)
        kept, identity = _connect_file(location, create)
        _OPEN[location] = kept, identity
    if kept.in_transaction:  # an interrupt came between an exception and its rollback
        kept.execute("ROLLBACK")
    return kept


def _identity(location: str) -> tuple[int, int] | None:
    """Return what is at a location now: a file, this process's memory (not its parent's), or None."""
    if is_in_memory(location):
        return 0, os.getpid()
    with suppress(OSError):
        status = os.stat(location)
        return status.st_dev, status.st_ino
    return None


def _connect_file(location: str, create: bool) -> tuple[sqlite3.Connection, tuple[int, int] | None]:
    """Return a connection to a ledger file, or to an empty one to `create` it in; harm no other file."""
    if create:
        with suppress(OSError):  # there is one, or there cannot be: SQLite raises why
            os.close(os.open(location, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if is_mount(location):
        what = f"{location!r} is mounted by itself: another path to it would have another journal."
        raise LedgerError(f"{what}\n  fix: mount the directory that holds the ledger, not the file.")
    how, before = "rw", _identity(location)
    if not create and not os.access(os.path.dirname(location), os.W_OK) and not _has_journal(location):
        how = "ro&immutable=1"  # a copy on read-only media, which nobody changes
    connection = _connect(f"{Path(location).as_uri()}?mode={how}")
    try:
        scrap = 0 < os.path.getsize(location) < 512  # SQLite would take it for an empty database
        empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        if scrap or not (empty or mark == _MARK):
            raise LedgerError(f"{location!r} is not a ledger; it was left as it is.\n{_FIX}")
        if empty and not create:  # whoever made it was killed before the first entry
            raise LedgerNotFoundError(location)
        if _identity(location) != before:  # it was replaced while it was opened
            raise LedgerNotFoundError(location)
        connection.execute("PRAGMA synchronous = EXTRA")
        if _journal(connection) != "wal":  # one of an older version is converted when it is written to
            connection.execute("PRAGMA journal_mode = PERSIST")
    except BaseException:
        connection.close()
        raise
    return connection, before


def _has_journal(location: str) -> bool:
    """Return whether something lies beside a file without which it is not whole."""
    found = False
    for ending in ("-wal", "-journal"):
        with suppress(OSError):
            found |= os.path.getsize(f"{location}{ending}") > 0
    return found


def is_mount(location: str, table: str = "/proc/self/mountinfo") -> bool:
    """Return whether a file is a mount point of its own, as containers make them."""
    real = os.path.realpath(location)
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            points = [words[4] for words in map(str.split, file) if len(words) > 4]
    except OSError:  # no such table on this system
        return False
    return real in {re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), each) for each in points}


def _connect(target: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False
    )
    # each transaction sees first that the schema is ours, whose indexes SQLite would otherwise not trust
    connection.execute("PRAGMA trusted_schema = ON")
    return connection


def _leave(location: str, connection: sqlite3.Connection, identity: tuple[int, int] | None) -> None:
    """Close a connection, and remove its journal, which is empty, unless somebody uses it."""
    with suppress(sqlite3.Error):
        if _journal(connection) == "persist" and _identity(location) == identity:
            connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def _before_fork() -> None:
    """Close every file: in a child, SQLite would believe in locks that it did not inherit."""
    _LOCK.acquire()
    for location in list(_OPEN):
        close(location)


def _at_exit() -> None:
    for location, kept in _OPEN.items():
        _leave(location, *kept)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
atexit.register(_at_exit)
