"""df.blowfish and bf.of: stateless, typed, and readable in a notebook."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import FrameError, NotProtectedError, NotReleasedError


def _patients():
    return bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=2)


def test_of_is_the_accessor():
    """bf.of(df) does what df.blowfish does, for type checkers."""
    df = _patients()

    released = bf.of(df).hist("sex", epsilon=1)

    assert isinstance(bf.of(df), bf.BlowfishAccessor)
    assert bf.of(df).budget == df.blowfish.budget
    assert bf.of(released).receipt == released.blowfish.receipt


@pytest.mark.parametrize("what", [None, 5, "df", [1], pd.Series([1])], ids=repr)
def test_of_asks_for_a_frame(what):
    """What is no DataFrame is a typed error at once."""
    with pytest.raises(FrameError):
        bf.of(what)


def test_views():
    """Protected frames show dataset, budget and policy; releases their receipt; others what to do."""
    df = _patients()
    df.blowfish.hist("sex", epsilon=1)

    shown = repr(df.blowfish)

    assert "spent 1 of 2, remaining 1" in shown
    assert "[##########----------]" in shown
    assert "threshold" in shown
    assert repr(df.blowfish.hist("sex", epsilon=1).blowfish).startswith("Receipt")
    assert "not protected" in repr(pd.DataFrame().blowfish)
    assert "<table" in df.blowfish._repr_html_()


def test_views_escape_names():
    """A dataset's name is text, also in a notebook."""
    df = bf.datasets.patients(5).blowfish.protect(
        bf.datasets.patients_policy(), epsilon=1, dataset="<b>bold</b>", ledger=bf.Ledger()
    )

    assert "<b>" not in df.blowfish._repr_html_()


def test_plain_frames_are_refused():
    """Every question about a frame that is not protected, or not released, is a typed error."""
    plain = pd.DataFrame({"age": [1]})

    for ask in ("policy", "budget", "ledger", "plan"):
        with pytest.raises(NotProtectedError):
            getattr(plain.blowfish, ask)
    with pytest.raises(NotProtectedError):
        plain.blowfish.hist("age", epsilon=1)
    with pytest.raises(NotProtectedError):
        plain.blowfish.count(epsilon=1)
    with pytest.raises(NotReleasedError):
        _ = plain.blowfish.receipt
    with pytest.raises(NotReleasedError):
        plain.blowfish.interval()


def test_a_release_is_no_protected_frame_and_the_reverse():
    """A release cannot be queried, a protected frame has no receipt."""
    df = _patients()
    released = df.blowfish.hist("sex", epsilon=1)

    with pytest.raises(NotProtectedError):
        released.blowfish.hist("sex", epsilon=1)
    with pytest.raises(NotReleasedError):
        _ = df.blowfish.receipt
    assert df.blowfish.budget.spent == 1


def test_a_closed_dataset_looks_closed():
    """The budget and the view of a frame say that, and why, no more is charged; else neither does."""
    df = _patients()
    df.blowfish.hist("age", epsilon=2)
    assert df.blowfish.budget.closed is None
    assert "closed" not in repr(df.blowfish)

    df.blowfish.ledger.record_exact(df.attrs["blowfish"]["dataset"], bf.Count("age < 18"))

    assert "raise_budget" in df.blowfish.budget.closed
    assert f"\nclosed: {df.blowfish.budget.closed}\n" in repr(df.blowfish)


def test_report_is_the_page_of_this_dataset(tmp_path):
    """Asked of a frame, it needs no ledger and no name; unprotected frames are refused before writing."""
    df = _patients()
    ages = df.blowfish.hist("age", epsilon=1, name="ages")

    page = df.blowfish.report(tmp_path / "report.html", releases=[ages])

    assert page == tmp_path / "report.html"
    assert "its numbers are those that the ledger keeps" in page.read_text()
    with pytest.raises(NotProtectedError):
        pd.DataFrame().blowfish.report(tmp_path / "other.html")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
