"""Kept answers: an edited or deleted one is found, and told from one that a crash has lost."""

import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from pandas_blowfish import errors
from pandas_blowfish.books import log as chain
from pandas_blowfish.books import named_answers as answers
from pandas_blowfish.books.ledger import Ledger

TENTH = Fraction(1, 10)


@pytest.fixture
def path(tmp_path):
    """Return where a ledger may be made, and close it in the end."""
    path = str(tmp_path / "budget.db")
    yield path
    chain.close(path)


def kept(path):
    """Return a ledger with a charge of which nothing is kept, and one whose answer is."""
    ledger = Ledger(path)
    ledger.bind("a", Fraction(1), {})
    ledger.charge("a", TENTH, {}, name="lost")
    entry, _ = ledger.charge("a", TENTH, {}, name="kept")
    ledger.store(entry, b"noisy")
    return ledger


def edit(path, *statements):
    """Change a ledger file behind its back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_an_answer_has_an_entry(path):
    """Its body states the charge and the digest; sums stay; a charge without an answer is no error."""
    ledger = kept(path)

    assert list(ledger.entries["kind"]) == ["open", "charge", "charge", "answer"]
    assert ledger.verify()
    assert ledger.find("a", "lost") is None
    assert ledger.find("a", "kept")[1] == b"noisy"
    with chain.transaction(path) as connection:
        last = chain.select(connection, "TRUE ORDER BY id DESC")
    assert (last.body["charge"], last.body["spent"]) == (3, "1/5")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM answers", "missing"),
        ("UPDATE answers SET answer = x'00'", "edited"),
        ("UPDATE answers SET digest = 'sha256:0'", "edited"),
        ("UPDATE answers SET entry = 2", "edited|missing"),
        ("UPDATE entries SET body = replace(body, '\"charge\":3', '\"charge\":2') WHERE id = 4", "entry 4"),
    ],
)
def test_what_is_not_the_kept_answer_is_found(path, statement, problem):
    """By verify, and by whoever asks for it: a deleted answer is not charged for again."""
    ledger = kept(path)

    edit(path, statement)

    with pytest.raises(errors.LedgerTamperedError, match=problem):
        ledger.verify()
    with pytest.raises(errors.LedgerTamperedError):
        ledger.find("a", "kept")


def test_an_answer_that_no_entry_vouches_for_is_not_taken(path):
    """Nobody can add one where a crash has lost it, though its digest needs no key."""
    ledger = kept(path)
    given = ledger.entries.loc[2, "hash"]

    edit(path, f"INSERT INTO answers VALUES (2, x'00', '{chain.seal_answer(given, bytes(1))}')")

    with pytest.raises(errors.LedgerTamperedError, match="entry 2"):
        ledger.find("a", "lost")
    with pytest.raises(errors.LedgerTamperedError, match="entry 2"):
        ledger.verify()


def test_answers_of_older_versions_have_no_entry():
    """Their own digest is all there is: an edit is found, a deletion cannot be."""
    digest = chain.seal_answer("sha256:1", b"noisy")

    answers.check(2, "sha256:1", None, (b"noisy", digest), old=True)
    answers.check(2, "sha256:1", None, None, old=True)
    with pytest.raises(errors.LedgerTamperedError):
        answers.check(2, "sha256:1", None, (b"other", digest), old=True)
    with pytest.raises(errors.LedgerTamperedError):
        answers.check(2, "sha256:1", None, (b"noisy", digest), old=False)


def test_an_answer_may_be_kept_after_a_fact_closed_the_dataset(path):
    """The charge was made before; what is kept of it costs nothing."""
    ledger = Ledger(path)
    ledger.bind("a", Fraction(1), {})
    entry, _ = ledger.charge("a", TENTH, {}, name="n")
    ledger.record_exact("a", {"fact": "count", "where": "x == 0"})

    ledger.store(entry, b"noisy")

    assert ledger.find("a", "n") == (entry, b"noisy")
    assert ledger.verify()
    assert ledger.budget("a").closed is not None
