"""The chapters of a report about the promise and the budget: words, odds, findings, entries.

Never sees rows: plain data of an account become escaped markup.
"""

from __future__ import annotations

import csv
import io
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from pandas_blowfish.explain.report.number_table import embed_file, plain_table
from pandas_blowfish.explain.report.promise import Example, examples, left_out
from pandas_blowfish.explain.report.timeline import timeline
from pandas_blowfish.markup import Html, decimal, element, join, one_line, share, show_call
from pandas_blowfish.policy.describe import describe_secrets, neighbours_of
from pandas_blowfish.policy.odds import Odds
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.spreadsheet import escape

if TYPE_CHECKING:
    from pandas_blowfish.explain.report.account import Account, Line
    from pandas_blowfish.explain.report.shares import Shares

COLUMNS = 200  # secrets in the table
FACTS = 40  # public facts that are listed
FOUND = 60  # findings that are listed
ENTRIES = 500  # newest entries in the table; all are in the file
YAML = 60_000  # letters of a policy that is written out
FILE = 3_000_000  # letters of the file of entries
KINDS = {"open": "opened", "charge": "release", "raise": "total raised", "fact": "fact became public"}
KINDS |= {"apart": "release with a weaker guarantee, reported separately from the budget"}
KINDS |= {"answer": "answer kept", "upgrade": "seal key moved out of the ledger"}
KINDS |= {"limit": "limit of an analyst set"}
PARALLEL = (
    ", but releases about different parts of the policy are about different people: "
    "what is spent is what those have lost who have lost most"
)


def list_uncovered(account: Account) -> list[str]:
    """Return what the policy's promise does not cover, a sentence per release with a weaker guarantee."""
    return [
        f"Entry {line.id} is a release with a weaker guarantee ({line.strategy}, epsilon "
        f"{decimal(line.epsilon)}): the budget does not cover it, and no factor here bounds what it reveals."
        for line in account.lines
        if line.kind == "apart" and line.epsilon is not None
    ]


def promise_chapter(account: Account) -> dict[str, Html]:
    """Return the chapters about the policy: its words, its odds, its findings."""
    policy = account.policy
    if policy is None:
        lost = element(
            "p", "The policy cannot be read from this ledger, so nothing is stated here.", class_="bad"
        )
        return dict.fromkeys(("promise", "odds", "findings"), lost)
    but = [element("p", each, class_="bad") for each in list_uncovered(account)]
    parts = {"promise": _promise(policy), "odds": _odds(account, policy), "findings": _findings(policy)}
    return {key: join(*but, part) for key, part in parts.items()}


def _promise(policy: Policy) -> Html:
    rows = [
        (each.name, each.values, each.kept)
        for _, each in zip(range(COLUMNS), describe_secrets(policy), strict=False)
    ]
    left = len(policy.secrets) - COLUMNS
    facts = [element("li", element("code", one_line(repr(fact), 300))) for fact in policy.constraints[:FACTS]]
    known = (
        "Counts that everyone knows. They are released exactly and cost nothing; the noise allows for them:"
    )
    text, differ = policy.to_yaml(), neighbours_of(policy)
    return join(
        element("p", f"Whoever sees the releases must not distinguish tables that differ in {differ}."),
        plain_table(
            ("column", "values", "stays indistinguishable"),
            rows,
            "What is kept from whoever sees the releases",
        ),
        *([element("p", f"and {left:,} more columns.")] if left > 0 else []),
        *[element("p", f"Secret besides: {each.describe()}.") for each in policy.aggregates],
        *([element("p", f"Rows reveal each other: {policy.chain.describe()}.")] if policy.chain else []),
        *(
            [element("p", known), element("ul", *facts)]
            if facts
            else [element("p", "No counts are declared public.")]
        ),
        *(
            [element("p", f"and {len(policy.constraints) - FACTS:,} more.")]
            if len(policy.constraints) > FACTS
            else []
        ),
        element("p", "Fingerprint of the policy: ", element("code", policy.fingerprint)),
        element(
            "details",
            element("summary", "The policy as a file"),
            element("pre", element("code", text if len(text) <= YAML else f"{text[:YAML]}\n... (cut here)")),
        ),
    )


def _odds(account: Account, policy: Policy) -> Html:
    found = examples(policy, account.total, account.spent)
    if not found:
        return element("p", "No column is a secret: nothing is hidden by this policy.")
    rows = [_row(each) for each in found]
    numbers = ("steps", "factor so far", "an even guess so far", "factor in all", "an even guess in all")
    header = ("column", "one value against another", *numbers)
    so_far, whole = decimal(account.spent), decimal(account.total)
    how = (
        "Someone takes two values of a person for equally likely (50%), then sees everything released: how "
        "sure can they become at most? The factor is the most by which odds can change. Both are stated for "
        f"what is spent so far (epsilon {so_far}) and for all of the budget (epsilon {whole})."
    )
    kept = [each.whole for each in found if math.isfinite(each.whole.distance)]
    caveats = dict.fromkeys((_star(odds), odds.caveat) for odds in kept)
    rest = [f"{star}These hold {caveat}" for star, caveat in caveats] + [left_out(policy)]
    return join(
        element("p", how),
        plain_table(header, rows, "Typical pairs of values", numbers),
        *(element("p", text, class_="faint") for text in rest if text),
        element("p", element("strong", "In words: "), str(found[0].whole)),
    )


def _row(example: Example) -> tuple[object, ...]:
    steps = "no chain" if math.isinf(example.whole.distance) else f"{example.whole.distance:,}"
    pair = f"{_star(example.whole)}{example.whole.against} ({example.pair})"
    return (example.column, pair, steps, *_bound(example.now), *_bound(example.whole))


def _star(odds: Odds) -> str:
    """Return a mark of odds that are not about one row alone."""
    return "* " if odds.tied is not None else ""


def _bound(odds: Odds | None) -> tuple[str, str]:
    """Return the factor, and how sure someone can become who took both values for equally likely."""
    if odds is None:
        return "1", "50%"
    if math.isinf(odds.distance):
        return "not protected", "certain"
    factor = odds.factor
    sure = factor / (1 + factor) if math.isfinite(factor) else 1.0
    text = odds.factor_text if factor <= 1e6 else "over a million"
    return text, f"{math.ceil(100 * sure - 1e-9)}%" if sure <= 0.99 else "nearly certain"


def _findings(policy: Policy) -> Html:
    found = policy.lint()
    if not found:
        return element(
            "p", "Nothing was found: every value is protected from some other, and no total comes out exact."
        )
    rows = [(", ".join(each.columns) or "the table", each.what, each.fix) for each in found[:FOUND]]
    more = [element("p", f"and {len(found) - FOUND:,} more: policy.lint()")] if len(found) > FOUND else []
    ask = "Was this meant? Each line states what the policy leaves open, and what to write if it should not."
    header = ("column", "what was found", "what to do if it was not meant")
    return join(element("p", ask), plain_table(header, rows, "Findings"), *more)


def budget(account: Account) -> Html:
    """Return the chapter about the budget: a bar, a chart and a table of entries."""
    spent, total = account.spent, account.total
    text = f"{decimal(spent)} of {decimal(total)} spent, {decimal(total - spent)} left"
    inner = element("div", style=f"width:{100 * share(spent, total):.1f}%")
    bar = element("div", inner, class_="bar over" if spent > total else "bar", role="img", aria_label=text)
    shut = (
        [element("p", element("strong", "Closed: ", class_="bad"), account.closed)] if account.closed else []
    )
    how = (
        f"Costs add up exactly{PARALLEL if account.parts else ''}. "
        "A fact that became public later can make earlier releases cost more than was "
        "charged for them: then both costs are shown."
    )
    newest = account.lines[-ENTRIES:]
    more = f" (the newest {ENTRIES:,} of {len(account.lines):,})" if len(account.lines) > ENTRIES else ""
    header = ("entry", "when (UTC)", "what", "cost", "spent after it", "total")
    return join(
        bar,
        element("p", f"{text[:1].upper()}{text[1:]}."),
        *shut,
        *_limits(account),
        element("figure", timeline(account.lines, account.parts.curves if account.parts else ())),
        element("p", how),
        *_shares(account.parts, "What remains to whom"),
        *_pool(account),
        plain_table(
            header, [_entry(line) for line in newest], f"Entries{more}", ("cost", "spent after it", "total")
        ),
        embed_file(_csv(account.lines), "entries.csv", FILE),
    )


def _limits(account: Account) -> list[Html]:
    """Return paragraphs about limits of analysts."""
    texts = (
        f"Analyst {name}: {decimal(own.spent)} of a limit of {decimal(own.total)} charged."
        for name, own in account.limits.items()
    )
    return [element("p", text) for text in texts]


def _pool(account: Account) -> list[Html]:
    """Return what datasets about the same people share: words, a chart and a table; or nothing."""
    if account.pool is None or account.members is None:
        return []
    name, own = account.pool
    shut = f" Closed: {own.closed}." if own.closed else ""
    spent = f"{decimal(own.spent)} of {decimal(own.total)} spent"
    text = f"Pool {name}, which datasets about the same people share: {spent}.{shut}"
    members = account.members
    return [
        element("p", text),
        element("figure", timeline(members.lines, members.curves)),
        *_shares(members, "What the pool was spent on"),
    ]


def _shares(shares: Shares | None, caption: str) -> list[Html]:
    """Return who has lost most and what remains to them, and a line about the others."""
    if shares is None or not shares.rows:
        return []
    rows = [(*names, decimal(lost), decimal(left)) for names, lost, left in shares.rows]
    more = (
        [element("p", f"and {shares.more:,} more; {decimal(shares.least)} or more remains to each.")]
        if shares.least is not None
        else []
    )
    header = (*shares.columns, "spent", "remains")
    return [plain_table(header, rows, caption, ("spent", "remains")), *more]


def _entry(line: Line) -> tuple[object, ...]:
    text = (KINDS.get(line.kind, line.kind), line.name, show_call(line.query or ""), line.reason)
    what = ": ".join(str(each) for each in text if each)
    if line.kind in ("charge", "apart") and line.analyst:
        what += f", by {line.analyst}"
    costs = _money(line.epsilon)
    if line.kind == "charge" and line.now != line.epsilon:
        costs = f"{costs}, now {_money(line.now)}"
    if line.repriced:
        what += f"; {len(line.repriced):,} earlier release{'s' * (len(line.repriced) != 1)} cost more since"
    return line.id, when(line.time), what, costs, _money(line.spent), _money(line.total)


def _money(value: Fraction | None) -> str:
    return "" if value is None else decimal(value)


def when(time: str) -> Html:
    """Return a time of the ledger as it is read."""
    return element("time", one_line(time[:19].replace("T", " "), 40), datetime=one_line(time, 40))


def _csv(lines: tuple[Line, ...]) -> str:
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(
        ("entry", "time", "kind", "name", "query", "epsilon", "epsilon_now", "spent", "total", "hash")
    )
    for line in lines:
        costs = (line.epsilon, line.now, line.spent, line.total)
        words = (line.id, line.time, line.kind, line.name, line.query, *map(_plain, costs), line.hash)
        table.writerow([escape(each) for each in words])
    return out.getvalue()


def _plain(value: Fraction | None) -> str:
    return "" if value is None else str(value)
