"""Transactions commit whole or not at all, and hashes follow one another."""

import os
from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log as chain
from pandas_blowfish.errors import ArgumentError, LedgerNotFoundError, LedgerTamperedError


def test_an_interrupted_transaction_leaves_nothing(tmp_path):
    """KeyboardInterrupt inside a transaction rolls it back."""
    place = str(tmp_path / "ledger.db")
    with chain.transaction(place, "IMMEDIATE", create=True) as connection:
        chain.append(connection, "d", "open", {})

    def interrupted():
        with chain.transaction(place, "IMMEDIATE") as connection:
            chain.append(connection, "d", "charge", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    with chain.transaction(place) as connection:
        assert [entry.id for entry in chain.replay(connection)] == [1]
    chain.close(place)


def test_equal_bodies_have_different_hashes(tmp_path):
    """A hash covers what came before, so no two entries share one."""
    place = str(tmp_path / "ledger.db")
    with chain.transaction(place, "IMMEDIATE", create=True) as connection:
        hashes = [chain.append(connection, "d", "charge", {}).hash for _ in range(3)]
    chain.close(place)

    assert len(set(hashes)) == 3


def test_reading_never_creates_a_file(tmp_path):
    """A missing ledger is an error, and stays missing."""
    place = tmp_path / "ledger.db"

    with pytest.raises(LedgerNotFoundError), chain.transaction(str(place)):
        pass

    assert not place.exists()


def test_canonical_json_does_not_depend_on_order():
    """Keys are sorted, so that equal bodies have equal texts."""
    assert chain.canonical({"b": 1, "a": [1, "x"]}) == chain.canonical({"a": [1, "x"], "b": 1})


def test_a_file_called_memory_is_refused():
    """What SQLite would call memory is not taken for a file's name."""
    with pytest.raises(ArgumentError, match="leave the ledger out"):
        chain.locate(":memory:")


def test_every_entry_of_a_clause_is_checked(tmp_path):
    """Entries come in the order asked for; one whose hash does not follow is refused when it is reached."""
    place = str(tmp_path / "ledger.db")
    with chain.transaction(place, "IMMEDIATE", create=True) as connection:
        for kind in ("open", "fact", "charge", "fact"):
            chain.append(connection, "d", kind, {})

    with chain.transaction(place) as connection:
        facts = [entry.id for entry in chain.select_all(connection, "kind = ? ORDER BY id", "fact")]
    with chain.transaction(place, "IMMEDIATE") as connection:
        connection.execute("UPDATE entries SET time = '2020' WHERE id = 4")
        found = chain.select_all(connection, "kind = ? ORDER BY id", "fact")
        first = next(found).id
        with pytest.raises(LedgerTamperedError, match="entry 4"):
            next(found)
    chain.close(place)

    assert facts == [2, 4]
    assert first == 2


def test_a_ledger_on_read_only_media_is_read_and_not_charged(tmp_path, monkeypatch):
    """An officer's copy can be listed and verified where nothing may be written, and takes no charge."""
    place = tmp_path / "copy.db"
    ledger = bf.Ledger(place)
    ledger.bind("a", Fraction(1), {})
    ledger.charge("a", Fraction(1, 4), {})
    ledger.close()
    kept = place.read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)

    copy = bf.Ledger(place)

    assert copy.verify()
    assert copy.budget("a").spent == Fraction(1, 4)
    with pytest.raises(bf.errors.LedgerError):
        copy.charge("a", Fraction(1, 4), {})
    copy.close()
    assert place.read_bytes() == kept
    assert [each.name for each in tmp_path.iterdir()] == ["copy.db"]
