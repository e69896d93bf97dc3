"""The page of an account: written as a whole or not at all, where a person said."""

import os
import re
from dataclasses import replace

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.explain.report import page as module
from pandas_blowfish.explain.report.account import account
from pandas_blowfish.explain.report.page import CHAPTERS, page_of, page_path, write_page


@pytest.fixture(scope="module")
def found():
    """Return the account of a dataset with one release."""
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(100).blowfish.protect(policy, epsilon=1, dataset="d", ledger=bf.Ledger())
    df.blowfish.hist("sex", epsilon="0.5", name="sexes")
    return account(df.blowfish.ledger, "d", bf.of)


@pytest.mark.parametrize("path", [None, 5, b"report.html", ["report.html"]], ids=repr)
def test_what_is_no_path_is_refused(path):
    """With a typed error."""
    with pytest.raises(ArgumentTypeError):
        page_path(path)


@pytest.mark.parametrize("path", ["report", "report.pdf", "no/such/folder/report.html", "a\0.html", ""])
def test_a_path_that_cannot_be_is_refused(path, tmp_path, monkeypatch):
    """An unknown ending, a folder that is not there, a folder of that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()

    with pytest.raises(ArgumentError):
        page_path(path)
    with pytest.raises(ArgumentError):
        page_path("folder.html")


def test_a_page_is_written_as_a_whole(found, tmp_path, monkeypatch):
    """What was there stays until the new page is complete; nothing is left beside it."""
    path = tmp_path / "report.HTML"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ArgumentError, match="No space"):
        write_page(found, path)
    assert [each.name for each in tmp_path.iterdir()] == ["report.HTML"]
    assert path.read_text() == "old"

    monkeypatch.undo()
    assert write_page(found, page_path(path)) == path
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert [each.name for each in tmp_path.iterdir()] == ["report.HTML"]


def test_chapters_and_links_agree(found):
    """Every chapter is there once, and the contents lead to it."""
    text = page_of(found)

    for key, title in CHAPTERS.items():
        assert text.count(f'<section id="{key}"') == 1
        assert f'<a href="#{key}">{title}</a>' in text
    assert "0.5 of the budget of 1 is spent, 0.5 is left." in text
    assert f"pandas_blowfish {bf.__version__}" in text


def test_the_opening_says_what_is_wrong(found):
    """A broken ledger, a closed dataset and releases that do not agree are told first."""
    given = [replace(found.releases[0], agrees=False, checked="no")]

    head = page_of(replace(found, problem="entry 2: <b>", closed="<i>why", releases=tuple(given))).split(
        "<nav"
    )[0]

    for part in ("NOT sound", "&lt;b&gt;", "closed</strong>, &lt;i&gt;why", "1 of the releases given"):
        assert part in head


def test_surrogates_can_be_written(found, tmp_path):
    """A name that is no proper text does not stop the page."""
    path = tmp_path / "r.html"
    write_page(replace(found, dataset="\ud800"), path)

    assert re.search(r"<h1>Privacy report: \\ud800</h1>", path.read_text())
    assert module.ENDINGS == (".html", ".htm")
