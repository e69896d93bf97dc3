"""The chapter of a report that lists releases: question, cost, picture, numbers, receipt. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pandas_blowfish.books.receipt import number_text, show_facts, translate
from pandas_blowfish.explain.report.chapters import when
from pandas_blowfish.explain.report.figure import figure_of, missing_pictures
from pandas_blowfish.explain.report.number_table import numbers_file, numbers_table, receipt_text
from pandas_blowfish.markup import Html, decimal, element, join, one_line, safe, show_call
from pandas_blowfish.plan.protocol import LAWS
from pandas_blowfish.release import Receipt, receipt_of

if TYPE_CHECKING:
    import pandas as pd

    from pandas_blowfish.explain.report.account import Account, Line, Shown

ROOM = 6_000_000  # letters of all pictures, numbers and receipts of a page
LISTED = 300  # releases that have a place of their own; all are among the entries
TABLES = 12  # of one release
FULL = "Left out so that the page stays small enough: ask the release itself, or give fewer of them."


@dataclass
class Room:
    """How many letters a page has left."""

    left: int

    def fits(self, part: Html) -> bool:
        """Return whether a part has a place, and take it."""
        if len(part) > self.left:
            return False
        self.left -= len(part)
        return True


def releases_chapter(account: Account) -> Html:
    """Return every release, newest first, as far as a page can hold them."""
    if not account.releases:
        return element("p", "Nothing has been released.")
    room, parts = Room(ROOM), [missing_pictures()]
    numbered = list(enumerate(account.releases[:LISTED], 1))
    parts += [_article(release, number, room) for number, release in numbered]
    left = len(account.releases) - LISTED
    more = f"{left:,} earlier releases are listed among the entries of the budget alone."
    parts += [element("p", more)] if left > 0 else []
    how = "Newest first. Bars and bands are 95% intervals, for each answer by itself, about the noise alone."
    return join(element("p", how), *parts)


def _article(release: Shown, number: int, room: Room) -> Html:
    """Return one release."""
    receipts = [receipt_of(table) for _, table in release.frames]
    line = release.line
    title = one_line(
        (line.name or show_call(line.query)) if line else show_call(receipts[0].get("query")), 120
    )
    key = f"entry-{line.id}" if line else f"given-{number}"
    parts = [element("h3", title, id=f"{key}-title"), _facts(release, receipts)]
    if release.checked:
        sign = "Agrees: " if release.agrees else "Does NOT agree: "
        kind = "good" if release.agrees else "bad"
        parts.append(element("p", element("strong", sign, class_=kind), one_line(release.checked, 600)))
    if any(str(receipt.get("noise")).startswith("TEST") for receipt in receipts):
        warning = "TEST ONLY: this noise was replayed from a seed. It protects nobody."
        parts.append(element("p", warning, class_="bad"))
    if release.why:
        parts.append(
            element("p", f"No numbers here: {one_line(release.why, 400)}.".replace("..", "."), class_="faint")
        )
    for place, (name, table) in enumerate(release.frames[:TABLES], 1):
        parts.append(_table(name, table, receipts[place - 1], f"{key}-{place}", room))
    if len(release.frames) > TABLES:
        parts.append(element("p", f"and {len(release.frames) - TABLES:,} more tables."))
    if receipts:
        text = element("details", element("summary", "Receipt"), receipt_text(receipts[0]))
        parts.append(text if room.fits(text) else element("p", FULL))
    return element("article", *parts, id=key, aria_labelledby=f"{key}-title")


def _facts(release: Shown, receipts: list[Receipt]) -> Html:
    """Return what was asked, what it cost, and how it was made noisy."""
    line, receipt = release.line, receipts[0] if receipts else Receipt()
    stated: dict[str, Any] = {
        "question": element("code", one_line(show_call(line.query if line else receipt.get("query")), 600)),
        "when (UTC)": when(line.time if line else str(receipt.get("time"))),
        "cost": _cost(line, receipt),
        "asked by": line.analyst if line else None,
        "measured": _measured(line, receipt),
        "checked before the charge": line.checked if line else receipt.get("checked"),
    }
    error = show_facts(translate(receipt)).get("typical_error")
    if error is not None:
        exact = receipt["expected_squared_error"] == 0
        stated["typical error"] = (
            "exact" if exact else f"{error} (root mean squared, before answers were shaped)"
        )
    if receipt.get("guarantee"):
        stated["promise"] = " ".join(map(str, receipt["guarantee"]))
    if line is not None:
        stated["ledger"] = f"entry {line.id}"
    rows = [
        element("tr", element("th", name, scope="row"), element("td", safe(value, 900)))
        for name, value in stated.items()
        if value
    ]
    return element(
        "table",
        element("caption", "About this release", class_="faint"),
        element("tbody", *rows),
        class_="facts",
    )


def _cost(line: Line | None, receipt: Receipt) -> str:
    if line is None or line.epsilon is None:
        return f"epsilon {number_text(receipt.get('epsilon'))}, as its receipt states"
    if not line.epsilon and not line.now:
        return "nothing: the policy does not hide the answer"
    more = (
        f"; now {decimal(line.now)}, since more became public" if line.now not in (None, line.epsilon) else ""
    )
    more += ", with a weaker guarantee: the budget does not cover it" if line.kind == "apart" else ""
    return f"epsilon {decimal(line.epsilon)}{more}"


def _measured(line: Line | None, receipt: Receipt) -> str:
    """Return the strategy and its noise in words."""
    strategy = line.strategy if line else receipt.get("strategy")
    scale = line.scale if line else receipt.get("scale")
    sensitivity = line.sensitivity if line else receipt.get("sensitivity")
    if strategy is None:
        return ""
    if str(scale) == "0":
        return "exactly, without noise"
    shown = show_facts(translate(receipt))
    if (law := str(receipt.get("noise"))) not in (*LAWS.values(), "TEST ONLY", "None"):  # drawn together
        return f"{strategy}: noise of scale {number_text(scale)}, {law}"
    if "lattice" in shown:
        text = f"{strategy}: discrete Laplace noise of scale {shown['scale']}"
        return f"{text}, for a sensitivity of {shown['sensitivity']} ({shown['lattice']})"
    steps = ", both in steps of what is added up" if strategy in ("total", "clipped") else ""
    return (
        f"{strategy}: discrete Laplace noise of scale {number_text(scale)} (at most), "
        f"for a sensitivity of {number_text(sensitivity)}{steps}"
    )


def _table(name: str, table: pd.DataFrame, receipt: Receipt, key: str, room: Room) -> Html:
    """Return one table of a release: its picture, then its numbers, folded."""
    title = one_line(name or receipt.get("name") or show_call(receipt.get("query")), 80)
    picture = element("figure", figure_of(table, key), *([element("figcaption", title)] if name else []))
    numbers = join(numbers_table(table, receipt, title), numbers_file(table, f"{key}.csv"))
    folded = element("details", element("summary", f"The numbers of {title}"), numbers)
    drawn = picture if room.fits(picture) else element("p", FULL)
    return join(drawn, folded if room.fits(folded) else element("p", FULL))
