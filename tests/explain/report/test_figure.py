"""Pictures inside a page: named, with ids of their own, in the page's colours, without any address."""

import re
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.explain.report import figure
from pandas_blowfish.explain.report.figure import describe_picture, figure_of, inline, missing_pictures
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.datasets.patients_policy()


@pytest.fixture(scope="module")
def df():
    """Return protected rows with budget to spare."""
    return bf.datasets.patients(200).blowfish.protect(POLICY, epsilon=100)


def test_an_svg_of_a_page(df):
    """Its ids begin with the key, its words are the page's colour, and it names no address."""
    ages = df.blowfish.hist("age", epsilon=1)

    one, two = figure_of(ages, "one"), figure_of(ages, "two")

    ids = [set(re.findall(r'id="([^"]*)"', text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert all(name.startswith("one-") for name in ids[0])
    for link in re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', one):
        assert "".join(link) in ids[0]
    assert "http" not in one
    assert "<!--" not in one
    assert "<style" not in one
    assert figure.INK not in one
    assert "currentColor" in one
    assert ">age</text>" in one
    assert one.startswith('<svg role="img" aria-label="Chart of hist(')
    assert "viewBox" in one[:600]


def test_hostile_names_stay_text(df):
    """Names that look like markup, or like ids, change nothing."""
    name = 'x</text><script>alert(1)</script> id="y" url(#z) -->'
    policy = bf.Policy(Domain((integers(name, 0, 3),)))
    rows = pd.DataFrame({name: [0, 1, 2]}).blowfish.protect(policy, epsilon=1)

    text = figure_of(rows.blowfish.hist(name, epsilon=1), "k")

    assert "<script" not in text
    assert 'id="y" url(#z)' in text
    assert text.count("</svg>") == 1


def test_a_large_picture_is_an_image(df, monkeypatch):
    """It has a name too, and is inside the page."""
    monkeypatch.setattr(figure, "LARGEST", 1_000)

    text = figure_of(df.blowfish.hist("age", epsilon=1), "k")

    assert text.startswith('<img src="data:image/png;base64,')
    assert 'alt="Chart of hist(' in text
    assert "</img>" not in text


def test_what_cannot_be_drawn_says_why(df):
    """A frame that lost its counts is a sentence, not an error."""
    lost = df.blowfish.hist("age", epsilon=1).drop(columns="count")
    lost["count"] = np.nan

    assert "No picture" in figure_of(lost.iloc[:0], "k")


def test_the_users_style_is_left_alone(df):
    """Pictures are ours, whatever the style; it is the same after."""
    before = dict(matplotlib.rcParams)
    with matplotlib.style.context("dark_background"):
        dark = figure_of(df.blowfish.hist("sex", epsilon=1, name="s"), "k")

    assert dark == figure_of(df.blowfish.hist("sex", epsilon=1, name="s"), "k")
    assert dict(matplotlib.rcParams) == before


def test_a_picture_is_told_in_words(df):
    """How many answers, and between what; values that are no numbers are only counted."""
    counts = df.blowfish.hist("region", epsilon=1)
    low, high = counts["count"].min(), counts["count"].max()

    assert describe_picture(counts).startswith("Chart of hist('region'")
    assert f"4 answers, from {low:,.6g} to {high:,.6g}" in describe_picture(counts)
    day = counts.assign(count=pd.Timestamp("2020-01-01"))
    assert "4 answers; the numbers" in describe_picture(day)


def test_without_matplotlib_it_says_what_to_install(df, monkeypatch):
    """The page is made all the same."""
    ages = df.blowfish.hist("age", epsilon=1)
    assert missing_pictures() == ""
    for name in [each for each in sys.modules if each.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)

    assert "pip install" in missing_pictures()
    assert "pip install" in figure_of(ages, "k")


def test_inline_needs_no_view_box():
    """An SVG that has none is put in as it is."""
    assert inline('<?xml version="1.0"?><svg a="1"><g id="x"/></svg>', "k", "n").endswith(
        '><g id="k-x"/></svg>'
    )
