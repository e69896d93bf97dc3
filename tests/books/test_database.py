"""One file per ledger: never forked, whole after each commit, private, and holding nothing but a ledger."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from pandas_blowfish import errors
from pandas_blowfish.books import database
from pandas_blowfish.books import log as chain
from pandas_blowfish.books.ledger import Ledger

PACKAGE = Path(__file__).parents[2] / "pandas_blowfish"
TENTH = Fraction(1, 10)

SPENDER = f"""
import os, sys, types
for name in ("", ".kernel", ".policy"):  # the bare packages: a ledger needs no pandas
    module = types.ModuleType("pandas_blowfish" + name)
    module.__path__ = [{str(PACKAGE)!r} + name.replace(".", "/")]
    sys.modules[module.__name__] = module
from fractions import Fraction
from pandas_blowfish import errors
from pandas_blowfish.books.ledger import Ledger
ledger = Ledger(sys.argv[1])
ledger.bind("a", Fraction(1), {{}})
print("ready", flush=True)
for line in sys.stdin:
    try:
        ledger.charge("a", Fraction(line.strip()), {{}})
        print("granted", flush=True)
    except errors.BlowfishError as error:
        print(type(error).__name__, flush=True)
"""


class Spender:
    """A process that charges what it is told to."""

    def __init__(self, path):
        command = [sys.executable, "-W", "error", "-c", SPENDER, str(path)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, epsilon):
        """Return what became of a charge."""
        self.process.stdin.write(f"{epsilon}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        """End the process."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


@pytest.fixture
def path(tmp_path):
    """Return where a ledger may be made, and close it in the end."""
    path = str(tmp_path / "budget.db")
    yield path
    chain.close(path)


def charged(path):
    """Return a file ledger with one dataset and one charge."""
    ledger = Ledger(path)
    ledger.bind("a", Fraction(1), {})
    ledger.charge("a", TENTH, {})
    return ledger


def edit(path, *statements):
    """Change a ledger file behind its back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("removed", [["-shm"], ["-shm", "-wal"], ["-journal"]], ids=str)
def test_a_budget_is_not_forked(path, removed):
    """Two processes spend one budget once, whatever somebody removes beside the file."""
    first = Spender(path)
    assert first.ask("1/20") == "granted"

    for ending in removed:
        Path(path + ending).unlink(missing_ok=True)
    second = Spender(path)
    told = [second.ask("9/10"), first.ask("9/10"), second.ask("1/20"), first.ask("1/20")]
    for process in (first, second):
        process.end()

    assert told == ["granted", "InsufficientBudgetError", "granted", "InsufficientBudgetError"]
    assert Ledger(path).budget("a").spent == 1
    assert Ledger(path).verify()


def test_a_budget_is_not_forked_through_another_path(path, tmp_path):
    """A process that reaches the file through a link to its directory shares the budget."""
    (tmp_path / "seen elsewhere").symlink_to(tmp_path, target_is_directory=True)
    first, second = Spender(path), Spender(tmp_path / "seen elsewhere" / "budget.db")

    told = [first.ask("9/10"), second.ask("9/10"), second.ask("1/10"), first.ask("1/10")]
    for process in (first, second):
        process.end()

    assert told == ["granted", "InsufficientBudgetError", "granted", "InsufficientBudgetError"]


def test_a_charge_is_in_the_file_when_its_process_is_killed(path, tmp_path):
    """The one file, copied right after a kill that followed a charge, holds it."""
    for number in range(3):
        place = f"{path}{number}"
        process = Spender(place)
        assert process.ask("1/10") == "granted"

        process.process.send_signal(signal.SIGKILL)
        process.process.wait()
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(Path(place).read_bytes())

        assert Ledger(copy).budget("a").spent == TENTH
        assert Ledger(copy).verify()
        process.process.stdin.close()
        process.process.stdout.close()
        chain.close(str(copy))


def test_a_mount_of_the_file_alone_is_refused(path, tmp_path, monkeypatch):
    """What containers do to a single file would give it a second journal; spaces are written as octal."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "36 35 98:0 / / rw - ext4 /dev/root rw\n37 36 98:0 /b /a\\040b/budget.db rw - ext4 x rw\n"
    )
    assert database.is_mount("/a b/budget.db", str(table))
    assert not database.is_mount("/a b/other.db", str(table))
    assert not database.is_mount("/a b/budget.db", str(tmp_path / "no such table"))
    ledger = charged(path)
    ledger.close()

    monkeypatch.setattr(database, "is_mount", lambda _: True)

    for attempt in (lambda: ledger.charge("a", TENTH, {}), ledger.verify):
        with pytest.raises(errors.LedgerError, match=r"mounted by itself[\s\S]*fix: mount the directory"):
            attempt()


def test_a_link_made_later_is_refused(path, tmp_path):
    """The file is looked at inside each transaction, not only when it is opened."""
    ledger = charged(path)

    (tmp_path / "link.db").hardlink_to(path)

    with pytest.raises(errors.LedgerError, match="hard links"):
        ledger.charge("a", TENTH, {})


def test_a_file_replaced_while_waiting_is_refused(path, tmp_path):
    """The path must still lead to the file under the lock, whatever it led to before the wait."""
    ledger = charged(path)
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path(path).read_bytes())
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")

    def replaced():
        os.replace(copy, path)
        holder.execute("COMMIT")
        holder.close()

    timer = threading.Timer(0.5, replaced)
    timer.start()

    with pytest.raises(errors.LedgerNotFoundError):
        ledger.charge("a", TENTH, {})

    timer.join()
    chain.close(path)
    assert Ledger(path).budget("a").spent == TENTH


def test_files_are_for_their_owner_alone(path, tmp_path):
    """File and journal have mode 0600 from the first moment, whatever the umask is."""
    before, seen = os.umask(0), set()
    try:
        with chain.transaction(path, "IMMEDIATE", create=True) as connection:
            seen |= {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
            chain.append(connection, "a", "open", {})
            seen |= {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
        charged(str(tmp_path / "other.db"))
        seen |= {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(before)

    assert seen == {0o600}
    chain.close(str(tmp_path / "other.db"))


def test_one_file_is_left(path, tmp_path):
    """A closed ledger is one file."""
    charged(path).close()

    assert [each.name for each in tmp_path.iterdir()] == ["budget.db"]


def test_a_file_of_an_older_version_is_converted(path, tmp_path):
    """WAL is left when the file is first written to; reading does not change it, nor keep others from it."""
    charged(path).close()
    edit(path, "PRAGMA journal_mode = WAL")
    ledger = Ledger(path)

    assert ledger.budget("a").spent == TENTH
    assert Path(path).read_bytes()[18] == 2  # still in WAL mode
    ledger.charge("a", TENTH, {})

    assert Path(path).read_bytes()[18] == 1
    assert not Path(path + "-wal").exists()
    assert ledger.verify()
    edit(path, "PRAGMA journal_mode = WAL")  # an older version comes back, while this one has it open
    assert ledger.charge("a", TENTH, {})[1].spent == Fraction(3, 10)
    assert Path(path).read_bytes()[18] == 1


def test_a_file_that_is_in_use_by_an_older_version_is_refused(path, monkeypatch):
    """While another process has it open in WAL mode nothing is charged; the error says what to end."""
    monkeypatch.setattr(database, "WAIT", 0.2)
    ledger = charged(path)
    ledger.close()
    with closing(sqlite3.connect(path)) as older:
        older.execute("PRAGMA journal_mode = WAL")
        older.execute("SELECT * FROM entries").fetchone()

        with pytest.raises(errors.LedgerError, match="fix: end that process"):
            ledger.charge("a", TENTH, {})

        assert ledger.budget("a").spent == TENTH
    assert ledger.charge("a", TENTH, {})[1].spent == Fraction(2, 10)


def test_a_read_only_copy_of_an_older_version_opens(path, monkeypatch):
    """One in WAL mode, alone on read-only media, is read and verified, and not changed."""
    charged(path).close()
    edit(path, "PRAGMA journal_mode = WAL")
    kept = Path(path).read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert Ledger(path).verify()
    assert Path(path).read_bytes() == kept


UNDO = "CREATE TRIGGER t AFTER INSERT ON entries WHEN NEW.kind = 'charge'"
PLANTED = {
    "trigger that deletes": [f"{UNDO} BEGIN DELETE FROM entries WHERE id = NEW.id; END"],
    "trigger that forgets": [f"{UNDO} BEGIN UPDATE entries SET kind = 'x' WHERE id = NEW.id; END"],
    "trigger on answers": ["CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END"],
    "view": ["CREATE VIEW v AS SELECT * FROM entries"],
    "table": ["CREATE TABLE more (x)"],
    "index": ["CREATE INDEX more ON entries (hash)"],
    "statistics": ["ANALYZE"],
    "column": ["ALTER TABLE entries ADD COLUMN more"],
    "other index of that name": [
        "DROP INDEX entries_of_dataset",
        "CREATE INDEX entries_of_dataset ON entries (dataset, id) WHERE id < 3",
    ],
    "view instead of a table": [
        "ALTER TABLE entries RENAME TO old",
        "CREATE VIEW entries AS SELECT * FROM old WHERE kind != 'charge'",
    ],
    "no answers": ["DROP TABLE answers"],
}


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("statements", PLANTED.values(), ids=PLANTED)
def test_what_is_planted_in_the_file_is_found(path, statements, opened):
    """A file that holds anything but a ledger's own tables and indexes is refused, also while it is open."""
    ledger = charged(path)
    if not opened:
        ledger.close()

    edit(path, *statements)

    for attempt in (lambda: ledger.charge("a", TENTH, {}), ledger.verify, lambda: ledger.entries):
        with pytest.raises(errors.LedgerTamperedError):
            attempt()


def test_a_trigger_that_shares_the_name_of_an_index_is_found(path):
    """SQLite allows it, and lists whichever was made first: all that is there is compared."""
    ledger = charged(path)
    ledger.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
        for name, _ in found:
            connection.execute(f"DROP INDEX {name}")
        connection.execute(
            "CREATE TRIGGER entries_of_dataset AFTER INSERT ON answers BEGIN"
            " DELETE FROM entries WHERE id >= NEW.entry; END"
        )
        for _, sql in found:
            connection.execute(sql)

    for attempt in (lambda: ledger.charge("a", TENTH, {}), ledger.verify):
        with pytest.raises(errors.LedgerTamperedError, match="which no ledger has"):
            attempt()


def test_missing_indexes_are_made_when_it_is_written_to(path):
    """A file of an older version has fewer, and is read as it is."""
    ledger = charged(path)
    edit(path, "DROP INDEX entries_of_kind", "DROP INDEX charges_of_name", "DROP INDEX answers_of_charge")

    assert ledger.verify()
    entry, _ = ledger.charge("a", TENTH, {}, name="n")
    ledger.store(entry, b"noisy")

    assert ledger.find("a", "n") == (entry, b"noisy")
    with chain.transaction(path) as connection:
        assert len(connection.execute("SELECT name FROM sqlite_master").fetchall()) == len(database._SCHEMA)


def test_an_index_that_lies_is_found(path):
    """Bytes edited so that an index hides the last entry are found by verify."""
    ledger = charged(path)
    ledger.close()
    edit(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = sql || ' WHERE id < 2' WHERE name = 'entries_of_dataset'",
        "PRAGMA writable_schema = RESET",
        "REINDEX entries_of_dataset",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, ' WHERE id < 2', '') WHERE name = 'entries_of_dataset'",
    )

    with pytest.raises(errors.LedgerTamperedError, match="indexes"):
        ledger.verify()


def test_lookups_use_an_index(path):
    """What a charge asks for does not depend on the number of entries."""
    ledger = charged(path)
    clauses = [
        "dataset = 'a' ORDER BY id DESC LIMIT 1",
        "dataset = 'a' AND kind = 'apart' LIMIT 1",
        f"dataset = 'a' AND {database.NAME} = 'n' AND kind IN ('charge', 'apart') ORDER BY id",
        f"{database.CHARGE} = 3 AND kind = 'answer'",
        "dataset = 'a' AND kind = 'upgrade' ORDER BY id LIMIT 1",
    ]

    with chain.transaction(ledger.location) as connection:
        for clause in clauses:
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM entries WHERE {clause}").fetchall()
            assert all("SEARCH" in row[3] and "USING INDEX" in row[3] for row in plan), (clause, plan)


def test_a_written_entry_is_read_back(path, monkeypatch):
    """A charge whose entry is not in the file after its commit raises, before a row is counted."""
    ledger = charged(path)
    transaction = chain.transaction

    def lost(location, mode="DEFERRED", **options):
        if mode == "DEFERRED":  # the look after the commit
            edit(path, "DELETE FROM entries WHERE id = 3")
        return transaction(location, mode, **options)

    monkeypatch.setattr(chain, "transaction", lost)

    with pytest.raises(errors.LedgerTamperedError, match="not in the file"):
        ledger.charge("a", TENTH, {})
