"""Releases in a report: each with what it cost, its picture, numbers and receipt, as far as there is room."""

import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.explain.report import listing
from pandas_blowfish.explain.report.account import account
from pandas_blowfish.explain.report.listing import Room, releases_chapter
from pandas_blowfish.markup import Html


def _df(epsilon=10):
    policy = bf.datasets.patients_policy()
    return bf.datasets.patients(100).blowfish.protect(
        policy, epsilon=epsilon, dataset="d", ledger=bf.Ledger()
    )


def _text(df, releases=()):
    return releases_chapter(account(df.blowfish.ledger, "d", bf.of, releases))


def test_a_named_release_has_everything():
    """Question, time, cost, strategy, noise, error, picture, numbers, receipt."""
    df = _df()
    df.blowfish.hist("age", epsilon="0.25", name="<b>ages</b>")

    text = _text(df)

    for part in (
        "epsilon 0.25",
        "identity: discrete Laplace noise of scale 8",
        " (root mean squared, before answers",
        "entry 2",
        "<svg",
        "<summary>The numbers of",
        "<summary>Receipt</summary>",
        "&lt;b&gt;ages",
        'id="entry-2"',
    ):
        assert part in text
    assert "<b>" not in text


def test_several_tables_of_one_release_are_all_shown():
    """Each with a name, one receipt for all."""
    df = _df()
    df.blowfish.marginal(["sex", "disease", "region"], order=2, epsilon=1, name="pairs")

    text = _text(df)

    assert text.count("<svg") == 3
    assert "<figcaption>sex, disease</figcaption>" in text
    assert text.count("<summary>Receipt</summary>") == 1


def test_unnamed_exact_and_repriced_ones_are_told():
    """By their entry alone; an exact one costs nothing; a repriced one says both costs."""
    df = _df()
    df.blowfish.hist("sex", epsilon=1)
    df.blowfish.where("region == 'north'").count(epsilon=1, name="north")
    df.blowfish.ledger.record_exact("d", bf.Count("age < 18"))

    text = _text(df)

    assert "it has no name, so the ledger keeps no numbers." in text
    assert "nothing: the policy does not hide the answer" in text
    assert "exactly, without noise" in text
    assert "epsilon 1; now 2, since more became public" in text


def test_given_releases_are_judged_in_words():
    """Agreement and disagreement are said, and what no entry tells of comes first."""
    df = _df()
    good = df.blowfish.hist("sex", epsilon=1)
    bad = good.copy()
    bad.attrs["blowfish"] = {**good.attrs["blowfish"], "epsilon": "1/9"}

    text = _text(df, [good, bad])

    assert "Agrees: </strong>its receipt matches entry 2" in text
    assert "Does NOT agree: </strong>entry 2: the receipt states another epsilon" in text
    assert text.index('id="given-1"') < text.index('id="entry-2"')


def test_replayed_noise_is_an_alarm():
    """A seed protects nobody."""
    df = _df()
    with bf.testing.replay(1):
        df.blowfish.hist("sex", epsilon=1, name="replayed")

    assert "protects nobody" in _text(df)


def test_a_page_has_room_for_so_much(monkeypatch):
    """What does not fit is said to be left out; what is beyond the list is counted."""
    df = _df()
    for number in range(4):
        df.blowfish.hist("age", epsilon="0.25", name=f"n{number}")
    monkeypatch.setattr(listing, "ROOM", 50_000)
    monkeypatch.setattr(listing, "LISTED", 3)

    text = _text(df)

    assert text.count("<svg") == 1
    assert listing.FULL in text
    assert "1 earlier releases are listed" in text
    room = Room(5)
    assert room.fits(Html("12345"))
    assert not room.fits(Html("1"))


def test_no_release_is_said(monkeypatch):
    """An empty chapter would look like a fault; many tables are cut."""
    assert _text(_df()) == "<p>Nothing has been released.</p>"
    monkeypatch.setattr(listing, "TABLES", 1)
    df = _df()
    df.blowfish.marginal(["sex", "disease", "region"], order=2, epsilon=1, name="pairs")
    assert "and 2 more tables" in _text(df)


def test_a_million_cells_are_a_small_part():
    """One release of a million cells is a picture, a hundred rows and a receipt."""
    frame = pd.DataFrame({"x": [1, 2, 3]})
    schema = {"x": {"type": "integer", "min": 0, "max": 999_999, "secret": {"secret": "full"}}}
    policy = bf.Policy.from_dict({"blowfish": 1, "columns": schema})
    df = frame.blowfish.protect(policy, epsilon=1, dataset="d", ledger=bf.Ledger())
    df.blowfish.hist("x", epsilon=1, name="wide")

    assert len(_text(df)) < 600_000
