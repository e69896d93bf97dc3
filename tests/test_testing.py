"""What helps people test their own pipelines: noise, ledgers and spending."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

import pandas_blowfish as bf


def release(path="budget.db", epsilon="0.1", name="sexes", dataset="p"):
    """Charge a ledger as a script would."""
    rows = bf.datasets.patients(300)
    df = rows.blowfish.protect(bf.datasets.patients_policy(), epsilon=1, dataset=dataset, ledger=path)
    return df.blowfish.hist("sex", epsilon=epsilon, name=name)


def test_fake_ledgers_make_no_file(tmp_path, monkeypatch):
    """A path is a ledger in memory inside the block, the same one for each call, and a file after it."""
    monkeypatch.chdir(tmp_path)

    with bf.testing.fake_ledgers() as books, bf.testing.replay(3):
        first, second = release(), release()
        assert books["budget.db"].budget("p").spent == Fraction(1, 10)
        assert first.equals(second)
        assert list(books) == [str(tmp_path / "budget.db")]

    assert not os.listdir(tmp_path)
    release()
    assert (tmp_path / "budget.db").exists()


def test_fake_ledgers_leave_a_real_one_alone(tmp_path, monkeypatch):
    """A file that is there is neither read nor charged."""
    monkeypatch.chdir(tmp_path)
    release()
    before = (tmp_path / "budget.db").read_bytes()

    with bf.testing.fake_ledgers() as books:
        release(name="other", epsilon="0.3")
        assert books["budget.db"].budget("p").spent == Fraction(3, 10)

    assert (tmp_path / "budget.db").read_bytes() == before
    assert bf.Ledger("budget.db").budget("p").spent == Fraction(1, 10)


def test_each_block_begins_anew():
    """What one test charged is not seen by the next; blocks may be inside each other."""
    with bf.testing.fake_ledgers() as outer:
        release()
        with bf.testing.fake_ledgers() as inner:
            assert len(inner) == 0
        assert outer["budget.db"].datasets == ["p"]
        with pytest.raises(KeyError):
            outer["other.db"]
    with bf.testing.fake_ledgers() as later:
        assert len(later) == 0


def test_spending_is_asserted(tmp_path):
    """The assertion names the dataset and what it was charged; a free re-run passes at 0."""
    with bf.testing.fake_ledgers():
        with bf.testing.spends_at_most("0.1"):
            release()
        with bf.testing.spends_at_most(0):
            release()
        with pytest.raises(AssertionError, match=r"more than 0: 'p' by 1/5"), bf.testing.spends_at_most(0):
            release(name="again", epsilon="0.2")
    with (
        pytest.raises(AssertionError, match="'p' by 1/10"),
        bf.testing.spends_at_most("0.05", tmp_path / "b.db"),
    ):
        release(tmp_path / "b.db")


def test_spending_in_memory_is_seen():
    """Rows protected without a ledger are charged to this process's memory, which is looked at too."""
    rows = bf.datasets.patients(300)
    df = rows.blowfish.protect(bf.datasets.patients_policy(), epsilon=1)

    with pytest.raises(AssertionError, match="by 1/4"), bf.testing.spends_at_most("0.2"):
        df.blowfish.hist("sex", epsilon="0.25")


def test_an_error_in_the_block_is_not_hidden():
    """What the script raises is what is raised."""
    with pytest.raises(ZeroDivisionError), bf.testing.spends_at_most(0):
        raise ZeroDivisionError
