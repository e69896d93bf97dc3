"""The numbers of a release as a table of a page, and all of them as a file inside it. Never sees rows."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.markup import Html, element, join, one_line, read_numbers, safe
from pandas_blowfish.release import UNSHAPED, Receipt, interval, value_of
from pandas_blowfish.spreadsheet import write_csv

ROWS = 100  # of a table that are shown
FILED = 4_000  # rows up to which all are put into the page as a file
LETTERS = 120_000  # of such a file
HELD = "holds the true answer with 95% probability"
HOLDS = {  # what intervals of some verbs are, where they are less than that
    **dict.fromkeys(("quantile", "median"), "holds the whole cell of the true answer with 95% probability"),
    **dict.fromkeys(("mode", "top"), f"{HELD}, for all values at once that may be listed"),
    "kmeans": "is its 95% interval as far as noise in whole bins goes: what the borders cut is left out",
}


def with_bounds(release: pd.DataFrame) -> pd.DataFrame:
    """Return a release with the 95% interval of each answer, where it is known, and labels as columns."""
    try:
        bounds = interval(release)
        release = release.assign(low=bounds["low"], high=bounds["high"])
    except BlowfishError:
        pass  # of some releases it is not known
    return release


def numbers_table(release: pd.DataFrame, receipt: Receipt, title: str) -> Html:
    """Return the first rows of a release as a table."""
    head = with_bounds(release.head(ROWS)).drop(columns=UNSHAPED, errors="ignore")  # for later questions
    shown, labels = read_numbers(head), head.index.nlevels
    header = [element("th", safe(name, 60) or "", scope="col") for name in shown.columns[:labels]]
    header += [element("th", safe(name, 60), scope="col", class_="number") for name in shown.columns[labels:]]
    rows = []
    for row in shown.itertuples(index=False, name=None):
        cells = [element("th", one_line(each, 60), scope="row") for each in row[:labels]]
        cells += [element("td", one_line(each, 60), class_="number") for each in row[labels:]]
        rows.append(element("tr", *cells))
    more = f" (the first {ROWS:,} of {len(release):,})" if len(release) > ROWS else ""
    caption = element("caption", one_line(f"{title}{more}", 160))
    body = element("thead", element("tr", *header)), element("tbody", *rows)
    table = scrollable(element("table", caption, *body), title)
    if "low" not in head.columns:
        return table
    verb = str(receipt.get("verb"))
    value = value_of(verb, receipt.get("values_are"))
    text = f"std is the standard error of {value}; low to high {HOLDS.get(verb, HELD)}."
    return join(element("p", text, class_="faint"), table)


def numbers_file(release: pd.DataFrame, name: str) -> Html:
    """Return a link to all numbers of a release as CSV, inside the page; nothing where they are too many."""
    if len(release) > FILED:
        return Html("")
    return embed_file(write_csv(with_bounds(release)), name)


def embed_file(text: str, name: str, most: int = LETTERS) -> Html:
    """Return a link to a text as a file inside the page; nothing where it is too long."""
    if len(text) > most:
        return Html("")
    coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    link = element("a", f"Download {name}", href=f"data:text/csv;base64,{coded}", download=name)
    return element("p", link, class_="screen")


def receipt_text(receipt: Receipt) -> Html:
    """Return a receipt as JSON that can be copied, and given to `Ledger.verify`."""
    stated = [f"  {json.dumps(str(key))}: {json.dumps(value, default=str)}" for key, value in receipt.items()]
    return element("pre", element("code", "{\n" + ",\n".join(stated) + "\n}"))


def scrollable(table: Html, title: str) -> Html:
    """Return a table that scrolls by itself on a narrow screen, also by keyboard."""
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label=one_line(title, 80))


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, numbers: Sequence[str] = ()
) -> Html:
    """Return a table whose rows are named by their first cell; columns named in `numbers` are numbers."""
    right = [name in numbers for name in header]
    kinds = ["number" if each else None for each in right]
    head = [element("th", name, scope="col", class_=kind) for name, kind in zip(header, kinds, strict=True)]
    body = [
        element(
            "tr",
            *(
                element(
                    "td" if at else "th",
                    safe(cell, 300),
                    scope=None if at else "row",
                    class_=kinds[at],
                )
                for at, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    named = element("caption", caption)
    table = element("table", named, element("thead", element("tr", *head)), element("tbody", *body))
    return scrollable(table, caption)
