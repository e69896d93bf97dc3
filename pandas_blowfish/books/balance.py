"""Budgets, datasets and balances: what may be spent and was, and whether each entry follows from the last.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pandas_blowfish.books.analysts import LimitReplay
from pandas_blowfish.books.log import LARGEST, UNREADABLE, Entry, parse_fraction, select_all, transaction
from pandas_blowfish.books.part_sums import Part, Sums, read_part
from pandas_blowfish.errors import EpsilonError, InsufficientBudgetError, LedgerTamperedError
from pandas_blowfish.markup import short

if TYPE_CHECKING:
    import pandas as pd

OVERSPENT = "earlier releases have lost more than the total"  # so begins a reason that raise_budget removes
OPENINGS = ("open", "pool")  # kinds of first entries: of a dataset, of a pool
BITS = LARGEST  # of a denominator
WEAKER = -1  # the number, which no charge has, under which a release with a weaker guarantee is remembered


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in all and has spent: exact fractions.

    Attributes:
        total: What all releases together may lose.
        spent: What they have lost.
        closed: Why the dataset takes no more charges; None where it takes them.
        sums: What people in each part of the policy have lost, where that differs; `parts` shows it.
        policy: The policy, as the ledger has it.
    """

    total: Fraction
    spent: Fraction
    closed: str | None = None
    sums: Sums | None = field(default=None, repr=False, compare=False)
    policy: str | None = field(default=None, repr=False, compare=False)
    # a hook: `explain.glance`, which books may not import, sets it as the package is imported
    view: ClassVar[Any] = repr  # budget -> HTML for notebooks

    @property
    def remaining(self) -> Fraction:
        """Return what may still be spent; below 0 where a fact made earlier releases cost more than all."""
        return self.total - self.spent

    @property
    def parts(self) -> pd.DataFrame:
        """Return what people in each connected part of the policy have lost, and what remains to them.

        One row where every charge was everyone's. Parts that no charge has named are "elsewhere".
        """
        from pandas_blowfish.books.ledger_tables import list_parts  # here: charging needs no pandas

        return list_parts(self.sums or Sums(self.spent), self.total, self.policy)

    def after(self, charges: Iterable[tuple[Fraction, Part | None]]) -> Budget:
        """Return what it would be after some charges, each with its part; None: everyone's."""
        sums = (self.sums or Sums(self.spent)).copy()
        for epsilon, part in charges:
            sums.add(epsilon, part)
        return replace(self, spent=sums.most, sums=sums)

    def __repr__(self) -> str:
        closed = "" if self.closed is None else f", closed={self.closed!r}"
        total, spent, left = map(short, (self.total, self.spent, self.remaining))
        return f"Budget(total={total}, spent={spent}, remaining={left}{closed})"

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
    last: Entry | None = field(default=None, repr=False, compare=False)

    @property
    def budget(self) -> Budget:
        """Return what it may spend in all and has spent, and whether it is closed."""
        return Budget(self.total, self.spent, self.closed, policy=self.binding.get("policy"))

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


def spend(bound: Dataset, epsilon: Fraction, lost: Fraction, spent: Fraction) -> Dataset:
    """Return a dataset after a charge, which must be within what remains to those who see it.

    Args:
        bound: The dataset before.
        epsilon: What is charged.
        lost: What those have lost before who see the charge, at most.
        spent: What those have lost after it who see most of all charges.
    """
    if spent > bound.total:
        raise InsufficientBudgetError(bound.name, epsilon, bound.total - lost, bound.total)
    after = replace(bound, spent=spent)
    check_denominators(after)
    return after


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


@dataclass
class Replay:
    """What the entries of a dataset come to, read one after another.

    Attributes:
        costs: What each charge has cost so far.
        sums: What people in each part have lost; None while all charges are everyone's, and once a fact ties
            the parts together.
        stated: The entry that states these sums.
        analysts: What each analyst has charged, and may.
    """

    costs: dict[int, Fraction] = field(default_factory=dict)
    sums: Sums | None = None
    stated: int = 0
    analysts: LimitReplay = field(default_factory=LimitReplay)


def require_following(entry: Entry, was: Balance | None, replay: Replay) -> Balance:
    """Return what an entry states, or raise LedgerTamperedError where it does not follow.

    Args:
        entry: The entry.
        was: What the one before it, of the same dataset, states; None if it is the first.
        replay: What the entries before it come to, to which this one is added.

    Proof note:
        Requires: entries come in their order (`chain.replay`).
        Ensures:  of a dataset whose entries all follow, `spent` is the sum of what its charges cost now, or
                  of those that anyone sees at most (`part_sums.Sums`), no charge ever got cheaper, and it
                  exceeds the total only where the dataset is closed.
        Because:  a charge adds its epsilon in its part, within the total; a fact adds what it makes charges
                  cost more, each named with its new cost, and where it ties parts together all charges add
                  up from then on; nothing else changes `spent`, and the one release under a weaker
                  promise, the digest of an answer and an upgrade change nothing at all.
        Checked:  tests/books/test_balance.py::test_what_follows,
                  tests/books/test_part_charges.py::test_edited_parts_are_found
    """
    now = balance_of(entry)
    try:
        if _follows(entry, now, was, replay) and replay.analysts.follows(entry):
            return now
    except UNREADABLE:
        pass
    raise LedgerTamperedError(entry.id, "its sums do not follow from those before it")


def _follows(entry: Entry, now: Balance, was: Balance | None, replay: Replay) -> bool:
    if was is None or entry.kind in OPENINGS:
        first = was is None and entry.kind in OPENINGS
        return first and now == Balance(now.total, Fraction(0), None, 0)
    if entry.kind == "share":
        return _share_follows(entry, now, was)
    if entry.kind == "fact":
        return _fact_follows(entry, now, was, replay)
    if entry.kind != "charge" and entry.body.get("stated", 0) != replay.stated:
        return False
    if entry.kind in ("answer", "upgrade", "limit"):
        return now == was
    if now.closed is not None or now.facts != was.facts or _exceeds(now.spent, now.total):
        return False
    costs = replay.costs
    if entry.kind == "apart":
        once, within = WEAKER not in costs, 0 < parse_fraction(entry.body["epsilon"]) <= now.total
        costs[WEAKER] = parse_fraction(entry.body["epsilon"])
        return once and within and now == was
    if entry.kind == "charge":
        epsilon = costs[entry.id] = parse_fraction(entry.body["epsilon"])
        within = epsilon.numerator >= 0 and was.closed is None and now.total == was.total
        return within and _charge_follows(entry, epsilon, now.spent, was.spent, replay)
    raised = now.total > was.total and now.spent == was.spent
    return entry.kind == "raise" and raised and (was.closed is None or was.closed.startswith(OVERSPENT))


def _share_follows(entry: Entry, now: Balance, was: Balance) -> bool:
    """Return whether an entry of a pool adds what it states, and closes it where that is too much."""
    more = parse_fraction(entry.body["epsilon"])
    if more <= 0 or (now.total, now.spent, now.facts) != (was.total, was.spent + more, 0):
        return False
    if now.spent <= now.total or was.closed is not None:
        return now.closed == was.closed
    return now.closed is not None and now.closed.startswith(OVERSPENT)


def _charge_follows(
    entry: Entry, epsilon: Fraction, spent: Fraction, before: Fraction, replay: Replay
) -> bool:
    """Return whether a charge states what has been spent after it, in the parts that people see."""
    part, stated = read_part(entry.body.get("part")), entry.body.get("stated")
    if replay.sums is None and (not part or stated is None):  # for want of room a part may be everyone's
        return stated is None and _adds_up(before, epsilon, spent)
    replay.sums = replay.sums or Sums(before)
    replay.sums.add(epsilon, part)
    if stated == 0:
        replay.stated = entry.id
        return spent == replay.sums.most and entry.body["sums"] == replay.sums.to_dict()
    return spent == replay.sums.most and bool(stated) and stated == replay.stated


def _exceeds(one: Fraction, other: Fraction) -> bool:
    return one.numerator * other.denominator > other.numerator * one.denominator


def _adds_up(one: Fraction, other: Fraction, both: Fraction) -> bool:
    """Return whether a sum is exact, without reducing it: of many entries that is most of the work."""
    below = one.denominator * other.denominator
    above = one.numerator * other.denominator + other.numerator * one.denominator
    return above * both.denominator == both.numerator * below


def _fact_follows(entry: Entry, now: Balance, was: Balance, replay: Replay) -> bool:
    if "repriced" not in entry.body:  # before facts could be priced, each closed its dataset
        return now.closed is not None and now._replace(closed=None) == was._replace(closed=None)
    costs = replay.costs
    repriced = {int(number): parse_fraction(cost) for number, cost in entry.body["repriced"].items()}
    if any(cost < costs[number] for number, cost in repriced.items()):
        return False
    more = sum((cost - costs[number] for number, cost in repriced.items()), Fraction(0))
    costs.update(repriced)
    spent = was.spent + more
    if entry.body.get("together"):  # from here on every charge is everyone's
        spent = sum((cost for number, cost in costs.items() if number != WEAKER), Fraction(0))
        replay.sums, replay.stated = None, 0
    if entry.body.get("stated", 0) != replay.stated or (more and replay.sums is not None):
        return False
    if (now.total, now.spent, now.facts) != (was.total, spent, was.facts + 1):
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
