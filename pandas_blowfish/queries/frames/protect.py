"""protect: bind rows to a policy, a budget and a name, and find them again. Touches no row itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pandas_blowfish.books import sealkey
from pandas_blowfish.books.analysts import check_analyst, is_name, read_limits
from pandas_blowfish.books.ledger import Dataset, Ledger
from pandas_blowfish.books.pools import Pool, as_pool, require_total
from pandas_blowfish.books.reprice import facts_since, policy_of
from pandas_blowfish.count import seal, units
from pandas_blowfish.count import tally as count
from pandas_blowfish.count.keys import find_keys
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetMismatchError,
    FactMismatchError,
    FrameError,
    LedgerNotFoundError,
    NotProtectedError,
    PolicyMismatchError,
    SchemaError,
    SecondNameError,
    StaleFrameError,
    UnknownDatasetError,
)
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.facts.fact import answer_of, cells_of
from pandas_blowfish.facts.later import policy_from
from pandas_blowfish.kernel.measure import read_kept, require_recorded
from pandas_blowfish.plan.price import price_facts
from pandas_blowfish.policy.attribute import Values
from pandas_blowfish.policy.policy import Policy, rows_of
from pandas_blowfish.queries.frames.second_name import find_first_name

OUTSIDE = ("error", "clip")
MOST_TEXT = 4_096  # characters of a path or a name in a frame's record


@dataclass(frozen=True)
class Opened:
    """A protected frame's ledger, dataset and policy (with the facts recorded since), from its record."""

    ledger: Ledger
    dataset: Dataset
    policy: Policy


def as_policy(policy: Any) -> Policy:
    """Return a policy as it is, or read one from a schema or from a file."""
    if isinstance(policy, (str, os.PathLike)):
        return Policy.from_yaml(Path(os.fsdecode(policy)))
    return policy if isinstance(policy, Policy) else Policy(policy)


def protect(
    frame: Any,
    policy: Any,
    *,
    epsilon: Any,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    outside: str = "error",
    unit: str | None = None,
    max_rows: int | None = None,
    new: bool = False,
    pool: Pool | str | None = None,
    analyst: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Any:
    """Return the frame with a record of its dataset; see `df.blowfish.protect`."""
    promise, total = as_policy(policy), epsilon_of(epsilon)
    check_arguments(dataset, ledger, outside, unit)
    promise = state_rows(promise, unit, max_rows)
    if not isinstance(new, bool):
        raise ArgumentTypeError("new", "not a switch", allowed="True or False")
    shared, who = as_pool(pool), check_analyst(analyst)
    most = None if limits is None else read_limits(limits)
    count.require_columns(frame, promise.domain.columns)
    count.require_instants(frame, promise.domain)
    if unit is not None:
        count.require_unit_column(frame, unit)
        if promise.max_rows == 1:
            units.require_unit(frame, unit)
    book, name = _place(frame.attrs.get("blowfish"), dataset, ledger)
    stated = {"outside": outside, "unit": unit}
    opening: dict[str, Any] = {"pool": shared, "limits": most}
    bound = _bound(frame, book, name, promise, total, stated, opening, named=dataset is not None, new=new)
    record = {
        "kind": "protected",
        "dataset": bound.name,
        "policy": bound.binding["fingerprint"],
        "ledger": book.location,
    }
    if who := who or book.analyst:
        record["analyst"] = who
    return _mark(frame, record)


def open_frame(record: Any) -> Opened:
    """Return what a frame's record points to; a missing or mismatched record fails closed."""
    if not isinstance(record, Mapping) or record.get("kind") != "protected":
        raise NotProtectedError(record.get("kind") if isinstance(record, Mapping) else None)
    if not all(_is_text(record.get(key)) for key in ("ledger", "dataset", "policy")):
        raise NotProtectedError()  # edited: no path, name or fingerprint that anything could have
    ledger = Ledger.at(record["ledger"])
    ledger.analyst = check_analyst(record.get("analyst"))
    dataset = ledger.dataset(record["dataset"])
    if dataset.binding["fingerprint"] != record.get("policy"):
        raise StaleFrameError(dataset.name, "the policy in the frame's record is")
    return Opened(ledger, dataset, policy_of(dataset))


def _is_text(value: Any) -> bool:
    """Return whether a part of a record is text that a file system and a database can take."""
    return isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable()


def check_arguments(dataset: Any, ledger: Any, outside: Any, unit: Any) -> None:
    """Refuse what `protect` cannot take, whatever the rows are."""
    if dataset is not None and not is_name(dataset):
        raise ArgumentError("dataset", "not a name", allowed="printable text without blanks around it")
    if unit is not None and not isinstance(unit, str):
        raise ArgumentTypeError("unit", "not a column's name", allowed="a str")
    if not isinstance(outside, str) or outside not in OUTSIDE:
        raise ArgumentError("outside", "unknown choice", allowed=", ".join(map(repr, OUTSIDE)))
    if ledger is not None and not isinstance(ledger, (Ledger, str, os.PathLike)):
        raise ArgumentTypeError("ledger", "not a ledger", allowed="a path or a bf.Ledger")
    if isinstance(ledger, str) and not ledger.strip():
        raise ArgumentError("ledger", "an empty path", allowed="a path or a bf.Ledger")
    is_file = isinstance(ledger, (str, os.PathLike)) or (isinstance(ledger, Ledger) and ledger.is_file)
    if is_file and dataset is None:
        raise ArgumentError(
            "dataset", "a file ledger needs a name for the rows", fix='protect(..., dataset="patients-2026")'
        )


def state_rows(policy: Policy, unit: str | None, max_rows: Any) -> Policy:
    """Return the policy for people with as many rows as is stated; refuse where nothing is proved of it."""
    if max_rows is not None and rows_of(max_rows) != policy.max_rows:
        if policy.max_rows > 1:
            raise ArgumentError(
                "max_rows", f"the policy states {policy.max_rows:,}", fix="leave max_rows out."
            )
        policy = policy.with_max_rows(max_rows)
    if policy.max_rows > 1 and unit is None:
        why = "rows do not say who they are about"
        raise ArgumentError("max_rows", why, fix='protect(..., unit="patient_id", max_rows=3)')
    if policy.max_rows > 1:
        price_facts(policy)  # refuses several rows where an edge changes a fact
    return policy


def list_keys(policy: Policy, frame: Any, found: Dataset | None) -> Policy:
    """Return a policy whose keys from rows are listed: as its dataset has them, or those of a new one's rows.

    So rows that are not the dataset's are found by its seal, as all changed rows are.
    """
    if not policy.open_columns:
        return policy
    if found is None:
        return policy.with_keys(find_keys(frame, [policy.domain[name] for name in policy.open_columns]))
    bound = {each.name: each for each in policy_of(found, 0).domain}
    known = {name: each.values for name in policy.open_columns if isinstance(each := bound.get(name), Values)}
    if set(known) != set(policy.open_columns):
        raise PolicyMismatchError(found.name, "policy")
    return policy.with_keys(known)


def _place(record: Any, dataset: str | None, ledger: Any) -> tuple[Ledger, str]:
    """Return the ledger and the name to use: a protected frame continues its own."""
    own = record if isinstance(record, Mapping) and record.get("kind") == "protected" else {}
    book = None
    if ledger is not None:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    if own and dataset in (None, own.get("dataset")) and (book is None or book.location == own.get("ledger")):
        return Ledger.at(str(own.get("ledger"))), str(own.get("dataset"))
    return book or Ledger.default(), dataset or f"unnamed-{sealkey.random_name()}"


def _bound(
    frame: Any,
    book: Ledger,
    name: str,
    promise: Policy,
    total: Fraction,
    stated: dict[str, Any],
    opening: dict[str, Any],
    *,
    named: bool,
    new: bool,
) -> Dataset:
    """Return the dataset of a name: bound now, or bound before to the same rows and promise."""
    found = None
    with suppress(UnknownDatasetError, LedgerNotFoundError):
        found = book.dataset(name)
    promise = list_keys(promise, frame, found)
    if found is None:
        if promise.chain is not None and promise.chain.length != seal.row_count(frame):
            fix = "state the number of rows: bf.Markov(..., length=len(frame))."
            raise FrameError(f"the policy's chain is of {promise.chain.length:,} rows", fix=fix)
        binding = _sealed(frame, book, name, promise, stated, named=named)
        if named and (earlier := find_first_name(frame, book, name)) is not None:
            if not new:
                raise SecondNameError(name, earlier)
            binding["same_rows"] = earlier  # on the record
        found = book.bind(name, total, binding, **opening)
        if found.binding.get("seal_key") == binding["seal_key"]:
            return found
    require_bound(found, promise, total, stated)
    _require_opening(book, found, opening["pool"], opening["limits"])
    binding = sealkey.with_key(book.location, name, found.binding)
    kept, first = read_kept(frame, found, binding), policy_of(found, 0)
    if stale := seal.find_change(kept, first.domain, binding, (), first.chain is not None):
        raise StaleFrameError(name, stale)
    require_recorded(kept, found)
    return found


def _require_opening(
    book: Ledger, found: Dataset, pool: Pool | None, limits: Mapping[str, Any] | None
) -> None:
    """Refuse to go on with a dataset in another pool, or with other limits, than it has."""
    own = found.binding.get("pool")
    if pool is not None:
        if pool.name != own:
            raise PolicyMismatchError(found.name, "pool=")
        require_total(pool, book.budget(pool.name).total)
    if limits is not None and limits != {name: each.total for name, each in book.limits(found.name).items()}:
        fix = f"leave limits= out; Ledger.set_limit({found.name!r}, ...) changes them on the record."
        raise ArgumentError("limits", f"dataset {found.name!r} has other limits", fix=fix)


def _sealed(
    frame: Any, book: Ledger, name: str, promise: Policy, stated: dict[str, Any], *, named: bool
) -> dict[str, Any]:
    """Return what a new dataset is bound to; where all is right, its seal key is kept."""
    clip = stated["outside"] == "clip"
    text = json.dumps(promise.to_dict())  # which keeps the columns' order
    if policy_from(text, ()) != promise:
        raise SchemaError(None, "the policy does not read back as it is written", fix="report it, please.")
    while True:
        master = sealkey.propose_key(book.location, book.seal_key_id())
        public, key = sealkey.new_binding(master, name)
        rows, several = frame, {}
        if promise.max_rows > 1:
            kept = units.keep_rows(
                frame, tuple(promise.domain), stated["unit"], promise.max_rows, key, clip=clip
            )
            rows, several = kept.rows, {"max_rows": promise.max_rows, "units": kept.digest}
        binding = {
            "policy": text,
            "fingerprint": promise.fingerprint,
            "rows": seal.row_count(rows) if promise.rows_public else None,  # else the seal alone knows it
            "seal_key": public,
            **seal.seal_rows(rows, promise.domain, key, clip=clip),
            **several,
            "named": named,
            **stated,
        }
        if wrong := count.find_contradicted(rows, promise.domain, promise.facts, clip=clip):
            raise FactMismatchError([fact.text for fact in wrong])
        if sealkey.keep_key(book.location, master):  # else another process has begun the ledger meanwhile
            return binding


def require_bound(found: Dataset, promise: Policy, total: Fraction, stated: Mapping[str, Any]) -> None:
    """Refuse to go on with a dataset under another policy, `outside`, `unit` or total than its own."""
    if promise.max_rows != policy_of(found, 0).max_rows:
        raise PolicyMismatchError(found.name, "max_rows=")
    if not (_restates(promise, found) or (not found.facts and promise.implies(policy_of(found, 0)))):
        raise PolicyMismatchError(found.name, "policy", _unrecorded(promise, found))
    for what, value in stated.items():
        if found.binding[what] != value:
            raise PolicyMismatchError(found.name, f"{what}=")
    if found.total != total:
        raise BudgetMismatchError(found.name, total, found.total)


def _restates(promise: Policy, found: Dataset) -> bool:
    """Return whether a policy is the first one, or that with the facts recorded since, however written."""
    first, since = policy_of(found, 0), facts_since(found)
    if promise == first:
        return True
    known = [first.facts, (*first.facts, *since), policy_of(found).facts]
    text = {cells_of(fact) for fact in promise.facts}
    restated = any(text == {cells_of(fact) for fact in facts} for facts in known)
    return restated and _bare(promise) == _bare(first) and not _unknown(promise, found)


def _unrecorded(promise: Policy, found: Dataset) -> list[str]:
    """Return the facts to record that would make the first policy this one; none if they differ otherwise."""
    first, text = policy_of(found, 0), {cells_of(fact) for fact in promise.facts}
    more = text >= {cells_of(fact) for fact in first.facts} and _bare(promise) == _bare(first)
    return _unknown(promise, found) if more else []


def _unknown(promise: Policy, found: Dataset) -> list[str]:
    """Return the facts of a policy that are not on record, or not with this answer."""
    answers: dict[Any, set[Any]] = {}
    for fact in policy_of(found, 0).facts:
        answers.setdefault(cells_of(fact), set()).add(answer_of(fact))
    for fact in facts_since(found):  # one that was recorded may be stated without its answer
        answers.setdefault(cells_of(fact), {None}).add(answer_of(fact))
    return [fact.text for fact in promise.facts if answer_of(fact) not in answers.get(cells_of(fact), ())]


def _bare(policy: Policy) -> Policy:
    return policy.with_facts([]) if policy.constraints else policy


def _mark(frame: Any, record: dict[str, str]) -> Any:
    """Return the same rows with the record in attrs; the caller's frame is left alone."""
    return count.mark(frame, {**frame.attrs, "blowfish": record})
