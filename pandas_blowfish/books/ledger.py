"""The ledger charges exact fractions of a budget, durably, before rows are read. Never sees rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pandas_blowfish import errors
from pandas_blowfish.books import analysts, balance, part_sums, pools, sealkey, upgrade, verify
from pandas_blowfish.books import log as chain
from pandas_blowfish.books import named_answers as answers
from pandas_blowfish.books.balance import Budget, Dataset, check_denominators
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.part_sums import Part
from pandas_blowfish.books.pools import Pool
from pandas_blowfish.exact.number import exact

if TYPE_CHECKING:
    import pandas as pd

    from pandas_blowfish.books.reprice import Repriced
    from pandas_blowfish.facts.declared import Constraint

__all__ = ["ONCE", "WEAKER", "Budget", "Dataset", "Entry", "Ledger", "Rule"]

Rule = Literal["apart", "once"]
ONCE: Rule = "once"
WEAKER: Rule = "apart"  # the kind, as stored, of entries with a weaker guarantee: they add nothing to `spent`


class Ledger:
    """A record of charges to which entries are only ever added: in memory, or in an SQLite file.

    Args:
        path: The file, which the first `bind` creates. None: a new ledger in this process's memory.
        analyst: Who charges, as entries are to state it; see `set_limit`.

    Examples:
        >>> ledger = Ledger()
        >>> patients = ledger.bind("patients", Fraction(1), {})
        >>> ledger.charge("patients", Fraction(1, 10), {"query": "hist"})[1]
        Budget(total=1, spent=0.1, remaining=0.9)
    """

    # a hook: `explain.glance`, which books may not import, sets it as the package is imported
    view: ClassVar[Any] = repr  # ledger -> HTML for notebooks
    reader: ClassVar[Any] = None  # ledger, dataset, name, post -> frame: `accessor` sets it, in the same way

    def __init__(self, path: str | os.PathLike[str] | None = None, *, analyst: str | None = None) -> None:
        if not isinstance(path, (str, os.PathLike, type(None))) or "\0" in str(path):
            raise errors.ArgumentTypeError("path", "not a path", allowed="a str or a Path")
        self.location = chain.locate(path)
        self.analyst = analysts.check_analyst(analyst)

    @classmethod
    def default(cls) -> Ledger:
        """Return the in-memory ledger of this process; a forked child begins its own."""
        return _DEFAULT.get(os.getpid()) or _DEFAULT.setdefault(os.getpid(), cls())

    @classmethod
    def at(cls, location: str) -> Ledger:
        """Return the ledger that exists at a stated location, or raise LedgerNotFoundError."""
        ledger = cls(location)
        with chain.transaction(ledger.location):
            return ledger

    @property
    def is_file(self) -> bool:
        """Return whether the ledger outlives this process."""
        return not self.location.startswith("memory:")

    def bind(
        self,
        dataset: str,
        total: Fraction,
        binding: Mapping[str, Any],
        *,
        pool: Pool | None = None,
        limits: Mapping[str, Fraction] | None = None,
    ) -> Dataset:
        """Return the dataset of this name; only if there is none, open it with this total and binding.

        Args:
            dataset: Its name.
            total: What all its releases may lose together.
            binding: What it is bound to.
            pool: The pool it is to be in for good, which is opened too where the ledger has none.
            limits: What each analyst may charge.
        """
        if total <= 0:
            raise errors.EpsilonError("total", f"{total} is not positive", allowed="a positive fraction")
        chain.canonical(binding)  # what cannot be written fails here, before there is a file
        with chain.transaction(self.location, "IMMEDIATE", create=True) as connection:
            if chain.select(connection, "dataset = ?", dataset) is None:
                upgrade.require_moved(connection, self.location)
                new = Dataset(dataset, {}, total, Fraction(0), None)
                check_denominators(new)
                stated = dict(binding)
                if pool is not None:
                    pools.open_pool(connection, pool, dataset)
                    stated["pool"] = pool.name
                most = {name: (limit, Fraction(0)) for name, limit in (limits or {}).items()}
                _append(connection, new, "open", {"binding": stated, **analysts.state_limits(most)})
            return _dataset(connection, dataset)

    def dataset(self, name: str) -> Dataset:
        """Return what a dataset name is bound to, or raise UnknownDatasetError."""
        with chain.transaction(self.location) as connection:
            return _dataset(connection, name)

    def budget(self, dataset: str) -> Budget:
        """Return the total, spent and remaining budget of a dataset, and why it is closed if it is."""
        with chain.transaction(self.location) as connection:
            found = _dataset(connection, dataset, pool=True)
            assert found.last is not None
            return replace(found.budget, sums=part_sums.sums_of(connection, found.last).sums)

    def charge(
        self,
        dataset: str,
        epsilon: Fraction,
        body: Mapping[str, Any],
        *,
        name: str | None = None,
        facts: int = 0,
        rule: Rule | None = None,
        part: Part | None = None,
    ) -> tuple[Entry, Budget]:
        """Record a charge durably, or raise and record nothing.

        Args:
            dataset: A name given to `bind`.
            epsilon: What to charge; 0 for an answer that the policy makes free.
            body: JSON-able facts of the release: query, columns, strategy, sensitivity, scale.
            name: The name under which `find` is to find the answer.
            facts: How many recorded facts the release was planned under.
            rule: What it must satisfy besides; see `require_rule`.
            part: The connected parts of the policy outside which nobody loses anything; None: everyone may.

        Proof note:
            Requires: the file system honours locks and fsync, and the file is not put back to an older copy.
            Ensures:  over all processes the epsilons recorded for a dataset whose parts hold any one place
                      (`part_sums.Sums`) never sum to more than its total, and none was worked out under fewer
                      facts than were recorded before it.
            Because:  BEGIN IMMEDIATE holds the one write lock from the reading of `spent`, and of the facts,
                      until the commit; facts are never taken back, so their number identifies them.
            Checked:  tests/books/test_ledger_processes.py::test_processes_never_overspend,
                      tests/books/test_ledger_processes.py::test_no_charge_under_too_few_facts
        """
        if epsilon < 0:
            raise errors.EpsilonError("epsilon", f"{epsilon} is negative", allowed="0 or more")
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = _dataset(connection, dataset, charged=True)
            if "key" in bound.binding:  # an older version's: raises, with the fix
                sealkey.stated_key(self.location, bound.binding)
            if facts != len(bound.facts):
                raise errors.FactsChangedError(dataset)
            weaker = chain.select(connection, "dataset = ? AND kind = 'apart'", dataset)
            require_rule(connection, bound, epsilon, rule, weaker)
            if bound.binding.get("pool") is not None:
                pools.require_open(connection, bound.binding["pool"])
            kind = WEAKER if rule == WEAKER else "charge"
            assert bound.last is not None
            known = part_sums.sums_of(connection, bound.last)
            sums = known.sums.copy()
            if kind == "charge":
                sums.add(epsilon, part)
            after = balance.spend(bound, epsilon, known.sums.lost(part or {}), sums.most)
            more: dict[str, Any] = {
                "epsilon": epsilon,
                "name": name,
                **({} if weaker is None else {"beside": weaker.id}),
            }
            more |= {answers.ATTESTED: True} if name is not None else {}
            more |= {"part": dict(part)} if part else {}
            more |= {"analyst": self.analyst} if self.analyst is not None else {}
            limits = analysts.limits_of(bound.last)
            if kind == "charge":
                limits = analysts.charge_limit(limits, dataset, self.analyst, epsilon)
                more |= part_sums.state_sums(known, sums)
            more |= analysts.state_limits(limits)
            entry = _append(connection, after, kind, {**body, **more})
            pools.share(connection, bound, after, entry)
            part_sums.remember(entry, known, sums)
        with chain.transaction(self.location) as connection:  # it is seen to be there before a row is counted
            chain.confirm(connection, entry)
        return entry, after.budget

    def store(self, entry: Entry, answer: bytes) -> None:
        """Keep the noisy answer of a named charge, once and for good; the first under a name stays."""
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            digest = answers.put(connection, entry, answer)
            if digest is not None:
                now = _dataset(connection, entry.dataset)
                _append(connection, now, "answer", {"charge": entry.id, "digest": digest})
            chain.confirm(connection, entry)  # the charge is still there

    def find(self, dataset: str, name: str) -> tuple[Entry, bytes] | None:
        """Return the first charge under this name whose answer was stored, with the answer."""
        with chain.transaction(self.location) as connection:
            return answers.find(connection, dataset, name)

    def answer(self, dataset: str, name: str, *, post: bool = True) -> Any:
        """Return a named answer as the frame, or dict of frames, that its verb returned: free, without rows.

        Args:
            dataset: A name given to `protect`.
            name: The `name=` of the release.
            post: False for the unbiased answers, as of the verb.

        Raises:
            UnknownAnswerError: No answer is kept under this name.
        """
        for argument, value in {"dataset": dataset, "name": name}.items():
            if not isinstance(value, str):
                raise errors.ArgumentTypeError(argument, "not a name", allowed="a str")
        return type(self).reader(self, dataset, name, post)

    @property
    def datasets(self) -> list[str]:
        """Return the names of all datasets, in the order they were bound."""
        first = "SELECT dataset FROM entries WHERE kind = 'open' ORDER BY id"
        with chain.transaction(self.location) as connection:
            return [str(name) for (name,) in connection.execute(first)]

    @property
    def pools(self) -> list[str]:
        """Return the names of all pools, in the order they were opened."""
        first = "SELECT dataset FROM entries WHERE kind = 'pool' ORDER BY id"
        with chain.transaction(self.location) as connection:
            return [str(name) for (name,) in connection.execute(first)]

    def limits(self, dataset: str) -> dict[str, Budget]:
        """Return what each analyst with a limit may charge to a dataset and has charged."""
        found = analysts.limits_of(self.dataset(dataset).last)
        return {name: Budget(most, spent) for name, (most, spent) in found.items()}

    def set_limit(self, dataset: str, analyst: str, limit: object) -> Budget:
        """Limit what an analyst may charge to a dataset from now on, on the record; what was charged counts.

        Charges count as they were charged, all of them, whichever part of the policy they concern. Whoever
        states no `analyst=`, or another one, is not limited: names are an agreement, not a lock.

        Args:
            dataset: A name given to `bind`.
            analyst: The name that is given as `analyst=`.
            limit: What all charges of the analyst may add up to; below what they do nothing more is charged.
        """
        name, most = analysts.check_analyst(analyst), analysts.check_limit(limit)
        if name is None:
            raise errors.ArgumentTypeError("analyst", "not a name", allowed="a str")
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = _dataset(connection, dataset)
            sealkey.stated_key(self.location, bound.binding) if "key" in bound.binding else None
            charges = chain.select_all(connection, "dataset = ? AND kind = 'charge'", dataset)
            own = (balance.cost_of(entry) for entry in charges if entry.body.get("analyst") == name)
            spent = sum(own, Fraction(0))
            limits = {**analysts.limits_of(bound.last), name: (most, spent)}
            if len(limits) > analysts.MAX_LIMITS:
                raise errors.ArgumentError(
                    "analyst", "too many have a limit", allowed=f"{analysts.MAX_LIMITS:,}"
                )
            body = {"analyst": name, "limit": most, **analysts.state_limits(limits)}
            _append(connection, bound, "limit", body)
        return Budget(most, spent)

    def seal_key_id(self) -> str | None:
        """Return the fingerprint of the seal key that datasets here state; None where there are none."""
        try:
            with chain.transaction(self.location) as connection:
                upgrade.require_moved(connection, self.location)
                return upgrade.key_id(connection)
        except errors.LedgerNotFoundError:
            return None

    def upgrade(self) -> list[str]:
        """Move the seal keys of an older version out of the file; return the datasets whose key was moved.

        Receipts stay good. Copies made before still hold the keys. It can be done again, and after a crash.
        """
        return upgrade.upgrade(self.location)

    @property
    def entries(self) -> pd.DataFrame:
        """Return one row for each entry as it stands (see `verify`), without seals; sums are fractions."""
        from pandas_blowfish.books.ledger_tables import list_entries  # here: charging needs no pandas

        with chain.transaction(self.location) as connection:
            return list_entries(connection.execute("SELECT * FROM entries ORDER BY id").fetchall())

    def verify(self, head: str | Mapping[str, Any] | None = None) -> bool:
        """Return True if no entry or answer was edited, deleted or moved; else raise and name it.

        Charges have a name without an answer where a process was stopped between the two; that is no error.
        Of charges made before version 0.2 an edited answer is found, and a deleted one looks like that.

        Args:
            head: The hash of a receipt, or a receipt. Its entry must be there, which also finds a ledger that
                was cut off or rewritten as a whole, and must state the same cost, query, strategy, noise,
                policy, unit, time. What the ledger does not hold (errors, `post`) is not compared.
        """
        verify.check_head(head)
        with chain.transaction(self.location) as connection:
            verify.verify(connection, self.location, head)
        return True

    def agrees(self, receipt: Mapping[str, Any]) -> bool:
        """Return True if a receipt is that of its entry, which alone is read; else raise as `verify`."""
        verify.check_head(receipt)
        with chain.transaction(self.location) as connection:
            verify.vouch(connection, receipt)
        return True

    def raise_budget(self, dataset: str, total: object, reason: str = "") -> Budget:
        """Raise the total of a dataset, or of a pool, on the record; a total is never lowered.

        A dataset that a fact closed because of its total alone is opened again by one that is large enough.
        """
        raised = exact(total, "total")
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = _dataset(connection, dataset, pool=True)
            if not bound.is_reopenable:
                raise errors.ClosedDatasetError(dataset, str(bound.closed), for_good=True)
            if raised <= bound.total or raised < bound.spent:
                allowed = f"> {bound.total}" if bound.spent <= bound.total else f">= {bound.spent}"
                raise errors.ArgumentError("total", f"{raised} raises nothing", allowed=allowed)
            after = replace(bound, total=raised, closed=None)
            check_denominators(after)
            _append(connection, after, "raise", {"reason": reason})
        return after.budget

    def record_exact(self, dataset: str, fact: Constraint | Mapping[str, Any]) -> Entry:
        """Record that a count of the rows became public elsewhere, and what earlier releases have lost then.

        Later releases are planned under it, and it is never taken back: see `preview_exact` first. Earlier
        ones made under thresholds can become much dearer, for a record may then have moved anywhere. If they
        have lost more than the total together, the dataset is closed until `raise_budget`. Where one released
        totals of groups exactly, or its loss is not known, a fact that an edge of the policy changes
        closes the dataset for good. A known answer is compared with the rows when they are next protected.

        Args:
            dataset: A name given to `bind`.
            fact: A `bf.Count`, `bf.Marginal` or `bf.Box`, with or without its answer, or its plain form.
                An answer that cannot be true together with those known before is refused.

        Returns:
            The entry; `body["repriced"]` lists what each charge that became dearer costs now.

        Proof note:
            Requires: `reprice` and `database.transaction`, as their notes state.
            Ensures:  from its commit on, `spent` is at least what all charges before it have lost together
                      under all facts, or the dataset is closed.
            Because:  charges and facts before it are read, and it is written, under the one write lock.
            Checked:  tests/books/test_ledger.py::test_a_fact_reprices,
                      tests/books/test_ledger_processes.py::test_no_charge_under_too_few_facts
        """
        from pandas_blowfish.books import reprice  # here: charging needs no numpy
        from pandas_blowfish.facts import later

        stated = later.read_fact(fact)
        reprice.price_with(self.dataset(dataset), stated)  # its price is worked out while others can charge
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            before = _dataset(connection, dataset)
            after, now = _with_fact(connection, dataset, stated)
            body = {
                "fact": after.facts[-1],
                "repriced": now.costs,
                **({"together": True} if now.together else {}),
            }
            entry = _append(connection, after, "fact", body)
            pools.share(connection, before, after, entry)
            return entry

    def preview_exact(self, dataset: str, fact: Constraint | Mapping[str, Any]) -> Budget:
        """Return what `budget` would be after `record_exact`, closed or not; nothing is written.

        Args:
            dataset: A name given to `bind`.
            fact: As `record_exact` takes it; what that refuses is refused here.
        """
        from pandas_blowfish.books import reprice  # here: charging needs no numpy
        from pandas_blowfish.facts import later

        stated = later.read_fact(fact)
        reprice.price_with(self.dataset(dataset), stated)
        with chain.transaction(self.location) as connection:
            return _with_fact(connection, dataset, stated)[0].budget

    def close(self) -> None:
        """Close the file until it is used again; what is in memory stays."""
        chain.close(self.location)

    def __repr__(self) -> str:
        return f"Ledger({self.location!r})"

    def _repr_html_(self) -> str:
        return str(type(self).view(self))


_DEFAULT: dict[int, Ledger] = {}  # process id: its default ledger


def _dataset(connection: Connection, name: str, *, charged: bool = False, pool: bool = False) -> Dataset:
    """Return a dataset as its first and last entry state it; one to be `charged` must not be closed.

    Args:
        connection: The ledger.
        name: Its name.
        charged: Refuse one that is closed.
        pool: Return a pool too, which is like a dataset without a binding.
    """
    if not isinstance(name, str):
        raise errors.ArgumentTypeError("dataset", "not a name", allowed="a str")
    first = chain.select(connection, "dataset = ? ORDER BY id", name)
    last = chain.select(connection, "dataset = ? ORDER BY id DESC", name)
    if first is None or last is None:
        known = connection.execute("SELECT DISTINCT dataset FROM entries ORDER BY dataset")
        raise errors.UnknownDatasetError(name, [str(dataset) for (dataset,) in known])
    if first.kind == "pool":
        if not pool:
            what = f"{name!r} is a pool, not a dataset"
            raise errors.ArgumentError(
                "dataset", what, fix="give the name of a dataset; choose another for a new one."
            )
        return Dataset(name, {}, *balance.balance_of(last)[:3], (), last)
    total, spent, closed, many = balance.balance_of(last)
    facts = balance.recorded_facts(connection, name) if many else ()
    if len(facts) != many:
        raise errors.LedgerTamperedError(last.id, "the facts recorded before it are missing")
    if not isinstance(first.body.get("binding"), dict):
        raise errors.LedgerTamperedError(first.id, "its binding cannot be read")
    found = Dataset(name, first.body["binding"], total, spent, closed, facts, last)
    if charged and closed is not None:
        raise errors.ClosedDatasetError(name, closed, for_good=not found.is_reopenable)
    return found


def require_rule(
    connection: Connection, bound: Dataset, epsilon: Fraction, rule: Rule | None, weaker: Entry | None
) -> None:
    """Refuse a charge that a rule does not allow.

    Args:
        connection: The ledger, under its one write lock.
        bound: The dataset as it stands.
        epsilon: What the release loses.
        rule: "apart": a weaker guarantee, reported separately: one such release per dataset, not added to
            what was spent, that loses no more than the total. "once": one release that costs anything.
        weaker: The entry of the dataset's release with a weaker guarantee; None where it has none.

    Proof note:
        Requires: entries are read and the charge is written under one write lock.
        Ensures:  of each dataset there is one entry of kind "apart" at most; under "once" one charge above 0
                  at most.
        Because:  entries are never taken back, and nobody writes between this look and the commit.
        Checked:  tests/books/test_rules.py::test_rules_hold_over_processes,
                  tests/books/test_rules.py::test_each_rule_refuses_what_it_must
    """
    if rule == WEAKER:
        if weaker is not None:
            why = "it has had its one release with a weaker guarantee, and such releases do not add up"
            raise errors.OnceError(bound.name, why, for_good=True)
        if epsilon > bound.total:
            raise errors.InsufficientBudgetError(bound.name, epsilon, bound.total, bound.total)
    charges = chain.select_all(connection, "dataset = ? AND kind = 'charge'", bound.name)
    if rule == ONCE and epsilon and bound.spent and any(balance.cost_of(entry) for entry in charges):
        why = "its policy protects a total, which allows one release; another would not add up"
        raise errors.OnceError(bound.name, why, for_good=True)


def _with_fact(connection: Connection, dataset: str, fact: Constraint) -> tuple[Dataset, Repriced]:
    """Return what a dataset comes to once a fact is recorded, and what that does to its charges."""
    from pandas_blowfish.books import reprice

    bound = _dataset(connection, dataset)
    charges = balance.list_charges(connection, dataset)
    now = reprice.reprice_charges(bound, charges, fact)
    known = (*bound.facts, fact.to_dict())
    after = replace(bound, spent=now.spent, closed=now.closed, facts=known)
    check_denominators(after)
    return after, now


def _append(connection: Connection, now: Dataset, kind: str, body: Mapping[str, Any]) -> Entry:
    """Append an entry that states what its dataset has come to."""
    come_to = {"total": now.total, "spent": now.spent, "closed": now.closed, "facts": len(now.facts)}
    stated = {} if "together" in body else part_sums.stated_by(now.last)
    user = analysts.operating_user() if kind != "answer" else None
    who = {} if user is None else {"user": user}
    limits = analysts.state_limits(analysts.limits_of(now.last))
    return chain.append(connection, now.name, kind, {**who, **limits, **stated, **body, **come_to})
