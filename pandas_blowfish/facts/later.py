"""Facts that become public after a policy was made: what it is with them. Never sees rows, or a budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.consistent import find_contradiction
from pandas_blowfish.facts.declared import Box, Constraint, Count, Marginal, constraint_from_dict
from pandas_blowfish.facts.fact import Fact, cells_of, determines, read_facts
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.policy import Policy

FIX = "state the answer that was published, or leave it out."
_ALLOWED = "a bf.Count, bf.Marginal or bf.Box, or its to_dict()"


def read_fact(fact: Any) -> Constraint:
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


@lru_cache(maxsize=64)
def policy_from(text: str, facts: tuple[str, ...]) -> Policy:
    """Return a policy from its JSON text, with facts that were recorded since, each as text; read once."""
    return add_facts(
        Policy.from_dict(json.loads(text)), [constraint_from_dict(json.loads(fact)) for fact in facts]
    )


@lru_cache(maxsize=64)
def find_clash(text: str, facts: tuple[str, ...], rows: int | None) -> str:
    """Return why a policy's own facts and others, as they were stated, cannot all be true, or ""."""
    own = policy_from(text, ())
    others = read_facts([constraint_from_dict(json.loads(fact)) for fact in facts], own.domain)
    return find_contradiction([*own.facts, *others], own.domain, rows)


def add_facts(policy: Policy, facts: Iterable[Constraint]) -> Policy:
    """Return a policy that knows more facts: the same one if they follow from what it knew.

    Raises:
        ArgumentError: A fact does not fit the domain, or no table has its answer and those before it.

    Proof note:
        Requires: nothing.
        Ensures:  the tables that satisfy the policy's facts then are those that satisfy its own and these,
                  but for answers to what a marginal that was left open determines.
        Because:  a count of cells that a known marginal distinguishes is a sum of its counts; a fact that
                  counts the cells of one before it adds nothing new but its answer, which is then put in
                  the place of the one without.
        Checked:  tests/books/test_reprice.py::test_facts_that_follow_change_nothing,
                  tests/books/test_reprice.py::test_the_same_cells_are_the_same_counts
    """
    known = list(policy.facts)
    cells = [cells_of(fact) for fact in known]
    for fact in read_facts(facts, policy.domain):
        own = cells_of(fact)
        same = cells.index(own) if own in cells else None
        wider = next((old for old in known if determines(old, fact)), None)
        if same is not None and known[same].answer is None and fact.answer is not None:
            known[same] = fact
        elif same is not None:
            _refuse_another(fact, known[same])
        elif wider is not None:
            _refuse_another(fact, wider)
        else:
            known.append(fact)
            cells.append(own)
    stated = tuple(fact.stated for fact in known)
    return policy if stated == policy.constraints else policy.with_facts(stated)


def _implied_answer(marginal: Fact, fact: Fact) -> Ints:
    """Return what a known marginal determines of a count, or a marginal, of some of its columns."""
    assert marginal.answer is not None
    if fact.condition is not None:
        cells = Cells.every(marginal.columns, marginal.answer.shape)
        return np.asarray(marginal.answer.ravel()[fact.counts_at(cells) >= 0].sum())
    left = [column for column in marginal.columns if column in fact.columns]
    lost = tuple(n for n, column in enumerate(marginal.columns) if column not in fact.columns)
    summed = np.asarray(marginal.answer.sum(axis=lost))
    return summed.transpose([left.index(column) for column in fact.columns])


def _refuse_another(fact: Fact, before: Fact) -> None:
    """Refuse an answer other than the one that a fact before determines of the same count."""
    if fact.answer is None or before.answer is None:
        return
    known = _implied_answer(before, fact) if before.condition is None else before.answer
    if not np.array_equal(known, fact.answer):
        raise ArgumentError("fact", f"{fact.text}: another answer is public already", fix=FIX)
