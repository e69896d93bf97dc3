"""The ledger charges exact fractions of a budget, durably, before rows are read. Never sees rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from pandas_blowfish import errors
from pandas_blowfish.kernel import chain
from pandas_blowfish.kernel.chain import Entry
from pandas_blowfish.policy.exact import exact

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Budget", "Dataset", "Entry", "Ledger"]


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in all and has spent: exact fractions."""

    total: Fraction
    spent: Fraction

    @property
    def remaining(self) -> Fraction:
        """Return what may still be spent."""
        return self.total - self.spent

    def __repr__(self) -> str:
        return f"Budget(total={self.total}, spent={self.spent}, remaining={self.remaining})"


@dataclass(frozen=True)
class Dataset:
    """What a dataset name is bound to, and what it has spent."""

    name: str
    binding: dict[str, Any] = field(repr=False)  # holds the seal
    total: Fraction
    spent: Fraction
    closed: str | None  # why it takes no more charges


class Ledger:
    """A record of charges to which entries are only ever added: in memory, or in an SQLite file.

    Args:
        path: The file, which the first `bind` creates. None: a new ledger in this process's memory.

    Examples:
        >>> ledger = Ledger()
        >>> patients = ledger.bind("patients", Fraction(1), {})
        >>> ledger.charge("patients", Fraction(1, 10), {"query": "hist"})[1]
        Budget(total=1, spent=1/10, remaining=9/10)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(path, (str, os.PathLike, type(None))) or "\0" in str(path):
            raise errors.ArgumentTypeError("path", "not a path", allowed="a str or a Path")
        self.location = chain.located(path)

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

    def bind(self, dataset: str, total: Fraction, binding: Mapping[str, Any]) -> Dataset:
        """Return the dataset of this name; only if there is none, open it with this total and binding."""
        if total <= 0:
            raise errors.EpsilonError("total", f"{total} is not positive", allowed="a positive fraction")
        chain.canonical(binding)  # what cannot be written fails here, before there is a file
        with chain.transaction(self.location, "IMMEDIATE", create=True) as connection:
            if chain.select(connection, "dataset = ?", dataset) is None:
                new = Dataset(dataset, {}, total, Fraction(0), None)
                _append(connection, new, "open", {"binding": binding})
            return _dataset(connection, dataset)

    def dataset(self, name: str) -> Dataset:
        """Return what a dataset name is bound to, or raise UnknownDatasetError."""
        with chain.transaction(self.location) as connection:
            return _dataset(connection, name)

    def budget(self, dataset: str) -> Budget:
        """Return the total, spent and remaining budget of a dataset."""
        bound = self.dataset(dataset)
        return Budget(bound.total, bound.spent)

    def charge(
        self, dataset: str, epsilon: Fraction, body: Mapping[str, Any], *, name: str | None = None
    ) -> tuple[Entry, Budget]:
        """Record a charge durably, or raise and record nothing.

        Args:
            dataset: A name given to `bind`.
            epsilon: What to charge; 0 for an answer that the policy makes free.
            body: JSON-able facts of the release: query, columns, strategy, sensitivity, scale.
            name: The name under which `find` is to find the answer.

        Proof note:
            Requires: the file system honours locks and fsync, and the file is not put back to an older copy.
            Ensures:  over all processes the epsilons recorded for a dataset never sum to more than its total.
            Because:  BEGIN IMMEDIATE holds the one write lock from the reading of `spent` until the commit.
            Checked:  tests/kernel/test_ledger_processes.py::test_processes_never_overspend
        """
        if epsilon < 0:
            raise errors.EpsilonError("epsilon", f"{epsilon} is negative", allowed="0 or more")
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = _dataset(connection, dataset, charged=True)
            remaining = bound.total - bound.spent
            if epsilon > remaining:
                raise errors.InsufficientBudgetError(dataset, epsilon, remaining, bound.total)
            after = replace(bound, spent=bound.spent + epsilon)
            if max(after.spent.denominator, (after.total - after.spent).denominator).bit_length() > _BITS:
                fix = "charge decimals, such as 0.1."
                raise errors.EpsilonError("epsilon", "the sum of charges has too fine a denominator", fix=fix)
            entry = _append(connection, after, "charge", {**body, "epsilon": epsilon, "name": name})
        return entry, Budget(after.total, after.spent)

    def store(self, entry: Entry, answer: bytes) -> None:
        """Keep the noisy answer of a named charge, once and for good; the first under a name stays."""
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            recorded = chain.select(connection, "id = ?", entry.id)
            if recorded != entry:
                raise errors.LedgerTamperedError(entry.id, "it is not the charge that was made")
            if _answered(connection, entry.dataset, entry.body.get("name"), entry.id) is not None:
                return
            values = (entry.id, answer, chain.seal_answer(entry, answer))
            connection.execute("INSERT INTO answers VALUES (?, ?, ?)", values)

    def find(self, dataset: str, name: str) -> tuple[Entry, bytes] | None:
        """Return the first charge under this name whose answer was stored, with the answer."""
        with chain.transaction(self.location) as connection:
            entry = _answered(connection, dataset, name)
            if entry is None:
                return None
            query = "SELECT answer, digest FROM answers WHERE entry = ?"
            answer, digest = connection.execute(query, (entry.id,)).fetchone()
        if digest != chain.seal_answer(entry, answer):
            raise errors.LedgerTamperedError(entry.id, "its stored answer was edited")
        return entry, answer

    @property
    def entries(self) -> pd.DataFrame:
        """Return one row for each entry as it stands (see `verify`), without seals; sums are fractions."""
        import pandas as pd  # here: charging needs no pandas

        with chain.transaction(self.location) as connection:
            lines = [_line(row) for row in connection.execute("SELECT * FROM entries ORDER BY id")]
        index = pd.Index([line["id"] for line in lines], name="id", dtype="int64")
        return pd.DataFrame({key: [line.get(key) for line in lines] for key in _COLUMNS}, index, dtype=object)

    def verify(self, head: str | Mapping[str, Any] | None = None) -> bool:
        """Return True if no entry or answer was edited, deleted or moved; else raise and say which.

        Args:
            head: The hash of a receipt, or a receipt. Its entry must be there and say what the receipt says
                of cost and query, which also finds a ledger that was cut off, or rewritten as a whole.
        """
        if isinstance(head, Mapping) and not {"entry", "hash"} <= set(head):
            raise errors.ArgumentError("head", "not a receipt", allowed="a hash, or a receipt")
        if head is not None and not isinstance(head, (str, Mapping)):
            raise errors.ArgumentTypeError("head", "not a receipt", allowed="a hash, or a receipt")
        entries: dict[int, Entry] = {}
        last: dict[str, Entry] = {}
        with chain.transaction(self.location) as connection:
            for entry in chain.replay(connection):
                if not _follows(entry, last.get(entry.dataset)):
                    raise errors.LedgerTamperedError(entry.id, "its sums do not follow from those before it")
                entries[entry.id] = last[entry.dataset] = entry
            for number, answer, digest in connection.execute("SELECT * FROM answers"):
                if number not in entries or digest != chain.seal_answer(entries[number], answer):
                    raise errors.LedgerTamperedError(number, "its stored answer was edited")
        if head is not None:
            number, given = (head["entry"], head["hash"]) if isinstance(head, Mapping) else (None, head)
            if given not in {entry.hash for entry in entries.values() if number in (None, entry.id)}:
                raise errors.LedgerTamperedError(number, "the receipt's entry was cut off or rewritten")
            if isinstance(head, Mapping) and (wrong := _differs(head, entries[head["entry"]])):
                raise errors.LedgerTamperedError(
                    number, f"the receipt states another {wrong} than the ledger"
                )
        return True

    def raise_budget(self, dataset: str, total: object, reason: str = "") -> Budget:
        """Raise the total of a dataset, on the record; a total is never lowered."""
        raised = exact(total, "total")
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = _dataset(connection, dataset, charged=True)
            if raised <= bound.total:
                raise errors.ArgumentError("total", f"{raised} raises nothing", allowed=f"> {bound.total}")
            _append(connection, replace(bound, total=raised), "raise", {"reason": reason})
        return Budget(raised, bound.spent)

    def record_exact(self, dataset: str, fact: Mapping[str, Any]) -> Entry:
        """Record that an exact fact about the rows became public, and close the dataset to charges."""
        if not isinstance(fact, Mapping):
            raise errors.ArgumentTypeError("fact", "not a dict", allowed="a fact as plain data")
        reason = "a public fact was recorded that no verb can yet price"
        with chain.transaction(self.location, "IMMEDIATE") as connection:
            bound = replace(_dataset(connection, dataset), closed=reason)
            return _append(connection, bound, "fact", {"fact": fact})

    def close(self) -> None:
        """Close the file until it is used again; what is in memory stays."""
        chain.close(self.location)

    def __repr__(self) -> str:
        return f"Ledger({self.location!r})"


_DEFAULT: dict[int, Ledger] = {}  # process id: its default ledger
_COLUMNS = ["dataset", "kind", "time", "epsilon", "spent", "total", "name", "query", "columns", "strategy"]
_COLUMNS += ["sensitivity", "scale", "reason", "hash"]
_BITS = 14_000  # of a denominator: Python writes no longer numbers
_STATED = (
    "dataset",
    "epsilon",
    "spent",
    "remaining",
    "query",
    "columns",
    "sensitivity",
    "scale",
    "name",
    "time",
)


def _dataset(connection: Connection, name: str, *, charged: bool = False) -> Dataset:
    """Return a dataset as its first and last entry state it; one to be `charged` must not be closed."""
    if not isinstance(name, str):
        raise errors.ArgumentTypeError("dataset", "not a name", allowed="a str")
    first = chain.select(connection, "dataset = ? ORDER BY id", name)
    last = chain.select(connection, "dataset = ? ORDER BY id DESC", name)
    if first is None or last is None:
        known = connection.execute("SELECT DISTINCT dataset FROM entries ORDER BY dataset")
        raise errors.UnknownDatasetError(name, [dataset for (dataset,) in known])
    total, spent, closed = _sums(last)
    if charged and closed is not None:
        raise errors.ClosedDatasetError(name, closed)
    return Dataset(name, first.body["binding"], total, spent, closed)


def _answered(connection: Connection, dataset: str, name: str | None, but: int = 0) -> Entry | None:
    """Return the charge under a name, other than `but`, whose answer is kept."""
    kept = (
        "dataset = ? AND json_extract(body, '$.name') = ? AND id IN (SELECT entry FROM answers) AND id != ?"
    )
    return chain.select(connection, f"{kept} ORDER BY id", dataset, name, but)


def _append(connection: Connection, state: Dataset, kind: str, body: Mapping[str, Any]) -> Entry:
    """Append an entry that states what its dataset has come to."""
    sums = {"total": state.total, "spent": state.spent, "closed": state.closed}
    return chain.append(connection, state.name, kind, {**body, **sums})


def _follows(entry: Entry, before: Entry | None) -> bool:
    """Return whether an entry may state its sums when the one before it of its dataset stated its own."""
    try:
        total, spent, closed = _sums(entry)
        if before is None or entry.kind == "open":
            return before is None and entry.kind == "open" and spent == 0 and closed is None
        old_total, old_spent, was_closed = _sums(before)
        if entry.kind == "fact":
            return total == old_total and spent == old_spent and closed is not None
        if closed is not None or was_closed is not None:
            return False
        if entry.kind == "charge":
            epsilon = Fraction(entry.body["epsilon"])
            return total == old_total and old_spent <= spent == old_spent + epsilon <= total
        return entry.kind == "raise" and total > old_total and spent == old_spent
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return False


def _differs(receipt: Mapping[str, Any], entry: Entry) -> str:
    """Return the first thing a receipt states otherwise than its entry; "" when it agrees."""
    stated = {
        **entry.body,
        "dataset": entry.dataset,
        "time": entry.time,
        "query": entry.body.get("call", entry.body.get("query")),
    }
    stated["remaining"] = str(_sums(entry)[0] - _sums(entry)[1])
    return next((key for key in _STATED if key in receipt and receipt[key] != stated.get(key)), "")


def _sums(entry: Entry) -> tuple[Fraction, Fraction, str | None]:
    """Return the total, the spent and the reason of closing that an entry states of its dataset."""
    return Fraction(entry.body["total"]), Fraction(entry.body["spent"]), entry.body["closed"]


def _line(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a stored entry as a row of `entries`."""
    body = json.loads(row[4])
    sums = {key: Fraction(body[key]) for key in ("epsilon", "spent", "total") if key in body}
    own = {"id": row[0], "dataset": row[1], "kind": row[2], "time": row[3], "hash": row[5]}
    called = {"query": body["call"]} if "call" in body else {}
    return {"reason": body["closed"], **body, **sums, **own, **called}
