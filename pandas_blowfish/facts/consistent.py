"""Whether known answers can all be true of one table. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.facts.declared import Constraint
from pandas_blowfish.facts.fact import Fact, read_facts
from pandas_blowfish.facts.signature import signatures_of
from pandas_blowfish.policy.domain import Domain

MAX_SIZE = 4_000_000  # kinds of cells times counts
SHOWN = 6  # facts that are named
ROUNDING = 1e-6  # of the largest answer


def consistent_facts(constraints: Iterable[Constraint], domain: Domain) -> tuple[Fact, ...]:
    """Return facts read against the declared cells, or raise for answers that contradict each other."""
    facts = read_facts(constraints, domain)
    if problem := find_contradiction(facts, domain):
        raise ArgumentError(
            "constraints", problem, fix="state the answers that were published, or leave them out."
        )
    return facts


def find_contradiction(facts: Sequence[Fact], domain: Domain, rows: int | None = None) -> str:
    """Return why known answers cannot all be true, "" if they can (or if there are too many to find out).

    Args:
        facts: The facts; those without an answer do not matter.
        domain: The declared cells.
        rows: The number of rows, where it is known.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> from pandas_blowfish.facts.declared import Count
        >>> ages = Domain((integers("age", 0, 99),))
        >>> facts = read_facts([Count("age < 18", answer=5), Count("age < 65", answer=4)], ages)
        >>> find_contradiction(facts, ages)
        "no table has the answers of Count('age < 18'), Count('age < 65')"
    """
    known = [fact for fact in facts if fact.answer is not None]
    if not known or (len(known) == 1 and rows is None and known[0].condition is None):
        return ""
    found = signatures_of(known, domain, frozenset(), False)
    if found is None or found.size * found.labels > MAX_SIZE:
        return ""
    answers = np.concatenate([np.asarray(fact.answer).ravel() for fact in known])
    labels, table = found.table(np.arange(found.size))
    possible = not answers[np.setdiff1d(np.arange(found.labels), labels)].any()
    totals = {int(np.asarray(fact.answer).sum()) for fact in known if fact.condition is None}
    totals |= set() if rows is None else {rows}
    least = max(int(np.asarray(fact.answer).sum()) for fact in known)
    possible = possible and len(totals) <= 1 and least <= max(totals, default=least)
    if possible and _feasible(table, answers[labels], None if rows is None else float(rows)):
        return ""
    named = ", ".join(fact.text for fact in known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
    of = "" if rows is None else f" and {rows:,} rows"
    return f"no table{of.replace(' and', ' of')} has the answer{'s' * (len(known) > 1)} of {named}"


def _feasible(table: np.ndarray, answers: np.ndarray, rows: float | None) -> bool:
    """Return whether some counts of the kinds of cells, none negative, have the known sums."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    sums, goal = table.T.astype(np.float64), answers.astype(np.float64)
    if rows is not None:
        sums, goal = np.vstack([sums, np.ones(len(table))]), np.append(goal, rows)
    unit, (many, kinds) = max(1.0, float(goal.max(initial=0.0))), sums.shape
    # least misses of the sums: what rounding may do is no contradiction
    table_and_misses = hstack([csr_array(sums), eye_array(many), -eye_array(many)], format="csr")
    cost = np.concatenate([np.zeros(kinds), np.ones(2 * many)])
    found = linprog(cost, A_eq=table_and_misses, b_eq=goal / unit, method="highs")
    return bool(found.status != 0 or found.fun <= ROUNDING)
