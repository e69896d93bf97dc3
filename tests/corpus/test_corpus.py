"""What the library answered when the corpus was recorded, it answers today: plans, releases, ledgers.

A failing case names itself; `python tests/corpus/record.py` records anew where a change is meant.
"""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from corpus.cases import (
    BOOKS,
    PROMISES,
    considered_cases,
    named_answers,
    plan_cases,
    policy_of,
    release_cases,
)
from corpus.describe import (
    TOLERANCE,
    describe_budget,
    describe_entries,
    describe_release,
    differences,
    in_todays_words,
)
from corpus.record import KEY, LEDGER, considered, planned, replayed, rounding

import pandas_blowfish as bf

HERE = Path(__file__).resolve().parent
PLANS, RELEASES, STORED = (
    json.loads((HERE / f"{part}.json").read_text(encoding="utf-8"))
    for part in ("plans", "releases", "ledger")
)
SEARCHED = "optimised"  # its rows are searched for with floats, whose rounding decides
SAME_ROUNDING = rounding() == PLANS["rounding"]
SOLVED = TOLERANCE if SAME_ROUNDING else 1e-6  # of answers: equations are solved, and some are nearly alike
ANSWERS = named_answers()
OPEN = [name for name in BOOKS if not STORED["budgets"][name]["closed"]]


def by_name(cases):
    """Return parameters that are named as their cases are."""
    return [pytest.param(case, id=case.name) for case in cases]


def test_the_corpus_holds_each_case_and_no_other():
    """A case that is added or left out is recorded anew."""
    assert list(PLANS["fingerprints"]) == list(PROMISES)
    assert list(PLANS["plans"]) == [case.name for case in plan_cases()]
    assert list(PLANS["candidates"]) == [case.name for case in considered_cases()]
    assert list(RELEASES) == [release.name for release in release_cases()]
    assert list(STORED["budgets"]) == list(BOOKS)
    assert set(ANSWERS) <= set(STORED["answers"])


@pytest.mark.parametrize("name", PROMISES)
def test_a_policy_has_the_fingerprint_it_had(name):
    """Ledgers and receipts name policies by it."""
    assert policy_of(name).fingerprint == PLANS["fingerprints"][name]


@pytest.mark.parametrize("case", by_name(plan_cases()))
def test_a_question_is_planned_as_it_was(case):
    """Strategy, cost, scales, measured rows and errors are those that were recorded."""
    stored = PLANS["plans"][case.name]

    found = planned(case)

    if SEARCHED in (stored.get("strategy"), found.get("strategy")) and not SAME_ROUNDING:
        assert [found[key] for key in ("cost", "index")] == [stored[key] for key in ("cost", "index")]
        assert found["mse"] == pytest.approx(stored["mse"], rel=0.05)
        assert Fraction(found["loss"]) <= Fraction(found["cost"])
    else:
        assert differences(found, stored) == []


@pytest.mark.parametrize("case", by_name(considered_cases()))
def test_a_plan_considers_the_candidates_it_did(case):
    """Names, sensitivities and errors of all strategies, best first; by name where roundings differ."""
    found, stored = considered(case), PLANS["candidates"][case.name]

    if not SAME_ROUNDING:
        found, stored = (sorted(each for each in some if each[0] != SEARCHED) for some in (found, stored))
    assert differences(found, stored) == []


@pytest.mark.parametrize("release", by_name(release_cases()))
def test_replayed_noise_gives_the_release_it_gave(release):
    """Values, errors, index and receipt, but for time, hash and version."""
    stored = in_todays_words(RELEASES[release.name])

    found = replayed(release)

    if found.get("receipt", {}).get("strategy") == SEARCHED and not SAME_ROUNDING:
        assert found["index"] == stored["index"]
    else:
        assert differences(found, stored, tolerance=SOLVED) == []


def copied(folder):
    """Return the path of a copy of the recorded ledger, with its seal key beside it."""
    for file in (LEDGER, KEY):
        shutil.copyfile(HERE / file, folder / file)
        (folder / file).chmod(0o600)
    return folder / LEDGER


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    """Leave out keys that the environment states: the recorded ledger has its own."""
    for name in ("BLOWFISH_LEDGER_KEY", "BLOWFISH_SEAL_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    """Return one copy for all tests that write nothing."""
    path = copied(tmp_path_factory.mktemp("corpus"))
    yield path
    bf.Ledger(path).close()


@pytest.fixture
def ledger(shared_path):
    """Return the recorded ledger, in another place than it was written in."""
    return bf.Ledger(shared_path)


@pytest.fixture
def own_ledger(tmp_path):
    """Return a copy of the recorded ledger that a test may write to."""
    book = bf.Ledger(copied(tmp_path))
    yield book
    book.close()


def test_a_recorded_ledger_is_verified(ledger):
    """No entry and no answer seems edited."""
    assert ledger.verify()


def test_a_recorded_ledger_lists_its_entries(ledger):
    """Kinds, costs, queries, facts with what they repriced, raises and hashes."""
    assert differences(describe_entries(ledger), STORED["entries"]) == []
    assert {entry["kind"] for entry in STORED["entries"]} == {
        *("open", "charge", "apart", "answer", "raise", "fact")
    }


@pytest.mark.parametrize("name", BOOKS)
def test_a_recorded_budget_is_what_it_was(ledger, name):
    """Total, spent, remaining, and whether a fact closed the dataset."""
    assert describe_budget(ledger.budget(name)) == STORED["budgets"][name]


@pytest.mark.parametrize("name", BOOKS)
def test_the_same_rows_are_protected_again(ledger, name):
    """Rows, policy and total are recognised by their seals: nothing is written."""
    book = BOOKS[name]

    rows = book.protect(name, ledger, book.last_total)

    assert describe_budget(rows.blowfish.budget) == STORED["budgets"][name]
    assert len(ledger.entries) == len(STORED["entries"])


@pytest.mark.parametrize("name", BOOKS)
def test_other_rows_are_still_refused(ledger, name):
    """A row less is other rows."""
    book = BOOKS[name]
    fewer = book.frame().iloc[:-1]

    with pytest.raises(bf.errors.StaleFrameError):
        fewer.blowfish.protect(
            policy_of(book.promise), epsilon=book.last_total, dataset=name, ledger=ledger, **book.options
        )


@pytest.mark.parametrize("name", ANSWERS)
def test_a_named_answer_is_read_again_free(ledger, name):
    """The values and the receipt are those that were released, and nothing is charged."""
    dataset, answer = ANSWERS[name]
    rows = BOOKS[dataset].protect(dataset, ledger, BOOKS[dataset].last_total)

    found = answer.release.make(rows.blowfish, name=answer.name)

    stored = in_todays_words(STORED["answers"][name]["release"])
    assert differences(describe_release(found), stored, tolerance=SOLVED) == []
    assert describe_budget(ledger.budget(dataset)) == STORED["budgets"][dataset]
    assert len(ledger.entries) == len(STORED["entries"])


@pytest.mark.parametrize("name", STORED["answers"])
def test_a_recorded_receipt_is_vouched_for(ledger, name):
    """The entry that a receipt names says the same, and its hash is that of the chain."""
    assert ledger.verify(STORED["answers"][name]["receipt"])


def test_an_edited_receipt_is_still_refused(ledger):
    """A receipt that says less was spent is not that of its entry."""
    receipt = STORED["answers"]["lines: hist"]["receipt"]

    with pytest.raises(bf.errors.LedgerTamperedError):
        ledger.verify({**receipt, "epsilon": "1/1000"})


@pytest.mark.parametrize("name", OPEN)
def test_a_recorded_dataset_goes_on(own_ledger, name):
    """A question under a new name costs what its plan says, on the same budget, and is verified."""
    book = BOOKS[name]
    step = next(step for step in book.steps if hasattr(step, "release"))
    rows, before = book.protect(name, own_ledger, book.last_total), own_ledger.budget(name)
    if name in ("sales", "weaker hist", "weaker count"):  # one such release for each dataset, for good
        with pytest.raises(bf.errors.OnceError):
            step.release.make(rows.blowfish, name="new")
        return

    found = step.release.make(rows.blowfish, name="new")

    spent = own_ledger.budget(name).spent - before.spent
    assert spent == Fraction(found.attrs["blowfish"]["epsilon"])
    assert own_ledger.verify(found.attrs["blowfish"])


def test_a_closed_dataset_stays_closed(own_ledger):
    """No charge is taken before the total is raised."""
    book = BOOKS["overspent"]
    rows = book.protect("overspent", own_ledger, book.last_total)

    with pytest.raises(bf.errors.ClosedDatasetError):
        rows.blowfish.count(epsilon="1/100")

    own_ledger.raise_budget("overspent", 50, "agreed")
    assert not describe_budget(own_ledger.budget("overspent"))["closed"]
