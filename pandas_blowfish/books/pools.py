"""Pools: one more total for datasets about the same people. Never sees rows.

A pool has entries of its own in the ledger, under its own name: "pool" opens it, "share" counts what a
member has lost more, in the transaction of the member's own entry, and "raise" raises its total.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from sqlite3 import Connection
from typing import Any

from pandas_blowfish.books import log as chain
from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.books.balance import OVERSPENT, Dataset, balance_of, check_denominators
from pandas_blowfish.books.log import UNREADABLE, Entry, parse_fraction
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetMismatchError,
    ClosedDatasetError,
    LedgerTamperedError,
    PoolBudgetError,
)
from pandas_blowfish.exact.number import epsilon_of

UNSHARED = "what its dataset lost was not counted for its pool"


@dataclass(frozen=True)
class Pool:
    """A total that several datasets of one ledger share: tables about the same people.

    Each charge counts against its dataset and against the pool, in one transaction.

    Args:
        name: The name the total is kept under; no dataset of the ledger has it.
        epsilon: What all releases of all its datasets together may lose; None for a pool that the ledger has.

    Examples:
        >>> import pandas_blowfish as bf
        >>> bf.Pool("visits-2026", epsilon=3)
        Pool(name='visits-2026', epsilon=Fraction(3, 1))
    """

    name: str
    epsilon: Any = None

    def __post_init__(self) -> None:
        if not is_name(self.name):
            allowed = "printable text without blanks around it"
            raise ArgumentError("pool", "its name is not a name", allowed=allowed)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", epsilon_of(self.epsilon))


def as_pool(value: Any) -> Pool | None:
    """Return a pool, or None, or the pool of a name; refuse anything else."""
    if value is None or isinstance(value, Pool):
        return value
    if isinstance(value, str):
        return Pool(value)
    raise ArgumentTypeError("pool", "not a pool", allowed="a bf.Pool, or the name of one in the ledger")


def pool_at(connection: Connection, name: str) -> Dataset | None:
    """Return a pool as its last entry states it; None where the ledger has no such name."""
    last = chain.select(connection, "dataset = ? ORDER BY id DESC", name)
    if last is None:
        return None
    first = chain.select(connection, "dataset = ? ORDER BY id", name)
    if first is None or first.kind != "pool":
        raise ArgumentError("pool", f"{name!r} is a dataset", fix="choose another name for the pool.")
    total, spent, closed, _ = balance_of(last)
    return Dataset(name, {}, total, spent, closed, (), last)


def open_pool(connection: Connection, pool: Pool, dataset: str) -> None:
    """Open a pool in the ledger, or see that the one it has is the same."""
    if pool.name == dataset:
        raise ArgumentError("pool", f"{dataset!r} is the dataset", fix="choose another name for the pool.")
    found = pool_at(connection, pool.name)
    if found is None:
        if pool.epsilon is None:
            fix = f"bf.Pool({pool.name!r}, epsilon=...) opens it."
            raise ArgumentError("pool", f"the ledger has no pool {pool.name!r}", fix=fix)
        new = Dataset(pool.name, {}, pool.epsilon, Fraction(0), None)
        check_denominators(new)
        _append(connection, new, "pool", {})
    else:
        require_total(pool, found.total)


def require_total(pool: Pool, total: Fraction) -> None:
    """Refuse a pool that is stated with another total than it has."""
    if pool.epsilon not in (None, total):
        raise BudgetMismatchError(pool.name, pool.epsilon, total)


def require_open(connection: Connection, pool: str) -> None:
    """Refuse a charge to a member of a pool that is closed."""
    found = pool_at(connection, pool)
    if found is not None and found.closed is not None:
        raise ClosedDatasetError(pool, found.closed)


def share(connection: Connection, before: Dataset, after: Dataset, entry: Entry) -> None:
    """Count for the pool of a dataset, if it has one, what an entry made it lose more.

    Args:
        connection: The ledger, under its one write lock.
        before: The dataset before the entry.
        after: The dataset after it.
        entry: The entry: a charge must be within the pool's total, a fact may close the pool.

    Proof note:
        Requires: a dataset's `spent` is at least what its releases lose together between neighbours
                  (`part_sums.Sums`, `reprice.reprice_charges`), and one write lock for both entries.
        Ensures:  between any two worlds that differ in what one person is in the tables of the pool, the
                  releases of all its datasets together lose at most the pool's `spent`; and `spent` exceeds
                  the total only where facts made it so, and then the pool is closed.
        Because:  what is released of different tables has independent noise, so that losses add up over
                  them, and each table's is at most its dataset's `spent`, for a person in any part of it.
                  Datasets begin at 0, `spent` changes by charges and facts alone, and each increase is added
                  here: the pool's `spent` is the sum of its members'. Parts compose inside a dataset; over
                  datasets the largest sums add up, whichever parts they are of, which is more, never less.
        Checked:  tests/books/test_pools.py::test_the_sum_of_members_is_what_the_pool_spends,
                  tests/books/test_ledger_processes.py::test_processes_never_overspend_a_pool
    """
    name, more = after.binding.get("pool"), after.spent - before.spent
    if name is None or not more:
        return
    found = pool_at(connection, name)
    if found is None:
        raise LedgerTamperedError(entry.id, "the pool of its dataset is missing")
    spent, closed = found.spent + more, found.closed
    if spent > found.total:
        if entry.kind != "fact":
            raise PoolBudgetError(name, after.name, more, found.total - found.spent, found.total)
        closed = (
            closed or f"{OVERSPENT} since a fact about {after.name!r} became public: {spent} of {found.total}"
        )
    now = replace(found, spent=spent, closed=closed)
    check_denominators(now)
    _append(connection, now, "share", {"member": after.name, "entry": entry.id, "epsilon": more})


def _append(connection: Connection, now: Dataset, kind: str, body: dict[str, Any]) -> Entry:
    sums = {"total": now.total, "spent": now.spent, "closed": now.closed, "facts": 0}
    return chain.append(connection, now.name, kind, {**body, **sums})


class Due:
    """Which entry of a pool must come next, while a ledger is read from its beginning."""

    def __init__(self) -> None:
        self.pools: set[str] = set()
        self.member: dict[str, Any] = {}  # dataset: its pool
        self._next: tuple[Entry, Fraction] | None = None

    def follow(self, entry: Entry, was: Fraction, now: Fraction) -> None:
        """Read the next entry, after which its dataset has lost `now`, and raise unless pools follow.

        Proof note:
            Requires: `require_following` of each entry by itself; entries come in their order.
            Ensures:  the `spent` of a pool is the sum of those of its members.
            Because:  an entry that makes a member lose more is followed by one of its pool that adds as much,
                      and there are no others.
            Checked:  tests/books/test_pools.py::test_edited_shares_are_found
        """
        if (entry.kind == "share") != (self._next is not None):
            raise LedgerTamperedError(entry.id, UNSHARED)
        if self._next is not None:
            cause, more = self._next
            try:
                stated = (entry.dataset, entry.body["member"], entry.body["entry"])
                same = stated == (self.member[cause.dataset], cause.dataset, cause.id)
                same &= parse_fraction(entry.body["epsilon"]) == more
                same &= cause.kind == "fact" or entry.body["closed"] is None
            except UNREADABLE:
                same = False
            if not same:
                raise LedgerTamperedError(entry.id, UNSHARED)
            self._next = None
        elif entry.kind == "pool":
            self.pools.add(entry.dataset)
        elif entry.kind == "open":
            binding = entry.body.get("binding")
            pool = binding.get("pool") if isinstance(binding, dict) else None
            if pool is not None and pool not in self.pools:
                raise LedgerTamperedError(entry.id, "its pool is missing")
            self.member[entry.dataset] = pool
        elif self.member.get(entry.dataset) is not None and now > was:
            self._next = entry, now - was

    def finish(self) -> None:
        """Raise where the last entry is one whose pool was not charged."""
        if self._next is not None:
            raise LedgerTamperedError(self._next[0].id, UNSHARED)
