"""The ledger in one process: exact sums, the chain, names, and files that are not what they should be."""

import hashlib
import json
import os
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.books import database
from pandas_blowfish.books import log as chain
from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.policy.domain import Domain, integers

TENTH = Fraction(1, 10)
FACT = bf.Count("x == 0")


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """Begin every test without a ledger key."""
    monkeypatch.delenv("BLOWFISH_LEDGER_KEY", raising=False)


@pytest.fixture
def path(tmp_path):
    """Return where a ledger may be made, and close it in the end."""
    path = str(tmp_path / "budget %41?#.db")
    yield path
    chain.close(path)


def filled(path=None, *, answer=True):
    """Return a ledger of two datasets, three charges, a raised total and, seventh, an answer."""
    ledger = Ledger(path)
    ledger.bind("a", Fraction(1), {"seal": {"key": "SECRET"}})
    ledger.bind("b", Fraction(2), {})
    ledger.charge("a", TENTH, {"query": "hist", "columns": ["age"], "strategy": "identity"})
    entry, _ = ledger.charge("b", Fraction(1, 3), {"query": {"verb": "range"}}, name="r")
    ledger.raise_budget("a", 2, "asked for")
    ledger.charge("a", Fraction(0), {})
    if answer:
        ledger.store(entry, b"noisy")
    return ledger


def edit(path, *statements):
    """Change a ledger file behind its back."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def rewrite(path, hash_of):
    """Redo every hash of a file with the given function, as one who edits entries would."""
    with closing(sqlite3.connect(path)) as connection:
        previous = ""
        for *content, _ in connection.execute("SELECT * FROM entries ORDER BY id").fetchall():
            previous = hash_of(chain.canonical([previous, *content]).encode())
            connection.execute("UPDATE entries SET hash = ? WHERE id = ?", (previous, content[0]))
        connection.commit()


def plain_hash(message):
    """Return the hash that needs no key."""
    return "sha256:" + hashlib.sha256(message).hexdigest()


@pytest.mark.parametrize("on_disk", [False, True])
def test_ten_tenths_exhaust_one(path, on_disk):
    """Ten charges of 1/10 spend exactly 1, and the eleventh is refused with its numbers."""
    ledger = Ledger(path if on_disk else None)
    ledger.bind("a", Fraction(1), {})

    budgets = [ledger.charge("a", TENTH, {})[1] for _ in range(10)]

    assert budgets == [Budget(Fraction(1), Fraction(i, 10)) for i in range(1, 11)]
    with pytest.raises(errors.InsufficientBudgetError) as refusal:
        ledger.charge("a", TENTH, {})
    assert (refusal.value.requested, refusal.value.remaining, refusal.value.total) == (TENTH, 0, 1)
    assert ledger.charge("a", Fraction(0), {})[1].remaining == 0  # what is free stays free
    assert len(ledger.entries) == 12
    assert ledger.verify()


def test_budget_repr():
    """A budget reads as decimals, and as fractions where there is none that says the same."""
    assert repr(Budget(Fraction(1), TENTH)) == "Budget(total=1, spent=0.1, remaining=0.9)"
    assert repr(Budget(Fraction(1), Fraction(1, 3))) == "Budget(total=1, spent=1/3, remaining=2/3)"


def test_a_refused_charge_writes_nothing(path):
    """A negative charge, an unwritable body or an unknown dataset leaves no trace."""
    ledger = filled(path)

    with pytest.raises(errors.EpsilonError):
        ledger.charge("a", -TENTH, {})
    with pytest.raises(TypeError):
        ledger.charge("a", TENTH, {"query": object()})
    with pytest.raises(ValueError, match="JSON"):
        ledger.charge("a", TENTH, {"scale": float("nan")})
    with pytest.raises(errors.UnknownDatasetError) as refusal:
        ledger.charge("c", TENTH, {})

    assert refusal.value.known == ["a", "b"]
    assert len(ledger.entries) == 7
    assert ledger.verify()


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_an_interrupt_rolls_back(path, monkeypatch, exception):
    """An exception between the insert and the commit leaves neither an entry nor a lock."""
    ledger = filled(path)

    def interrupted(*arguments):
        entry = append(*arguments)
        raise exception(entry)

    append = chain.append
    monkeypatch.setattr(chain, "append", interrupted)
    with pytest.raises(exception):
        ledger.charge("a", TENTH, {})
    monkeypatch.undo()

    edit(path, "BEGIN IMMEDIATE")  # nobody holds the lock
    assert ledger.budget("a") == Budget(Fraction(2), TENTH)
    assert ledger.charge("a", TENTH, {})[0].id == 8


def test_an_interrupted_rollback_is_made_up_for(path):
    """A transaction left open by an interrupt is rolled back before the next."""
    ledger = filled(path)
    connection = database._OPEN[path][0]
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM entries")

    assert ledger.budget("a").spent == TENTH
    assert ledger.verify()


def test_bind_returns_what_was_bound_first(path):
    """A second bind changes nothing, whatever it asks for."""
    first = Ledger(path).bind("a", Fraction(1), {"policy": "x", "seal": "SECRET"})

    second = Ledger(path).bind("a", Fraction(7), {"policy": "y"})

    assert first == second
    assert second.binding == {"policy": "x", "seal": "SECRET"}
    assert "SECRET" not in repr(second)
    assert len(Ledger(path).entries) == 1


def test_bind_with_a_wrong_argument_makes_no_file(path):
    """A total that is not positive, or a binding that is not JSON, is refused before there is a file."""
    with pytest.raises(errors.EpsilonError):
        Ledger(path).bind("a", Fraction(0), {})
    with pytest.raises(TypeError):
        Ledger(path).bind("a", Fraction(1), {"seal": object()})

    assert not os.path.exists(path)


def test_entries_show_sums_and_no_seal():
    """The frame has one row an entry, exact fractions, and never the seal."""
    entries = filled(answer=False).entries

    assert list(entries.index) == [1, 2, 3, 4, 5, 6]
    assert entries.index.name == "id"
    assert list(entries["kind"]) == ["open", "open", "charge", "charge", "raise", "charge"]
    assert list(entries["epsilon"]) == [None, None, TENTH, Fraction(1, 3), None, 0]
    assert list(entries["spent"]) == [0, 0, TENTH, Fraction(1, 3), TENTH, TENTH]
    assert all(isinstance(total, Fraction) for total in entries["total"])
    assert entries.loc[4, "name"] == "r"
    assert entries.loc[4, "query"] == {"verb": "range"}
    assert entries.loc[5, "reason"] == "asked for"
    assert list(entries.columns[-6:]) == ["reason", "repriced", "user", "analyst", "pool", "hash"]
    assert list(entries["repriced"]) == [None] * 6
    assert "SECRET" not in entries.to_json(default_handler=str)
    assert Ledger().entries.empty


def test_raise_budget(path):
    """A total rises only, exactly as written, and on the record."""
    ledger = filled(path)

    assert ledger.raise_budget("a", 2.1) == Budget(Fraction(21, 10), TENTH)
    assert ledger.raise_budget("a", "7/3", "more").total == Fraction(7, 3)
    for total in (Fraction(7, 3), 1, -1, "nonsense", float("nan")):
        with pytest.raises(errors.ArgumentError):
            ledger.raise_budget("a", total)
    assert list(ledger.entries["kind"])[-2:] == ["raise", "raise"]
    assert ledger.charge("a", Fraction(2), {})[1].remaining == Fraction(7, 3) - Fraction(21, 10)
    assert ledger.verify()


def test_a_fact_without_a_policy_closes(path):
    """Without a policy nobody can tell what a fact costs: nothing is charged or raised from then on."""
    ledger = filled(path)

    entry = ledger.record_exact("a", FACT)

    assert (entry.kind, entry.body["fact"]) == ("fact", {"fact": "count", "where": "x == 0"})
    for attempt in (lambda: ledger.charge("a", Fraction(0), {}), lambda: ledger.raise_budget("a", 9)):
        with pytest.raises(errors.ClosedDatasetError, match="without a policy"):
            attempt()
    ledger.record_exact("a", {"fact": "marginal", "columns": ["x"]})
    assert "x == 0" in ledger.dataset("a").closed
    assert ledger.dataset("a").facts == (FACT.to_dict(), bf.Marginal("x").to_dict())
    assert ledger.charge("b", TENTH, {})[1].spent == Fraction(13, 30)
    assert ledger.verify()


def priced(path=None, *charges, secret=None, total=1, **options):
    """Return a ledger with a dataset of six cells in two columns, and some charges (epsilon, closure)."""
    domain = Domain((integers("x", 0, 2), integers("y", 0, 1)))
    policy = bf.Policy(domain, secrets={"x": secret} if secret else None, **options)
    ledger = Ledger(path)
    ledger.bind("a", Fraction(total), {"policy": json.dumps(policy.to_dict()), "rows": 9})
    for epsilon, closure in charges:
        ledger.charge("a", Fraction(epsilon), {"closure": closure})
    return ledger


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_fact_reprices(path, on_disk):
    """A full histogram charged 1/2 has lost 1 once one marginal of two cells is known."""
    ledger = priced(path if on_disk else None, ("1/2", "1/2"), ("1/8", "1/100"), total=2)

    entry = ledger.record_exact("a", bf.Marginal("y"))

    assert entry.body["repriced"] == {"2": "1"}
    assert (entry.body["spent"], entry.body["closed"], entry.body["facts"]) == ("9/8", None, 1)
    assert ledger.budget("a") == Budget(Fraction(2), Fraction(9, 8))
    assert ledger.charge("a", TENTH, {"closure": "1/20"}, facts=1)[0].body["facts"] == 1
    assert list(ledger.entries["query"])[3] == "Marginal('y')"
    assert list(ledger.entries["repriced"])[2:] == [None, {2: "1"}, None]
    assert ledger.record_exact("a", bf.Count("x == 0")).body["repriced"]["2"] > "1"  # and again
    assert ledger.verify()


def test_a_fact_that_exceeds_the_total_closes(path):
    """Spent is shown as it is, the dataset is closed, and only a total that covers it opens it again."""
    ledger = priced(path, ("1/2", "1/2"), ("1/4", "1/4"))

    entry = ledger.record_exact("a", bf.Marginal("y"))

    assert entry.body["repriced"] == {"2": "1", "3": "1/2"}
    assert ledger.budget("a").remaining == Fraction(-1, 2)
    assert ledger.budget("a").closed == entry.body["closed"]
    with pytest.raises(errors.ClosedDatasetError, match=r"3/2 of 1, 3/4 of it .* entries 2, 3") as caught:
        ledger.charge("a", Fraction(0), {}, facts=1)
    assert not caught.value.for_good
    assert "fix:" not in str(caught.value)
    with pytest.raises(errors.ArgumentError, match="3/2"):
        ledger.raise_budget("a", "1.4")
    assert len(ledger.entries) == 4
    assert ledger.raise_budget("a", "3/2", "the board agreed") == Budget(Fraction(3, 2), Fraction(3, 2))
    assert ledger.charge("a", Fraction(0), {}, facts=1)[1].remaining == 0
    assert ledger.verify()


def test_a_release_of_unknown_loss_closes_for_good(path):
    """What has no bound, or was charged before there was any, is named; no total opens it again."""
    ledger = priced(path, ("1/2", "1/2"), total=2)
    ledger.charge("a", Fraction(0), {"closure": None, "unknown": "it tells totals"})
    ledger.charge("a", TENTH, {})

    entry = ledger.record_exact("a", bf.Marginal("y"))

    assert entry.body["repriced"] == {"2": "1"}
    with pytest.raises(errors.ClosedDatasetError, match=r"entries 3 \(it tells totals\), 4 \(made before"):
        ledger.charge("a", TENTH, {}, facts=1)
    for attempt in (lambda: ledger.raise_budget("a", 9), lambda: ledger.charge("a", TENTH, {}, facts=1)):
        with pytest.raises(errors.ClosedDatasetError, match=r"fix: no total opens .* another dataset name"):
            attempt()
    assert ledger.record_exact("a", bf.Count("x == 0")).body["closed"] == entry.body["closed"]
    assert ledger.verify()


def test_overspent_then_unknown_stays_closed(path):
    """What a second fact makes unknown is not opened by a larger total, either."""
    ledger = priced(path, ("1", "1"), secret=bf.partition([[0, 1], [2]]))
    ledger.record_exact("a", bf.Marginal("y"))
    assert "lost more than the total" in ledger.dataset("a").closed
    ledger.raise_budget("a", 2)
    ledger.charge("a", Fraction(0), {}, facts=1)

    ledger.record_exact("a", bf.Count("x == 0"))

    with pytest.raises(errors.ClosedDatasetError, match="not known of entry 5"):
        ledger.raise_budget("a", 99)
    assert ledger.verify()


@pytest.mark.parametrize(
    ("fact", "options"),
    [
        (bf.Marginal("y"), {"constraints": [bf.Marginal("y")]}),
        (bf.Count("y == 0", answer=3), {"constraints": [bf.Marginal("x", "y")]}),
        (bf.Marginal("x", answer=[1, 3, 5]), {"secrets": {"x": bf.public()}}),
        (bf.Count("x == 2"), {"secrets": {"x": bf.partition([[0, 1], [2]])}}),
    ],
    ids=["stated before", "follows", "public", "no edge touches it"],
)
def test_facts_that_cost_nothing(fact, options):
    """What follows from other facts, or is changed by no edge, is recorded and makes nothing dearer."""
    domain = Domain((integers("x", 0, 2), integers("y", 0, 1)))
    ledger = Ledger()
    ledger.bind("a", Fraction(1), {"policy": json.dumps(bf.Policy(domain, **options).to_dict()), "rows": 9})
    ledger.charge("a", Fraction(1, 2), {"closure": "1/2"})
    ledger.charge("a", TENTH, {})

    first, second = ledger.record_exact("a", fact), ledger.record_exact("a", fact.to_dict())

    assert first.body["repriced"] == second.body["repriced"] == {}
    assert (second.body["closed"], second.body["facts"]) == (None, 2)
    assert ledger.charge("a", Fraction(4, 10), {}, facts=2)[1].remaining == 0
    assert ledger.verify()


@pytest.mark.parametrize(
    "fact",
    [
        None,
        3,
        "x == 0",
        {},
        {"sum": "x"},
        {"fact": "sum", "columns": ["x"]},
        {"fact": "box", "bounds": {"answer": [0, 1]}},
        {"fact": "count", "where": "x == 0", "answer": -1},
        bf.Count("z == 0"),
        bf.Count("x > 'a'"),
        bf.Marginal("y", answer=[1, 2, 3]),
        bf.Marginal("y", answer=[1, 2]),
        bf.Box(x=(0, 9)),
        bf.Count("x == 0", answer=10),
    ],
    ids=repr,
)
def test_what_is_no_count_of_the_rows_is_refused(path, fact):
    """A sum, garbage, or what does not fit the declared cells is a typed error, and nothing is written."""
    ledger = priced(path, ("1/2", "1/2"))

    with pytest.raises(errors.BlowfishError):
        ledger.record_exact("a", fact)

    assert len(ledger.entries) == 2
    assert ledger.dataset("a").facts == ()


def test_an_answer_that_contradicts_another_is_refused():
    """Two answers to one count cannot both be public; the same one may be stated again, or later."""
    ledger = priced()
    ledger.record_exact("a", bf.Marginal("y"))
    ledger.record_exact("a", bf.Marginal("y", answer=[4, 5]))

    for fact in (bf.Marginal("y", answer=[5, 4]), bf.Count("y == 0", answer=5)):
        with pytest.raises(errors.ArgumentError, match="another answer"):
            ledger.record_exact("a", fact)

    assert len(ledger.entries) == 3
    ledger.record_exact("a", bf.Count("y == 0", answer=4))


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ([bf.Count("x == 0", answer=3), bf.Box(x=(0, 0), answer=4)], {}),
        ([bf.Count("x == 0", answer=5), bf.Count("x < 2", answer=4)], {}),
        ([bf.Count("x == 0", answer=5), bf.Count("x == 2", answer=5)], {}),
        ([bf.Marginal("y", answer=[9, 0]), bf.Count("x == 1 and y == 1", answer=1)], {}),
        ([bf.Marginal("x"), bf.Count("x == 0", answer=5), bf.Count("x == 2", answer=5)], {}),
        ([bf.Count("x == 2", answer=5)], {"constraints": [bf.Count("x == 0", answer=5)]}),
        ([bf.Count("x == 0", answer=2), bf.Count("x < 2", answer=1)], {"presence": True}),
    ],
    ids=["spelt", "inside", "nine rows", "columns", "follow from one left open", "stated", "presence"],
)
def test_answers_that_no_table_has_are_refused(path, facts, options):
    """However they are spelt, the last contradicts those before: nothing is written, what was known stays."""
    ledger = priced(path, ("1/4", "1/4"), total=9, **options)
    for fact in facts[:-1]:
        ledger.record_exact("a", fact)
    before = ledger.dataset("a")

    for attempt in (ledger.record_exact, ledger.preview_exact):
        with pytest.raises(errors.ArgumentError, match=r"another answer|no table"):
            attempt("a", facts[-1])

    assert ledger.dataset("a") == before
    ledger.record_exact("a", _open(facts[-1]))


def _open(fact):
    """Return the plain form of a fact without its answer."""
    return {key: value for key, value in fact.to_dict().items() if key != "answer"}


def test_counts_beyond_the_rows_are_possible_where_presence_is_secret():
    """Nine rows are known of a public number of rows only."""
    ledger = priced(presence=True)
    for where in ("x == 0", "x == 2"):
        ledger.record_exact("a", bf.Count(where, answer=5))

    assert len(ledger.dataset("a").facts) == 2


@pytest.mark.parametrize(
    ("fact", "total"),
    [(bf.Marginal("y"), 2), (bf.Marginal("y"), 1), (bf.Count("x == 0"), 9), (bf.Count("x >= 0"), 1)],
    ids=["dearer", "closes", "closes for good", "costs nothing"],
)
def test_a_preview_is_what_recording_does(path, fact, total):
    """The budget to come, closed or not, and nothing written, not even by what is refused."""
    ledger = priced(path, ("1/2", "1/2"), ("1/4", "1/4"), total=total)
    if total == 9:
        ledger.charge("a", Fraction(0), {"closure": None, "unknown": "it tells totals"})
    before = ledger.entries

    found = ledger.preview_exact("a", fact.to_dict())

    assert ledger.entries.equals(before)
    assert ledger.budget("a").closed is None
    entry = ledger.record_exact("a", fact)
    assert found == ledger.budget("a")
    assert found.closed == entry.body["closed"]


def test_a_charge_planned_under_other_facts_is_refused():
    """A charge says how many facts it was planned under: fewer, or more, than there are is an error."""
    ledger = priced(None, ("1/4", "1/4"))
    ledger.record_exact("a", bf.Marginal("y"))

    for many in (0, 2):
        with pytest.raises(errors.FactsChangedError, match="ask again"):
            ledger.charge("a", TENTH, {}, facts=many)

    assert len(ledger.entries) == 3
    assert ledger.charge("a", TENTH, {}, facts=1)[0].id == 4


def test_a_missing_fact_is_found(path):
    """A ledger whose facts were taken out is not charged."""
    ledger = priced(path, ("1/4", "1/4"))
    ledger.record_exact("a", bf.Marginal("y"))
    ledger.charge("a", Fraction(0), {}, facts=1)

    edit(path, "UPDATE entries SET kind = 'note' WHERE id = 3")

    with pytest.raises(errors.LedgerTamperedError, match="facts recorded before"):
        ledger.charge("a", Fraction(0), {}, facts=0)


def test_name_find_store(path):
    """A name finds the first charge whose answer was stored, and that answer, in its own dataset."""
    ledger = filled(path, answer=False)
    assert ledger.find("b", "r") is None

    entry, _ = ledger.charge("b", TENTH, {"query": "hist"}, name="r")
    ledger.store(entry, b"\x00answer")
    later, _ = ledger.charge("b", TENTH, {"query": "hist"}, name="r")
    ledger.store(later, b"later")

    assert ledger.find("b", "r") == (entry, b"\x00answer")
    assert ledger.find("a", "r") is None
    assert ledger.find("b", "s") is None
    with pytest.raises(errors.LedgerError):
        ledger.store(entry, b"another")
    assert ledger.find("b", "r") == (entry, b"\x00answer")
    with pytest.raises(errors.LedgerTamperedError):
        Ledger(path).store(filled().charge("a", TENTH, {})[0], b"of another ledger")
    assert ledger.verify()


def test_an_edited_answer_is_not_returned(path):
    """An answer that is not what was stored is never handed out."""
    ledger = filled(path)

    edit(path, "UPDATE answers SET answer = x'00'")

    with pytest.raises(errors.LedgerTamperedError, match="entry 4"):
        ledger.find("b", "r")


TAMPERING = {
    "edited spent": ["UPDATE entries SET body = replace(body, '1/10', '1/11') WHERE id = 3"],
    "edited time": ["UPDATE entries SET time = '2020' WHERE id = 4"],
    "edited kind": ["UPDATE entries SET kind = 'note' WHERE id = 4"],
    "moved to another dataset": ["UPDATE entries SET dataset = 'b' WHERE id = 3"],
    "spaces in the body": ["UPDATE entries SET body = body || ' ' WHERE id = 6"],
    "not text": ["UPDATE entries SET body = x'ff' WHERE id = 5"],
    "edited hash": ["UPDATE entries SET hash = 'sha256:0' WHERE id = 6"],
    "deleted": ["DELETE FROM entries WHERE id = 3"],
    "deleted and renumbered": [
        "DELETE FROM entries WHERE id = 5",
        "UPDATE entries SET id = 5 WHERE id = 6",
    ],
    "deleted first": ["DELETE FROM entries WHERE id = 1"],
    "reordered": [
        "UPDATE entries SET id = 99 WHERE id = 3",
        "UPDATE entries SET id = 3 WHERE id = 4",
        "UPDATE entries SET id = 4 WHERE id = 99",
    ],
    "inserted": ["INSERT INTO entries SELECT 8, dataset, kind, time, body, hash FROM entries WHERE id = 6"],
    "edited answer": ["UPDATE answers SET answer = x'00'"],
    "answer that is text": ["UPDATE answers SET answer = 'noisy'"],
    "moved answer": ["UPDATE answers SET entry = 3"],
    "deleted answer": ["DELETE FROM answers"],
    "answer of no entry": ["INSERT INTO answers VALUES (99, x'00', 'sha256:0')"],
}


@pytest.mark.parametrize("key", ["", "a key"])
@pytest.mark.parametrize("statements", TAMPERING.values(), ids=TAMPERING)
def test_verify_finds(path, monkeypatch, statements, key):
    """Any edit, deletion, insertion or reorder of entries, and any edit of answers, is found."""
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", key)
    ledger = filled(path)
    assert ledger.verify()

    edit(path, *statements)

    with pytest.raises(errors.LedgerTamperedError):
        ledger.verify()


@pytest.mark.parametrize("key", ["", "a key"])
def test_verify_finds_an_edited_first_entry(path, monkeypatch, key):
    """The first entry cannot be told from a wrong key when there is one, but is found."""
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", key)
    ledger = filled(path)

    edit(path, "UPDATE entries SET time = '2020' WHERE id = 1")

    with pytest.raises(errors.LedgerKeyError if key else errors.LedgerTamperedError):
        ledger.verify()


def test_verify_finds_a_cut_with_a_head(path):
    """A ledger cut after some entry verifies by itself, but not against a later receipt."""
    ledger = filled(path)
    entry, _ = ledger.charge("a", TENTH, {})
    receipt = {"entry": entry.id, "hash": entry.hash, "dataset": "a", "epsilon": "1/10"}
    assert ledger.verify(entry.hash)
    assert ledger.verify(receipt)
    with pytest.raises(errors.LedgerTamperedError, match="another epsilon"):
        ledger.verify({**receipt, "epsilon": "1/1000"})
    assert ledger.verify(ledger.entries.loc[2, "hash"])

    edit(path, "DELETE FROM entries WHERE id = 8")

    assert ledger.verify()
    for head in (entry.hash, receipt):
        with pytest.raises(errors.LedgerTamperedError, match="receipt"):
            ledger.verify(head)
    with pytest.raises(errors.LedgerTamperedError, match="entry 5"):
        ledger.verify({"entry": 5, "hash": ledger.entries.loc[4, "hash"]})


FORGERIES = {
    "refund": ("a", "charge", {"epsilon": "-1/10", "spent": "0", "total": "2", "closed": None}),
    "cheap": ("a", "charge", {"epsilon": "1", "spent": "2/10", "total": "2", "closed": None}),
    "overspent": ("a", "charge", {"epsilon": "2", "spent": "21/10", "total": "2", "closed": None}),
    "secret rise": ("a", "charge", {"epsilon": "0", "spent": "1/10", "total": "3", "closed": None}),
    "lowered": ("a", "raise", {"spent": "1/10", "total": "1", "closed": None}),
    "opened again": ("a", "open", {"spent": "0", "total": "2", "closed": None}),
    "never opened": ("c", "charge", {"epsilon": "0", "spent": "0", "total": "2", "closed": None}),
    "open fact": ("a", "fact", {"spent": "1/10", "total": "2", "closed": None}),
    "no sums": ("a", "charge", {}),
    "no number": ("a", "charge", {"epsilon": "1/0", "spent": "1/10", "total": "2", "closed": None}),
    "no such kind": ("a", "gift", {"spent": "1/10", "total": "2", "closed": None}),
}


@pytest.mark.parametrize(("dataset", "kind", "body"), FORGERIES.values(), ids=FORGERIES)
def test_verify_redoes_the_sums(path, dataset, kind, body):
    """Entries with good hashes whose sums are wrong are found."""
    ledger = filled(path)

    with chain.transaction(path, "IMMEDIATE") as connection:
        chain.append(connection, dataset, kind, body)

    with pytest.raises(errors.LedgerTamperedError, match="entry 8"):
        ledger.verify()


def test_verify_finds_a_charge_after_closing(path):
    """A charge that follows a fact is found, though its sums are right."""
    ledger = filled(path)
    ledger.record_exact("a", FACT)

    with chain.transaction(path, "IMMEDIATE") as connection:
        body = {"epsilon": "0", "spent": "1/10", "total": "2", "closed": None}
        chain.append(connection, "a", "charge", body)

    with pytest.raises(errors.LedgerTamperedError, match="entry 9"):
        ledger.verify()


def test_a_rewritten_chain_is_found_with_a_head(path):
    """Without a key one can redo every hash, but not to the hash of a receipt."""
    ledger = filled(path, answer=False)
    head = ledger.entries.loc[6, "hash"]

    edit(path, "UPDATE entries SET time = '2020' WHERE id = 3")
    rewrite(path, plain_hash)

    assert ledger.verify()
    with pytest.raises(errors.LedgerTamperedError):
        ledger.verify(head)


def test_a_gap_in_a_rewritten_chain_is_found(path):
    """Ids run from 1 without a gap, even where every hash was redone."""
    ledger = filled(path, answer=False)

    edit(path, "UPDATE entries SET id = 9 WHERE id = 6")
    rewrite(path, plain_hash)

    with pytest.raises(errors.LedgerTamperedError, match="entry 6: it is missing"):
        ledger.verify()


@pytest.mark.parametrize("forged", [plain_hash, lambda message: "hmac-" + plain_hash(message)])
def test_a_rewritten_chain_is_found_with_the_key(path, monkeypatch, forged):
    """Who lacks the key cannot redo the hashes, nor turn the ledger into one without a key."""
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", "a key")
    ledger = filled(path, answer=False)
    assert ledger.entries["hash"].str.startswith("hmac-sha256:").all()

    rewrite(path, forged)

    with pytest.raises(errors.LedgerKeyError):
        ledger.verify()
    with pytest.raises(errors.LedgerKeyError):
        ledger.charge("a", TENTH, {})


@pytest.mark.parametrize(("first", "then"), [("", "a key"), ("a key", ""), ("a key", "another")])
def test_a_ledger_keeps_its_key(path, monkeypatch, first, then):
    """Another key than at the beginning, or none, or one for a ledger without, changes nothing."""
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", first)
    ledger = filled(path)
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", then)

    attempts = [
        lambda: ledger.charge("a", TENTH, {}),
        lambda: ledger.bind("c", Fraction(1), {}),
        lambda: ledger.raise_budget("a", 9),
        lambda: ledger.record_exact("a", FACT),
        lambda: ledger.find("b", "r"),
        ledger.verify,
    ]

    for attempt in attempts:
        with pytest.raises(errors.LedgerKeyError):
            attempt()
    assert len(ledger.entries) == 7
    monkeypatch.setenv("BLOWFISH_LEDGER_KEY", first)
    assert ledger.verify()


def test_a_charge_looks_at_what_it_builds_on(path):
    """A charge is refused when the last entry of its dataset, or of the ledger, was edited."""
    ledger = filled(path, answer=False)

    edit(path, "UPDATE entries SET body = replace(body, '1/3', '0') WHERE id = 4")

    with pytest.raises(errors.LedgerTamperedError, match="entry 4"):
        ledger.charge("b", TENTH, {})
    edit(path, "UPDATE entries SET time = '2020' WHERE id = 6")
    with pytest.raises(errors.LedgerTamperedError, match="entry 6"):
        ledger.bind("c", Fraction(1), {})


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_share_a_budget(path, on_disk):
    """Eight threads with their own objects spend what there is, once."""
    ledger = filled(path if on_disk else None)
    granted, refused = [], []

    def spend():
        for _ in range(20):
            try:
                granted.append(Ledger.at(ledger.location).charge("b", Fraction(1, 60), {})[0].id)
            except errors.InsufficientBudgetError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(granted), len(set(granted)), len(refused)) == (100, 100, 60)
    assert ledger.budget("b").remaining == 0
    assert ledger.verify()


def test_locations(path, tmp_path, monkeypatch):
    """A path is stored absolute, memory ledgers are found again, and nothing is made by looking."""
    monkeypatch.chdir(tmp_path)
    relative = Ledger("some.db")
    assert relative.location == str(tmp_path / "some.db")
    assert relative.is_file
    assert Ledger(tmp_path / "some.db").location == relative.location

    memory = filled()
    assert not memory.is_file
    assert memory.location.startswith("memory:")
    assert Ledger.at(memory.location).budget("a").spent == TENTH
    assert Ledger().location != memory.location
    assert Ledger.default().location == Ledger.default().location != memory.location
    assert memory.location in repr(memory)
    for location in (path, "some.db", "memory:0123", ""):
        with pytest.raises(errors.LedgerError):
            Ledger.at(location)
    assert os.listdir(tmp_path) == []
    filled(path)
    assert Ledger.at(path).budget("a").spent == TENTH


def test_a_missing_file_is_not_found(path):
    """Nothing but bind makes a file."""
    ledger = Ledger(path)

    attempts = [
        lambda: ledger.charge("a", TENTH, {}),
        lambda: ledger.budget("a"),
        lambda: ledger.entries,
        lambda: ledger.find("a", "x"),
        lambda: ledger.raise_budget("a", 3),
        lambda: ledger.record_exact("a", FACT),
        ledger.verify,
    ]

    for attempt in attempts:
        with pytest.raises(errors.LedgerNotFoundError) as refusal:
            attempt()
        assert refusal.value.location == path
    assert not os.path.exists(path)
    with pytest.raises(errors.LedgerError, match="unable to open"):
        Ledger(os.path.join(path, "no", "such", "place.db")).bind("a", Fraction(1), {})


def test_a_file_that_vanishes_while_it_is_opened_is_not_made(path, monkeypatch):
    """Even if the look at the path came a moment too early, reading makes no file."""
    monkeypatch.setattr(database, "_identity", lambda _: (1, 1))

    with pytest.raises(errors.LedgerError, match="unable to open"):
        Ledger(path).charge("a", TENTH, {})

    assert not os.path.exists(path)


def test_a_file_deleted_or_replaced_under_us_is_not_found(path, tmp_path):
    """An open connection does not go on with a file that is gone, nor silently with another."""
    ledger = filled(path)
    ledger.close()
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / os.path.basename(path)).read_bytes())
    ledger.charge("a", TENTH, {})

    os.replace(copy, path)
    with pytest.raises(errors.LedgerNotFoundError):
        ledger.charge("a", TENTH, {})
    ledger.charge("a", TENTH, {})
    os.remove(path)
    for _ in range(2):
        with pytest.raises(errors.LedgerNotFoundError):
            ledger.charge("a", TENTH, {})
    assert not os.path.exists(path)

    ledger.bind("a", Fraction(1), {})  # asking for a new one is another matter
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("content", [b"x", b"name,age\n" * 1000, b"SQLite format 3\x00" + bytes(10)])
def test_what_is_no_database_is_left_alone(path, content):
    """A file that is no database is refused and not touched."""
    with open(path, "wb") as file:
        file.write(content)

    for attempt in (lambda: Ledger(path).bind("a", Fraction(1), {}), lambda: Ledger.at(path)):
        with pytest.raises(errors.LedgerError, match=r"not a (database|ledger)"):
            attempt()

    with open(path, "rb") as file:
        assert file.read() == content


def test_a_foreign_database_is_left_alone(path, tmp_path):
    """A database that is no ledger is refused and not touched."""
    edit(path, "CREATE TABLE entries (id)")
    with open(path, "rb") as file:
        content = file.read()

    for attempt in (lambda: Ledger(path).bind("a", Fraction(1), {}), lambda: Ledger.at(path)):
        with pytest.raises(errors.LedgerError, match="not a ledger"):
            attempt()

    with open(path, "rb") as file:
        assert file.read() == content
    assert len(os.listdir(tmp_path)) == 1


def test_an_empty_file_is_no_ledger_until_bound(path):
    """What a crash before the first entry leaves is not found, and bind makes a ledger of it."""
    open(path, "wb").close()

    with pytest.raises(errors.LedgerNotFoundError):
        Ledger.at(path)

    assert Ledger(path).bind("a", Fraction(1), {}).total == 1
    assert Ledger(path).verify()


def test_files_are_durable(path):
    """A file is written through to the disk at each commit, with a journal and no shared memory."""
    filled(path)
    connection = database._OPEN[path][0]

    assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("persist",)
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


def test_close_keeps_everything(path):
    """A closed file opens again by itself, and a memory ledger stays."""
    for ledger in (filled(path), filled()):
        ledger.close()
        ledger.close()

        assert ledger.charge("a", TENTH, {})[1].spent == Fraction(2, 10)


def test_the_format_is_documented(path):
    """The hash is SHA-256 over canonical JSON of the hash before and the five fields."""
    ledger = filled(path)

    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, dataset, kind, time, body, hash FROM entries ORDER BY id"
        ).fetchall()

    previous = ""
    for *content, given in rows:
        text = json.dumps([previous, *content], separators=(",", ":"))
        previous = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        assert previous == given
    assert json.loads(rows[3][4])["epsilon"] == "1/3"
    assert ledger.verify(previous)


def test_the_file_alone_has_every_charge(path, tmp_path):
    """A ledger file that is copied without its journal has what was charged."""
    ledger = charged_ledger(path)

    copy = tmp_path / "copy.db"
    copy.write_bytes(Path(path).read_bytes())

    assert Ledger(copy).budget("a").spent == ledger.budget("a").spent == TENTH


def test_hard_links_are_refused(path, tmp_path):
    """Two names of one file would have two journals."""
    charged_ledger(path).close()
    link = tmp_path / "link.db"
    link.hardlink_to(path)

    with pytest.raises(errors.LedgerError, match="hard links"):
        Ledger(link).budget("a")


def test_sums_that_could_not_be_written_down_are_refused(path):
    """Charges whose denominators multiply without end are a typed error, and nothing is charged."""
    ledger = charged_ledger(path)
    before = ledger.budget("a")

    with pytest.raises(errors.EpsilonError, match="denominator"):
        ledger.charge("a", Fraction(1, 3**9000), {})

    assert ledger.budget("a") == before


def charged_ledger(path):
    """Return a file ledger with one dataset and one charge."""
    ledger = Ledger(path)
    ledger.bind("a", Fraction(1), {})
    ledger.charge("a", TENTH, {})
    return ledger


def test_datasets_are_listed(tmp_path):
    """In the order they were bound; the notebook shows each with its budget, and what is wrong otherwise."""
    ledger = Ledger(tmp_path / "l.db")
    missing = ledger._repr_html_()
    for number in range(25):
        ledger.bind(f"<b>{number}", Fraction(1), {})
    ledger.charge("<b>3", Fraction(1, 4), {})

    shown = ledger._repr_html_()

    assert ledger.datasets == [f"<b>{number}" for number in range(25)]
    assert Ledger().datasets == []
    assert "&lt;b&gt;3" in shown
    assert "<b>" not in shown
    assert "spent 0.25 of 1" in shown
    assert "and 5 more" in shown
    assert "does not exist here" in missing
