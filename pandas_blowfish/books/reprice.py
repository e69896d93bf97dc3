"""What earlier releases have lost once another fact is public. Never sees rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pandas_blowfish.books.balance import OVERSPENT, Dataset
from pandas_blowfish.books.log import UNREADABLE, Entry
from pandas_blowfish.books.part_sums import stated_by
from pandas_blowfish.books.receipt import fraction_of
from pandas_blowfish.errors import ArgumentError, BlowfishError, LedgerTamperedError
from pandas_blowfish.facts.declared import Constraint, constraint_from_dict
from pandas_blowfish.facts.fact import Fact, read_facts
from pandas_blowfish.facts.later import FIX, add_facts, find_clash, policy_from
from pandas_blowfish.plan.price import SEVERAL, Price, price_facts, price_of
from pandas_blowfish.policy.policy import Policy

SHOWN = 8  # entries that a reason names


@dataclass(frozen=True)
class Repriced:
    """What a fact does to a dataset.

    Attributes:
        costs: What each charge that became dearer costs now, by the number of its entry.
        more: By how much they became dearer together.
        spent: What all charges come to now.
        closed: Why the dataset takes no more charges.
        together: Whether people in different parts, who saw different charges, are tied together by it.
    """

    costs: dict[str, Fraction]
    more: Fraction
    spent: Fraction
    closed: str | None
    together: bool = False


def policy_of(dataset: Dataset, known: int | None = None) -> Policy:
    """Return the policy that a dataset is bound to, with its recorded facts, or the first `known` of them."""
    try:
        facts = tuple(json.dumps(fact) for fact in dataset.facts[:known])
        return policy_from(dataset.binding["policy"], facts)
    except BlowfishError:
        raise
    except UNREADABLE:
        raise LedgerTamperedError(None, f"the policy of dataset {dataset.name!r} cannot be read") from None


def facts_since(dataset: Dataset) -> tuple[Fact, ...]:
    """Return all facts that were recorded since a dataset was bound, also those that follow from others."""
    facts = [constraint_from_dict(fact) for fact in dataset.facts]
    return read_facts(facts, policy_of(dataset, 0).domain)


def price_with(dataset: Dataset, fact: Constraint) -> Price | None:
    """Return what facts cost once another is public; None where that is what they cost before.

    Raises:
        ArgumentError: The fact does not fit the domain, or no table has its answer and those known before.
    """
    if "policy" not in dataset.binding:
        return None
    before = policy_of(dataset)
    after = add_facts(before, [fact])
    rows = None if before.presence else dataset.binding.get("rows")
    answer = read_facts([fact], before.domain)[0].answer
    facts = tuple(json.dumps(each) for each in (*dataset.facts, fact.to_dict()))
    if answer is not None and (problem := find_clash(dataset.binding["policy"], facts, rows)):
        raise ArgumentError("fact", problem, fix=FIX)
    if after == before or is_unpriced(after):
        return None
    return price_facts(after).cap(rows)


def is_unpriced(policy: Policy) -> bool:
    """Return whether an edge changes a fact and people have several rows: nothing is known of its cost."""
    return policy.max_rows > 1 and bool(policy.constraints) and not policy.move_bound.free


def reprice_charges(
    dataset: Dataset, charges: Sequence[tuple[Entry, Fraction]], fact: Constraint
) -> Repriced:
    """Return what each charge has lost at most under the facts known before and one more.

    Args:
        dataset: What it was bound to, and the facts recorded before.
        charges: Its charges, each with what it costs by now.
        fact: What became public.

    Proof note:
        Requires: `price` of the enlarged policy; each charge's "closure" is at least what it loses when one
                  record moves between cells that agree on the public columns, or to or from "absent" where
                  presence is secret (`plan.closure.closure`).
        Ensures:  every charge costs now at least what it has lost between neighbours under all facts; what
                  is not known closes the dataset.
        Because:  histograms of neighbours differ by at most `moved` moves along such pairs (no more than
                  there are rows, where that is public), so the loss is at most moved * closure. If no edge
                  touches a fact neighbours are those of before; a fact that follows from others leaves the
                  possible tables, and so the neighbours, as they were; where facts leave one table there
                  are none, and what looks at columns that a marginal tells loses nothing (`price_of`). A
                  cost never falls.
        Checked:  tests/books/test_reprice.py::test_costs_at_least_the_true_loss
    """
    if "policy" not in dataset.binding:
        why = f"{fact.describe()} became public, and without a policy what it costs is not known"
        return Repriced({}, Fraction(0), dataset.spent, dataset.closed or why)
    whole = price_with(dataset, fact)
    if whole is None and is_unpriced(add_facts(policy_of(dataset), [fact])):
        why = f"{fact.describe()} became public: {SEVERAL}"
        return Repriced({}, Fraction(0), dataset.spent, dataset.closed or why)
    if whole is None:
        return Repriced({}, Fraction(0), dataset.spent, dataset.closed)
    costs, more, unknown = dict[str, Fraction](), Fraction(0), list[str]()
    for entry, cost in charges:
        paid = price_of(whole.stated, entry.body["columns"]) if "columns" in entry.body else whole
        paid = paid.cap(whole.rows)
        if not paid.touched or not paid.found.count:
            continue
        lost = fraction_of(entry.body.get("closure"))  # what somebody edited may be no number
        if lost is None:
            unknown.append(f"{entry.id} ({entry.body.get('unknown') or 'made before facts could be priced'})")
        elif (now := paid.moved * lost) > cost:
            costs[str(entry.id)] = now
            more += now - cost
    together = whole.touched and bool(stated_by(dataset.last))
    spent = sum((cost for _, cost in charges), more) if together else dataset.spent + more
    closed = dataset.closed
    if unknown and dataset.is_reopenable:
        closed = f"{fact.describe()} became public, and what was lost then is not known of {_named(unknown)}"
    elif spent > dataset.total and dataset.is_reopenable:
        closed = f"{OVERSPENT} since {fact.describe()} became public: {spent} of {dataset.total}"
        closed += f", {more} of it more than was charged, by {_named(list(costs))}" if costs else ""
        closed += "; Ledger.raise_budget(...) to at least that opens it again"
    return Repriced(costs, more, spent, closed, together)


def _named(entries: Sequence[str]) -> str:
    """Return the numbers of some entries, the first of many."""
    named = ", ".join(entries[:SHOWN])
    more = f" and {len(entries) - SHOWN} more" if len(entries) > SHOWN else ""
    return f"{'entry' if len(entries) == 1 else 'entries'} {named}{more}"
