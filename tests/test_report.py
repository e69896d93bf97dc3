"""bf.report: a page that is sound HTML, safe, accessible and offline, for ledgers of any kind."""

import json
import re
import shutil
import sqlite3
import subprocess
from fractions import Fraction
from html.parser import HTMLParser

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    LedgerNotFoundError,
    NotReleasedError,
    UnknownDatasetError,
)

HOSTILE = "<script>alert(1)</script>\"' onload=x &amp; </style></title> ]]> -->"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Reads a page and fails where an element is not closed, or closed twice."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.headings, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        """Remember an element, its attributes, and what it is in."""
        given = dict(attrs)
        assert len(given) == len(attrs), f"{tag} says something twice"
        self.seen.append((tag, given, tuple(self.open)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Remember an element without content."""
        self.seen.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        """Close the innermost element."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Remember text that is no style."""
        if self.open[-1:] != ["style"]:
            self.text.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the text of a page with releases of many kinds, hostile names, facts and raises."""
    folder = tmp_path_factory.mktemp("report")
    schema = pa.DataFrameSchema(
        {
            HOSTILE: pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.threshold(5)),
            "kind": pa.Column(str, pa.Check.isin(["a", HOSTILE]), metadata=bf.full()),
            "place": pa.Column(str, pa.Check.isin(["n", "s"]), metadata=bf.public()),
        }
    )
    rows = pd.DataFrame({HOSTILE: range(100), "kind": ["a", HOSTILE] * 50, "place": ["n"] * 50 + ["s"] * 50})
    df = rows.blowfish.protect(bf.Policy(schema), epsilon=2, dataset=HOSTILE, ledger=folder / "l.db")
    b = df.blowfish
    b.hist(HOSTILE, epsilon="0.1", name=HOSTILE)
    b.cumhist(HOSTILE, epsilon="0.1", name="cumulative")
    b.marginal(["kind", "place"], order=1, epsilon="0.1", name="marginals")
    b.hist(["kind", "place"], epsilon="0.1", name="heat")
    b.mean(HOSTILE, epsilon="0.1", name="mean")
    unnamed = b.groupby("kind").count(epsilon="0.1")
    b.count(epsilon="0.1")
    b.ledger.raise_budget(HOSTILE, 3, HOSTILE)
    b.ledger.record_exact(HOSTILE, bf.Marginal("place"))
    return bf.report(folder / "l.db", folder / "report.html", releases=[unnamed])


def test_the_page_is_sound_html(page):
    """Balanced, ids unique, references found, headings in order, one main, a language, a title."""
    found = Page(page.read_text())
    tags = [tag for tag, _, _ in found.seen]
    ids = [given["id"] for _, given, _ in found.seen if "id" in given]

    assert len(set(ids)) == len(ids)
    for _, given, _ in found.seen:
        for key in ("aria-labelledby", "href", "xlink:href"):
            link = given.get(key, "")
            if key == "aria-labelledby" and link:
                assert link in ids
            if link.startswith("#"):
                assert link[1:] in ids
        for link in re.findall(r"url\(#([^)]*)\)", " ".join(str(value) for value in given.values())):
            assert link in ids
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    assert [
        tags.count(tag) for tag in ("html", "head", "body", "main", "header", "nav", "footer", "title")
    ] == [1] * 8
    assert found.seen[0][1]["lang"] == "en"


def test_the_page_can_be_read_aloud(page):
    """Pictures have names, tables captions and heads with scopes, what scrolls takes the keyboard."""
    found = Page(page.read_text())

    for tag, given, inside in found.seen:
        if tag == "img":
            assert given["alt"]
        if tag == "svg":
            assert given["role"] == "img"
            assert len(given["aria-label"]) > 20
        if given.get("class") in ("bar", "bar over"):
            assert given["aria-label"]
        if tag == "th" and "svg" not in inside:
            assert given["scope"] in ("row", "col")
        if given.get("class") == "wide":
            assert given["tabindex"] == "0"
    tables = [tag for tag, _, _ in found.seen if tag in ("table", "caption")]
    assert tables == ["table", "caption"] * (len(tables) // 2)


def test_the_page_asks_for_nothing(page):
    """No script, no address, no handler; every picture is inside, and a policy forbids the rest."""
    text = page.read_text()
    found = Page(text)

    assert not {tag for tag, _, _ in found.seen} & {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "form",
        "base",
    }
    for tag, given, _ in found.seen:
        assert not [key for key in given if key.startswith("on")]
        for key in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert re.match(r"#|data:(image/png|text/csv);base64,|$", given.get(key) or ""), (tag, key)
    assert not re.search(r"https?://", text)
    (policy,) = [given["content"] for tag, given, _ in found.seen if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_hostile_names_are_text(page):
    """They are shown, as they are, wherever a name is."""
    found = Page(page.read_text())
    words = "".join(found.text)

    assert "<script>alert(1)</script>" in words
    assert "Privacy report: <script>" in words
    assert "matches entry" in words


def test_the_page_is_what_the_ledger_says(page):
    """Every entry, the verification, the releases that were named and given."""
    words = " ".join(Page(page.read_text()).text)

    for part in (
        "Verified.",
        "total raised",
        "fact became public",
        "it has no name",
        "Head",
        "heat",
        "cumulative",
    ):
        assert part in words or part == "Head"
    assert len(re.findall("<article", page.read_text())) == 7


def test_arguments_are_checked_before_anything_is_written(tmp_path):
    """Typed errors; no file is made, neither a page nor a ledger."""
    book = bf.Ledger()
    out = tmp_path / "out.html"
    for name in ("a", "b"):
        bf.datasets.patients(5).blowfish.protect(
            bf.datasets.patients_policy(), epsilon=1, dataset=name, ledger=book, new=True
        )

    with pytest.raises(ArgumentError, match="'a', 'b'"):
        bf.report(book, out)
    with pytest.raises(ArgumentError, match="none yet"):
        bf.report(bf.Ledger(), out)
    with pytest.raises(UnknownDatasetError):
        bf.report(book, out, dataset="c")
    with pytest.raises(LedgerNotFoundError):
        bf.report(tmp_path / "none.db", out)
    with pytest.raises(ArgumentTypeError):
        bf.report(5, out)
    with pytest.raises(ArgumentError):
        bf.report(book, tmp_path / "out.pdf", dataset="a")
    with pytest.raises(NotReleasedError):
        bf.report(book, out, dataset="a", releases=[pd.DataFrame()])
    assert list(tmp_path.iterdir()) == []
    assert bf.report(book, out, dataset="a") == out


def test_a_ledger_that_was_tampered_with_still_has_a_page(tmp_path):
    """It says so first, and again where it was verified."""
    df = bf.datasets.patients(20).blowfish.protect(
        bf.datasets.patients_policy(), epsilon=1, dataset="d", ledger=tmp_path / "l.db"
    )
    df.blowfish.hist("sex", epsilon="0.5", name="sexes")
    df.blowfish.ledger.close()
    with sqlite3.connect(tmp_path / "l.db") as connection:
        connection.execute(
            'UPDATE entries SET body = replace(body, \'"epsilon":"1/2"\', \'"epsilon":"1/9"\')'
        )
    connection.close()

    text = bf.report(tmp_path / "l.db", tmp_path / "r.html").read_text()

    Page(text)
    assert text.count("NOT sound") == 2
    assert "its hash does not follow" in text


def test_large_ledgers_stay_small_pages(tmp_path):
    """Thousands of entries are a table of the newest, and a file of all."""
    book = bf.Ledger()
    df = bf.datasets.patients(20).blowfish.protect(
        bf.datasets.patients_policy(), epsilon=100, dataset="d", ledger=book
    )
    for number in range(3_000):
        book.charge("d", Fraction(1, 1000), {"call": f"hist('age', epsilon='1/{number}')"})
    for number in range(4):
        df.blowfish.hist("age", epsilon="0.1", name=f"release {number}")

    made = bf.report(book, tmp_path / "r.html")

    assert made.stat().st_size < 2_000_000
    assert "the newest 500 of 3,009" in made.read_text()


def test_the_page_in_a_browser(page, tmp_path):
    """Headless Chromium shows it without an error on its console, and asks no network for anything."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on the PATH: the page was not opened in a browser")
    control = tmp_path / "control.html"
    control.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.error('seen')</script>")

    shown, said, asked = _browsed(browser, page, tmp_path / "one")
    _, loud, fetched = _browsed(browser, control, tmp_path / "two")

    assert shown.count("<svg") == page.read_text().count("<svg") >= 6
    assert "CONSOLE" not in said
    assert asked == []
    assert "seen" in loud
    assert fetched == ["http://127.0.0.1:9/x.png"]  # what would be found is found


def _browsed(browser, path, folder):
    """Return the document a browser makes of a page, what it says, and what the page asks a network for."""
    folder.mkdir()
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ]
    flags += [f"--user-data-dir={folder / 'user'}", f"--log-net-log={folder / 'net.json'}", "--dump-dom"]
    flags += ["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    done = subprocess.run(
        [browser, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    log = (folder / "net.json").read_text()
    try:
        events = json.loads(log)["events"]
    except ValueError:  # it was ended before the last line was written
        events = json.loads(log.rstrip().rstrip(",") + "]}")["events"]
    own = "not an origin"  # of what the browser asks for by itself
    starts = [event.get("params", {}) for event in events]
    asked = {each["url"] for each in starts if each.get("initiator", own) != own and "url" in each}
    return done.stdout, done.stderr, sorted(url for url in asked if url.startswith(("http", "ws")))
