"""One page for the privacy officer, from the account of a dataset. Never sees rows, only releases.

The page asks nothing of any network, runs no script, and shows what releases and the ledger state anyway.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.explain.report.chapters import budget, list_uncovered, promise_chapter
from pandas_blowfish.explain.report.listing import releases_chapter
from pandas_blowfish.explain.report.style import CSS, POLICY
from pandas_blowfish.explain.report.trust import limits, verify_chapter
from pandas_blowfish.markup import Html, decimal, element, join, one_line
from pandas_blowfish.version import __version__

if TYPE_CHECKING:
    from pandas_blowfish.explain.report.account import Account

ENDINGS = (".html", ".htm")
CHAPTERS = {
    "promise": "The promise",
    "odds": "What the promise means",
    "findings": "What the policy leaves open",
    "budget": "The budget",
    "releases": "The releases",
    "verification": "Is the ledger sound?",
    "limits": "The limits of the promise",
}


def page_path(path: Any) -> Path:
    """Return where a page can be written, or raise before anything is read or written."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ArgumentTypeError("path", "not a path", allowed="a str or a pathlib.Path")
    if "\0" in os.fspath(path):
        raise ArgumentError("path", "not a path", allowed="a file name")
    page = Path(path)
    if page.suffix.lower() not in ENDINGS:
        raise ArgumentError("path", f"unknown ending {page.suffix!r}", allowed=", ".join(ENDINGS))
    if page.is_dir() or not page.parent.is_dir():
        raise ArgumentError("path", "not a file in a directory that exists", fix="make the directory first.")
    return page


def write_page(account: Account, path: Path) -> Path:
    """Write the page of an account, as a whole or not at all, and return where."""
    text, aside = page_of(account), path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        aside.write_text(text, encoding="utf-8", errors="replace")
        os.replace(aside, path)
    except OSError as error:
        problem = f"it cannot be written ({error.strerror})"
        raise ArgumentError("path", problem, fix="choose a place that can be written to.") from error
    finally:
        aside.unlink(missing_ok=True)
    return path


def page_of(account: Account) -> str:
    """Return the page of an account as text."""
    name = one_line(account.dataset, 80)
    title = f"Privacy report: {name}"
    parts = {
        **promise_chapter(account),
        "budget": budget(account),
        "releases": releases_chapter(account),
        "verification": verify_chapter(account),
        "limits": limits(account),
    }
    chapters = [_chapter(key, CHAPTERS[key], parts[key]) for key in CHAPTERS]
    links = [element("li", element("a", CHAPTERS[key], href=f"#{key}")) for key in CHAPTERS]
    head = [
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer">'),
        element("title", title),
        Html(f"<style>{CSS}</style>"),
    ]
    body = [
        element("a", "Skip to the report", href="#report", class_="skip"),
        element("header", element("h1", title), *_opening(account)),
        element("nav", element("ul", *links), aria_label="Chapters"),
        element("main", *chapters, id="report"),
        element("footer", element("p", _made(account))),
    ]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _opening(account: Account) -> list[Html]:
    """Return what the page is, and the two things to know first."""
    left = account.total - account.spent
    where = f"the ledger {one_line(account.ledger, 80)}" if account.ledger else "a ledger in memory"
    words = (
        "What was promised about the rows of this dataset, what has been released from them, and what that "
        f"has cost, as {where} states it. No row was read to make this page, and nothing was spent."
    )
    checked = _word("nothing edited, deleted or reordered was found", good=True)
    sound = element("li", "The ledger was verified: ", checked, ".")
    if account.problem:
        first = one_line(account.problem.splitlines()[0], 300)
        sound = element("li", _word("The ledger is NOT sound", good=False), f": {first}")
    used, total = decimal(account.spent), decimal(account.total)
    spent = f"{used} of the budget of {total} is spent, {decimal(left)} is left"
    facts = [sound, element("li", spent[:1].upper() + spent[1:], *_shut(account))]
    facts += [element("li", _word(each, good=False)) for each in list_uncovered(account)]
    disagree = sum(not each.agrees for each in account.releases)
    if disagree:
        text = f"{disagree:,} of the releases given for this page do not agree with the ledger"
        facts.append(element("li", _word(text, good=False)))
    return [element("p", words), element("ul", *facts)]


def _shut(account: Account) -> Sequence[object]:
    return (
        (": ", _word("closed", good=False), f", {account.closed}") if account.closed is not None else (".",)
    )


def _word(text: str, *, good: bool) -> Html:
    return element("strong", text, class_="good" if good else "bad")


def _chapter(key: str, title: str, content: Html) -> Html:
    return element(
        "section", element("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title"
    )


def _made(account: Account) -> Html:
    made = one_line(account.made)
    return join(Html("Made by pandas_blowfish "), Html(__version__), element("span", f" at {made}."))
