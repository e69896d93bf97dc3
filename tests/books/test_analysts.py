"""Entries state who charged, and analysts charge no more than was agreed on."""

import json
import sqlite3
from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import analysts, log
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.errors import (
    AnalystLimitError,
    ArgumentError,
    ArgumentTypeError,
    InsufficientBudgetError,
    LedgerTamperedError,
)

POLICY, PATIENTS = bf.datasets.patients_policy(), bf.datasets.patients(50)


def rewrite(path, change):
    """Edit the bodies of a ledger and make every hash anew, as somebody without scruples would."""
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT * FROM entries ORDER BY id").fetchall()
        file.execute("DELETE FROM entries")
        before = ""
        for number, (dataset, kind, time, body) in enumerate(change([_read(row) for row in rows]), 1):
            fresh = (number, dataset, kind, time, log.canonical(body))
            before = log._hash(log.canonical([before, *fresh]).encode())
            file.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*fresh, before))
    file.close()


def _read(row):
    return row[1], row[2], row[3], json.loads(row[4])


def test_entries_state_who_charged(monkeypatch):
    """The operating system's user always, the analyst where one is stated: by protect, or by the ledger."""
    monkeypatch.setattr(analysts, "operating_user", lambda: "curator")
    book = bf.Ledger(analyst="ana")
    stated = {"epsilon": 1, "dataset": "patients", "ledger": book}
    PATIENTS.blowfish.protect(POLICY, **stated).blowfish.hist("sex", epsilon="1/4")
    PATIENTS.blowfish.protect(POLICY, analyst="bo", **stated).blowfish.hist(
        "sex", epsilon="1/4", name="sexes"
    )

    entries = book.entries

    assert entries["kind"].tolist() == ["open", "charge", "charge", "answer"]
    assert entries["analyst"].tolist() == [None, "ana", "bo", None]
    assert entries["user"].tolist() == ["curator", "curator", "curator", None]
    assert book.verify()


def test_a_system_without_users_charges_too(monkeypatch):
    """A container may run under a number without a name: the entry states none."""

    def nobody():
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    analysts.operating_user.cache_clear()
    try:
        book = Ledger()
        book.bind("a", Fraction(1), {})
        assert book.entries["user"].tolist() == [None]
    finally:
        analysts.operating_user.cache_clear()


def test_limits_are_kept(tmp_path):
    """From the first binding, over processes, for the one who is named alone; what costs nothing is free."""
    path = tmp_path / "budget.db"
    stated = {"epsilon": 2, "dataset": "patients", "ledger": path}
    ana = PATIENTS.blowfish.protect(POLICY, analyst="ana", limits={"ana": "1/2"}, **stated).blowfish
    bo = PATIENTS.blowfish.protect(POLICY, analyst="bo", **stated).blowfish
    ana.hist("sex", epsilon="3/8")

    with pytest.raises(
        AnalystLimitError, match=r"'ana' requested 0.25, remaining 0.125 of a limit of 0.5"
    ) as refused:
        ana.hist("sex", epsilon="1/4")
    bo.hist("sex", epsilon=1)
    ana.hist("sex", epsilon="1/8")
    ana.hist("region", epsilon="1/8")

    assert isinstance(refused.value, InsufficientBudgetError)
    assert Ledger(path).limits("patients") == {"ana": bf.Budget(Fraction(1, 2), Fraction(1, 2))}
    assert ana.budget.spent == Fraction(3, 2)
    assert Ledger(path).verify()


def test_a_limit_set_later_counts_what_was_charged():
    """On the record; one below what was charged allows nothing more, a larger one more."""
    book = Ledger(analyst="ana")
    book.bind("a", Fraction(9), {})
    book.charge("a", Fraction(1), {})

    assert book.set_limit("a", "ana", "1/2") == bf.Budget(Fraction(1, 2), Fraction(1))
    with pytest.raises(AnalystLimitError):
        book.charge("a", Fraction(1, 8), {})
    book.charge("a", Fraction(0), {})
    book.set_limit("a", "ana", 3)
    book.charge("a", Fraction(2), {})
    book.raise_budget("a", 10)

    assert book.limits("a")["ana"].remaining == 0
    assert book.entries["kind"].tolist() == ["open", "charge", "limit", "charge", "limit", "charge", "raise"]
    assert book.verify()


def test_other_limits_are_refused():
    """The first ones stay until set_limit; None goes on with them."""
    book = bf.Ledger()
    stated = {"epsilon": 1, "dataset": "patients", "ledger": book}
    for limits in ({"ana": "1/2"}, {"ana": 0.5}, None):
        PATIENTS.blowfish.protect(POLICY, limits=limits, **stated)

    for limits in ({"ana": "1/4"}, {}, {"ana": "1/2", "bo": 1}):
        with pytest.raises(ArgumentError, match="set_limit"):
            PATIENTS.blowfish.protect(POLICY, limits=limits, **stated)


@pytest.mark.parametrize("limits", [[("ana", 1)], {"ana": -1}, {"": 1}, {5: 1}, {"ana": "much"}, {None: 1}])
def test_limits_that_are_none(limits):
    """Names by fractions of at least 0."""
    with pytest.raises(ArgumentError):
        PATIENTS.blowfish.protect(POLICY, epsilon=1, dataset="a", ledger=bf.Ledger(), limits=limits)


def test_names_that_are_none():
    """As names of datasets."""
    book = Ledger()
    book.bind("a", Fraction(1), {})
    for wrong in (" ana", "", 5):
        with pytest.raises(ArgumentError):
            Ledger(analyst=wrong)
        with pytest.raises(ArgumentError):
            book.set_limit("a", wrong, 1)
    with pytest.raises(ArgumentTypeError):
        book.set_limit("a", None, 1)


def _edit_spent(entries):
    for entry in entries:
        if entry[1] == "charge":
            entry[3]["limits"] = {"ana": ["1/2", "0"]}
    return entries


def _edit_limit(entries):
    for entry in entries[2:]:
        entry[3]["limits"] = {"ana": ["5", entry[3]["limits"]["ana"][1]]}
    return entries


def _edit_analyst(entries):
    entries[1][3]["analyst"] = "bo"
    return entries


def _drop(entries):
    for entry in entries[1:]:
        entry[3].pop("limits")
    return entries


def _beyond(entries):
    entries[2][3].update({"epsilon": "1", "spent": "5/4", "limits": {"ana": ["1/2", "5/4"]}})
    return entries[:3]


@pytest.mark.parametrize("edit", [_edit_spent, _edit_limit, _edit_analyst, _drop, _beyond])
def test_edited_limits_are_found(edit, tmp_path):
    """Limits, what was charged under them and by whom must follow, even where every hash was made anew."""
    ledger = Ledger(tmp_path / "budget.db", analyst="ana")
    ledger.bind("a", Fraction(2), {}, limits={"ana": Fraction(1, 2)})
    ledger.charge("a", Fraction(1, 4), {})
    ledger.charge("a", Fraction(1, 4), {})
    ledger.close()
    rewrite(tmp_path / "budget.db", lambda entries: entries)
    assert ledger.verify()
    ledger.close()
    rewrite(tmp_path / "budget.db", edit)

    with pytest.raises(LedgerTamperedError):
        ledger.verify()
