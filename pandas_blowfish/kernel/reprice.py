"""What earlier releases have lost once another fact is public. Never sees rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.kernel.chain import Entry
from pandas_blowfish.kernel.state import OVERSPENT, Dataset
from pandas_blowfish.plan.price import Price, price, price_of
from pandas_blowfish.plan.workload import tally
from pandas_blowfish.policy.consistent import contradiction
from pandas_blowfish.policy.constraint import Box, Constraint, Count, Marginal, constraint_from_dict
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.fact import Fact, cells_of, read_facts, tells
from pandas_blowfish.policy.graph import Ints
from pandas_blowfish.policy.policy import Policy

SHOWN = 8  # entries that a reason names
_FIX = "state the answer that was published, or leave it out."
_ALLOWED = "a bf.Count, bf.Marginal or bf.Box, or its to_dict()"


@dataclass(frozen=True)
class Repriced:
    """What a fact does to a dataset.

    Attributes:
        costs: What each charge that became dearer costs now, by the number of its entry.
        more: By how much they became dearer together.
        closed: Why the dataset takes no more charges.
    """

    costs: dict[str, Fraction]
    more: Fraction
    closed: str | None


def stated(fact: Any) -> Constraint:
    """Return a fact as it was given, or refuse what is no count of rows."""
    if isinstance(fact, (Count, Marginal, Box)):
        return fact
    if not isinstance(fact, Mapping):
        raise ArgumentTypeError("fact", "not a count that became public", allowed=_ALLOWED)
    try:
        return constraint_from_dict(fact)
    except (ArgumentError, TypeError) as error:
        if isinstance(error, ArgumentError) and error.argument != "constraints":
            raise
        raise ArgumentError("fact", "not a count that became public", allowed=_ALLOWED) from None


def policy_of(dataset: Dataset, known: int | None = None) -> Policy:
    """Return the policy that a dataset is bound to, with its recorded facts, or the first `known` of them."""
    facts = tuple(json.dumps(fact) for fact in dataset.facts[:known])
    return _policy(dataset.binding["policy"], facts)


def recorded(dataset: Dataset) -> tuple[Fact, ...]:
    """Return all facts that were recorded since a dataset was bound, also those that follow from others."""
    facts = [constraint_from_dict(fact) for fact in dataset.facts]
    return read_facts(facts, policy_of(dataset, 0).domain)


def enlarged(dataset: Dataset, fact: Constraint) -> Price | None:
    """Return what facts cost once another is public; None where that is what they cost before.

    Raises:
        ArgumentError: The fact does not fit the domain, or no table has its answer and those known before.
    """
    if "policy" not in dataset.binding:
        return None
    before = policy_of(dataset)
    after = joined(before, [fact])
    rows = None if before.presence else dataset.binding.get("rows")
    answer = read_facts([fact], before.domain)[0].answer
    if rows is not None and answer is not None and not _possible(fact, answer, rows):
        raise ArgumentError("fact", f"{fact.describe()}: the answer is not one that {rows:,} rows can have")
    facts = tuple(json.dumps(each) for each in (*dataset.facts, fact.to_dict()))
    if answer is not None and (problem := _contradiction(dataset.binding["policy"], facts, rows)):
        raise ArgumentError("fact", problem, fix=_FIX)
    return price(after) if after != before else None


def repriced(dataset: Dataset, charges: Sequence[tuple[Entry, Fraction]], fact: Constraint) -> Repriced:
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
                  cannot be told closes the dataset.
        Because:  histograms of neighbours differ by at most `moved` moves along such pairs, so the loss is
                  at most moved * closure. If no edge touches a fact neighbours are those of before; a fact
                  that follows from others leaves the possible tables, and so the neighbours, as they were;
                  where facts leave one table there are none, and what looks at columns that a marginal
                  tells loses nothing (`price_of`). A cost never falls.
        Checked:  tests/kernel/test_reprice.py::test_costs_at_least_the_true_loss
    """
    if "policy" not in dataset.binding:
        why = f"{fact.describe()} became public, and without a policy nobody can tell what it costs"
        return Repriced({}, Fraction(0), dataset.closed or why)
    whole = enlarged(dataset, fact)
    if whole is None:
        return Repriced({}, Fraction(0), dataset.closed)
    costs, more, unknown = dict[str, Fraction](), Fraction(0), list[str]()
    for entry, cost in charges:
        paid = price_of(whole.stated, entry.body["columns"]) if "columns" in entry.body else whole
        if not paid.touched or not paid.found.count:
            continue
        if entry.body.get("closure") is None:
            unknown.append(f"{entry.id} ({entry.body.get('unknown') or 'made before facts could be priced'})")
        elif (now := paid.moved * Fraction(entry.body["closure"])) > cost:
            costs[str(entry.id)] = now
            more += now - cost
    spent = dataset.spent + more
    closed = dataset.closed
    if unknown and dataset.mendable:
        closed = f"{fact.describe()} became public, and what was lost then is not known of {_named(unknown)}"
    elif spent > dataset.total and dataset.mendable:
        closed = f"{OVERSPENT} since {fact.describe()} became public: {spent} of {dataset.total}"
        closed += f", {more} of it more than was charged, by {_named(list(costs))}" if costs else ""
        closed += "; Ledger.raise_budget(...) to at least that opens it again"
    return Repriced(costs, more, closed)


@lru_cache(maxsize=64)
def _policy(text: str, facts: tuple[str, ...]) -> Policy:
    return joined(
        Policy.from_dict(json.loads(text)), [constraint_from_dict(json.loads(fact)) for fact in facts]
    )


@lru_cache(maxsize=64)
def _contradiction(text: str, facts: tuple[str, ...], rows: int | None) -> str:
    """Return why a policy's own facts and others, as they were stated, cannot all be true, or ""."""
    own = _policy(text, ())
    others = read_facts([constraint_from_dict(json.loads(fact)) for fact in facts], own.domain)
    return contradiction([*own.facts, *others], own.domain, rows)


def joined(policy: Policy, facts: Iterable[Constraint]) -> Policy:
    """Return a policy that knows more facts: the same one if they follow from what it knew.

    Raises:
        ArgumentError: A fact does not fit the domain, or no table has its answer and those before it.

    Proof note:
        Requires: nothing.
        Ensures:  the tables that satisfy the policy's facts then are those that satisfy its own and these,
                  but for answers to what a marginal that was left open tells.
        Because:  a count of cells that a known marginal tells apart is a sum of its counts; a fact that
                  counts the cells of one before it says nothing new but its answer, which is then put in
                  the place of the one without.
        Checked:  tests/kernel/test_reprice.py::test_facts_that_follow_change_nothing,
                  tests/kernel/test_reprice.py::test_the_same_cells_are_the_same_counts
    """
    known = list(policy.facts)
    cells = [cells_of(fact) for fact in known]
    for fact in read_facts(facts, policy.domain):
        own = cells_of(fact)
        same = cells.index(own) if own in cells else None
        wider = next((old for old in known if tells(old, fact)), None)
        if same is not None and known[same].answer is None and fact.answer is not None:
            known[same] = fact
        elif same is not None:
            _refuse_another(policy.domain, fact, known[same])
        elif wider is not None:
            _refuse_another(policy.domain, fact, wider)
        else:
            known.append(fact)
            cells.append(own)
    stated = tuple(fact.stated for fact in known)
    return policy if stated == policy.constraints else policy.with_facts(stated)


def _told(domain: Domain, marginal: Fact, fact: Fact) -> Ints:
    """Return what a known marginal says of a count, or a marginal, of some of its columns."""
    assert marginal.answer is not None
    if fact.condition is not None:
        cells = tally(domain, list(marginal.columns), None, fact.condition).labels() >= 0
        return np.asarray(marginal.answer.ravel()[cells].sum())
    left = [column for column in marginal.columns if column in fact.columns]
    lost = tuple(n for n, column in enumerate(marginal.columns) if column not in fact.columns)
    summed = np.asarray(marginal.answer.sum(axis=lost))
    return summed.transpose([left.index(column) for column in fact.columns])


def _refuse_another(domain: Domain, fact: Fact, before: Fact) -> None:
    """Refuse an answer other than the one that a fact before tells of the same count."""
    if fact.answer is None or before.answer is None:
        return
    known = _told(domain, before, fact) if before.condition is None else before.answer
    if not np.array_equal(known, fact.answer):
        raise ArgumentError("fact", f"{fact.text}: another answer is public already", fix=_FIX)


def _possible(fact: Constraint, answer: Ints, rows: int) -> bool:
    """Tell whether a known answer can be that of so many rows."""
    total = int(answer.sum())
    return total == rows if fact.kind == "marginal" else total <= rows


def _named(entries: Sequence[str]) -> str:
    """Return the numbers of some entries, the first of many."""
    named = ", ".join(entries[:SHOWN])
    more = f" and {len(entries) - SHOWN} more" if len(entries) > SHOWN else ""
    return f"{'entry' if len(entries) == 1 else 'entries'} {named}{more}"
