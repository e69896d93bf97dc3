"""The chapters of a report about trust: whether the ledger is sound, and what is not promised.

Never sees rows: plain data of an account become escaped markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandas_blowfish.markup import Html, element, join, one_line
from pandas_blowfish.policy.lint import COME_AND_GO

if TYPE_CHECKING:
    from pandas_blowfish.explain.report.account import Account

NAMED = 20  # other datasets that are named
SIGNED = "Entries are signed with a key (BLOWFISH_LEDGER_KEY): whoever does not have it cannot rewrite them."
UNSIGNED = (
    "Entries are not signed with a key: whoever can write the file could rewrite all of it. A receipt kept "
    "elsewhere shows that; BLOWFISH_LEDGER_KEY, set before the first entry, prevents it."
)
CUT = (
    "Whether the end of the ledger was cut off, only a receipt that is kept elsewhere can show: give the "
    "newest to verify. The last entry of the ledger, at the time of this page, has the hash"
)
GROUPS = "Values in different groups of a policy are not protected from each other: see what it leaves open."
LIMITS = (
    "It holds for whoever does not infer one row from others (relatives and households reveal each other), "
    "nor a column from the rest of its row: what is disclosed there reveals what goes with it.",
    "Whoever holds the rows, or the ledger with its keys, is trusted. Whoever sees releases need not be.",
    "Only what this ledger knows is counted. An exact count that is published elsewhere must be recorded in "
    "it; an exact sum, or anything else, cannot be.",
    "How long a release took, and that it was asked at all, is not hidden.",
)


def verify_chapter(account: Account) -> Html:
    """Return the chapter about the ledger: whether it is sound, and how to see that oneself."""
    return join(
        _result(account),
        element("p", SIGNED if account.keyed else UNSIGNED),
        element("p", "This page proves nothing by itself: anyone can write a page. To see for yourself:"),
        element("pre", element("code", _code(account))),
        element("p", f"{CUT} ", element("code", one_line(account.head, 120)), "."),
    )


def _result(account: Account) -> Html:
    """Return the result of `verify`; a failure is an alarm, in words and in colour."""
    if account.problem:
        sad = element("p", element("strong", "The ledger is NOT sound.", class_="bad"))
        lines = [element("p", one_line(line, 600)) for line in account.problem.splitlines() if line.strip()]
        return element("div", sad, *lines, class_="alarm", role="alert")
    text = "entries, and every answer kept with them, are as they were written, and all sums follow."
    return element("p", element("strong", "Verified.", class_="good"), f" {account.entries:,} {text}")


def _code(account: Account) -> str:
    """Return what to type to verify the ledger."""
    where = repr(one_line(account.ledger, 200)) if account.ledger else ""
    return (
        f"import pandas_blowfish as bf\n\nledger = bf.Ledger({where})\n"
        "ledger.verify()  # every entry and every kept answer\n"
        "ledger.verify(release.blowfish.receipt)  # a release that somebody handed on\n"
        f"ledger.budget({one_line(account.dataset, 200)!r})\nledger.entries"
    )


def limits(account: Account) -> Html:
    """Return the chapter about what is not promised."""
    text = [_unit(account), _rows(account)]
    if account.outside == "clip":
        text.append(
            "Numbers beyond the declared bounds count as the nearest cell: the promise is about those."
        )
    text += (
        [GROUPS] if account.policy is None or account.policy.rows_public else []
    )  # else two steps lead there
    text += [*LIMITS, _others(account)]
    return element("ul", *(element("li", each) for each in text))


def _unit(account: Account) -> str:
    if account.unit:
        unit = repr(one_line(account.unit, 80))
        if account.policy is not None and (many := account.policy.max_rows) > 1:
            kept = f"One value of {unit} is one person, with up to {many:,} rows; of more, {many:,} were kept"
            return f"{kept}, by chance.{f' {COME_AND_GO}.' if account.policy.presence else ''}"
        return f"One value of {unit} is one person: repeats were refused when the rows were protected."
    return "The promise is about one row. Someone with r rows is protected r times less: epsilon times r."


def _rows(account: Account) -> str:
    if account.policy is None:
        return "Whether the number of rows is public cannot be read from this ledger."
    if not account.policy.rows_public:
        return "Whether a row is there at all is a secret too, and so is the number of rows."
    many = f" ({account.rows:,})" if account.rows is not None else ""
    hidden = "Whether someone is in the table is not protected, only their values are"
    return f"The number of rows{many} is public. {hidden}."


def _others(account: Account) -> str:
    """Return which other budgets the same people may have."""
    if not account.others:
        return "Each dataset name has a budget of its own: the same rows under another name would have two."
    names = ", ".join(one_line(name, 60) for name in account.others[:NAMED])
    more = f" and {len(account.others) - NAMED:,} more" if len(account.others) > NAMED else ""
    words = "Each dataset name has a budget of its own. Those of the same people add up; this ledger also has"
    return f"{words} {names}{more}."
