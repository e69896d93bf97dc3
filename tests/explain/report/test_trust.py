"""The chapters about trust: sound or not, in words; how to see it oneself; what is not promised."""

from dataclasses import replace

import pytest

import pandas_blowfish as bf
from pandas_blowfish.explain.report.account import account
from pandas_blowfish.explain.report.trust import limits, verify_chapter


def _account(**given):
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(100).blowfish.protect(policy, epsilon=1, dataset="d", ledger=bf.Ledger())
    return replace(account(df.blowfish.ledger, "d", bf.of), **given)


def test_a_sound_ledger_is_said_to_be():
    """With how many entries, and the head to compare."""
    found = _account()

    text = verify_chapter(found)

    assert "Verified." in text
    assert " 1 entries" in text
    assert found.head in text
    assert "not signed with a key" in text
    assert "alarm" not in text
    assert "are signed with a key" in verify_chapter(_account(keyed=True))


def test_a_broken_ledger_is_an_alarm():
    """In words, not only in colour; what is wrong is escaped."""
    text = verify_chapter(_account(problem="entry 3: <b>edited</b>\n  fix: restore it"))

    assert "NOT sound" in text
    assert 'role="alert"' in text
    assert "&lt;b&gt;edited" in text
    assert "Verified." not in text


def test_the_code_to_verify_runs(tmp_path, monkeypatch):
    """What the page tells to type works as it is."""
    monkeypatch.chdir(tmp_path)
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(10).blowfish.protect(policy, epsilon=1, dataset="it's", ledger="l.db")
    release = df.blowfish.hist("sex", epsilon=1)
    text = verify_chapter(account(df.blowfish.ledger, "it's", bf.of))

    code = text.split("<code>")[1].split("</code>")[0].replace("&#x27;", "'").replace("&quot;", '"')

    exec(code, {"release": release})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Someone with r rows"),
        ({"unit": "<b>id"}, "One value of &#x27;&lt;b&gt;id&#x27; is one person"),
        ({"outside": "clip"}, "count as the nearest cell"),
        ({}, "The number of rows (100) is public"),
        ({"policy": None, "rows": None}, "cannot be read"),
        ({"others": ("<i>", "b")}, "this ledger also has &lt;i&gt;, b."),
        ({"others": tuple(map(str, range(30)))}, "and 10 more"),
        ({}, "another name would have two"),
    ],
)
def test_limits_are_said(given, said):
    """Each as far as it applies."""
    assert said in limits(_account(**given))


def test_a_secret_number_of_rows_is_said_to_be_one():
    """Presence is part of the promise then."""
    policy = bf.Policy.from_dict({**bf.datasets.patients_policy().to_dict(), "presence": True})

    assert "there at all is a secret too" in limits(_account(policy=policy, rows=None))
    assert "different groups" not in limits(_account(policy=policy, rows=None))
    assert "different groups" in limits(_account())
