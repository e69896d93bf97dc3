"""Whatever bytes are in a ledger's rows, what reads it answers or raises a typed error."""

import contextlib
import hashlib
import io
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.books import log as chain
from pandas_blowfish.books import verify
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.receipt import is_receipt
from pandas_blowfish.cli.command import main
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 3),)))
KINDS = ["open", "charge", "apart", "answer", "raise", "fact", "upgrade", "gift", ""]
KEYS = [
    "total",
    "spent",
    "closed",
    "facts",
    "epsilon",
    "name",
    "query",
    "call",
    "columns",
    "strategy",
    "scale",
]
KEYS += [
    "repriced",
    "fact",
    "binding",
    "charge",
    "digest",
    "entry",
    "attested",
    "closure",
    "reason",
    "measured",
]
NUMBERS = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "0",
    "1/10",
    "1/0",
    "-1/2",
    "1e99999999",
    "9" * 400,
    "9" * 5_000,
]
OTHERS = [
    "\ud800",
    "hist('x', epsilon=1)",
    [],
    [1],
    ["x"],
    {},
    {"2": "1/0"},
    {"a": 1},
    {"seal_key": {"id": "0"}},
]
BINDINGS = [{"policy": 3, "rows": "x", "outside": None}, {"policy": "{}", "key": "zz"}]
FACTS = [{"fact": "count", "where": 3}, {"fact": "count", "where": "x == 1", "answer": -1}]
VALUES = st.sampled_from([*NUMBERS, *OTHERS, *BINDINGS, *FACTS])
BODIES = st.one_of(
    st.sampled_from(["", "null", "[]", "{", '{"a":' * 2_000, "1", '{"total":NaN}', "\x00", '"' + "x" * 50]),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8).map(json.dumps),
    st.binary(max_size=6),
)
EDITS = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.one_of(
            st.tuples(st.just("body"), BODIES),
            st.tuples(
                st.just("merge"), st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=3)
            ),
            st.tuples(st.just("kind"), st.one_of(st.sampled_from(KINDS), st.binary(max_size=3))),
            st.tuples(st.just("time"), st.sampled_from(["", "0001-01-01", "2026-13-01", "x" * 500, b"\xff"])),
            st.tuples(st.just("dataset"), st.one_of(st.sampled_from(["d", "e", "", "\x1b["]), st.just(b"d"))),
            st.tuples(st.just("hash"), st.sampled_from(["", "sha256:", "hmac-sha256:0", b"\xff"])),
        ),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the path of a good ledger of six entries, with its seal key beside it."""
    path = tmp_path_factory.mktemp("ledger") / "l.db"
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 3]})
    df = frame.blowfish.protect(POLICY, epsilon=2, dataset="d", ledger=path)
    df.blowfish.hist("x", epsilon="1/10", name="n")
    df.blowfish.hist("x", epsilon="1/10")
    book = bf.Ledger(path)
    book.raise_budget("d", 3, "more")
    book.record_exact("d", bf.Count("x == 0"))
    assert len(book.entries) == 6
    book.close()
    return path


def changed(path, edits, *, rehash):
    """Change rows of a ledger behind its back; redo all hashes, as one without a key could."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, (column, value) in edits:
            if column == "merge":
                text = connection.execute("SELECT body FROM entries WHERE id = ?", (number,)).fetchone()[0]
                with contextlib.suppress(RecursionError, TypeError, ValueError):
                    column, value = "body", json.dumps({**json.loads(text), **value})
                if column == "merge":
                    continue
            value = (
                value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
                if isinstance(value, str)
                else value
            )
            connection.execute(f"UPDATE entries SET {column} = ? WHERE id = ?", (value, number))
        previous = ""
        for *content, known in connection.execute("SELECT * FROM entries ORDER BY id").fetchall():
            with contextlib.suppress(TypeError):
                text = chain.canonical([previous, *content])
                known = "sha256:" + hashlib.sha256(text.encode()).hexdigest() if rehash else known
                connection.execute("UPDATE entries SET hash = ? WHERE id = ?", (known, content[0]))
            previous = known


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=EDITS, rehash=st.booleans())
def test_whatever_is_in_the_rows_errors_are_typed(whole, tmp_path_factory, edits, rehash):
    """entries, budget, find, verify, report, charges and the command line raise nothing of Python's own."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = str(folder / "l.db")
    for name in ("l.db", "l.db.seal-key"):
        shutil.copy(whole.parent / name, folder / name)
    changed(path, edits, rehash=rehash)
    book, frame = bf.Ledger(path), pd.DataFrame({"x": [0, 1, 2, 3, 3]})

    attempts = [
        lambda: book.entries,
        lambda: book.datasets,
        lambda: book.budget("d"),
        lambda: book.find("d", "n"),
        lambda: book.verify(),
        lambda: book.agrees({"entry": 2, "hash": "sha256:0"}),
        lambda: book.preview_exact("d", bf.Count("x == 1")),
        lambda: bf.report(book, folder / "r.html", dataset="d"),
        lambda: frame.blowfish.protect(POLICY, epsilon=3, dataset="d", ledger=path),
        lambda: book.raise_budget("d", 9),
        lambda: book.charge("d", Fraction(1, 10), {}, facts=1),
        lambda: book.upgrade(),
        lambda: book._repr_html_(),
    ]
    for attempt in attempts:
        with contextlib.suppress(errors.BlowfishError):
            attempt()
    for words in (["ledger", path], ["ledger", path, "--verify", "--json"], ["ledger", "upgrade", path]):
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as complaints,
        ):
            code = main(words)
        assert code in (0, 4, 6, 7), (words, code, complaints.getvalue())
    chain.close(path)


def test_large_numbers_do_not_take_long():
    """A text such as 1e99999999 is refused as it is, not worked out."""
    from pandas_blowfish.books.log import parse_fraction

    for text in (
        "1e99999999",
        "1.5",
        " 1",
        "1/-2",
        "9" * 5_000,
        "0x1",
        "1_0",
        "1/0",
        "",
        None,
        True,
        1.0,
        [],
    ):
        with pytest.raises((ArithmeticError, TypeError, ValueError)):
            parse_fraction(text)
    assert parse_fraction("-3/6") == Fraction(-1, 2)
    assert parse_fraction(2) == 2


def test_a_receipt_is_compared_with_its_entry_alone():
    """What verify says of a receipt is said without reading the other entries."""
    book = bf.Ledger()
    book.bind("a", Fraction(1), {})
    entry, _ = book.charge("a", Fraction(1, 10), {})
    receipt = {"entry": 2, "hash": entry.hash, "epsilon": "1/10", "dataset": "a"}

    assert book.agrees(receipt)
    for wrong in ({"epsilon": "1/5"}, {"hash": "sha256:0"}, {"entry": 2**70}, {"entry": 0}, {"entry": 1}):
        with pytest.raises(errors.LedgerTamperedError):
            book.agrees({**receipt, **wrong})
    with chain.transaction(book.location) as connection:
        verify.verify(connection, book.location, receipt)


def test_what_was_checked_is_compared():
    """A receipt that states another check than its entry is refused; entries without one are not asked."""
    book = bf.Ledger()
    book.bind("a", Fraction(1), {})
    entry, _ = book.charge("a", Fraction(1, 10), {"checked": "every edge"})
    receipt = {"entry": 2, "hash": entry.hash, "checked": "every edge"}

    assert book.verify(receipt)
    assert book.verify({"entry": 2, "hash": entry.hash})
    with pytest.raises(errors.LedgerTamperedError, match="another checked"):
        book.verify({**receipt, "checked": "argued"})
    old, _ = book.charge("a", Fraction(1, 10), {})
    assert book.verify({"entry": 3, "hash": old.hash, "checked": "every edge"})


def test_the_first_difference_is_named():
    """Of a receipt and its entry."""
    entry = Entry(9, "a", "charge", "now", {"total": "1", "spent": "1/2", "closed": None, "facts": 0}, "hash")

    assert verify.find_difference({"spent": "1/3"}, entry, entry) == "spent"
    assert verify.find_difference({"spent": "1/2"}, entry, entry) == ""


@pytest.mark.parametrize(
    "head", [{}, {"entry": 2, "hash": ["a"]}, {"entry": [2], "hash": "a"}, {"hash": "a"}]
)
def test_what_is_no_receipt(head):
    """A mapping that names no entry, or none that can be looked up, is refused as an argument."""
    assert not is_receipt(head)
    with pytest.raises(errors.ArgumentError, match="not a receipt"):
        verify.check_head(head)
