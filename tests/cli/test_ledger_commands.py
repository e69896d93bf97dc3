"""ledger, report, demo: what was spent, and whether the book holds."""

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log as chain
from pandas_blowfish.cli import exits

AGES = "hist('age', epsilon='0.25')"


def test_a_ledger_is_shown(release, run):
    """Budgets, entries and queries, for a person and for a machine."""
    release(AGES, "-o", "ages.csv")

    told = run("ledger", "budget.db")
    one = run("ledger", "budget.db", "--dataset", "p", "--verify", "--json").document

    assert told.code == exits.OK
    assert "p: spent 0.25 of 1, remaining 0.75" in told.out
    assert "hist('age'" in told.out
    assert one["datasets"] == {"p": {"total": "1", "spent": "1/4", "remaining": "3/4", "closed": None}}
    assert [entry["kind"] for entry in one["entries"]] == ["open", "charge", "answer"]
    assert one["verified"] is True
    assert "seal" not in str(one)
    assert "key" not in str(one)


def test_receipts_are_verified(release, run):
    """A receipt in JSON or in a Parquet release is compared with its entry."""
    release(AGES, "-o", "ages.csv")
    release("hist('sex', epsilon=0.1)", "-o", "sexes.parquet")

    good = run("ledger", "budget.db", "--receipt", "ages.receipt.json", "--receipt", "sexes.parquet")
    receipt = json.loads(Path("ages.receipt.json").read_text())
    Path("ages.receipt.json").write_text(json.dumps({**receipt, "epsilon": "1/100"}))
    forged = run("ledger", "budget.db", "--receipt", "ages.receipt.json", "--json")

    assert good.code == exits.OK
    assert "2 receipts agree" in good.out
    assert "and 1 receipt agrees" in run("ledger", "budget.db", "--receipt", "sexes.parquet").out
    assert forged.code == exits.TAMPERED
    assert "another epsilon" in forged.document["error"]["message"]


def test_tampering_has_its_code(release, run):
    """An edited entry is told from everything else, also from a path that leads nowhere."""
    release(AGES)
    with sqlite3.connect("budget.db") as connection:
        connection.execute("UPDATE entries SET body = replace(body, '1/4', '1/400') WHERE id > 1")
    connection.close()

    assert run("ledger", "budget.db", "--verify").code == exits.TAMPERED
    assert release(AGES).code == exits.TAMPERED
    gone = run("ledger", "gone.db")
    assert gone.code == exits.FILES
    assert "in-memory" not in gone.err
    assert not Path("gone.db").exists()


def test_the_reason_of_a_closing_is_shown(release, run):
    """The table has a column of reasons where there are any."""
    release("hist('age', epsilon=1)")
    plain = run("ledger", "budget.db")
    bf.Ledger("budget.db").record_exact("p", bf.Count("age < 18"))

    closed = run("ledger", "budget.db")

    assert "reason" not in plain.out
    assert "reason" in closed.out.split("dataset", 1)[1].splitlines()[0]
    assert closed.out.count(bf.Ledger("budget.db").budget("p").closed) == 2  # above, and in the table


def test_a_budget_is_raised_on_the_record(release, run):
    """Raising says whose, and why; it is refused when it lowers, or nobody is named."""
    release(AGES)

    raised = run("ledger", "budget.db", "--dataset", "p", "--raise", "2", "--reason", "board, 3 May")
    told = run("ledger", "budget.db")
    lowered = run("ledger", "budget.db", "--dataset", "p", "--raise", "1/2", "--reason", "x")
    silent = [
        run("ledger", "budget.db", "--dataset", "p", "--raise", "3", *reason)
        for reason in ([], ["--reason", " "])
    ]

    assert [each.code for each in silent] == [exits.USAGE] * 2
    assert "--raise without --reason" in silent[0].err
    assert bf.Ledger("budget.db").budget("p").total == 2
    assert "board, 3 May" in told.out
    assert "p: spent 0.25 of 2" in raised.out
    assert bf.Ledger("budget.db").entries["reason"].iloc[-1] == "board, 3 May"
    assert lowered.code == exits.USAGE
    assert run("ledger", "budget.db", "--raise", "3", "--reason", "x").code == exits.USAGE
    assert run("ledger", "budget.db", "--reason", "x").code == exits.USAGE
    assert run("ledger", "budget.db", "--dataset", "nobody").code == exits.LEDGER


@pytest.mark.parametrize("name", ["x.json", "list.json", "plain.parquet", "absent.json", "deep.json"])
def test_what_is_no_receipt(release, run, name):
    """Other files are refused before anything is written."""
    release(AGES)
    Path("x.json").write_text("{")
    Path("list.json").write_text("[1]")
    Path("deep.json").write_text("[" * 100_000)
    pd.DataFrame({"x": [1]}).to_parquet("plain.parquet")

    ran = run("ledger", "budget.db", "--dataset", "p", "--raise", "9", "--reason", "x", "--receipt", name)

    assert ran.code in (exits.FILES, exits.REFUSED)
    assert bf.Ledger("budget.db").budget("p").total == 1


def test_an_empty_file_is_no_ledger(folder, run):
    """A file that is no ledger is told so."""
    Path("budget.db").write_text("hello, I am no database at all, only text")
    Path("long.db").write_text("x" * 5_000)
    sqlite3.connect("other.db").executescript("CREATE TABLE entries (x)").connection.close()

    for name in ("budget.db", "long.db", "other.db", "."):
        assert run("ledger", name).code == exits.FILES, name


def test_the_report_is_written(release, run):
    """One page, where it was asked for."""
    pytest.importorskip("pandas_blowfish.report")
    release(AGES, "-o", "ages.parquet")

    ran = run("report", "budget.db", "-o", "report.html", "--json")
    wrong = run("report", "budget.db", "-o", "report.pdf")

    assert ran.code == exits.OK
    assert ran.document["out"].endswith("report.html")
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert wrong.code == exits.USAGE
    assert run("report", "gone.db", "-o", "report.html").code == exits.FILES


def test_the_demo_runs(run):
    """The demonstration prints itself, or is one document."""
    assert "ledger verified: True" in run("demo").out
    assert "Plan" in run("demo", "--json").document["demo"]


def test_a_damaged_ledger_has_its_code(release, run):
    """One that was cut off in the middle is as good as edited; one that is no file is not there."""
    release(AGES, "-o", "ages.csv")
    bf.Ledger("budget.db").close()
    whole = Path("budget.db").read_bytes()
    for size in (100, 5_000, len(whole) // 2, len(whole) - 4_096):
        Path(f"cut{size}.db").write_bytes(whole[:size])

        for words in (["ledger"], ["ledger", "--verify"], ["report", "-o", "report.html"]):
            ran = run(words[0], f"cut{size}.db", *words[1:])
            assert ran.code == exits.TAMPERED, (words, size, ran.err)
        again = release(AGES, "--ledger", f"cut{size}.db")
        assert again.code == exits.TAMPERED, (size, again.err)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = 'x' WHERE id = 2",
        "UPDATE entries SET body = '[1]' WHERE id = 2",
        "UPDATE entries SET time = x'ff' WHERE id = 2",
        "UPDATE entries SET dataset = x'ff' WHERE id = 2",
        "DELETE FROM entries WHERE id = 1",
        "DROP TABLE entries",
    ],
)
def test_entries_that_cannot_be_read(release, run, change):
    """Whatever was made of them, every command tells that it is not as it was written."""
    release(AGES)
    with sqlite3.connect("budget.db") as connection:
        connection.execute(change)
    connection.close()

    assert run("ledger", "budget.db").code == exits.TAMPERED
    assert run("report", "budget.db", "-o", "report.html").code == exits.TAMPERED
    assert release(AGES).code == exits.TAMPERED


def test_a_report_of_tampering(release, run):
    """The page is written, for it says so, and the exit code does too."""
    release(AGES)
    with sqlite3.connect("budget.db") as connection:
        connection.execute("UPDATE entries SET body = replace(body, '1/4', '1/400') WHERE id = 2")
    connection.close()

    ran, as_json = (run("report", "budget.db", "-o", "report.html", *more) for more in ([], ["--json"]))

    assert ran.code == as_json.code == exits.TAMPERED
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert "entry 2" in ran.err
    assert as_json.document["verified"] is False
    assert as_json.document["error"]["type"] == "LedgerTamperedError"


def test_where_a_report_cannot_be(release, run, monkeypatch):
    """Not over the ledger, and not where no file can be made."""
    release(AGES)
    bf.Ledger("budget.db").close()
    Path("book.html").symlink_to("budget.db")
    before = Path("budget.db").read_bytes()

    over = run("report", "budget.db", "-o", "book.html")
    missing = run("report", "budget.db", "-o", "no/report.html")
    monkeypatch.setattr("os.access", lambda *_: False)
    locked = run("report", "budget.db", "-o", "report.html")

    assert over.code == exits.USAGE
    assert "would be written over the ledger" in over.err
    assert Path("budget.db").read_bytes() == before
    assert missing.code == locked.code == exits.FILES


@pytest.mark.parametrize(
    "text", ['{"entry": 2, "hash": ["a"]}', '{"entry": [2], "hash": "a"}', '{"entry": 2, "hash": null}', "3"]
)
def test_a_malformed_receipt(release, run, text):
    """JSON that is no receipt is a file that cannot be used."""
    release(AGES)
    Path("x.json").write_text(text)

    ran = run("ledger", "budget.db", "--receipt", "x.json")

    assert ran.code == exits.FILES
    assert "is not a receipt" in ran.err


def test_a_ledger_is_upgraded(release, run):
    """The word before the file moves seal keys out; it takes nothing else, and is no harm to a new ledger."""
    release(AGES)
    book = bf.Ledger("budget.db")
    with chain.transaction(book.location, "IMMEDIATE") as connection:
        sums = {"total": "1", "spent": "0", "closed": None, "facts": 0}
        binding = {"policy": "{}", "rows": 3, "key": "ab" * 32, "seal": {"x": "0"}}
        chain.append(connection, "old", "open", {**sums, "binding": binding})
    charged = release("hist('sex', epsilon=0.1)")

    done = run("ledger", "upgrade", "budget.db")
    again = run("ledger", "upgrade", "budget.db", "--json").document

    assert charged.code == exits.OK  # its own dataset is of this version
    assert "seal keys of old were moved out" in done.out
    assert again["upgraded"] == []
    assert ("ab" * 32).encode() not in Path("budget.db").read_bytes()
    assert run("ledger", "budget.db", "--verify").code == exits.OK
    for wrong in (["upgrade", "budget.db", "--verify"], ["one.db", "two.db"]):
        assert run("ledger", *wrong).code == exits.USAGE
    Path("budget.db.seal-key").unlink()
    assert release("hist('sex', epsilon=0.2)").code == exits.FILES
    assert run("ledger", "budget.db", "--verify").code == exits.OK


def test_analysts_are_limited_on_the_record(release, run):
    """One or several, by name; nothing is written where one of them is wrong."""
    release(AGES, "--analyst", "ana")
    limited = ["ledger", "budget.db", "--dataset", "p"]

    wrong = [
        run(*limited, *words).code
        for words in (["--limit", "ana"], ["--limit", "ana=1", "--limit", "bob=-1"], ["--limit", "=1"])
    ]
    whose = run("ledger", "budget.db", "--limit", "ana=1/2")
    found = run(*limited, "--limit", "ana=1/2", "--limit", "b=c=0.75", "--verify", "--json")
    much = release("hist('sex', epsilon=0.5)", "--analyst", "ana", new=False)

    assert wrong == [exits.USAGE] * 3
    assert whose.code == exits.USAGE
    assert found.document["datasets"]["p"]["limits"]["ana"] == {"total": "1/2", "spent": "1/4"}
    assert bf.Ledger("budget.db").limits("p")["b=c"].total == Fraction(3, 4)
    assert "ana: spent 0.25 of 0.5, remaining 0.25" in run("ledger", "budget.db").out
    assert much.code == exits.BUDGET
    assert run("ledger", "upgrade", "budget.db", "--limit", "ana=1").code == exits.USAGE
