"""Exit codes: one for each kind of failure, and words that never quote a row."""

import inspect
import sqlite3
from fractions import Fraction

import pytest

from pandas_blowfish import errors
from pandas_blowfish.cli import exits


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OutsideDomainError(["age"]), exits.REFUSED),
        (errors.StaleFrameError("p", "rows are"), exits.REFUSED),
        (errors.ArgumentError("q", "x"), exits.USAGE),
        (errors.UndeclaredColumnError("x", []), exits.USAGE),
        (errors.InsufficientBudgetError("p", Fraction(2), Fraction(1), Fraction(1)), exits.BUDGET),
        (errors.ClosedDatasetError("p", "x"), exits.BUDGET),
        (errors.NameTakenError("p", "x"), exits.LEDGER),
        (errors.UnknownDatasetError("p", []), exits.LEDGER),
        (errors.SecretError("age", "x", fix="y"), exits.POLICY),
        (errors.DataFileError("x", fix="y"), exits.FILES),
        (errors.MissingPackageError("x", "y"), exits.FILES),
        (PermissionError(13, "Permission denied", "x.csv"), exits.FILES),
        (errors.LedgerTamperedError(3, "x"), exits.TAMPERED),
        (errors.LedgerNotFoundError("x"), exits.FILES),
        (errors.LedgerKeyError("x"), exits.TAMPERED),
        (errors.LedgerError("'x' is not a ledger"), exits.FILES),
        (KeyboardInterrupt(), exits.INTERRUPTED),
        (BrokenPipeError(), exits.BROKEN_PIPE),
        (ValueError("row 17 holds 'Smith'"), exits.UNEXPECTED),
        (exits.UsageError("x"), exits.USAGE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_code(error, code):
    """The code, the message and the document agree, and nothing unexpected is quoted."""
    found = exits.document(error)

    assert exits.code_of(error) == found["exit"] == code
    assert code in exits.MEANINGS
    assert found["type"] == type(error).__name__
    assert "Smith" not in str(found)


def test_facts_are_plain():
    """Fractions are text, and what has no plain form is left out."""
    error = errors.InsufficientBudgetError("p", Fraction(1, 2), Fraction(1, 3), Fraction(1))

    assert exits.document(error)["facts"] == {
        "dataset": "p",
        "requested": "1/2",
        "remaining": "1/3",
        "total": "1",
    }


def test_no_error_is_unexpected():
    """Every error of the library has a code of its own kind."""
    kinds = [
        each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__
    ]

    assert len(kinds) > 25
    for kind in kinds:
        assert exits.code_of(kind.__new__(kind)) != exits.UNEXPECTED


def test_blame_is_for_the_first():
    """What a policy's file raises is about the policy, whatever its type; an inner blame stays."""
    with (
        pytest.raises(errors.ArgumentError) as outer,
        exits.fail_with(exits.FILES),
        exits.fail_with(exits.POLICY),
    ):
        raise errors.ArgumentError("x", "y")

    assert exits.code_of(outer.value) == exits.POLICY


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("SQLITE_CORRUPT", exits.TAMPERED),
        ("SQLITE_CORRUPT_INDEX", exits.TAMPERED),
        ("SQLITE_ERROR", exits.TAMPERED),
        ("SQLITE_NOTADB", exits.FILES),
        ("SQLITE_FULL", exits.FILES),
        ("SQLITE_CANTOPEN", exits.FILES),
        ("SQLITE_READONLY", exits.FILES),
        ("SQLITE_BUSY", exits.FILES),
    ],
)
def test_a_ledger_that_sqlite_refuses(kind, code):
    """One that is damaged is told from one that cannot be opened or written."""
    cause = sqlite3.OperationalError("x")
    cause.sqlite_errorname = kind
    error = errors.LedgerError("x cannot be used as a ledger")
    error.__cause__ = cause

    assert exits.code_of(error) == code


def test_a_place_that_cannot_be_written():
    """An argument that the file system refuses is a matter of files."""
    error = errors.ArgumentError("path", "it cannot be written")
    error.__cause__ = OSError(28, "No space left on device")

    assert exits.code_of(error) == exits.FILES


def test_another_fix():
    """An error keeps its type and what it says, with a fix that can be typed here."""
    error = exits.with_fix(errors.UnknownDatasetError("p", ["q"]), "add --new.")

    assert str(error) == "the ledger holds no dataset 'p'.\n  allowed: q\n  fix: add --new."
    assert exits.code_of(error) == exits.LEDGER
