"""The account of a dataset: read from the ledger alone, complete, and without any effect."""

import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentTypeError,
    FrameError,
    LedgerTamperedError,
    NotReleasedError,
    UnknownDatasetError,
)
from pandas_blowfish.explain.report import account as module
from pandas_blowfish.explain.report.account import account, read_releases

GROUPS = {"heart": ["angina", "arrhythmia"], "lung": ["asthma", "copd", "flu"], "none": ["healthy"]}
ASKED = {
    "ages": lambda b, **kw: b.hist("age", epsilon="0.01", **kw),
    "groups": lambda b, **kw: b.hist("disease", bins=GROUPS, epsilon="0.01", **kw),
    "cumulative": lambda b, **kw: b.cumhist("age", epsilon="0.01", **kw),
    "ranges": lambda b, **kw: b.range("age", [(0, 17), (18, None)], epsilon="0.01", **kw),
    "quantiles": lambda b, **kw: b.quantile("income", [0.25, 0.5], epsilon="0.01", **kw),
    "pairs": lambda b, **kw: b.marginal(["sex", "disease", "region"], order=2, epsilon="0.01", **kw),
    "sums": lambda b, **kw: b.sum("income", epsilon="0.01", **kw),
    "means": lambda b, **kw: b.groupby("region").mean(["age", "income"], epsilon="0.01", **kw),
    "gap": lambda b, **kw: b.workload([[1, -1]], "sex", epsilon="0.01", **kw),
    "clusters": lambda b, **kw: b.kmeans(["age", "income"], 2, epsilon="0.01", **kw),
    "adults": lambda b, **kw: b.where("age >= 18").groupby("sex").hist("disease", epsilon="0.01", **kw),
    "unbiased": lambda b, **kw: b.hist("sex", epsilon="0.01", post=False, **kw),
    "north": lambda b, **kw: b.where("region == 'north'").count(epsilon="0.01", **kw),
}


def _patients(ledger, dataset="patients", policy=None, epsilon=1):
    policy = bf.datasets.patients_policy() if policy is None else policy
    stated = {"dataset": dataset, "ledger": ledger, "new": True}
    return bf.datasets.patients(300).blowfish.protect(policy, epsilon=epsilon, **stated)


def _content(path):
    with sqlite3.connect(path) as connection:
        tables = [connection.execute(f"SELECT * FROM {name}").fetchall() for name in ("entries", "answers")]
    connection.close()
    return tables


def _equal(one, two):
    if isinstance(one, dict):
        return all(one[key].equals(two[key]) for key in one)
    return one.equals(two)


def test_every_kind_of_named_release_is_read_back(tmp_path):
    """What a verb returned under a name is what the account has, for every verb, without the rows."""
    df = _patients(tmp_path / "l.db")
    made = {name: ask(df.blowfish, name=name) for name, ask in ASKED.items()}

    found = account(bf.Ledger(tmp_path / "l.db"), "patients", bf.of)

    shown = {each.line.name: each for each in found.releases}
    assert list(shown) == list(reversed(ASKED))
    for name, each in shown.items():
        assert each.why == ""
        frames = dict(each.frames)
        if name == "pairs":
            assert all(_equal(table, frames[", ".join(key)]) for key, table in made[name].items())
        elif name != "unbiased":  # how it was shaped is not kept
            assert _equal(made[name], frames[""])


def test_an_account_changes_nothing(tmp_path, monkeypatch):
    """The file is the same after, entry by entry and answer by answer; no row is counted, nothing drawn."""
    path = tmp_path / "l.db"
    df = _patients(path)
    for name, ask in ASKED.items():
        ask(df.blowfish, name=name)
    given = [df.blowfish.hist("sex", epsilon="0.01")]
    book = bf.Ledger(path)
    book.record_exact("patients", bf.Marginal("region"))
    before = _content(path)

    def refuse(*args, **kwargs):
        raise AssertionError("charged, counted or drawn")

    for target in (
        "kernel.measure.count_cells",
        "kernel.measure.find_change",
        "kernel.measure.discrete_laplace",
    ):
        monkeypatch.setattr(f"pandas_blowfish.{target}", refuse)
    for method in ("charge", "store", "bind", "raise_budget", "record_exact"):
        monkeypatch.setattr(bf.Ledger, method, refuse)
    found = account(book, "patients", bf.of, given)

    assert all(each.frames for each in found.releases)
    assert _content(path) == before


def test_an_interrupted_release_is_not_asked_again(tmp_path, monkeypatch):
    """A charge whose answer was never kept is told as such: asking by its name would charge again."""
    df = _patients(tmp_path / "l.db")

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bf.Ledger, "store", interrupted)
        with pytest.raises(KeyboardInterrupt):
            df.blowfish.hist("sex", epsilon="0.25", name="sexes")

    (only,) = account(bf.Ledger(tmp_path / "l.db"), "patients", bf.of).releases

    assert only.frames == ()
    assert "not kept" in only.why
    assert df.blowfish.budget.spent == Fraction(1, 4)


def test_a_deleted_answer_is_told_as_such(tmp_path):
    """It was kept once: that is no crash."""
    df = _patients(tmp_path / "l.db")
    df.blowfish.hist("sex", epsilon="0.25", name="sexes")
    df.blowfish.ledger.close()
    with sqlite3.connect(tmp_path / "l.db") as connection:
        connection.execute("DELETE FROM answers")
    connection.close()

    found = account(bf.Ledger(tmp_path / "l.db"), "patients", bf.of)

    assert "missing" in found.problem
    assert "missing" in found.releases[0].why


def test_what_has_no_name_is_told_by_its_entry():
    """The ledger keeps its cost, no numbers; a matrix named by its hash alone cannot be asked again."""
    book = bf.Ledger()
    df = _patients(book)
    df.blowfish.hist("sex", epsilon="0.25")
    df.blowfish.workload(np.eye(100, dtype=int), "age", epsilon="0.25", name="large")

    large, bare = account(book, "patients", bf.of).releases

    assert (bare.frames, bare.line.epsilon, bare.line.query[:4]) == ((), Fraction(1, 4), "hist")
    assert "no name" in bare.why
    assert large.frames == ()
    assert "hash alone" in large.why


def test_given_releases_are_compared():
    """Each says whether its receipt is the ledger's, and its numbers those that are kept."""
    book = bf.Ledger()
    df = _patients(book)
    named = df.blowfish.hist("sex", epsilon="0.125", name="sexes")
    plain = df.blowfish.hist("age", epsilon="0.125")
    edited = named.copy()
    edited["count"] += 1
    lying = plain.copy()
    lying.attrs["blowfish"] = {**plain.attrs["blowfish"], "epsilon": "1/100"}
    other = _patients(book, dataset="others").blowfish.hist("sex", epsilon="0.125")
    unbiased = df.blowfish.hist("sex", epsilon="0.125", name="sexes", post=False)

    def of(given):
        return account(book, "patients", bf.of, given).releases

    assert [each.agrees for each in of([named, plain])] == [True, True]
    assert "numbers are those" in of([named])[1].checked
    assert "numbers are those" in of([unbiased])[1].checked
    assert of([plain])[0].frames[0][1] is plain
    assert of([plain])[0].why == ""
    assert [each.agrees for each in of([edited])] == [True, False]
    assert "not those" in of([edited])[1].checked
    assert of([edited])[1].frames[0][1].equals(named)
    lost, *rest = of([lying, other])[:2]
    assert lost.line is None
    assert "another epsilon" in lost.checked
    assert "another dataset, 'others'" in rest[0].checked


def test_dicts_of_tables_and_derived_ones_are_compared():
    """Marginals come as they were returned; what was worked out from a release is told as that."""
    book = bf.Ledger()
    df = _patients(book)
    pairs = df.blowfish.marginal(["sex", "disease", "region"], order=2, epsilon="0.25", name="pairs")
    ages = df.blowfish.cumhist("age", epsilon="0.25", name="ages")

    second, first = account(book, "patients", bf.of, [pairs, ages.blowfish.hist(bins=10)]).releases

    assert "numbers are those" in first.checked
    assert second.agrees
    assert "worked out" in second.checked


@pytest.mark.parametrize("given", [5, "release", [5], [pd.Series([1])], {"a": 1}], ids=repr)
def test_what_is_no_release_is_refused(given):
    """Before anything is read."""
    with pytest.raises(ArgumentTypeError):
        read_releases(given)
    with pytest.raises(NotReleasedError):
        read_releases([pd.DataFrame({"a": [1]})])


def test_a_release_beside_itself_is_refused():
    """Columns of the same name are no release as it was returned, for the report and for pictures."""
    released = _patients(bf.Ledger()).blowfish.hist("sex", epsilon="0.25")
    twice = pd.concat([released, released], axis=1)
    twice.attrs = released.attrs

    with pytest.raises(FrameError, match="same name"):
        read_releases([twice])
    with pytest.raises(FrameError, match="as returned"):
        twice.blowfish.plot()


def test_the_rest_is_told():
    """Policy, budget, rows, unit, other datasets, raises and repriced costs."""
    book = bf.Ledger()
    df = _patients(book)
    _patients(book, dataset="others")
    df.blowfish.hist("sex", epsilon="0.25", name="sexes")
    book.raise_budget("patients", 3, "asked for")
    book.record_exact("patients", bf.Count("age < 18"))

    found = account(book, "patients", bf.of)

    assert found.others == ("others",)
    assert [line.kind for line in found.lines] == ["open", "charge", "answer", "raise", "fact"]
    assert (found.lines[1].epsilon, found.lines[1].now) == (Fraction(1, 4), Fraction(1, 2))
    assert (found.total, found.spent, found.closed) == (3, Fraction(1, 2), None)
    assert (found.rows, found.unit, found.outside, found.ledger) == (300, None, "error", "")
    assert found.policy.constraints == (bf.Count("age < 18"),)
    assert found.problem == ""
    assert found.head == book.entries["hash"].iloc[-1]
    assert found.entries == 6
    with pytest.raises(UnknownDatasetError):
        account(book, "nobody", bf.of)


def test_a_secret_number_of_rows_is_not_told():
    """With presence=True the ledger knows it, and nobody else may."""
    policy = bf.Policy.from_dict({**bf.datasets.patients_policy().to_dict(), "presence": True})
    book = bf.Ledger()
    _patients(book, policy=policy)

    assert account(book, "patients", bf.of).rows is None


@pytest.mark.parametrize("entry", [1, 2, 5])
def test_a_ledger_that_was_tampered_with_is_told_of(tmp_path, entry):
    """The account says what `verify` says, and tells what can be read."""
    df = _patients(tmp_path / "l.db")
    df.blowfish.hist("sex", epsilon="0.25", name="sexes")
    df.blowfish.hist("age", epsilon="0.25", name="ages")
    df.blowfish.ledger.close()
    with sqlite3.connect(tmp_path / "l.db") as connection:
        edit = 'UPDATE entries SET body = replace(body, \'"spent":"\', \'"spent":"0\') WHERE id = ?'
        connection.execute(edit, (entry,))
    connection.close()

    found = account(bf.Ledger(tmp_path / "l.db"), "patients", bf.of)

    assert "entry" in found.problem
    assert len(found.lines) == 5
    assert (found.policy is None) == (entry != 2)


def test_entries_that_cannot_be_read_are_a_typed_error(tmp_path):
    """Not a traceback of JSON."""
    df = _patients(tmp_path / "l.db")
    df.blowfish.ledger.close()
    with sqlite3.connect(tmp_path / "l.db") as connection:
        connection.execute("UPDATE entries SET body = '{}'")
    connection.close()

    with pytest.raises(LedgerTamperedError):
        account(bf.Ledger(tmp_path / "l.db"), "patients", bf.of)


def test_only_the_newest_of_many_are_read_back(monkeypatch):
    """The others are told by their entries."""
    monkeypatch.setattr(module, "READ", 2)
    df = _patients(bf.Ledger())
    for number in range(4):
        df.blowfish.hist("sex", epsilon="0.01", name=f"n{number}")

    shown = account(df.blowfish.ledger, "patients", bf.of).releases

    assert [bool(each.frames) for each in shown] == [True, True, False, False]
    assert "newest 2" in shown[-1].why


def test_pools_limits_and_analysts_are_shown(tmp_path):
    """The page states the pool with its total, each limit, and who asked."""
    book = bf.Ledger()
    pool = bf.Pool("people", epsilon=3)
    stated = {"dataset": "patients", "ledger": book, "pool": pool, "limits": {"ana": "1/2"}, "analyst": "ana"}
    df = bf.datasets.patients(300).blowfish.protect(bf.datasets.patients_policy(), epsilon=1, **stated)
    df.blowfish.hist("sex", epsilon="0.25", name="sexes")
    book.set_limit("patients", "bo", 1)

    found = account(book, "patients", bf.of)
    page = df.blowfish.report(tmp_path / "report.html").read_text()

    assert found.pool == ("people", bf.Budget(Fraction(3), Fraction(1, 4)))
    assert found.limits["ana"] == bf.Budget(Fraction(1, 2), Fraction(1, 4))
    assert found.lines[1].analyst == "ana"
    assert "Pool people, which datasets about the same people share: 0.25 of 3 spent." in page
    assert "Analyst ana: 0.25 of a limit of 0.5 charged." in page
    assert "asked by" in page
    assert "people" in book._repr_html_()
