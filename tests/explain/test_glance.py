"""Frames at a glance: what the ledger tells of them, short and safe, and never an exception."""

from fractions import Fraction

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books.ledger import Budget
from pandas_blowfish.explain.glance import LAST, frame_html, frame_text, glance
from pandas_blowfish.markup import spent_text
from pandas_blowfish.queries.call.scope import Scope


def _patients(ledger=None, **given):
    return bf.datasets.patients(50).blowfish.protect(
        bf.datasets.patients_policy(), epsilon=2, ledger=ledger, **given
    )


def test_a_protected_frame_tells_its_last_releases():
    """The newest come first, with name, question, cost and time; older ones are left to the ledger."""
    df = _patients(dataset="glance", ledger=bf.Ledger())
    for number in range(LAST + 2):
        df.blowfish.hist("sex", epsilon="0.125", name=f"number {number}")

    found = glance(df.attrs["blowfish"], Scope())
    text, shown = repr(df.blowfish), df.blowfish._repr_html_()

    assert [entry.body["name"] for entry in found.charges] == [f"number {n}" for n in range(6, 1, -1)]
    for part in ("number 6", "hist(&#x27;sex&#x27;", "0.125", found.charges[0].time[:10], "spent 0.875 of 2"):
        assert part in shown
    assert "number 6: hist('sex'" in text
    assert "number 1" not in text
    assert 'role="img"' in shown


def test_filters_and_groups_are_told():
    """What the next verb is asked about is in both views."""
    df = _patients()
    scoped = df.blowfish.where("age < 40").groupby("sex")

    assert "where age < 40\ngroupby sex\n" in repr(scoped)
    assert "age &lt; 40" in scoped._repr_html_()
    assert "No releases yet" in scoped._repr_html_()


def test_a_closed_dataset_says_why():
    """Both views have the reason."""
    df = _patients()
    df.blowfish.hist("age", epsilon=2)
    df.blowfish.ledger.record_exact(df.attrs["blowfish"]["dataset"], bf.Count("age < 18"))

    assert "closed: earlier releases" in df.blowfish._repr_html_()


def test_a_release_shows_its_numbers_and_its_receipt():
    """In a terminal and in a notebook: whole counts, rounded to their errors, and how many more there are."""
    released = _patients().blowfish.hist("age", epsilon=1)

    text, page = repr(released.blowfish), released.blowfish._repr_html_()

    assert text.endswith(repr(released.blowfish.receipt))
    assert page.endswith(released.blowfish.receipt._repr_html_())
    first = f"{released['count'].iloc[0]:,.0f}"
    assert text.splitlines()[:3] == ["Release", "age count std", f"  0 {first:>5} 2.8"]
    assert "... 88 more" in text
    assert "and 88 more" in page


@pytest.mark.parametrize(
    "record",
    [
        None,
        5,
        "text",
        {},
        {"kind": "protected"},
        {"kind": "protected", "ledger": "/nowhere/at all.db", "dataset": "x"},
        {"kind": "protected", "ledger": 5, "dataset": []},
        {"kind": "release"},
        {"kind": "release", 5: b"x", "<b>": "<b>"},
        {"kind": ["odd"]},
    ],
    ids=repr,
)
def test_no_record_makes_a_view_fail(record):
    """Whatever is in attrs, both views say something, escaped."""
    plain = pd.DataFrame({"a": [1]})
    plain.attrs["blowfish"] = record

    assert repr(plain.blowfish).startswith(("BlowfishAccessor", "Receipt"))
    assert "<b>" not in plain.blowfish._repr_html_()


def test_a_dataset_without_a_policy_is_no_failure():
    """A name that was bound by hand has nothing to show, and says so."""
    book = bf.Ledger()
    book.bind("bare", Fraction(1), {})
    record = {"kind": "protected", "dataset": "bare", "policy": "bf1-0", "ledger": book.location}

    assert "cannot be read (KeyError)" in frame_text(record, Scope())
    assert "cannot be read" in frame_html(record, Scope())


def test_a_plain_frame_is_told_how_to_begin():
    """The notebook shows the four lines to write."""
    shown = pd.DataFrame().blowfish._repr_html_()

    for part in ("not protected", "bf.Policy(schema)", "protect(policy", "plan.hist"):
        assert part in shown


def test_hostile_names_are_short_and_safe():
    """Columns, datasets, names and filters of any kind."""
    name = "<script>alert(1)</script>" + "n" * 500
    schema = pa.DataFrameSchema({name: pa.Column(int, pa.Check.in_range(0, 3))})
    df = pd.DataFrame({name: [1, 2]}).blowfish.protect(
        bf.Policy(schema), epsilon=2, dataset=name, ledger=bf.Ledger()
    )
    df.blowfish.hist(name, epsilon=1, name=name)

    for shown in (
        df.blowfish._repr_html_(),
        df.blowfish.plan._repr_html_(),
        df.blowfish.ledger._repr_html_(),
    ):
        assert "<script" not in shown
        assert len(shown) < 12_000
    assert len(repr(df.blowfish)) < 2_000


def test_a_budget_is_a_bar_with_its_words():
    """A notebook shows how much is spent, and why no more can be; huge fractions are told roughly."""
    half, over = Budget(Fraction(1), Fraction(1, 2)), Budget(Fraction(1), Fraction(3, 2), "<b>why</b>")
    fine = Budget(Fraction(1), Fraction(1, 10**300))

    assert "width:50.0%" in half._repr_html_()
    assert 'aria-label="spent 0.5 of 1, remaining 0.5"' in half._repr_html_()
    assert "closed: &lt;b&gt;why" in over._repr_html_()
    assert "closed" not in half._repr_html_()
    assert len(spent_text(fine.spent, fine.total)) < 60
