"""The seal key lies apart from the ledger, is made once, and its absence is told from changed rows."""

import os
import secrets
import stat
import subprocess
import sys

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log as chain
from pandas_blowfish.books import sealkey
from pandas_blowfish.errors import LedgerTamperedError, SealKeyError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 1),)))
FRAME = pd.DataFrame({"x": [0, 1, 1, 0, 1]})


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """Begin every test without a stated key."""
    monkeypatch.delenv("BLOWFISH_SEAL_KEY", raising=False)


@pytest.fixture
def path(tmp_path):
    """Return where a ledger may be made, and close it in the end."""
    path = str(tmp_path / "budget.db")
    yield path
    chain.close(path)


def protected(path, dataset="d", frame=FRAME):
    """Return a protected frame on a file ledger."""
    return frame.blowfish.protect(POLICY, epsilon=1, dataset=dataset, ledger=path, new=True)


def test_the_key_is_in_a_file_of_its_own(path, tmp_path):
    """64 hexadecimal digits, for their owner alone whatever the umask is, and nowhere in the ledger."""
    before = os.umask(0)
    try:
        protected(path)
    finally:
        os.umask(before)

    key = (tmp_path / "budget.db.seal-key").read_text().strip()
    assert sealkey.DIGITS.fullmatch(key)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
    own = sealkey.with_key(path, "d", bf.Ledger(path).dataset("d").binding)["key"]
    for each in tmp_path.iterdir():
        content = each.read_bytes()
        assert own.encode() not in content
        assert bytes.fromhex(own) not in content
        assert each.name.endswith(".seal-key") or key.encode() not in content


def test_without_the_key_a_ledger_is_read_and_not_released_from(path, tmp_path):
    """It verifies, lists, reports and gives named answers; a release or protect names the missing file."""
    df = protected(path)
    first = df.blowfish.hist("x", epsilon="1/4", name="n")
    key = tmp_path / "budget.db.seal-key"
    kept = key.read_text()

    key.unlink()
    book = bf.Ledger(path)

    assert book.verify()
    assert book.budget("d").spent == bf.Ledger(path).entries["spent"].iloc[-1]
    assert bf.report(book, tmp_path / "report.html").exists()
    assert df.blowfish.hist("x", epsilon="1/4", name="n").equals(first)
    for attempt in (
        lambda: df.blowfish.hist("x", epsilon="1/4"),
        lambda: protected(path),
        lambda: protected(path, "another"),
    ):
        with pytest.raises(SealKeyError, match=r"budget\.db\.seal-key.*\n  fix: restore"):
            attempt()
    assert not key.exists()  # a lost key is never replaced by a new one
    assert book.budget("d").spent == bf.Ledger(path).budget("d").spent
    key.write_text(kept)
    assert len(df.blowfish.hist("x", epsilon="1/4")) == 2


def test_a_wrong_key_is_not_taken_for_changed_rows(path, tmp_path):
    """Another key, or what is none, is an error of the key; changed rows are one of the rows."""
    df = protected(path)
    key = tmp_path / "budget.db.seal-key"
    kept = key.read_text()

    for wrong in (secrets.token_hex(32), "", "no key", kept[:-5], "é"):
        key.write_text(wrong)
        with pytest.raises(SealKeyError):
            df.blowfish.hist("x", epsilon="1/4")

    key.write_text(kept)
    with pytest.raises(StaleFrameError):
        protected(path, frame=FRAME.assign(x=0))


def test_the_environment_states_the_key_or_its_place(path, tmp_path, monkeypatch):
    """Digits are the key, anything else the path of its file, which is made there; half a key is refused."""
    monkeypatch.setenv("BLOWFISH_SEAL_KEY", str(tmp_path / "rows" / "key"))
    with pytest.raises(SealKeyError, match="no seal key can be written"):
        protected(path)
    (tmp_path / "rows").mkdir()
    protected(path)
    key = (tmp_path / "rows" / "key").read_text().strip()
    assert not (tmp_path / "budget.db.seal-key").exists()

    monkeypatch.setenv("BLOWFISH_SEAL_KEY", key)
    assert len(protected(path).blowfish.hist("x", epsilon="1/4")) == 2
    monkeypatch.setenv("BLOWFISH_SEAL_KEY", key[:60])
    with pytest.raises(SealKeyError, match="60 hexadecimal digits"):
        protected(path)
    monkeypatch.delenv("BLOWFISH_SEAL_KEY")
    with pytest.raises(SealKeyError):
        protected(path)


def test_ledgers_in_memory_keep_their_own(monkeypatch):
    """No file is made, and two ledgers have two keys."""
    monkeypatch.setenv("BLOWFISH_SEAL_KEY", "/no/such/place")
    books = bf.Ledger(), bf.Ledger()

    for book in books:
        df = FRAME.blowfish.protect(POLICY, epsilon=1, dataset="d", ledger=book)
        assert len(df.blowfish.hist("x", epsilon="1/4")) == 2

    assert books[0].seal_key_id() != books[1].seal_key_id()


BEGIN = """
import sys
from pandas_blowfish.books import sealkey
sys.stdin.readline()
print(sealkey.begin_key(sys.argv[1], None).hex())
"""


def test_processes_that_begin_at_once_agree(path, tmp_path):
    """Whoever is first makes the key, and all have it."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", BEGIN, path]
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()

    keys = {process.communicate(timeout=120)[0] for process in processes}

    assert keys == {(tmp_path / "budget.db.seal-key").read_text()}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_key_proposed_too_late_is_not_kept(path):
    """Rows sealed under a key that another process overtook are sealed again."""
    late = sealkey.propose_key(path, None)
    first = sealkey.begin_key(path, None)

    assert not sealkey.keep_key(path, late)
    assert sealkey.propose_key(path, None) == first
    assert sealkey.keep_key(path, first)


def test_each_dataset_has_its_own_key(path):
    """The same rows under two names, and the same column under two names, have no digest in common."""
    protected(path)
    protected(path, "e")
    one, other = (bf.Ledger(path).dataset(name).binding for name in ("d", "e"))

    assert one["seal_key"]["id"] == other["seal_key"]["id"]
    assert one["seal"]["x"] != other["seal"]["x"]
    assert one["spread"] != other["spread"]
    assert one["count"] != other["count"]


def test_the_number_of_rows_is_in_the_ledger_only_where_it_is_public(path):
    """With presence it is a secret: another number is noticed by a keyed seal."""
    secret = bf.Policy(Domain((integers("x", 0, 1),)), presence=True)
    df = FRAME.blowfish.protect(secret, epsilon=1, dataset="secret", ledger=path)
    protected(path)

    assert bf.Ledger(path).dataset("secret").binding["rows"] is None
    assert bf.Ledger(path).dataset("d").binding["rows"] == 5
    assert len(df.blowfish.hist("x", epsilon="1/4")) == 2
    assert len(df.blowfish.sum("x", epsilon="1/4")) == 1
    with pytest.raises(StaleFrameError, match="number of rows"):
        FRAME.iloc[:4].blowfish.protect(secret, epsilon=1, dataset="secret", ledger=path)


def test_wrapped_texts_are_read_with_the_key_alone():
    """Any change, another name, salt or key is refused; what is wrapped does not show."""
    master = secrets.token_bytes(32)
    wrapped = sealkey.wrap(master, "00", "d", "a secret text")

    assert sealkey.unwrap(master, "00", "d", wrapped) == "a secret text"
    assert sealkey.wrap(master, "01", "d", "a secret text") != wrapped
    for arguments in (
        (secrets.token_bytes(32), "00", "d", wrapped),
        (master, "01", "d", wrapped),
        (master, "00", "e", wrapped),
        (master, "00", "d", ("B" if wrapped[0] == "A" else "A") + wrapped[1:]),
    ):
        with pytest.raises(ValueError, match="changed"):
            sealkey.unwrap(*arguments)


@pytest.mark.parametrize(
    "binding", [{}, {"seal_key": 3}, {"seal_key": {"id": "x"}}, {"seal_key": {}, "key": ""}]
)
def test_a_binding_that_states_no_key_was_tampered_with(binding):
    """It is neither of this version nor of an older one."""
    with pytest.raises(LedgerTamperedError):
        sealkey.stated_key("l", binding)
