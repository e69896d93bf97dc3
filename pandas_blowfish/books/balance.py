"""Budgets, datasets and balances: what may be spent and was, and whether each entry follows from the last.

Never sees rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from sqlite3 import Connection
from typing import Any, ClassVar, NamedTuple

from pandas_blowfish.books.log import Entry, select_all, transaction
from pandas_blowfish.errors import EpsilonError, LedgerTamperedError

OVERSPENT = "earlier releases have lost more than the total"  # so begins a reason that raise_budget removes
LARGEST = BITS = 14_000  # bits of a number, or of its denominator: Python writes no longer ones
WEAKER = -1  # the number, which no charge has, under which a release with a weaker guarantee is remembered
FRACTION = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?")
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


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
    # a hook: `explain.glance`, which books may not import, sets it as the package is imported
    view: ClassVar[Any] = repr  # budget -> HTML for notebooks

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
    def is_reopenable(self) -> bool:
        """Return whether it is open, or closed for nothing but its total."""
        return self.closed is None or self.closed.startswith(OVERSPENT)


def check_denominators(now: Dataset) -> None:
    """Refuse sums that cannot be written."""
    if max(now.spent, now.total) >= 2**LARGEST:
        raise EpsilonError("epsilon", "too large a number", allowed=f"below 2**{LARGEST}")
    if max(now.spent.denominator, (now.total - now.spent).denominator).bit_length() > BITS:
        fix = "charge decimals, such as 0.1."
        raise EpsilonError("epsilon", "the sum of charges has too fine a denominator", fix=fix)


class Balance(NamedTuple):
    """What an entry states of its dataset."""

    total: Fraction
    spent: Fraction
    closed: str | None
    facts: int


def balance_of(entry: Entry) -> Balance:
    """Return the total, the spent, the reason of closing and the recorded facts that an entry states."""
    body = entry.body
    try:
        total, spent, closed, facts = body["total"], body["spent"], body["closed"], body.get("facts", 0)
        if type(facts) is int and (closed is None or type(closed) is str):
            return Balance(parse_fraction(total), parse_fraction(spent), closed, facts)
    except UNREADABLE:
        pass
    raise LedgerTamperedError(entry.id, "its sums cannot be read")


def cost_of(entry: Entry) -> Fraction:
    """Return what a charge stated that it cost."""
    try:
        return parse_fraction(entry.body["epsilon"])
    except UNREADABLE:
        raise LedgerTamperedError(entry.id, "its cost cannot be read") from None


@lru_cache(maxsize=4_096, typed=True)
def parse_fraction(value: Any) -> Fraction:
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


def require_following(entry: Entry, was: Balance | None, costs: dict[int, Fraction]) -> Balance:
    """Return what an entry states, or raise LedgerTamperedError where it does not follow.

    Args:
        entry: The entry.
        was: What the one before it, of the same dataset, states; None if it is the first.
        costs: What each charge of the dataset has cost so far, which this entry's charges are put into.

    Proof note:
        Requires: entries come in their order (`chain.replay`).
        Ensures:  of a dataset whose entries all follow, `spent` is the sum of what its charges cost now, no
                  charge ever got cheaper, and it exceeds the total only where the dataset is closed.
        Because:  a charge adds its epsilon, within the total; a fact adds what it makes charges cost more,
                  each named with its new cost; nothing else changes `spent`, and the one release under a
                  weaker promise, the digest of an answer and an upgrade change nothing at all.
        Checked:  tests/books/test_balance.py::test_what_follows
    """
    now = balance_of(entry)
    try:
        if _follows(entry, now, was, costs):
            return now
    except UNREADABLE:
        pass
    raise LedgerTamperedError(entry.id, "its sums do not follow from those before it")


def _follows(entry: Entry, now: Balance, was: Balance | None, costs: dict[int, Fraction]) -> bool:
    if was is None or entry.kind == "open":
        return was is None and entry.kind == "open" and now == Balance(now.total, Fraction(0), None, 0)
    if entry.kind in ("answer", "upgrade"):
        return now == was
    if entry.kind == "fact":
        return _fact_follows(entry, now, was, costs)
    if now.closed is not None or now.facts != was.facts or _exceeds(now.spent, now.total):
        return False
    if entry.kind == "apart":
        once, within = WEAKER not in costs, 0 < parse_fraction(entry.body["epsilon"]) <= now.total
        costs[WEAKER] = parse_fraction(entry.body["epsilon"])
        return once and within and now == was
    if entry.kind == "charge":
        epsilon = costs[entry.id] = parse_fraction(entry.body["epsilon"])
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


def _fact_follows(entry: Entry, now: Balance, was: Balance, costs: dict[int, Fraction]) -> bool:
    if "repriced" not in entry.body:  # before facts could be priced, each closed its dataset
        return now.closed is not None and now._replace(closed=None) == was._replace(closed=None)
    repriced = {int(number): parse_fraction(cost) for number, cost in entry.body["repriced"].items()}
    if any(cost < costs[number] for number, cost in repriced.items()):
        return False
    more = sum((cost - costs[number] for number, cost in repriced.items()), Fraction(0))
    costs.update(repriced)
    if (now.total, now.spent, now.facts) != (was.total, was.spent + more, was.facts + 1):
        return False
    if was.closed is not None and not was.closed.startswith(OVERSPENT):
        return now.closed == was.closed
    return now.closed is not None or (was.closed is None and now.spent <= now.total)


def recorded_facts(connection: Connection, dataset: str) -> tuple[dict[str, Any], ...]:
    """Return the recorded facts of a dataset as plain data, in order."""
    found = select_all(connection, "dataset = ? AND kind = 'fact' ORDER BY id", dataset)
    return tuple(_fact(entry) for entry in found if "repriced" in entry.body)


def _fact(entry: Entry) -> dict[str, Any]:
    fact = entry.body.get("fact")
    if not isinstance(fact, dict):
        raise LedgerTamperedError(entry.id, "its fact cannot be read")
    return fact


def list_charges(connection: Connection, dataset: str) -> list[tuple[Entry, Fraction]]:
    """Return the charges of a dataset, each with what it costs by now."""
    costs, found = dict[str, Fraction](), list[Entry]()
    for entry in select_all(connection, "dataset = ? AND kind IN ('charge', 'fact') ORDER BY id", dataset):
        try:
            if entry.kind == "charge":
                found.append(entry)
                costs[str(entry.id)] = parse_fraction(entry.body["epsilon"])
            for number, cost in entry.body.get("repriced", {}).items():
                costs[number] = parse_fraction(cost)
        except UNREADABLE:
            raise LedgerTamperedError(entry.id, "its costs cannot be read") from None
    return [(entry, costs[str(entry.id)]) for entry in found]


def latest_charges(location: str, dataset: str, many: int) -> list[Entry]:
    """Return the last charges of a dataset, newest first."""
    clause = "dataset = ? AND kind IN ('charge', 'apart') ORDER BY id DESC LIMIT ?"
    with transaction(location) as connection:
        return list(select_all(connection, clause, dataset, many))
