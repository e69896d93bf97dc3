"""The pieces of views are escaped, short, named, and carry no colours that could vanish."""

import re
from fractions import Fraction
from html.parser import HTMLParser

import pandas as pd
import pytest

from pandas_blowfish import markup

HOSTILE = [
    "<script>alert(1)</script>",
    'a" onclick="x',
    "two\nlines\x00",
    "\u202eturned",
    "x" * 5_000,
    "&amp;",
    "",
]
ONE, QUARTER = Fraction(1), Fraction(1, 4)


class Outline(HTMLParser):
    """Reads elements, and fails where one is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        """Remember an element."""
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the innermost element."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Remember text."""
        self.text.append(data)


def outline(text):
    """Return what a piece of markup consists of."""
    found = Outline()
    found.feed(text)
    found.close()
    assert not found.open
    return found


def _pieces(text):
    yield markup.facts_table({text: text}, text)
    yield markup.data_table([text, text], [[text, text]], text, more=text)
    yield markup.budget_bar(QUARTER, ONE, text)
    yield markup.badge(text)
    yield markup.note(text)
    yield markup.paragraph(text)
    yield markup.fold(text, markup.note(text))
    yield markup.card(text, markup.badge(text))
    yield markup.element("p", text, title=text)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:20])
def test_pieces_are_escaped_and_short(text):
    """Whatever a name is, it stays text, on one line, of a length that can be read."""
    for piece in list(_pieces(text))[:-1]:
        found = outline(piece)
        names = {tag for tag, _ in found.seen}

        assert not names & {"script"}
        assert not any("onclick" in given for _, given in found.seen)
        assert "\n" not in piece
        assert "\u202e" not in piece
        assert len(piece) < 15_000
    assert outline(markup.element("p", text, title=text)).text == ([text] if text else [])


def test_no_piece_fixes_colours():
    """Text inherits its colour; lines and bars are the text's own, fainter: light and dark pages work."""
    for piece in _pieces("name"):
        styles = " ".join(given.get("style", "") for _, given in outline(piece).seen)
        colours = re.findall(r"#[0-9a-f]{3,6}\b|\b(?:white|black|red|blue|green|gray|grey)\b(?!-)", styles)

        assert not colours
        assert not re.search(r"(?<!-)\bcolor:(?!inherit)", styles)


def test_tables_can_be_read_aloud():
    """Tables have captions, and heads that say what they are heads of."""
    found = outline(markup.data_table(["name", "cost"], [["a", 1], ["b", 2]], "Costs"))

    scopes = [given.get("scope") for tag, given in found.seen if tag == "th"]
    assert scopes == ["col", "col", "row", "row"]
    assert "caption" in [tag for tag, _ in found.seen]
    assert found.text == ["Costs", "name", "cost", "a", "1", "b", "2"]


def test_a_bar_says_what_it_shows():
    """The bar is a picture with a name; the same words are beside it; overspent ones are striped."""
    found = outline(markup.budget_bar(QUARTER, ONE, "spent 1/4 of 1"))
    over = outline(markup.budget_bar(ONE * 2, ONE, "too much"))

    assert found.seen[0][1]["role"] == "img"
    assert found.seen[0][1]["aria-label"] == "spent 1/4 of 1" == found.text[0]
    assert "width:25.0%" in found.seen[1][1]["style"]
    assert "width:100.0%" in over.seen[1][1]["style"]
    assert "gradient" in over.seen[1][1]["style"]


@pytest.mark.parametrize(
    ("spent", "total", "shown"),
    [
        (0, 1, "[" + "-" * 20 + "]"),
        (1, 1, "[" + "#" * 20 + "]"),
        (3, 2, "[" + "#" * 20 + "]"),
        (0, 0, "[" + "#" * 20 + "]"),
    ],
)
def test_text_bars(spent, total, shown):
    """A terminal's bar is as long, whatever it shows."""
    assert markup.text_bar(Fraction(spent), Fraction(total)) == shown


def test_text_facts_are_aligned():
    """Values begin in one column, and hostile ones stay on their line."""
    lines = markup.text_facts({"a": "x\ny", "longer": "z" * 1_000}, "Title").splitlines()

    assert lines[0] == "Title"
    assert lines[1] == "  a       x\\ny"
    assert len(lines) == 3
    assert len(lines[2]) < 420


def test_short_numbers_are_exact_and_long_ones_are_told_as_such():
    """No view prints a number of a thousand digits."""
    assert markup.amount(Fraction(-3, 7)) == "-3/7"
    assert markup.amount(Fraction(10**40, 3)) == "about 3.33333e+39"
    assert markup.amount(Fraction(10**400)) == "beyond all bounds"


def test_safe_markup_is_put_in_as_it_is():
    """What the helpers made is not escaped twice."""
    inner = markup.badge("a < b")

    assert inner in markup.card("title", inner)
    assert inner in markup.facts_table({"key": inner})
    assert markup.Html("<b>x</b>")._repr_html_() == "<b>x</b>"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("hist('age', strategy='auto', epsilon='1')", "hist('age', epsilon=1)"),
        ("count(strategy='auto', epsilon='1/8')", "count(epsilon=0.125)"),
        ("hist('age', strategy='tree', epsilon='2/3')", "hist('age', strategy='tree', epsilon='2/3')"),
    ],
)
def test_calls_are_shown_in_decimals_without_what_goes_without_saying(query, shown):
    """That the planner chose is no news; a fraction stays where no decimal says the same."""
    assert markup.show_call(query) == shown


def test_cells_of_dates_are_named_by_them():
    """Days, weeks, months, years and other runs of whole days; instants otherwise, in their own zone."""
    ends = {
        "2024-03-01": ["2024-02-01", "2024-02"],
        "2024-02-02": ["2024-02-01", "2024-02-01"],
        "2024-02-08": ["2024-02-01", "2024-02-01 to 2024-02-07"],
        "2025-01-01": ["2024-01-01", "2024"],
        "2024-04-01": ["2024-02-01", "2024-02-01 to 2024-03-31"],
    }
    for right, (left, name) in ends.items():
        for tz in (None, "Europe/Paris"):
            cell = pd.Interval(pd.Timestamp(left, tz=tz), pd.Timestamp(right, tz=tz), closed="left")
            assert markup.cell_name(cell) == name
    hours = pd.Interval(pd.Timestamp("2024-02-01"), pd.Timestamp("2024-02-01 06:00"), closed="left")
    assert markup.cell_name(hours) == "[2024-02-01, 2024-02-01 06:00)"
    assert markup.cell_name(pd.NaT) == "missing"


def test_columns_of_one_name_are_shown_once():
    """A frame that someone joined is shown by the first of them."""
    frame = pd.DataFrame([[1.0, 0.5, 2.0]], columns=["count", "std", "count"])

    assert markup.read_numbers(frame)["count"].tolist() == ["1"]
