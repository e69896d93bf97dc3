"""A named answer is read back from the ledger alone, as its verb returned it."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, UnknownAnswerError

POLICY, PATIENTS = bf.datasets.patients_policy(), bf.datasets.patients(200)
ASKED = {
    "hist": lambda df, name: df.hist("age", epsilon="1/8", name=name),
    "adults": lambda df, name: df.where("age >= 18").groupby("sex").cumhist("age", epsilon="1/8", name=name),
    "mean": lambda df, name: df.mean("age", epsilon="1/8", name=name),
    "kmeans": lambda df, name: df.kmeans(["age", "income"], 2, epsilon="1/8", name=name),
}


@pytest.fixture
def book(tmp_path):
    """Return a new ledger in a file."""
    return bf.Ledger(tmp_path / "budget.db")


def _protected(book):
    return PATIENTS.blowfish.protect(POLICY, epsilon=1, dataset="patients", ledger=book)


@pytest.mark.parametrize("verb", ASKED)
def test_an_answer_changes_nothing(book, verb):
    """The frame is that of the verb, receipt included; no entry is added, and no row is at hand."""
    released = ASKED[verb](_protected(book).blowfish, "kept")
    before = book.entries

    again = bf.Ledger(book.location).answer("patients", "kept")

    pd.testing.assert_frame_equal(again, released, check_exact=True)
    assert again.blowfish.receipt["hash"] == released.blowfish.receipt["hash"]
    assert book.entries.equals(before)


def test_unbiased_answers_and_several_tables(book):
    """`post` is that of the verb; marginals come back as a dict."""
    df = _protected(book).blowfish
    tables = df.marginal([["sex"], ["region"]], epsilon="1/8", name="tables")
    plain = df.hist("age", epsilon="1/8", name="ages", post=False)

    assert book.answer("patients", "tables").keys() == tables.keys()
    assert book.answer("patients", "ages", post=False).equals(plain)


def test_names_that_keep_nothing_are_refused(book):
    """The error lists the names that do; a matrix, of which there is a hash alone, is asked in Python."""
    df = _protected(book).blowfish
    df.hist("age", epsilon="1/8", name="ages")
    df.workload(np.arange(1_000).reshape(10, 100) % 3, "age", epsilon="1/8", name="matrix")

    with pytest.raises(UnknownAnswerError, match="'ages'"):
        book.answer("patients", "age")
    with pytest.raises(ArgumentError, match="hash"):
        book.answer("patients", "matrix")


def test_a_policy_is_read_from_a_file(tmp_path):
    """By its path as text or Path, in pandas and elsewhere; to_yaml returns what it writes."""
    place = tmp_path / "policy.yaml"
    text = POLICY.to_yaml(place)

    one = PATIENTS.blowfish.protect(place, epsilon=1)
    two = bf.protect(PATIENTS, str(place), epsilon=1)

    assert place.read_text() == text == POLICY.to_yaml()
    assert one.blowfish.policy == two.policy == POLICY
