"""A ledger of an older version: its keys are moved out, its chain and receipts stay good."""

import hashlib
import hmac
import json
import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xxhash

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.books import database, sealkey, upgrade
from pandas_blowfish.books import log as chain
from pandas_blowfish.policy.domain import Domain, integers

FRAME = pd.DataFrame({"x": [0, 1, 1, 0, 1]})
OLD = [  # as version 0.1 wrote it
    "PRAGMA application_id = 1112297303",
    "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, dataset TEXT NOT NULL,"
    " kind TEXT NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS entries_of_dataset ON entries (dataset, id)",
    "CREATE INDEX IF NOT EXISTS facts_of_dataset ON entries (dataset, id) WHERE kind = 'fact'",
    "CREATE TABLE IF NOT EXISTS answers"
    " (entry INTEGER PRIMARY KEY, answer BLOB NOT NULL, digest TEXT NOT NULL)",
]


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """Begin every test without keys."""
    monkeypatch.delenv("BLOWFISH_SEAL_KEY", raising=False)
    monkeypatch.delenv("BLOWFISH_LEDGER_KEY", raising=False)


@pytest.fixture
def path(tmp_path):
    """Return where a ledger may be made, and close it in the end."""
    path = str(tmp_path / "old.db")
    yield path
    chain.close(path)


def policy_of(*, presence):
    """Return the policy of an old dataset."""
    return bf.Policy(Domain((integers("x", 0, 1),)), presence=presence)


def old_seal(key, name, *arrays):
    """Return a keyed hash as version 0.1 made it."""
    secret = bytes.fromhex(key)
    hasher = xxhash.xxh3_128(seed=int.from_bytes(secret[:8], "big"))
    hasher.update(secret + name.encode())
    for array in arrays:
        hasher.update(np.ascontiguousarray(array))
    return hasher.hexdigest()


def old_binding(key, *, presence):
    """Return what version 0.1 bound the frame to; the digest of whole rows is not looked at here."""
    policy = policy_of(presence=presence)
    cells = [np.append(2, part).astype("<i8") for part in ([0, 1], [2, 3])]
    columns = {"x": old_seal(key, "x", *cells)}
    return {
        "policy": json.dumps(policy.to_dict()),
        "fingerprint": policy.fingerprint,
        "rows": len(FRAME),
        "key": key,
        "seal": {"x": old_seal(key, "x", FRAME["x"].to_numpy())},
        "spread": {"columns": columns, "rows": "0" * 32},
        "named": True,
        "outside": "error",
        "unit": None,
    }


def old_ledger(path, ledger_key=""):
    """Write a ledger as version 0.1 did, in WAL mode: two datasets, charges, one answer; return keys."""

    def hashed(message):
        if ledger_key:
            return "hmac-sha256:" + hmac.new(ledger_key.encode(), message, hashlib.sha256).hexdigest()
        return "sha256:" + hashlib.sha256(message).hexdigest()

    keys = {"a": "ab" * 32, "secret": "cd" * 32}
    sums = {"total": "1", "spent": "0", "closed": None, "facts": 0}
    charge = {**sums, "epsilon": "1/4", "spent": "1/4", "query": {"verb": "hist"}, "name": "n"}
    entries = [
        ("a", "open", {**sums, "binding": old_binding(keys["a"], presence=False)}),
        ("a", "charge", charge),
        ("secret", "open", {**sums, "binding": old_binding(keys["secret"], presence=True)}),
        ("secret", "charge", {**charge, "name": None}),
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in OLD:
            connection.execute(statement)
        previous, hashes = "", []
        for number, (dataset, kind, body) in enumerate(entries, 1):
            row = (number, dataset, kind, "2026-01-01T00:00:00.000+00:00", chain.canonical(body))
            previous = hashed(chain.canonical([previous, *row]).encode())
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, previous))
            hashes.append(previous)
        digest = hashed(f"answer {hashes[1]} {b'noisy'.hex()}".encode())
        connection.execute("INSERT INTO answers VALUES (2, ?, ?)", (b"noisy", digest))
    os.chmod(path, 0o644)
    return keys, hashes


def edit(path, *statements):
    """Change a ledger file behind its back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_an_old_ledger_is_read_and_not_charged(path):
    """It verifies, lists and gives its answers; what would charge or bind says which command to run."""
    _, hashes = old_ledger(path)
    book = bf.Ledger(path)

    assert book.verify(hashes[-1])
    assert book.datasets == ["a", "secret"]
    assert book.budget("a").spent == Fraction(1, 4)
    assert book.find("a", "n")[1] == b"noisy"
    assert len(book.entries) == 4
    for attempt in (
        lambda: book.charge("a", Fraction(1, 4), {}),
        lambda: book.bind("new", Fraction(1), {}),
        lambda: FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, dataset="a", ledger=path),
        lambda: FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, dataset="new", ledger=path),
    ):
        with pytest.raises(errors.SealKeyError, match=r"fix: pandas-blowfish ledger upgrade .*old\.db"):
            attempt()
    assert len(book.entries) == 4
    assert not Path(path + ".seal-key").exists()


@pytest.mark.parametrize("ledger_key", ["", "a key"])
def test_an_upgrade_moves_the_keys_out(path, tmp_path, monkeypatch, ledger_key):
    """No file but the key's holds what tells of rows; old receipts hold, and the rows are known again."""
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", ledger_key)
    keys, hashes = old_ledger(path, ledger_key)
    seals = [bf.Ledger(path).dataset(name).binding["seal"]["x"] for name in keys]
    book = bf.Ledger(path)

    assert book.upgrade() == ["a", "secret"]
    book.close()

    files = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert set(files) == {"old.db", "old.db.seal-key"}
    for old in (*keys.values(), *seals):
        assert not any(old.encode() in content for content in files.values())
    assert list(book.entries["kind"])[4:] == ["upgrade", "upgrade"]
    for given in hashes:
        assert book.verify(given)
    assert book.verify({"entry": 2, "hash": hashes[1], "dataset": "a", "epsilon": "1/4"})
    assert book.find("a", "n")[1] == b"noisy"
    assert book.dataset("a").binding["rows"] == 5
    assert book.dataset("secret").binding["rows"] is None
    for name, presence in (("a", False), ("secret", True)):
        policy = policy_of(presence=presence)
        df = FRAME.blowfish.protect(policy, epsilon=1, dataset=name, ledger=path)
        assert len(df.blowfish.hist("x", epsilon="1/4")) == 2
        with pytest.raises(errors.StaleFrameError):
            FRAME[::-1].blowfish.protect(policy, epsilon=1, dataset=name, ledger=path)
    stated = {"dataset": "new", "ledger": path, "new": True}
    more = FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, **stated)
    assert len(more.blowfish.hist("x", epsilon="1/4")) == 2
    assert book.verify()


def test_an_upgrade_can_be_done_again(path):
    """A second one changes no entry; in memory there is nothing to do."""
    old_ledger(path)
    book = bf.Ledger(path)
    book.upgrade()
    before = book.entries

    assert book.upgrade() == []
    assert book.entries.equals(before)
    assert bf.Ledger().upgrade() == []


def test_an_upgrade_that_fails_changes_nothing(path, monkeypatch):
    """The key is on the disk first; entries change together or not at all; the next attempt goes on."""
    keys, hashes = old_ledger(path)
    book = bf.Ledger(path)
    redact, calls = upgrade._redact, []

    def stopped(*arguments):
        calls.append(Path(path + ".seal-key").read_text())
        if len(calls) == 2:
            raise KeyboardInterrupt
        redact(*arguments)

    monkeypatch.setattr(upgrade, "_redact", stopped)
    with pytest.raises(KeyboardInterrupt):
        book.upgrade()
    monkeypatch.undo()

    assert len(book.entries) == 4
    assert book.dataset("a").binding["key"] == keys["a"]
    monkeypatch.setattr(database, "scrub", lambda _: None)  # as if it were killed after the commit
    assert book.upgrade() == ["a", "secret"]
    monkeypatch.undo()
    assert book.upgrade() == []
    assert Path(path + ".seal-key").read_text() == calls[0]
    assert keys["a"].encode() not in Path(path).read_bytes()
    assert book.verify(hashes[-1])


EDITS = {
    "policy": "UPDATE entries SET body = replace(body, '\\\"max\\\": 1', '\\\"max\\\": 9') WHERE id = 1",
    "total": 'UPDATE entries SET body = replace(body, \'"total":"1"\', \'"total":"9"\') WHERE id = 1',
    "time": "UPDATE entries SET time = '2020' WHERE id = 1",
    "hash": "UPDATE entries SET hash = 'sha256:0' WHERE id = 3",
    "no upgrade": "DELETE FROM entries WHERE id = 6",
    "of another": "UPDATE entries SET body = replace(body, '\"entry\":1', '\"entry\":3') WHERE id = 5",
}


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS)
def test_edits_of_an_upgraded_entry_are_found(path, statement):
    """Its new content is vouched for by the chain, with or without the seal key at hand."""
    old_ledger(path)
    book = bf.Ledger(path)
    book.upgrade()

    edit(path, statement)

    for _ in range(2):
        with pytest.raises(errors.LedgerTamperedError):
            book.verify()
        Path(path + ".seal-key").unlink(missing_ok=True)


@pytest.mark.parametrize("upgraded", [True, False], ids=["upgraded", "new"])
def test_a_forged_upgrade_is_found_with_the_seal_key(path, upgraded):
    """Who can write the file and lacks the seal key cannot pass an edited first entry off as upgraded."""
    if upgraded:
        old_ledger(path)
        bf.Ledger(path).upgrade()
    else:
        FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, dataset="a", ledger=path)
    book = bf.Ledger(path)
    with chain.transaction(path, "IMMEDIATE") as connection:
        first = chain.select(connection, "dataset = 'a' ORDER BY id")
        body = json.loads(chain.canonical(first.body))
        body["binding"]["unit"] = "forged"
        text = chain.canonical(body)
        connection.execute("UPDATE entries SET body = ? WHERE id = ?", (text, first.id))
        digest = chain.redaction(first.id, "a", first.time, text, first.hash)
        own = connection.execute("SELECT id FROM entries WHERE kind = 'upgrade' AND dataset = 'a'").fetchone()
        sums = {"total": "1", "spent": "1/4" if upgraded else "0", "closed": None, "facts": 0}
        stated = chain.canonical({**sums, "entry": first.id, "digest": digest})
        number = own[0] if own else 2
        connection.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, 'a', 'upgrade', '', ?, '')", (number, stated)
        )
        _rehash(connection, number)  # the chain after it is rewritten, too

    with pytest.raises(errors.LedgerTamperedError):
        book.verify()
    with pytest.raises(errors.BlowfishError):
        FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, dataset="a", ledger=path)


def _rehash(connection, start):
    """Redo the hashes from an entry on, as one who edits entries would."""
    previous = connection.execute("SELECT hash FROM entries WHERE id = ?", (start - 1,)).fetchone()[0]
    rows = connection.execute("SELECT * FROM entries WHERE id >= ? ORDER BY id", (start,)).fetchall()
    for *content, _ in rows:
        text = chain.canonical([previous, *content])
        previous = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        connection.execute("UPDATE entries SET hash = ? WHERE id = ?", (previous, content[0]))


def test_the_key_of_another_ledger_is_not_used(path, monkeypatch):
    """Datasets of one ledger state one key: an upgrade with another is refused."""
    FRAME.blowfish.protect(policy_of(presence=False), epsilon=1, dataset="n", ledger=path)
    with chain.transaction(path, "IMMEDIATE") as connection:
        sums = {"total": "1", "spent": "0", "closed": None, "facts": 0}
        chain.append(connection, "o", "open", {**sums, "binding": old_binding("ef" * 32, presence=False)})
    monkeypatch.setenv("BLOWFISH_SEAL_KEY", "01" * 32)

    with pytest.raises(errors.SealKeyError):
        bf.Ledger(path).upgrade()

    monkeypatch.delenv("BLOWFISH_SEAL_KEY")
    assert bf.Ledger(path).upgrade() == ["o"]
    assert sealkey.fingerprint(sealkey.read_key(path)) == bf.Ledger(path).seal_key_id()
