"""What a charge must satisfy besides the budget, where a promise does not add up as a policy's does.

Never sees rows.
"""

from __future__ import annotations

from fractions import Fraction
from sqlite3 import Connection
from typing import Literal

from pandas_blowfish.books.balance import cost_of
from pandas_blowfish.books.budget import Dataset
from pandas_blowfish.books.log import every, select
from pandas_blowfish.errors import InsufficientBudgetError, OnceError

Rule = Literal["apart", "once"]
ONCE: Rule = "once"
APART: Rule = "apart"  # the kind, as stored, of entries with a weaker guarantee: they add nothing to `spent`


def require(connection: Connection, bound: Dataset, epsilon: Fraction, rule: Rule | None) -> None:
    """Refuse a charge that a rule does not allow.

    Args:
        connection: The ledger, under its one write lock.
        bound: The dataset as it stands.
        epsilon: What the release loses.
        rule: "apart": a weaker guarantee, reported separately: one such release per dataset, not added to
            what was spent, that loses no more than the total. "once": one release that costs anything.

    Proof note:
        Requires: entries are read and the charge is written under one write lock.
        Ensures:  of each dataset there is one entry of kind "apart" at most; under "once" one charge above 0
                  at most.
        Because:  entries are never taken back, and nobody writes between this look and the commit.
        Checked:  tests/books/test_rules.py::test_rules_hold_over_processes,
                  tests/books/test_rules.py::test_each_rule_refuses_what_it_must
    """
    if rule == APART:
        if beside(connection, bound.name) is not None:
            why = "it has had its one release with a weaker guarantee, and such releases do not add up"
            raise OnceError(bound.name, why, for_good=True)
        if epsilon > bound.total:
            raise InsufficientBudgetError(bound.name, epsilon, bound.total, bound.total)
    if rule == ONCE and epsilon and bound.spent and _charged(connection, bound.name):
        why = "its policy protects a total, which allows one release; another would not add up"
        raise OnceError(bound.name, why, for_good=True)


def beside(connection: Connection, dataset: str) -> int | None:
    """Return the entry of a dataset's release under a weaker promise; None where it has none."""
    found = select(connection, "dataset = ? AND kind = 'apart'", dataset)
    return None if found is None else found.id


def _charged(connection: Connection, dataset: str) -> bool:
    """Return whether a dataset has had a release that was not free."""
    charges = every(connection, "dataset = ? AND kind = 'charge'", dataset)
    return any(cost_of(entry) for entry in charges)
