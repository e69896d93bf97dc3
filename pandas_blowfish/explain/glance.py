"""A protected frame at a glance: its promise, its budget, the last releases. Touches no row.

Shows what the ledger states anyway, in a notebook and in a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pandas_blowfish import markup
from pandas_blowfish.arrangement import lengthen
from pandas_blowfish.books.balance import latest_charges
from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.receipt import number_text
from pandas_blowfish.errors import BlowfishError, LedgerError, NotProtectedError
from pandas_blowfish.markup import Html
from pandas_blowfish.policy.describe import policy_html
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope
from pandas_blowfish.queries.frames.protect import open_frame
from pandas_blowfish.release import UNSHAPED, Receipt, facts_of

LAST = 5  # releases that are shown
SHOWN = 12  # answers of a release that are shown
LISTED = 20  # datasets of a ledger that are shown
HOW = """policy = bf.Policy(schema)  # bf.draft(df) prints a schema to begin with
df = df.blowfish.protect(policy, epsilon=1, dataset="a name", ledger="budget.db")
df.blowfish.plan.hist("a column", epsilon=0.1)  # what it would cost: nothing is spent
df.blowfish.hist("a column", epsilon=0.1, name="a name")"""
HEADER = ("entry", "name", "query", "cost", "time")


@dataclass(frozen=True)
class Glance:
    """What the ledger states of a protected frame.

    Attributes:
        dataset: Its name.
        location: Where the ledger is.
        policy: The promise, with the facts recorded since.
        budget: Total, spent, and why it is closed if it is.
        charges: The last ones, newest first.
        scope: The filters, groups and selected columns of the verbs to come.
    """

    dataset: str
    location: str
    policy: Policy
    budget: Budget
    charges: tuple[Entry, ...]
    scope: Scope

    def text(self) -> str:
        """Return it for a terminal."""
        lines = [f"dataset {markup.one_line(self.dataset)!r} in ledger {self.location}"]
        bar = markup.text_bar(self.budget.spent, self.budget.total)
        lines.append(f"budget {bar} {markup.spent_text(self.budget.spent, self.budget.total)}")
        lines += [f"closed: {self.budget.closed}"] if self.budget.closed is not None else []
        lines += [f"{key} {markup.one_line(value)}" for key, value in self.scope.describe().items()]
        if self.charges:
            lines.append("last releases")
        for number, name, query, cost, time in map(_row, self.charges):
            lines.append(f"  {number} {time} cost {cost}: {name + ': ' if name else ''}{query}")
        return "\n".join([*lines, repr(self.policy)])

    def html(self) -> Html:
        """Return it for a notebook."""
        facts = {"dataset": self.dataset, "ledger": self.location, **self.scope.describe()}
        rows = [_row(entry) for entry in self.charges]
        last = markup.data_table(HEADER, rows, "Last releases") if rows else markup.note("No releases yet.")
        return markup.card(
            "Protected frame",
            markup.facts_table(facts),
            budget_bar(self.budget),
            last,
            markup.fold("Policy", Html(policy_html(self.policy))),
        )


def glance(record: Any, scope: Scope) -> Glance:
    """Return what there is to see of a frame that carries this record, if it is a protected one."""
    source = open_frame(record)
    name, location = source.dataset.name, source.ledger.location
    charges = tuple(latest_charges(location, name, LAST))
    return Glance(name, location, source.policy, source.dataset.budget, charges, scope)


def budget_bar(budget: Budget) -> Html:
    """Return a bar of what is spent, and why no more is charged if so."""
    closed = [markup.note(f"closed: {budget.closed}")] if budget.closed is not None else []
    return markup.join(
        markup.budget_bar(budget.spent, budget.total, markup.spent_text(budget.spent, budget.total)), *closed
    )


def budget_html(budget: Budget) -> Html:
    """Return a budget for a notebook."""
    return markup.card("Budget", budget_bar(budget))


def ledger_html(ledger: Ledger) -> Html:
    """Return a ledger for a notebook: its datasets with their budgets, or why they cannot be read."""
    try:
        names = [*ledger.datasets, *ledger.pools]
        rows = [(name, budget_bar(ledger.budget(name))) for name in names[:LISTED]]
    except LedgerError as error:
        return markup.card(repr(ledger), markup.note(str(error)))
    more = f"and {len(names) - LISTED:,} more: ledger.datasets" if len(names) > LISTED else ""
    return markup.card(repr(ledger), markup.data_table(["dataset or pool", "budget"], rows, more=more))


def release_text(release: pd.DataFrame) -> str:
    """Return a release for a terminal: its first numbers as people read them, then its receipt."""
    numbers, receipt = _numbers(release), repr(Receipt(release.attrs["blowfish"]))
    if numbers is None:
        return receipt
    more = f"\n... {len(release) - SHOWN:,} more" if len(release) > SHOWN else ""
    return f"Release\n{numbers.to_string(index=False)}{more}\n{receipt}"


def release_html(release: pd.DataFrame) -> str:
    """Return a release for a notebook: its first numbers as people read them, then its receipt."""
    numbers, receipt = _numbers(release), Receipt(release.attrs["blowfish"])._repr_html_()
    if numbers is None:
        return receipt
    more = f"and {len(release) - SHOWN:,} more" if len(release) > SHOWN else ""
    table = markup.data_table(list(numbers.columns), numbers.to_numpy().tolist(), more=more)
    return markup.join(markup.card("Release", table), Html(receipt))


def _numbers(release: pd.DataFrame) -> pd.DataFrame | None:
    """Return the first numbers of a release as text; None for a frame that was changed beyond reading."""
    try:
        facts_of(release)["verb"]
        return markup.read_numbers(lengthen(release).head(SHOWN).drop(columns=UNSHAPED, errors="ignore"))
    except _WRONG:
        return None


def frame_text(record: Any, scope: Scope) -> str:
    """Return any frame's view for a terminal: a protected one, a release, or what to do; never raises."""
    if isinstance(record, Mapping) and record.get("kind") == "release":
        return repr(Receipt(record))
    try:
        return glance(record, scope).text()
    except _WRONG as error:
        return f"BlowfishAccessor: {_told(error)}"


def frame_html(record: Any, scope: Scope) -> str:
    """Return any frame's view for a notebook: a protected one, a release, or what to do; never raises."""
    if isinstance(record, Mapping) and record.get("kind") == "release":
        return Receipt(record)._repr_html_()
    try:
        return glance(record, scope).html()
    except _WRONG as error:
        lines = [markup.paragraph(line) for line in _told(error).splitlines()]
        steps = [markup.element("pre", HOW)] if isinstance(error, NotProtectedError) else []
        return markup.card("BlowfishAccessor", *lines, *steps)


_WRONG = (BlowfishError, ArithmeticError, LookupError, OSError, TypeError, ValueError)  # of damaged records


def _told(error: Exception) -> str:
    known = isinstance(error, BlowfishError)
    return str(error) if known else f"the frame's record cannot be read ({type(error).__name__})"


def _row(entry: Entry) -> tuple[Any, ...]:
    """Return a charge as a view shows it."""
    body = entry.body
    name = markup.one_line(body.get("name") or "", 40)
    query = markup.one_line(markup.show_call(body.get("call") or ""), 120)
    weaker = " (weaker guarantee, not of the budget)" if entry.kind == "apart" else ""
    cost = f"{number_text(body.get('epsilon'))}{weaker}"
    return entry.id, name, query, cost, entry.time[:16].replace("T", " ")


Budget.view, Ledger.view = budget_html, ledger_html
