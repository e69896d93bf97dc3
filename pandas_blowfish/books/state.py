"""What a dataset has come to, as its entries state it, and whether that follows. Never sees rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from sqlite3 import Connection
from typing import Any, ClassVar, NamedTuple

from pandas_blowfish.books.log import Entry, body_of, every, transaction
from pandas_blowfish.books.receipt import is_receipt, translate
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    BlowfishError,
    EpsilonError,
    LedgerTamperedError,
)

OVERSPENT = "earlier releases have lost more than the total"  # so begins a reason that raise_budget mends
COLUMNS = ["dataset", "kind", "time", "epsilon", "spent", "total", "name", "query", "columns", "strategy"]
COLUMNS += ["sensitivity", "scale", "checked", "reason", "repriced", "hash"]
APART = -1  # the number, which no charge has, under which a release under a weaker promise is remembered
FRACTION = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?")
BITS = 14_000  # of a denominator: Python writes no longer numbers
STATED = ["dataset", "epsilon", "spent", "remaining", "query", "verb", "columns", "strategy", "sensitivity"]
STATED += [
    "scale",
    "noise",
    "name",
    "time",
    "policy",
    "unit",
    "outside",
    "guarantee",
    "weaker_guarantee",
    "checked",
]
WORDS = ("name", "strategy", "sensitivity", "scale", "checked")
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
LARGEST = 14_000  # bits before the point: Python writes no longer numbers


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in all and has spent: exact fractions.

    Attributes:
        total: What all releases together may lose.
        spent: What they have lost.
        closed: Why the dataset takes no more charges; None where it takes them.
    """

    total: Fraction
    spent: Fraction
    closed: str | None = None
    view: ClassVar[Any] = repr  # for notebooks: explain.glance sets it

    @property
    def remaining(self) -> Fraction:
        """Return what may still be spent; below 0 where a fact made earlier releases cost more than all."""
        return self.total - self.spent

    def __repr__(self) -> str:
        closed = "" if self.closed is None else f", closed={self.closed!r}"
        return f"Budget(total={self.total}, spent={self.spent}, remaining={self.remaining}{closed})"

    def _repr_html_(self) -> str:
        return str(type(self).view(self))


@dataclass(frozen=True)
class Dataset:
    """What a dataset name is bound to, what it has spent, and what became public about it since."""

    name: str
    binding: dict[str, Any] = field(repr=False)  # holds the seal
    total: Fraction
    spent: Fraction
    closed: str | None  # why it takes no more charges
    facts: tuple[dict[str, Any], ...] = ()  # as plain data, in the order they were recorded

    @property
    def budget(self) -> Budget:
        """Return what it may spend in all and has spent, and whether it is closed."""
        return Budget(self.total, self.spent, self.closed)

    @property
    def mendable(self) -> bool:
        """Tell whether it is open, or closed for nothing but its total."""
        return self.closed is None or self.closed.startswith(OVERSPENT)


class Sums(NamedTuple):
    """What an entry states of its dataset."""

    total: Fraction
    spent: Fraction
    closed: str | None
    facts: int


def sums(entry: Entry) -> Sums:
    """Return the total, the spent, the reason of closing and the recorded facts that an entry states."""
    body = entry.body
    try:
        total, spent, closed, facts = body["total"], body["spent"], body["closed"], body.get("facts", 0)
        if type(facts) is int and (closed is None or type(closed) is str):
            return Sums(fraction(total), fraction(spent), closed, facts)
    except UNREADABLE:
        pass
    raise LedgerTamperedError(entry.id, "its sums cannot be read")


def cost(entry: Entry) -> Fraction:
    """Return what a charge stated that it cost."""
    try:
        return fraction(entry.body["epsilon"])
    except UNREADABLE:
        raise LedgerTamperedError(entry.id, "its cost cannot be read") from None


@lru_cache(maxsize=4_096, typed=True)
def fraction(value: Any) -> Fraction:
    """Return a number as an entry writes it, such as "1/10"; raise ValueError for any other text."""
    if type(value) is int:
        value = str(value)
    if type(value) is not str or not FRACTION.fullmatch(value):
        raise ValueError("not a fraction")
    numerator, _, denominator = value.partition("/")
    found = Fraction(int(numerator), int(denominator or 1))
    if found.numerator.bit_length() - found.denominator.bit_length() > LARGEST:
        raise ValueError("too large")
    return found


def follows(entry: Entry, before: Entry | None, costs: dict[int, Fraction]) -> bool:
    """Return whether an entry may state its sums when the one before it of its dataset stated its own.

    Args:
        entry: The entry.
        before: The one before it, of the same dataset; None if it is the first.
        costs: What each charge of the dataset has cost so far, which this entry's charges are put into.

    Proof note:
        Requires: entries come in their order (`chain.replay`).
        Ensures:  of a dataset whose entries all follow, `spent` is the sum of what its charges cost now, no
                  charge ever got cheaper, and it exceeds the total only where the dataset is closed.
        Because:  a charge adds its epsilon, within the total; a fact adds what it makes charges cost more,
                  each named with its new cost; nothing else changes `spent`, and the one release under a
                  weaker promise, the digest of an answer and an upgrade change nothing at all.
        Checked:  tests/books/test_state.py::test_what_follows
    """
    try:
        following(entry, None if before is None else sums(before), costs)
    except LedgerTamperedError:
        return False
    return True


def following(entry: Entry, was: Sums | None, costs: dict[int, Fraction]) -> Sums:
    """Return what an entry states, or raise LedgerTamperedError where it does not follow; see `follows`."""
    now = sums(entry)
    try:
        if _follows(entry, now, was, costs):
            return now
    except UNREADABLE:
        pass
    raise LedgerTamperedError(entry.id, "its sums do not follow from those before it")


def _follows(entry: Entry, now: Sums, was: Sums | None, costs: dict[int, Fraction]) -> bool:
    if was is None or entry.kind == "open":
        return was is None and entry.kind == "open" and now == Sums(now.total, Fraction(0), None, 0)
    if entry.kind in ("answer", "upgrade"):
        return now == was
    if entry.kind == "fact":
        return _fact_follows(entry, now, was, costs)
    if now.closed is not None or now.facts != was.facts or _exceeds(now.spent, now.total):
        return False
    if entry.kind == "apart":
        once, within = APART not in costs, 0 < fraction(entry.body["epsilon"]) <= now.total
        costs[APART] = fraction(entry.body["epsilon"])
        return once and within and now == was
    if entry.kind == "charge":
        epsilon = costs[entry.id] = fraction(entry.body["epsilon"])
        adds = epsilon.numerator >= 0 and _adds_up(was.spent, epsilon, now.spent)
        return was.closed is None and adds and now.total == was.total
    raised = now.total > was.total and now.spent == was.spent
    return entry.kind == "raise" and raised and (was.closed is None or was.closed.startswith(OVERSPENT))


def _exceeds(one: Fraction, other: Fraction) -> bool:
    return one.numerator * other.denominator > other.numerator * one.denominator


def _adds_up(one: Fraction, other: Fraction, both: Fraction) -> bool:
    """Return whether a sum is exact, without reducing it: of many entries that is most of the work."""
    below = one.denominator * other.denominator
    above = one.numerator * other.denominator + other.numerator * one.denominator
    return above * both.denominator == both.numerator * below


def _fact_follows(entry: Entry, now: Sums, was: Sums, costs: dict[int, Fraction]) -> bool:
    if "repriced" not in entry.body:  # before facts could be priced, each closed its dataset
        return now.closed is not None and now._replace(closed=None) == was._replace(closed=None)
    repriced = {int(number): fraction(cost) for number, cost in entry.body["repriced"].items()}
    if any(cost < costs[number] for number, cost in repriced.items()):
        return False
    more = sum((cost - costs[number] for number, cost in repriced.items()), Fraction(0))
    costs.update(repriced)
    if (now.total, now.spent, now.facts) != (was.total, was.spent + more, was.facts + 1):
        return False
    if was.closed is not None and not was.closed.startswith(OVERSPENT):
        return now.closed == was.closed
    return now.closed is not None or (was.closed is None and now.spent <= now.total)


def facts(connection: Connection, dataset: str) -> tuple[dict[str, Any], ...]:
    """Return the recorded facts of a dataset as plain data, in order."""
    found = every(connection, "dataset = ? AND kind = 'fact' ORDER BY id", dataset)
    return tuple(_fact(entry) for entry in found if "repriced" in entry.body)


def _fact(entry: Entry) -> dict[str, Any]:
    fact = entry.body.get("fact")
    if not isinstance(fact, dict):
        raise LedgerTamperedError(entry.id, "its fact cannot be read")
    return fact


def charges(connection: Connection, dataset: str) -> list[tuple[Entry, Fraction]]:
    """Return the charges of a dataset, each with what it costs by now."""
    costs, found = dict[str, Fraction](), list[Entry]()
    for entry in every(connection, "dataset = ? AND kind IN ('charge', 'fact') ORDER BY id", dataset):
        try:
            if entry.kind == "charge":
                found.append(entry)
                costs[str(entry.id)] = fraction(entry.body["epsilon"])
            for number, cost in entry.body.get("repriced", {}).items():
                costs[number] = fraction(cost)
        except UNREADABLE:
            raise LedgerTamperedError(entry.id, "its costs cannot be read") from None
    return [(entry, costs[str(entry.id)]) for entry in found]


def latest(location: str, dataset: str, many: int) -> list[Entry]:
    """Return the last charges of a dataset, newest first."""
    clause = "dataset = ? AND kind IN ('charge', 'apart') ORDER BY id DESC LIMIT ?"
    with transaction(location) as connection:
        return list(every(connection, clause, dataset, many))


def check_denominators(now: Dataset) -> None:
    """Refuse sums that cannot be written."""
    if max(now.spent, now.total) >= 2**LARGEST:
        raise EpsilonError("epsilon", "too large a number", allowed=f"below 2**{LARGEST}")
    if max(now.spent.denominator, (now.total - now.spent).denominator).bit_length() > BITS:
        fix = "charge decimals, such as 0.1."
        raise EpsilonError("epsilon", "the sum of charges has too fine a denominator", fix=fix)


def check_head(head: object) -> None:
    """Refuse what is neither None, nor a receipt, nor the hash of one."""
    fix = "the file of a receipt is read by json.loads(Path(...).read_text())."
    if isinstance(head, Mapping) and not is_receipt(head):
        raise ArgumentError("head", "not a receipt", allowed="a hash, or a receipt", fix=fix)
    if isinstance(head, str) and not head.startswith(("sha256:", "hmac-sha256:")):
        raise ArgumentError("head", "not the hash of a receipt", allowed="a hash, or a receipt", fix=fix)
    if head is not None and not isinstance(head, (str, Mapping)):
        raise ArgumentTypeError("head", "not a receipt", allowed="a hash, or a receipt", fix=fix)


def differs(receipt: Mapping[str, Any], entry: Entry, first: Entry) -> str:
    """Return the first thing a receipt states otherwise than its entry and its dataset's first; else ""."""
    body, binding = entry.body, first.body.get("binding", {})
    binding = binding if isinstance(binding, dict) else {}
    stated = {**body, "dataset": entry.dataset, "time": entry.time}
    stated |= {key: binding[key] for key in ("unit", "outside") if key in binding}
    stated["query"] = body.get("call", body.get("query"))
    stated["remaining"] = str(sums(entry).total - sums(entry).spent)
    stated["unit"] = stated.get("unit") or "row-level"
    stated["noise"] = "none" if body.get("sensitivity") == "0" else body.get("noise")
    if "derived" not in receipt and isinstance(body.get("query"), dict):
        stated["verb"] = body["query"].get("verb")
    if not body.get("facts"):  # else it is the first policy with facts recorded since
        stated["policy"] = binding.get("fingerprint")
    stated["weaker_guarantee"] = entry.kind == "apart"
    facts = {"weaker_guarantee": False, "guarantee": None, **translate(receipt)}
    if ("beside" in body) != ("weaker_release" in facts):
        return "weaker release"
    both = [key for key in STATED if key in facts and key in stated]
    return next((key for key in both if facts[key] != stated[key]), "")


def line(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a stored entry as a row of `Ledger.entries`, or raise LedgerTamperedError."""
    number, dataset, kind, time, body, given = row
    try:
        if type(dataset) is type(kind) is type(time) is type(given) is str:
            return dataset, kind, time, *_line(body_of(body)), given
    except UNREADABLE:
        pass
    raise LedgerTamperedError(number, "it cannot be read")


def _line(body: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a body states, or raise if it is not of the form that bodies have."""
    epsilon, spent, total = body.get("epsilon"), fraction(body["spent"]), fraction(body["total"])
    query, columns, costs, closed = (
        body.get("query"),
        body.get("columns"),
        body.get("repriced"),
        body["closed"],
    )
    if "call" in body:
        query = _word(body["call"])
    elif "fact" in body:
        query = text(body["fact"])
    if columns is not None and type(columns) is not list:
        raise ValueError("no columns")
    if costs is not None:
        costs = {int(each): cost for each, cost in costs.items() if fraction(cost) is not None}
    cost, reason = None if epsilon is None else fraction(epsilon), body.get("reason", closed)
    name, strategy, *measured = (_word(body.get(key)) for key in WORDS)
    return cost, spent, total, name, query, columns, strategy, *measured, _word(reason), costs


def _word(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise ValueError("not a word")
    return value


def text(fact: Any) -> str:
    """Return a recorded fact as it is written, without its answer."""
    from pandas_blowfish.facts.declared import constraint_from_dict  # here: charging needs no numpy

    try:
        return constraint_from_dict(fact).describe()
    except (BlowfishError, *UNREADABLE):  # from before facts could be priced, or edited
        return str(fact)
